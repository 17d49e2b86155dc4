"""What is drawn anew, and what intervals come of it."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats as scipy_stats

from synctax.comparison import quantiles, resample, stats
from synctax.comparison.quantiles import BINS, Sample
from synctax.comparison.resample import (
    MOST_UNITS,
    Drawn,
    Series,
    block_length,
    draw,
    freedom,
    pieces_of,
    strata,
)
from synctax.comparison.stats import (
    NOTHING,
    Draws,
    Estimate,
    benjamini_hochberg,
    difference,
    estimate,
)

sizes = st.lists(st.integers(1, 12), min_size=1, max_size=3)
finite = st.floats(-1e6, 1e6)


def draws_of(series: list[Series], resamples: int = 200, seed: int = 0) -> Draws:
    random = np.random.default_rng(seed)
    return Draws(draw(series, resamples, random), freedom(series), strata(series))


@given(sizes, st.integers(1, 5), st.integers(0, 5))
def test_each_window_is_drawn_as_large_as_it_is(windows, length, seed):
    drawn = draws_of([Series(tuple(windows), length)], 20, seed).drawn.weights
    ends = np.cumsum(windows)
    for begin, end in zip(ends - windows, ends, strict=True):
        assert_allclose(drawn[:, begin:end].sum(axis=1), end - begin)


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 5))
def test_neighbours_of_a_block_are_drawn_together(blocks, length, seed):
    size = blocks * length
    drawn = draws_of([Series((size,), length)], 20, seed).drawn.weights
    # on a ring, as many blocks begin as end: no more than one a block
    rises = np.maximum(np.diff(drawn, append=drawn[:, :1], axis=1), 0).sum(axis=1)
    assert (rises <= blocks).all()


@given(st.integers(2, 5), st.integers(0, 5))
def test_of_several_runs_whole_runs_are_drawn(runs, seed):
    drawn = draws_of([Series((3,), 1)] * runs, 20, seed).drawn.weights.reshape(20, runs, 3)
    assert (drawn == drawn[:, :, :1]).all()
    assert (drawn[:, :, 0].sum(axis=1) == runs).all()


@given(st.lists(st.integers(1, 4), min_size=5, max_size=8), st.integers(0, 5))
def test_of_many_windows_whole_windows_are_drawn(windows, seed):
    draws = draws_of([Series(tuple(windows), 1)], 20, seed)
    begins = np.cumsum(windows) - windows
    each = draws.drawn.weights[:, begins]
    assert_array_equal(draws.drawn.weights, np.repeat(each, windows, axis=1))
    assert (each.sum(axis=1) == len(windows)).all()
    assert (draws.blocks, draws.strata) == (len(windows), 1)


@given(st.integers(2, 4), st.integers(2, 6), st.integers(0, 5))
def test_within_few_windows_means_have_the_variance_of_strata(windows, size, seed):
    values = np.random.default_rng(seed).normal(size=(windows, size))
    draws = draws_of([Series((size,) * windows, 1)], 4000, seed)
    found = draws.mean(np.arange(values.size), values.ravel())
    wanted = np.sqrt((values.var(axis=1, ddof=1) / size).sum()) / windows
    assert found.error == pytest.approx(wanted, rel=0.1)
    assert found.freedom == windows * (size - 1)


@pytest.mark.parametrize("windows", [(1, 1, 1, 1), (9, 1)])
def test_a_few_windows_of_one_step_tell_nothing_of_chance(windows):
    draws = draws_of([Series(windows, 1)])
    values = np.arange(float(sum(windows)))
    assert np.isnan(draws.mean(np.arange(values.size), values).error)


@pytest.mark.parametrize(("drawn", "known"), [(4, False), (5, True)])
def test_few_draws_without_spread_are_no_proof(drawn, known):
    draws = draws_of([Series((2,), 1)] * drawn)
    flat = draws.mean(np.arange(2 * drawn), np.full(2 * drawn, 7.0))
    assert np.isnan(flat.error) != known


@pytest.mark.parametrize("holds", [True, False])
def test_always_and_never_are_not_for_sure(holds):
    found = draws_of([Series((9,), 1)]).share(np.arange(9), np.full(9, holds))
    assert (found.value, found.error) == (float(holds), 0.1)


@pytest.mark.parametrize(
    "series",
    [[Series((60,), 4)], [Series((9, 5), 2)], [Series((2,) * 6, 1)], [Series((3,), 1)] * 4],
    ids=["steps", "strata", "windows", "runs"],
)
def test_resamples_in_batches_are_those_of_one_go(series, monkeypatch):
    unit = np.arange(400) % sum(len(one) for one in series)
    values = np.random.default_rng(1).exponential(size=400)

    def told(cells: int) -> list[Estimate]:
        monkeypatch.setattr(resample, "CELLS", cells)
        monkeypatch.setattr(stats, "CELLS", cells)
        draws = draws_of(series, 150)
        return [
            draws.mean(unit, values),
            *draws.quantile(unit, values, (0.5, 0.9)),
            *draws.means(unit, values, unit % 3),
            *draws.shares(unit, values > 1, unit % 3),
        ]

    for one, other in zip(told(10**6), told(200), strict=True):
        assert astuple(one) == pytest.approx(astuple(other), rel=1e-12)


def test_many_resamples_of_a_long_run_are_kept_in_a_byte_each():
    drawn = draw([Series((MOST_UNITS,), 13)], 300, np.random.default_rng(0))
    assert drawn.counts.nbytes == 300 * MOST_UNITS
    drawn = draw([Series((50,) * 40, 1)], 300, np.random.default_rng(0))
    assert drawn.counts.nbytes == 300 * 40


@given(st.integers(0, 9))
def test_means_of_parts_are_those_of_each_alone(seed):
    random = np.random.default_rng(seed)
    unit, part = random.integers(7, size=40), random.integers(3, size=40)
    part[:3] = range(3)
    values = random.normal(size=40)
    draws = draws_of([Series((7,), 1)], 50, seed)
    each = draws.means(unit, values, part)
    held = draws.shares(unit, values > 0, part)
    for at in range(3):
        mine = part == at
        assert astuple(each[at]) == pytest.approx(
            astuple(draws.mean(unit[mine], values[mine])), nan_ok=True
        )
        assert astuple(held[at]) == pytest.approx(
            astuple(draws.share(unit[mine], values[mine] > 0)), nan_ok=True
        )


def test_every_unit_is_drawn_as_often_as_any_other():
    drawn = draws_of([Series((10,), 3)], 4000).drawn.weights
    assert_allclose(drawn.mean(axis=0), 1.0, atol=0.12)


@given(arrays(np.float64, st.integers(1, 40), elements=finite))
def test_blocks_are_never_longer_than_a_quarter_of_the_series(values):
    length = block_length(values, [values.size])
    assert 1 <= length <= max(values.size // 4, 1)


def test_what_remembers_is_drawn_in_longer_blocks():
    random = np.random.default_rng(3)
    noise = random.normal(size=200)
    walk = np.convolve(noise, np.ones(8))[:200]
    assert block_length(walk, [200]) > block_length(noise, [200])


@pytest.mark.parametrize(("runs", "count"), [([], 0.0), ([Series((6, 0), 2)], 3.0)])
def test_freedom_counts_blocks(runs, count):
    assert freedom(runs) == count


def test_long_windows_are_cut_into_pieces():
    pieces = pieces_of(5 * MOST_UNITS + 1)
    assert pieces[-1] < MOST_UNITS
    assert set(np.diff(pieces)) == {0, 1}
    assert_array_equal(pieces_of(3), [0, 1, 2])


@given(
    st.lists(st.tuples(st.integers(0, 3), finite), min_size=1, max_size=30),
    st.floats(0, 1),
    st.integers(0, 9),
)
def test_quantiles_are_those_of_the_values_that_were_drawn(pairs, q, seed):
    unit = np.array([unit for unit, _ in pairs])
    values = np.array([value for _, value in pairs])
    weight = np.random.default_rng(seed).integers(0, 4, size=(1, 4)).astype(float)
    again = np.repeat(values, weight[0, unit].astype(int))
    if not again.size:
        return
    twice = Draws(Drawn(np.concatenate([weight, weight]), np.arange(4), np.ones(4)), 5.0)
    found = twice.quantile(unit, values, [q])[0]
    assert found.value == np.quantile(values, q)
    # two equal draws: the error is 0 unless the two differ from each other
    assert found.error == 0
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weight[:, unit[order]], axis=1)
    sample = Sample(cumulated, values[order], np.arange(values.size + 1))
    got = sample.quantile(q)
    assert_allclose(got, np.quantile(again, q), rtol=1e-9, atol=1e-6)


def test_very_many_values_are_looked_up_in_bins():
    values = np.random.default_rng(0).exponential(size=20 * BINS)
    unit = np.arange(values.size) % 50
    draws = draws_of([Series((50,), 1)])
    middle = draws.quantile(unit, values, [0.5])[0]
    assert middle.value == np.median(values)
    # of independent values: sqrt(1/4n) over the density at the median, 1/2
    assert middle.error == pytest.approx(1 / np.sqrt(values.size), rel=0.3)


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_the_error_of_a_quantile_needs_no_bin_as_small_as_it_is(q, monkeypatch):
    """Of values many times more than bins squared, the error is far below a bin."""
    monkeypatch.setattr(quantiles, "BINS", 64)
    count = 40 * 64**2
    values = np.random.default_rng(1).exponential(size=count)
    draws = draws_of([Series((2_000,), 1)], 400)
    found = draws.quantile(np.arange(count) % 2_000, values, [q])[0]
    # the density at a quantile of the exponential law is 1 - q
    assert found.error == pytest.approx(np.sqrt(q / (1 - q) / count), rel=0.15)


def test_a_quantile_within_a_gap_lies_on_either_side_of_it(monkeypatch):
    """Of two values in one bin hardly any between them is made up."""
    monkeypatch.setattr(quantiles, "BINS", 3)
    values = np.repeat([1.0, 9.0], 500)
    weights = np.random.default_rng(2).integers(0, 4, size=(200, 1000)).astype(float)
    drawn = Drawn(weights, np.arange(1000), np.ones(1000))
    again = quantiles.resampled_quantiles(drawn, np.arange(1000), values, [0.4996])
    # numpy interpolates, too, where the place lies between the two
    assert np.isin(again, [1.0, 9.0]).mean() > 0.95
    assert {1.0, 9.0} <= set(again.ravel())


def test_a_mean_has_the_error_of_means():
    values = np.random.default_rng(0).normal(size=400)
    draws = draws_of([Series((400,), 1)], 2000)
    mean = draws.mean(np.arange(400), values)
    assert mean.value == pytest.approx(values.mean())
    assert mean.error == pytest.approx(values.std(ddof=1) / 20, rel=0.08)


def test_values_that_are_not_known_do_not_count():
    draws = draws_of([Series((4,), 1)])
    unit, values = np.arange(4), np.array([1.0, np.nan, 3.0, np.nan])
    assert draws.mean(unit, values).value == 2.0
    assert draws.quantile(unit, values, [0.5])[0].value == 2.0
    assert draws.quantile(unit, np.full(4, np.nan), [0.5, 0.9]) == [NOTHING, NOTHING]


@pytest.mark.parametrize(
    ("resampled", "blocks"),
    [(np.ones(10), 1.0), (np.append(np.ones(8), [np.nan] * 2), 5.0), (np.ones(1), 5.0)],
)
def test_one_block_or_few_resamples_tell_no_error(resampled, blocks):
    assert np.isnan(estimate(1.0, resampled, blocks).error)


positive = st.floats(0.01, 100)
some = st.builds(Estimate, finite, positive, st.floats(1, 50))


@given(some, some, st.floats(0.6, 0.99))
def test_an_interval_excludes_0_where_the_p_value_is_below_the_bound(a, b, level):
    found = difference(a, b, level)
    if abs(found.p - (1 - level)) > 1e-6:
        assert (found.low > 0 or found.high < 0) == (found.p < 1 - level)


@given(some, some)
def test_swapped_sides_turn_the_sign(a, b):
    one, two = difference(a, b, 0.95), difference(b, a, 0.95)
    assert (one.difference, one.low) == (-two.difference, -two.high)
    assert one.p == two.p


@given(some)
def test_an_estimate_does_not_differ_from_itself(a):
    found = difference(a, a, 0.95)
    assert found.difference == 0
    assert found.low < 0 < found.high
    assert found.p == 1


@given(positive, positive, st.integers(2, 9), st.integers(1, 9))
def test_an_unequal_side_does_not_lend_its_degrees_of_freedom(error, other, units, times):
    """Between those of Welch and those of sides whose units differ alike, the fewer."""
    a, b = (
        Estimate(0.0, e, n - 1.0, n) for e, n in ((error, units), (other, times * units))
    )
    found = difference(a, b, 0.95)
    half = found.high / np.hypot(error, other)
    share = times / (1 + times)
    alike = 1 / (share**2 / a.freedom + (1 - share) ** 2 / b.freedom)
    least = min(a.freedom, b.freedom)
    assert half >= scipy_stats.t.ppf(0.975, alike) * (1 - 1e-9)
    assert half <= scipy_stats.t.ppf(0.975, least) * (1 + 1e-9)


def test_a_short_side_that_seems_sure_does_not_make_a_difference_sure():
    short, long = Estimate(0.0, 0.1, 2.0, 3), Estimate(5.0, 1.0, 49.0, 50)
    found = difference(short, long, 0.95)
    alike = 1 / ((50 / 53) ** 2 / 2 + (3 / 53) ** 2 / 49)
    half = np.hypot(0.1, 1.0) * scipy_stats.t.ppf(0.975, alike)
    assert found.high - found.difference == pytest.approx(half)


def test_differences_are_welchs():
    a, b, n, m = np.array([1.0, 4.0, 2.0, 9.0]), np.array([5.0, 8.0, 30.0]), 4, 3
    welch = scipy_stats.ttest_ind(b, a, equal_var=False)
    one = Estimate(a.mean(), a.std(ddof=1) / np.sqrt(n), n - 1)
    two = Estimate(b.mean(), b.std(ddof=1) / np.sqrt(m), m - 1)
    found = difference(one, two, 0.9)
    assert found.p == pytest.approx(welch.pvalue)
    assert_allclose((found.low, found.high), tuple(welch.confidence_interval(0.9)))


@pytest.mark.parametrize(("b", "p"), [(5.0, 1.0), (6.0, 0.0)])
def test_what_never_varies_differs_for_sure_or_not_at_all(b, p):
    found = difference(Estimate(5.0, 0.0, 3.0), Estimate(b, 0.0, 3.0), 0.95)
    assert (found.low, found.high, found.p) == (b - 5, b - 5, p)


def test_no_error_no_interval():
    found = difference(Estimate(5.0, np.nan, 0.0), Estimate(7.0, 1.0, 3.0), 0.95)
    assert found.difference == 2.0
    assert np.isnan([found.low, found.high, found.p]).all()


@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1)))
def test_adjusted_p_values_are_scipys(p):
    wanted = scipy_stats.false_discovery_control(p)
    assert_allclose(benjamini_hochberg(p), wanted, atol=1e-12)


def test_tests_that_were_not_made_do_not_count():
    assert_allclose(
        benjamini_hochberg(np.array([np.nan, 0.02, np.nan])), [np.nan, 0.02, np.nan]
    )


def covered(steps: int, each: int, alone: bool, sides: int = 80) -> float:
    """Share of intervals that hold the true difference of 0, of waits that steps share."""
    random, hits = np.random.default_rng(11), 0
    unit = np.repeat(np.arange(steps), each)
    for _ in range(sides):
        found = []
        for _ in range(2):
            late = random.normal(size=steps)[unit]
            values = np.exp(0.8 * late + 0.3 * random.normal(size=unit.size))
            of = np.arange(unit.size) if alone else unit
            series = [Series((int(of.max()) + 1,), 1)]
            draws = Draws(draw(series, 150, random), freedom(series))
            found.append(draws.mean(of, values))
        one = difference(found[0], found[1], 0.95)
        hits += one.low <= 0 <= one.high
    return hits / sides


def test_intervals_of_whole_steps_hold_the_truth_as_often_as_they_say():
    assert covered(8, 12, alone=False) >= 0.9


def test_intervals_of_single_collectives_would_not():
    assert covered(8, 12, alone=True) < 0.8


@pytest.mark.parametrize("whole", ["runs", "windows"])
@pytest.mark.parametrize(("few", "many"), [(200, 4), (4, 200)])
def test_how_long_runs_are_is_no_number_of_them(whole, few, many):
    """Runs and windows that are drawn whole count as one each, and so do they vary."""
    counts = (5, 20) if whole == "windows" else (2, 20)

    def side(count: int, steps: int) -> list[Series]:
        if whole == "windows":
            return [Series((steps,) * count, 1)]
        return [Series((steps,), 1)] * count

    random, hits, pairs = np.random.default_rng(5), 0, 150
    for _ in range(pairs):
        found = []
        for count, steps in zip(counts, (few, many), strict=True):
            draws = draws_of(side(count, steps), 150, int(random.integers(1 << 30)))
            late = random.normal(size=(count, 1)) + 0.3 * random.normal(size=(count, steps))
            found.append(draws.mean(np.arange(count * steps), late.ravel()))
        assert [one.units for one in found] == list(counts)
        one = difference(found[0], found[1], 0.95)
        hits += one.low <= 0 <= one.high
    assert hits / pairs >= 0.93
