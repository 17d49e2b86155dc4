"""Slopes, breaks and p-values of short series."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from synctax.comparison.trend_memory import block_for, correlation, enough, inflation
from synctax.comparison.trend_numbers import (
    MIN_FOR_BREAK,
    adjusted,
    among,
    break_sizes,
    largest_break,
    least_attainable,
    points_needed,
    random_orders,
    standard_ranks,
    step_fits_better,
    trend_sizes,
)
from synctax.comparison.trend_slopes import _pairs_outside, shifted, slope

SERIES = hnp.arrays(
    np.float64, st.integers(2, 12), elements=st.integers(-20, 20).map(float)
)


@given(SERIES, st.integers(-5, 5), st.integers(1, 4))
def test_a_slope_follows_what_is_added_and_how_y_is_scaled(y, added, scale):
    x = np.arange(float(y.size))
    before, after = slope(x, y), slope(x, scale * y + added * x)
    assert after.slope == pytest.approx(scale * before.slope + added)
    if y.size < 5:
        assert math.isnan(after.low)
        assert math.isnan(after.high)
    else:
        assert after.low <= after.slope <= after.high


@given(SERIES)
def test_a_falling_series_is_a_rising_one_turned_round(y):
    x = np.arange(float(y.size))
    assert slope(x, -y).tau == pytest.approx(-slope(x, y).tau)
    up, down = shifted(y[:1], y[1:]), shifted(-y[:1], -y[1:])
    assert up == pytest.approx((-down[0], -down[2], -down[1]), nan_ok=True)


def test_slope_and_interval_agree_with_scipy():
    from scipy.stats import kendalltau, theilslopes

    rng = np.random.default_rng(3)
    x, y = np.sort(rng.uniform(0, 50, 15)), rng.normal(size=15)
    found, other = slope(x, y), theilslopes(y, x)
    assert found.slope == pytest.approx(other.slope)
    ordered = np.sort(
        [(y[j] - y[i]) / (x[j] - x[i]) for i in range(15) for j in range(i + 1, 15)]
    )
    # scipy's places are by the normal distribution: one off at most
    place = np.searchsorted(ordered, [found.low, found.high])
    other_place = np.searchsorted(ordered, [other.low_slope, other.high_slope])
    assert np.abs(place - other_place).max() <= 1
    assert found.tau == pytest.approx(kendalltau(x, y).statistic)


@given(st.integers(2, 9), st.integers(2, 9), st.floats(0.5, 100))
def test_a_clean_break_is_found_where_it_is(before, after, size):
    y = np.concatenate([np.zeros(before), np.full(after, size)])
    found = largest_break(y)
    assert (found.first, found.shift) == (before, size)
    # the least p of Mann and Whitney is that of two samples without overlap
    told = 2 / math.comb(before + after, before) <= 0.05
    assert (found.low, found.high) == pytest.approx(
        (size, size) if told else (math.nan, math.nan), nan_ok=True
    )


@pytest.mark.parametrize(
    ("points", "level", "outside"),
    # Hollander and Wolfe, table A.30: P(K >= 10) = 1/120 and P(K >= 8) = 5/120 of 5
    [(4, 0.95, 0), (4, 0.9, 1), (5, 0.95, 1), (5, 0.99, 0), (6, 0.95, 2), (10, 0.95, 12)],
)
def test_an_interval_of_a_slope_leaves_out_no_more_than_it_may(points, level, outside):
    from itertools import permutations

    assert _pairs_outside(points, level) == outside
    if points <= 6:
        fall = [
            sum(a > b for i, a in enumerate(order) for b in order[i + 1 :])
            for order in permutations(range(points))
        ]
        share = [np.mean(np.array(fall) <= most) for most in (outside - 1, outside)]
        assert share[0] <= (1 - level) / 2 < share[1]


def test_an_interval_of_a_shift_is_the_exact_one():
    # Hollander and Wolfe, table A.6: of 5 and 5 the third smallest difference
    before, after = np.array([1.0, 2, 4, 8, 16]), np.array([0.5, 3.5, 9, 20, 33])
    differences = np.sort((after[:, None] - before).ravel())
    assert shifted(before, after)[1:] == (differences[2], differences[-3])


def test_questions_after_a_sure_one_are_held_against_those_left():
    rng = np.random.default_rng(5)
    sure, other = np.append(99.0, rng.normal(size=99)), np.append(1.9, rng.normal(size=99))
    assert adjusted([sure, other]) == [adjusted([sure, other])[0], adjusted([other])[0]]


def test_what_the_clearest_break_of_eight_windows_reaches():
    orders = random_orders(8, draws=9_999)
    clear = break_sizes(standard_ranks(np.arange(8.0)[None, :]), orders)[0]
    assert least_attainable([], clear) == pytest.approx(2 / math.comb(8, 4), abs=0.006)
    assert points_needed(4, 0.05) == 10


def test_blocks_keep_neighbours_together():
    for order in random_orders(20, block=5, draws=30)[1:]:
        assert sorted(order.tolist()) == list(range(20))
        assert ((np.diff(order) % 20) == 1).sum() >= 16


@pytest.mark.parametrize("r", [0.0, 0.6])
def test_steps_that_hang_together_are_no_change(r):
    from scipy.signal import lfilter

    rng = np.random.default_rng(1)
    wrong = 0
    for number in range(80):
        y = lfilter([1], [1, -r], rng.normal(size=220))[100:]
        block = block_for(correlation(y))
        if enough(y.size, block):
            orders = random_orders(y.size, block=block, draws=199, seed=number)
            ranks = standard_ranks(y[None, :])
            sizes = [break_sizes(ranks, orders)[0], trend_sizes(ranks[0], orders)]
            wrong += min(adjusted(sizes)) <= 0.05
    assert wrong <= 9  # 4 expected; 30 with single steps where r = 0.6


def test_no_break_in_what_does_not_change():
    ranks = standard_ranks(np.full((2, 6), 3.0))
    assert not break_sizes(ranks, random_orders(6, draws=9)).any()
    assert slope(np.arange(6.0), np.full(6, 3.0)).tau == 0.0


def test_two_levels_describe_a_break_better_and_a_line_a_trend():
    x = np.arange(10.0)
    jump = np.where(x < 6, 0.0, 5.0) + 0.01 * (x % 3)
    assert step_fits_better(x, jump, slope(x, jump), largest_break(jump))
    assert not step_fits_better(x, 2 * x, slope(x, 2 * x), largest_break(2 * x))


@given(SERIES)
def test_orders_keep_the_values(y):
    orders = random_orders(y.size, draws=5)
    assert (orders[0] == np.arange(y.size)).all()
    assert all(sorted(y[order]) == sorted(y) for order in orders)


def test_orders_of_some_points_keep_who_comes_first():
    orders = random_orders(9, draws=20)
    chosen = np.array([1, 4, 8])
    for whole, part in zip(orders, among(orders, chosen), strict=True):
        assert [point for point in whole if point in chosen] == chosen[part].tolist()


@given(SERIES)
def test_the_largest_trend_is_the_sorted_series(y):
    ranks = standard_ranks(np.sort(y)[None, :])[0]
    sizes = trend_sizes(ranks, random_orders(y.size, draws=50))
    assert sizes.max() == sizes[0]


def test_a_question_more_makes_no_answer_surer():
    rng = np.random.default_rng(0)
    sizes = [rng.normal(size=200) for _ in range(4)]
    alone, together = adjusted(sizes[:1])[0], adjusted(sizes)[0]
    assert alone <= together
    assert adjusted([sizes[0], sizes[0]]) == [alone, alone]
    assert adjusted([]) == []


SIZES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(2, 30)),
    elements=st.integers(0, 9).map(float),
)


@given(SIZES)
def test_answers_are_held_against_the_least_of_all_that_are_left(sizes):
    """Step by step, as published: of all p-values that are left, in every order."""
    p = np.array([[(row >= one).mean() for one in row] for row in sizes])
    order = np.argsort(p[:, 0], kind="stable")
    steps = [
        (p[order[at:]].min(axis=0) <= p[one, 0]).mean() for at, one in enumerate(order)
    ]
    wanted = np.empty(len(sizes))
    wanted[order] = np.maximum.accumulate(steps)
    assert adjusted(list(sizes)) == pytest.approx(wanted.tolist())
    least = (p.min(axis=0) <= p[0, 0]).mean()
    assert least_attainable(list(sizes[1:]), sizes[0]) == pytest.approx(least)


def test_many_questions_take_no_more_memory_than_few():
    sizes = [np.random.default_rng(at).normal(size=20_000) for at in range(40)]
    for asked in (adjusted, lambda given: least_attainable(given[1:], given[0])):
        tracemalloc.start()
        asked(sizes)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 8 * sizes[0].nbytes


def test_one_of_twenty_is_said_to_change_where_nothing_does():
    rng = np.random.default_rng(1)
    wrong = 0
    for number in range(400):
        orders = random_orders(12, draws=199, seed=number)
        ranks = standard_ranks(rng.gumbel(size=(3, 12)))
        sizes = [*break_sizes(ranks, orders), *(trend_sizes(one, orders) for one in ranks)]
        wrong += min(adjusted(sizes)) <= 0.05
    assert 6 <= wrong <= 34  # 20 expected; beyond 3.2 standard deviations


@pytest.mark.parametrize("found", [4, 6])
def test_a_clear_step_is_not_taken_for_chance(found):
    y = np.where(np.arange(2 * MIN_FOR_BREAK) < found, 1.0, 2.0) + 0.01 * np.arange(16)
    orders = random_orders(y.size)
    assert adjusted([break_sizes(standard_ranks(y[None, :]), orders)[0]])[0] < 0.01


def test_places_by_the_normal_distribution_are_close_to_the_exact_ones():
    from synctax.comparison.trend_slopes import _exact_outside, _normal_outside

    n, share = 71, np.ones(1)
    for size in range(2, n + 1):
        share = np.convolve(share, np.full(size, 1 / size))
    spread = float(share @ (np.arange(share.size) - n * (n - 1) / 4) ** 2)
    exact = _exact_outside(share, 0.95)
    assert _pairs_outside(n, 0.95) == exact
    # any inflation is by the normal distribution
    assert abs(_pairs_outside(n, 0.95, 1 + 1e-9) - exact) <= 3
    assert abs(_normal_outside(n * (n - 1) // 2, spread, 0.95) - exact) <= 3


@pytest.mark.parametrize("r", [0.0, 0.6])
def test_intervals_of_steps_that_hang_together_hold_that_nothing_changes(r):
    from scipy.signal import lfilter

    rng = np.random.default_rng(2)
    x, held = np.arange(100.0), np.zeros(2)
    for _ in range(100):
        y = lfilter([1], [1, -r], rng.normal(size=150))[50:]
        wider = inflation(correlation(y))
        line = slope(x, y, 0.95, wider)
        _, low, high = shifted(y[:50], y[50:], 0.95, wider)
        held += [line.low <= 0 <= line.high, low <= 0 <= high]
    assert (held >= 87).all()  # 95 expected; 66 as if neighbours were independent at 0.6
