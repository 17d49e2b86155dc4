"""Tables of a trend."""

from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.comparison.trend_changes import Change, compared, means_us
from synctax.comparison.trend_intervals import TAIL, Intervals
from synctax.comparison.trend_parts import Line
from synctax.schema import TREND, TREND_CULPRITS, TREND_TESTS
from synctax.schema.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from synctax.comparison.trend import Trend

Row = dict[str, Any]


def points_frame(found: "Trend") -> "pd.DataFrame":
    """Build the table `schema.TREND`."""
    pairs = zip(found.lines, found.intervals, strict=True)
    return _frame(TREND, [row for line, own in pairs for row in _points(found, line, own)])


def _points(found: "Trend", line: Line, own: tuple[Intervals, ...]) -> list[Row]:
    at = found.points
    rows: list[Row] = []
    before = None
    same = set(compared(line).tolist())
    for point in range(len(at)):
        if not line.tax_us[point].size:
            continue
        rows.append(
            {
                **_key(line),
                **_place(found, point),
                "first_step": _known(at.first_step[point]),
                "last_step": _known(at.last_step[point]),
                "iteration": _known(at.iteration[point]),
                "at_s": at.at_s[point],
                "n_ranks": int(line.n_ranks[point]),
                "compared": point in same,
                "collectives": line.tax_us[point].size,
                **_tax(line.tax_us[point], own[point]),
                "wait_share_of_step": line.wait_share[point],
                "step_us_median": line.step_us[point],
                **_straggler(line, point, before, found.options.alpha),
                **_culprit(line, point, before),
            }
        )
        before = point
    return rows


def _key(line: Line) -> Row:
    return {"group": line.part.role, "op": line.part.op.label}


def _place(found: "Trend", point: int) -> Row:
    return {"point": point, "window": found.points.window[point] or None}


def _known(value: np.int64) -> int | None:
    return int(value) if value >= 0 else None


def _tax(values: F64, own: Intervals) -> Row:
    return {
        "tax_max_us_median": float(np.median(values)),
        "tax_max_median_us_lo": own.median[0],
        "tax_max_median_us_hi": own.median[1],
        "tax_max_us_mean": float(values.mean()),
        "tax_max_mean_us_lo": own.mean[0],
        "tax_max_mean_us_hi": own.mean[1],
        "tax_max_us_p90": float(np.quantile(values, TAIL)),
        "tax_max_p90_us_lo": own.p90[0],
        "tax_max_p90_us_hi": own.p90[1],
    }


def _straggler(line: Line, point: int, before: int | None, alpha: float) -> Row:
    now = line.stragglers[point]
    then = None if before is None else line.stragglers[before]
    return {
        "straggler_rank": now and now.rank,
        "straggler_host": (now.host or None) if now else None,
        "straggler_share": now and now.share,
        "straggler_as_before": now.rank == then.rank if now and then else None,
        "straggler_is_new": (
            now.rank != then.rank
            and _beyond_chance(line, now.rank, (before or 0, point), alpha)
            if now and then
            else None
        ),
    }


def _beyond_chance(line: Line, rank: int, places: tuple[int, int], alpha: float) -> bool:
    """Tell whether a rank is last more often than before, of all ranks and points.

    Fisher's exact test, at alpha over the number of ranks and points.
    """
    from scipy.stats import hypergeom

    row = int(np.searchsorted(line.ranks, rank))
    last, took = line.last[row, list(places)], line.took[row, list(places)]
    p = hypergeom.sf(last[1] - 1, took.sum(), last.sum(), took[1])
    return bool(p <= alpha / line.took.size)


def _culprit(line: Line, point: int, before: int | None) -> Row:
    shares = line.culprits[point]
    name = next(iter(shares), None)
    change = None
    if name is not None and before is not None and line.culprits[before]:
        change = shares[name] - line.culprits[before].get(name, 0.0)
    return {
        "culprit_class": name,
        "culprit_share": None if name is None else shares[name],
        "culprit_share_change": change,
    }


def tests_frame(found: "Trend") -> "pd.DataFrame":
    """Build the table `schema.TREND_TESTS`."""
    pairs = zip(found.lines, found.changes, strict=True)
    return _frame(TREND_TESTS, [_test(found, line, change) for line, change in pairs])


def _test(found: "Trend", line: Line, change: Change) -> Row:
    slope, worse = change.slope, change.worse
    return {
        **_key(line),
        "points": change.points.size,
        "finding": change.finding,
        "per": found.points.per,
        "slope_us": slope and slope.slope,
        "slope_us_lo": slope and slope.low,
        "slope_us_hi": slope and slope.high,
        "kendall_tau": slope and slope.tau,
        "trend_p": change.trend_p,
        "least_p": change.least_p,
        "neighbour_correlation": change.correlation,
        "block_points": change.block,
        **_break(found, line, change),
        "worse_rank": worse and worse.rank,
        "worse_host": (worse.host or None) if worse else None,
        "worse_point": worse and worse.point,
        "worse_window": (found.points.window[worse.point] or None) if worse else None,
        "worse_p": change.worse_p,
        "worse_before_us": worse and worse.before_us,
        "worse_after_us": worse and worse.after_us,
    }


_BREAK = (
    "break_point", "break_window", "break_iteration", "break_p", "before_us", "after_us",
    "shift_us", "shift_us_lo", "shift_us_hi",
)  # fmt: skip


def _break(found: "Trend", line: Line, change: Change) -> Row:
    largest = change.largest
    if largest is None:
        return dict.fromkeys(_BREAK)
    point = int(change.points[largest.first])
    means = means_us(line, change.points)
    values = (
        point,
        found.points.window[point] or None,
        _known(found.points.iteration[point]),
        change.break_p,
        float(np.median(means[: largest.first])),
        float(np.median(means[largest.first :])),
        largest.shift,
        largest.low,
        largest.high,
    )
    return dict(zip(_BREAK, values, strict=True))


def culprits_frame(found: "Trend") -> "pd.DataFrame":
    """Build the table `schema.TREND_CULPRITS`."""
    rows = [
        {
            **_key(line),
            **_place(found, point),
            "culprit_class": name,
            "share_of_tax": share,
        }
        for line in found.lines
        for point, shares in enumerate(line.culprits)
        for name, share in shares.items()
    ]
    return _frame(TREND_CULPRITS, rows)


def _frame(table: Table, rows: list[Row]) -> "pd.DataFrame":
    return table.to_frame({name: [row[name] for row in rows] for name in table.names})
