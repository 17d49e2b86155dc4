"""Curves over logarithmic axes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.report.curves import Curve, log_log

amounts = st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=12)


def curve(y, *, name="y", mark="●", sign="*") -> Curve:
    x = 2.0 ** np.arange(len(y))
    return Curve(name, mark, sign, x, np.array(y, np.float64))


def heights(lines: list[str], width: int, mark: str = "●") -> list[int]:
    """Lines from the bottom at which each column is marked."""
    body = [line.partition("│")[2].ljust(width) for line in lines[:-3]]
    return [
        next(i for i, row in enumerate(reversed(body)) if row[column] == mark)
        for column in range(width)
    ]


@given(amounts, st.integers(2, 40), st.integers(2, 12))
def test_every_column_is_marked_once(y, width, height):
    lines = log_log([curve(y)], width=width, height=height)
    assert len(lines) == height + 3
    for column in range(width):
        marked = [line.partition("│")[2].ljust(width)[column] for line in lines[:height]]
        assert marked.count("●") == 1


@given(amounts)
def test_what_never_falls_is_drawn_so(y):
    found = heights(log_log([curve(sorted(y))], width=20, height=6), 20)
    assert found == sorted(found)


@given(amounts, st.floats(1e-2, 1e2))
def test_a_factor_changes_labels_only(y, factor):
    one, other = (
        heights(log_log([curve(values)], width=16, height=5), 16)
        for values in (y, [factor * v for v in y])
    )
    # where a point falls between two lines, rounding may decide either way
    assert max(abs(a - b) for a, b in zip(one, other, strict=True)) <= 1


def test_a_power_law_is_a_straight_line():
    lines = log_log([curve([1.0, 2.0, 4.0, 8.0])], width=4, height=4)
    assert heights(lines, 4) == [0, 1, 2, 3]


def test_the_first_of_two_curves_is_seen():
    both = [curve([1.0, 10.0]), curve([1.0, 10.0], name="z", mark="○")]
    body = "".join(log_log(both, width=8, height=4)[:4])
    assert "●" in body
    assert "○" not in body


def test_a_constant_is_drawn_flat():
    assert set(heights(log_log([curve([5.0, 5.0, 5.0])], width=9, height=3), 9)) == {0}


def test_points_that_are_no_numbers_are_left_out():
    gap = curve([1.0, np.nan, 100.0])
    assert heights(log_log([gap], width=3, height=3), 3) == [0, 1, 2]
    empty = curve([np.nan, np.nan], name="none")
    assert len(log_log([curve([1.0, 2.0]), empty], width=4, height=3)) == 6


@pytest.mark.parametrize("y", [[], [3.0], [np.nan, 1.0], [0.0, -1.0]])
def test_fewer_than_two_points_draw_nothing(y):
    assert log_log([curve(y)]) == []


@given(amounts)
def test_ascii_draws_with_ascii(y):
    assert "".join(log_log([curve(y)], blocks=False)).isascii()
