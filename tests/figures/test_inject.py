"""The picture of delays shows what the table of `inject` says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax.errors import SynctaxError
from synctax.report.figures.inject import recovery
from tests.experiment.made import MISSING, recovered, row

DOSES_US = (0.0, 0.0, 1e3, 5e3, 5e3, 20e3, 20e3)


@pytest.fixture(scope="module")
def found():
    """Delays that come back with 30 µs more, but for one of 1 ms that nobody names."""
    missed = {"rank_named": False, "operator_named": False}
    return recovered(
        *(
            row(us, us + 30 + n, cluster=n, **(missed if us == 1e3 else {}))
            for n, us in enumerate(DOSES_US)
        ),
        row(9e3, 0.0, cluster=9, **MISSING),
    )


def said(figure):
    return " ".join(figure.get_supxlabel().split())


def labelled(axis):
    return {line.get_label(): line for line in axis.lines}


def test_points_are_tax_against_delay_of_what_was_attributed(found):
    figure = recovery(found)
    upper = figure.axes[0]
    points = labelled(upper)["a collective"].get_xydata()
    frame = found.per_collective()
    frame = frame[frame["status"] == "ok"]
    assert_allclose(points, frame[["delay_us", "tax_max_us"]] / 1e3)
    assert upper.get_xlabel() == "delay (ms)"
    assert upper.get_ylabel() == "tax (ms)"
    assert f"n = {len(DOSES_US)} collectives that delays reach" in said(figure)


def test_lines_are_those_of_the_result_with_their_interval(found):
    figure = recovery(found)
    lines = labelled(figure.axes[0])
    both = (("through medians", "robust"), ("least squares", "ordinary"))
    for label, name in both:
        line = getattr(found.by_delay, name)
        x, y = lines[f"{label}: slope {line.slope:.2f}"].get_xydata().T
        assert_allclose(y, line.slope * x + line.intercept_us / 1e3)
        assert (x[0], x[-1]) == (0, 20)
    x, y = lines["tax = delay"].get_xydata().T
    assert_allclose(x, y)
    line = found.by_delay.ordinary
    assert np.isfinite(line.slope_lo)
    interval = f"(95 % interval {line.slope_lo:.3f} to {line.slope_hi:.3f})"
    assert f"slope {line.slope:.3f} {interval}" in said(figure)
    assert f"n = {found.by_delay.steps} steps" in said(figure)


def test_shares_are_those_of_the_table_with_their_intervals(found):
    lower = recovery(found).axes[1]
    frame = found.to_frame()
    frame = frame[frame["judged"] > 0]
    (bars,) = lower.containers
    marks, _, (whiskers,) = bars.lines
    assert_allclose(marks.get_ydata(), frame["recovered_share"])
    ends = np.array(whiskers.get_segments())[:, :, 1]
    assert_allclose(ends[:, 0], frame["recovered_lo"])
    assert_allclose(ends[:, 1], frame["recovered_hi"])
    lines = labelled(lower)
    assert_allclose(lines["rank"].get_ydata(), frame["rank_named_share"])
    amounts = frame["amount_named_share"]
    assert_allclose(lines["both, and the amount"].get_ydata(), amounts)
    labels = [label.get_text() for label in lower.get_xticklabels()]
    assert labels == ["0 µs\nn = 2", "1 ms\nn = 1", "5 ms\nn = 2", "20 ms\nn = 2"]
    assert lower.get_ylabel() == "named (%)"
    assert lower.get_xlabel() == "size of delay"


@pytest.mark.parametrize(("least_us", "at"), [(5e3, 1.5), (2e4, 2.5), (9e4, None)])
def test_a_line_tells_from_where_delays_must_come_back(least_us, at):
    rows = [row(us, us + 30, cluster=n) for n, us in enumerate(DOSES_US)]
    lower = recovery(recovered(*rows, least_us=least_us)).axes[1]
    upright = [line.get_xdata()[0] for line in lower.lines if len(line.get_xdata()) == 2]
    assert upright == ([] if at is None else [at])


def test_what_the_host_hides_is_taken_off_where_it_is_known():
    rows = [
        row(10e3, 1e3 * n + 7, slack_us=10e3 - 1e3 * n, expected_us=1e3 * n, cluster=n)
        for n in range(4)
    ]
    figure = recovery(recovered(*rows, on_gpu=True))
    points = labelled(figure.axes[0])["a collective"].get_xydata()
    assert_allclose(points, [[n, n + 0.007] for n in range(4)])
    assert figure.axes[0].get_xlabel() == "delay beyond the slack (ms)"


def test_one_size_has_no_line():
    figure = recovery(recovered(row(5e3, 6e3), row(5e3, 6.1e3)))
    assert set(labelled(figure.axes[0])) == {"a collective", "tax = delay"}
    assert "Too few sizes of delay for a line." in said(figure)


def test_without_repeats_no_interval_is_told():
    figure = recovery(recovered(row(1e3, 1e3, cluster=0), row(5e3, 6e3, cluster=1)))
    assert "Least squares: slope 1.250, R² 1.00, n = 2 steps." in said(figure)


def test_nothing_attributed_says_where_to_look():
    with pytest.raises(SynctaxError, match=r"could be attributed.*--per-collective"):
        recovery(recovered(row(5e3, 0.0, **MISSING)))
