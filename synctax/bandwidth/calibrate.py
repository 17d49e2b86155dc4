"""Latency and bandwidth of a link, from how long collectives of several sizes took.

T = p·α + q·S/B is linear in α and 1/B. Benchmarks run over eight decades of sizes and are
off by a share of the time, not by so many µs, so the squares of *relative* errors are
made least: each line counts alike, where absolute errors would leave all say to the
largest buffers, which know nothing of α.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import BYTES_PER_US, F64
from synctax.bandwidth.nccl_tests import Measured
from synctax.bandwidth.topology import Layout, cost
from synctax.errors import FitError

MIN_LINES = 3
"""Two lines always lie on a line: they say nothing of its errors."""

CONFIDENCE = 0.975
"""A value counts as determined if it lies above 0 at this level of Student's t."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """α and B of a link, as one algorithm explains a benchmark.

    Parameters
    ----------
    layout : Layout
        Whose p and q turned times into α and B.
    measured : tuple of Measured
        Lines that were fitted.
    alpha_us, alpha_us_se : float
        Latency of a message in µs; standard error 0 where it was given.
    gb_per_s, gb_per_s_se : float
        Bandwidth in GB/s (10^9 bytes a second) per direction.
    r2 : float
        Share of the variance of the time that the line explains, weighted as the fit is.
    fitted_us : (k,) float64
        What the fit says of each line, in µs.
    """

    layout: Layout
    measured: tuple[Measured, ...]
    alpha_us: float
    alpha_us_se: float
    gb_per_s: float
    gb_per_s_se: float
    r2: float
    fitted_us: F64

    @property
    def time_us(self) -> F64:
        """What was measured, in µs."""
        return np.array([one.time_us for one in self.measured])

    @property
    def latency_share(self) -> float:
        """Share of the latency in the shortest fitted time: small, it is extrapolated."""
        shortest = int(self.fitted_us.argmin())
        p, _ = _steps(self.measured[shortest : shortest + 1], self.layout)
        return float(p[0] * self.alpha_us / self.fitted_us[shortest])

    @property
    def residual(self) -> F64:
        """Measured over fitted time, less 1."""
        return self.time_us / self.fitted_us - 1


def calibrate(
    measured: Sequence[Measured], layout: Layout, *, alpha_us: float | None = None
) -> Calibration:
    """Fit α and B by weighted least squares on relative errors.

    Parameters
    ----------
    measured : sequence of Measured
        Lines of one or several benchmarks.
    layout : Layout
        Algorithm that the benchmark is taken to have used; not `hierarchical`, whose time
        has two latencies and two bandwidths.
    alpha_us : float, optional
        Hold α there and fit B alone.

    Returns
    -------
    Calibration

    Raises
    ------
    FitError
        If there are too few lines, or their sizes do not determine α or B.
    SynctaxError
        If the algorithm has no such operation.

    References
    ----------
    Hockney 1994; synchronization-tax paper, section 6.2, solves for α from buffers of
    1-4 GB.
    """
    if layout.topology == "hierarchical":
        raise FitError(
            "one benchmark does not tell the two latencies and bandwidths of hierarchical "
            "links; measure inside a domain and fit with --topology switched"
        )
    if len(measured) < MIN_LINES:
        raise FitError(
            f"a fit of latency and bandwidth needs {MIN_LINES} lines of nccl-tests, got "
            f"{len(measured)}; run it over a range of sizes, such as -b 8 -e 4G -f 2"
        )
    p, q = _steps(measured, layout)
    size = np.array([one.payload_bytes for one in measured], np.float64)
    time = np.array([one.time_us for one in measured])
    columns = np.stack([p, q * size], axis=1) / time[:, None]
    if alpha_us is None:
        (alpha, us_per_byte), (alpha_se, slope_se) = _least_squares(
            columns, np.ones_like(time)
        )
        _check_alpha(alpha, alpha_se, size)
    else:
        (us_per_byte,), (slope_se,) = _least_squares(
            columns[:, 1:], 1 - columns[:, 0] * alpha_us
        )
        alpha, alpha_se = alpha_us, 0.0
    _check_slope(us_per_byte, slope_se, size)
    fitted = alpha * p + us_per_byte * q * size
    rate = 1 / (us_per_byte * BYTES_PER_US)
    return Calibration(
        layout,
        tuple(measured),
        alpha,
        alpha_se,
        rate,
        rate * slope_se / us_per_byte,
        _r2(time, fitted),
        fitted,
    )


def _steps(measured: Sequence[Measured], layout: Layout) -> tuple[F64, F64]:
    p, q = np.empty(len(measured)), np.empty(len(measured))
    for i, one in enumerate(measured):
        found = cost(layout, one.op, np.array([float(one.n)]))
        p[i], q[i] = found.p[0], found.q[0]
    return p, q


def _least_squares(columns: F64, target: F64) -> tuple[list[float], list[float]]:
    """Solve and return values with their standard errors; infinite where undetermined."""
    scale = np.sqrt((columns**2).sum(axis=0))
    scaled = columns / scale
    left, singular, right = np.linalg.svd(scaled, full_matrices=False)
    if singular[-1] <= singular[0] * len(target) * np.finfo(float).eps:
        none = [0.0] * columns.shape[1]
        return none, [np.inf] * columns.shape[1]
    inverse = right.T / singular
    solved = inverse @ (left.T @ target)
    freedom = len(target) - columns.shape[1]
    variance = float(((target - scaled @ solved) ** 2).sum()) / freedom
    error = np.sqrt(variance * (inverse**2).sum(axis=1))
    return [float(v) for v in solved / scale], [float(v) for v in error / scale]


def _certain(value: float, error: float, freedom: int) -> bool:
    from scipy.special import stdtrit

    return bool(value > stdtrit(freedom, CONFIDENCE) * error)


def _check_alpha(alpha: float, error: float, size: F64) -> None:
    if not _certain(alpha, error, len(size) - 2):
        told = f" ({alpha:,.2f} ± {error:,.2f} µs)" if np.isfinite(error) else ""
        raise FitError(
            f"{_sizes(size)} do not tell the latency{told}: add smaller ones (-b 8K), "
            "choose sizes whose times lie on one line (--nccl-bytes), or give --alpha-us"
        )


def _check_slope(slope: float, error: float, size: F64) -> None:
    if not _certain(slope, error, len(size) - 2):
        raise FitError(
            f"{_sizes(size)} do not tell the bandwidth: their time does not grow with the "
            "size; add larger ones (-e 4G)"
        )


def _sizes(size: F64) -> str:
    low, high = int(size.min()), int(size.max())
    return f"sizes from {low:,} to {high:,} bytes" if high > low else f"{low:,} bytes alone"


def _r2(time: F64, fitted: F64) -> float:
    weight = time**-2.0
    mean = float((weight * time).sum() / weight.sum())
    whole = float((weight * (time - mean) ** 2).sum())
    return 1 - float((weight * (time - fitted) ** 2).sum()) / whole if whole else np.nan
