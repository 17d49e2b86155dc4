"""Every file once, results in order, and no process left behind."""

import multiprocessing as mp
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from synctax.errors import BadInputError, SynctaxError
from synctax.trace import pool
from synctax.trace.pool import map_files, map_tasks
from synctax.trace.pool_worker import PROGRESS_BYTES, WorkerLostError, work


@pytest.fixture
def one_process():
    """Not here: in which processes files are read is the point."""


@pytest.fixture
def paths(tmp_path):
    """Ten files of 0, 100, ... 900 bytes, the smallest first."""
    for i in range(10):
        (tmp_path / f"rank{i}.json").write_bytes(b"x" * 100 * i)
    return [str(tmp_path / f"rank{i}.json") for i in range(10)]


def size(path, on_bytes):
    n = Path(path).stat().st_size
    on_bytes(n)
    return n


def columns(path, on_bytes):
    return np.arange(Path(path).stat().st_size)


def process_id(path, on_bytes):
    time.sleep(0.02)
    return os.getpid()


def steps(path, on_bytes):
    for _ in range(10):
        on_bytes(PROGRESS_BYTES // 4)
    on_bytes(1)


def refuse_rank3(path, on_bytes):
    if path.endswith("rank3.json"):
        raise BadInputError(f"{path}: not a trace")
    return path


def divide(path, on_bytes):
    return 1 // 0


class PickyError(Exception):
    def __init__(self, what, *, where):
        super().__init__(what)
        self.where = lambda: where  # Dask, once it is imported, helps with less


def raise_unpicklable(path, on_bytes):
    raise PickyError("of a kind that cannot travel", where=path)


def return_unpicklable(path, on_bytes):
    return lambda: path


def exhaust(path, on_bytes):
    raise MemoryError


def die_on_rank9(path, on_bytes):
    if path.endswith("rank9.json"):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(30)


def exit_early(path, on_bytes):
    os._exit(7)


def hang(path, on_bytes):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    on_bytes(2 * PROGRESS_BYTES)
    time.sleep(60)


@pytest.fixture(params=["fork", "spawn"])
def start(request):
    """Another thread makes forking unsafe, so workers are then spawned."""
    if request.param == "fork":
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


@pytest.fixture
def worker(paths):
    """What a worker answers: `worker(function, indices)`; it works in this process.

    Processes of their own are not measured for coverage: that costs more than they do.
    """

    def answers(function, indices, *, inherited=(), report=True):
        ours, theirs = mp.Pipe()
        heard = []

        def ask():
            with ours:
                for index in indices:
                    ours.send((index, None))
                    heard.append(pickle.loads(ours.recv_bytes()))
                    while heard[-1][0] == "progress":
                        heard.append(pickle.loads(ours.recv_bytes()))

        def of_path(at, on_bytes):
            return function(paths[at], on_bytes)

        before = signal.getsignal(signal.SIGTERM)
        parent = threading.Thread(target=ask)
        parent.start()
        try:
            with theirs:
                work(theirs, list(inherited), of_path, paths, report)
        finally:
            parent.join()
            signal.signal(signal.SIGTERM, before)
        return heard

    return answers


@pytest.fixture(autouse=True)
def may_spawn(monkeypatch):
    """However pytest was started: its program would be run again, and does nothing then."""
    monkeypatch.setattr(pool, "may_spawn", lambda: True)


@pytest.fixture(autouse=True)
def no_process_is_left():
    yield
    assert mp.active_children() == []


@pytest.mark.parametrize("workers", [None, 1, 2, 3, 50])
def test_results_come_in_the_order_of_paths_whatever_the_workers(paths, workers):
    assert map_files(size, paths, workers=workers) == [100 * i for i in range(10)]


def test_results_are_the_same_from_forked_and_spawned_workers(paths, start):
    results = map_files(columns, paths, workers=2)
    assert [r.tolist() for r in results] == [list(range(100 * i)) for i in range(10)]
    assert all(r.flags.writeable for r in results)


class Words(dict):
    """Words by path, which only few of them may be pickled of at a time."""

    def __reduce__(self):
        raise AssertionError("all of them travelled")


def own_words(path, on_bytes, *, words):
    return words[path], len(words)


def test_to_a_spawned_worker_goes_what_its_task_needs(paths, start):
    words = Words({path: f"of {path}" for path in paths})
    found = map_files(partial(own_words, words=words), paths, workers=2)
    assert [word for word, _ in found] == [f"of {path}" for path in paths]
    assert {count for _, count in found} <= {1, len(paths)}


def test_a_worker_answers_until_its_parent_is_gone(worker):
    assert worker(size, [9, 0, 3]) == [
        ("progress", 900), ("done", 900), ("done", 0), ("progress", 300), ("done", 300),
    ]  # fmt: skip
    assert worker(size, [9], report=False) == [("done", 900)]


def test_a_worker_closes_the_ends_of_pipes_that_it_inherits(worker):
    with mp.Pipe()[0] as inherited:
        worker(size, [1], inherited=[inherited])
        assert inherited.closed


@pytest.mark.parametrize("function", [divide, raise_unpicklable, return_unpicklable])
def test_a_worker_outlives_what_goes_wrong_in_a_function(worker, function):
    assert [outcome for outcome, _ in worker(function, [0, 1])] == ["failed", "failed"]


def test_a_worker_whose_parent_is_gone_ends_within_a_file(paths):
    ours, theirs = mp.Pipe()
    before = signal.getsignal(signal.SIGTERM)

    def leave_parent(at, on_bytes):
        ours.close()
        on_bytes(PROGRESS_BYTES)

    ours.send((0, None))
    try:
        with theirs, pytest.raises(SystemExit, match="1"):
            work(theirs, [], leave_parent, paths, report=True)
        with pytest.raises(SystemExit, match="1"):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_worker_that_is_stopped_at_once_does_not_meet_the_handler_of_its_parent(
    paths, capfd, monkeypatch
):
    """Which would raise where Python still tidies up after the fork, and be printed.

    Forked, though a library that another test used may have left a thread: a worker that
    is started anew hears nothing before it has begun, which may take longer than the
    grace that it is given.
    """
    monkeypatch.setattr("synctax.trace.starting.may_fork", lambda: True)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit("the parent's"))
    try:
        for _ in range(20):
            new = pool.Crew(size, paths, range(len(paths)))
            with pool.started(2, new, report=False) as crew:
                for worker in crew.workers:
                    worker.process.terminate()
            assert {w.process.exitcode for w in crew.workers} <= {0, 1}
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capfd.readouterr().err == ""


