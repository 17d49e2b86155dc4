"""Where the events of every rank go on the one clock, and which of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from synctax.arrays import NS_PER_S, NS_PER_US
from synctax.collectives.job_clocks import NO_LINK, RankClock
from synctax.collectives.load import Job
from synctax.collectives.matches import Matches
from synctax.collectives.model import RankCollectives
from synctax.collectives.tax import Tax
from synctax.notes import Note
from synctax.overlay.choice import Keep
from synctax.overlay.events import Span
from synctax.overlay.links import Selected
from synctax.overlay.rewrite import Task

DRIFT_TOLD_NS = 1_000
"""What a drift leaves at the ends of a trace is said from here on."""

LEAST_SLACK_NS = NS_PER_S
MOST_SLACK_NS = 3_600 * NS_PER_S
"""Marks and calls may lie so far beyond the events that the analysis reads."""

_MS_NS = 1_000 * NS_PER_US


@dataclass(frozen=True, slots=True)
class Moved:
    """Where the times of every rank go; tuples are by position.

    Parameters
    ----------
    base_ns : int
        Time 0 of the overlay, on the clock of the job.
    file_base_ns : tuple of int
        What is added to times of each file to have them since 1970.
    first_ns, last_ns : tuple of int
        First start and last end of the events of each rank.
    steps_ns : tuple of (int, int) or None
        When the selected steps of each rank run; None where all are.
    shift_ns : tuple of int
        What is added to own times of each rank.
    slack_ns : int
        How far beyond its other events one may lie.
    """

    base_ns: int
    file_base_ns: tuple[int, ...]
    first_ns: tuple[int, ...]
    last_ns: tuple[int, ...]
    steps_ns: tuple[tuple[int, int] | None, ...]
    shift_ns: tuple[int, ...]
    slack_ns: int

    @classmethod
    def of(cls, job: Job, tax: Tax, clocks: tuple[RankClock, ...]) -> "Moved":
        """Put the beginning of all ranks a little after 0."""
        bases = {one.path: one.meta.base_time_ns for one in job.facts}
        ranks = tax.matches.ranks
        steps = tuple(_steps(tax, position) for position in range(len(ranks)))
        first = tuple(one.window_start_ns for one in ranks)
        last = tuple(one.window_end_ns for one in ranks)
        longest = max(b - a for a, b in zip(first, last, strict=True))
        slack = min(max(longest, LEAST_SLACK_NS), MOST_SLACK_NS)
        lags = [
            clock.lag_ns((a + b) // 2 if own is None else sum(own) // 2)
            for clock, a, b, own in zip(clocks, first, last, steps, strict=True)
        ]
        least = min(a - lag for a, lag in zip(first, lags, strict=True)) - slack
        base = least // _MS_NS * _MS_NS
        shift = tuple(-lag - base for lag in lags)
        own = tuple(bases[one.path] for one in ranks)
        return cls(base, own, first, last, steps, shift, slack)


def _steps(tax: Tax, position: int) -> tuple[int, int] | None:
    """When the selected steps of a rank run, up to the end of their last collective."""
    one, steps = tax.matches.ranks[position], tax.steps
    if steps is None:
        return None
    mine = (one.step_number >= steps.start) & (one.step_number < steps.stop)
    inside = (one.step >= steps.start) & (one.step < steps.stop)
    ends = np.concatenate([one.step_end_ns[mine], (one.start_ns + one.duration_ns)[inside]])
    starts = np.concatenate([one.step_start_ns[mine], one.start_ns[inside]])
    if not starts.size:
        return one.window_start_ns, one.window_start_ns
    return int(starts.min()), int(ends.max())


def tasks_of(
    tax: Tax,
    culprits: Mapping[int, Mapping[tuple[Span, int], int]],
    moved: Moved,
    keep: Keep,
) -> list[Task]:
    """Say what to make of the file of each rank.

    Parameters
    ----------
    tax : Tax
    culprits : mapping
        How many events of each span and kind are to be coloured, by position; times are
        on the rank's clock.
    moved : Moved
    keep : Keep
    """
    tasks = []
    for position, one in enumerate(tax.matches.ranks):
        base, ran = moved.file_base_ns[position], moved.steps_ns[position]
        spans = _spans(one, base)
        tasks.append(
            Task(
                path=one.path,
                position=position,
                shift_ns=moved.shift_ns[position] + base,
                least_ns=moved.first_ns[position] - base - moved.slack_ns,
                most_ns=moved.last_ns[position] - base + moved.slack_ns,
                selected=_selected(one, tax.steps, ran, base, spans),
                keep=keep,
                collectives=frozenset(spans if keep == "collectives" else ()),
                culprits={
                    ((start - base, duration, name), kind): count
                    for ((start, duration, name), kind), count in culprits.get(
                        position, {}
                    ).items()
                },
            )
        )
    return tasks


def _spans(one: RankCollectives, base_ns: int) -> list[Span]:
    """Every collective of a rank, times as written."""
    names = [one.strings[code] if code >= 0 else "" for code in one.kernel.tolist()]
    start = (one.start_ns - base_ns).tolist()
    return list(zip(start, one.duration_ns.tolist(), names, strict=True))


def _selected(
    one: RankCollectives,
    steps: range | None,
    ran_ns: tuple[int, int] | None,
    base_ns: int,
    spans: list[Span],
) -> Selected | None:
    """Say what is known of the steps that are kept of a rank."""
    if steps is None or ran_ns is None:
        return None
    mine = (one.step_number >= steps.start) & (one.step_number < steps.stop)
    host = (
        (int(one.step_start_ns[mine].min()), int(one.step_end_ns[mine].max()))
        if mine.any()
        else (ran_ns[0], ran_ns[0])
    )
    known = {
        span: step in steps
        for span, step in zip(spans, one.step.tolist(), strict=True)
        if step >= 0
    }
    return Selected(
        steps=steps,
        host_ns=(host[0] - base_ns, host[1] - base_ns),
        ran_ns=(ran_ns[0] - base_ns, ran_ns[1] - base_ns),
        collectives=known,
    )


def clock_notes(
    matches: Matches, clocks: tuple[RankClock, ...], moved: Moved
) -> Iterator[Note]:
    """Say which clocks are not known, or not throughout."""
    apart = [
        one.rank
        for one, c in zip(matches.ranks, clocks, strict=True)
        if c.linked == NO_LINK
    ]
    if apart:
        yield Note(
            "clock_unlinked",
            len(apart),
            "ranks that share no collective with the others, left on their own clocks",
            f"rank {apart[0]}",
        )
    left = [
        abs(clock.drift) * ((b - a) if own is None else (own[1] - own[0])) / 2
        for clock, a, b, own in zip(
            clocks, moved.first_ns, moved.last_ns, moved.steps_ns, strict=True
        )
    ]
    told = [ns for ns in left if ns > DRIFT_TOLD_NS]
    if told:
        yield Note(
            "clock_drift",
            len(told),
            "clocks that drift: moved by what is right in the middle, and up to "
            f"{max(told) / NS_PER_US:,.0f} µs off at the ends; --steps keeps that small",
        )
