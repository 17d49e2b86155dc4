"""A workspace spares a second reading, never changes an answer, never stops a command."""

import dataclasses
import os
import pickle
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from synctax.errors import BadInputError, SynctaxError
from synctax.evt.tax_file import builtin, to_json
from synctax.trace import files, kept, store
from synctax.trace.files import look
from synctax.trace.model import (
    CommArgs,
    Events,
    KernelArgs,
    Lanes,
    RankTrace,
    SyncArgs,
    TraceMeta,
)
from synctax.workspace import Workspace


def trace(path, rank=0):
    dtypes = store._dtypes()

    def empty(kind, section):
        names = [field.name for field in dataclasses.fields(kind)]
        return kind(*[np.zeros(0, dtypes[f"{section}.{name}"]) for name in names])

    return RankTrace(
        path=path,
        meta=TraceMeta(rank=rank),
        events=empty(Events, "events"),
        lanes=Lanes(np.zeros(0, np.int64), np.zeros(0, np.int64), ()),
        kernels=empty(KernelArgs, "kernels"),
        syncs=empty(SyncArgs, "syncs"),
        comms=empty(CommArgs, "comms"),
        strings=(),
    )


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path / ".synctax")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rank0_trace.json"
    path.write_text('{"traceEvents": []}')
    return str(path)


def never():
    raise AssertionError("read again")


def columns(workspace):
    return sorted((workspace.directory / "columns").glob("*.arrow"))


@pytest.fixture
def full_disk(monkeypatch):
    """No byte can be written any more."""

    def write_atomically(path, *parts):
        raise OSError(28, "No space left on device")

    return lambda: monkeypatch.setattr(store, "write_atomically", write_atomically)


def test_nothing_is_cached_at_first(workspace, source):
    assert workspace.cached(source) is None


def test_a_file_is_read_once(workspace, source):
    first = workspace.read(source, lambda: trace(source, rank=5))
    again = workspace.read(source, never)
    assert first.meta.rank == again.meta.rank == 5


def test_damaged_columns_are_read_anew_and_counted_once(workspace, source):
    """What is kept in their place is whole, and says nothing of it."""
    workspace.read(source, lambda: trace(source))
    (entry,) = workspace.directory.rglob("*.arrow")
    entry.write_bytes(entry.read_bytes()[:-40])
    again = workspace.read(source, lambda: trace(source, rank=6))
    assert [(note.reason, note.count, note.where) for note in again.notes] == [
        ("columns_damaged", 1, source)
    ]
    third = workspace.read(source, never)
    assert (third.meta.rank, third.notes) == (6, ())


def test_what_was_stored_is_cached(workspace, source):
    assert workspace.store(source, trace(source, rank=7)) is None
    assert workspace.cached(source).meta.rank == 7


def test_the_path_is_as_asked_not_as_stored(workspace, source, monkeypatch):
    workspace.store(source, trace(source))
    monkeypatch.chdir(Path(source).parent)
    assert workspace.cached("rank0_trace.json").path == "rank0_trace.json"


def test_files_of_one_name_in_two_folders_are_two(workspace, tmp_path):
    for folder in ("iteration_1", "iteration_2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rank0.json").write_text("{}")
    one, two = (str(tmp_path / f / "rank0.json") for f in ("iteration_1", "iteration_2"))
    workspace.store(one, trace(one, rank=1))
    workspace.store(two, trace(two, rank=2))
    assert [workspace.cached(p).meta.rank for p in (one, two)] == [1, 2]


@pytest.mark.parametrize("change", ["size", "mtime", "gone", "parser", "release", "damage"])
def test_columns_are_void_when(workspace, source, change, monkeypatch):
    workspace.store(source, trace(source))
    status = Path(source).stat()
    if change == "size":
        Path(source).write_text('{"traceEvents":  []}')
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif change == "mtime":
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    elif change == "gone":
        Path(source).unlink()
    elif change == "parser":
        monkeypatch.setattr(store, "PARSER_VERSION", store.PARSER_VERSION + 1)
    elif change == "release":
        monkeypatch.setattr(kept, "SYNCTAX", "99.0")
    else:
        columns(workspace)[0].write_bytes(b"")
    assert workspace.cached(source) is None


