"""Pictures of an attribution show what its tables say."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax.attribution.results import Known
from synctax.errors import SynctaxError
from synctax.report.figures.attribute import (
    MEANINGS,
    MOST_PANELS,
    classes,
    variation,
)
from synctax.report.figures.attribute_ranks import (
    CAUSE,
    MOST_CLASSES,
    REST,
    RESTING,
    ranks,
)


def said(figure):
    return " ".join(figure.get_supxlabel().split())


def changed(found, **results):
    """The same attribution with other results."""
    return dataclasses.replace(found, results=dataclasses.replace(found.results, **results))


def with_roles(found, count):
    """The same attribution with groups spread over so many roles."""
    matches = found.tax.matches
    groups = [
        dataclasses.replace(group, role=f"role{number % count}")
        for number, group in enumerate(matches.groups)
    ]
    tax = dataclasses.replace(
        found.tax, matches=dataclasses.replace(matches, groups=tuple(groups))
    )
    return dataclasses.replace(found, tax=tax)


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


# ------------------------------------------------------------------ variation


def test_points_are_the_collectives_of_the_table(attribution):
    figure = variation(attribution)
    axis = figure.axes[0]
    frame = attribution.per_collective()
    frame = frame[frame["status"] == "ok"]
    drawn = (frame["tax_max_us"] > 0) & (frame["path_variation_us"] > 0)
    for line, role in zip(axis.lines, ("fsdp", "tp"), strict=False):
        mine = frame[(frame["group"] == role) & drawn]
        points = mine[["tax_max_us", "path_variation_us"]].to_numpy(np.float64)
        found = line.get_xydata()
        assert_allclose(found[np.lexsort(found.T)], points[np.lexsort(points.T)])
        assert line.get_label() == f"{role} (n = {(frame['group'] == role).sum()})"
    assert axis.lines[0].get_marker() != axis.lines[1].get_marker()
    assert f"Not drawn: {(~drawn).sum()} in which nobody waited." in said(figure)
    assert "n = 234 collectives" in said(figure)
    assert axis.get_xscale() == axis.get_yscale() == "log"
    assert axis.get_xlabel() == "measured tax (µs)"
    assert axis.get_ylabel() == "variation along the critical paths (µs)"


def test_the_line_is_that_of_equation_2(attribution):
    figure = variation(attribution)
    same, fitted = figure.axes[0].lines[-2:]
    fit = attribution.equation
    assert_allclose(same.get_xdata(), same.get_ydata())
    x, y = fitted.get_xydata().T
    assert_allclose(y, fit.slope * x + fit.intercept_us)
    assert fitted.get_label() == f"least squares: slope {fit.slope:.2f}, R² {fit.r2:.2f}"
    assert same.get_linestyle() != fitted.get_linestyle()
    assert f"slope {fit.slope:.2f}" in said(figure)
    assert f"of random paths {fit.placebo_r2:.2f}" in said(figure)


def test_negative_variations_are_counted_where_they_cannot_be_drawn(attribution):
    results = attribution.results
    own = results.path_variation_ns.copy()
    worst = np.argsort(results.tax_ns)[-3:]
    own[worst] *= -1
    figure = variation(changed(attribution, path_variation_ns=own))
    assert "3 whose variation is 0 or negative" in said(figure)
    assert figure.axes[0].get_xscale() == "log"


def test_taxes_of_one_size_have_linear_axes_with_all_points(attribution):
    size = len(attribution.results)
    rng = np.random.default_rng(2)
    tax_ns = rng.integers(1_000_000, 9_000_000, size)
    own_ns = tax_ns - 4_000_000
    found = changed(attribution, tax_ns=tax_ns, path_variation_ns=own_ns)
    figure = variation(found)
    axis = figure.axes[0]
    assert axis.get_xscale() == axis.get_yscale() == "linear"
    points = np.concatenate([line.get_xydata() for line in axis.lines[:2]])
    assert len(points) == found.used.sum()
    assert (points[:, 1] < 0).any()
    assert "Not drawn" not in said(figure)
    assert "intercept −4 ms" in said(figure)
    assert axis.xaxis.get_major_formatter()(12_000) == "12,000"


def test_equal_taxes_have_no_line(attribution):
    size = len(attribution.results)
    figure = variation(changed(attribution, tax_ns=np.full(size, 5_000)))
    assert [line.get_label() for line in figure.axes[0].lines[2:]] == ["y = x"]
    assert "Too few different taxes for a line." in said(figure)


def test_without_random_paths_none_are_told(attribution):
    none = [
        dataclasses.replace(paths, random_ns=np.full_like(paths.random_ns, -1))
        for paths in (attribution.slow, attribution.fast)
    ]
    figure = variation(dataclasses.replace(attribution, slow=none[0], fast=none[1]))
    assert "random" not in said(figure)


def test_many_roles_are_put_together(attribution, monkeypatch):
    found = with_roles(attribution, 6)
    assert sum("(n = " in label for label in legend(variation(found))) == 6
    monkeypatch.setattr("synctax.report.figures.attribute.MOST_ROLES", 4)
    labels = [label for label in legend(variation(found)) if "(n = " in label]
    assert len(labels) == 4
    assert labels[-1].startswith("3 other groups (n = ")
    counts = [int(label.split(" = ")[1].rstrip(")")) for label in labels]
    assert sum(counts) == 234


def test_where_nobody_waited_a_sentence_stands_in_the_panel(attribution):
    none = np.zeros_like(attribution.results.tax_ns)
    idle = changed(attribution, tax_ns=none, path_variation_ns=none)
    (axis,) = variation(idle).axes
    assert [text.get_text() for text in axis.texts] == ["nobody waited in any of them"]
    assert axis.get_xlim() == (0, 1)
    assert not variation(attribution).axes[0].texts


# ------------------------------------------------------------------ classes


def test_bars_are_the_rows_of_the_table(attribution):
    figure = classes(attribution)
    frame = attribution.to_frame()
    frame = frame[frame["tax_us"] > 0]
    for axis, role in zip(figure.axes, ("fsdp", "tp"), strict=True):
        mine = frame[frame["group"] == role]
        outer, inner = axis.containers
        assert_allclose([bar.get_width() for bar in outer], mine["tax_us"] / 1e3)
        assert_allclose([bar.get_width() for bar in inner], mine["variation_us"] / 1e3)
        named = [label.get_text() for label in axis.get_yticklabels()]
        assert named == mine["culprit_class"].tolist()
        texts = [text.get_text() for text in axis.texts]
        counts = [f"(n = {count})" for count in mine["collectives"]]
        assert all(count in text for count, text in zip(counts, texts, strict=True))
        assert axis.get_xlabel() == f"tax of {role} (ms)"
        # text beside the longest bar stays within the axes
        assert axis.get_xlim()[1] > 1.2 * mine["tax_us"].max() / 1e3
    assert figure.axes[1].texts[0].get_text() == "56 % (n = 46)"
    assert f"n = {frame['collectives'].sum()} collectives" in said(figure)


@pytest.mark.parametrize("figure", [classes, ranks])
def test_classes_whose_names_tell_nothing_are_explained_where_they_are(attribution, figure):
    there = set(attribution.to_frame().query("tax_us > 0")["culprit_class"])
    for name, meaning in MEANINGS.items():
        assert (f"{name}: {meaning}" in said(figure(attribution))) == (name in there)
    assert {"carried", "diffuse"} <= there


# ------------------------------------------------------------------ ranks


def test_stacks_are_the_taxes_of_the_ranks(attribution):
    figure = ranks(attribution)
    frame = attribution.per_rank()
    for axis, role in zip(figure.axes, ("fsdp", "tp"), strict=True):
        mine = frame[frame["group"] == role]
        layers = [[bar.get_height() for bar in container] for container in axis.containers]
        assert_allclose(np.sum(layers, axis=0), mine["tax_us"] / 1e3)
        causes = axis.collections[-1].get_segments()
        assert_allclose([one[0][1] for one in causes], mine["origin_tax_us"] / 1e3)
        labels = [label.get_text() for label in axis.get_xticklabels()]
        assert labels == [str(rank) for rank in mine["rank"]]
        assert axis.get_ylabel() == "tax (ms)"
        assert axis.get_xlabel() == f"rank of {role}"


def test_layers_are_the_classes_with_most_tax_and_the_rest(attribution):
    figure = ranks(attribution)
    sums = attribution.to_frame().groupby("culprit_class")["tax_us"].sum()
    sums = sums[sums > 0].sort_values(ascending=False)
    named = sums.index[:MOST_CLASSES].tolist()
    assert len(sums) > MOST_CLASSES
    heights = {}
    for axis in figure.axes:
        for container in axis.containers:
            total = sum(bar.get_height() for bar in container)
            key = container.get_label() if total else ""
            heights[key] = heights.get(key, 0) + total
            if key == RESTING:
                assert container[0].get_facecolor()[:3] == pytest.approx(
                    [int(REST[i : i + 2], 16) / 255 for i in (1, 3, 5)]
                )
    heights.pop("", None)
    assert heights.pop(RESTING) == pytest.approx(sums.iloc[MOST_CLASSES:].sum() / 1e3)
    assert set(heights) == set(named)
    for name, total in zip(named, sums, strict=False):
        assert heights[name] == pytest.approx(total / 1e3)
    assert legend(figure)[-1] == CAUSE
    hatches = [container[0].get_hatch() for container in figure.axes[0].containers]
    assert len(set(hatches)) == len(hatches)


def test_few_classes_have_a_colour_each(attribution, monkeypatch):
    monkeypatch.setattr("synctax.report.figures.attribute_ranks.MOST_CLASSES", 8)
    figure = ranks(attribution)
    assert RESTING not in legend(figure)
    frame = attribution.per_rank()
    heights = [
        bar.get_height()
        for axis in figure.axes
        for layer in axis.containers
        for bar in layer
    ]
    assert sum(heights) == pytest.approx(frame["tax_us"].sum() / 1e3)


def test_ties_are_counted_and_belong_to_nobody(attribution):
    waits = attribution.tax.waits
    straggler = waits.straggler.copy()
    rows = np.flatnonzero(attribution.used & (attribution.results.tax_ns > 0))[:5]
    straggler[attribution.results.slot[rows]] = -1
    tied = dataclasses.replace(
        attribution.tax, waits=dataclasses.replace(waits, straggler=straggler)
    )
    figure = ranks(dataclasses.replace(attribution, tax=tied))
    assert "5 of them without a last rank: ranks tie" in said(figure)
    assert "tie" not in said(ranks(attribution))


# ------------------------------------------------------------------ panels, nothing


@pytest.mark.parametrize("figure", [classes, ranks])
def test_groups_without_room_are_named(attribution, figure):
    made = figure(with_roles(attribution, MOST_PANELS + 1))
    assert len(made.axes) == MOST_PANELS
    assert "1 group left out for room: role" in said(made)


@pytest.mark.parametrize("figure", [variation, classes, ranks])
def test_without_an_attributed_collective_it_says_where_to_look(attribution, figure):
    unknown = np.full(len(attribution.results), Known.PATH_UNKNOWN, np.int8)
    with pytest.raises(SynctaxError, match=r"no collective was attributed.*--per-collec"):
        figure(changed(attribution, known=unknown))


@pytest.mark.parametrize("figure", [classes, ranks])
def test_without_a_wait_there_are_no_bars(attribution, figure):
    none = np.zeros(len(attribution.results), np.int64)
    with pytest.raises(SynctaxError, match="ranks waited in none"):
        figure(changed(attribution, tax_ns=none))
