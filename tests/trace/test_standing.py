"""Workers that stay answer as others do, and make of a file once what they hold."""

import os
import time
from functools import partial
from pathlib import Path

import pytest

from synctax.errors import BadInputError
from synctax.trace import standing as module
from synctax.trace.pool import map_files
from synctax.trace.pool_worker import WorkerLostError
from synctax.trace.standing import held, standing


@pytest.fixture
def one_process():
    """Not here: in which processes files are read is the point."""


@pytest.fixture(autouse=True)
def can_fork(monkeypatch):
    """Though a library that another test used may have left a thread in this process."""
    for where in ("standing", "starting"):
        monkeypatch.setattr(f"synctax.trace.{where}.may_fork", lambda: True)


@pytest.fixture
def paths(tmp_path):
    """Six files of 0, 100, ... 500 bytes."""
    for i in range(6):
        (tmp_path / f"rank{i}.json").write_bytes(b"x" * 100 * i)
    return [str(tmp_path / f"rank{i}.json") for i in range(6)]


def words_of(path, on_bytes, *, words):
    on_bytes(Path(path).stat().st_size)
    assert list(words) == [path]  # only what it needs travels
    return words[path]


def process_id(path, on_bytes):
    time.sleep(0.02)
    return os.getpid()


def note(log, path):
    with Path(log).open("a") as file:
        file.write(f"{path}\n")
    return path


def through_held(path, on_bytes, *, log, nbytes=1):
    return held(path, partial(note, log, path), lambda _: nbytes)


def refuse(path, on_bytes):
    raise BadInputError(f"{path}: not a trace")


def end(path, on_bytes):
    os._exit(3)


def is_over(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_every_round_has_its_own_function_and_results_in_order_of_paths(paths):
    with standing(2, paths) as crew:
        for chosen in (paths, paths[::-1], paths[2:5], []):
            words = {path: f"{path}?" for path in paths}
            asked = partial(words_of, words=words)
            assert map_files(asked, chosen, workers=crew) == [f"{one}?" for one in chosen]


def test_workers_stay_and_no_longer_than_they_are_needed(paths):
    with standing(2, paths) as crew:
        rounds = [set(map_files(process_id, paths, workers=crew)) for _ in range(3)]
        assert len(set.union(*rounds)) == 2
        assert os.getpid() not in rounds[0]
    assert all(is_over(pid) for pid in rounds[0])


def test_progress_adds_up_in_every_round(paths):
    words = dict.fromkeys(paths, "")
    with standing(3, paths) as crew:
        for _ in range(2):
            seen = dict.fromkeys(paths, 0)

            def add(path, n, seen=seen):
                seen[path] += n

            asked = partial(words_of, words=words)
            map_files(asked, paths, workers=crew, on_progress=add)
            assert list(seen.values()) == [100 * i for i in range(6)]


def test_what_is_held_is_made_once(paths, tmp_path):
    log = tmp_path / "made"
    mine = paths[:2]  # one each: no worker takes over a file of the other
    with standing(2, mine) as crew:
        for _ in range(3):
            asked = partial(through_held, log=str(log))
            assert map_files(asked, mine, workers=crew) == mine
    assert len(log.read_text().split()) <= 4
    assert set(log.read_text().split()) == set(mine)


def test_what_takes_more_than_the_bound_is_made_again(paths, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_HELD_BYTES", 99)
    log = tmp_path / "made"
    with standing(2, paths) as crew:
        for _ in range(3):
            asked = partial(through_held, log=str(log), nbytes=100)
            assert map_files(asked, paths, workers=crew) == paths
    assert len(log.read_text().split()) == 3 * len(paths)


def test_a_process_that_does_not_stay_holds_nothing(paths, tmp_path):
    log = tmp_path / "made"
    with standing(2, paths):
        pass
    for workers in (1, 2):
        asked = partial(through_held, log=str(log))
        for _ in range(2):
            assert map_files(asked, paths, workers=workers) == paths
    assert len(log.read_text().split()) == 4 * len(paths)


@pytest.mark.parametrize("workers", [1, 0, -1])
def test_one_worker_and_a_wrong_number_are_for_the_pool(paths, workers):
    with standing(workers, paths) as given:
        assert given == workers


def test_one_worker_is_this_process_and_holds_nothing_afterwards(paths, tmp_path):
    log = tmp_path / "made"
    asked = partial(through_held, log=str(log))
    with standing(1, paths) as given:
        for _ in range(3):
            assert map_files(asked, paths, workers=given) == paths
    assert log.read_text().split() == paths
    assert map_files(asked, paths, workers=1) == paths
    assert log.read_text().split() == paths * 2


def test_other_machines_are_given_as_they_are(paths):
    machines = object()
    with standing(machines, paths) as given:
        assert given is machines


@pytest.mark.parametrize("workers", [1, 2])
def test_where_memory_is_to_be_saved_nothing_is_held(paths, tmp_path, monkeypatch, workers):
    monkeypatch.setenv("SYNCTAX_LOW_MEMORY", "1")
    log = tmp_path / "made.txt"
    with standing(workers, paths) as crew:
        for _ in range(2):
            map_files(partial(through_held, log=str(log)), paths, workers=crew)
    assert sorted(log.read_text().split()) == sorted(2 * paths)


def test_of_many_workers_each_holds_less(paths, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_HELD_IN_ALL_BYTES", 5)
    log = tmp_path / "made.txt"
    with standing(2, paths) as crew:
        for _ in range(2):
            map_files(partial(through_held, log=str(log)), paths, workers=crew)
    # two bytes a worker at most, of one byte a file: the others are made twice
    assert len(log.read_text().split()) >= 2 * len(paths) - 4


def test_where_no_process_can_be_forked_the_pool_decides(paths, monkeypatch):
    monkeypatch.setattr(module, "may_fork", lambda: False)
    with standing(2, paths) as given:
        assert given == 2


def test_a_refused_file_is_its_result(paths):
    with standing(2, paths) as crew:
        results = map_files(refuse, paths, workers=crew)
        assert [str(one) for one in results] == [f"{path}: not a trace" for path in paths]
        assert len(set(map_files(process_id, paths, workers=crew))) == 2


def test_a_lost_worker_is_told_and_none_is_left(paths):
    with standing(2, paths) as crew:
        ids = set(map_files(process_id, paths, workers=crew))
        with pytest.raises(WorkerLostError, match="ended with code 3"):
            map_files(end, paths, workers=crew)
    assert all(is_over(pid) for pid in ids)
