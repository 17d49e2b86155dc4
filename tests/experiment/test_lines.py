"""Lines through tax against delay, and intervals of shares."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from synctax.experiment.lines import (
    INTERVAL,
    LEAST_SPREAD,
    LEVEL,
    envelope,
    quantile_us,
    share_of,
    wilson,
)
from synctax.experiment.resample import resampled, strata
from synctax.schema import INJECT
from tests.laws import examples

DOSES = np.repeat([0.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0], 8)
STEPS = np.repeat(np.arange(24), 2)
FEW = 39

noise = arrays(np.float64, DOSES.size, elements=st.floats(-500, 500))


def noisy(seed: int, spread: float = 200.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, spread, DOSES.size)


@settings(max_examples=examples(30))
@given(slope=st.floats(-3, 3), intercept=st.floats(-1e4, 1e4))
def test_a_line_is_found_whatever_its_slope(slope, intercept):
    found = envelope(DOSES, intercept + slope * DOSES, DOSES, STEPS, resamples=FEW)
    for line in (found.ordinary, found.robust):
        assert line.slope == pytest.approx(slope, abs=1e-9)
        assert line.slope_lo == pytest.approx(slope, abs=1e-9)
        assert line.intercept_us == pytest.approx(intercept, abs=1e-5)


@settings(max_examples=examples(30))
@given(noise, st.permutations(range(DOSES.size)))
def test_the_order_of_collectives_changes_nothing(errors, order):
    y, order = DOSES + errors, np.array(order)
    one = envelope(DOSES, y, DOSES, STEPS, resamples=FEW)
    other = envelope(DOSES[order], y[order], DOSES[order], STEPS[order], resamples=FEW)
    assert one.ordinary.slope == pytest.approx(other.ordinary.slope, rel=1e-9, abs=1e-12)
    assert one.robust == other.robust
    assert one.ordinary.slope_hi == pytest.approx(other.ordinary.slope_hi, rel=1e-9)


@settings(max_examples=examples(30))
@given(noise, st.floats(0.5, 2), st.floats(-1000, 1000))
def test_lines_follow_a_change_of_unit_and_origin(errors, factor, shift):
    y = DOSES + errors
    one = envelope(DOSES, y, DOSES, STEPS, resamples=9)
    other = envelope(DOSES, factor * y + shift, DOSES, STEPS, resamples=9)
    for a, b in ((one.ordinary, other.ordinary), (one.robust, other.robust)):
        assert b.slope == pytest.approx(factor * a.slope, rel=1e-9, abs=1e-9)
        assert b.intercept_us == pytest.approx(factor * a.intercept_us + shift, abs=1e-5)


@settings(max_examples=examples(30))
@given(noise)
def test_least_squares_is_what_polyfit_finds(errors):
    found = envelope(DOSES, DOSES + errors, DOSES, STEPS, resamples=1)
    slope, intercept = np.polyfit(DOSES, DOSES + errors, 1)
    assert found.ordinary.slope == pytest.approx(slope, rel=1e-9)
    assert found.ordinary.intercept_us == pytest.approx(intercept, abs=1e-5)
    assert found.r2 == pytest.approx(
        np.corrcoef(DOSES, DOSES + errors)[0, 1] ** 2, rel=1e-6
    )


def test_a_few_wild_steps_bend_least_squares_and_not_the_robust_line():
    y = DOSES + noisy(1, 20.0)
    y[np.flatnonzero(DOSES == 0)[:3]] += 40_000
    found = envelope(DOSES, y, DOSES, STEPS, resamples=FEW)
    assert abs(found.ordinary.slope - 1) > 0.2
    assert found.robust.slope == pytest.approx(1, abs=0.02)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    hits = 0
    for seed in range(60):
        shared = np.repeat(np.random.default_rng(seed).normal(0, 800, 24), 2)
        found = envelope(DOSES, DOSES + shared, DOSES, STEPS, resamples=199).ordinary
        hits += found.slope_lo <= 1 <= found.slope_hi
    assert 49 <= hits <= 60


@pytest.mark.parametrize(
    ("sizes", "repeats", "pick"), [((0, 20), 2, 2), ((0, 10), 3, 1), ((0, 5, 20), 3, 2)]
)
def test_few_steps_make_wide_intervals_rather_than_wrong_ones(sizes, repeats, pick):
    """Of 95 % at least 8 of 10 hold the truth; drawn regardless of size, they were 0."""
    hits, widths = np.zeros(2), []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        level = 1000.0 * np.repeat(np.tile(sizes, repeats), pick)
        steps = np.repeat(np.arange(len(sizes) * repeats), pick)
        x = level + rng.uniform(5, 15, level.size)
        shared = rng.normal(0, 500, steps.max() + 1)[steps]
        y = x + 900 + shared + rng.normal(0, 1500, x.size)
        found = envelope(x, y, level, steps, resamples=99, seed=seed)
        lines = (found.ordinary, found.robust)
        hits += [line.slope_lo <= 1 <= line.slope_hi for line in lines]
        widths.append(found.ordinary.slope_hi - found.ordinary.slope_lo)
    assert (hits >= 46).all()
    assert max(widths) < 3


def test_steps_that_vary_as_a_whole_widen_the_interval():
    shared = np.repeat(noisy(3)[::2], 2)
    together = envelope(DOSES, DOSES + shared, DOSES, STEPS, resamples=499).ordinary
    apart = envelope(
        DOSES, DOSES + shared, DOSES, np.arange(DOSES.size), resamples=499
    ).ordinary
    width = together.slope_hi - together.slope_lo
    assert width > 1.2 * (apart.slope_hi - apart.slope_lo)


def test_the_same_seed_draws_the_same():
    y = DOSES + noisy(5)
    one, same, other = (
        envelope(DOSES, y, DOSES, STEPS, resamples=FEW, seed=seed) for seed in (1, 1, 2)
    )
    assert one == same
    assert one.ordinary.slope_lo != other.ordinary.slope_lo


sizes_us = st.lists(
    st.floats(0, 1e6).map(lambda us: round(us, 2)), min_size=2, max_size=9, unique=True
)


@settings(max_examples=examples(60))
@given(sizes_us, st.floats(-3, 3), st.integers(0, 99), st.sampled_from([1, 2, 9]))
def test_on_a_line_both_ends_are_exact_whatever_is_drawn(sizes, slope, seed, resamples):
    x = np.array(sizes)
    y = 30 + slope * x
    x, y, steps = np.tile(x, 2), np.tile(y, 2), np.arange(2 * x.size)
    found = envelope(x, y, x, steps, resamples=resamples, seed=seed)
    if found is None:
        assert np.ptp(x) <= LEAST_SPREAD * x.max()
        return
    for line in (found.ordinary, found.robust):
        ends = np.array([line.slope_lo, line.slope, line.slope_hi])
        np.testing.assert_allclose(ends, slope, atol=1e-5)


@pytest.mark.parametrize("seed", range(9))
def test_a_resample_of_one_size_says_nothing_of_the_slope(seed):
    """How exactly a size was slept is no delay, though it differs."""
    x = np.array([1000.24, 1000.9, 5000.3, 5000.1])
    y = np.array([1010.0, 1400.0, 5300.0, 5000.0])
    level, steps = np.round(x, -3), np.arange(4)
    found = envelope(x, y, level, steps, resamples=FEW, seed=seed).ordinary
    assert 0.7 < found.slope_lo <= found.slope <= found.slope_hi < 1.3


@pytest.mark.parametrize("sizes", [(0, 20), (0, 5, 20), (0, 1, 2, 5, 10, 20), (5, 5, 20)])
def test_of_one_step_a_size_nothing_is_drawn(sizes):
    x = 1000.0 * np.array(sizes)
    steps = np.arange(x.size)
    found = envelope(x, x + [3, 9, 2, 8, 1, 5][: x.size], x, steps, resamples=FEW)
    assert found.ordinary.slope == pytest.approx(1, abs=0.01)
    ends = (found.ordinary.slope_lo, found.robust.slope_hi, found.robust.intercept_lo_us)
    assert np.isnan(ends).all()


def test_sizes_of_which_the_same_must_show_are_one():
    """Asked for and hidden in different parts, they may differ by rounding."""
    x = np.array([0.1 + 0.2, 0.3, 0.1 + 0.2, 0.3, 7.0])
    level, y = np.array([1.0, 2.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0, 1.0, 8.0])
    assert x[0] != x[1]
    steps = np.arange(5)
    ends = [
        envelope(x, y, level, steps, resamples=FEW, seed=seed).ordinary.slope_hi
        for seed in range(9)
    ]
    assert max(ends) < 5


def test_sizes_that_differ_by_rounding_are_one():
    x = np.array([5e3, 5e3 * (1 + 1e-9)])
    assert envelope(x, np.array([1.0, 2.0]), x, np.arange(2)) is None


def test_one_step_has_a_slope_and_no_interval():
    x = np.array([0.0, 5.0])
    found = envelope(x, 2 * x, x, np.array([3, 3]))
    assert found.ordinary.slope == pytest.approx(2)
    assert np.isnan(found.ordinary.slope_lo)
    assert np.isnan(found.robust.intercept_hi_us)
    assert (found.collectives, found.steps) == (2, 1)


levels = st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, 10.0]), min_size=1, max_size=20)


@given(levels)
def test_strata_are_sizes_of_which_none_is_alone(sizes):
    found = strata(np.array(sizes), np.arange(len(sizes)))
    counts = np.bincount(found)
    assert (counts > 0).all()
    assert counts.min() >= 2 or counts.size == 1
    for one, other in pairwise(np.argsort(sizes, kind="stable").tolist()):
        assert found[one] <= found[other], "in order of size"
        if sizes[one] == sizes[other]:
            assert found[one] == found[other]
    if min(Counter(sizes).values()) > 1:
        assert counts.size == len(set(sizes))


def test_a_step_counts_for_its_least_size():
    level, step = np.array([5.0, 10.0, 5.0, 10.0, 10.0]), np.array([0, 0, 1, 2, 3])
    assert strata(level, step).tolist() == [0, 0, 1, 1]


@given(st.integers(0, 99), st.lists(st.integers(2, 6), min_size=1, max_size=4))
def test_of_each_stratum_one_step_less_is_drawn_than_it_has(seed, sizes):
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(seed)
    ((times, weight),) = resampled(rng, stratum, 7, 1)
    for one, n in enumerate(sizes):
        assert (times[:, stratum == one].sum(axis=1) == n - 1).all()
        np.testing.assert_allclose(weight[:, stratum == one].sum(axis=1), n)


@pytest.mark.parametrize("x", [[], [5.0], [5.0, 5.0]])
def test_one_size_of_delay_carries_no_line(x):
    x = np.array(x)
    assert envelope(x, x, x, np.arange(x.size)) is None


def test_equal_taxes_have_no_r2():
    x = np.array([0.0, 5.0, 9.0])
    found = envelope(x, np.ones(3), x, np.arange(3), resamples=FEW)
    assert found.ordinary.slope == 0
    assert np.isnan(found.r2)


def test_many_collectives_are_drawn_a_few_at_a_time(monkeypatch):
    y = DOSES + noisy(7)
    whole = envelope(DOSES, y, DOSES, STEPS, resamples=FEW)
    monkeypatch.setattr("synctax.experiment.resample._AT_ONCE", 100)
    parts = envelope(DOSES, y, DOSES, STEPS, resamples=FEW)
    assert parts.ordinary.slope_hi == pytest.approx(whole.ordinary.slope_hi)
    assert parts.robust == whole.robust


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_is_the_same_for_failures(pair):
    hits, of = pair
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of <= high <= 1
    mirrored = wilson(of - hits, of)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("hits", "of", "ends"),
    # Brown, Cai and DasGupta 2001; R's prop.test(x, n, correct=FALSE)
    [
        (0, 10, (0.0, 0.2775)),
        (5, 10, (0.2366, 0.7634)),
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
    ],
)
def test_wilson_is_as_published(hits, of, ends):
    assert wilson(hits, of) == pytest.approx(ends, abs=5e-5)


def test_the_tables_say_the_level_that_intervals_have():
    (column,) = (one for one in INJECT.columns if one.name == "recovered_lo")
    assert f"{100 * LEVEL:.0f} % interval" == INTERVAL
    assert f"{100 * LEVEL:.0f} %" in column.meaning


def test_nothing_has_no_share():
    assert np.isnan(wilson(0, 0)).all()
    assert np.isnan(share_of(np.array([], np.bool_)))
    assert np.isnan(quantile_us(np.array([np.nan]), 0.5))
    assert quantile_us(np.array([1.0, np.nan, 3.0]), 0.5) == 2