def test_columns_that_cannot_be_a_traces_are_read_anew(workspace, source):
    """Their checksum is right: somebody else made them."""
    made = trace(source, rank=5)
    events = dataclasses.replace(made.events, kind=np.array([99], np.int8))
    workspace.store(source, dataclasses.replace(made, events=events))
    assert workspace.cached(source) is None
    assert workspace.read(source, lambda: trace(source, rank=6)).meta.rank == 6
    assert workspace.read(source, never).meta.rank == 6


def test_columns_of_earlier_states_are_dropped_when_new_ones_come(workspace, source):
    workspace.store(source, trace(source))
    Path(source).write_text("[]")
    workspace.store(source, trace(source, rank=4))
    assert len(columns(workspace)) == 1
    assert workspace.cached(source).meta.rank == 4


def test_a_file_that_changes_while_it_is_read_is_not_kept(workspace, source):
    def read():
        Path(source).write_text("[]")
        return trace(source)

    assert workspace.read(source, read).notes == ()
    assert workspace.cached(source) is None


# ------------------------------------------------------------------------------- URLs


class Store:
    """A store that tells of its files what a test says."""

    def __init__(self):
        self.files = {}
        self.asked = 0

    def invalidate_cache(self, path):
        pass

    def info(self, path):
        self.asked += 1
        if path not in self.files:
            raise FileNotFoundError(path)
        return {"type": "file", "size": 3, **self.files[path]}

    def modified(self, path):
        raise NotImplementedError


URL = "s3://bucket/rank0.json"


@pytest.fixture
def remote(monkeypatch):
    """What is at `URL` is told from here."""
    core = pytest.importorskip("fsspec").core
    found = Store()
    found.files[URL] = {"ETag": '"1"'}
    monkeypatch.setattr(core, "url_to_fs", lambda url: (found, url))
    return found


def test_a_url_is_read_once_while_its_store_tells_the_same(workspace, remote):
    assert workspace.read(URL, lambda: trace(URL, rank=5)).meta.rank == 5
    assert workspace.read(URL, never).meta.rank == 5
    remote.files[URL] = {"ETag": '"2"'}
    assert workspace.cached(URL) is None
    assert workspace.read(URL, lambda: trace(URL, rank=6)).meta.rank == 6
    assert len(columns(workspace)) == 1


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({}, "neither a checksum nor when it was changed"),
        ({"ETag": 'W/"1"'}, "neither a checksum nor"),
        ({"Last-Modified": "whenever"}, "neither a checksum nor"),
        ({"LastModified": None}, "it changed in the last 60 s"),
    ],
)
def test_a_url_whose_changes_cannot_be_seen_is_not_kept(workspace, remote, told, why):
    now = time.time() + 5  # not when tests are collected, which may be minutes before
    remote.files[URL] = {key: value or now for key, value in told.items()}
    assert workspace.read(URL, lambda: trace(URL)).path == URL
    note = workspace.store(URL, trace(URL))
    assert note.reason == "workspace_url"
    assert why in note.detail
    assert workspace.cached(URL) is None
    assert not columns(workspace)
    assert workspace.record_measure([URL], [URL]) == note


@pytest.mark.parametrize(
    "told",
    [
        {"Last-Modified": "Tue, 01 Dec 2020 07:00:00 GMT"},
        {"updated": "2020-12-01T07:00:00+00:00"},
        {"last_modified": datetime.fromisoformat("2020-12-01T07:00:00")},
        {"mtime": 1606806000.0},
    ],
)
def test_a_time_of_long_ago_is_enough(workspace, remote, told):
    remote.files[URL] = told
    assert look(URL).mtime_ns == 1_606_806_000_000_000_000
    workspace.store(URL, trace(URL))
    assert workspace.cached(URL) is not None


@pytest.mark.parametrize(
    "url", ["https://host/rank0.json?signature=x", "s3://key:secret@bucket/rank0.json"]
)
def test_secrets_of_a_url_are_not_written_down(workspace, remote, url):
    remote.files[url] = {"ETag": '"1"'}
    assert "password or a signature" in workspace.store(url, trace(url)).detail
    assert workspace.read(url, lambda: trace(url)).path == url
    assert not workspace.directory.exists()


def test_a_url_that_changes_while_it_is_read_is_not_kept(workspace, remote):
    def read():
        remote.files[URL] = {"ETag": '"2"'}
        return trace(URL)

    workspace.read(URL, read)
    assert not columns(workspace)


def test_a_url_that_is_not_there_or_whose_store_is_away_is_read_every_time(
    workspace, remote
):
    remote.files.clear()
    assert workspace.read(URL, lambda: trace(URL)).path == URL
    assert workspace.store(URL, trace(URL)) is None
    assert workspace.cached(URL) is None
    assert workspace.record_measure([URL], [URL]) is None


