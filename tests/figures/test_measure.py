"""Pictures of a tax show what its tables say."""

import dataclasses
import re
import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import synctax
from synctax.collectives.lasts import LEAST_SHOWN, MOST_COLUMNS
from synctax.collectives.model import Group
from synctax.errors import SynctaxError
from synctax.report.figures.measure import (
    MOST_CURVES,
    MOST_PANELS,
    MOST_TICKS,
    cdf,
    last,
    runs,
)
from synctax.report.figures.style import named, save, styled
from tests.collectives.job import C, rank
from tests.laws import examples, few


def heat(axis):
    """Shares of a heat map: (ranks, columns), NaN where there is nothing."""
    return np.ma.filled(axis.images[0].get_array(), np.nan)


def said(figure):
    return " ".join(figure.get_supxlabel().split())


# ------------------------------------------------------------------ cdf


def test_curves_are_the_shares_of_the_collectives_that_count(tax):
    figure = cdf(tax)
    frame = tax.per_collective()
    frame = frame[frame["status"] == "ok"]
    rows = tax.to_frame()
    for axis, name in zip(figure.axes, ("share_fastest", "share_median"), strict=True):
        for line, row in zip(axis.lines, rows.itertuples(), strict=True):
            mine = frame[(frame["group"] == row.group) & (frame["op"] == row.op)]
            x, y = line.get_xydata().T
            assert_allclose(x[1:-1], np.sort(mine[name]))
            assert_allclose(y[1:-1], np.arange(1, len(mine) + 1) / len(mine))
            assert line.get_label() == f"{row.group} {row.op} (n = {len(mine)})"
            assert line.get_drawstyle() == "steps-post"
    assert len({line.get_linestyle() for line in figure.axes[0].lines}) == len(rows)
    assert "n = 234 collectives of 8 ranks" in said(figure)


def test_axes_tell_their_units(tax):
    first, second = cdf(tax).axes
    assert first.get_xlabel() == "time that the fastest rank waits (%)"
    assert second.get_xlabel() == "time that the median rank waits (%)"
    assert first.get_ylabel() == "collectives (%)"
    # shares are written as percentages
    assert first.xaxis.get_major_formatter()(0.4) == "40"


def test_more_curves_than_can_be_told_apart_are_named_instead(made):
    roles = [f"role{k}" for k in range(MOST_CURVES + 2)]
    found = made(
        [[10.0 * (len(roles) - k), 0] for k in range(len(roles))],
        group_of=range(len(roles)),
        roles=roles,
    )
    figure = cdf(found)
    assert len(figure.axes[0].lines) == MOST_CURVES
    assert f"n = {MOST_CURVES} collectives" in said(figure)
    # those with least waits
    names = "role7 all_reduce, role8 all_reduce"
    assert said(figure).endswith(f"2 curves left out for room: {names}")


def test_dollars_of_group_names_are_no_formulas(made):
    found = made([[9.0, 0.0]], roles=["a$b$"])
    assert cdf(found).axes[0].lines[0].get_label() == r"a\$b\$ all_reduce (n = 1)"
    assert r"a\$b\$" in last(found).axes[0].get_xlabel()
    assert r"a\$b\$" in runs(found).axes[0].get_title()


@pytest.mark.parametrize("name", ["组\x00\x1b[31m\u202e\ud800<b>", "x" * 400])
@pytest.mark.parametrize("figure", [cdf, last, runs])
def test_names_play_no_tricks_in_files(made, tmp_path, figure, name):
    path = tmp_path / "made.svg"
    save(figure(made([[9.0, 0.0]], roles=[name])), path)
    text = "".join(ET.parse(path).getroot().itertext())
    assert named(name) in text


def test_where_nobody_waits_a_sentence_stands_in_each_panel(made):
    for axis in cdf(made([[0.0, 0.0], [0.0, 0.0]])).axes:
        assert [text.get_text() for text in axis.texts] == ["it waits in none of them"]
    assert not any(axis.texts for axis in cdf(made([[9.0, 0.0]])).axes)


