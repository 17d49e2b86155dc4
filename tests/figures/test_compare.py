"""Figures of a comparison hold what the comparison holds."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax.comparison.compare import compare
from synctax.comparison.kernels import kernels_of
from synctax.comparison.options import Options
from synctax.comparison.units import run_of
from synctax.errors import SynctaxError
from synctax.report.figures.compare import clocks, tax
from tests.compare.jobs import late, make, tax_of


@pytest.fixture(scope="module")
def taxes(tmp_path_factory):
    base = tmp_path_factory.mktemp("figures")
    return (
        tax_of(make(base / "a", seed=1)),
        tax_of(make(base / "b", seed=2, delays=late(us=3000))),
    )


@pytest.fixture(scope="module")
def found(taxes):
    kernels = tuple([kernels_of(run_of(one), workers=1)] for one in taxes)
    return compare(*taxes, kernels=kernels, options=Options(resamples=200))


def taxes_of(one, op):
    frame = one.per_collective()
    mine = frame[(frame["op"] == op) & (frame["status"] == "ok")]
    return np.sort(mine["tax_max_us"].to_numpy(float))


def test_curves_are_the_taxes_of_each_side_in_order(found, taxes):
    figure = tax(found)
    for axis, (group, op) in zip(figure.axes, found.rows, strict=True):
        assert axis.get_xlabel() == f"{group} {op}: tax (µs)"
        for line, one in zip(axis.lines, taxes, strict=True):
            values = taxes_of(one, op)
            assert_allclose(line.get_xdata()[:-1], [0, *values])
            assert_allclose(line.get_ydata()[:-1], np.arange(values.size + 1) / values.size)
        # both go to 1 at the end of the axis, whichever has the longest wait
        ends = [line.get_xydata()[-1].tolist() for line in axis.lines]
        assert ends == [[axis.get_xlim()[1], 1.0]] * 2
        assert ends[0][0] > max(taxes_of(one, op)[-1] for one in taxes)


def test_where_nobody_waits_on_either_side_a_sentence_stands_in_the_panel(taxes):
    idle = [
        replace(one, waits=replace(one.waits, longest_ns=one.waits.shortest_ns))
        for one in taxes
    ]
    for axis in tax(compare(*idle, options=Options(resamples=200))).axes:
        assert [text.get_text() for text in axis.texts] == ["nobody waits, in A nor in B"]
        assert axis.get_xlim() == (0, 1)


def test_the_two_sides_differ_without_colour(found):
    lines = tax(found).axes[0].lines
    assert lines[0].get_linestyle() != lines[1].get_linestyle()


def test_the_caption_tells_how_many(found):
    text = tax(found).get_supxlabel().replace("\n", " ")
    for group, op in found.rows:
        n = found.find(group, op, "tax_max_us_median").counts
        assert f"{group} {op} n = {n[0]:,} and {n[1]:,}" in text


def test_an_axis_over_decades_is_logarithmic(found):
    scales = {axis.get_xlabel(): axis.get_xscale() for axis in tax(found).axes}
    assert scales["tp all_gather: tax (µs)"] == "symlog"
    for axis in tax(found).axes:
        assert axis.xaxis.get_major_formatter()(1000.0, 0) == "1,000"


def test_lines_of_clocks_are_medians(found, taxes):
    figure = clocks(found)
    left, right = figure.axes
    group, op = found.rows[0]
    medians = [np.median(taxes_of(one, op)) for one in taxes]
    assert_allclose([line.get_xdata()[0] for line in left.lines], medians)
    row = next(c for c in found.kernel_changes if c.kernel_class == "gemm")
    assert_allclose([line.get_xdata()[0] for line in right.lines], row.median_us)
    assert left.get_xlabel() == f"tax of {group} {op} (µs)"
    assert right.get_xlabel() == "GEMM kernels: duration (µs)"


def test_shares_of_a_histogram_add_up_to_1(found):
    for axis in clocks(found).axes:
        for patch in axis.patches:
            corners = patch.get_xy()
            x, y = corners[:, 0], corners[:, 1]
            width = np.diff(np.unique(np.round(x, 6))).min()
            area = abs(float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) / 2))
            assert area / width == pytest.approx(1, rel=0.02)


def test_a_class_of_kernels_that_is_not_there_is_said(found):
    with pytest.raises(SynctaxError, match="no copies in A"):
        clocks(found, kernel_class="copy")


def test_without_kernels_or_common_rows_nothing_is_drawn(taxes, tmp_path):
    quick = Options(resamples=200)
    with pytest.raises(SynctaxError, match="was not measured"):
        clocks(compare(*taxes, options=quick))
    other = tax_of(make(tmp_path, seed=2, tp_op="all_reduce"))
    lone = compare(
        taxes[0],
        tax_of(make(tmp_path / "x", seed=2, tp_op="all_reduce"), op="all_reduce"),
        options=quick,
    )
    assert other.used.any()
    with pytest.raises(SynctaxError, match="no group and operation is on both sides"):
        tax(lone)
