"""What speaks against a prediction fires where it should, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from synctax.evt.checks import (
    autocorrelation,
    check,
    deviations_reach,
    effective,
    few_ranks,
    no_mean,
    reach,
    rounding,
    shape,
)
from synctax.evt.cut import cut
from synctax.evt.deviations import TailLaw
from synctax.evt.doubts import QUESTIONS, Check, fired, in_order, pressing
from synctax.evt.doubts_of_variation import (
    common,
    forgetting,
    light_tail,
    ranks,
    skew,
    straggler,
)
from synctax.evt.predict import METHODS, fit_maxima, fit_standard
from synctax.evt.resample import Memory, memory
from synctax.evt.scenarios import slow_ranks
from synctax.evt.standard import standardise
from synctax.evt.variation import (
    common_variation,
    deviation_shape,
    rank_effects,
    stragglers,
)
from synctax.texts import time_us
from tests.evt.made import block_times, normal_times
from tests.laws import examples


def of(times):
    return standardise(times)


def names(checks):
    return {one.name for one in checks if one.fired}


def test_independent_normal_ranks_raise_no_doubt_of_their_variation():
    standard = of(normal_times(500, 4))
    for one in (
        common(standard), ranks(standard), straggler(standard), skew(standard),
        light_tail(standard),
    ):  # fmt: skip
        assert not one.fired, one
        assert one.message == ""


@pytest.mark.parametrize("question", [common, ranks, straggler])
def test_the_p_value_of_chance_is_uniform(question):
    p = [question(of(normal_times(40, 4, seed=seed))).p for seed in range(100)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3


@settings(max_examples=examples(20))
@given(st.floats(0.01, 100), st.floats(-1e4, 1e4), st.integers(0, 99))
def test_doubts_do_not_depend_on_the_unit(scale, shift, seed):
    times = normal_times(40, 4, seed=seed, common=0.5, slow=0.5)
    one, other = of(times), of(block_times(times.us * scale + shift))
    for question in (common, ranks, straggler, skew, light_tail):
        found, moved = question(one), question(other)
        assert moved.effect == pytest.approx(found.effect, rel=1e-4, abs=1e-6)
        assert moved.p == pytest.approx(found.p, rel=1e-3, abs=1e-6)


def test_variation_shared_by_all_ranks_is_measured_and_named():
    found = common(of(normal_times(800, 4, common=1.0)))
    assert found.effect == pytest.approx(0.5, abs=0.05)
    assert found.p < 1e-30
    assert found.fired
    assert found.methods == ("gumbel", "gev", "lmoments")
    assert "predict too much" in found.message


def test_a_slow_rank_hides_no_shared_variation():
    share = common_variation(of(normal_times(800, 4, common=0.7, slow=2.0))).share
    # of 0.49 + 1 + 4 · 3/16
    assert share == pytest.approx(0.49 / 2.24, abs=0.04)


def test_ranks_that_vary_only_together_share_everything():
    us = 1_000 + np.random.default_rng(1).normal(size=(40, 1)) * np.ones(4)
    found = common_variation(of(block_times(us)))
    assert found.share == pytest.approx(1, abs=0.05)
    assert found.p == 0
    assert np.isnan(deviation_shape(of(block_times(us))).kurtosis_p)
    assert not skew(of(block_times(us))).fired


def test_a_slow_rank_is_named_with_its_time():
    standard = of(normal_times(500, 4, slow=1.0))
    found = ranks(standard)
    assert found.fired
    assert found.methods == METHODS
    # 20 µs, less a quarter of them
    assert found.message.startswith("rank 3 takes 15")
    assert found.message.endswith(" longer than its group on average; look at that rank")
    effects = rank_effects(standard)
    assert_allclose(effects.effect_us, [-5, -5, -5, 15], atol=2)
    # 3/16 of 1 + 3/16
    assert effects.share == pytest.approx(3 / 19, abs=0.03)


def test_ranks_of_different_series_are_different_ranks():
    one, other = normal_times(100, 3, slow=2.0).us, normal_times(100, 3, seed=1).us
    standard = of(block_times(np.vstack([other, one]), series=np.repeat([4, 9], 100)))
    effects = rank_effects(standard)
    assert effects.rank.tolist() == [0, 1, 2] * 2
    assert (effects.series[effects.slowest], effects.rank[effects.slowest]) == (9, 2)


def test_a_rank_slow_by_rule_leaves_no_chance():
    us = 1_000 + np.arange(12.0)[:, None] + np.array([0.0, 5.0])
    effects = rank_effects(of(block_times(us)))
    assert effects.p < 1e-50
    assert effects.left < 1e-12


def test_cut_groups_show_the_same_slow_rank():
    small, _ = cut(normal_times(500, 8, slow=2.0), 4)
    assert names([ranks(of(small)), straggler(of(small))]) == {"rank_effect", "straggler"}
    assert "rank 7 " in ranks(of(small)).message


def test_the_straggler_is_named_with_its_share():
    found = straggler(of(normal_times(500, 4, slow=1.0)))
    assert found.fired
    share = stats.norm.expect(lambda x: stats.norm.cdf(x) ** 3, loc=1)
    assert f"rank 3 is slowest in {share:.0%}"[:-3] in found.message
    assert "(25 % by chance)" in found.message


def test_always_the_same_straggler_is_full_association():
    us = 1_000 + np.random.default_rng(1).normal(size=(50, 4))
    us[:, 1] += 100
    found = stragglers(of(block_times(us)))
    assert found.association == pytest.approx(1, abs=0.02)
    assert (found.rank, found.share, found.expected_share) == (1, 1.0, 0.25)


def remembering(instances, m, rho, *, seed, slow=0.0):
    """Normal ranks, each of which resembles itself by `rho` at the next instance."""
    random = np.random.default_rng([seed, 7])
    x = random.normal(size=(instances, m))
    for at in range(1, instances):
        x[at] = rho * x[at - 1] + np.sqrt(1 - rho * rho) * x[at]
    x[:, -1] += slow
    return block_times(1_000 + 20 * x)


@pytest.mark.parametrize("rho", [0.5, 0.9])
@pytest.mark.parametrize("question", [common, ranks, straggler])
def test_ranks_that_remember_are_not_slow_again_and_again(question, rho):
    found = [question(of(remembering(200, 4, rho, seed=seed))) for seed in range(60)]
    # of a rate of 1 %, five of 60 would come once in 1,000 times
    assert sum(one.p < 0.01 for one in found) < 5
    assert sum(one.fired for one in found) < 5


@pytest.mark.parametrize("question", [ranks, straggler])
def test_a_slow_rank_is_still_found_where_ranks_remember(question):
    found = [question(of(remembering(600, 4, 0.5, seed=s, slow=0.6))) for s in range(10)]
    assert all(one.fired and "rank 3 " in one.message for one in found)
    always = question(of(remembering(400, 4, 0.9, seed=1, slow=4.0)))
    assert always.fired


def test_memory_of_ranks_is_that_of_their_law():
    past = rank_effects(of(remembering(20_000, 4, 0.8, seed=1))).memory
    assert past.of_mean == pytest.approx(1.8 / 0.2, rel=0.1)
    assert past.of_variance == pytest.approx(1.64 / 0.36, rel=0.1)
    assert past.effective == pytest.approx(20_000 / past.of_mean)
    apart = rank_effects(of(normal_times(2_000, 4))).memory
    assert (apart.lags, apart.of_mean, apart.effective) == (0, 1.0, 2_000)


def test_memory_is_that_of_the_same_rank_wherever_it_stands():
    times = remembering(400, 8, 0.8, seed=2)
    order = np.argsort(np.random.default_rng(1).random((400, 8)), axis=1)
    mixed = replace(
        times,
        rank=np.take_along_axis(times.rank, order, 1),
        us=np.take_along_axis(times.us, order, 1),
    )
    one, other = rank_effects(of(times)).memory, rank_effects(of(mixed)).memory
    assert one.of_mean == pytest.approx(other.of_mean)
    assert rank_effects(of(cut(times, 4)[0])).memory.of_mean > 3


def test_where_ranks_remember_too_long_it_is_said_that_nothing_can_be_told():
    found = forgetting(of(remembering(200, 4, 0.97, seed=3)))
    assert found.fired
    assert "too few to say whether a rank is persistently slow" in found.message
    for slow, rho in ((0.0, 0.5), (0.0, 0.0), (12.0, 0.95)):
        assert not forgetting(of(remembering(200, 4, rho, seed=3, slow=slow))).fired


def test_ties_are_nobodys_turn():
    us = np.tile([1.0, 2.0, 2.0], (12, 1)) + np.arange(12.0)[:, None]
    found = stragglers(of(block_times(us)))
    assert np.isnan(found.p)
    assert not straggler(of(block_times(us))).fired


def test_few_instances_are_compared_with_draws():
    us = 1_000 + np.random.default_rng(2).normal(size=(12, 4))
    us[:, 1] += 100
    assert stragglers(of(block_times(us))).p == pytest.approx(1 / 500)


@pytest.mark.parametrize(("delta", "tolerance"), [(0.0, 0.03), (1.5, 0.03)])
def test_scenarios_of_slow_ranks_are_those_of_simulated_ones(delta, tolerance):
    n = np.array([4.0, 64.0])
    found = slow_ranks(of(normal_times(3_000, 4, slow=delta)), n)
    random = np.random.default_rng(3)
    for at, count in enumerate(n.astype(int)):
        for share, predicted in ((1, found.one_us), (count // 4, found.share_us)):
            x = random.normal(size=(10_000, count))
            x[:, :share] += delta
            wait_us = 20 * (x.max(axis=1) - x.mean(axis=1)).mean()
            assert predicted[at] == pytest.approx(wait_us, rel=tolerance)
    assert found.one_us[0] == pytest.approx(found.share_us[0])


def test_many_ranks_with_means_of_their_own_wait_as_simulated_ones():
    random = np.random.default_rng(12)
    means = random.normal(size=400)
    us = 1_000 + 20 * (means + random.normal(size=(300, 400)))
    found = slow_ranks(of(block_times(us)), np.array([400.0, 1_600.0]))
    x = np.tile(means, 4) + random.normal(size=(2_000, 1_600))
    wait_us = 20 * (x.max(axis=1) - x.mean(axis=1)).mean()
    assert found.share_us[1] == pytest.approx(wait_us, rel=0.03)


def two_blocks(extra_us: float, extra_spreads: float, count: int = 6_000):
    """Blocks of spread 5 and 50 µs, in turn; the last of 4 ranks is slower."""
    block = np.resize([0, 1], count)
    b_us = np.array([5.0, 50.0])[block, None]
    us = 1_000 + b_us * np.random.default_rng(8).normal(size=(count, 4))
    us[:, 3:] += extra_us + extra_spreads * b_us
    return block_times(us, block=block)


@pytest.mark.parametrize("extra", [(30.0, 0.0), (0.0, 1.5), (0.0, 0.0)])
def test_one_slow_rank_among_as_many_as_measured_gives_what_was_measured(extra):
    times = two_blocks(*extra)
    found = slow_ranks(of(times), np.array([4.0]))
    assert found.one_us[0] == pytest.approx(times.wait_us.mean(), rel=0.01)
    assert found.share_us[0] == pytest.approx(times.wait_us.mean(), rel=0.01)


def test_a_rank_slower_by_as_many_us_in_each_block_stays_so_among_more():
    found = slow_ranks(of(two_blocks(30.0, 0.0)), np.array([16.0, 64.0]))
    random = np.random.default_rng(9)
    for at, count in enumerate((16, 64)):
        waits_us = []
        for b_us in (5.0, 50.0):
            x = b_us * random.normal(size=(8_000, count))
            x[:, 0] += 30
            waits_us.append((x.max(axis=1) - x.mean(axis=1)).mean())
        assert found.one_us[at] == pytest.approx(np.mean(waits_us), rel=0.01)


def test_chance_means_of_blocks_are_no_slow_ranks():
    ratios = []
    for seed in range(8):
        us = normal_times(600, 4, seed=seed, slow=1.5).us
        times = block_times(us, block=np.resize(np.arange(60), 600))
        one_us = slow_ranks(of(times), np.array([4.0])).one_us[0]
        ratios.append(one_us / times.wait_us.mean())
    assert np.mean(ratios) == pytest.approx(1, abs=0.01)


def test_a_block_whose_ranks_differ_only_by_their_means_has_no_law_of_its_own():
    times = two_blocks(30.0, 0.0, count=400)
    times.us[::2] = 1_000 + np.array([0.0, 0.0, 0.0, 8.0])
    found = slow_ranks(of(times), np.array([4.0, 64.0]))
    assert found.one_us[0] == pytest.approx(times.wait_us.mean(), rel=0.07)
    assert found.one_us[1] > found.one_us[0]


def test_the_law_of_all_ranks_is_asked_at_once(monkeypatch):
    asked, cdf = [], TailLaw.cdf
    monkeypatch.setattr(TailLaw, "cdf", lambda law, x: asked.append(x.shape) or cdf(law, x))
    slow_ranks(of(normal_times(50, 24, slow=2.0)), np.array([64.0]))
    ((ranks, points),) = asked
    assert 2 <= ranks <= 24
    assert points > 100


def test_slow_ranks_are_quoted_where_they_are_found():
    standard = of(normal_times(500, 4, slow=1.5))
    slow = slow_ranks(standard, np.array([4.0, 512.0]))
    assert (slow.series, slow.rank) == (0, 3)
    said = ranks(standard, slow=slow).message
    assert f": with one such rank 512 wait {time_us(slow.one_us[1])}, with as" in said
    assert f"large a share of them as here {time_us(slow.share_us[1])}; look" in said


@pytest.mark.parametrize(
    ("law", "skewed", "bounded"),
    [
        (stats.norm(), False, False),
        (stats.t(5), False, False),
        (stats.gumbel_r(), True, False),
        (stats.gumbel_l(), True, False),
        (stats.expon(), True, False),
        (stats.uniform(), False, True),
    ],
)
def test_shapes_that_a_mean_takes_away_are_found(law, skewed, bounded):
    us = law.ppf(np.random.default_rng(4).random((1_000, 4)))
    standard = of(block_times(us))
    assert (skew(standard).fired, light_tail(standard).fired) == (skewed, bounded)
    if skewed:
        way = "too little" if law.stats("s") > 0 else "too much"
        assert way in skew(standard).message


def test_ranks_with_means_of_their_own_are_neither_bounded_nor_skewed():
    random = np.random.default_rng(5)
    spread = np.array([-1.5, -1.5, 1.5, 1.5])
    apart = of(block_times(1_000 + random.normal(size=(1_000, 4)) + spread))
    one = of(block_times(1_000 + random.normal(size=(1_000, 4)) + np.array([0, 0, 0, 3])))
    for standard in (apart, one):
        assert not skew(standard).fired
        assert not light_tail(standard).fired
    skewed = of(block_times(1_000 + random.gumbel(size=(1_000, 4)) + spread))
    assert skew(skewed).fired
    assert not light_tail(skewed).fired
    assert light_tail(of(block_times(random.random((1_000, 4)) + spread))).fired


def test_a_mean_takes_away_the_skewness_it_is_said_to():
    us = stats.gumbel_r().ppf(np.random.default_rng(4).random((20_000, 4)))
    lost = deviation_shape(of(block_times(us))).lost_skewness
    # L-skewness of a Gumbel less what is left: third moments lose the share 1 - 0.577
    assert lost == pytest.approx(0.1699 * (1 - 0.577), abs=0.01)


def test_what_smaller_groups_lose_is_told_from_larger_ones():
    us = stats.gumbel_r().ppf(np.random.default_rng(4).random((10_000, 8)))
    of_whole = deviation_shape(of(block_times(us)), m=4).lost_skewness
    of_cut = deviation_shape(of(block_times(us.reshape(-1, 4)))).lost_skewness
    assert of_whole == pytest.approx(of_cut, abs=0.015)


def test_two_ranks_show_no_skewness():
    assert np.isnan(deviation_shape(of(normal_times(40, 2))).lost_skewness)


@pytest.mark.parametrize(
    ("xi", "p", "fires", "way"),
    [
        (0.15, 0.049, True, "too little"),
        (-0.2, 0.049, True, "too much"),
        (0.15, 0.05, False, ""),
        (0.0, 1.0, False, ""),
        (0.1, np.nan, False, ""),
        (-0.6, np.nan, True, "too much"),
    ],
)
def test_the_shape_speaks_where_it_is_told_from_0(xi, p, fires, way):
    found = shape(xi, p)
    assert found.fired is fires
    assert way in found.message
    assert "nan" not in found.message
    assert found.methods == ("gumbel", "lmoments")


def test_a_tail_without_a_mean_speaks_against_all_predictors():
    # whatever the likelihood-ratio test says, which has no GEV to compare with
    heavy = of(block_times(1 / np.random.default_rng(3).random((400, 4)) ** 1.7))
    fitted = fit_standard(heavy)
    for p in (None, np.nan):
        checks = check(heavy, fitted, memory(heavy), n=8.0, shape_p=p)
        found = next(one for one in checks if one.name == "shape")
        assert found.fired
        assert found.methods == METHODS
        assert found.effect == fitted.no_mean.shape
        assert "mean wait is not finite" in found.message
    assert not no_mean(0.99).fired


@pytest.mark.parametrize(("n", "fires"), [(32, False), (33, True)])
def test_eight_times_the_ranks_of_the_fit_is_far(n, fires):
    assert reach(n, 4).fired is fires


@pytest.mark.parametrize(("m", "fires"), [(3, True), (4, False)])
def test_deviations_need_four_ranks(m, fires):
    assert few_ranks(m).fired is fires


@pytest.mark.parametrize(("n", "fires"), [(200, False), (201, True)])
def test_deviations_reach_a_tenth_of_what_was_observed(n, fires):
    assert deviations_reach(n, 2_000).fired is fires


@pytest.mark.parametrize(
    ("first", "enough", "remembers", "too_few"),
    [(0.0, 50.0, False, False), (0.3, 49.0, True, True), (0.09, 400.0, False, False)],
)
def test_memory_is_told(first, enough, remembers, too_few):
    past = Memory(np.array([first, 0.0]), 0.05, 2, enough)
    assert autocorrelation(past).fired is remembers
    assert effective(past).fired is too_few


@pytest.mark.parametrize(
    ("step", "fires", "methods"), [(0.5, False, ()), (2.0, True, ()), (6.0, True, METHODS)]
)
def test_coarse_times_break_tests_before_predictions(step, fires, methods):
    found = rounding(step, 10.0)
    assert found.fired is fires
    assert found.methods == methods


def test_all_questions_are_asked_once():
    standard = of(normal_times(100, 4))
    found = check(standard, fit_standard(standard), memory(standard), n=8, shape_p=0.5)
    asked = [one.name for one in found]
    assert len(set(asked)) == len(asked) == 13
    assert names(found) == set()


def test_doubts_are_told_by_method():
    standard = of(normal_times(400, 4, common=1.0))
    found = check(standard, fit_standard(standard), memory(standard), n=1_000)
    doubts = {m: {one.name for one in fired(found, m)} for m in METHODS}
    assert doubts["gev"] == {"common_variation", "reach"}
    assert doubts["deviations"] == {"reach", "deviations_reach"}


def test_small_groups_and_single_ranks_are_asked_what_they_can_answer():
    pairs, single = of(normal_times(100, 2)), of(normal_times(100, 1))
    of_pairs = check(pairs, fit_standard(pairs), memory(pairs), n=2)
    assert "skew" not in [one.name for one in of_pairs]
    assert names(of_pairs) == {"few_ranks"}
    of_single = check(single, fit_standard(single), memory(single), n=2)
    assert [one.name for one in of_single] == [
        "rounding", "effective_sample", "reach", "autocorrelation",
    ]  # fmt: skip


def test_without_a_gumbel_there_is_no_scale_to_compare_with():
    standard = of(normal_times(100, 4))
    fitted = replace(
        fit_maxima(standard.z, m=4, b_us=1.0),
        gumbel=None,
        gev=None,
        refused=dict.fromkeys(METHODS, "no"),
    )
    found = check(standard, fitted, memory(standard), n=8, shape_p=0.01)
    assert not {"rounding", "shape", "few_ranks"} & {one.name for one in found}


some_checks = st.lists(
    st.builds(
        lambda name, fired, methods: Check(name, 1.0, 0.5, 0.01, fired, name, methods),
        st.sampled_from(list(QUESTIONS)),
        st.booleans(),
        st.lists(st.sampled_from(METHODS), unique=True).map(tuple),
    ),
    unique_by=lambda one: one.name,
)


@given(some_checks, st.sampled_from(METHODS))
def test_of_each_kind_the_worst_doubt_about_a_method_is_pressing(checks, method):
    shown = pressing(checks, method)
    kinds = [one.question.kind for one in shown]
    assert len(set(kinds)) == len(kinds)
    assert set(shown) <= set(fired(checks, method))
    assert set(kinds) == {one.question.kind for one in fired(checks, method)}
    assert shown == in_order(shown)
    order = list(QUESTIONS)
    for hidden in set(fired(checks, method)) - set(shown):
        told = next(one for one in shown if one.question.kind == hidden.question.kind)
        assert order.index(told.name) < order.index(hidden.name)


def test_effects_lie_on_the_side_that_matters_exactly_when_a_check_fires():
    times = normal_times(400, 4, common=1.0, slow=1.0)
    sides = {
        "above": lambda one: one.effect > one.threshold,
        "below": lambda one: one.effect < one.threshold,
        "both": lambda one: abs(one.effect) > one.threshold,
    }
    standard = of(times)
    found = check(
        standard, fit_standard(standard), memory(standard), n=4_000,
        shape_p=0.01,
    )  # fmt: skip
    for one in (*found, few_ranks(3), few_ranks(4)):
        if one.fired or one.name in ("reach", "deviations_reach", "few_ranks", "rounding"):
            assert sides[one.question.direction](one) == one.fired, one


def test_messages_write_numbers_as_the_tables_do():
    said = reach(4_096, 4).message
    assert said.startswith("4,096 ranks are 1,024 times the 4 of the fit: beyond 32 ")
    assert "200 ranks, not of 4,096" in deviations_reach(4_096, 2_000).message
    assert "2,000 block times" in deviations_reach(4_096, 2_000).message
    assert "60 % of the scale" in rounding(6.0, 10.0).message
    assert "(ξ = −0.20): Gumbel" in shape(-0.2, 0.01).message


def test_no_message_names_a_predictor_to_use_instead():
    standard = of(normal_times(400, 4, common=1.0, slow=1.0))
    skewed = of(block_times(stats.expon().ppf(np.random.default_rng(4).random((400, 4)))))
    bounded = of(block_times(np.random.default_rng(4).random((800, 4))))
    said = [
        *(common(standard), ranks(standard), straggler(standard), skew(skewed)),
        *(light_tail(bounded), shape(0.2, 0.01), few_ranks(3)),
    ]
    assert all(one.fired for one in said)
    # that is for the verdict, which knows all of them
    assert not any(f"use {name}" in one.message for one in said for name in METHODS)
