"""Workers of a Dask cluster give what processes here give, and what goes wrong is said."""

import logging
import pickle
import re
import socket
import sys
import time
from functools import partial
from types import SimpleNamespace

import pytest

from synctax import __version__
from synctax.errors import BadInputError, SynctaxError
from synctax.trace import dask_connect, dask_pool, dask_worker, readers, spill
from synctax.trace.dask_pool import Scheduler
from synctax.trace.narrow import narrowed
from synctax.trace.on_scheduler import on_scheduler
from synctax.trace.pool import map_files
from synctax.trace.pool_worker import WorkerLostError
from tests.dask_cluster import distributed, two_workers
from tests.trace import dask_functions as functions


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes that find what tests define, and start again when they end."""
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def scheduler(cluster):
    # workers that tests end are away for a moment, which is a note
    with Scheduler(cluster.scheduler_address, on_note=lambda text: None) as found:
        yield found


@pytest.fixture
def paths(tmp_path):
    """Ten files of 0, 100, ... 900 bytes, the smallest first."""
    for i in range(10):
        (tmp_path / f"rank{i}.json").write_bytes(b"x" * 100 * i)
    return [str(tmp_path / f"rank{i}.json") for i in range(10)]


def test_results_come_in_the_order_of_the_paths(scheduler, paths):
    seen = dict.fromkeys(paths, 0)

    def told(path, n):
        seen[path] += n

    assert map_files(functions.size, paths, workers=scheduler, on_progress=told) == [
        100 * i for i in range(10)
    ]
    assert seen == {path: 100 * i for i, path in enumerate(paths)}


def test_no_file_needs_no_scheduler():
    with Scheduler("nowhere:1") as nowhere:
        assert map_files(functions.size, [], workers=nowhere) == []


def test_what_a_function_refuses_is_its_result(scheduler, paths):
    found = map_files(functions.refuse_rank3, paths, workers=scheduler)
    assert isinstance(found[3], BadInputError)
    assert str(found[3]) == f"{paths[3]}: not a trace"
    assert found[:3] + found[4:] == paths[:3] + paths[4:]


def test_other_faults_are_raised_with_the_trace_of_the_worker(scheduler, paths):
    with pytest.raises(ZeroDivisionError) as raised:
        map_files(functions.divide, paths, workers=scheduler)
    assert "in divide" in raised.value.__notes__[0]


def test_a_worker_that_ends_is_replaced(scheduler, paths):
    seen = dict.fromkeys(paths, 0)

    def told(path, n):
        seen[path] += n

    found = map_files(functions.die_once, paths, workers=scheduler, on_progress=told)
    assert found == paths
    # bytes that were read twice count once
    assert len(set(seen.values())) == 1


def test_a_file_on_which_workers_end_again_and_again_is_named(scheduler, paths):
    with pytest.raises(WorkerLostError, match="times a worker ended") as raised:
        map_files(functions.die_on_rank3, paths[3:4], workers=scheduler)
    assert paths[3] in str(raised.value)


def test_memory_that_ran_out_is_said_with_the_host(scheduler, paths):
    with pytest.raises(WorkerLostError) as raised:
        map_files(functions.exhaust, paths[:1], workers=scheduler)
    assert f"memory ran out on {socket.gethostname()}" in str(raised.value)
    assert "--workers" not in str(raised.value)


def test_a_folder_that_a_worker_does_not_have_is_said(scheduler, paths):
    with pytest.raises(SynctaxError, match="what a command writes must lie where workers"):
        map_files(functions.write_elsewhere, paths[:1], workers=scheduler)


def test_relative_paths_are_meant_from_here(scheduler, tmp_path, monkeypatch):
    (tmp_path / "rank0.json").write_text("here")
    monkeypatch.chdir(tmp_path)
    found = map_files(functions.absolute, ["rank0.json"], workers=scheduler)
    assert found == [(str(tmp_path / "rank0.json"), "here")]


def test_workers_choose_their_reader_unless_one_is_asked_for(scheduler, paths, monkeypatch):
    monkeypatch.delenv(readers.VARIABLE, raising=False)
    own = map_files(functions.reader, paths[:1], workers=scheduler)
    assert own == [readers.chosen()]
    monkeypatch.setenv(readers.VARIABLE, readers.PYTHON)
    assert map_files(functions.reader, paths[:1], workers=scheduler) == [readers.PYTHON]


def test_workers_spare_their_memory_where_the_command_does(scheduler, paths, monkeypatch):
    monkeypatch.delenv(spill.VARIABLE, raising=False)
    assert map_files(functions.spares_memory, paths[:1], workers=scheduler) == [False]
    monkeypatch.setenv(spill.VARIABLE, "1")
    assert map_files(functions.spares_memory, paths[:1], workers=scheduler) == [True]


def test_of_mappings_by_path_a_call_gets_its_own(scheduler, paths):
    words = {path: f"of {path}" for path in paths}
    function = partial(functions.own_words, words=words)
    found = map_files(function, paths, workers=scheduler)
    assert found == [(f"of {path}", 1) for path in paths]
    assert narrowed(partial(print, function, words, 3), paths[2]).args[1:] == (
        {paths[2]: words[paths[2]]},
        3,
    )


def _used(client):
    return Scheduler(client, on_note=lambda text: None)


def test_an_interrupt_leaves_no_work_behind(cluster, paths):
    def interrupt(path, n):
        raise KeyboardInterrupt

    with distributed.Client(cluster, set_as_default=False) as client:
        with pytest.raises(KeyboardInterrupt):
            _used(client).map_files(functions.size, paths, on_progress=interrupt)
        for _ in range(600):
            left = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
            if not left:
                break
            time.sleep(0.1)
        assert left == 0
        # a client that was given is still of use
        assert _used(client).map_files(functions.size, paths[1:2]) == [100]


def test_a_scheduler_for_one_call_is_left_after_it(cluster, paths):
    with on_scheduler(None, cluster.scheduler_address) as crew:
        assert map_files(functions.size, paths[2:3], workers=crew) == [200]
        assert repr(crew) == f"Scheduler({cluster.scheduler_address!r})"
        client = crew._connection.client
    assert client.status == "closed"
    with on_scheduler(3, None) as crew:
        assert crew == 3
    with (
        pytest.raises(ValueError, match="is a Scheduler already"),
        on_scheduler(Scheduler("local"), "local"),
    ):
        pass


def test_processes_are_counted_here_only():
    with pytest.raises(ValueError, match="started here"):
        Scheduler("tcp://host:8786", processes=2)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        Scheduler("local", processes=0)


def test_nobody_else_can_use_workers_that_are_started_here(paths):
    from distributed import Client, Security

    with Scheduler("local", processes=1) as crew:
        assert map_files(functions.size, paths[:1], workers=crew)
        address = crew._connection.cluster.scheduler_address
        assert address.startswith("tls://")
        with pytest.raises(OSError, match=r"."):
            Client(address, security=Security.temporary(), timeout=1)
        with pytest.raises(OSError, match=r"."):
            Client(address.replace("tls://", "tcp://"), timeout=1)


def test_without_certificates_no_worker_is_started(paths, monkeypatch):
    from distributed import Security

    def absent():
        raise ImportError("cryptography")

    monkeypatch.setattr(Security, "temporary", absent)
    with pytest.raises(SynctaxError, match="need the package cryptography"):
        Scheduler("local", processes=1).map_files(functions.size, paths)


def test_without_dask_it_is_said_what_to_install(paths, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SynctaxError, match=r"pip install 'synctax\[dask\]'"):
        Scheduler("local").map_files(functions.size, paths)


def test_a_scheduler_that_does_not_answer_is_named(paths, monkeypatch):
    monkeypatch.setattr(dask_connect, "ANSWERS_WITHIN_S", 0.5)
    with socket.socket() as taken:  # a port at which nobody listens
        taken.bind(("localhost", 0))
        address = f"tcp://localhost:{taken.getsockname()[1]}"
        with pytest.raises(SynctaxError, match=f"no Dask scheduler answers at {address}"):
            Scheduler(address).map_files(functions.size, paths)


def test_what_takes_the_call_and_says_nothing_is_no_scheduler(paths, monkeypatch):
    monkeypatch.setattr(dask_connect, "ANSWERS_WITHIN_S", 0.5)
    with socket.create_server(("localhost", 0)) as mute:
        address = f"tcp://localhost:{mute.getsockname()[1]}"
        with pytest.raises(SynctaxError, match=f"no Dask scheduler answers at {address}"):
            Scheduler(address).map_files(functions.size, paths)


def test_the_address_of_a_worker_is_none_of_a_scheduler(cluster, paths):
    worker = next(iter(cluster.scheduler.workers))  # others have ended by now
    with pytest.raises(SynctaxError, match=f"at {worker} is a worker of Dask"):
        Scheduler(worker).map_files(functions.size, paths)


@pytest.mark.parametrize("address", ["host", "tcp://host:port", "moon://host:1", "a.json"])
def test_what_is_no_address_is_said(address, paths, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(SynctaxError, match=f"^{address} is no address of a Dask scheduler"):
        Scheduler(address).map_files(functions.size, paths)


def test_the_file_of_a_scheduler_is_an_address(cluster, paths, tmp_path):
    file = tmp_path / "scheduler.json"
    file.write_text(f'{{"address": "{cluster.scheduler_address}"}}')
    with Scheduler(str(file)) as scheduler:
        assert scheduler.map_files(functions.size, paths[1:3]) == [100, 200]


# --------------------------------------------------- what a worker does, in this process


def terms(**changed):
    return {
        "version": dask_worker.VERSION,
        "folder": "",
        "reader": "",
        "low_memory": False,
        "size_bytes": 100,
        "topic": "",
    } | changed


def answered(path, function=functions.size, **changed):
    told = dask_worker.answer(pickle.dumps(function), path, terms(**changed))
    assert told["host"] == socket.gethostname()
    return *pickle.loads(told["data"]), told["done"]


def test_a_worker_answers(paths):
    assert answered(paths[1]) == ("done", 100, 100)


def test_a_worker_of_another_version_makes_no_call(paths):
    outcome, why, _ = answered(paths[1], version="0.0.1 (columns 1)")
    assert outcome == dask_worker.UNFIT
    assert f"has synctax {__version__}" in why
    assert "this is 0.0.1" in why


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"size_bytes": 1000}, "sees another file as .* of 100 bytes instead of 1,000"),
        ({"reader": "fast"}, "cannot read: .*readers are native and python"),
    ],
)
def test_a_worker_that_would_answer_something_else_does_not(paths, changed, words):
    outcome, why, _ = answered(paths[1], **changed)
    assert outcome == dask_worker.UNFIT
    assert re.search(words, why)


def test_a_worker_that_does_not_see_a_file_says_so(tmp_path):
    outcome, why, _ = answered("traces/rank7.json", folder=str(tmp_path / "away"))
    assert outcome == dask_worker.UNFIT
    assert f"does not see {tmp_path}/away/traces/rank7.json (No such file" in why
    assert "same path, or be given as URLs" in why


def test_a_file_that_is_not_seen_here_either_is_for_the_function_to_refuse(tmp_path):
    path = str(tmp_path / "rank3.json")
    outcome, error, _ = answered(path, functions.refuse_rank3, size_bytes=None)
    assert (outcome, str(error)) == ("done", f"{path}: not a trace")


def test_progress_goes_to_the_scheduler_now_and_then(paths, monkeypatch):
    heard = []
    worker = SimpleNamespace(log_event=lambda topic, told: heard.append((topic, told)))
    monkeypatch.setattr(distributed, "get_worker", lambda: worker)
    monkeypatch.setattr(dask_worker, "TOLD_EVERY_S", 0.0)
    assert answered(paths[1], topic="mine")[2] == 100
    assert heard == [("mine", {"path": paths[1], "done": 100})]


# ------------------------------------------------------- what goes wrong with a scheduler


class Client:
    """A client of a scheduler that has gone, or whose futures have."""

    def __init__(self, status="running", future=None):
        self.status, self.future = status, future

    def submit(self, *args, key):
        found = self.future or SimpleNamespace(add_done_callback=lambda tell: None)
        found.key = key
        return found

    def cancel(self, futures):
        self.cancelled = futures


class Future:
    def __init__(self, status, error=None):
        self.status, self.error = status, error

    def add_done_callback(self, tell):
        tell(self)

    def exception(self):
        return self.error


def run_with(client, paths):
    run = dask_pool._Run(dask_connect.Connection(client, "the scheduler at x"), paths, None)
    try:
        run.submit(functions.size)
        return run.collect()
    finally:
        run.end()


def test_a_scheduler_that_went_away_is_told(paths, monkeypatch):
    monkeypatch.setattr(dask_pool, "LOOKS_EVERY_S", 0.01)
    with pytest.raises(SynctaxError, match=r"at x ended.*10 files were not read yet"):
        run_with(Client("closed"), paths)


def test_a_scheduler_that_was_restarted_is_told(paths):
    client = Client(future=Future("cancelled"))
    with pytest.raises(SynctaxError, match="or cannot be reached"):
        run_with(client, paths[:1])
    assert len(client.cancelled) == 1


def test_workers_without_synctax_are_told(paths):
    error = ModuleNotFoundError("No module named 'synctax'")
    with pytest.raises(SynctaxError, match=f"No module.*need synctax {__version__}"):
        run_with(Client(future=Future("error", error)), paths[:1])


def versions(*, synctax=__version__, dask="2026.1", python=None, workers=1):
    python = python or ".".join(map(str, sys.version_info[:3]))
    other = {
        "host": {"python": python},
        "packages": {"synctax": synctax, "dask": dask},
    }
    here = {"packages": {"synctax": __version__, "dask": "2026.1"}}
    places = {f"tcp://w{i}:1": other for i in range(workers)}
    return {"scheduler": other, "workers": places, "client": here}


def odd(**found):
    client = SimpleNamespace(get_versions=lambda packages: versions(**found))
    return list(dask_connect._odd(dask_connect.Connection(client, "the scheduler at x")))


def test_versions_that_differ_are_noted():
    assert odd() == []
    (note,) = odd(dask="2024.8")
    assert "scheduler has dask 2024.8, this process 2026.1" in note
    (note,) = odd(python="3.1.0", workers=6)
    assert "scheduler has Python 3.1" in note
    assert "and 3 more" in note


def test_a_cluster_without_workers_is_noted():
    assert odd(workers=0) == ["the scheduler at x has no workers yet: waiting for one"]


@pytest.mark.parametrize(
    ("has", "told"), [(None, "no synctax"), ("0.0.1", "synctax 0.0.1")]
)
def test_a_cluster_with_another_synctax_is_refused(has, told):
    with pytest.raises(SynctaxError, match=f"scheduler has {told}.*install synctax"):
        odd(synctax=has)


def test_a_note_is_a_warning_unless_somebody_listens():
    with pytest.warns(UserWarning, match="waiting"):
        dask_connect.warned("waiting")


def test_logs_of_dask_are_as_before_afterwards():
    log = logging.getLogger("distributed.client")
    before = log.level
    with dask_connect.quiet():
        assert not log.isEnabledFor(logging.CRITICAL)
    assert log.level == before
