"""Figures of `bandwidth`: what they show is what the rows hold."""

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.bandwidth.choices import TOPOLOGIES
from synctax.bandwidth.flops import Reading
from synctax.bandwidth.sweep import Link, Wait, sweep, sweep_flops
from synctax.bandwidth.topology import Domain, Layout
from synctax.cli import main
from synctax.cli.bandwidth_figures import draw_rows
from synctax.cli.plotting import Plot
from synctax.errors import SynctaxError
from synctax.evt.tax_file import read_tax
from synctax.report.figures import bandwidth
from synctax.report.figures.axes import is_wide, size_ticks
from tests.laws import examples

SIZES = 2.0 ** np.arange(3, 13)

BOTH = (("with tax", "gb_per_s"), ("without", "hockney_gb_per_s"))
"""How both curves end their names, and the columns that they show."""

PAPER = ("ring", "torus3d", "switched")


def links(*topologies, link_gb_per_s=450.0):
    return [
        Link(
            Layout(name, domain=Domain(8, 50.0) if name == "hierarchical" else None),
            "all_reduce",
            2**28,
            5.0,
            link_gb_per_s,
        )
        for name in topologies
    ]


def paper_wait(n=SIZES):
    tau = read_tax("llama3-70b-h200").tau_us(n)
    return Wait(np.asarray(n), tau.tau_us, tau.lo_us, tau.hi_us, 4)


def bounded_wait(n=SIZES):
    tau_us = 100.0 + 50.0 * np.log(n)
    return Wait(np.asarray(n), tau_us, 0.8 * tau_us, 1.3 * tau_us, 4)


def figure_of(rows, draw=bandwidth.best_bandwidth, **given_):
    """Draw and lay out, so that nothing is left that could fail on saving."""
    figure = draw(rows, **given_)
    assert len(figure.axes) == rows["topology"].nunique() or draw is bandwidth.algorithms
    return figure


