"""Columns in files are those in memory, and no file is left."""

import errno
import gzip
import os
import random
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.trace import readers, spill
from synctax.trace.kineto import MsgspecScanner, NativeScanner, read_rank
from synctax.trace.source import open_file
from synctax.trace.spill import Numbers, Spill, SpillError
from synctax.trace.spill_sort import in_order
from tests.conftest import ROOT
from tests.fuzz.build import corpus
from tests.laws import examples, few
from tests.trace.native.mutations import mutated
from tests.trace.native.reading import fed, told_apart
from tests.trace.native.texts import made

BLOCKS = (60, 1_000, 1 << 21)
"""Bytes: one row at a time, some, and all."""
SCANNERS = [MsgspecScanner, *([NativeScanner] if readers.variants() else [])]
EXAMPLES = sorted((ROOT / "examples" / "tp4-fsdp2").rglob("*rank*.json*"))


def in_files(scanner, text, block_bytes, chunk=700):
    where = Spill(block_bytes=block_bytes)
    return fed(scanner("rank0.json", chunk, spill=where), text, 500)


def in_memory(scanner, text):
    return fed(scanner("rank0.json"), text, 1 << 20)


@pytest.mark.parametrize("scanner", SCANNERS)
@pytest.mark.parametrize("block_bytes", BLOCKS)
def test_columns_are_the_same(scanner, block_bytes):
    for text in made():
        found = in_files(scanner, text, block_bytes)
        assert not told_apart(found, in_memory(scanner, text))


@pytest.mark.parametrize("scanner", SCANNERS)
@pytest.mark.parametrize("part", range(4))
def test_so_are_those_of_odd_texts(scanner, part):
    for path in few(corpus()[part::4]):
        text = path.read_bytes()
        found = in_files(scanner, text, BLOCKS[part % 2])
        assert not told_apart(found, in_memory(scanner, text)), path.name


@given(st.integers(0, 2**32))
def test_so_are_those_of_damaged_texts(seed):
    rng = random.Random(seed)
    for text in made():
        damaged = mutated(text, rng)
        for scanner in SCANNERS:
            found = in_files(scanner, damaged, rng.choice(BLOCKS))
            assert not told_apart(found, in_memory(scanner, damaged))


@pytest.mark.parametrize("scanner", SCANNERS)
def test_so_are_those_of_an_example(scanner):
    with open_file(str(EXAMPLES[0])) as file:
        text = b"".join(iter(lambda: file.read(1 << 20), b""))
    text = gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text
    found = in_files(scanner, text, 5_000, 1 << 16)
    assert not told_apart(found, in_memory(scanner, text))


@given(
    st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 3), max_size=60),
    st.integers(1, 200),
)
def test_a_sort_in_files_is_a_stable_sort(keys, block_bytes):
    where = Spill(block_bytes=block_bytes)
    key = np.array(keys, np.int64)
    columns = where.columns(key=np.int64, place=np.int32)
    if keys:
        columns.append(key=key, place=np.arange(key.size))
    blocks = list(columns.blocks()) or [columns.block(0, 0)]
    found = in_order(blocks, "key", where).arrays()
    assert found["place"].tolist() == np.argsort(key, kind="stable").tolist()
    assert found["key"].tolist() == sorted(keys)


@pytest.mark.parametrize("count", [0, 1, examples(1_000)])
def test_numbers_in_a_file_are_where_they_were_put(count):
    numbers = Numbers(Spill(block_bytes=40), count)
    half = np.arange(0, count, 2)
    numbers.put(half, half * 3)
    wanted = np.full(count, -1)
    wanted[half] = half * 3
    assert numbers.at(np.arange(count)).tolist() == wanted.tolist()


def test_nothing_is_left_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv(spill.VARIABLE, "1")
    trace = read_rank(EXAMPLES[0])
    assert list(tmp_path.iterdir()) == []
    assert len(trace.events)
    with pytest.raises(ValueError, match="read-only"):
        trace.events.start_ns[0] = 0


def test_a_full_disk_is_told_with_what_to_do(tmp_path, monkeypatch):
    class Full:
        def seek(self, *_):
            return 0

        def write(self, _):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self):
            pass

    where = Spill(str(tmp_path))
    monkeypatch.setattr(where, "file", Full)
    with pytest.raises(
        SpillError, match="No space left on device; make room, or set TMPDIR"
    ):
        where.columns(a=np.int64).append(a=[1])


def test_so_is_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(SpillError, match="set TMPDIR to another folder"):
        Spill(str(tmp_path / "gone")).file()


def test_memory_is_no_disk(tmp_path, monkeypatch):
    mounts = "disk / ext4 rw 0 0\ntmpfs /fast tmpfs rw 0 0\n"
    monkeypatch.setattr(spill.Path, "read_text", lambda *_, **__: mounts)
    assert spill.is_in_memory("/fast/y")
    assert not spill.is_in_memory("/faster")


def test_blocks_have_all_rows_once():
    columns = Spill(block_bytes=30).columns(a=np.int64)
    columns.append(a=np.arange(10))
    assert [b["a"].tolist() for b in islice(columns.blocks(), 2)] == [[0, 1, 2], [3, 4, 5]]
    assert sum(b["a"].size for b in columns.blocks()) == 10