def test_no_path_gives_no_result():
    assert map_files(size, []) == []


def test_one_path_runs_in_this_process(paths):
    assert map_files(process_id, paths[:1], workers=8) == [os.getpid()]


def test_one_worker_is_this_process(paths):
    assert set(map_files(process_id, paths, workers=1)) == {os.getpid()}


def test_several_workers_are_that_many_other_processes(paths):
    ids = set(map_files(process_id, paths, workers=2))
    assert len(ids) == 2
    assert os.getpid() not in ids


def test_as_many_workers_as_cores_by_default(paths, monkeypatch):
    monkeypatch.setattr(pool, "available_cores", lambda: 3)
    assert len(set(map_files(process_id, paths))) == 3


def test_cores_are_those_this_process_may_use():
    assert pool.available_cores() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("workers", [0, -1])
def test_less_than_one_worker_is_a_wrong_call(paths, workers):
    with pytest.raises(ValueError, match="workers must be at least 1"):
        map_files(size, paths, workers=workers)


def process_and_time(path, on_bytes):
    return os.getpid(), time.monotonic_ns()


def test_every_worker_takes_its_larger_files_first(paths):
    calls = map_files(process_and_time, paths, workers=2)
    assert calls[9][0] != calls[8][0]
    for worker in {process for process, _ in calls}:
        times = [at for process, at in calls if process == worker]
        assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("workers", [2, 3])
