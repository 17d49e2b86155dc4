"""What is stored is what comes back, exactly, or nothing."""

import dataclasses
import json
import random
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.notes import Note
from synctax.trace import arrow_stream, store
from synctax.trace.kineto_columns import COMM_JSON, COMM_NUMBERS, COMM_TEXTS
from synctax.trace.model import (
    CommArgs,
    Device,
    Events,
    GroupConfig,
    KernelArgs,
    Lanes,
    RankTrace,
    SyncArgs,
    TraceMeta,
)
from synctax.trace.spill import Spill
from synctax.trace.store import StoreError
from tests.laws import examples

META = TraceMeta(
    rank=3,
    world_size=8,
    backend="nccl",
    nccl_version="2.21.5",
    groups=(
        GroupConfig("0", "default_pg", "cuda:nccl", 8, tuple(range(8))),
        GroupConfig("1", "mesh_tp", "", None, None),
    ),
    host="node-\udcff-07",
    devices=(Device(0, "NVIDIA H200"), Device(1, "")),
    job="llama",
    base_time_ns=1_712_195_495_505_582_988,
    versions={"cuda_runtime": "12.8"},
    profiler_start_ns=-5,
    profiler_end_ns=2**62,
    runner_threads=(5975, 5981),
)


LIMITS = {
    "kind": (0, 8), "duration_ns": (0, 2**62), "device": (-1, 2**31 - 1),
    "stream": (-1, 2**31 - 1), **{name: (-1, most) for name, most in COMM_NUMBERS.items()},
}  # fmt: skip
"""The least and the largest of columns whose type allows more."""


def section(kind, name, rows, rng, *, codes, lanes, events):
    """Build columns of noise over all that each may hold."""
    columns = {}
    for field in dataclasses.fields(kind):
        dtype = store._dtypes()[f"{name}.{field.name}"]
        info = np.iinfo(dtype)
        low, high = LIMITS.get(field.name, (info.min, info.max))
        if field.name in ("name", "geometry", *COMM_TEXTS, *COMM_JSON):
            low, high = (0 if field.name == "name" else -1), codes - 1
        elif field.name == "lane":
            low, high = 0, lanes - 1
        elif field.name == "event":
            low, high = 0, events - 1
        values = rng.integers(low, high, rows, dtype, endpoint=True)
        ordered = field.name in ("event", "start_ns")
        columns[field.name] = np.sort(values) if ordered else values
    return kind(**columns)


def trace(n_events=5, n_rows=3, *, seed=0, strings=("", "ncclDevKernel", "µ\n\x00\ud800")):
    """Build a trace whose every column is noise."""
    rng = np.random.default_rng(seed)
    lanes = Lanes(np.array([7, -1]), np.array([2**62, 0]), ("pt_autograd_0", ""))
    n_events = n_events if strings else 0
    n_rows = n_rows if n_events else -2
    at = {"codes": len(strings), "lanes": 2, "events": n_events}
    return RankTrace(
        path="run/rank3_trace.json.gz",
        meta=META,
        events=section(Events, "events", n_events, rng, **at),
        lanes=lanes,
        kernels=section(KernelArgs, "kernels", max(0, n_rows), rng, **at),
        syncs=section(SyncArgs, "syncs", max(0, n_rows + 1), rng, **at),
        comms=section(CommArgs, "comms", n_rows + 2, rng, **at),
        strings=strings,
        notes=(Note("unescaped_quote", 2, 'a "quoted" name', "line 12"), Note("gap", 1)),
        truncated=True,
        bytes_read=2**40,
    )


def seal(path, stream):
    """Write a stream with a checksum that is right."""
    crc = zlib.crc32(stream).to_bytes(4, "little")
    path.write_bytes(stream + store._MAGIC + crc)


def assert_same(one, other):
    assert type(one) is type(other)
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert_array_equal(a, b)
        elif dataclasses.is_dataclass(a):
            assert_same(a, b)
        else:
            assert a == b


@settings(max_examples=examples(30), deadline=None)
@given(
    st.integers(0, 200),
    st.integers(0, 50),
    st.integers(0, 2**32),
    st.lists(st.text(st.characters(exclude_categories=()))),
)
def test_every_trace_comes_back_exactly(tmp_path_factory, n_events, n_rows, seed, strings):
    path = tmp_path_factory.mktemp("store") / "columns.arrow"
    stored = trace(n_events, n_rows, seed=seed, strings=tuple(strings))
    store.save(stored, path)
    assert_same(store.load(path), stored)
    assert_same(store.load(path, Spill(block_bytes=60)), stored)


def test_the_sample_trace_sets_every_field(tmp_path):
    """Else a field that gets lost in the file would not be missed above."""
    for value in (META, META.groups[0], trace(), trace().notes[0]):
        for field in dataclasses.fields(value):
            assert getattr(value, field.name) != field.default


def test_the_least_metadata_comes_back(tmp_path):
    bare = dataclasses.replace(trace(0, 0, strings=()), meta=TraceMeta(), notes=())
    store.save(bare, tmp_path / "columns.arrow")
    assert_same(store.load(tmp_path / "columns.arrow"), bare)