@pytest.mark.parametrize("sign", ["W", "组", "i"])
def test_legends_of_wide_letters_fit_into_the_picture(made, sign):
    roles = [sign * 400 + str(k) for k in range(3)]
    waits = [[30.0 - 10 * k, 0] for k in range(3)]
    for figure in (cdf, runs):
        drawn = figure(made(waits, group_of=range(3), roles=roles))
        with styled(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no font here may have the sign
            drawn.draw_without_rendering()
            (legend,) = drawn.legends
            ends = legend.get_window_extent()
        assert ends.x0 >= 0
        assert ends.x1 <= drawn.bbox.x1


# ------------------------------------------------------------------ last


def test_places_of_few_collectives_are_whole_numbers(made):
    for many in (1, 2, 3, 5):
        axis = last(made([[9.0, 0.0]] * many)).axes[0]
        ticks = axis.get_xticks()
        assert_allclose(ticks, np.round(ticks))
        labels = [axis.xaxis.get_major_formatter()(tick, 0) for tick in ticks]
        assert len(set(labels)) == len(labels)


def test_where_all_ranks_tie_a_sentence_stands_in_the_map(made):
    axis = last(made([[0.0, 0.0], [0.0, 0.0]])).axes[0]
    said = [text.get_text() for text in axis.texts]
    assert said == ["ranks tie in all of them: none was last"]
    assert not last(made([[9.0, 0.0]])).axes[0].texts


WAITS = st.integers(2, 4).flatmap(
    lambda ranks: st.lists(
        st.lists(st.sampled_from([0.0, 10.0, 20.0]), min_size=ranks, max_size=ranks),
        min_size=1,
        max_size=8,
    )
)


@settings(max_examples=examples(60))
@given(WAITS)
def test_columns_are_collectives_and_hold_who_was_last_and_runs_add_up(made, waits):
    found = made(waits)
    straggler = found.per_collective()["straggler_rank"].fillna(-1)
    shares = heat(last(found).axes[0])
    assert shares.shape == (len(waits[0]), len(waits))
    for column, who in zip(shares.T, straggler, strict=True):
        alone = np.zeros(len(waits[0]))
        if who >= 0:
            alone[int(who)] = 1
        assert_allclose(column, alone)
    untied = int((straggler >= 0).sum())
    if not untied:
        with pytest.raises(SynctaxError, match="ranks tie in every collective"):
            runs(found)
        return
    axis = runs(found).axes[0]
    (k, counts), (_, expected) = (line.get_xydata().T for line in axis.lines)
    # the sum of lengths is that of how many runs reach each length
    assert np.nansum(counts) == untied
    longest = found.to_frame()["straggler_longest_run"][0]
    assert k[~np.isnan(counts)].max() == longest
    assert (expected[~np.isnan(expected)] >= LEAST_SHOWN).all()
    assert f"(n = {untied})" in axis.get_title()


def test_each_role_has_a_panel_with_its_ranks(tax):
    figure = last(tax)
    frame = tax.per_rank()
    for axis, role in zip(figure.axes, ("tp", "fsdp"), strict=True):
        mine = frame[frame["group"] == role]
        counts = mine.groupby("rank")["straggler_count"].sum()
        shares = heat(axis)
        assert_allclose(np.nansum(shares, axis=1), counts)
        labels = [label.get_text() for label in axis.get_yticklabels()]
        assert labels == [str(rank) for rank in counts.index]
        assert axis.get_ylabel() == "rank"
        assert (
            axis.get_xlabel() == f"place among the {role} collectives of the rank's group"
        )
    assert "n = 234 collectives of 8 ranks. Dark: the rank was last." in said(figure)


def test_neighbours_share_a_column_where_there_are_very_many(made):
    count = 2 * MOST_COLUMNS + 1
    rng = np.random.default_rng(1)
    late = rng.integers(0, 2, count)
    found = made(np.where(late[:, None] == np.arange(2), 0.0, 50.0))
    figure = last(found)
    shares = heat(figure.axes[0])
    assert shares.shape == (2, -(-count // 3))
    sizes = np.full(shares.shape[1], 3)
    assert count == sizes.sum()
    assert_allclose((shares * sizes).sum(axis=1), [(late == r).sum() for r in (0, 1)])
    assert_allclose(shares.sum(axis=0), 1)
    assert "Up to 3 collectives in a row share a column" in said(figure)
    scale = figure.axes[1]
    assert scale.get_ylabel() == "last in (%)"
    # the share of equal ranks is marked in the scale
    assert_allclose(scale.lines[0].get_ydata(), 0.5)


def test_shares_are_of_the_collectives_in_which_no_ranks_tie(made):
    count = 2 * MOST_COLUMNS + 1
    waits = np.zeros((count, 2))
    # one rank waits in every other collective, and in the last columns ranks tie
    waits[: count - 30 : 2, 0] = 50.0
    found = made(waits)
    figure = last(found)
    shares = heat(figure.axes[0])
    assert_allclose(shares[:, :-10].sum(axis=0), 1)
    assert_allclose(shares[:, -10:], 0)
    assert "Where ranks tie none is last, and it counts in no share" in said(figure)
    ranks = found.per_rank()
    assert ranks["straggler_share"].tolist() == [0, 1]


def test_of_very_many_ranks_a_few_are_named_and_columns_are_wider(made):
    ranks, count = 4 * MOST_TICKS, 130
    late = np.arange(count) % ranks
    found = made(np.where(late[:, None] == np.arange(ranks), 0.0, 50.0))
    axis = last(found).axes[0]
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels == [str(rank) for rank in range(0, ranks, 4)]
    shares = heat(axis)
    assert shares.shape == (ranks, 44)
    assert_allclose(np.nansum(shares[:, :43] * 3), 129)


def test_windows_of_the_same_ranks_add_up(made):
    both = made([[9.0, 0], [9.0, 0], [0, 9.0]], group_of=[0, 1, 1], roles=["dp", "dp"])
    assert_allclose(heat(last(both).axes[0]), [[0, 0, 1], [1, 1, 0]])


def test_a_sibling_with_fewer_collectives_ends_in_grey():
    groups = [Group(str(k), (2 * k, 2 * k + 1), "tp", 2, "kernel") for k in (0, 1)]
    ends, late = [1_000.0, 2_000.0, 3_000.0], [20, 90]
    ranks = [
        rank(
            number,
            [C(end, late[number % 2]) for end in ends[: 3 - 2 * (number // 2)]],
            groups=(groups[number // 2],),
        )
        for number in range(4)
    ]
    shares = heat(last(synctax.measure(ranks, include_head=True)).axes[0])
    nan = np.nan
    assert_allclose(shares, [[1, 1, 1], [0, 0, 0], [1, nan, nan], [0, nan, nan]])


def test_panels_that_have_no_room_are_named(made):
    roles = [f"role{k}" for k in range(MOST_PANELS + 1)]
    waits = [[10.0 * (len(roles) - k), 0] for k in range(len(roles))]
    found = made(waits, group_of=range(len(roles)), roles=roles)
    figures = last(found), runs(found)
    for figure in figures:
        assert len([axis for axis in figure.axes if axis.get_visible()]) == MOST_PANELS
    assert said(figures[0]).endswith("1 group left out for room: role4")
    assert said(figures[1]).endswith("1 panel left out for room: role4 all_reduce")


# ------------------------------------------------------------------ runs


def test_equal_ranks_would_have_runs_of_geometric_lengths(made):
    late = [0, 1, 2, 3] * 25
    found = made(np.where(np.array(late)[:, None] == np.arange(4), 0.0, 50.0))
    k, expected = runs(found).axes[0].lines[1].get_xydata().T
    assert_allclose(k, [1, 2])
    # 100 draws of 4: a run begins at the first, and with 3/4 at each next one
    assert_allclose(expected, [1 + 99 * 0.75, (1 + 98 * 0.75) / 4])


def test_a_persistent_straggler_has_longer_runs_than_chance_gives(tax):
    axis = runs(tax).axes[0]
    (k, counts), (_, expected) = (line.get_xydata().T for line in axis.lines)
    assert axis.get_title() == "tp all_reduce (n = 94)"
    assert k[-1] == tax.to_frame()["straggler_longest_run"][0]
    assert counts[-1] > 10 * expected[-1]
    assert axis.get_yscale() == "log"
    assert axis.get_xscale() == "linear"
    assert axis.get_xlabel() == "collectives in a row, k"
    assert axis.get_ylabel() == "runs of k or more"


@pytest.mark.parametrize("length", few([41, MOST_COLUMNS + 5]))
def test_very_long_runs_have_a_logarithmic_axis(made, length):
    late = np.zeros(length, np.int64)
    late[0] = 1
    found = made(np.where(late[:, None] == np.arange(2), 0.0, 50.0))
    axis = runs(found).axes[0]
    (k, counts), _ = (line.get_xydata().T for line in axis.lines)
    assert axis.get_xscale() == ("log" if length > 41 else "linear")
    assert (k[-1], counts[-1]) == (length - 1, 1)
    assert k.size < MOST_COLUMNS


# ------------------------------------------------------------------ nothing to draw


@pytest.mark.parametrize("figure", [cdf, last, runs])
def test_without_a_collective_that_counts_it_says_where_to_look(made, figure):
    found = made([[9.0, 0.0]])
    none = dataclasses.replace(found, used=np.zeros_like(found.used))
    with pytest.raises(SynctaxError, match="no collective counts") as error:
        figure(none)
    assert re.search("--per-collective", str(error.value))
