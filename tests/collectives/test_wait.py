"""How long ranks wait, how much of it is exposed, and what bandwidth is left net of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.collectives.model import Op
from synctax.collectives.wait import busbw_factor, busbw_gb_per_s, exposed_ns, waits
from tests.collectives.job import C, rank

collectives = st.lists(st.lists(st.integers(0, 10**9), min_size=1, max_size=6), max_size=6)


def flat(rows):
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    ranks = np.array([r for row in rows for r in range(len(row))], np.int32)
    return first, ranks, np.array([d for row in rows for d in row], np.int64)


@given(collectives, st.integers(0, 10**12))
def test_a_longer_transfer_changes_no_wait(rows, transfer_ns):
    first, ranks, duration = flat(rows)
    assert_array_equal(
        waits(first, ranks, duration).wait_ns,
        waits(first, ranks, duration + transfer_ns).wait_ns,
    )


def alone(row, duration):
    """Whether one rank of several has this duration."""
    return len(row) > 1 and row.count(duration) == 1


@given(collectives)
def test_waits_are_what_plain_python_makes_of_them(rows):
    first, ranks, duration = flat(rows)
    found = waits(first, ranks, duration)
    assert found.wait_ns.tolist() == [d - min(row) for row in rows for d in row]
    assert found.median_ns.tolist() == [float(np.median(row)) for row in rows]
    assert found.longest_ns.tolist() == [max(row) for row in rows]
    unique = [row.index(min(row)) if alone(row, min(row)) else -1 for row in rows]
    assert found.straggler.tolist() == unique
    unique = [row.index(max(row)) if alone(row, max(row)) else -1 for row in rows]
    assert found.fastest.tolist() == unique


def test_a_collective_nobody_took_part_in_is_a_wrong_call():
    with pytest.raises(ValueError, match="at least one participation"):
        waits(np.array([0, 0]), np.array([], np.int32), np.array([], np.int64))


def test_arrays_of_different_length_are_a_wrong_call():
    with pytest.raises(ValueError, match="2 durations"):
        waits(np.array([0, 1]), np.array([0], np.int32), np.array([1, 2]))


def test_a_wait_beside_a_computing_gpu_is_not_exposed():
    one = rank(0, [C(100, 60)], busy=[(30, 50), (60, 70), (200, 300)])
    start, wait = np.array([40_000, 0]), np.array([50_000, 35_000])
    exposed = exposed_ns([one], np.array([0, 0], np.int32), start, wait)
    assert exposed.tolist() == [30_000, 30_000]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), max_size=6),
    st.integers(0, 300),
    st.integers(0, 300),
)
def test_exposed_time_is_the_time_outside_all_busy_intervals(gaps, start, wait):
    busy, at = [], 0
    for gap, length in gaps:
        busy.append((at + gap, at + gap + length))
        at += gap + length
    one = rank(0, [], busy=busy)
    found = exposed_ns(
        [one], np.array([0], np.int32), np.array([start * 1000]), np.array([wait * 1000])
    )
    inside = sum(any(a <= t < b for a, b in busy) for t in range(start, start + wait))
    assert found.tolist() == [(wait - inside) * 1000]


@pytest.mark.parametrize(
    ("op", "factor"),
    [
        (Op.ALL_REDUCE, 1.75),
        (Op.ALL_GATHER, 0.875),
        (Op.REDUCE_SCATTER, 0.875),
        (Op.ALL_TO_ALL, 0.875),
        (Op.BROADCAST, 1.0),
    ],
)
def test_bus_bandwidth_factors_are_those_of_nccl_tests(op, factor):
    assert busbw_factor(op, 8) == factor


def test_one_gigabyte_in_one_millisecond_is_a_thousand_gb_per_s():
    found = busbw_gb_per_s(np.array([10**9, -1, 5]), np.ones(3), np.array([10**6, 1, 0]))
    assert found[0] == 1000.0
    assert np.isnan(found[1:]).all()