def test_columns_that_are_not_contiguous_are_stored(tmp_path):
    whole = trace(n_rows=-2)  # none, which would be of events that are not there
    every_second = Events(
        *(getattr(whole.events, f.name)[::2] for f in dataclasses.fields(Events))
    )
    sliced = dataclasses.replace(whole, events=every_second)
    store.save(sliced, tmp_path / "columns.arrow")
    assert_same(store.load(tmp_path / "columns.arrow"), sliced)


def test_arrow_reads_the_file_as_it_is(tmp_path):
    import pyarrow as pa

    whole = trace()
    store.save(whole, tmp_path / "columns.arrow")
    table = pa.ipc.open_stream(tmp_path / "columns.arrow").read_all()
    table.validate(full=True)
    columns = dict(store._columns(whole))
    assert table.column_names == list(columns)
    for name, values in columns.items():
        assert table[name].type.value_type == pa.from_numpy_dtype(values.dtype)
        assert table[name].to_pylist() == [values.tolist()]
    rest = json.loads(table.schema.metadata[b"synctax"])
    assert rest["meta"]["job"] == META.job


def test_a_stream_that_arrow_wrote_is_read(tmp_path):
    import pyarrow as pa

    whole, path = trace(), tmp_path / "columns.arrow"
    store.save(whole, path)
    table = pa.ipc.open_stream(path.read_bytes()).read_all()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(path, table.schema, options=options) as writer:
        writer.write_table(table)
    seal(path, path.read_bytes())  # Arrow aligns otherwise, and names things by itself
    assert_same(store.load(path), whole)


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "columns.arrow"
    store.save(trace(), path)
    data = path.read_bytes()
    for end in [*range(0, len(data), 97), len(data) - 1]:
        path.write_bytes(data[:end])
        with pytest.raises(StoreError, match=r"columns\.arrow: "):
            store.load(path)


def test_a_flipped_bit_anywhere_is_refused(tmp_path):
    path = tmp_path / "columns.arrow"
    store.save(trace(), path)
    data = bytearray(path.read_bytes())
    for at in [*range(0, len(data), 53), len(data) - 1]:
        data[at] ^= 4
        path.write_bytes(data)
        with pytest.raises(StoreError):
            store.load(path)
        data[at] ^= 4


def test_another_version_of_the_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "columns.arrow"
    with monkeypatch.context() as earlier:
        earlier.setattr(store, "_MAGIC", b"synctax\x00")
        store.save(trace(), path)
    with pytest.raises(StoreError, match="not columns that this version"):
        store.load(path)


@pytest.mark.parametrize("change", ["more", "fewer"])
def test_another_set_of_columns_is_refused(tmp_path, monkeypatch, change):
    columns = store._columns

    def changed(stored):
        yield from list(columns(stored))[1 if change == "fewer" else 0 :]
        if change == "more":
            yield "events.colour", np.zeros(3, np.int64)

    monkeypatch.setattr(store, "_columns", changed)
    store.save(trace(), tmp_path / "columns.arrow")
    with pytest.raises(StoreError, match="another layout"):
        store.load(tmp_path / "columns.arrow")


def test_an_absent_file_is_refused(tmp_path):
    with pytest.raises(StoreError, match="No such file"):
        store.load(tmp_path / "absent.arrow")


def test_an_existing_file_is_replaced(tmp_path):
    path = tmp_path / "columns.arrow"
    store.save(trace(seed=1), path)
    store.save(trace(seed=2), path)
    assert_same(store.load(path), trace(seed=2))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "columns.arrow"
    store.save(trace(seed=1), path)

    def fail(self, target):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full_disk:
        full_disk.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="No space left"):
            store.save(trace(seed=2), path)
    assert list(tmp_path.iterdir()) == [path]
    assert_same(store.load(path), trace(seed=1))


def test_neither_arrow_nor_pandas_is_imported(tmp_path):
    """Arrow alone would be half of what a worker holds."""
    store.save(trace(), tmp_path / "columns.arrow")
    program = (
        "import sys; from pathlib import Path; from synctax.trace import store;"
        "trace = store.load(Path(sys.argv[1])); store.save(trace, Path(sys.argv[1]));"
        "sys.exit(bool({'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "columns.arrow"], check=True)


# --------------------------------------------------- damage that no checksum shows


def refused(path, match):
    """Whether a file is refused, wherever its columns were to go."""
    for spill in (None, Spill(block_bytes=60)):
        with pytest.raises(StoreError, match=match):
            store.load(path, spill)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("events", "name", 3),
        ("events", "name", -1),
        ("events", "kind", 9),
        ("events", "kind", -1),
        ("events", "lane", 2),
        ("events", "lane", -1),
        ("events", "duration_ns", -1),
        ("events", "duration_ns", 2**63 - 1),
        ("events", "device", -2),
        ("events", "stream", -2),
        ("events", "start_ns", 2**63 - 1),
        *((table, "event", value) for table in ("kernels", "syncs", "comms")
          for value in (-1, 5, 4)),
        ("kernels", "geometry", 3),
        ("kernels", "geometry", -2),
        *(("comms", name, value) for name in (*COMM_TEXTS, *COMM_JSON)
          for value in (-2, 3)),
        *(("comms", name, value) for name, most in COMM_NUMBERS.items()
          for value in (-2, most + 1)),
    ],
)  # fmt: skip
def test_a_number_that_cannot_be_is_refused(tmp_path, table, column, value):
    whole = trace(n_rows=3)
    for rows in (whole.kernels, whole.syncs, whole.comms):
        rows.event[:] = 1
    changed = getattr(getattr(whole, table), column)
    store.save(whole, tmp_path / "columns.arrow")
    store.load(tmp_path / "columns.arrow")
    changed[0] = value  # of starts and events the first is then behind the others
    store.save(whole, tmp_path / "columns.arrow")
    refused(tmp_path / "columns.arrow", f"another layout: (a )?{column}")


