"""Bytes from counts and shapes, intervals, and the range around a launch."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.collectives.busy import intersection, union
from synctax.collectives.distinct import distinct_rows
from synctax.collectives.link import Anchors, Ranges
from synctax.collectives.model import Op
from synctax.collectives.payload import (
    UNKNOWN_SIZES,
    Sizes,
    from_sizes,
    sizes,
)
from synctax.collectives.payload import uneven as splits_differ
from tests.collectives.build import op, rank_trace
from tests.laws import examples


@pytest.mark.parametrize(
    ("dims", "types", "expected"),
    [
        # the range of a backend: tensors only, those of a coalesced call one by one
        ("[[4, 2048, 4096]]", '["c10::Half"]', Sizes(4 * 2048 * 4096 * 2, 1, "float16")),
        ("[[1000], [2000]]", '["float", "float"]', Sizes(12_000, 1, "float32")),
        ("[[]]", '["float"]', Sizes(4, 1, "float32")),
        ("[[0]]", '["float"]', Sizes(0, 1, "float32")),
        # an operator: output, input and other arguments
        ("[[2000], [1000], [], []]", '["float", "float", "", "Scalar"]',
         Sizes(8000, 2, "float32")),
        ("[[[4, 8]], [], []]", '["TensorList", "Scalar", ""]', Sizes(-1, 1, "")),
        ("[[], []]", '["TensorList", "Scalar"]', UNKNOWN_SIZES),
        # nothing to read
        ("", "", UNKNOWN_SIZES),
        ("[[4]]", "", UNKNOWN_SIZES),
        ("[[4", '["float"]', UNKNOWN_SIZES),
        ("null", '["float"]', UNKNOWN_SIZES),
        ('["x"]', '["float"]', UNKNOWN_SIZES),
        ("[[4]]", "[1]", UNKNOWN_SIZES),
        ('[["x", [4]]]', '["float"]', Sizes(16, 1, "float32")),
        ('[["x"]]', '["float"]', UNKNOWN_SIZES),
    ],
)  # fmt: skip
def test_shapes_and_types_give_the_bytes_of_a_call(dims, types, expected):
    assert sizes(dims, types) == expected


@settings(max_examples=examples(40))
@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=3), min_size=1, max_size=4)
)
def test_a_coalesced_call_is_as_large_as_its_tensors_together(shapes):
    types = json.dumps(["c10::BFloat16"] * len(shapes))
    together = sizes(json.dumps(shapes), types).bytes
    alone = sum(sizes(json.dumps([shape]), '["c10::BFloat16"]').bytes for shape in shapes)
    assert together == alone


def test_a_shard_counts_once_a_rank_unless_the_output_is_listed_too():
    shard = Sizes(100, 1, "float32")
    assert from_sizes(shard, Op.ALL_GATHER, 8, both_sides=False) == 800
    assert from_sizes(shard, Op.ALL_GATHER, None, both_sides=False) == -1
    assert from_sizes(shard, Op.ALL_GATHER, 8, both_sides=True) == 800
    assert from_sizes(Sizes(800, 2, "float32"), Op.ALL_GATHER, 8, both_sides=True) == 800
    assert from_sizes(shard, Op.REDUCE_SCATTER, 8, both_sides=False) == 100
    assert from_sizes(UNKNOWN_SIZES, Op.ALL_GATHER, 8, both_sides=False) == -1


@pytest.mark.parametrize(
    ("split", "differ"),
    [
        ("[]", False),
        ("", False),
        ("[5]", False),
        ("[5, 5, 5]", False),
        ("[5, 6]", True),
        ("[5, 5, ...]", False),
        ("[5, 5, ..., 6]", True),
        ("[0, 5]", True),
    ],
)
def test_splits_differ_only_where_the_text_shows_it(split, differ):
    assert splits_differ(split) is differ


intervals = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=10)


def arrays(pairs):
    start, length = (np.array(part, np.int64) for part in zip(*sorted(pairs), strict=True))
    return start, start + length


def moments(start, end):
    return {
        t for a, b in zip(start.tolist(), end.tolist(), strict=True) for t in range(a, b)
    }


@settings(max_examples=examples(50))
@given(intervals.filter(bool))
def test_a_union_holds_the_same_moments_in_the_fewest_intervals(pairs):
    start, end = union(*arrays(pairs))
    assert moments(start, end) == moments(*arrays(pairs))
    assert (end[:-1] < start[1:]).all()
    assert (start < end).all()


def test_touching_intervals_become_one():
    start, end = union(np.array([0, 5]), np.array([5, 9]))
    assert (start.tolist(), end.tolist()) == ([0], [9])


@settings(max_examples=examples(50))
@given(intervals.filter(bool), intervals.filter(bool))
def test_an_intersection_holds_the_moments_of_both(a, b):
    one, other = union(*arrays(a)), union(*arrays(b))
    start, end = intersection(*one, *other)
    assert moments(start, end) == moments(*one) & moments(*other)
    assert (start < end).all()


cells = st.integers(-(2**62), 2**62 - 1) | st.integers(-1, 3)


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(cells, cells, cells), max_size=8))
def test_equal_rows_and_only_they_have_one_number(rows):
    table = np.array(rows, np.int64).reshape(-1, 3)
    first, number = distinct_rows(*table.T)
    values, expected = np.unique(table, axis=0, return_inverse=True)
    assert number.tolist() == expected.ravel().tolist()
    assert table[first].tolist() == values.tolist()


def slow_innermost(rows, lane, time):
    around = [
        start
        for at, start, length in rows
        if at == lane and start <= time <= start + length
    ]
    return max(around, default=None)


ranges = st.lists(
    st.tuples(st.integers(1, 2), st.integers(0, 20), st.integers(0, 20)), max_size=8
)


@settings(max_examples=examples(50))
@given(ranges, st.integers(1, 3), st.integers(0, 30))
def test_the_innermost_range_is_the_last_to_start_of_those_around(rows, lane, time):
    # Half a microsecond: no times are whole, so that none is taken for cut off.
    events = [op("nccl:reduce", ts + 0.5, dur, tid=tid) for tid, ts, dur in rows]
    trace = rank_trace(
        [op("x", 0, 0, tid=1), op("x", 0, 0, tid=2), op("x", 0, 0, tid=3), *events]
    )
    chosen = np.flatnonzero(trace.events.start_ns % 1000 != 0)
    found = Ranges.of(trace.events, chosen)
    anchors = Anchors(np.array([lane - 1], np.int32), np.array([time * 1000 + 500]))
    slot = int(found.innermost(anchors)[0])
    expected = slow_innermost(rows, lane, time)
    assert (slot >= 0) == (expected is not None)
    if expected is not None:
        assert found.start_ns[slot] == expected * 1000 + 500
        assert found.end_ns[slot] >= time * 1000 + 500
        assert found.lane[slot] == lane - 1
