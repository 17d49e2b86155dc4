"""What is stored is what comes back, exactly, or nothing."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.notes import Note
from synctax.trace import store
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
from synctax.trace.store import StoreError
from tests.laws import examples

DTYPES = {"kind": np.int8, "comms_id": np.uint64}
CODES = {"name", "lane", "device", "stream", "geometry"} | {
    f.name for f in dataclasses.fields(CommArgs)[1:10]
}

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


def section(kind, rows, rng):
    columns = {}
    for field in dataclasses.fields(kind):
        name = field.name
        dtype = DTYPES.get(name, np.int32 if name in CODES else np.int64)
        info = np.iinfo(dtype)
        columns[name] = rng.integers(info.min, info.max, rows, dtype, endpoint=True)
    return kind(**columns)


def trace(n_events=5, n_rows=3, *, seed=0, strings=("", "ncclDevKernel", "µ\n\x00\ud800")):
    """Build a trace whose every column is full-range noise."""
    rng = np.random.default_rng(seed)
    lanes = Lanes(np.array([7, -1]), np.array([2**62, 0]), ("pt_autograd_0", ""))
    return RankTrace(
        path="run/rank3_trace.json.gz",
        meta=META,
        events=section(Events, n_events, rng),
        lanes=lanes,
        kernels=section(KernelArgs, n_rows, rng),
        syncs=section(SyncArgs, n_rows + 1, rng),
        comms=section(CommArgs, n_rows + 2, rng),
        strings=strings,
        notes=(Note("unescaped_quote", 2, 'a "quoted" name', "line 12"), Note("gap", 1)),
        truncated=True,
        bytes_read=2**40,
    )


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
    whole = trace()
    every_second = Events(
        *(getattr(whole.events, f.name)[::2] for f in dataclasses.fields(Events))
    )
    sliced = dataclasses.replace(whole, events=every_second)
    store.save(sliced, tmp_path / "columns.arrow")
    assert_same(store.load(tmp_path / "columns.arrow"), sliced)


def test_arrow_reads_the_file(tmp_path):
    import pyarrow as pa

    store.save(trace(), tmp_path / "columns.arrow")
    table = pa.ipc.open_stream(tmp_path / "columns.arrow").read_all()
    assert table["events.start_ns"][0].as_py() == trace().events.start_ns.tolist()


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
            yield "events.colour", np.zeros(3)

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


def test_pandas_is_not_imported(tmp_path):
    store.save(trace(), tmp_path / "columns.arrow")
    program = (
        "import sys; from pathlib import Path; from synctax.trace import store;"
        "trace = store.load(Path(sys.argv[1])); store.save(trace, Path(sys.argv[1]));"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "columns.arrow"], check=True)