def test_pruning_asks_no_store_and_drops_what_nobody_wanted_for_long(workspace, remote):
    workspace.store(URL, trace(URL))
    remote.asked = 0
    assert workspace.prune() == 0
    old_s = time.time() - kept.UNUSED_S - 1
    for file in (workspace.directory / "columns").iterdir():
        os.utime(file, (old_s, old_s))
    assert remote.asked == 0
    workspace.cached(URL)  # somebody wants it
    assert workspace.prune() == 0
    os.utime(columns(workspace)[0], (old_s, old_s))
    assert workspace.prune() == 1
    assert not list((workspace.directory / "columns").iterdir())


def test_git_ignores_the_workspace(workspace, source):
    workspace.store(source, trace(source))
    assert (workspace.directory / ".gitignore").read_text() == "*\n"


def test_prepare_leaves_an_empty_workspace_and_no_note(workspace):
    assert workspace.prepare() is None
    names = sorted(p.name for p in workspace.directory.rglob("*"))
    assert names == [".gitignore", "columns"]


def everything(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    "name", ["last_measure.json", "README", ".gitignore", "columns.txt"]
)
def test_a_directory_of_somebody_else_is_refused_and_untouched(workspace, name):
    workspace.directory.mkdir()
    (workspace.directory / name).write_text('{"mine": 1}')
    before = everything(workspace.directory)
    with pytest.raises(SynctaxError, match="holds what synctax did not make"):
        workspace.prepare()
    assert everything(workspace.directory) == before


def test_a_file_in_its_place_is_refused_with_what_to_do(workspace):
    workspace.directory.write_text("")
    with pytest.raises(SynctaxError, match=r"\.synctax is a file, .* or --no-cache"):
        workspace.prepare()


def test_an_empty_directory_becomes_a_workspace(workspace):
    workspace.directory.mkdir()
    assert workspace.prepare() is None
    assert columns(workspace) == []


def test_a_workspace_is_one_still_when_something_was_put_beside(workspace):
    workspace.prepare()
    (workspace.directory / "notes.txt").write_text("")
    assert workspace.prepare() is None


@pytest.mark.parametrize("made", [("columns",), (".gitignore",), ("columns", "record")])
def test_a_workspace_that_another_process_has_begun_is_one(workspace, source, made):
    workspace.record_measure([source], [])
    if "columns" not in made:
        (workspace.directory / "columns").rmdir()
    if ".gitignore" not in made:
        (workspace.directory / ".gitignore").unlink()
    if "record" not in made:
        (workspace.directory / "last_measure.json").unlink()
    (workspace.directory / f"x{store.TEMPORARY_SUFFIX}").write_text("")
    assert workspace.prepare() is None


def test_a_full_disk_is_a_note_not_an_error(workspace, source, full_disk):
    full_disk()
    notes = [
        workspace.prepare(),
        workspace.store(source, trace(source)),
        workspace.record_measure([source], [source]),
    ]
    assert [note.reason for note in notes] == ["workspace_unwritable"] * 3
    text = "No space left on device; nothing is kept for later commands"
    advice = "(choose another place with --workspace DIR)"
    assert {n.detail for n in notes} == {f"{workspace.directory}: {text} {advice}"}


def test_a_full_disk_changes_nothing_about_what_is_read(workspace, source, full_disk):
    full_disk()
    assert workspace.read(source, lambda: trace(source, rank=6)).meta.rank == 6
    assert workspace.read(source, lambda: trace(source, rank=6)).notes == ()


def test_a_disk_that_fills_up_on_the_way_is_a_note(
    workspace, source, tmp_path, monkeypatch
):
    other = str(tmp_path / "rank1_trace.json")
    unread = str(tmp_path / "rank2_trace.json")
    for path in (other, unread):
        Path(path).write_text("{}")
    workspace.read(source, lambda: trace(source))
    with monkeypatch.context() as filling:

        def save(trace, path):
            raise OSError(28, "No space left on device")

        filling.setattr(store, "save", save)
        workspace.read(other, lambda: trace(other))
    note = workspace.record_measure([str(tmp_path)], [source, other, unread])
    assert (note.reason, note.count, note.where) == ("workspace_incomplete", 1, other)
    assert workspace.last_measure().targets == (str(tmp_path),)


