"""What a fit says in words: no more than its numbers do."""

from dataclasses import replace

import numpy as np
import pytest

from synctax.evt import verdict
from synctax.evt.doubts import Check
from synctax.evt.fit import fit_evt, fit_evt_maxima
from synctax.evt.inputs import Given
from synctax.evt.model import Coverage
from synctax.evt.results import Options
from synctax.evt.texts import percent, time_us
from synctax.notes import Note
from tests.evt.simulated import gumbel_ranks

COVERED = Coverage(100, 90, 9_000.0, 8_100.0)


@pytest.fixture(scope="module")
def fit():
    given = Given(gumbel_ranks(), COVERED, "tp")
    return fit_evt(given, options=Options(fit_ranks=4, resamples=60))


def found(fit, *names, effect=0.3):
    """The fit, as if these checks and no others had fired."""
    return replace(
        fit, found=tuple(Check(name, effect, 0.1, 0.001, True, "") for name in names)
    )


def test_the_first_line_tells_what_part_of_the_tax_it_is_of(fit):
    assert verdict.headline(fit) == (
        "90 % of the tax of tp is explained by GPU-only blocks with a GEMM (90 of 100 "
        "collectives): 200 instances of 1 compute block of tp over 8 ranks"
    )


def test_without_traces_the_first_line_tells_what_was_given():
    options = Options(resamples=4)
    both = fit_evt(gumbel_ranks(60, 4), gumbel_ranks(60, 8, seed=2), options=options)
    assert verdict.headline(both) == (
        "120 instances of 2 compute blocks of tp over 4 and 8 ranks"
    )
    z = np.random.default_rng(0).gumbel(0.8, 0.6, 1_000)
    maxima = fit_evt_maxima(z, n_fit=4, a_us=1e4, r=0.02, options=options)
    assert verdict.headline(maxima) == (
        "1,000 maxima over groups of 4 ranks, for block times with a mean of 10 ms and a "
        "spread of 200 µs"
    )
    assert len(maxima.verdict()) == 3
    assert "misses" not in maxima.verdict()[-1]


def test_growth_is_told_per_doubling_at_landmarks_and_with_its_reach(fit):
    said = fit.verdict()[0]
    step_us = fit.b_us * fit.fitted.gumbel.scale * np.log(2)
    assert said.startswith(f"each doubling of the ranks adds {time_us(step_us)} to")
    frame = fit.to_frame().set_index("n")
    for n in (72, 512, 4096):
        row = frame.loc[n]
        lo, hi = time_us(row["tau_lo_us"]), time_us(row["tau_hi_us"])
        assert f"{time_us(row['tau_us'])} at {n:,} (95 %: {lo} to {hi})" in said
    assert said.endswith(", 512 times the largest group seen")


@pytest.mark.parametrize(
    ("n", "told"), [((4, 8), ("4", "8")), ((6, 9, 10, 11), ("6", "10", "11"))]
)
def test_sizes_that_were_asked_for_are_told(n, told):
    said = fit_evt(gumbel_ranks(60, 4), options=Options(n=n, resamples=4)).verdict()[0]
    assert all(f" at {one} (" in said for one in told)
    assert f"{n[-1] / 4:.1f}".removesuffix(".0") + " times" in said


def test_within_what_was_seen_no_reach_is_told(fit):
    inside = fit_evt(gumbel_ranks(60, 8), options=Options(4, n=(4, 8), resamples=4))
    assert "times the largest" not in inside.verdict()[0]


@pytest.mark.parametrize(
    ("names", "method", "words"),
    [
        ((), "gumbel", "the tail may be that of a Gumbel"),
        (("shape",), "gev", "the Gumbel law is"),
        (("common_variation",), "deviations", "30 % of the variance is common to all"),
        (("common_variation", "shape"), "deviations", "which nobody waits for"),
        (("rank_effect",), "gumbel", "some rank is slow again and again"),
        (("straggler",), "gumbel", "some rank is slow again and again"),
    ],
)
def test_the_case_decides_whom_to_trust(fit, names, method, words):
    case = found(fit, *names)
    assert verdict.trusted(case) == method
    assert words in case.verdict()[1]
    assert case.verdict()[2].startswith(f"trust {verdict.NAMES[method]} in this case: ")


@pytest.mark.parametrize(("shape", "bound"), [(0.2, "a lower"), (-0.2, "an upper")])
def test_a_tail_of_another_shape_makes_the_gumbel_a_bound(fit, shape, bound):
    law = replace(fit.fitted.gev, shape=shape)
    case = found(replace(fit, fitted=replace(fit.fitted, gev=law)), "shape")
    assert f"ξ = {shape:.2f}, from " in case.verdict()[1]
    assert f"the Gumbel law is {bound} bound" in case.verdict()[1]


def test_a_predictor_without_a_fit_is_not_trusted(fit):
    refused = {"gev": "the shape runs to its bound", "deviations": "no tail"}
    less = replace(fit.fitted, gev=None, deviations=None, refused=refused)
    case = found(replace(fit, fitted=less), "shape", "common_variation")
    assert verdict.trusted(case) == "gumbel"
    assert "the shape of the tail is unknown (the shape runs to" in case.verdict()[1]


def test_deviations_are_trusted_with_what_speaks_against_them(fit):
    said = found(fit, "common_variation", "skew", "light_tail").verdict()[2]
    assert ", itself in doubt (skew and light tail); fitted on" in said
    assert "in doubt" not in found(fit, "shape", "skew").verdict()[2]


def test_errors_on_held_out_ranks_stand_beside_each_other(fit):
    said = fit.verdict()[2]
    assert "fitted on 4 ranks it misses those of 8 by Gumbel " in said
    assert all(f"{name} " in said for name in verdict.NAMES.values())


def test_an_interval_that_decides_nothing_is_called_vague(fit):
    assert "vague" not in fit.verdict()[2]
    drawn_us = fit.resampled.resampled_us
    wide = {**drawn_us, "gumbel": drawn_us["gumbel"] ** 30}
    vague = replace(fit, resampled=replace(fit.resampled, resampled_us=wide))
    assert "too vague to build on: profile more steps" in found(vague).verdict()[2]


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
        "the fit describes 0.3 % of the tax: do not extrapolate it to the job; the rest is "
        "left out (51 × the path runs through the CPU; 3 × no GEMM, and 1 more reason)"
    )
    assert len(case.verdict()) == 4
    assert verdict.headline(case).startswith(percent(little.tax_share))
