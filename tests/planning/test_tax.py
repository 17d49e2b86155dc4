"""What the tax costs a layout: in proportion to its computation, or in microseconds."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.errors import SynctaxError
from synctax.evt.tax import Curve, Deviations, Gumbel, TaxModel
from synctax.evt.tax_file import builtin
from synctax.planning.barriers import Barriers
from synctax.planning.tax import independent_share, most_ranks, plan_tax, taxed

BUILT_IN = builtin("llama3-70b-h200")
FITTED = TaxModel(
    4,
    a_us=10_000.0,
    b_us=200.0,
    r=0.02,
    gumbel=Gumbel(loc=1.0, scale=0.5, cov=((0.01, 0.0), (0.0, 0.01))),
)
CURVE = Curve((8.0, 16.0, 64.0), (300.0, 400.0, 600.0), (None,) * 3, (None,) * 3)
ENDING = TaxModel(4, a_us=10_000.0, deviations=Deviations(curve=CURVE))


def met(count, n):
    count, n = np.array(count, np.float64), np.array(n, np.int64)
    return Barriers(count, n, np.ones(n.shape, np.int8))


counts = st.floats(1, 1e6)
ranks = st.integers(2, 100_000)
computation = st.floats(1e-3, 1e5)


@given(counts, counts, ranks, computation)
def test_a_share_of_the_computation_is_lost_however_often_it_is_cut(one, other, n, busy_s):
    found = taxed(plan_tax(FITTED), met([one, other], [n, n]), np.array([busy_s, busy_s]))
    assert found.tax_s[0] == pytest.approx(found.tax_s[1])
    assert found.tau_us[0] * one == pytest.approx(found.tau_us[1] * other)


@given(counts, ranks, computation)
def test_absolute_tax_doubles_with_the_barriers_and_ignores_the_computation(n, m, busy_s):
    tax = plan_tax(FITTED, form="absolute")
    found = taxed(tax, met([n, 2 * n], [m, m]), np.array([busy_s, 3 * busy_s]))
    assert found.tax_s[1] == pytest.approx(2 * found.tax_s[0])


@given(st.lists(ranks, min_size=2, max_size=8), computation)
def test_more_ranks_wait_longer_and_the_interval_holds_the_tax(n, busy_s):
    n = np.sort(n)
    found = taxed(plan_tax(FITTED), met(np.ones(n.size), n), np.full(n.size, busy_s))
    assert (np.diff(found.tax_s) >= 0).all()
    assert (found.tax_lo_s <= found.tax_s).all()
    assert (found.tax_s <= found.tax_hi_s).all()
    np.testing.assert_allclose(found.reach, n / 4)


@given(computation, st.floats(1, 1e6))
def test_twice_the_computation_is_twice_the_tax(busy_s, count):
    found = taxed(plan_tax(FITTED), met([count] * 2, [8, 8]), np.array([1, 2]) * busy_s)
    assert found.tax_s[1] == pytest.approx(2 * found.tax_s[0])


def test_tax_is_the_share_that_the_model_predicts():
    tau_us = 200.0 * (1.0 + 0.5 * (np.euler_gamma + log(8 / 4)))
    found = taxed(plan_tax(FITTED), met([8_064], [8]), np.array([100.0]))
    assert found.tax_s[0] == pytest.approx(100 * tau_us / 10_000)
    assert found.tau_us[0] == pytest.approx(1e6 * 100 * tau_us / 10_000 / 8_064)


def test_fewer_ranks_than_the_fit_lie_between_none_and_it():
    found = taxed(plan_tax(FITTED), met([1] * 3, [2, 3, 4]), np.full(3, 100.0))
    at_fit = found.tax_s[2]
    np.testing.assert_allclose(
        found.tax_s[:2], at_fit * np.array([log(2), log(3)]) / log(4)
    )
    assert found.tax_lo_s[:2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found.tax_hi_s[:2], found.tax_hi_s[2])
    (note,) = found.notes
    assert (note.reason, note.count) == ("tax_below_fit", 2)


def test_no_rank_waits_where_none_meet():
    found = taxed(plan_tax(FITTED), met([0, 8], [1, 8]), np.array([100.0, 100.0]))
    assert found.tax_s[0] == found.tax_lo_s[0] == found.tax_hi_s[0] == 0
    assert np.isnan(found.tau_us[0])
    assert np.isnan(found.reach[0])
    assert found.tax_s[1] > 0


def test_without_a_model_the_tax_is_0_and_noted():
    found = taxed(None, met([1], [8]), np.array([100.0]))
    assert found.tax_s[0] == 0
    assert np.isnan(found.tax_hi_s[0])
    assert [note.reason for note in found.notes] == ["tax_unknown"]


def test_the_built_in_model_has_the_interval_of_its_unprinted_computation():
    tax = plan_tax(BUILT_IN)
    assert (tax.a_lo_us, tax.a_hi_us) == (7.3e3, 10.4e3)
    count = 99.5e6 / tax.a_us
    found = taxed(tax, met([count], [8]), np.array([99.5]))
    tau_us = float(BUILT_IN.tau_us(8.0).tau_us[0])
    ends = (found.tax_lo_s[0], found.tax_hi_s[0])
    assert ends == pytest.approx((99.5 * tau_us / 10.4e3, 99.5 * tau_us / 7.3e3))
    assert found.tax_s[0] == pytest.approx(np.sqrt(ends[0] * ends[1]))


@given(st.floats(1e-3, 1e3), ranks, computation)
def test_the_interval_spans_slow_blocks_that_come_together_or_even_out(times, n, busy_s):
    """Of blocks of a, `times` as many between two barriers as where it was measured."""
    tax = plan_tax(replace(FITTED, gumbel=replace(FITTED.gumbel, cov=None)))
    found = taxed(tax, met([busy_s * 1e6 / 1e4 / times], [n]), np.array([busy_s]))
    even = found.tax_s[0] / np.sqrt(times)
    ends = sorted([even, found.tax_s[0]])
    if n >= 4:
        assert [found.tax_lo_s[0], found.tax_hi_s[0]] == pytest.approx(ends)
    assert found.tax_lo_s[0] <= ends[0] * (1 + 1e-9)
    assert found.tax_hi_s[0] >= ends[1] * (1 - 1e-9)


@given(counts, ranks, computation)
def test_both_readings_have_the_interval_of_the_model_around_them(count, n, busy_s):
    tax = plan_tax(FITTED)
    alike = taxed(tax, met([busy_s * 1e6 / 1e4], [n]), np.array([busy_s]))
    found = taxed(tax, met([count], [n]), np.array([busy_s]))
    share = float(independent_share(1e4, np.array([count]), np.array([busy_s]))[0])
    assert found.tax_s[0] == pytest.approx(alike.tax_s[0])
    assert found.tax_lo_s[0] == pytest.approx(alike.tax_lo_s[0] * min(share, 1))
    assert found.tax_hi_s[0] == pytest.approx(alike.tax_hi_s[0] * max(share, 1))


def test_one_barrier_a_step_may_cost_far_less_than_its_share():
    """Of 16 s between two barriers, measured over 10 ms: sqrt(1/1,600) of the share."""
    found = taxed(plan_tax(replace(BUILT_IN, a_us=1e4)), met([1], [256]), np.array([16.0]))
    assert found.tax_lo_s[0] == pytest.approx(found.tax_s[0] / 40)
    assert found.tax_hi_s[0] == found.tax_s[0]


def test_a_model_without_interval_has_none_in_the_absolute_form():
    known = replace(BUILT_IN, a_us=8_000.0)
    tax = plan_tax(known, form="absolute")
    found = taxed(tax, met([1, 1], [8, 2]), np.array([1.0, 1.0]))
    assert np.isnan(found.tax_lo_s[0])
    assert np.isnan(found.tax_hi_s[0])
    # below the fit what it predicts there is the upper end all the same
    assert found.tax_hi_s[1] == pytest.approx(float(known.tau_us(4.0).tau_us[0]) / 1e6)


def test_computation_before_a_barrier_is_told_known_or_follows():
    assert plan_tax(BUILT_IN, a_us=9_000.0).a_us == 9_000
    assert plan_tax(FITTED).a_us == 10_000
    assert plan_tax(replace(FITTED, a_us=None)).a_us == pytest.approx(200 / 0.02)
    unknown = replace(FITTED, a_us=None, r=None)
    with pytest.raises(SynctaxError, match="does not tell a_us"):
        plan_tax(unknown)
    assert plan_tax(unknown, form="absolute").a_us is None


def test_a_predictor_that_ends_says_nothing_beyond():
    tax = plan_tax(ENDING, "deviations")
    assert most_ranks(tax) == 64
    found = taxed(tax, met([1] * 4, [4, 16, 64, 128]), np.full(4, 100.0))
    np.testing.assert_allclose(found.tax_s[1:3], [4.0, 6.0])
    assert np.isnan(found.tax_s[3])
    # its curve begins at 8, so 4 lie below
    assert found.tax_s[0] == pytest.approx(3.0 * log(4) / log(8))
    reasons = {note.reason: note.count for note in found.notes}
    assert reasons == {"tax_below_fit": 1, "tax_beyond_model": 1}
    assert most_ranks(plan_tax(FITTED)) == np.inf


def test_a_wait_below_0_is_refused():
    odd = replace(FITTED, gumbel=Gumbel(loc=-3.0, scale=0.5))
    with pytest.raises(SynctaxError, match=r"predicts a wait of -.* µs at n = 4"):
        taxed(plan_tax(odd), met([1], [8]), np.array([1.0]))


def test_a_method_that_the_model_lacks_is_refused_by_name():
    with pytest.raises(SynctaxError, match="no gev prediction"):
        taxed(plan_tax(FITTED, "gev"), met([1], [8]), np.array([1.0]))