def curves(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def caption_of(figure):
    return " ".join(figure.get_supxlabel().split())


def shaded(axes):
    """Corners of each shaded band, sorted and each once."""
    return [
        np.unique(band.get_paths()[0].vertices.round(6), axis=0)
        for band in axes.collections
        if band.get_paths()
    ]


def test_figure_12_shows_the_ratios_that_the_paper_prints():
    rows = sweep(links(*PAPER), [-0.5, -0.1], paper_wait())
    ring, torus, switched = map(curves, figure_of(rows).axes)

    def below(shown, n, elasticity):
        at = SIZES.tolist().index(n)
        with_tax = shown[f"ε = {elasticity}, with tax"][at, 1]
        return 100 * (1 - with_tax / shown[f"ε = {elasticity}, without"][at, 1])

    for elasticity in ("−0.5", "−0.1"):
        assert below(ring, 128, elasticity) == pytest.approx(37.26, abs=0.005)
        assert below(switched, 128, elasticity) == pytest.approx(98.69, abs=0.005)
        assert below(torus, 512, elasticity) == pytest.approx(81.67, abs=0.005)
    best = dict(switched["ε = −0.5, with tax"])
    assert best[8] / best[512] == pytest.approx(2.06, abs=0.005)
    assert switched["ε = −0.5, without"][-1, 1] == pytest.approx(53_000, rel=0.02)


@settings(max_examples=examples(20))
@given(
    st.lists(st.sampled_from(TOPOLOGIES), min_size=1, max_size=6, unique=True),
    st.lists(st.sampled_from([-0.9, -0.5, -0.3, -0.1]), min_size=1, unique=True),
    st.integers(3, 9),
    st.booleans(),
)
def test_every_row_is_a_point_of_both_curves(topologies, elasticities, first, known):
    rate = 450.0 if known else None
    wait = bounded_wait(SIZES[first - 3 :])
    rows = sweep(links(*topologies, link_gb_per_s=rate), elasticities, wait)
    figure = figure_of(rows)
    for axes, topology in zip(figure.axes, topologies, strict=True):
        shown, of = curves(axes), rows[rows["topology"] == topology]
        assert axes.get_title() == bandwidth.TOPOLOGY_NAMES[topology]
        assert ("today's link: 450 GB/s" in shown) == known
        for elasticity, own in of.groupby("elasticity"):
            name = f"ε = −{-elasticity:g}"
            for label, column in (
                ("with tax", "gb_per_s"),
                ("without", "hockney_gb_per_s"),
            ):
                points = own[["n", column]].to_numpy(float)
                np.testing.assert_allclose(shown[f"{name}, {label}"], points)
            low, high = axes.get_ylim()
            bounds = own[["gb_per_s_lo", "gb_per_s_hi", "hockney_gb_per_s"]].to_numpy()
            assert low < bounds.min()
            assert bounds.max() < high
        for corners, (_, own) in zip(
            shaded(axes), of.groupby("elasticity", sort=False), strict=True
        ):
            ends = [
                own[["n", end]].to_numpy(float) for end in ("gb_per_s_lo", "gb_per_s_hi")
            ]
            np.testing.assert_allclose(corners, np.unique(np.vstack(ends).round(6), axis=0))
        if known:
            np.testing.assert_allclose(shown["today's link: 450 GB/s"][:, 1], 450.0)


def test_the_caption_tells_n_what_is_sent_and_the_tax():
    rows = sweep(links("ring"), [-0.5], bounded_wait())
    said = caption_of(figure_of(rows, tax="the fit of tp"))
    assert said.startswith("n = 8 to 4,096 (10 sizes) ranks.")
    assert "all_reduce of 268 MB, α = 5 µs" in said
    assert "Tax: the fit of tp. Shaded: for its interval." in said
    assert said.endswith("4,096 ranks are 1,024 times those of the fit.")
    near = sweep(links("ring"), [-0.5], bounded_wait(SIZES[:2]))
    assert "times those" not in caption_of(figure_of(near))
    assert "Shaded" not in caption_of(figure_of(sweep(links("ring"), [-0.5], paper_wait())))


def test_without_a_tax_there_is_one_curve_each():
    rows = sweep(links("ring"), [-0.5, -0.1], Wait.none(SIZES))
    figure = figure_of(rows)
    assert curves(figure.axes[0]).keys() == {
        "ε = −0.5, without",
        "ε = −0.1, without",
        "today's link: 450 GB/s",
    }
    assert caption_of(figure).endswith("No tax: Hockney's model.")


def test_curves_are_told_apart_without_colour():
    rows = sweep(links("ring"), [-0.9, -0.5, -0.3, -0.1], bounded_wait())
    (axes,) = figure_of(rows).axes
    lines = axes.lines[:-1]
    assert lines[0].get_marker() != "None"
    looks = {
        (one.get_marker(), one.get_linestyle(), one.get_markerfacecolor() == "white")
        for one in lines
    }
    assert len(looks) == len(lines) == 8


def test_axes_name_their_units():
    rows = sweep(links(*PAPER), [-0.5], paper_wait())
    axes = figure_of(rows).axes
    assert axes[0].get_ylabel() == "best bandwidth B* (GB/s)"
    assert {one.get_xlabel() for one in axes} == {"ranks n"}
    assert {(one.get_xscale(), one.get_yscale()) for one in axes} == {("log", "log")}


def test_no_panel_is_empty():
    rows = sweep(links(*TOPOLOGIES[:4]), [-0.5], bounded_wait(SIZES[:2]))
    panels = figure_of(rows).axes
    titles = [axes.get_title() for axes in panels]
    assert titles == ["ring", "3-D torus", "switched", "tree"]
    named = [bool(axes.get_ylabel()) for axes in panels]
    assert named == [True, False, False, True]


def test_what_has_no_end_is_left_out():
    """Without latency and tax every bandwidth pays: neither curve has such a point."""
    rows = sweep(links("ring"), [-0.5], bounded_wait())
    rows.loc[3, "hockney_gb_per_s"] = np.inf
    shown = curves(figure_of(rows).axes[0])["ε = −0.5, without"]
    assert np.isnan(shown[:, 1]).tolist() == [at == 3 for at in range(len(rows))]


@pytest.mark.parametrize("draw", [bandwidth.best_bandwidth, bandwidth.algorithms])
def test_one_size_is_no_curve(draw):
    rows = sweep(links("ring"), [-0.5], bounded_wait(SIZES[:1]))
    with pytest.raises(SynctaxError, match="--n 8:4096"):
        draw(rows)


def test_too_many_elasticities_are_refused():
    rows = sweep(links("ring"), [-0.1, -0.2, -0.3, -0.4, -0.5], bounded_wait())
    with pytest.raises(SynctaxError, match="up to 4"):
        bandwidth.best_bandwidth(rows)


@pytest.mark.parametrize("asked", [Reading(), Reading("shrinks", "common")])
def test_flops_shows_the_reading_that_was_asked_for(asked):
    growths = [4.0, 1.0, 2.0]
    rows = sweep_flops(
        links("ring", "switched"),
        growths,
        bounded_wait(SIZES[[5, 9]]),
        compute_us=10_400.0,
        asked=asked,
    )
    figure = figure_of(rows, bandwidth.flops)
    told = rows[
        (rows["tau_with_flops"] == asked.tau_with_flops)
        & (rows["grounding"] == asked.grounding)
    ].sort_values("flops_growth")
    for axes, topology in zip(figure.axes, ("ring", "switched"), strict=True):
        shown = curves(axes)
        for n in (256, 4096):
            own = told[(told["topology"] == topology) & (told["n"] == n)]
            for label, column in (
                ("with tax", "gb_per_s"),
                ("without", "hockney_gb_per_s"),
            ):
                points = own[["flops_growth", column]].to_numpy(float)
                np.testing.assert_allclose(shown[f"n = {n:,}, {label}"], points)
        in_step = [[f, 450.0 * f] for f in (1.0, 2.0, 4.0)]
        np.testing.assert_allclose(shown["in step with FLOPS"], in_step)
        assert axes.get_xlabel() == "FLOPS, times today's"
    said = caption_of(figure)
    assert said.startswith("n = 256, 4,096 ranks. End to end, with 10.4 ms of computation")
    assert f"the tax {asked.tau_with_flops}" in said
    assert ("each its own" in said) == (asked.grounding == "own")


def test_of_many_sizes_flops_shows_a_few_and_says_so():
    rows = sweep_flops(links("ring"), [1.0, 2.0], bounded_wait(), compute_us=1_000.0)
    figure = figure_of(rows, bandwidth.flops)
    assert caption_of(figure).startswith("n = 8, 64, 512, 4,096 ranks, 4 of 10 asked for.")
    assert len(figure.axes[0].lines) == 2 * 4 + 1


def test_one_growth_is_no_curve():
    rows = sweep_flops(links("ring"), [2.0], bounded_wait(), compute_us=1_000.0)
    with pytest.raises(SynctaxError, match="--flops-growth 1,2,4,8"):
        bandwidth.flops(rows)


def test_algorithms_shows_p_and_q_of_every_topology():
    rows = sweep(links(*TOPOLOGIES), [-0.5, -0.1], bounded_wait())
    figure = bandwidth.algorithms(rows)
    one = rows[rows["elasticity"] == -0.5]
    for axes, column in zip(figure.axes, ("p", "q"), strict=True):
        shown = curves(axes)
        assert len(shown) == len(TOPOLOGIES)
        for topology, name in bandwidth.TOPOLOGY_NAMES.items():
            points = one.loc[one["topology"] == topology, ["n", column]].to_numpy(float)
            np.testing.assert_allclose(shown[name], points)
        assert axes.get_ylabel().startswith(f"{column} (")
    assert caption_of(figure).startswith(
        "n = 8 to 4,096 (10 sizes) ranks. all_reduce takes"
    )


@given(st.integers(1, 2**20), st.integers(1, 2**20), st.integers(0, 12))
def test_ticks_of_sizes_have_room_and_lie_within(one, other, room):
    least, most = sorted((one, other))
    ticks = size_ticks(least, most, room)
    assert least <= ticks[0] <= ticks[-1] <= most
    assert len(ticks) <= max(room, 2)
    steps = np.diff(np.log2(ticks))
    assert (steps > 0).all()
    if len(ticks) > 2:
        np.testing.assert_allclose(steps, steps[0])
        assert steps[0] == round(steps[0])


@given(st.lists(st.floats(1e-3, 1e6), min_size=1), st.floats(1e-3, 1e3))
def test_whether_an_axis_is_logarithmic_does_not_hang_on_the_unit(values, unit):
    ratio = max(values) / min(values)
    if abs(ratio / 10 - 1) > 1e-9:
        assert is_wide(values) == is_wide([one * unit for one in values]) == (ratio > 10)


@given(st.lists(st.integers(), unique=True, min_size=1).map(sorted), st.integers(2, 9))
def test_a_few_of_many_values_keep_both_ends(values, most):
    chosen = bandwidth._spread(values, most)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(len(values), most)
    assert {values[0], values[-1]} <= set(chosen) <= set(values)


LLAMA = ("bandwidth", "--tax", "llama3-70b-h200", "--no-cache")


def test_the_command_draws_grown_flops_and_leaves_the_result_as_it_is(run, tmp_path):
    path = tmp_path / "figure.svg"
    args = ("--flops-growth", "1,2", "--compute-us", "9000", "--n", "8,64")
    asked = (*LLAMA, *args, "--format", "json")
    drawn = run(*asked, "--plot", path)
    assert drawn.exit_code == 0, drawn.stderr
    assert ">in step with FLOPS<" in path.read_text(encoding="utf-8")
    assert drawn.stdout == run(*asked).stdout


@pytest.mark.parametrize(
    ("figure", "axis"),
    [
        ("bandwidth", "best bandwidth B* (GB/s)"),
        ("algorithms", "p (messages one after another)"),
    ],
)
def test_each_figure_is_drawn_by_its_name(tmp_path, figure, axis):
    rows = sweep(links("ring"), [-0.5], bounded_wait(SIZES[:2]))
    path = tmp_path / "figure.svg"
    draw_rows(Plot(path, figure), rows, "a tax")
    assert f">{axis}<" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--figure", "flops"), "give --flops-growth"),
        (("--figure", "bandwidth", "--flops-growth", "2,4"), "--figure flops"),
        (("--flops-growth", "2"), "over several growths"),
        (("--n", "8"), "over several numbers of ranks"),
        (("--n", "8", "--figure", "algorithms"), "over several numbers of ranks"),
        (("--algorithms",), "lists formulas"),
        (("--residuals",), "no picture"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_it_is_computed(tmp_path, args, said):
    path = tmp_path / "figure.svg"
    found = CliRunner().invoke(main, [*LLAMA, *args, "--plot", str(path)])
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())
    assert not found.stdout
    assert not path.exists()


def test_one_size_of_a_preset_fails_after_the_result_is_told(run, tmp_path):
    path = tmp_path / "figure.svg"
    found = run(*LLAMA, "--hardware", "gb200-nvl72", "--plot", path)
    assert found.exit_code == 1
    assert "--n 8:4096" in found.stderr
    assert "switched" in found.stdout
    assert not path.exists()