@pytest.mark.parametrize("section", ["events", "lanes", "kernels", "syncs", "comms"])
def test_columns_of_two_lengths_are_refused(tmp_path, monkeypatch, section):
    columns = store._columns

    def changed(stored):
        for name, values in columns(stored):
            last = name == [n for n, _ in columns(stored) if n.startswith(section)][-1]
            yield name, values[:-1] if last else values

    monkeypatch.setattr(store, "_columns", changed)
    store.save(trace(), tmp_path / "columns.arrow")
    refused(tmp_path / "columns.arrow", f"columns of {section} differ in length")


@pytest.mark.parametrize("ends", [[0, 13, 12], [-1, 13, 18], [0, 13, 17], [0, 13, 99]])
def test_strings_that_do_not_follow_each_other_are_refused(tmp_path, monkeypatch, ends):
    columns = store._columns

    def changed(stored):
        for name, values in columns(stored):
            yield name, np.array(ends) if name == "strings.end" else values

    monkeypatch.setattr(store, "_columns", changed)
    store.save(trace(), tmp_path / "columns.arrow")
    refused(tmp_path / "columns.arrow", "do not end one after the other")


def test_columns_of_another_type_are_refused(tmp_path):
    whole = trace()
    wide = dataclasses.replace(whole.events, kind=whole.events.kind.astype(np.int64))
    store.save(dataclasses.replace(whole, events=wide), tmp_path / "columns.arrow")
    refused(tmp_path / "columns.arrow", "of other types")


@pytest.mark.parametrize(
    "change",
    [
        lambda rest: rest.pop("labels"),
        lambda rest: rest["labels"].append("one too many"),
        lambda rest: rest["labels"].append(7),
        lambda rest: rest.update(bytes_read=-1),
        lambda rest: rest.update(truncated="no"),
        lambda rest: rest["notes"][0].update(count=-1),
        lambda rest: rest["notes"][0].pop("reason"),
        lambda rest: rest["meta"].update(rank=-2),
        lambda rest: rest["meta"].update(rank="3"),
        lambda rest: rest["meta"].update(world_size=2**40),
        lambda rest: rest["meta"]["groups"][0].update(size=-5),
        lambda rest: rest["meta"]["groups"][0].update(ranks=[0, -1]),
        lambda rest: rest["meta"].update(devices=[{"id": "0", "name": ""}]),
        lambda rest: rest["meta"].update(versions=[]),
    ],
)
def test_metadata_that_cannot_be_is_refused(tmp_path, monkeypatch, change):
    def changed(value):
        rest = json.loads(json.dumps(dataclasses.asdict(value)))
        change(rest)
        return rest

    store.save(trace(), tmp_path / "columns.arrow")
    store.load(tmp_path / "columns.arrow")
    monkeypatch.setattr(store, "asdict", changed)
    store.save(trace(), tmp_path / "columns.arrow")
    refused(tmp_path / "columns.arrow", "another layout")


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000])
def test_metadata_that_is_none_is_refused(tmp_path, text):
    with (tmp_path / "stream").open("w+b") as file:
        arrow_stream.write(file, list(store._columns(trace())), text)
    seal(tmp_path / "columns.arrow", (tmp_path / "stream").read_bytes())
    refused(tmp_path / "columns.arrow", "another layout")


@pytest.mark.parametrize("damage", ["bits", "bytes", "cut", "words"])
@settings(max_examples=examples(200), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_whatever_is_there_is_read_or_refused(tmp_path_factory, damage, seed):
    """Nothing else happens, also where the checksum is right."""
    path = tmp_path_factory.mktemp("store") / "columns.arrow"
    store.save(trace(), path)
    stream = bytearray(path.read_bytes()[: -store._TRAILER_BYTES])
    rng = random.Random(seed)
    at = rng.randrange(len(stream))
    if damage == "bits":
        stream[at] ^= 1 << rng.randrange(8)
    elif damage == "bytes":
        stream[at : at + 8] = rng.randbytes(rng.randrange(16))
    elif damage == "cut":
        del stream[at:]
    else:
        at -= at % 4
        word = rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, rng.randrange(2**32)])
        stream[at : at + 4] = word.to_bytes(4, "little")
    seal(path, bytes(stream))
    for spill in (None, Spill(block_bytes=60)):
        with suppress(StoreError):
            store.load(path, spill)
