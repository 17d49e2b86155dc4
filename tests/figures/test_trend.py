"""The figure of a trend shows the rows of its table."""

import numpy as np
import pytest

import synctax
from synctax.comparison.options import Options
from synctax.errors import SynctaxError
from synctax.report.figures.trend import MOST_RANKS, OTHERS, trend
from tests.compare.windows import windows

pytest.importorskip("matplotlib")


def made(count=12, ranks=4, slow_from=6, **options):
    rng = np.random.default_rng(0)
    delays = [rng.exponential(10, (24, ranks)) for _ in range(count)]
    for late in delays[slow_from:]:
        late[:, 2] += 60
    return synctax.trend(synctax.measure(windows(delays, **options)))


def test_lines_and_band_are_the_columns():
    found = made()
    frame, figure = found.to_frame(), trend(found)
    axis = figure.axes[0]
    mean, median, at = axis.lines
    assert mean.get_xdata().tolist() == frame["iteration"].tolist()
    assert mean.get_ydata().tolist() == frame["tax_max_us_mean"].tolist()
    assert median.get_ydata().tolist() == frame["tax_max_us_median"].tolist()
    band = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert set(frame["tax_max_mean_us_lo"]) <= set(band) >= set(frame["tax_max_mean_us_hi"])
    # half-way between the last window before and the first after
    assert at.get_xdata()[0] == 650
    assert axis.get_ylabel() == "tax (µs)"
    assert figure.axes[-1].get_xlabel() == "iteration"
    assert "n = 276 collectives in 12 windows" in figure.get_supxlabel()


def test_every_straggler_has_its_share_as_height():
    found = made()
    frame = found.to_frame()
    heights = {}
    for bars in trend(found).axes[1].containers:
        for bar in bars:
            middle = round(bar.get_x() + bar.get_width() / 2)
            heights[middle] = (bars.get_label(), bar.get_height())
    ranks, shares = frame["straggler_rank"], frame["straggler_share"]
    assert heights == {
        number: (f"rank {rank}", share)
        for number, rank, share in zip(frame["iteration"], ranks, shares, strict=True)
    }


def test_ranks_without_a_colour_share_one():
    found = made(count=30, ranks=16, slow_from=30)
    labels = [bars.get_label() for bars in trend(found).axes[1].containers]
    assert len(labels) == MOST_RANKS + 1
    assert labels[-1] == OTHERS


def test_shares_of_culprits_are_stacked(example):
    tax, attribution = example
    found = synctax.trend(tax, attribution, by="step")
    table = found.culprits()
    first = found.lines[0].part
    mine = table[(table["group"] == first.role) & (table["op"] == first.op.label)]
    figure = trend(found)
    sums = {}
    for bars in figure.axes[2].containers:
        drawn = [bar.get_height() for bar in bars]
        own = mine[mine["culprit_class"] == bars.get_label()]["share_of_tax"].sum()
        if bars.get_label() != OTHERS:
            assert sum(drawn) == pytest.approx(own)
        for place, height in enumerate(drawn):
            sums[place] = sums.get(place, 0) + height
    assert list(sums.values()) == pytest.approx([1.0] * len(sums))
    assert figure.axes[2].get_xlabel() == "step"


@pytest.fixture(scope="module")
def example():
    from pathlib import Path

    traces = Path(__file__).parents[2] / "examples" / "tp4-fsdp2"
    tax = synctax.measure(synctax.load(traces, workers=1), group="tp")
    return tax, synctax.attribute(tax, workers=1)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("window", "one window makes no trend; name a folder with several, or cut it"),
        ("step", "one step makes no trend; name traces of several steps"),
        (100, "one part makes no trend; cut the steps into shorter parts with --by"),
    ],
)
def test_one_point_is_no_figure_and_what_was_done_is_not_advised(by, said):
    delays_us = np.random.default_rng(0).exponential(10, (24, 4))
    with pytest.raises(SynctaxError, match=said):
        drawn([delays_us], by, steps=1 if by == "step" else 4)


def drawn(delays_us, by="window", **options):
    return trend(synctax.trend(synctax.measure(windows(delays_us, **options)), by=by))


def said(axis):
    return [text.get_text() for text in axis.texts]


@pytest.mark.parametrize(("count", "by"), [(3, "window"), (1, "step")])
def test_panels_in_which_nobody_waited_say_so_and_steps_are_whole(count, by):
    figure = drawn([np.zeros((24, 4))] * count, by, apart=1)
    tax, last = figure.axes
    assert said(tax) == ["nobody waited: every tax is 0 µs"]
    assert said(last) == ["nobody was last: ranks tie in every collective"]
    assert tax.get_ylim() == (0, 1)
    for axis in figure.axes:
        ticks = axis.get_xticks()
        assert (ticks == ticks.round()).all()
    assert "no interval: too few steps" in figure.get_supxlabel()


def test_panels_with_something_in_them_say_nothing():
    figure = trend(made())
    assert [said(axis) for axis in figure.axes] == [[], []]


def test_long_intervals_of_few_steps_leave_room_for_the_means():
    rng = np.random.default_rng(0)
    figure = drawn([rng.exponential(10, (4, 3)) for _ in range(6)], steps=2)
    mean = figure.axes[0].lines[0].get_ydata()
    assert figure.axes[0].get_ylim()[1] == pytest.approx(3 * max(mean))
    assert figure.get_supxlabel().endswith("Intervals go on above the panel.")
    assert "go on" not in trend(made()).get_supxlabel()


def test_an_interval_between_two_points_without_is_drawn():
    rng = np.random.default_rng(0)
    delays = [rng.exponential(10, (24, 3)) for _ in range(5)]
    for number in (0, 1, 3, 4):
        delays[number] = np.tile([0.0, 10.0, 0.0], (24, 1))
    found = synctax.trend(synctax.measure(windows(delays)))
    low = found.to_frame()["tax_max_mean_us_lo"]
    assert low.notna().tolist() == [False, False, True, False, False]
    figure = trend(found)
    line = figure.axes[0].collections[-1].get_segments()
    assert [one[0].tolist() for one in line] == [[300, low[2]]]
    assert "interval at 1 of 5 windows" in " ".join(figure.get_supxlabel().split())


def test_levels_are_those_that_were_asked_for():
    delays = [np.random.default_rng(0).exponential(10, (24, 3)) for _ in range(3)]
    options = Options(level=0.8)
    figure = trend(synctax.trend(synctax.measure(windows(delays)), options=options))
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert "80 %" in labels
    assert "with 80 % interval" in figure.get_supxlabel()
