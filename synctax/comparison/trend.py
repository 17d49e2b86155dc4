"""The tax over the windows of a job: trend, break, and which rank became worse."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from synctax.collectives.tax import Tax
from synctax.comparison.options import Options
from synctax.comparison.trend_changes import Change, changes
from synctax.comparison.trend_intervals import Intervals, intervals, without
from synctax.comparison.trend_parts import Line, lines
from synctax.comparison.trend_points import Points, points
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema.html import Shown

if TYPE_CHECKING:
    import pandas as pd

    from synctax.attribution.attribute import Attribution

By = Literal["window", "step"]

LEAST_BEYOND = 5
"""So many of the random orders must be left beyond the level: fewer are no measure of p."""


@dataclass(frozen=True, slots=False, repr=False, eq=False)
class Trend(Shown):
    """What `trend` found.

    Parameters
    ----------
    tax : Tax
        What was measured.
    points : Points
        Windows, or parts of windows, in order.
    lines : tuple of Line
        Every role and operation over the points, most waits first.
    changes : tuple of Change
        What changed in each line.
    intervals : tuple of tuple of Intervals
        Of each line at each point.
    options : Options
        How it was asked for.
    attributed : bool
        Whether culprits are known.
    notes : tuple of Note
        What was left out, of points and of measuring.
    """

    tax: Tax
    points: Points
    lines: tuple[Line, ...]
    changes: tuple[Change, ...]
    intervals: tuple[tuple[Intervals, ...], ...]
    options: Options
    attributed: bool
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        told = sum(change.finding not in ("none", "too_few") for change in self.changes)
        return (
            f"<Trend: {len(self.points)} points, {told} of {len(self.lines)} rows change>"
        )

    @cached_property
    def _frame(self) -> "pd.DataFrame":
        from synctax.comparison.trend_tables import points_frame

        return points_frame(self)

    def to_frame(self) -> "pd.DataFrame":
        """One row per group role, operation and point (`schema.TREND`)."""
        return self._frame.copy()

    def tests(self) -> "pd.DataFrame":
        """One row per group role and operation (`schema.TREND_TESTS`)."""
        from synctax.comparison.trend_tables import tests_frame

        return tests_frame(self)

    def culprits(self) -> "pd.DataFrame":
        """One row per group role, operation, point and class (`schema.TREND_CULPRITS`)."""
        from synctax.comparison.trend_tables import culprits_frame

        return culprits_frame(self)

    def verdict(self) -> tuple[str, ...]:
        """Say in sentences what changed."""
        from synctax.comparison.trend_verdict import verdict

        return verdict(self)


def trend(
    tax: Tax,
    attribution: "Attribution | None" = None,
    *,
    by: By | int = "window",
    options: Options | None = None,
) -> Trend:
    """Follow tax, straggler and culprits over the profiler windows of a job.

    Every role and operation is asked three questions: whether its mean tax rises or falls
    (5 points or more), whether it changes at some point, and whether the others wait more
    for one of its ranks from some point on (8 or more). The tests compare points by rank,
    so that a single bad window decides nothing, with random orders of the points. Windows
    are taken for independent; steps are kept together in blocks as long as neighbours hang
    together. Of jobs in which nothing changes, 5 % (1 - level) are said to change in
    anything.

    Parameters
    ----------
    tax : Tax
        As `measure` returns it, of a job with several windows.
    attribution : Attribution, optional
        Of this tax, for culprits.
    by : "window", "step" or int
        One point a window, a step, or so many steps of a window.
    options : Options, optional
        Level of intervals and of the share of false alarms, random orders of the points
        and resamples of steps, and the seed of both.

    Returns
    -------
    Trend

    Raises
    ------
    SynctaxError
        If no collective counts, steps were asked for and none is marked, or there are too
        many points.
    TypeError, ValueError
        If `tax` is not what `measure` returns, `attribution` is of another tax, `by` is
        none of the three, or so few resamples tell no p-value at that level.

    References
    ----------
    Theil (1950) and Sen (1968) for slopes, Daniels (1950) for trends, Pettitt (1979) for
    breaks, Westfall and Young (1993) for all questions together.
    """
    if not isinstance(tax, Tax):
        raise TypeError("trend wants the tax that synctax.measure(job) returns")
    if attribution is not None and attribution.tax is not tax:
        raise ValueError("the attribution is of another tax")
    asked = options or Options()
    check(asked)
    if not tax.used.any():
        raise SynctaxError(
            "no collective can be measured, so there is no trend; synctax measure "
            "--per-collective lists each with its reason"
        )
    at = points(tax, _steps_each(by))
    made = tuple(lines(tax, at, attribution))
    changed = tuple(changes(at, made, asked))
    told = intervals(tax, made, asked)
    said = (*at.notes, *_absent_ranks(made), *without(made, told, asked))
    return Trend(
        tax=tax,
        points=at,
        lines=made,
        changes=changed,
        intervals=told,
        options=asked,
        attributed=attribution is not None,
        notes=(*said, *(tax.notes if attribution is None else attribution.notes)),
    )


def check(asked: Options) -> None:
    """Refuse resamples too few to tell a p-value at the level.

    Raises
    ------
    ValueError
        With how many would do.
    """
    least = math.ceil(LEAST_BEYOND / asked.alpha - 1e-9)
    if asked.resamples < least:
        raise ValueError(
            f"{asked.resamples:,} resamples tell no p-value at level {asked.level:g}: it "
            f"takes {least:,} or more"
        )


def _steps_each(by: By | int) -> int | None:
    if by == "window":
        return None
    if by == "step":
        return 1
    if type(by) is not int or by < 1:
        raise ValueError(f'by must be "window", "step" or a number of steps, not {by!r}')
    return by


def _absent_ranks(made: tuple[Line, ...]) -> list[Note]:
    """Count ranks that are missing at some of the points at which a line has others."""
    missing: set[int] = set()
    for line in made:
        there = line.n_ranks > 0
        gaps = np.isnan(line.owed_us[:, there]).any(axis=1)
        missing |= set(line.ranks[gaps].tolist())
    if not missing:
        return []
    detail = "ranks that are not in all windows; those with other ranks are not compared"
    return [Note("rank_not_throughout", len(missing), detail)]