def test_what_needs_no_result_is_done_while_workers_are_at_work(paths, workers):
    done = []
    wanted = map_files(size, paths, workers=1)
    results = map_files(size, paths, workers=workers, meanwhile=lambda: done.append(1))
    assert (results, done) == (wanted, [1])


def test_what_goes_wrong_meanwhile_ends_the_workers(paths):
    def meanwhile():
        raise ArithmeticError("of the caller")

    with pytest.raises(ArithmeticError, match="of the caller"):
        map_files(size, paths, workers=2, meanwhile=meanwhile)
    assert not mp.active_children()


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_adds_up_to_the_bytes_of_each_file(paths, workers):
    seen = {}
    for path in paths:
        seen[path] = []
    map_files(steps, paths, workers=workers, on_progress=lambda p, n: seen[p].append(n))
    assert {sum(parts) for parts in seen.values()} == {10 * (PROGRESS_BYTES // 4) + 1}
    assert {len(parts) for parts in seen.values()} == {3}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_refused_file_leaves_the_others_their_results(paths, workers):
    results = map_files(refuse_rank3, paths, workers=workers)
    assert isinstance(results[3], BadInputError)
    assert results[3].exit_code == 3
    assert str(results[3]) == f"{paths[3]}: not a trace"
    assert results[:3] + results[4:] == paths[:3] + paths[4:]


@pytest.mark.parametrize("workers", [1, 2])
def test_any_other_error_propagates(paths, workers):
    with pytest.raises(ZeroDivisionError):
        map_files(divide, paths, workers=workers)


def test_an_error_from_a_worker_brings_its_traceback(paths):
    with pytest.raises(ZeroDivisionError) as caught:
        map_files(divide, paths, workers=2)
    assert "return 1 // 0" in caught.value.__notes__[0]


def test_an_error_that_cannot_travel_is_told_in_words(paths):
    with pytest.raises(RuntimeError, match="of a kind that cannot travel"):
        map_files(raise_unpicklable, paths, workers=2)


def test_a_result_that_cannot_travel_is_an_error_not_a_hang(paths):
    with pytest.raises((AttributeError, TypeError, RuntimeError), match="lambda"):
        map_files(return_unpicklable, paths, workers=2)


def test_a_file_that_is_gone_is_for_the_function_to_refuse(paths):
    with pytest.raises(FileNotFoundError):
        map_files(size, [*paths, "absent.json"], workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_exhausted_memory_is_explained(paths, workers):
    with pytest.raises(WorkerLostError, match=r"memory ran out.*rank.*fewer --workers"):
        map_files(exhaust, paths, workers=workers)


def test_a_killed_worker_names_the_files_being_read(paths):
    with pytest.raises(WorkerLostError) as caught:
        map_files(die_on_rank9, paths, workers=2)
    assert isinstance(caught.value, SynctaxError)
    message = str(caught.value)
    assert "killed by SIGKILL" in message
    assert f"at work on {paths[9]}, {paths[8]};" in message
    assert "fewer --workers" in message


def test_a_worker_that_exits_is_reported_with_its_code(paths):
    with pytest.raises(WorkerLostError, match="ended with code 7"):
        map_files(exit_early, paths, workers=2)


def test_many_lost_files_are_counted_not_listed(paths):
    with pytest.raises(WorkerLostError, match="and 3 more;"):
        map_files(exit_early, paths, workers=8)


def test_a_worker_that_will_not_end_is_killed(paths):
    def stop(path, n):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        map_files(hang, paths, workers=2, on_progress=stop)


PROGRAM = """
import sys, threading, time
from pathlib import Path
from synctax.trace import pool
from synctax.trace.pool import map_files

pool.may_spawn = lambda: True  # there is a guard below

def slow(path, on_bytes):
    try:
        on_bytes(2 << 20)
        Path(path + ".started").touch()
        time.sleep(60)
    finally:
        Path(path + ".tidied").touch()

if __name__ == "__main__":
    if sys.argv[1] == "spawn":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    map_files(slow, sys.argv[2:], workers=2)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("to_group", [True, False], ids=["terminal", "parent_only"])
def test_an_interrupt_ends_every_process_without_a_word_from_workers(
    paths, tmp_path, method, to_group
):
    (tmp_path / "program.py").write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "-W", "error", tmp_path / "program.py", method, *paths[:2]],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    wait_for(tmp_path, "*.started")
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert stderr.count("KeyboardInterrupt") == 1
    assert stderr.count("Traceback") == 1
    assert len(list(tmp_path.glob("*.tidied"))) == 2
    assert_group_is_gone(process.pid)


def test_workers_end_when_their_parent_is_killed(paths, tmp_path):
    busy = "while True: time.sleep(0.01); on_bytes(2 << 20)"
    program = PROGRAM.replace("time.sleep(60)", busy)
    program = program.replace("workers=2)", "workers=2, on_progress=lambda p, n: None)")
    (tmp_path / "program.py").write_text(program)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "program.py", "fork", *paths[:2]],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    wait_for(tmp_path, "*.started")
    process.kill()
    _, stderr = process.communicate(timeout=20)
    assert stderr == ""
    assert_group_is_gone(process.pid)


def wait_for(directory, pattern):
    for _ in range(1000):
        if len(list(directory.glob(pattern))) == 2:
            return
        time.sleep(0.02)
    raise AssertionError("the workers never started")


def assert_group_is_gone(group):
    for _ in range(100):
        if not running(group):
            return
        time.sleep(0.02)
    raise AssertionError(f"left: {running(group)}")


def running(group):
    """Processes of the group, without the dead that nobody has buried yet."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            found.append(stat.parent.name)
    return found


def double(at, on_progress):
    on_progress(PROGRESS_BYTES)
    return 2 * at, os.getpid()


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_of_one_name_are_told_apart_by_their_numbers(workers):
    seen = Counter()
    found = map_tasks(
        double, ["same"] * 5, workers=workers, on_progress=lambda at, n: seen.update([at])
    )
    assert [value for value, _pid in found] == [0, 2, 4, 6, 8]
    assert seen == Counter(range(5))


def die(at, on_progress):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_lost_task_is_named():
    with pytest.raises(WorkerLostError, match=r"while at work on (first|second)"):
        map_tasks(die, ["first", "second"], workers=2)


def die_on_2(at, on_progress):
    if at == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return at


def exhaust_on_2(at, on_progress):
    if at == 2:
        raise MemoryError
    return at


@pytest.mark.parametrize("many", [2, 3])
def test_who_goes_on_has_all_results_but_that_of_the_lost_task(many, start):
    found = map_tasks(die_on_2, list("abcdef"), workers=many, go_on=True)
    assert isinstance(found[2], WorkerLostError)
    assert "SIGKILL while at work on c; if memory" in str(found[2])
    assert found[:2] + found[3:] == [0, 1, 3, 4, 5]


@pytest.mark.parametrize("many", [1, 2])
def test_who_goes_on_has_an_error_where_memory_ran_out(many):
    found = map_tasks(exhaust_on_2, list("abcd"), workers=many, go_on=True)
    assert "memory ran out while at work on c" in str(found[2])
    assert found[:2] + found[3:] == [0, 1, 3]


def test_a_crew_whose_workers_all_die_comes_to_an_end():
    found = map_tasks(die, list("abcde"), workers=2, go_on=True)
    assert [type(one) for one in found] == [WorkerLostError] * 5


def test_who_goes_on_raises_what_is_a_fault_of_the_function():
    with pytest.raises(ZeroDivisionError):
        map_tasks(fail, list("ab"), workers=2, go_on=True)


def fail(at, on_progress):
    return 1 // 0
