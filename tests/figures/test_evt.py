"""Figures of a fit: what they show is what the tables of the fit hold."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.colors import to_hex

from synctax.cli import main
from synctax.cli.fit_evt_figures import FIGURES, draw_fit
from synctax.cli.plotting import Plot
from synctax.errors import SynctaxError
from synctax.evt.checks import MAX_REACH
from synctax.evt.fit import fit_evt, fit_evt_maxima
from synctax.evt.inputs import Given
from synctax.evt.model import Block, BlockTimes
from synctax.evt.options import Options
from synctax.report.figures import evt, evt_waits

KINDS = (
    Block("a", group="tp", gpu="H200", dtype="bf16", phase="forward"),
    Block("b", group="tp", gpu="A100", dtype="fp32", phase="backward"),
    Block("c", group="$x$", gpu="H200", dtype="bf16"),
)

MEANS_US = np.array([500.0, 20_000.0, 1_500.0])

UNMEASURED = 2
"""Block whose waits at collectives are not known."""


def block_times(instances=40, m=8):
    random = np.random.default_rng(7)
    block = np.repeat(np.arange(len(KINDS)), instances)
    us = MEANS_US[block, None] * (1 + 0.02 * random.gumbel(size=(block.size, m)))
    wait_us = us.max(axis=1) - us.mean(axis=1)
    return BlockTimes(
        blocks=KINDS,
        block=block,
        instance=np.tile(np.arange(instances), len(KINDS)),
        series=np.zeros(block.size, np.int64),
        rank=np.tile(np.arange(m), (block.size, 1)),
        us=us,
        measured_us=np.where(block == UNMEASURED, np.nan, 1.2 * wait_us),
    )


@pytest.fixture(scope="module")
def fit():
    """Three kinds of block over 8 ranks, cut to 4."""
    return fit_evt(Given(block_times()), options=Options(fit_ranks=4, resamples=60))


@pytest.fixture(scope="module")
def heavy():
    """Maxima with an outlier: the GEV goes far above the Gumbel law."""
    z = np.random.default_rng(1).gumbel(0.9, 0.6, 150)
    z[0] = 40.0
    asked = Options(n=(4, 8, 64, 4096), resamples=60)
    return fit_evt_maxima(z, n_fit=4, a_us=10_000.0, r=0.02, options=asked)


def caption_of(figure):
    return " ".join(figure.get_supxlabel().split())


def curve(axes, label):
    (found,) = [line for line in axes.lines if line.get_label() == label]
    return found.get_xydata()


def band_of(axes, color):
    """Corners of the band in a colour, each once, without those of unknown ends."""
    (found,) = [
        one
        for one in axes.collections
        if one.get_facecolor().size and to_hex(one.get_facecolor()[0]) == color.lower()
    ]
    corners = np.vstack([path.vertices for path in found.get_paths()])
    return np.unique(corners, axis=0)


def corners_of(x, *ends):
    known = np.isfinite(ends[0])
    return np.unique(
        np.vstack([np.column_stack([x[known], end[known]]) for end in ends]), axis=0
    )


def test_bars_are_the_histogram_and_curves_the_densities_of_the_laws(fit):
    figure = evt.density_and_quantiles(fit)
    axes, points = figure.axes[0], fit.points("pdf")
    bars = axes.patches
    np.testing.assert_allclose([bar.get_height() for bar in bars], points["density"])
    np.testing.assert_allclose([bar.get_x() for bar in bars], points["z_lo"])
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    np.testing.assert_allclose(ends, points["z_hi"])
    for label, column in (("Gumbel", "gumbel_density"), ("GEV", "gev_density")):
        z, density = curve(axes, label).T
        np.testing.assert_allclose(density[np.searchsorted(z, points["z"])], points[column])
        assert len(z) >= evt.CURVE_POINTS
    assert axes.get_xlabel() == "z = (block maximum − a) / b"
    assert caption_of(figure).startswith("n = 240 block maxima over 4 ranks; a: mean")


def test_quantiles_stand_beside_those_of_the_laws(fit):
    axes, points = evt.density_and_quantiles(fit).axes[1], fit.points("qq")
    for label, law in (("Gumbel Q-Q", "gumbel_z"), ("GEV Q-Q", "gev_z")):
        np.testing.assert_allclose(curve(axes, label), points[[law, "z"]])
    ends = curve(axes, "y = x")
    assert (ends[:, 0] == ends[:, 1]).all()
    assert ends.min() <= points["z"].min() <= points["z"].max() <= ends.max()
    lo, hi = (points[f"gumbel_{end}_z"].to_numpy() for end in ("lo", "hi"))
    np.testing.assert_allclose(
        band_of(axes, "#0072B2"), corners_of(points["gumbel_z"].to_numpy(), lo, hi)
    )


def test_a_law_that_could_not_be_fitted_is_not_drawn(fit):
    without = replace(fit, fitted=replace(fit.fitted, gev=None))
    left, right = evt.density_and_quantiles(without).axes
    (levels, *_) = evt.return_levels(without).axes
    for axes in (left, right, levels):
        assert not [line for line in axes.lines if "GEV" in line.get_label()]
    assert "ξ" not in caption_of(evt.density_and_quantiles(without))


def test_boxes_are_those_of_the_segments(fit):
    figure = evt.block_maxima(fit)
    (axes,) = figure.axes
    medians = [
        line.get_xdata()[0] for line in axes.lines if to_hex(line.get_color()) == "#d55e00"
    ]
    names = [text.get_text() for text in axes.get_yticklabels()]
    told = fit.per_segment().iloc[1:].sort_values("max_us_median")
    np.testing.assert_allclose(medians, told["max_us_median"])
    assert [name.split(",")[0] for name in names] == ["tp", r"\$x\$", "tp"]
    assert names[0].startswith("tp, H200, bf16, forward, n = 80")
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "block maximum (µs)"
    assert caption_of(figure).startswith("n = 240 block maxima over 4 ranks.")


def test_rare_kinds_of_too_many_are_left_out_and_counted(fit, monkeypatch):
    monkeypatch.setattr(evt, "MOST_SEGMENTS", 2)
    figure = evt.block_maxima(fit)
    assert len(figure.axes[0].get_yticklabels()) == 2
    assert "1 rarer kind of block left out" in caption_of(figure)


def test_one_kind_of_like_times_has_a_linear_axis(fit):
    standard = fit.inputs.standard
    alike = (replace(KINDS[0], gpu="", dtype=""),) * len(KINDS)
    us = standard.times.us / MEANS_US[standard.times.block, None]
    times = replace(standard.times, blocks=alike, us=us)
    inputs = replace(fit.inputs, standard=replace(standard, times=times))
    (axes,) = evt.block_maxima(replace(fit, inputs=inputs)).axes
    assert axes.get_xscale() == "linear"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["tp, forward, n = 240"]


def points_of_delay(axes):
    """Positions, whether filled, and bars of the points, by the name of each."""
    found = {}
    for drawn in axes.containers:
        mark, _, bars = drawn.lines
        ((x, y),) = mark.get_xydata()
        segment = bars[0].get_segments()[0] if bars else np.full((2, 2), np.nan)
        filled = mark.get_markerfacecolor() != "none"
        found[mark.get_label().split("\n")[0]] = (x, y, *segment[:, 1], filled)
    return found


def test_predicted_stands_over_measured_with_its_interval(fit):
    figure = evt_waits.delay(fit)
    (axes,) = figure.axes
    shown = points_of_delay(axes)
    assert len(shown) == 4
    rows = fit.per_segment().set_index("gpu")
    for name, gpu in (
        ("tp, H200, bf16, forward", "H200"),
        ("tp, A100, fp32, backward", "A100"),
    ):
        row = rows[rows["group"] == "tp"].loc[gpu]
        expected = (row["tax_mean_us"], row["tau_us"])
        np.testing.assert_allclose(shown[name][:2], expected)
        bars = row[["ratio_lo", "ratio_hi"]].to_numpy(float) * row["tax_mean_us"]
        np.testing.assert_allclose(shown[name][2:4], bars)
        assert shown[name][4]
    by_blocks = rows[rows["group"] == "$x$"].iloc[0]
    *numbers, filled = shown[r"\$x\$, H200, bf16"]
    bars = by_blocks[["blocks_ratio_lo", "blocks_ratio_hi"]].to_numpy(float)
    expected = [
        by_blocks["measured_us"],
        by_blocks["tau_us"],
        *bars * by_blocks["measured_us"],
    ]
    np.testing.assert_allclose(numbers, expected)
    assert not filled
    low, high = axes.get_xlim()
    assert (low, high) == axes.get_ylim()
    assert low < min(min(one[:4]) for one in shown.values())
    assert max(max(one[:4]) for one in shown.values()) < high
    np.testing.assert_allclose(curve(axes, "y = x"), [[low, low], [high, high]])
    said = caption_of(figure)
    assert said.startswith("n = 120 instances of 3 kinds of block. Predicted by one Gumbel")
    assert "hollow: by block times" in said


def test_many_kinds_keep_the_most_frequent_and_are_counted(fit, monkeypatch):
    monkeypatch.setattr(evt_waits, "MOST_KINDS", 1)
    figure = evt_waits.delay(fit)
    assert len(points_of_delay(figure.axes[0])) == 2
    assert "1 kind of block, 2 rarer left out" in caption_of(figure)


def test_a_kind_that_never_waited_has_no_point(fit):
    still = replace(fit.segments[3], measured_us=0.0, blocks_ratio=float("nan"))
    figure = evt_waits.delay(replace(fit, segments=(*fit.segments[:3], still)))
    assert len(points_of_delay(figure.axes[0])) == 3


def test_a_single_kind_stands_alone_and_says_how_it_was_measured(fit):
    some = replace(fit, segments=(fit.segments[0], fit.segments[3]))
    figure = evt_waits.delay(some)
    (name,) = points_of_delay(figure.axes[0])
    assert name == r"\$x\$, H200, bf16"
    assert "Measured by block times" in caption_of(figure)
    measured = replace(fit, segments=fit.segments[:2])
    assert "Measured at the collectives." in caption_of(evt_waits.delay(measured))


def test_growth_shows_predictions_intervals_and_measurements(fit):
    figure = evt_waits.growth(fit)
    (axes,) = figure.axes
    rows = fit.to_frame().astype(float)
    n = rows["n"].to_numpy()
    for label, prefix, color in (
        ("Gumbel", "tau", "#0072B2"),
        ("GEV", "tau_gev", "#D55E00"),
        ("deviations", "tau_deviations", "#009E73"),
    ):
        np.testing.assert_allclose(curve(axes, label), rows[["n", f"{prefix}_us"]])
        ends = [rows[f"{prefix}_{end}_us"].to_numpy() for end in ("lo", "hi")]
        if np.isfinite(ends).any():
            np.testing.assert_allclose(band_of(axes, color), corners_of(n, *ends))
    for label, column in (
        ("measured, by block times", "measured_us"),
        ("measured at collectives", "tax_mean_us"),
    ):
        np.testing.assert_allclose(curve(axes, label), rows[["n", column]])
    low, high = axes.get_ylim()
    assert low <= np.nanmin(rows["tau_us"])
    assert np.nanmax(rows["measured_us"]) < high
    assert axes.get_ylabel() == "mean wait of a rank (µs)"


def test_growth_marks_where_extrapolation_begins_and_how_far_it_reaches(fit):
    figure = evt_waits.growth(fit)
    (axes,) = figure.axes
    upright = [line for line in axes.lines if len(set(line.get_xdata())) == 1]
    assert [line.get_xdata()[0] for line in upright] == [fit.m]
    assert [text.get_text() for text in axes.texts] == ["extrapolated →"]
    (grey,) = axes.patches
    assert grey.get_x() == MAX_REACH * fit.m
    said = caption_of(figure)
    assert "n = 240 block maxima over 4 ranks (dotted line)" in said
    assert "4,096 ranks are 1,024 times as many. Grey: beyond 8 times" in said


def test_growth_within_reach_has_nothing_grey(fit):
    figure = evt_waits.growth(replace(fit, n=fit.n[:2]))
    assert not figure.axes[0].patches
    assert "8 ranks are 2 times as many. Shaded" in caption_of(figure)


def test_heavy_tails_do_not_press_the_rest_to_the_ground(heavy):
    growth = evt_waits.growth(heavy)
    (axes,) = growth.axes
    assert axes.get_yscale() == "log"
    assert curve(axes, "GEV")[:, 1].max() < axes.get_ylim()[1]
    assert "measured" not in {line.get_label() for line in axes.lines}
    levels = evt.return_levels(heavy).axes[0]
    points = heavy.points("return-level")
    shown = points[["z", "gumbel_z", "gev_z"]].to_numpy()
    low, high = levels.get_ylim()
    assert low < np.nanmin(shown) < np.nanmax(shown) < high < 2 * np.nanmax(shown)


def test_return_levels_show_maxima_laws_and_block_times(fit):
    figure = evt.return_levels(fit)
    (axes,) = figure.axes
    points = fit.points("return-level")
    for label, law, color in (("Gumbel", "gumbel", "#0072B2"), ("GEV", "gev", "#D55E00")):
        np.testing.assert_allclose(curve(axes, label), points[["period", f"{law}_z"]])
        ends = [points[f"{law}_{end}_z"].to_numpy() for end in ("lo", "hi")]
        expected = corners_of(points["period"].to_numpy(), *ends)
        np.testing.assert_allclose(band_of(axes, color), expected)
    seen = points[points["z"].notna()]
    np.testing.assert_allclose(curve(axes, "maxima"), seen[["period", "z"]])
    (second,) = axes.child_axes
    assert second.get_ylabel() == "slowest block time of the mean block (µs)"
    to_us, back = evt._to_us_and_back(fit.a_us, fit.b_us)
    np.testing.assert_allclose(to_us(points["gumbel_z"]), points["gumbel_us"])
    np.testing.assert_allclose(back(points["gumbel_us"]), points["gumbel_z"])
    assert caption_of(figure).startswith("n = 240 block maxima over 4 ranks.")


def test_normalised_maxima_have_no_kinds_and_no_measured_waits(heavy):
    with pytest.raises(SynctaxError, match="of no kind of block"):
        evt.block_maxima(heavy)
    with pytest.raises(SynctaxError, match="no wait was measured"):
        evt_waits.delay(heavy)


def test_one_number_of_ranks_does_not_grow(heavy):
    with pytest.raises(SynctaxError, match="--n 8:4096"):
        evt_waits.growth(replace(heavy, n=heavy.n[:1]))


@pytest.mark.parametrize(
    ("figure", "label"),
    [
        ("fit", "quantile of the law (z)"),
        ("maxima", "block maximum (µs)"),
        ("delay", "predicted mean wait (µs)"),
        ("growth", "mean wait of a rank (µs)"),
        ("return-level", "return period (instances of a block)"),
    ],
)
def test_each_figure_is_drawn_by_its_name(fit, monkeypatch, figure, label):
    kept = []
    monkeypatch.setattr(
        "synctax.report.figures.style.save", lambda *made: kept.append(made)
    )
    draw_fit(Plot(Path("a.svg"), figure), fit)
    ((made, path),) = kept
    labels = {axes.get_xlabel() for axes in made.axes} | {
        axes.get_ylabel() for axes in made.axes
    }
    assert label in labels
    assert path == Path("a.svg")


def test_the_command_draws_beside_its_result(run, tmp_path):
    values = np.random.default_rng(2).gumbel(0.9, 0.6, 60)
    (tmp_path / "z.csv").write_text("z\n" + "\n".join(map(str, values)))
    path = tmp_path / "growth.svg"
    given = ("--maxima", tmp_path / "z.csv", "--fit-n", 4, "--a-us", 1000, "--r", 0.02)
    plot = ("--plot", path, "--figure", "growth")
    found = run("fit-evt", *given, "--n", "8,64", "--resamples", 50, "--no-cache", *plot)
    assert found.exit_code == 0, found.stderr
    assert "60 maxima" in found.stdout
    assert ">mean wait of a rank (µs)<" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--figure", "maxima"), "--figure maxima is of block times"),
        (("--figure", "delay"), "--figure delay is of block times"),
        (("--figure", "growth", "--n", "8"), "over several numbers of ranks"),
        (("--tax", "f.svg"), "both name f.svg"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_fitted(
    tmp_path, monkeypatch, args, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "z.csv").write_text("z\n1\n")
    given = ["--maxima", "z.csv", "--fit-n", "4", "--a-us", "1", "--r", "0.1"]
    found = CliRunner().invoke(main, ["fit-evt", *given, *args, "--plot", "f.svg"])
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())
    assert not (tmp_path / "f.svg").exists()


def test_nothing_is_drawn_where_nothing_was_asked_for(fit, monkeypatch):
    monkeypatch.setattr("synctax.report.figures.style.save", pytest.fail)
    draw_fit(Plot(None, FIGURES[0]), fit)
