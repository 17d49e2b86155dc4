"""α and B of a link from how long collectives took."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from synctax.bandwidth.basis import fit_text
from synctax.bandwidth.calibrate import calibrate
from synctax.bandwidth.nccl_tests import Measured, read_nccl_tests
from synctax.bandwidth.topology import Domain, Layout, cost
from synctax.errors import FitError, SynctaxError
from tests.bandwidth.nccl_output import Bench

SIZES = [2**k for k in range(13, 33)]
SWITCHED = Layout("switched")


def measured(layout, alpha_us, gb_per_s, *, sizes=SIZES, n=8, op="all_reduce", noise=0.0):
    """Time collectives of which α and B are known."""
    found = cost(layout, op, np.array([float(n)]))
    draw = np.random.default_rng(7)
    return [
        Measured(
            "made", op, n, size,
            (found.p[0] * alpha_us + found.q[0] * size / gb_per_s / 1e3)
            * float(np.exp(noise * draw.standard_normal())),
        )
        for size in sizes
    ]  # fmt: skip


@given(
    st.sampled_from(["ring", "torus3d", "switched", "tree", "in_switch"]),
    st.floats(0.1, 100),
    st.floats(1, 5000),
)
def test_exact_times_give_back_latency_and_bandwidth(topology, alpha, rate):
    layout = Layout(topology)
    found = calibrate(measured(layout, alpha, rate), layout)
    assert found.alpha_us == pytest.approx(alpha, rel=1e-6)
    assert found.gb_per_s == pytest.approx(rate, rel=1e-6)
    assert found.r2 == pytest.approx(1)
    assert_allclose(found.residual, 0, atol=1e-9)


def test_files_of_several_operations_and_sizes_are_one_fit():
    lines = [
        line
        for n, op in ((4, "all_reduce"), (8, "all_gather"), (64, "reduce_scatter"))
        for line in measured(SWITCHED, 5.0, 370.0, n=n, op=op)
    ]
    found = calibrate(lines, SWITCHED)
    assert found.alpha_us == pytest.approx(5)
    assert found.gb_per_s == pytest.approx(370)


def test_a_printed_benchmark_gives_its_link(tmp_path):
    path = tmp_path / "all_reduce.txt"
    path.write_text(Bench().text(SIZES, lambda s: 2 * 5.0 + 1.75 * s / 370e3))
    found = calibrate(read_nccl_tests([path])[0], SWITCHED)
    assert found.alpha_us == pytest.approx(5.0, rel=1e-3)
    assert found.gb_per_s == pytest.approx(370.0, rel=1e-3)


def test_standard_errors_are_as_wide_as_the_estimates_scatter():
    draws, exact = np.random.default_rng(3), measured(SWITCHED, 5.0, 370.0)
    found = []
    for _ in range(200):
        lines = [
            Measured(m.file, m.op, m.n, m.payload_bytes, m.time_us * np.exp(0.05 * z))
            for m, z in zip(exact, draws.standard_normal(len(SIZES)), strict=True)
        ]
        found.append(calibrate(lines, SWITCHED))
    for name, truth in (("alpha_us", 5.0), ("gb_per_s", 370.0)):
        values = np.array([getattr(fit, name) for fit in found])
        errors = np.array([getattr(fit, f"{name}_se") for fit in found])
        assert np.median(errors) == pytest.approx(values.std(), rel=0.2)
        assert np.mean(abs(values - truth) < 2 * errors) > 0.88


def test_every_line_counts_alike_whatever_its_size():
    lines = measured(SWITCHED, 5.0, 370.0)
    worse = [
        *lines[:-1],
        Measured("made", "all_reduce", 8, SIZES[-1], 2 * lines[-1].time_us),
    ]
    # absolute errors would give the latency of a line through the largest buffer alone
    assert calibrate(worse, SWITCHED).alpha_us == pytest.approx(5.0, rel=0.05)


def test_residuals_are_measured_over_fitted():
    fit = calibrate(measured(SWITCHED, 5.0, 370.0, noise=0.1), SWITCHED)
    assert_allclose(fit.fitted_us * (1 + fit.residual), fit.time_us)
    assert 0.9 < fit.r2 < 1


@given(st.floats(0.1, 50))
def test_a_latency_that_is_given_is_kept(alpha):
    lines = measured(SWITCHED, alpha, 370.0, sizes=[2**30, 2**31, 2**32])
    found = calibrate(lines, SWITCHED, alpha_us=alpha)
    assert (found.alpha_us, found.alpha_us_se) == (alpha, 0.0)
    assert found.gb_per_s == pytest.approx(370)


def test_the_share_of_latency_tells_what_is_extrapolated():
    small, large = (
        calibrate(measured(SWITCHED, 5.0, 370.0, sizes=sizes), SWITCHED)
        for sizes in (SIZES, SIZES[15:])
    )
    assert small.latency_share == pytest.approx(10 / (10 + 1.75 * SIZES[0] / 370e3))
    assert large.latency_share == pytest.approx(10 / (10 + 1.75 * SIZES[15] / 370e3))
    assert "extrapolated" not in fit_text(small)
    assert "α is extrapolated: latency is 0.8 % of the shortest time" in fit_text(large)


# ---------------------------------------------------------------------- refusals


def test_large_buffers_alone_do_not_tell_the_latency():
    lines = measured(SWITCHED, 5.0, 370.0, sizes=[2**k for k in range(30, 35)], noise=0.02)
    with pytest.raises(FitError, match=r"do not tell the latency .*add smaller ones"):
        calibrate(lines, SWITCHED)


def test_small_buffers_alone_do_not_tell_the_bandwidth():
    lines = measured(SWITCHED, 5.0, 370.0, sizes=[8, 16, 32, 64], noise=0.02)
    with pytest.raises(FitError, match=r"do not tell the bandwidth.*add larger ones"):
        calibrate(lines, SWITCHED)


def test_one_size_tells_neither():
    lines = measured(SWITCHED, 5.0, 370.0, sizes=[2**20] * 5)
    with pytest.raises(FitError, match="1,048,576 bytes alone do not tell the latency"):
        calibrate(lines, SWITCHED)


def test_a_latency_longer_than_the_times_leaves_no_bandwidth():
    lines = measured(SWITCHED, 5.0, 370.0, sizes=[2**10, 2**11, 2**12])
    with pytest.raises(FitError, match="do not tell the bandwidth"):
        calibrate(lines, SWITCHED, alpha_us=50.0)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_lines_are_refused(count):
    with pytest.raises(FitError, match=f"needs 3 lines of nccl-tests, got {count}"):
        calibrate(measured(SWITCHED, 5.0, 370.0)[:count], SWITCHED)


def test_two_levels_have_two_links():
    layout = Layout("hierarchical", domain=Domain(8, 50.0))
    with pytest.raises(FitError, match="--topology switched"):
        calibrate(measured(SWITCHED, 5.0, 370.0), layout)


def test_an_algorithm_without_the_operation_is_refused():
    lines = measured(SWITCHED, 5.0, 370.0, op="all_gather")
    with pytest.raises(SynctaxError, match="no all_gather on tree"):
        calibrate(lines, Layout("tree"))