def test_a_directory_that_cannot_be_made_is_a_note(tmp_path, source):
    (tmp_path / "file").write_text("")
    note = Workspace(tmp_path / "file" / ".synctax").prepare()
    assert "Not a directory" in note.detail


def test_columns_already_there_serve_when_the_disk_is_full(workspace, source, full_disk):
    workspace.store(source, trace(source))
    full_disk()
    assert workspace.read(source, never).notes == ()


def test_workers_can_have_it(workspace, source):
    copy = pickle.loads(pickle.dumps(workspace))
    copy.store(source, trace(source, rank=2))
    assert workspace.cached(source).meta.rank == 2


def test_the_last_measure_is_recalled(workspace, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranks.csv").write_text("")
    options = {"group": "tp", "steps": [3, 10], "include_head": False}
    targets = ["rank*.json", "s3://bucket/run"]
    assert (
        workspace.record_measure(
            targets, ["rank0_trace.json"], manifest="ranks.csv", options=options
        )
        is None
    )
    last = workspace.last_measure()
    assert last.targets == (str(tmp_path / "rank*.json"), "s3://bucket/run")
    assert last.manifest == str(tmp_path / "ranks.csv")
    assert last.options == options
    assert [file.path for file in last.files] == [source]
    assert last.when.endswith("+00:00")
    assert last.changed_files == ()


SIGNED = "https://me:hunter2@host/rank0.json?X-Amz-Signature=0f3a"


def test_what_is_recalled_holds_no_secret_of_a_url(workspace):
    workspace.record_measure([SIGNED, "s3://b/t"], [SIGNED], manifest=SIGNED)
    workspace.keep_tax(dataclasses.replace(TAX, n_fit=8), targets=[SIGNED, "s3://b/t"])
    written = b"".join(everything(workspace.directory).values())
    assert b"hunter2" not in written
    assert b"0f3a" not in written
    cut = "https://…@host/rank0.json?…"
    assert workspace.last_measure().targets == (cut, "s3://b/t")
    assert workspace.last_measure().manifest == cut
    assert workspace.tax().source.targets == (cut, "s3://b/t")
    workspace.record_measure([SIGNED.replace("0f3a", "77"), "s3://b/t"], [])
    assert workspace.measured_since(workspace.tax()) == ()


def test_only_the_last_measure_is_recalled(workspace, source):
    workspace.record_measure(["/first"], [])
    workspace.record_measure(["/second"], [])
    assert workspace.last_measure().targets == ("/second",)
    assert workspace.last_measure().manifest is None


def test_files_changed_since_the_last_measure_are_named(workspace, source, tmp_path):
    other = tmp_path / "rank1_trace.json"
    other.write_text("{}")
    workspace.record_measure([str(tmp_path)], [source, str(other)])
    other.unlink()
    assert workspace.last_measure().changed_files == (str(other),)


def test_no_measure_yet_is_told_with_what_to_do(workspace):
    with pytest.raises(SynctaxError, match=r"nothing was measured .* `synctax measure"):
        workspace.last_measure()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 0}', '{"version": 1}', '{"version": 1, "x": 2}']
)
def test_a_damaged_record_is_told_with_what_to_do(workspace, text):
    workspace.prepare()
    (workspace.directory / "last_measure.json").write_text(text)
    with pytest.raises(SynctaxError, match=r"not a record .* `synctax measure"):
        workspace.last_measure()


def test_a_record_that_cannot_be_read_is_told(workspace):
    (workspace.directory / "last_measure.json").mkdir(parents=True)
    with pytest.raises(SynctaxError, match="Is a directory"):
        workspace.last_measure()


# ------------------------------------------------------------------ the fitted tax

TAX = builtin("llama3-70b-h200")


def test_without_a_fit_there_is_no_tax(workspace):
    assert workspace.tax() is None


