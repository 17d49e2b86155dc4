"""The law of deviations, and its maxima."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad

from synctax.errors import FitError
from synctax.evt.deviations import TailLaw, deviations_us, fit_deviations
from synctax.evt.gpd import GpdFit, fit_gpd
from tests.evt.made import block_times, normal_times

BODY = stats.norm.ppf((np.arange(380) + 0.5) / 400)
SHAPES = (-0.4, 0.0, 5e-5, -2e-4, 0.15, 0.7)


def law_of(shape: float) -> TailLaw:
    return TailLaw(BODY, 0.05, float(BODY[-1]), GpdFit(0.4, shape, None, 0.0, 0))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1.0, 4.0, 32.5, 1e6])
def test_the_mean_maximum_is_the_integral_over_quantiles(shape, n):
    law = law_of(shape)

    def at(log_p: float) -> float:
        p = np.exp(log_p)
        density = n * np.exp((n - 1) * np.log1p(-p)) * p
        return float(law.quantile(np.array([p]))[0]) * density

    edges = np.log(0.05) - np.array([0, 0.5, 2, 5, 8, 10, 12, 14, 16, 18, 20, 25, 40, 99])
    pairs = zip(edges[1:], edges[:-1], strict=True)
    tail = sum(quad(at, lo, hi, epsabs=1e-11)[0] for lo, hi in pairs)
    steps = np.diff((np.arange(381) * 0.95 / 380) ** n)
    assert law.mean_max(np.array([n]))[0] == pytest.approx(tail + BODY @ steps, rel=2e-6)


def test_without_a_tail_it_is_the_mean_maximum_of_draws_with_replacement():
    law = TailLaw(np.array([1.0, 2.0, 6.0]))
    # 27 equally probable triples: 1 of maximum 1, 7 of 2, 19 of 6
    assert law.mean_max(np.array([3.0]))[0] == pytest.approx((1 + 14 + 114) / 27)


@given(st.floats(-0.8, 0.9), st.lists(st.floats(1, 1e6), min_size=2, max_size=6))
def test_the_mean_maximum_rises_with_n(shape, sizes):
    n = np.sort(np.array(sizes))
    assert (np.diff(law_of(shape).mean_max(n)) >= -1e-9).all()


@pytest.mark.parametrize("n", [9.0, 9_998.0, 999_997.0, 1e9])
def test_where_the_tail_is_exponential_one_more_value_adds_what_it_must(n):
    law = law_of(0.0)
    less, more = law.mean_max(np.array([n, n + 1]))
    # E of the largest of n exponential values is 1 + 1/2 + ... + 1/n
    in_tail = 1 - 0.95 ** (n + 1)
    expected = law.tail.scale * in_tail / (n + 1)
    assert more - less >= 0
    if n > 1000:  # no maximum lies in the body
        assert more - less == pytest.approx(expected, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_quantile_and_distribution_undo_each_other_in_the_tail(shape):
    law = law_of(shape)
    p = np.geomspace(1e-9, 0.0499, 30)
    assert_allclose(1 - law.cdf(law.quantile(p)), p, rtol=1e-6, atol=1e-12)


def test_the_distribution_of_observed_values_counts_them():
    law = TailLaw(np.array([1.0, 2.0, 3.0, 4.0]))
    assert_allclose(law.cdf(np.array([0.0, 2.5, 9.0])), [0, 0.5, 1])
    assert_allclose(law.quantile(np.array([1.0, 0.6, 0.1])), [1, 2, 4])


def test_nothing_lies_beyond_the_end_of_a_bounded_tail():
    law = law_of(-0.4)
    assert law.cdf(np.array([law.threshold + 0.4 / 0.4 + 1e-9]))[0] == 1


def test_deviations_have_the_spread_of_ranks_and_nothing_common():
    times = normal_times(4_000, 4, common=5.0)
    d_us = deviations_us(times)
    assert_allclose(d_us.sum(axis=1), 0, atol=1e-9)
    assert d_us.std() == pytest.approx(20, rel=0.02)


def test_one_rank_deviates_from_nothing():
    with pytest.raises(FitError, match="at least 2 ranks"):
        deviations_us(normal_times(12, 1))


def fit(d_us, block=None, weight=None, **options):
    block = np.zeros(len(d_us), np.int64) if block is None else block
    weight = np.ones(int(block.max()) + 1) if weight is None else weight
    return fit_deviations(d_us, block, weight, **options)


def test_normal_ranks_wait_as_long_as_their_maximum_is_far():
    found = fit(deviations_us(normal_times(5_000, 4)))
    n = np.array([4.0, 64.0])
    drawn = np.random.default_rng(5).normal(size=(20_000, 64))
    far = [drawn[:, :4].max(axis=1).mean(), drawn.max(axis=1).mean()]
    assert_allclose(found.tau_us(n), 20 * np.array(far), rtol=0.02)


def test_blocks_of_different_spread_have_one_law():
    one, other = deviations_us(normal_times(500, 4)), deviations_us(normal_times(500, 4))
    alone = fit(one)
    both = fit(
        np.vstack([one, 10 * other]), np.repeat([0, 1], 500), np.array([500.0, 500.0])
    )
    assert both.scale_us == pytest.approx(5.5 * alone.scale_us)
    assert_allclose(both.law.body[::2], alone.law.body, atol=0.02)


def test_instances_weigh_the_scales_of_blocks():
    one = deviations_us(normal_times(50, 4))
    both = np.vstack([one, 10 * one])
    found = fit(both, np.repeat([0, 1], 50), np.array([3.0, 1.0]))
    assert found.scale_us == pytest.approx(fit(one).scale_us * 13 / 4)


def test_few_values_in_the_tail_stand_for_themselves_with_a_note():
    found = fit(deviations_us(normal_times(50, 4)))
    assert found.law.tail is None
    assert found.law.share == 0
    (note,) = found.notes
    assert (note.reason, note.count) == ("no_tail", 1)
    assert "10 distinct deviations above the 95 % quantile" in note.detail
    assert found.tau_us(np.array([1e9]))[0] <= found.scale_us * found.law.body[-1] + 1e-9


def test_a_tail_that_no_law_fits_stands_for_itself_with_a_note():
    # density that grows up to an end: the likelihood of a Pareto tail has no maximum
    d_us = stats.genpareto(-2.0).ppf((np.arange(400) + 0.5) / 400).reshape(-1, 4)
    d_us -= d_us.mean()
    found = fit(d_us)
    assert found.law.share == 0
    (note,) = found.notes
    assert note.reason == "no_tail"
    assert "runs to its bound -1" in note.detail
    assert note.detail.endswith("no wait beyond what was observed is predicted")
    far_us = found.tau_us(np.array([4.0, 1e9]))
    assert_allclose(far_us[1], d_us.max())


def test_ties_at_the_threshold_belong_to_the_body():
    d = np.round(deviations_us(normal_times(2_000, 4)) / 5) * 5
    found = fit(d, min_tail_values=5)
    above = d.ravel() / found.scale_us > found.law.threshold + 1e-9
    assert found.law.body[-1] == found.law.threshold
    assert found.law.share * found.n == pytest.approx(above.sum())


def test_a_tail_without_a_mean_is_refused():
    drawn = stats.genpareto(1.6).ppf((np.arange(4_000) + 0.5) / 4_000)
    with pytest.raises(FitError, match=r"shape 1\.[4-9]\d: from 1 on it has no mean"):
        fit(drawn.reshape(-1, 4))


def test_ranks_that_never_differ_are_refused():
    with pytest.raises(FitError, match="there is no wait to fit"):
        fit(deviations_us(block_times(np.arange(12.0)[:, None] * np.ones(3))))


def test_a_block_whose_ranks_never_differ_does_not_spoil_the_others():
    one = deviations_us(normal_times(200, 4))
    both = np.vstack([one, np.zeros((200, 4))])
    found = fit(both, np.repeat([0, 1], 200), np.array([200.0, 200.0]))
    assert found.n == 800
    assert found.scale_us == pytest.approx(fit(one).scale_us / 2)


def test_where_the_search_starts_does_not_move_the_tail():
    random = np.random.default_rng(8)
    one, other = random.exponential(size=300), random.exponential(3.0, size=300)
    near, alone = fit_gpd(other, start=fit_gpd(one)), fit_gpd(other)
    assert (near.scale, near.shape) == pytest.approx((alone.scale, alone.shape), rel=1e-6)
