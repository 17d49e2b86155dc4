"""A shift holds, or single collectives were lost on the way: told without all costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.collectives import shifts as judged
from synctax.collectives.align import align
from synctax.collectives.clock import ClockFit
from synctax.collectives.follow import BAND, CLASH, GAP, _costs, _holds
from synctax.collectives.model import Op
from synctax.collectives.sequence import OpSequence
from tests.laws import examples


def sequence(end_ns: np.ndarray, op: np.ndarray | None = None) -> OpSequence:
    size = end_ns.size
    ops = np.full(size, Op.ALL_REDUCE) if op is None else op
    return OpSequence(
        ops.astype(np.int8),
        np.zeros(size, np.int32),
        np.full(size, 1024),
        np.ones(size, np.bool_),
        end_ns.astype(np.int64),
    )


def by_all_costs(
    a: OpSequence, b: OpSequence, shift: int, clock: ClockFit, noise_ns: float
) -> bool:
    """The definition: what every pair would gain at every other shift."""
    shifts = np.arange(shift - BAND, shift + BAND + 1)
    cost = _costs(a, b, np.arange(len(b)), shifts, clock, noise_ns)
    rows = np.flatnonzero(np.isfinite(cost[:, BAND]))
    middle = cost[rows, BAND]
    gain = np.maximum(middle[:, None] - cost[rows], 0.0).sum(axis=0)
    return bool((middle < CLASH).all()) and bool((gain < GAP).all())


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32 - 1))
def test_whether_a_shift_holds_is_what_the_costs_of_all_shifts_say(seed):
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 60))
    gaps = draw.exponential(draw.choice([200.0, 2_000.0, 50_000.0]), count)
    end = np.cumsum(gaps) + draw.choice([0.0, 1e6])
    op = draw.choice([Op.ALL_REDUCE, Op.BROADCAST, Op.SEND_RECV], count, p=[0.7, 0.2, 0.1])
    noise_ns = float(draw.choice([50.0, 300.0]))
    a = sequence(end, op)
    keep = draw.random(count) > draw.choice([0.0, 0.1])
    keep[int(draw.integers(count))] = True
    b = sequence((end + draw.normal(0, noise_ns, count))[keep], op[keep])
    if draw.random() < 0.2:  # ends of two streams, out of order
        a = a.take(draw.permutation(count))
    shift = int(draw.integers(-3, 4))
    clock = ClockFit(float(draw.normal(0, 100)), 0.0, 0.0, noise_ns, 3)
    assert _holds(a, b, shift, clock, noise_ns) == by_all_costs(
        a, b, shift, clock, noise_ns
    )


@pytest.mark.parametrize("period", [1, 4, 8, 64])
@pytest.mark.parametrize("lost", [0, 3, 130])
def test_of_many_ends_a_part_judges_a_shift_as_all_do(period, lost, monkeypatch):
    """Also where every step is like the one before, but for what the time of each is."""
    draw = np.random.default_rng(period + lost)
    count = 16 * 1_024
    pattern = draw.uniform(5_000, 60_000, period)
    gaps = np.tile(pattern, count // period) + draw.exponential(3_000, count)
    end = np.cumsum(gaps)
    a = sequence(end)
    b = sequence(end[lost:] + 40_000 + draw.normal(0, 200, count - lost))
    kwargs = {"tolerance_ns": 200_000.0, "offset_scale_ns": 20_000.0}
    found = align(a, b, **kwargs)
    assert found.place.tolist() == list(range(lost, count))
    assert not found.ambiguous
    assert not found.far.any()
    monkeypatch.setattr(judged, "MOST", count)
    by_all = align(a, b, **kwargs)
    assert found.place.tolist() == by_all.place.tolist()
    assert found.clock == by_all.clock


def test_pairs_that_judge_a_shift_are_one_of_each_stretch_and_of_no_period():
    """Of 64 kinds of collectives that come round and round all are asked equally often."""
    chosen = judged._some(64 * 1_000)
    assert chosen.size == judged.MOST
    assert (np.diff(chosen) > 0).all()
    assert (chosen[0], chosen[-1]) < (64, 64 * 1_000)
    times = np.bincount(chosen % 64, minlength=64)
    assert times.min() >= 0.8 * judged.MOST / 64