def test_the_tax_that_was_fitted_last_is_recalled(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert workspace.keep_tax(dataclasses.replace(TAX, n_fit=8)) is None
    assert workspace.keep_tax(TAX, targets=["traces", "s3://b/t"]) is None
    told = workspace.tax()
    assert dataclasses.replace(told, source=TAX.source) == TAX
    assert told.source.names == TAX.source.names
    assert told.source.targets == (str(tmp_path / "traces"), "s3://b/t")
    assert told.source.when.endswith("+00:00")
    assert workspace.prepare() is None


def test_a_tax_of_another_job_than_measured_last_is_known_as_such(workspace, tmp_path):
    one, other = (str(tmp_path / name) for name in ("one", "other"))
    assert workspace.measured_since(TAX) == ()
    workspace.record_measure([one], [])
    workspace.keep_tax(TAX, targets=[one])
    assert workspace.measured_since(workspace.tax()) == ()
    workspace.record_measure([one], [])
    assert workspace.measured_since(workspace.tax()) == ()
    workspace.record_measure([other], [])
    assert workspace.measured_since(workspace.tax()) == (other,)
    workspace.record_measure([], [], manifest=other)
    assert workspace.measured_since(workspace.tax()) == (other,)
    workspace.keep_tax(TAX)
    assert workspace.measured_since(workspace.tax()) == ()


@pytest.mark.parametrize("text", ["", "{", '{"schema": "synctax.tax/9"}', "[]"])
def test_a_damaged_tax_is_told_with_what_to_do(workspace, text):
    workspace.prepare()
    (workspace.directory / "tax.json").write_text(text)
    with pytest.raises(BadInputError, match=r"tax.json.*run synctax fit-evt again"):
        workspace.tax()


def test_a_tax_that_cannot_be_read_is_told(workspace):
    (workspace.directory / "tax.json").mkdir(parents=True)
    with pytest.raises(SynctaxError, match="Is a directory; give the tax with --tax"):
        workspace.tax()


def test_a_tax_that_cannot_be_kept_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    note = Workspace(tmp_path / "file" / "in").keep_tax(TAX)
    assert note.reason == "workspace_unwritable"


def test_a_tax_alone_marks_a_workspace_and_another_file_of_its_name_does_not(workspace):
    workspace.directory.mkdir()
    (workspace.directory / "tax.json").write_bytes(to_json(TAX))
    assert workspace.prepare() is None
    other = Workspace(workspace.directory.with_name("other"))
    other.directory.mkdir()
    (other.directory / "tax.json").write_text('{"rate": 0.19}')
    with pytest.raises(SynctaxError, match="holds what synctax did not make"):
        other.prepare()


def test_pruning_keeps_what_is_valid(workspace, source):
    workspace.store(source, trace(source))
    assert workspace.prune() == 0
    assert workspace.cached(source) is not None


def test_pruning_drops_columns_of_changed_and_vanished_files(workspace, source, tmp_path):
    other = str(tmp_path / "rank1_trace.json")
    Path(other).write_text("{}")
    for path in (source, other):
        workspace.store(path, trace(path))
    Path(source).write_text("[]")
    Path(other).unlink()
    assert workspace.prune() == 2
    assert workspace.size_bytes == 0
    assert workspace.prune() == 0
    assert len(list((workspace.directory / "columns").iterdir())) == 1


def test_pruning_drops_temporary_files_only_of_the_dead(workspace):
    workspace.prepare()
    dead, alive = (workspace.directory / "columns" / n for n in ("a.tmp", "b.tmp"))
    for path in (dead, alive):
        path.write_text("")
    os.utime(dead, (0, 0))
    workspace.prune()
    assert not dead.exists()
    assert alive.exists()


def test_pruning_an_absent_workspace_does_nothing(workspace):
    assert workspace.prune() == 0
    assert workspace.size_bytes == 0


def test_the_size_is_that_of_the_columns(workspace, source):
    workspace.store(source, trace(source))
    assert workspace.size_bytes == columns(workspace)[0].stat().st_size > 0


def test_a_file_that_another_process_removed_first_does_no_harm(tmp_path):
    assert not files.remove(tmp_path / "gone")
    assert files.size_of(tmp_path / "gone") == 0
    assert files.age_s(tmp_path / "gone") == 0


def test_two_at_a_time_never_see_half_a_file(workspace, source):
    """One writes and prunes over and over, the other reads whole columns or none."""
    stop = threading.Event()

    def write():
        while not stop.is_set():
            workspace.store(source, trace(source, rank=9))
            workspace.record_measure([source], [source])
            workspace.prune()

    workspace.store(source, trace(source, rank=9))
    workspace.record_measure([source], [source])
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(200):
            assert workspace.cached(source).meta.rank == 9
            assert workspace.last_measure().targets == (source,)
    finally:
        stop.set()
        writer.join()


def test_importing_it_imports_no_heavy_library():
    program = (
        "import sys, synctax.workspace;"
        "sys.exit(str({'pandas', 'pyarrow', 'scipy', 'rich', 'click'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, stderr=subprocess.PIPE, text=True
    )
    assert done.stderr == "set()\n"
