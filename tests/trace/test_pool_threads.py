"""Threads in the place of processes, where none can be forked: all else is the same."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import synctax
from synctax.errors import SynctaxError
from synctax.trace import readers
from synctax.trace.errand import Errand, errand, on_errand
from synctax.trace.pool import map_tasks
from synctax.trace.pool_worker import PROGRESS_BYTES, WorkerLostError
from synctax.workspace import Workspace
from tests.conftest import ROOT

NAMES = [f"task {at}" for at in range(7)]


@pytest.fixture(autouse=True)
def other_thread():
    """A thread beside, as in a notebook; and none is left but that one."""
    done = threading.Event()
    beside = threading.Thread(target=done.wait)
    beside.start()
    before = threading.active_count()
    yield
    assert threading.active_count() == before
    done.set()
    beside.join()


def where(at, on_progress):
    on_progress(2 * PROGRESS_BYTES)
    return at, os.getpid(), threading.current_thread().name


@pytest.mark.parametrize("workers", [2, 3, 50])
def test_results_come_in_order_from_threads_of_this_process(workers):
    done = map_tasks(where, NAMES, workers=workers, threads=True)
    assert [at for at, _, _ in done] == list(range(7))
    assert {pid for _, pid, _ in done} == {os.getpid()}
    assert all(name.startswith("synctax") for _, _, name in done)


def test_functions_that_hold_all_others_up_get_processes(monkeypatch):
    monkeypatch.setattr("synctax.trace.pool.may_spawn", lambda: True)
    done = map_tasks(where, NAMES[:2], workers=2)
    assert os.getpid() not in {pid for _, pid, _ in done}


def test_progress_is_told_in_the_thread_that_asked():
    heard = {}

    def told(at, count):
        assert threading.current_thread() is threading.main_thread()
        heard[at] = heard.get(at, 0) + count

    map_tasks(where, NAMES, workers=2, threads=True, on_progress=told)
    assert heard == dict.fromkeys(range(7), 2 * PROGRESS_BYTES)


def test_the_first_in_order_go_first_and_something_is_done_meanwhile():
    begun, go, seen = [], threading.Event(), []

    def one(at, on_progress):
        begun.append(at)
        go.wait()
        return at

    def meanwhile():
        seen.append(threading.current_thread().name)
        go.set()

    order = [5, 3, 0, 1, 2, 4, 6]
    done = map_tasks(one, NAMES, order=order, workers=2, threads=True, meanwhile=meanwhile)
    assert (done, seen) == (list(range(7)), ["MainThread"])
    assert set(begun[:2]) == {5, 3}


def test_what_is_refused_is_an_answer_and_the_others_have_theirs():
    def one(at, on_progress):
        if at == 3:
            raise SynctaxError("no trace")
        return at

    done = map_tasks(one, NAMES, workers=2, threads=True)
    assert isinstance(done[3], SynctaxError)
    assert [*done[:3], *done[4:]] == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize("wrong", [ZeroDivisionError, MemoryError])
def test_any_other_error_stops_all_others_at_their_next_progress(wrong):
    started = threading.Barrier(2)
    ended = []

    def one(at, on_progress):
        if at > 1:
            pytest.fail("begun though all was over")
        started.wait()
        if at:
            raise wrong
        try:
            while True:
                on_progress(PROGRESS_BYTES)
        finally:
            ended.append(at)

    expected = WorkerLostError if wrong is MemoryError else wrong
    with pytest.raises(expected, match="task 1" if wrong is MemoryError else None):
        map_tasks(one, NAMES, workers=2, threads=True)
    assert ended == [0]


def test_an_errand_holds_in_the_threads_of_its_call():
    with on_errand(Errand("/runs/17")):
        told = map_tasks(lambda *_: errand(), NAMES, workers=2, threads=True)
    assert told == [Errand("/runs/17")] * 7


@pytest.mark.skipif(not readers.variants(), reason="the compiled reader was not built")
@pytest.mark.parametrize("low_memory", ["", "1"])
def test_ranks_are_read_as_they_are_one_by_one(tmp_path, monkeypatch, low_memory):
    """From files and from kept columns, which several threads write and read at once."""
    monkeypatch.setenv("SYNCTAX_LOW_MEMORY", low_memory)
    monkeypatch.delenv(readers.VARIABLE, raising=False)
    monkeypatch.setattr(
        "synctax.trace.pool._start", lambda *_, **__: pytest.fail("a process is started")
    )
    traces = ROOT / "examples" / "tp4-fsdp2"
    space = Workspace(tmp_path / "space")
    space.prepare()
    wanted = synctax.load(traces, workers=1)
    for _ in range(2):
        for cache in (None, space):
            found = synctax.load(traces, workers=4, cache=cache)
            assert [row.path for row in found.files] == [row.path for row in wanted.files]
            assert found.notes == wanted.notes
            for one, other in zip(found.ranks, wanted.ranks, strict=True):
                for name in one.__slots__:
                    assert np.array_equal(getattr(one, name), getattr(other, name)), name


PROGRAM = """
import sys, threading, time
from pathlib import Path
from synctax.trace.pool import map_tasks

threading.Thread(target=threading.Event().wait, daemon=True).start()

def slow(at, on_progress):
    try:
        Path(sys.argv[1], f"{at}.started").touch()
        while True:
            time.sleep(0.01)
            on_progress(2 << 20)
    finally:
        Path(sys.argv[1], f"{at}.tidied").touch()

map_tasks(slow, ["a", "b", "c"], workers=2, threads=True)
"""


def test_an_interrupt_ends_threads_of_a_program_without_a_guard(tmp_path):
    """A script without `if __name__ == "__main__"`, which no started process survives."""
    (tmp_path / "program.py").write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "-W", "error", tmp_path / "program.py", tmp_path],
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(list(Path(tmp_path).glob("*.started"))) < 2:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert stderr.count("KeyboardInterrupt") == 1
    assert sorted(path.name for path in tmp_path.glob("*.tidied")) == [
        "0.tidied",
        "1.tidied",
    ]


SCRIPT = """
import multiprocessing, sys, threading
import synctax

print("begun")

def loaded(_):
    return len(synctax.load(sys.argv[2], workers=2).ranks)

if sys.argv[1] == "thread":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    tax = synctax.measure(synctax.load(sys.argv[2], workers=2))
    print(len(synctax.attribute(tax, workers=2).to_frame()) > 0)
elif __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(loaded, [1, 2]))
"""


@pytest.mark.parametrize(
    ("beside", "told"), [("thread", "begun\nTrue\n"), ("pool", "begun\n[8, 8]\n")]
)
def test_no_script_is_run_again_and_no_worker_of_a_pool_wants_children(
    tmp_path, beside, told
):
    """Without a guard around its calls, with a thread; and in a pool of the user's own."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py", beside, ROOT / "examples" / "tp4-fsdp2"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.stdout, done.returncode) == (told, 0), done.stderr
