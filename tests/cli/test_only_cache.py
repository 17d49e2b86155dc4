"""`measure --only-cache`: many fill one workspace, and one measures without the traces."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from synctax import fill as module
from synctax.collectives import load
from synctax.fill import Outcome, fill
from synctax.trace import files, store
from synctax.trace.discover import TraceFile
from synctax.workspace import Workspace
from tests.conftest import ROOT, assert_in_words

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"

KILLED = """
import os, signal
from pathlib import Path
from synctax.cli import main
from synctax.trace import files, store

whole, calls = store.writing, []

def writing(path):
    calls.append(path)
    if sum(one.suffix == ".arrow" for one in calls) == 3:
        path.with_name(path.name + ".half.tmp").write_bytes(bytes(100))
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(path)

store.writing = writing
main()
"""
"""A process that is killed while it writes the third columns."""


@pytest.fixture
def traces(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    for one in EXAMPLE.glob("rank*.json.gz"):
        shutil.copy2(one, folder)
    return folder


@pytest.fixture
def cache_only(monkeypatch):
    """From here on traces cannot be read."""

    def read_rank(path, **options):
        raise AssertionError(f"{path} was read")

    return lambda: monkeypatch.setattr(load, "read_rank", read_rank)


def test_it_says_what_was_read_kept_and_there(run, traces, tmp_path):
    space = tmp_path / "shared"
    asked = ("measure", "--only-cache", "--workspace", space)
    first = run(*asked, traces / "rank1.json.gz", traces / "rank6.json.gz")
    assert first.exit_code == 0, first.stderr
    assert first.stdout == (
        f"2 files: 2 read (115 kB), 2 kept in {space}, 0 there already\n"
    )
    rest = run(*asked, traces)
    assert rest.stdout == (
        f"8 files: 6 read (345 kB), 6 kept in {space}, 2 there already\n"
    )
    assert not (space / "last_measure.json").exists()


def test_the_result_has_a_row_a_file(run, traces, tmp_path):
    (traces / "rank7.json.gz").write_bytes(b"\x1f\x8b, and no more of it")
    asked = ("measure", "--only-cache", "--workspace", tmp_path / "w", "--format", "json")
    told = json.loads(run(*asked, traces).stdout)
    assert told["schema"] == "synctax.measure-cache/1"
    assert [row["outcome"] for row in told["rows"]] == ["kept"] * 7 + ["unreadable"]
    assert [row["reason"] is None for row in told["rows"]] == [True] * 7 + [False]
    assert (told["files_kept"], told["files_there"], told["files_unreadable"]) == (7, 0, 1)


def test_one_machine_then_measures_without_the_traces(run, traces, tmp_path, cache_only):
    asked = ("measure", "--workspace", tmp_path / "shared")
    for part in ("[0-2]", "[3-5]", "[67]"):  # each node has some of the ranks
        assert run(*asked, "--only-cache", traces / f"rank{part}.json.gz").exit_code == 0
    fresh = run("measure", traces, "--no-cache", "--format", "json")
    cache_only()
    assert run("measure", traces, "--no-cache").exit_code != 0
    found = run(*asked, traces, "--format", "json")
    assert found.exit_code == 0, found.stderr
    assert found.stdout == fresh.stdout


def test_three_at_a_time_of_which_one_is_killed(run, traces, tmp_path, cache_only):
    space = tmp_path / "shared"
    asked = ["measure", str(traces), "--only-cache", "--workspace", str(space)]
    asked += ["--workers", "1"]
    starts = [["-m", "synctax"], ["-m", "synctax"], ["-c", KILLED]]
    going = [
        subprocess.Popen(
            [sys.executable, *start, *asked],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for start in starts
    ]
    told = [one.communicate(timeout=120) for one in going]
    assert [one.returncode for one in going[:2]] == [0, 0], told
    # the third may have found that the others were done before its third file
    assert going[2].returncode in (0, -signal.SIGKILL), told
    for out, _ in told[:2]:
        assert out.startswith("8 files: ")
    fresh = run("measure", traces, "--no-cache", "--format", "json")
    cache_only()
    found = run("measure", traces, "--workspace", space, "--format", "json")
    assert found.stdout == fresh.stdout


def test_what_a_killed_process_left_harms_nobody(run, traces, tmp_path):
    space = tmp_path / "shared"
    asked = ["measure", str(traces), "--only-cache", "--workspace", str(space)]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *asked, "--workers", "1"],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(list(space.rglob("*.half.tmp"))) == 1
    done = run(*asked)
    assert done.stdout == (
        f"8 files: 6 read (345 kB), 6 kept in {space}, 2 there already\n"
    )


@pytest.mark.parametrize(
    "other", [("--group", "tp"), ("--no-cache",), ("--per-rank",), ("--plot", "x.png")]
)
def test_what_is_for_measuring_is_refused(run, traces, other):
    done = run("measure", traces, "--only-cache", *other)
    assert done.exit_code == 2
    assert f"so {other[0]} is of no use" in done.stderr


def test_a_workspace_that_cannot_be_made_is_an_error(run, traces, tmp_path):
    (tmp_path / "file").touch()
    done = run(
        "measure", traces, "--only-cache", "--workspace", tmp_path / "file" / "space"
    )
    assert done.exit_code == 1
    assert_in_words(done)
    assert "Not a directory" in done.stderr


def test_a_disk_that_fills_up_is_an_error_that_names_files(
    run, traces, tmp_path, monkeypatch
):
    def save(trace, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "save", save)
    done = run("measure", traces, "--only-cache", "--workspace", tmp_path / "space")
    assert done.exit_code == 1
    assert "the columns of 8 of 8 files are not in the workspace" in done.stderr
    assert "rank0.json.gz: " in done.stderr
    assert "No space left" in done.stderr


def test_traces_none_of_which_can_be_read_are_bad_input(run, tmp_path):
    (tmp_path / "rank0.json.gz").write_bytes(b"\x1f\x8b, and no more of it")
    done = run("measure", tmp_path, "--only-cache", "--workspace", tmp_path / "w")
    assert done.exit_code == 3
    assert_in_words(done)


def test_a_file_that_changes_meanwhile_is_not_kept(traces, tmp_path, monkeypatch):
    path = traces / "rank0.json.gz"
    read = module.read_rank

    def touched(path, **options):
        trace = read(path, **options)
        os.utime(path, ns=(1, 1))
        return trace

    monkeypatch.setattr(module, "read_rank", touched)
    space = Workspace(tmp_path / "space")
    space.prepare()
    (told,) = fill([TraceFile(str(path), path.stat().st_size)], space)
    assert (told.outcome, told.reason) == (Outcome.NOT_KEPT, "changed while it was read")
    assert not list(Path(space.directory).rglob("*.arrow"))


@pytest.fixture
def stored(traces):
    """A trace in a store that tells times and no checksums."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.store.clear()
    system.pipe("/run/rank0.json.gz", (traces / "rank0.json.gz").read_bytes())
    return TraceFile("memory://run/rank0.json.gz", 1)


def test_columns_of_a_url_are_kept(stored, tmp_path, monkeypatch):
    space = Workspace(tmp_path / "space")
    space.prepare()
    monkeypatch.setattr(files, "SETTLED_S", 0)
    assert [fill([stored], space)[0].outcome for _ in range(2)] == [
        Outcome.KEPT,
        Outcome.THERE,
    ]


def test_a_url_that_changed_just_now_is_not_read_for_nothing(stored, tmp_path):
    space = Workspace(tmp_path / "space")
    (told,) = fill([stored], space)
    assert told.outcome is Outcome.NOT_KEPT
    assert told.reason == "its store tells no checksum, and it changed in the last 60 s"
    assert not space.directory.exists()
