"""How far the clocks of ranks are apart, told by ends of collectives."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, Bool, median

MAX_DRIFT = 200e-6
"""Larger drifts than this (200 ppm) are no drift of a clock."""

MIN_POINTS_FOR_DRIFT = 16
"""Fewer ends fit almost any line."""

MAD_TO_SD = 1.4826


@dataclass(frozen=True, slots=True)
class ClockFit:
    """A rank's clock against another: other = own - (offset + drift · (own - origin)).

    `offset_ns`, `origin_ns` and `residual_ns` (robust standard deviation of what the fit
    leaves) in ns, `drift` a ratio (5 ppm is 5e-6), `points` the number of shared ends.
    """

    offset_ns: float
    drift: float
    origin_ns: float
    residual_ns: float
    points: int

    def lag_ns(self, time_ns: F64) -> F64:
        """How far this rank's clock is ahead at `time_ns` of its own clock, in ns."""
        return self.offset_ns + self.drift * (time_ns - self.origin_ns)


NO_LAG = ClockFit(0.0, 0.0, 0.0, 0.0, 0)


def robust_sd(values: F64) -> float:
    """Standard deviation by the median absolute deviation; 0.0 for no values."""
    if not values.size:
        return 0.0
    return float(MAD_TO_SD * median(np.abs(values - median(values))))


def fit_clock(time_ns: F64, lead_ns: F64) -> ClockFit:
    """Fit offset, and drift where the points show one, robustly.

    Parameters
    ----------
    time_ns : (n,) float64
        Ends on the rank's own clock.
    lead_ns : (n,) float64
        The same ends minus those of the other rank.

    Returns
    -------
    ClockFit
        Offset only for fewer than sixteen points, or where a drift explains little.

    Raises
    ------
    ValueError
        Without points.
    """
    if not time_ns.size:
        raise ValueError("a clock fit needs at least one shared end, got none")
    origin = median(time_ns)
    constant = median(lead_ns)
    level = ClockFit(constant, 0.0, origin, robust_sd(lead_ns), int(time_ns.size))
    if time_ns.size < MIN_POINTS_FOR_DRIFT or np.ptp(time_ns) == 0:
        return level
    drift, offset = _trimmed_line(time_ns - origin, lead_ns)
    left = lead_ns - (offset + drift * (time_ns - origin))
    line = ClockFit(offset, drift, origin, robust_sd(left), int(time_ns.size))
    explains = line.residual_ns < 0.7 * level.residual_ns
    return line if explains and abs(drift) <= MAX_DRIFT else level


def _trimmed_line(time: F64, lead: F64) -> tuple[float, float]:
    """Least squares, refitted without what lies beyond three standard deviations."""
    keep: Bool = np.abs(lead - median(lead)) <= np.inf
    drift, offset = 0.0, median(lead)
    for _ in range(4):
        centre = time[keep].mean()
        spread = time[keep] - centre
        variance = float((spread * spread).sum())  # `@` would start threads for little
        if variance == 0:
            break
        drift = float((spread * lead[keep]).sum()) / variance
        offset = float(lead[keep].mean()) - drift * float(centre)
        left = lead - (offset + drift * time)
        limit = max(3 * robust_sd(left[keep]), 1.0)
        closer = np.abs(left - median(left[keep])) <= limit
        if closer.sum() < MIN_POINTS_FOR_DRIFT or np.array_equal(closer, keep):
            break
        keep = closer
    return drift, offset
