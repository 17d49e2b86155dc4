"""Distributions as text."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.report import text_plots
from synctax.report.text_plots import Layer, cdf, plot, sparkline

shares = st.lists(st.floats(0, 1), min_size=1, max_size=50).map(np.array)


@given(shares, st.integers(1, 40))
def test_a_sparkline_has_a_character_a_bin_and_a_full_block(values, bins):
    line = sparkline(values, low=0, high=1, bins=bins)
    assert len(line) == bins
    assert "█" in line


@given(shares)
def test_a_bin_that_holds_anything_is_not_blank(values):
    line = sparkline(np.append(np.zeros(1000), values), low=0, high=1, bins=10)
    for value in values:
        assert line[min(int(value * 10), 9)] != " "


@given(shares)
def test_order_does_not_matter(values):
    assert sparkline(values) == sparkline(values[::-1])
    assert cdf(values) == cdf(values[::-1])


@given(shares)
def test_a_cdf_never_falls_and_ends_at_the_top(values):
    lines = [line[7:].ljust(20) for line in cdf(values, width=20, height=4)[:-2]]
    heights = [sum(" ▁▂▃▄▅▆▇█".index(line[i]) for line in lines) for i in range(20)]
    assert heights == sorted(heights)
    assert heights[-1] == 4 * 8


def test_values_beyond_the_axis_count_in_the_outer_bins():
    assert sparkline(np.array([-5.0, 9.0]), low=0, high=1, bins=3) == "█ █"


def test_one_value_fills_one_bin():
    assert sparkline(np.array([3.0, 3.0]), bins=4) == "█   "


def test_what_is_no_number_is_left_out():
    assert cdf(np.array([np.nan])) == []
    assert sparkline(np.array([np.nan, 1.0]), bins=1) == "█"


@given(shares)
def test_ascii_draws_with_ascii(values):
    text = sparkline(values, blocks=False) + "".join(cdf(values, blocks=False))
    assert text.isascii()


@pytest.mark.parametrize(
    ("encoding", "can"), [("utf-8", True), ("ascii", False), ("cp1252", False)]
)
def test_blocks_are_drawn_where_the_encoding_has_them(monkeypatch, encoding, can):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert text_plots.can_show_blocks() is can


ENDS = ("left", "right", "low", "high")
points = st.lists(
    st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=30
).map(np.array)


@given(points, st.integers(12, 60), st.integers(2, 9))
def test_a_plot_keeps_to_its_frame(xy, width, height):
    lines = plot([Layer(xy[:, 0], xy[:, 1], "o")], labels=ENDS, width=width, height=height)
    assert len(lines) == height + 2
    assert max(map(len, lines)) <= len("high │") + width
    assert any("o" in line for line in lines[:height])


@given(points)
def test_the_highest_point_is_in_the_first_line_and_the_lowest_in_the_last(xy):
    lines = plot([Layer(xy[:, 0], xy[:, 1], "o")], labels=ENDS, height=5)
    low, high = xy[:, 1].min(), xy[:, 1].max()
    assert "o" in lines[4]
    assert ("o" in lines[0]) == (high > low)


def test_later_layers_lie_on_top_and_columns_are_filled():
    x = np.array([0.0, 1.0])
    lines = plot(
        [Layer(x, np.array([1.0, 0.0]), "#", filled=True), Layer(x, x, "o")],
        labels=ENDS,
        width=12,
        height=2,
        blocks=False,
    )
    assert lines == [
        "high |#          o",
        " low |o          #",
        "     +------------",
        "      left   right",
    ]


def test_points_that_are_not_finite_are_left_out():
    x, nan = np.array([0.0, 1.0, 2.0]), np.full(3, np.nan)
    assert plot([Layer(x, nan, "o")], labels=ENDS) == []
    one, other = (
        plot([Layer(x[:2], x[:2], "o"), *more], labels=ENDS)
        for more in ([], [Layer(x, np.array([0.0, 1.0, np.inf]), "o")])
    )
    assert one == other
