"""What people see of a fit: nothing that the data do not tell, and all plots."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax import schema
from synctax.evt.doubts import Check
from synctax.evt.fit import fit_evt, fit_evt_maxima
from synctax.evt.options import Options
from synctax.evt.tax import METHODS
from synctax.report import evt_plots, evt_view, tables
from synctax.report.output import Result
from synctax.texts import ABSENT
from tests.evt.made import normal_times
from tests.evt.simulated import block_times, gumbel_ranks

ASKED = {"level": 0.95}
QUICK = Options(resamples=10)


@pytest.fixture(scope="module")
def fit():
    return fit_evt(gumbel_ranks(100, 8), options=replace(QUICK, fit_ranks=4))


@pytest.fixture(scope="module")
def of_maxima():
    z = np.random.default_rng(0).gumbel(0.8, 0.6, 100)
    return fit_evt_maxima(z, n_fit=4, a_us=1e4, r=0.02, options=QUICK)


def shown(fit, *, every=False) -> str:
    result = Result(schema.FIT_EVT, fit.to_frame(), ASKED)
    return tables.to_text(evt_view.parts(fit, result, every=every))


def shown_table(fit, table, frame) -> str:
    return tables.to_text(evt_view.table(fit, Result(table, frame, ASKED)))


def test_sentences_come_first_then_predictions_errors_doubts_and_a_plot(fit):
    text = shown(fit)
    places = [
        text.index(words)
        for words in (
            "100 instances of 1 compute block of tp over 8 ranks, cut to 4\n",
            "mean wait of a rank by the Gumbel law: ",
            "the tail ",
            "trust ",
            "ranks    ",
            "on these paths: predicted",
            "how far predictors miss what they were not fitted to:",
            "! 4,096 ranks are 1,024 times the 4 of the fit",
            "quantiles of the maxima z (o)",
        )
    ]
    assert places == sorted(places)
    assert "density of the maxima" not in text
    assert "laws beside the maxima" not in text


def test_doubts_about_others_than_the_trusted_one_are_counted_only(fit):
    def told(*checks, every=False):
        lines = shown(replace(fit, checked=checks), every=every).splitlines()
        return [
            line for line in lines if line.startswith(("! ", "no check")) or "doubt" in line
        ]

    reach = Check("reach", 9.0, 8.0, np.nan, True, "far", METHODS)
    further = Check("deviations_reach", 9.0, 8.0, np.nan, True, "further", ("deviations",))
    skew = Check("skew", 9.0, 8.0, np.nan, True, "skewed", ("deviations",))
    memory = Check("autocorrelation", 9.0, 8.0, np.nan, True, "remembers")
    assert told(reach) == ["! far"]
    assert told(memory, skew, further, reach) == [
        "! far",
        "  3 more doubts: -v, or --checks",
    ]
    assert told(skew) == [
        "no check speaks against Gumbel",
        "  1 more doubt: -v, or --checks",
    ]
    every = told(memory, skew, further, reach, every=True)
    assert every == ["! further", "! far", "! skewed", "! remembers"]


def test_an_interval_without_an_upper_end_shows_none(fit):
    frame = fit.to_frame()
    frame["tau_gev_hi_us"] = frame["tau_gev_us"] * 1e9
    text = tables.to_text([evt_view.growth(Result(schema.FIT_EVT, frame, ASKED))])
    assert text.count(" or more") == len(frame)


def test_every_plot_is_shown_when_all_is_asked_for(fit):
    text = shown(fit, every=True)
    for words in ("quantiles of the maxima", "density of the maxima", "z that is exceeded"):
        assert words in text


def test_predictions_are_told_with_their_level(fit):
    def head(found):
        result = Result(schema.FIT_EVT, found.to_frame(), {"level": 0.9})
        return tables.to_text([evt_view.growth(result)]).splitlines()[0].split()

    laws = ["ranks", "Gumbel", "90", "%", "GEV", "90", "%", "L-moments", "deviations"]
    normal = fit_evt(normal_times(200, 4), options=replace(QUICK, resamples=60))
    assert head(normal) == [*laws, "90", "%", "measured"]
    # skewed ranks: no interval of deviations would hold
    assert head(fit) == [*laws, "measured"]


def test_maxima_alone_show_laws_of_maxima_alone(of_maxima):
    text = shown(of_maxima, every=True)
    for words in ("deviations", "measured", "on these paths", "miss", "no interval"):
        assert words not in text
    assert "L-moments" in text


def test_a_fit_that_nothing_speaks_against_says_so(fit):
    text = shown(replace(fit, checked=tuple(replace(c, fired=False) for c in fit.checked)))
    assert "no check speaks against the fit (all: --checks)" in text


def test_without_measured_collectives_no_measurement_is_quoted():
    found = fit_evt(gumbel_ranks(60, 4, tax_mean=False), options=QUICK)
    assert "on these paths" not in shown(found)
    text = shown_table(found, schema.FIT_EVT_SEGMENTS, found.per_segment())
    assert "at collectives" not in text
    assert "by blocks" in text


def test_kinds_of_blocks_are_pointed_to_where_there_are_several(fit):
    assert "--segments" not in shown(fit)
    two = fit_evt(
        gumbel_ranks(60, 4, phase="forward"),
        gumbel_ranks(60, 4, seed=2, phase="backward"),
        options=QUICK,
    )
    text = shown(two)
    assert "; by kind of block: --segments" in text
    assert "2nd half by the 1st, 4 ranks" in text
    text = shown_table(two, schema.FIT_EVT_SEGMENTS, two.per_segment())
    assert "forward" in text
    assert "backward" in text


def test_a_law_that_could_not_be_fitted_leaves_no_empty_column(fit):
    fitted = replace(fit.fitted, gev=None, refused={"gev": "at its bound"})
    tau_us = {k: v for k, v in fit.resampled.tau_us.items() if k != "gev"}
    less = replace(fit, fitted=fitted, resampled=replace(fit.resampled, tau_us=tau_us))
    result = Result(schema.FIT_EVT, less.to_frame(), ASKED)
    assert "GEV" not in tables.to_text([evt_view.growth(result)])
    assert "z that is exceeded" in shown(less, every=True)


def test_a_predictor_that_misses_one_trial_is_absent_there(fit):
    kept = [r for r in fit.held_out if (r.kind, r.method) != ("time", "gev")]
    kept = [replace(r, error_lo=np.nan, error_hi=np.nan) for r in kept]
    lines = tables.to_text([evt_view.errors(replace(fit, held_out=kept))]).splitlines()
    assert [line.split()[0] for line in lines[2:]] == [
        *("Gumbel", "GEV", "L-moments", "deviations"),
    ]
    assert lines[3].endswith(ABSENT)
    assert " to " not in lines[2]


def test_blocks_and_checks_are_laid_out(fit):
    text = shown_table(fit, schema.FIT_EVT_BLOCKS, fit.per_block())
    assert text.splitlines()[2].split()[:3] == ["block", "source", "group"]
    assert "GEMM" not in text  # no block tells one
    text = shown_table(fit, schema.FIT_EVT_CHECKS, fit.checks())
    assert "common variation" in text
    assert "4,096 ranks are 1,024 times" in text
    assert "above 8 " in text
    assert "times the ranks of the fit" in text
    assert "below −0.02" in text
    assert "sure not to be 0" in text
    assert "beyond ±0.05" in text
    text = shown_table(fit, schema.FIT_EVT_HOLDOUT, fit.holdout())
    assert "8 ranks by groups of 4" in text


def test_ratios_near_one_have_two_digits(fit):
    one = replace(fit.segments[0], ratio=1.0, ratio_lo=0.996, ratio_hi=1.004)
    text = shown(replace(fit, segments=(one,)))
    assert ": 1.00 times (1.00 to 1.00)" in text
    few = replace(one, ratio_lo=np.nan, ratio_hi=np.nan)
    assert ": 1.00 times (no interval)" in shown(replace(fit, segments=(few,)))
    rows = replace(fit, segments=(replace(one, blocks_ratio=12.34),))
    text = shown_table(rows, schema.FIT_EVT_SEGMENTS, rows.per_segment())
    assert "1.00 to 1.00" in text
    assert " 12.3 " in text
    assert text.splitlines()[2].split()[:3] == ["group", "ranks", "instances"]


def test_long_names_are_cut_and_tables_without_rows_say_so(fit, of_maxima):
    named = gumbel_ranks(60, 4, gemm="sm90_" + 90 * "x")
    named = fit_evt(named, options=QUICK)
    text = shown_table(named, schema.FIT_EVT_BLOCKS, named.per_block())
    assert "sm90_" + 38 * "x" + "…" in text
    text = shown_table(of_maxima, schema.FIT_EVT_BLOCKS, of_maxima.per_block())
    assert text == "nothing to show: the table has no rows\n"
    text = shown_table(fit, schema.FIT_EVT_INSTANCES, fit.per_instance())
    assert len(text.splitlines()) == 2 + 800


@pytest.mark.parametrize("kind", schema.FIT_EVT_POINTS)
@pytest.mark.parametrize("blocks", [True, False])
def test_plots_are_drawn_in_the_signs_there_are(fit, monkeypatch, kind, blocks):
    monkeypatch.setattr(evt_plots, "can_show_blocks", lambda: blocks)
    lines = evt_plots.drawn(fit, kind)
    assert "\n".join(lines[1:]).isascii() != blocks
    assert sum("o" in line for line in lines[1:-2]) >= 3


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 1.0, "(p > 0.1)"),
        (0.05, 0.1, "(p 0.05 to 0.1)"),
        (0.0, 0.01, "(p < 0.01)"),
        (0.03, 0.03, "(p 0.03)"),
        (0.04, 0.06, "(p 0.04 to 0.06)"),
    ],
)
def test_distances_are_told_with_what_is_known_of_their_p(fit, low, high, words):
    gof = {**fit.quality.gof, "gumbel_d_p_lo": low, "gumbel_d_p_hi": high}
    text = shown(replace(fit, quality=replace(fit.quality, gof=gof)), every=True)
    line = next(line for line in text.splitlines() if line.startswith("laws beside"))
    assert words in line
    fits = "does not fit" if high < evt_view.REJECTED_P else "may fit"
    assert f": Gumbel {fits}: distribution off by" in line
    assert "; GEV may fit: distribution off by" in line


def test_a_level_keeps_its_digits(fit):
    result = Result(schema.FIT_EVT, fit.to_frame(), {"level": 0.9999})
    assert "99.99 %" in tables.to_text([evt_view.growth(result)])


def test_points_of_a_plot_follow_it(fit):
    for kind, table in schema.FIT_EVT_POINTS.items():
        result = Result(table, fit.points(kind), ASKED)
        parts = evt_view.points(fit, result, kind)
        assert tables.to_text(parts).startswith(evt_plots.drawn(fit, kind)[0])


def test_points_are_those_of_the_laws(fit):
    pdf, qq, levels = (fit.points(kind) for kind in ("pdf", "qq", "return-level"))
    assert pdf["count"].sum() == fit.z.size
    width = pdf["z_hi"] - pdf["z_lo"]
    assert (pdf["density"] * width).sum() == pytest.approx(1)
    assert qq["z"].is_monotonic_increasing
    law = fit.fitted.gumbel
    assert law.cdf(qq["gumbel_z"].to_numpy()) == pytest.approx(qq["probability"])
    assert fit.fitted.gev.cdf(qq["gev_z"].to_numpy()) == pytest.approx(qq["probability"])
    assert law.cdf(levels["gumbel_z"].to_numpy()) == pytest.approx(1 - 1 / levels["period"])
    assert_allclose(levels["gumbel_us"], fit.a_us + fit.b_us * levels["gumbel_z"])


def test_a_fit_of_rounded_times_is_doubted():
    rounded = np.round(gumbel_ranks(100, 4).us / 4) * 4
    found = fit_evt(block_times(rounded, resolution_us=4.0), options=QUICK)
    assert "times come in steps of 4 µs" in shown(found, every=True)
    # predictions hold
    assert "times come in steps" not in shown(found)
    coarse = np.round(gumbel_ranks(100, 4).us / 20) * 20
    coarse = block_times(coarse + np.arange(100)[:, None] / 1e3, resolution_us=20.0)
    found = fit_evt(coarse, options=QUICK)
    assert "laws beside the maxima" not in shown(found, every=True)
    assert "! times come in steps of 20 µs" in shown(found)
    assert "no_goodness_of_fit" in {note.reason for note in found.notes}
