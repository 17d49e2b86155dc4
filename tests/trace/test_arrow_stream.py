"""A column is as many numbers as its stream says, or none; and headers say what they do."""

from dataclasses import replace
from struct import pack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.trace.arrow_stream import (
    PIECE_BYTES,
    StreamError,
    read,
    unpacked,
    unpacked_blocks,
    write,
)
from synctax.trace.flat import FlatError, Number, Reader, Structs, Table, encode

DTYPES = ("i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8")


@pytest.fixture
def file(tmp_path):
    with (tmp_path / "stream").open("w+b") as file:
        yield file


@pytest.mark.parametrize("rows", [0, 1, 9, PIECE_BYTES + 1])
def test_columns_of_every_type_and_length_come_back(file, rows):
    rng = np.random.default_rng(rows)
    columns = [(f"{dtype} é", rng.integers(0, 100, rows).astype(dtype)) for dtype in DTYPES]
    write(file, columns, "said µ")
    metadata, stored = read(file)
    assert metadata == "said µ"
    found = unpacked(file, stored)
    for name, values in columns:
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values)
        assert not found[name].flags.writeable
    for column, (_, values) in zip(stored, columns, strict=True):
        blocks = list(unpacked_blocks(file, column, 1 << 19))
        assert [block.size for block in blocks[:-1]] == [1 << 19] * (len(blocks) - 1)
        np.testing.assert_array_equal(np.concatenate([values[:0], *blocks]), values)


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (9, "more than 9"),
        (11, "fewer than 11"),
        (0, "cannot be 0"),
        (-1, "cannot be -1"),
        (2**40, "cannot be"),
    ],
)
def test_another_number_of_rows_is_refused(file, rows, match):
    write(file, [("a", np.arange(10, dtype=np.int32))], "")
    _, (column,) = read(file)
    file.seek(column.first)
    file.write(pack("<q", rows * 4))
    wrong = replace(column, rows=rows)
    with pytest.raises(StreamError, match=match):
        unpacked(file, [wrong])
    with pytest.raises(StreamError, match=match):
        list(unpacked_blocks(file, wrong, 4))


def test_rows_that_what_is_packed_does_not_know_of_are_refused(file):
    write(file, [("a", np.arange(10, dtype=np.int32))], "")
    _, (column,) = read(file)
    with pytest.raises(StreamError, match="a is not 11 numbers"):
        unpacked(file, [replace(column, rows=11)])


def test_what_no_memory_can_hold_is_refused(file):
    write(file, [("a", np.arange(10, dtype=np.int32))], "")
    _, (column,) = read(file)
    with pytest.raises(StreamError):
        unpacked(file, [replace(column, rows=2**50, packed_bytes=2**50)])


PARTS = st.recursive(
    st.one_of(
        st.builds(Number, st.just("q"), st.integers(-(2**63), 2**63 - 1)),
        st.builds(Number, st.just("h"), st.integers(-(2**15), 2**15 - 1)),
        st.builds(Number, st.just("B"), st.integers(0, 255)),
        st.text(max_size=9),
        st.lists(st.integers(-9, 9), max_size=4).map(
            lambda numbers: Structs(len(numbers), pack(f"<{len(numbers)}q", *numbers))
        ),
        st.none(),
    ),
    lambda inner: (
        st.lists(inner, max_size=5).map(Table)
        | st.lists(st.lists(inner, max_size=3).map(Table), max_size=3)
    ),
    max_leaves=12,
)


def same(reader, table):
    for slot, part in enumerate(table.slots):
        if isinstance(part, Number):
            assert reader.number(slot, part.format, -7) == part.value
        elif isinstance(part, str):
            assert reader.text(slot) == part
        elif isinstance(part, Structs):
            told = b"".join(pack("<q", one) for (one,) in reader.structs(slot, "<q"))
            assert told == part.content
        elif isinstance(part, Table):
            same(reader.table(slot), part)
        elif part is None:
            assert reader.number(slot, "q", -7) == -7
            assert reader.tables(slot) == []
            with pytest.raises(FlatError, match="absent"):
                reader.text(slot)
        else:
            for one, told in zip(part, reader.tables(slot), strict=True):
                same(told, one)
    assert reader.number(len(table.slots), "q", -7) == -7


@given(st.lists(PARTS, max_size=6).map(Table))
def test_what_is_encoded_is_read(table):
    same(Reader(encode(table)), table)


@given(st.binary(max_size=64))
def test_whatever_is_read_is_told_or_refused(data):
    for ask in (
        lambda reader: reader.number(0, "q"),
        lambda reader: reader.text(0),
        lambda reader: [one.text(0) for one in reader.tables(1)],
        lambda reader: reader.structs(2, "<qq"),
        lambda reader: reader.table(3).table(0),
    ):
        try:
            ask(Reader(data))
        except FlatError:
            continue
