"""What the figure of a sweep shows is what its table says."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax.cluster.sweep import Choices, Sweep
from synctax.cluster.sweep_lines import lines
from synctax.errors import SynctaxError
from synctax.report.figures import sweep as figures
from synctax.schema.sweep import SUMMARY_COLUMNS


def swept(choices: Choices, *, wrong=()) -> Sweep:
    """A sweep whose mean JCT is drawn; the combinations of some rows went wrong."""
    combinations = choices.combinations()
    jct_s = np.random.default_rng(0).uniform(3_600, 36_000, len(combinations))
    rest = {column.name: 1.0 for column in SUMMARY_COLUMNS}
    found = tuple(
        SynctaxError("no") if at in wrong else {**rest, "jct_mean_s": one, "jobs": 40}
        for at, one in enumerate(jct_s.tolist())
    )
    return Sweep(combinations, found)


POLICIES, QUEUES = ("bin-packing", "load-balancing"), ("backfill", "fifo")


def widths_h(axes) -> list[float]:
    return [bar.get_width() for bar in axes.patches]


@pytest.mark.parametrize(
    ("choices", "hue"),
    [
        (Choices(POLICIES, QUEUES, seeds=(0, 1, 2)), ["backfill", "fifo"]),
        (
            Choices(
                POLICIES,
                QUEUES[:1],
                models=("pollux", "mosim"),
                bases=("iteration", "network"),
            ),
            ["pollux", "mosim (iteration)", "mosim (network)"],
        ),
        (Choices(POLICIES, QUEUES[:1], (0.3, 1.0)), ["0.3 GB/s", "1 GB/s"]),
        (Choices(POLICIES, QUEUES[:1]), []),
        (Choices(POLICIES[:1], QUEUES[:1]), []),
    ],
)
def test_bars_are_the_means_of_lines_in_hours_with_seeds_and_intervals(choices, hue):
    found = swept(choices)
    figure = figures.jct(found)
    (axes,) = figure.axes
    told = [one.means["jct_mean_s"] for one in lines(found)]
    assert_allclose(widths_h(axes), [one.mean / 3_600 for one in told])
    assert axes.get_xlabel() == "mean JCT (h)"
    legend = [text.get_text() for one in figure.legends for text in one.texts]
    assert legend == hue
    seeds = len(choices.seeds)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    frame = found.to_frame()
    assert_allclose(
        [x for line in dots for x in line.get_xdata()],
        frame["jct_mean_s"] / 3_600 if seeds > 1 else [],
    )
    whiskers = axes.collections[0].get_segments()
    if seeds > 1:
        for one, segment in zip(told, whiskers, strict=True):
            ends = one.mean - one.half, one.mean + one.half
            assert_allclose(3_600 * segment[:, 0], ends)
    text = figure.get_supxlabel()
    assert text.startswith(f"n = {seeds} seed{'s' * (seeds > 1)} of 40 jobs")
    assert ("95 % intervals" in text) == (seeds > 1)


def test_what_all_bars_share_is_in_the_caption():
    figure = figures.jct(swept(Choices(POLICIES, ("easy",))))
    assert figure.get_supxlabel() == "n = 1 seed of 40 jobs; queue easy, model mosim"


def test_groups_are_named_once_by_what_else_they_differ_in():
    (axes,) = figures.jct(swept(Choices(POLICIES, QUEUES, (0.3, 1.0)))).axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [", ".join(both) for both in product(POLICIES, QUEUES)]


@pytest.mark.parametrize("policies", [POLICIES, POLICIES[:1]])
def test_three_rates_and_more_are_curves_over_them(policies):
    found = swept(Choices(policies, QUEUES[:1], (2.5, 0.3, 0.6), seeds=(0, 1)))
    figure = figures.jct(found)
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "rate of a NIC (GB/s)"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.3", "0.6", "2.5"]
    assert len(axes.containers) == len(policies)
    for container, policy in zip(axes.containers, policies, strict=True):
        mine = [one for one in lines(found) if one.setting["policy"] == policy]
        mine.sort(key=lambda one: one.setting["nic_gb_per_s"])
        x, y = container.lines[0].get_data()
        assert_allclose(x, [0.3, 0.6, 2.5], rtol=figures._ASIDE)
        assert_allclose(y, [one.means["jct_mean_s"].mean / 3_600 for one in mine])
    assert bool(figure.legends) == (len(policies) > 1)


def test_of_very_many_settings_the_shortest_are_drawn():
    rates = tuple(float(rate) for rate in range(1, 50))
    found = swept(Choices((*POLICIES, "spread", "most-allocated"), QUEUES, rates))
    figure = figures.jct(found)
    least = sorted(one.means["jct_mean_s"].mean / 3_600 for one in lines(found))
    assert_allclose(sorted(widths_h(figure.axes[0])), least[: figures.MOST_BARS])
    assert not figure.legends
    assert "the 60 shortest of 392 settings" in figure.get_supxlabel()


def test_what_went_wrong_is_counted_and_not_drawn():
    found = swept(Choices(POLICIES, QUEUES, seeds=(0, 1)), wrong={0, 1, 2})
    figure = figures.jct(found)
    assert len(widths_h(figure.axes[0])) == 3
    assert figure.get_supxlabel().endswith("3 of 8 failed")
    with pytest.raises(SynctaxError, match="no combination ran"):
        figures.jct(swept(Choices(POLICIES, QUEUES), wrong=range(4)))


def test_names_of_ones_own_policies_are_no_formulas():
    (axes,) = figures.jct(swept(Choices(("a$_x$:f", "b"), QUEUES))).axes
    assert axes.get_yticklabels()[0].get_text() == r"a\$_x\$:f"
