"""What a fit says in words: no more than its numbers do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.evt import verdict
from synctax.evt.doubts import Check
from synctax.evt.fit import fit_evt, fit_evt_maxima
from synctax.evt.inputs import Given
from synctax.evt.model import Coverage
from synctax.evt.options import Options
from synctax.evt.tax import METHODS
from synctax.notes import Note
from synctax.texts import percent, time_us
from tests.evt.simulated import gumbel_ranks

COVERED = Coverage(100, 90, 9_000.0, 8_100.0)


@pytest.fixture(scope="module")
def fit():
    given = Given(gumbel_ranks(), COVERED, "tp")
    return fit_evt(given, options=Options(fit_ranks=4, resamples=60))


def found(fit, *names, effect=0.3):
    """The fit, as if these checks and no others had fired."""
    return replace(
        fit, checked=tuple(Check(name, effect, 0.1, 0.001, True, "") for name in names)
    )


def test_the_first_line_tells_what_part_of_the_tax_it_is_of(fit):
    assert verdict.headline(fit) == (
        "90 % of the tax of tp is in the fit (90 of 100 collectives): 200 instances of 1 "
        "compute block over 8 ranks, cut to 4"
    )


def test_without_traces_the_first_line_tells_what_was_given():
    options = Options(resamples=4)
    both = fit_evt(gumbel_ranks(60, 4), gumbel_ranks(60, 8, seed=2), options=options)
    assert verdict.headline(both) == (
        "120 instances of 2 compute blocks of tp over 4 and 8 ranks, cut to 4"
    )
    z = np.random.default_rng(0).gumbel(0.8, 0.6, 1_000)
    maxima = fit_evt_maxima(z, n_fit=4, a_us=1e4, r=0.02, options=options)
    assert verdict.headline(maxima) == (
        "1,000 maxima over groups of 4 ranks, for block times with a mean of 10 ms and a "
        "spread of 200 µs"
    )
    assert len(maxima.verdict()) == 3
    assert maxima.verdict()[-1] == "trust Gumbel: nothing could be held out to test it"


def test_a_share_of_no_tax_is_unknown(fit):
    none = replace(fit, inputs=replace(fit.inputs, coverage=Coverage(3, 1, 0.0, 0.0)))
    assert verdict.headline(none).startswith("an unknown share of the tax of tp is")


def test_growth_is_told_at_landmarks_and_per_doubling(fit):
    said = fit.verdict()[0]
    step_us = fit.b_us * fit.fitted.gumbel.scale * np.log(2)
    assert said.startswith("mean wait of a rank by the Gumbel law: ")
    assert said.endswith(f"; each doubling adds {time_us(step_us)}")
    frame = fit.to_frame().set_index("n")
    for n, level in ((72, "95 %: "), (512, ""), (4096, "")):
        row = frame.loc[n]
        lo, hi = time_us(row["tau_lo_us"]), time_us(row["tau_hi_us"])
        ranks = f"{n:,} ranks" if level else f"{n:,}"
        assert f"{time_us(row['tau_us'])} at {ranks} ({level}{lo} to {hi})" in said


@pytest.mark.parametrize(
    ("n", "told"), [((4, 8), ("4", "8")), ((6, 9, 10, 11), ("6", "10", "11"))]
)
def test_sizes_that_were_asked_for_are_told(n, told):
    said = fit_evt(gumbel_ranks(60, 4), options=Options(n=n, resamples=4)).verdict()[0]
    first, *more = told
    assert f" at {first} ranks (" in said
    assert all(f" at {one} (" in said for one in more)


def sentence(fit, start):
    """The sentence of the verdict that starts so."""
    (said,) = (one for one in fit.verdict() if one.startswith(start))
    return said


@pytest.mark.parametrize(
    ("names", "method", "words"),
    [
        ((), "gumbel", "the tail may be that of a Gumbel"),
        (("shape",), "gev", "the Gumbel law is"),
        (("common_variation",), "deviations", "odd: 30 % of the variance is common to all"),
        (("common_variation", "shape"), "deviations", "laws of maxima take for waiting"),
        (("rank_effect",), "gumbel", "odd: a rank is slow again and again"),
        (("straggler",), "gumbel", "odd: a rank is slow again and again"),
        (("common_variation", "straggler"), "deviations", "for waiting; a rank is slow"),
    ],
)
def test_the_case_decides_whom_to_trust(fit, names, method, words):
    case = found(fit, *names)
    assert verdict.trusted(case) == method
    assert words in " / ".join(case.verdict())
    assert sentence(case, f"trust {verdict.NAMES[method]}: ") == case.verdict()[-1]


def test_nothing_odd_is_told_where_nothing_is(fit):
    assert not any(one.startswith("odd") for one in found(fit, "shape", "reach").verdict())


@pytest.mark.parametrize(
    ("shape", "text", "bound"), [(0.2, "0.20", "a lower"), (-0.2, "−0.20", "an upper")]
)
def test_a_tail_of_another_shape_makes_the_gumbel_a_bound(fit, shape, text, bound):
    law = replace(fit.fitted.gev, shape=shape)
    case = found(replace(fit, fitted=replace(fit.fitted, gev=law)), "shape")
    assert f"ξ = {text}, " in sentence(case, "the tail is ")
    assert sentence(case, "the tail is ").endswith(f": the Gumbel law is {bound} bound")


def test_a_shape_without_an_interval_is_told_alone(fit):
    quality = replace(fit.quality, shape_lo=np.nan, shape_hi=np.nan)
    said = sentence(found(replace(fit, quality=quality)), "the tail may be")
    assert said.count("ξ") == 1
    assert "nan" not in said
    assert "," not in said


def test_a_predictor_without_a_fit_is_not_trusted(fit):
    refused = {"gev": "the shape runs to its bound", "deviations": "no tail"}
    less = replace(fit.fitted, gev=None, deviations=None, refused=refused)
    case = found(replace(fit, fitted=less), "shape", "common_variation")
    assert verdict.trusted(case) == "gumbel"
    assert sentence(case, "the shape of the tail") == (
        "the shape of the tail is unknown: the shape runs to its bound"
    )


@pytest.mark.parametrize(
    ("names", "column", "words"),
    [
        ((), "tau_us", "by the Gumbel law: "),
        (("shape",), "tau_gev_us", "by GEV: "),
        (
            ("common_variation",),
            "tau_deviations_us",
            "by deviations (times less the mean of their ranks): ",
        ),
    ],
)
def test_growth_is_that_of_the_predictor_for_the_case(fit, names, column, words):
    case = found(fit, *names)
    said = sentence(case, "mean wait of a rank ")
    assert words in said
    tau_us = case.to_frame().set_index("n")[column]
    assert f"{words}{time_us(tau_us[72])} at 72 ranks" in said
    for n in (512, 4096):
        assert f", {time_us(tau_us[n])} at {n:,}" in said
    # a constant step is the Gumbel law's alone
    assert ("each doubling adds" in said) == (column == "tau_us")
    # once is enough
    assert " at 4,096" not in case.verdict()[-1]


@pytest.fixture(scope="module")
def without_mean():
    """A fit to maxima whose tail has no mean: a GEV of shape 1.3."""
    e = np.random.default_rng(1).exponential(size=400)
    z = 0.3 + 0.1 * (e**-1.3 - 1) / 1.3
    return fit_evt_maxima(z, n_fit=4, a_us=1e4, r=0.02, options=Options(resamples=10))


def test_of_a_tail_without_a_mean_nothing_is_trusted(without_mean):
    said = without_mean.verdict()
    shape = without_mean.fitted.no_mean.shape
    assert 1 < shape < 1.6
    assert said[-2:] == (
        (
            f"the tail is so heavy (ξ = {shape:.2f}) that the mean wait is not finite: the "
            "Gumbel law is a lower bound"
        ),
        "no number for more ranks can be trusted; look for outliers in the block times",
    )
    assert not any(one.startswith(("trust", "least bad")) for one in said)
    (check,) = (one for one in without_mean.checked if one.name == "shape")
    assert check.fired
    assert check.methods == METHODS
    assert check.effect == shape
    assert "mean wait is not finite" in check.message
    assert "Gumbel" not in without_mean.fitted.refused["gev"]


def with_errors(fit, **errors):
    """The fit, as if predictors had missed held-out ranks by so much, within a tenth."""
    rows = [
        replace(one, error=at, error_lo=at - 0.1, error_hi=at + 0.1)
        for one in fit.held_out
        if (at := errors.get(one.method)) is not None and one.kind == "ranks"
    ]
    return replace(fit, held_out=tuple(rows))


def test_the_error_of_the_trusted_one_on_held_out_ranks_is_told(fit):
    case = with_errors(found(fit), gumbel=0.02, gev=-0.3)
    assert case.verdict()[-1] == (
        "trust Gumbel: fitted on 4 ranks, it missed the wait of 8 by +2.0 % (−8.0 % to "
        "+12 %)"
    )
    row = replace(case.held_out[0], error_lo=np.nan, error_hi=np.nan)
    assert replace(case, held_out=(row,)).verdict()[-1].endswith("of 8 by +2.0 %")


def test_one_that_missed_more_than_others_is_told_beside_the_best(fit):
    case = with_errors(found(fit), gumbel=0.4, gev=-0.3, lmoments=0.1)
    assert case.verdict()[-1].endswith("by +40 % (+30 % to +50 %), L-moments by +10 %")


def test_where_all_miss_none_is_trusted(fit):
    case = with_errors(found(fit), gumbel=0.4, gev=-0.6)
    assert case.verdict()[-2:] == (
        (
            "no predictor is to be trusted here: all miss held-out ranks, by +40 % or "
            "more; profile more steps"
        ),
        "least bad: Gumbel; +40 % off on held-out ranks",
    )
    # what may be chance is no miss
    by_chance = tuple(replace(one, error_lo=-0.1) for one in case.held_out)
    assert replace(case, held_out=by_chance).verdict()[-1].startswith("trust Gumbel")


@pytest.mark.parametrize(("power", "end"), [(15, " to "), (200, " or more)")])
def test_nobody_is_told_to_trust_what_decides_nothing(fit, power, end):
    assert "no predictor" not in " ".join(fit.verdict())
    drawn_us = fit.resampled.resampled_us
    gumbel_us = drawn_us["gumbel"]
    typical_us = np.median(gumbel_us, axis=0)
    wide = {**drawn_us, "gumbel": typical_us * (gumbel_us / typical_us) ** power}
    vague = replace(fit, resampled=replace(fit.resampled, resampled_us=wide))
    said = found(vague).verdict()
    assert said[-2] == (
        "no predictor is to be trusted here: the interval of Gumbel is too wide; profile "
        "more steps"
    )
    assert said[-1].startswith("least bad: Gumbel; ")
    assert end in said[0]
    assert not any(one.startswith("trust") for one in said)


def test_times_that_are_too_coarse_leave_nobody_to_trust(fit):
    coarse = Check("rounding", 0.6, 0.1, np.nan, True, "", METHODS)
    said = replace(fit, checked=(coarse,)).verdict()
    assert "no predictor is to be trusted here: times are too coarse; " in said[-2]
    harmless = replace(coarse, methods=())
    assert replace(fit, checked=(harmless,)).verdict()[-1].startswith("trust Gumbel")


@given(st.floats(1e-3, 1e9), st.floats(0.01, 1), st.floats(1, 1e12))
def test_an_interval_has_two_ends_or_none_above(tau_us, low, high):
    said = verdict.span_us(tau_us, tau_us * low, tau_us * high)
    assert said.startswith(time_us(tau_us * low))
    assert said.endswith(" or more") == (tau_us * high >= verdict.UNBOUNDED * tau_us)


def test_no_interval_is_written_as_nothing():
    assert verdict.span_us(1.0, np.nan, np.nan) == ""
    assert verdict.span_us(1.0, 0.5, np.inf) == "0.5 µs or more"
    assert verdict.span_us(1.0, 0.5, np.nan) == "0.5 µs or more"


def test_a_fit_of_little_of_the_tax_is_not_taken_for_the_job(fit):
    notes = tuple(
        Note(name, count, text)
        for name, count, text in (
            ("through_cpu", 51, "the path runs through the CPU"),
            ("no_gemm", 3, "no GEMM"),
            ("cut_kernel", 1, "cut"),
        )
    )
    little = Coverage(83, 32, 405_047.0, 1_123.0, notes)
    case = replace(fit, inputs=replace(fit.inputs, coverage=little))
    assert case.verdict()[0] == (
        "do not take this for the job's tax: 0.3 % of it is described, the rest left out "
        "(51 × the path runs through the CPU; 3 × no GEMM, and 1 more reason)"
    )
    assert len(case.verdict()) == 4
    assert verdict.headline(case).startswith(percent(little.tax_share))
    assert case.verdict()[-1].startswith("trust Gumbel, for that part: ")


def test_half_of_the_tax_is_enough(fit):
    for entered_us, warned in ((4_499.0, True), (4_500.0, False)):
        part = Coverage(100, 90, 9_000.0, entered_us)
        case = replace(fit, inputs=replace(fit.inputs, coverage=part))
        assert case.verdict()[0].startswith("do not take this for") is warned
