"""What holds of the best bandwidth, whatever the numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from synctax.bandwidth.crossing import crossing
from synctax.bandwidth.elasticity import optimum_gb_per_s, reduction
from synctax.bandwidth.flops import READINGS, Reading, grow
from synctax.bandwidth.sweep import Link, Wait, sweep, sweep_flops
from synctax.bandwidth.topology import Domain, Layout
from synctax.errors import SynctaxError
from tests.laws import examples

LAYOUTS = [
    Layout("ring"), Layout("torus3d"), Layout("switched"), Layout("tree"),
    Layout("in_switch"), Layout("hierarchical", domain=Domain(8, 50.0)),
]  # fmt: skip

few = settings(max_examples=examples(40))

layouts = st.sampled_from(LAYOUTS)
flat = st.sampled_from(LAYOUTS[:-1])
sizes = st.sampled_from([8.0, 64.0, 512.0, 4096.0])
payloads = st.integers(10**3, 10**10)
latencies = st.floats(0.01, 1e3)
taxes = st.floats(0.01, 1e6)
elasticities = st.floats(-0.999, -0.001)
factors = st.floats(1.01, 1e3)


def waits(n, tau, low=None, high=None):
    ends = (tau if end is None else end for end in (low, high))
    return Wait(*(np.array([x]) for x in (n, tau, *ends)), 4)


def best(layout, n, payload, alpha, tau, elasticity):
    link = Link(layout, "all_reduce", payload, alpha)
    floor = link.today(waits(n, tau)).floor_us
    q = link.cost(np.array([n])).q
    return float(optimum_gb_per_s(q, payload, floor, elasticity)[0])


# links between domains would take longer too
@few
@given(
    st.sampled_from(LAYOUTS[:-1]), sizes, payloads, latencies, taxes, elasticities, factors
)
def test_bandwidth_is_linear_in_the_payload(layout, n, payload, alpha, tau, e, factor):
    one = best(layout, n, payload, alpha, tau, e)
    assert best(layout, n, factor * payload, alpha, tau, e) == pytest.approx(factor * one)


@few
@given(layouts, sizes, payloads, latencies, taxes, elasticities, factors)
def test_bandwidth_falls_in_the_tax_and_in_the_latency(
    layout, n, payload, alpha, tau, e, factor
):
    one = best(layout, n, payload, alpha, tau, e)
    assert best(layout, n, payload, alpha, factor * tau, e) < one
    assert best(layout, n, payload, factor * alpha, tau, e) < one


@few
@given(layouts, sizes, payloads, latencies, taxes, elasticities, elasticities)
def test_the_reduction_is_the_same_for_every_elasticity(
    layout, n, payload, alpha, tau, one, other
):
    bare = Link(layout, "all_reduce", payload, alpha).today(waits(n, 0.0)).floor_us
    told = float(reduction(np.array([tau]), bare)[0])
    for e in (one, other):
        with_tax, without = (best(layout, n, payload, alpha, t, e) for t in (tau, 0.0))
        assert 1 - with_tax / without == pytest.approx(told, abs=1e-9)


@few
@given(layouts, sizes, payloads, latencies, taxes, elasticities)
def test_the_time_at_the_best_bandwidth_has_that_elasticity(
    layout, n, payload, alpha, tau, e
):
    at = waits(n, tau)
    found = best(layout, n, payload, alpha, tau, e)
    step = 1e-4
    ends = [
        Link(layout, "all_reduce", payload, alpha, found * np.exp(s)).today(at).time_us[0]
        for s in (-step, step)
    ]
    assert np.log(ends[1] / ends[0]) / (2 * step) == pytest.approx(e, abs=1e-6)
    today = Link(layout, "all_reduce", payload, alpha, found).today(at)
    assert today.elasticity[0] == pytest.approx(e, rel=1e-9)


@few
@given(layouts, sizes, payloads, latencies, taxes)
def test_a_target_of_less_saving_asks_for_more_bandwidth(layout, n, payload, alpha, tau):
    asked = [best(layout, n, payload, alpha, tau, e) for e in (-0.99, -0.5, -0.1, -0.01)]
    assert asked == sorted(asked)


@few
@given(sizes, payloads, latencies, taxes)
def test_without_bound_near_0_and_to_nothing_near_minus_1(n, payload, alpha, tau):
    middle = best(LAYOUTS[0], n, payload, alpha, tau, -0.5)
    assert best(LAYOUTS[0], n, payload, alpha, tau, -1e-9) > 1e8 * middle
    assert best(LAYOUTS[0], n, payload, alpha, tau, -1 + 1e-9) < 1e-8 * middle


@pytest.mark.parametrize("elasticity", [0.0, -1.0, 0.5, -1.5, float("nan"), float("-inf")])
def test_elasticities_that_no_bandwidth_has_are_refused(elasticity):
    with pytest.raises(SynctaxError, match="between -1"):
        best(LAYOUTS[0], 8.0, 1e6, 5.0, 1.0, elasticity)


@few
@given(layouts, sizes, payloads, latencies, elasticities)
def test_without_a_tax_it_is_hockneys(layout, n, payload, alpha, e):
    hockney = best(layout, n, payload, alpha, 0.0, e)
    assert best(layout, n, payload, alpha, 1e-9, e) == pytest.approx(hockney)


@settings(max_examples=examples(12))
@given(layouts, sizes, payloads, latencies, taxes, elasticities, st.data())
def test_the_interval_holds_the_value_in_order(layout, n, payload, alpha, tau, e, data):
    low = data.draw(st.floats(-tau, tau))
    high = data.draw(st.floats(tau, 10 * tau))
    link = Link(layout, "all_reduce", payload, alpha, 100.0)
    at = waits(n, tau, low, high)
    row = sweep([link], [e], at).iloc[0]
    assert row["gb_per_s"] == pytest.approx(best(layout, n, payload, alpha, tau, e))
    bare = best(layout, n, payload, alpha, 0.0, e)
    assert row["hockney_gb_per_s"] == pytest.approx(bare)
    assert row["reduction"] == pytest.approx(1 - row["gb_per_s"] / bare, abs=1e-9)
    assert row["gb_per_s_lo"] <= row["gb_per_s"] <= row["gb_per_s_hi"] * (1 + 1e-12)
    assert row["gb_per_s_hi"] <= row["hockney_gb_per_s"] * (1 + 1e-12)
    grown = sweep_flops([link], [3.0, 0.3], at, compute_us=100.0)
    slack = 1e-9 * grown["gb_per_s"]
    assert (grown["gb_per_s_lo"] - slack <= grown["gb_per_s"]).all()
    assert (grown["gb_per_s"] <= grown["gb_per_s_hi"] + slack).all()


def test_no_interval_is_null_and_no_number():
    at = Wait.none(np.array([8.0]))
    link = Link(LAYOUTS[0], "all_reduce", 1e6, 5.0)
    row = sweep([link], [-0.5], at).iloc[0]
    unknown = [
        "gb_per_s_lo", "gb_per_s_hi", "tau_lo_us", "tau_hi_us", "link_gb_per_s",
        "link_time_us", "link_elasticity", "link_ratio", "reach", "cost",
    ]  # fmt: skip
    assert row[unknown].isna().all()


def test_without_a_floor_there_is_no_best_bandwidth():
    with pytest.raises(SynctaxError, match="all transfer"):
        best(LAYOUTS[0], 8.0, 1e6, 0.0, 0.0, -0.5)


def test_without_latency_only_the_tax_bounds_bandwidth():
    link = Link(LAYOUTS[0], "all_reduce", 1e6, 0.0)
    row = sweep([link], [-0.5], waits(8.0, 10.0, -1.0, 12.0)).iloc[0]
    assert row[["hockney_gb_per_s", "gb_per_s_hi"]].isna().all()
    assert row["reduction"] == 1
    assert row["gb_per_s"] == pytest.approx(1.75e6 / 1e4)


@few
@given(st.floats(0, 1e6), st.floats(0.01, 1e6))
def test_a_reduction_is_a_share(tau, floor):
    found = reduction(np.array([tau]), np.array([floor]))[0]
    assert 0 <= found < 1


def test_half_the_time_is_transfer_at_minus_one_half():
    layout, at = Layout("switched"), waits(8.0, 390.0)
    rate = best(layout, 8.0, 1e9, 5.0, 390.0, -0.5)
    time = Link(layout, "all_reduce", 1e9, 5.0, rate).today(at)
    assert_allclose(time.transfer_us, time.floor_us)
    assert_allclose(time.time_us, 2 * (2 * 5.0 + 390.0))


def test_a_price_is_that_of_all_ranks():
    link = Link(Layout("switched"), "all_reduce", 1e9, 5.0)
    row = sweep([link], [-0.5], waits(8.0, 100.0), price_per_gb_per_s=3.0).iloc[0]
    assert row["cost"] == pytest.approx(3.0 * 8 * row["gb_per_s"])
    assert row["hockney_cost"] == pytest.approx(3.0 * 8 * row["hockney_gb_per_s"])


# ---------------------------------------------------------------------------- FLOPS

LINK = Link(Layout("switched"), "all_reduce", 1e8, 5.0, 450.0)

grown_taxes = st.floats(1.0, 1e5)


def end_to_end(tau: float, compute_us: float):
    return LINK.today(waits(64.0, tau), compute_us=compute_us)


@few
@given(grown_taxes, st.floats(1.0, 1e6), st.sampled_from(READINGS))
def test_unchanged_flops_keep_todays_link(tau, compute_us, reading):
    found = grow(end_to_end(tau, compute_us), 450.0, 1.0, reading=reading)
    assert found.gb_per_s[0] == pytest.approx(450)
    if reading.grounding == "own":
        assert found.hockney_gb_per_s[0] == pytest.approx(450)


@few
@given(grown_taxes, st.floats(1.0, 1e6), st.floats(0.1, 100))
def test_own_elasticities_give_the_ratio_of_the_floors(tau, compute_us, f):
    found = grow(end_to_end(tau, compute_us), 450.0, f)
    ratio = (10 + tau + compute_us) / (10 + tau + compute_us / f)
    assert found.gb_per_s[0] / 450 == pytest.approx(ratio)
    baseline = (10 + compute_us) / (10 + compute_us / f)
    assert found.hockney_gb_per_s[0] / 450 == pytest.approx(baseline)


@few
@given(grown_taxes, st.floats(1.0, 1e6), st.floats(1.01, 100))
def test_a_tax_that_stays_lowers_the_growth(tau, compute_us, f):
    stays = grow(end_to_end(tau, compute_us), 450.0, f)
    shrinks = grow(end_to_end(tau, compute_us), 450.0, f, reading=Reading("shrinks", "own"))
    assert stays.reduction[0] > 0
    assert stays.gb_per_s[0] < shrinks.gb_per_s[0]
    assert shrinks.tau_us[0] == pytest.approx(tau / f)


@few
@given(grown_taxes, st.floats(1.0, 1e6), st.floats(1.01, 100))
def test_with_one_elasticity_the_reduction_is_the_share_of_the_tax(tau, compute_us, f):
    found = grow(end_to_end(tau, compute_us), 450.0, f, reading=Reading("stays", "common"))
    assert found.reduction[0] == pytest.approx(tau / (10 + tau + compute_us / f), rel=1e-6)


@pytest.mark.parametrize("f", [0.0, -1.0, float("nan")])
def test_flops_grow_by_a_factor_above_0(f):
    with pytest.raises(ValueError, match="above 0"):
        grow(end_to_end(1.0, 1.0), 450.0, f)


def test_every_reading_has_its_rows_and_the_asked_one_comes_first():
    at = Wait(*(np.array([x, x]) for x in (64.0, 10.0, 10.0, 10.0)), 4)
    asked = Reading("shrinks", "common")
    frame = sweep_flops([LINK], [2.0], at, compute_us=1e3, asked=asked)
    assert len(frame) == 2 * len(READINGS)
    assert frame["asked"].tolist() == [True] * 2 + [False] * 6
    assert set(frame[frame["asked"]]["tau_with_flops"]) == {"shrinks"}
    readings = set(zip(frame["tau_with_flops"], frame["grounding"], strict=True))
    assert readings == {(one.tau_with_flops, one.grounding) for one in READINGS}


# ---------------------------------------------------------------------------- crossing


@settings(max_examples=examples(50))
@given(st.floats(50, 300), st.integers(2, 100))
def test_the_crossing_is_the_first_size_at_which_the_tax_is_longer(scale, least):
    def tau(n):
        return scale * np.log(n)

    found = crossing(LINK, tau, least_n=least, largest_n=50_000)
    every = np.arange(least, 50_001, dtype=np.float64)
    over = every[tau(every) >= LINK.today(Wait.none(every)).transfer_us]
    assert found.n == (int(over[0]) if over.size else None)
    assert found.at_first == (found.n == least)


def test_no_crossing_where_the_transfer_is_longer_throughout():
    assert crossing(LINK, np.zeros_like).n is None


def test_domains_are_tried_whole():
    link = Link(
        Layout("hierarchical", domain=Domain(72, 50.0)), "all_reduce", 1e8, 5.0, 450.0
    )
    found = crossing(link, lambda n: 100 * np.log(n))
    assert found.n is not None
    assert found.n % 72 == 0


def test_a_transfer_that_grows_faster_than_the_tax_outweighs_it_again():
    link = Link(Layout("ring"), "all_to_all", 1e6, 5.0, 450.0)
    found = crossing(link, lambda n: 100 * np.log(n))
    assert found.n == 2
    assert found.at_first
    assert not found.lasts


def test_a_crossing_needs_a_link():
    with pytest.raises(ValueError, match="today's link"):
        crossing(Link(Layout("ring"), "all_reduce", 1.0, 5.0), np.zeros_like)
