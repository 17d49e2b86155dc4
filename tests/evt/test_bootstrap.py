"""Resamples of whole instances, and intervals from them."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.evt.bootstrap import (
    bootstrap,
    grid,
    predict_again,
    predicted_us,
    refit,
)
from synctax.evt.cut import cut, join, select
from synctax.evt.intervals import LogErrors, interval
from synctax.evt.predict import fit_standard
from synctax.evt.resample import as_of_all, draw, memory, resampler, units_of
from synctax.evt.standard import standardise
from synctax.evt.tax import METHODS
from tests.evt.made import block_times, fit_all, normal_times
from tests.laws import examples

N = np.array([4.0, 16.0, 512.0])


def several(seed: int = 0):
    """Two blocks in two series of different length."""
    random = np.random.default_rng([seed, 103])
    us = random.normal(size=(70, 6)) * 20 + 1_000
    block = np.tile([0, 1], 35)
    us[block == 1] *= 3
    return block_times(us, block=block, series=np.repeat([3, 8], [30, 40]))


@settings(max_examples=examples(30))
@given(st.integers(0, 999), st.integers(1, 9), st.booleans())
def test_a_draw_has_as_many_instances_of_each_series_in_blocks_of_time(
    seed, length, cut_up
):
    times = cut(several(), 2)[0] if cut_up else several()
    u = units_of(times)
    drawn = draw(u, length, np.random.default_rng(seed))
    assert_array_equal(u.series[drawn], u.series)
    rows = u.rows_of(drawn)
    assert_array_equal(
        times.instance[rows], np.repeat(times.instance[u.row[drawn]], u.rows)
    )
    for begin, size in zip(u.begin, u.size, strict=True):
        pieces = drawn[begin : begin + size] - begin
        reach = max(1, min(length, size // 10))
        within = np.arange(1, size) % reach > 0
        assert_array_equal((np.diff(pieces) % size)[within], 1)


def test_every_instance_is_drawn_equally_often():
    u = units_of(several())
    random = np.random.default_rng(1)
    count = np.bincount(np.concatenate([draw(u, 3, random) for _ in range(1_000)]))
    assert abs(count / 1_000 - 1).max() < 0.2


@settings(max_examples=examples(20))
@given(st.integers(0, 999))
def test_a_resample_is_standardised_as_its_instances_would_be(seed):
    standard = standardise(cut(several(), 3)[0])
    prepared = resampler(standard)
    drawn = draw(prepared.units, 2, np.random.default_rng(seed))
    sample = prepared.sample(drawn)
    # instances drawn twice count twice
    times = select(standard.times, sample.rows)
    again = standardise(replace(times, instance=np.repeat(np.arange(70), 2)))
    # the mix of blocks is that of the data, however many of each were drawn
    again = replace(again, instances=standard.instances)
    assert_allclose(sample.z, again.z, rtol=1e-9, atol=1e-9)
    assert_array_equal(sample.weight, standard.instances)
    assert sample.b_us == pytest.approx(again.mean_b_us)
    assert_allclose(sample.block_b_us, again.b_us)
    fitted, expected = refit(prepared, drawn, fit_standard(standard)), fit_standard(again)
    assert fitted is not None
    for method in METHODS:
        assert_allclose(
            predicted_us(fitted, method, N), expected.tau_us(method, N), rtol=1e-5
        )


def test_a_block_that_was_not_drawn_has_no_weight():
    prepared = resampler(standardise(several()))
    sample = prepared.sample(np.flatnonzero(prepared.units.block == 1))
    assert_array_equal(sample.weight, [0, 35])
    assert sample.b_us == pytest.approx(sample.block_b_us[1])


def test_the_spread_of_different_blocks_varies_no_more_in_resamples_than_in_data():
    spreads, widths = [], []
    block = np.resize(np.arange(8), 160)
    spread_us = np.array([1.0] * 7 + [50.0])[block, None]
    for seed in range(60):
        random = np.random.default_rng([seed, 8])
        times = block_times(1_000 + spread_us * random.gumbel(size=(160, 4)), block=block)
        standard = standardise(times)
        prepared = resampler(standard)
        spreads.append(standard.mean_b_us)
        drawn = (prepared.sample(draw(prepared.units, 1, random)) for _ in range(100))
        widths.append(np.std([np.log(one.b_us) for one in drawn]))
    # with a mix of blocks that varied they came out twice as wide
    assert np.mean(widths) == pytest.approx(np.log(spreads).std(), rel=0.35)


@given(st.floats(0.01, 1), st.integers(1, 9))
def test_a_share_is_drawn_of_each_series(share, length):
    u = units_of(several())
    drawn = draw(u, length, np.random.default_rng(1), share)
    found = np.bincount(u.series[drawn])
    assert_array_equal(found, np.ceil(u.size * share))


def test_of_very_many_instances_some_are_drawn_and_intervals_are_as_wide(monkeypatch):
    standard = standardise(normal_times(1_500, 4))
    whole = bootstrap(standard, N, resamples=120)
    assert whole.notes == ()
    drawn = []
    monkeypatch.setattr("synctax.evt.resample.MOST_ROWS", 300)
    monkeypatch.setattr(
        "synctax.evt.bootstrap.refit",
        lambda prepared, which, near: (
            drawn.append(which.size) or refit(prepared, which, near)
        ),
    )
    some = bootstrap(standard, N, resamples=120)
    assert set(drawn) == {300}
    (note,) = some.notes
    assert (note.reason, note.count) == ("resample_of_some", 1_500)
    assert "of which a resample draws 300; intervals are scaled" in note.detail
    for method in ("gumbel", "lmoments", "deviations"):
        widths = [np.log(np.divide(*x.interval_us(method)[::-1])) for x in (whole, some)]
        assert_allclose(widths[1], widths[0], rtol=0.35)


def test_estimates_of_a_share_are_drawn_together_about_their_mean():
    found = as_of_all(np.exp([[0.0, np.nan], [2.0, 1.0], [4.0, -np.inf]]), 0.25)
    assert_allclose(np.log(found), [[1, np.nan], [2, 1], [3, np.nan]])


def test_the_same_seed_gives_the_same_resamples():
    standard = standardise(normal_times(40, 4))
    one, same, other = (
        bootstrap(standard, N, resamples=5, seed=seed) for seed in (1, 1, 2)
    )
    for method in one.tau_us:
        assert_array_equal(one.resampled_us[method], same.resampled_us[method])
        assert (one.resampled_us[method] != other.resampled_us[method]).any()


def test_intervals_hold_the_prediction_and_shrink_with_more_instances():
    widths = []
    for instances in (40, 640):
        found = bootstrap(standardise(normal_times(instances, 4)), N, resamples=25)
        assert found.n is N
        for method, tau_us in found.tau_us.items():
            lo, hi = found.interval_us(method)
            assert (lo < tau_us).all()
            assert (tau_us < hi).all()
        lo, hi = found.interval_us("gumbel")
        widths.append((hi / lo - 1)[0])
    assert widths[1] < 0.5 * widths[0]


def test_a_higher_level_is_wider():
    found = bootstrap(standardise(normal_times(40, 4)), N, resamples=20)
    (lo, hi), (lo99, hi99) = (found.interval_us("gumbel", level=p) for p in (0.9, 0.99))
    assert (lo99 < lo).all()
    assert (hi99 > hi).all()


def test_fits_to_resamples_are_asked_and_not_kept():
    fitted, kept, holders = fit_all(normal_times(40, 4)), [], []

    def again():
        for seed in range(5):
            kept.append(fit_all(normal_times(40, 4, seed=seed)))
            yield kept[-1]
            if seed:  # the one before the last: held by the list, and by the call
                holders.append(sys.getrefcount(kept[-2]))

    past = memory(standardise(normal_times(40, 4)))
    found = predict_again(again(), fitted, N, past)
    assert holders == [2] * 4
    for method in METHODS:
        expected = [one.tau_us(method, N) for one in kept]
        assert_allclose(found.resampled_us[method], expected)


def test_the_interval_is_that_of_a_lognormal():
    resampled = np.exp(np.random.default_rng(2).normal(0, 0.1, size=(20_000, 1)))
    lo, hi = interval(np.array([5.0]), resampled, level=0.95)
    assert_allclose([lo[0], hi[0]], 5 * np.exp([-0.196, 0.196]), rtol=0.01)


def test_few_blocks_make_the_interval_wider():
    resampled = np.exp(np.random.default_rng(2).normal(0, 0.1, size=(200, 1)))
    widths = [
        float(np.log(interval(np.ones(1), resampled, blocks=blocks)[1])[0])
        for blocks in (np.inf, 1e7, 25.0, 5.0, 2.0, 1.0)
    ]
    assert widths[0] == pytest.approx(widths[1], rel=1e-5)
    # t of 24 degrees of freedom
    assert widths[2] / widths[0] == pytest.approx(2.0639 / 1.95996 * (25 / 24) ** 0.5, 1e-4)
    assert widths[2] < widths[3] < widths[4] == widths[5]


def skewed(count: int, seed: int = 0) -> tuple[np.ndarray, LogErrors]:
    """Logarithms of mean 0 that tell less of themselves where they are low."""
    z = np.random.default_rng([seed, 105]).normal(size=(count, 1))
    logs = 0.1 * z + 0.02 * (z * z - 1)
    return np.exp(logs), LogErrors(np.array([0.12]), 0.12 * np.exp(0.3 * z))


def test_equal_errors_make_it_the_interval_of_a_normal():
    resampled = np.exp(np.random.default_rng(2).normal(0, 0.1, size=(20_000, 1)))
    # as large as they like: only their ratio counts
    errors = LogErrors(np.array([0.7]), np.full(resampled.shape, 0.7))
    assert_allclose(
        interval(np.array([5.0]), 5 * resampled, errors=errors),
        interval(np.array([5.0]), 5 * resampled),
        rtol=0.01,
    )


@settings(max_examples=examples(30))
@given(st.integers(0, 999), st.floats(0.5, 0.99), st.floats(1, 100))
def test_bounds_are_quantiles_of_t_in_units_of_the_error(seed, level, unit):
    resampled, errors = skewed(399, seed)
    scaled = LogErrors(unit * errors.own, unit * errors.resampled)
    lo, hi = interval(np.ones(1), resampled, level=level, errors=scaled)
    t = np.log(resampled) / errors.resampled
    # the truth 1 lies below as often as t is above its upper quantile
    above = (t > np.log(1 / lo) / errors.own).sum()
    below = (t < np.log(1 / hi) / errors.own).sum()
    assert abs(above - 400 * (1 - level) / 2) < 1.01
    assert abs(below - 400 * (1 - level) / 2) < 1.01


def test_studentised_intervals_reach_further_up_where_low_estimates_tell_little_spread():
    resampled, errors = skewed(20_000)
    lo, hi = interval(np.ones(1), resampled, errors=errors)
    symmetric_lo, symmetric_hi = interval(np.ones(1), resampled)
    assert hi[0] > symmetric_hi[0]
    assert lo[0] > symmetric_lo[0]


def test_few_blocks_make_studentised_intervals_wider_on_both_sides():
    resampled, errors = skewed(399)
    lo, hi = np.log(interval(np.ones(1), resampled, errors=errors))
    few_lo, few_hi = np.log(interval(np.ones(1), resampled, errors=errors, blocks=25.0))
    # t of 24 degrees of freedom
    more = 2.0639 / 1.95996 * (25 / 24) ** 0.5
    assert_allclose([few_lo / lo, few_hi / hi], more, rtol=1e-4)


def test_an_interval_holds_its_estimate_even_if_all_resamples_lie_on_one_side():
    resampled, errors = skewed(399)
    for shift in (0.1, 10.0):
        lo, hi = interval(np.full(1, shift), resampled, errors=errors)
        assert (lo <= shift).all()
        assert (hi >= shift).all()
        assert (lo == shift).all() != (hi == shift).all()


@pytest.mark.parametrize(
    ("count", "without_error", "studentised"),
    [(38, 0, False), (39, 0, True), (399, 9, True), (399, 11, False), (399, 399, False)],
)
def test_quantiles_of_t_that_are_not_known_leave_the_symmetric_interval(
    count, without_error, studentised
):
    resampled, errors = skewed(count)
    lowest = np.argsort(np.log(resampled[:, 0]) / errors.resampled[:, 0])[:without_error]
    complete = interval(np.ones(1), resampled, errors=errors)
    errors.resampled[lowest] = np.nan
    expected = complete if studentised else interval(np.ones(1), resampled)
    assert_array_equal(interval(np.ones(1), resampled, errors=errors), expected)


def test_errors_that_miss_most_of_the_spread_bound_as_those_that_hold_it():
    resampled, errors = skewed(399)
    spread = np.log(resampled).std(ddof=1)
    tiny = LogErrors(1e-4 * errors.own, 1e-4 * errors.resampled)
    constant = LogErrors(np.array([spread]), np.full(resampled.shape, spread))
    assert_allclose(
        interval(np.ones(1), resampled, errors=tiny),
        interval(np.ones(1), resampled, errors=constant),
        rtol=1e-4,
    )


def test_studentised_intervals_need_as_many_resamples_as_others():
    resampled, errors = skewed(100)
    resampled[:21] = np.nan
    assert np.isnan(interval(np.ones(1), resampled, errors=errors)).all()


def test_errors_without_end_leave_the_symmetric_interval():
    resampled, errors = skewed(399)
    endless = LogErrors(np.array([1e6]), errors.resampled)
    assert_array_equal(
        interval(np.ones(1), resampled, errors=endless), interval(np.ones(1), resampled)
    )


def test_only_gev_fits_with_a_covariance_tell_errors():
    standard = standardise(normal_times(200, 4))
    found = bootstrap(standard, N, resamples=40)
    assert set(found.log_errors) == {"gev"}
    fit = fit_standard(standard).gev
    assert fit is not None
    assert_allclose(
        found.log_errors["gev"].own, [fit.mean_se(k) / fit.mean_z(k) for k in (1, 4, 128)]
    )
    for method in found.tau_us:
        symmetric = interval(
            found.tau_us[method], found.resampled_us[method], blocks=found.memory.blocks
        )
        same = np.array_equal(found.interval_us(method), symmetric)
        assert same == (method != "gev")


def test_a_tail_that_ends_too_abruptly_has_a_symmetric_interval():
    # maxima of uniform ranks end at 1
    ranks = np.random.default_rng(8).random((400, 2))
    found = bootstrap(standardise(block_times(1_000 + 20 * ranks)), N, resamples=40)
    assert "gev" in found.tau_us
    assert not found.log_errors
    assert np.isfinite(found.interval_us("gev")).all()


def test_blocks_are_counted_over_all_series():
    # of 30 and of 40 instances, two at a time
    assert memory(standardise(several())).blocks == 35


def test_too_many_lost_resamples_leave_no_interval():
    resampled = np.array([[1.0, 1.0], [2.0, 2.0], [1.5, np.nan], [1.2, 1.1], [1.1, -3.0]])
    lo, hi = interval(np.array([1.0, 1.0]), resampled)
    assert np.isfinite([lo[0], hi[0]]).all()
    assert np.isnan([lo[1], hi[1]]).all()


def test_the_grid_doubles():
    assert_array_equal(grid(4)[[0, 1, 20]], [4, 8, 4 * 2**20])
    assert grid(4).size == 21


def test_a_method_without_a_fit_has_no_interval():
    heavy = block_times(1 / np.random.default_rng(3).random((200, 4)) ** 1.7)
    found = bootstrap(standardise(heavy), N, resamples=3)
    assert "gev" not in found.tau_us
    assert "gev" not in found.resampled_us


def test_resamples_that_cannot_be_fitted_are_counted():
    found = bootstrap(standardise(normal_times(20, 4)), N, resamples=20)
    lost = int(np.isnan(found.resampled_us["gev"][:, 0]).sum())
    assert lost > 0
    assert [(note.reason, note.count) for note in found.notes] == [
        ("resample_without_gev", lost)
    ]


def test_few_maxima_leave_the_deviations():
    found = bootstrap(standardise(normal_times(15, 4)), N, resamples=3)
    assert set(found.tau_us) == {"deviations"}
    assert found.notes == ()


def test_one_instance_again_and_again_carries_no_fit_of_maxima():
    standard = standardise(normal_times(30, 4))
    alone = refit(resampler(standard), np.zeros(30, np.int64), fit_standard(standard))
    assert alone.methods == ("deviations",)
    assert np.isnan(predicted_us(alone, "gumbel", N)).all()


def test_single_ranks_have_maxima_and_no_deviations():
    standard = standardise(normal_times(60, 1))
    found = bootstrap(standard, N, resamples=4)
    assert set(found.tau_us) == {"gumbel", "gev", "lmoments"}


def autocorrelated(instances: int, r: float, seed: int = 0):
    random = np.random.default_rng([seed, 104])
    level = np.zeros(instances)
    for at in range(1, instances):
        level[at] = r * level[at - 1] + random.normal()
    return block_times(
        1_000 + 20 * (level[:, None] + 0.2 * random.normal(size=(instances, 4)))
    )


def test_independent_instances_have_no_memory():
    past = memory(standardise(normal_times(400, 4)))
    assert past.block_length == 2
    assert past.effective == 400
    assert past.bound == pytest.approx(0.1)


def test_memory_makes_blocks_longer_and_the_sample_smaller():
    past = memory(standardise(autocorrelated(1_000, 0.7)))
    lags = past.autocorrelation.size
    assert past.autocorrelation[0] == pytest.approx(0.7, abs=0.1)
    assert (past.autocorrelation[:-1] >= past.bound).all()
    assert past.autocorrelation[-1] < past.bound
    assert past.block_length == 2 * lags
    # an AR(1) with coefficient r tells as much as n (1 - r)/(1 + r)
    assert past.effective == pytest.approx(1_000 * 0.3 / 1.7, rel=0.35)


def test_blocks_are_at_most_a_tenth_of_the_longest_series():
    assert memory(standardise(autocorrelated(60, 0.99))).block_length <= 6
    assert memory(standardise(autocorrelated(12, 0.99))).block_length == 1


def test_blocks_that_take_turns_are_no_memory():
    random = np.random.default_rng(6)
    block = np.tile([0, 1], 200)
    us = 1_000 + 20 * random.normal(size=(400, 4))
    # one block's ranks are skewed, so its maxima lie higher
    us[block == 1] = 1_000 + 20 * random.exponential(size=(200, 4))
    assert memory(standardise(block_times(us, block=block))).effective == 400


def test_series_do_not_remember_each_other():
    one = autocorrelated(100, 0.0, seed=1)
    short = join([select(one, np.arange(k, k + 2)) for k in range(0, 100, 2)])
    past = memory(standardise(replace(short, block=np.zeros(100, np.int64))))
    # pairs, less their own mean, always mirror each other
    assert past.autocorrelation[0] == pytest.approx(-0.5)
    assert past.effective == 100


def test_what_does_not_vary_within_series_has_no_memory():
    us = 1_000 + np.arange(12.0)[:, None] + np.array([0.0, 5.0])
    past = memory(standardise(block_times(us, series=np.arange(12))))
    assert past.autocorrelation[0] == 0


def test_wider_intervals_where_instances_resemble_each_other():
    widths = []
    for r in (0.0, 0.9):
        found = bootstrap(standardise(autocorrelated(300, r)), N, resamples=30)
        logs = np.log(found.resampled_us["gumbel"])
        widths.append(logs.std(axis=0)[0])
    assert widths[1] > 1.5 * widths[0]


def test_fits_that_are_handed_over_are_used():
    times = normal_times(40, 4)
    fitted = fit_all(normal_times(40, 4, seed=5))
    found = bootstrap(standardise(times), N, fitted=fitted, resamples=2)
    assert_array_equal(found.tau_us["gumbel"], fitted.tau_us("gumbel", N))


def test_progress_is_told_resample_by_resample():
    told: list[int] = []
    bootstrap(standardise(normal_times(40, 4)), N, resamples=3, on_resample=told.append)
    assert told == [1, 1, 1]
