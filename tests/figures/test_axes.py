"""Axes: how their numbers are written."""

from itertools import pairwise

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from synctax.report.figures.axes import numbered


@pytest.mark.parametrize("most", [7, 1_750, 17_500, 9_999_999, 3e12])
def test_numbers_of_an_axis_stand_apart(most):
    figure = Figure(figsize=(3.0, 2.0))
    FigureCanvasAgg(figure).draw()
    axes = figure.add_subplot()
    axes.set_xlim(0, most)
    numbered(axes)
    figure.canvas.draw()
    boxes = [
        label.get_window_extent()
        for label in axes.get_xticklabels()
        if 0 <= label.get_position()[0] <= most
    ]
    assert len(boxes) > 1
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
