"""The points of a trend: profiler windows, or parts of them, and where each stands."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from synctax.arrays import ABSENT, F64, I64, NS_PER_S
from synctax.collectives.tax import Tax
from synctax.errors import SynctaxError
from synctax.notes import Note

Per = Literal["1,000 iterations", "iteration", "hour", "minute", "second", "window", "part"]
"""What a slope is told per."""

MANY_ITERATIONS = 100
"""Where points span fewer, a slope is told per iteration, not per 1,000."""

MAX_POINTS = 2_000
"""Slopes are those of all pairs: of more points there are too many."""

_S_PER: dict[Per, float] = {"hour": 3600.0, "minute": 60.0, "second": 1.0}
_LEAST_SPAN = 0.1
"""The unit of time is the largest of which points span so many."""

_NUMBERED = re.compile(r"(?:iteration|steps?)_(\d{1,15})")


@dataclass(frozen=True, slots=True)
class Points:
    """Windows or parts of windows, in order.

    Parameters
    ----------
    window : tuple of str
        Label of each point's window; empty where there is one.
    first_step, last_step : (k,) int64
        Profiler steps of each, -1 where none is marked.
    iteration : (k,) int64
        Number of the iteration at which each begins, -1 where that is not known of all.
    at_s : (k,) float64
        Seconds since the first one began; NaN where clocks do not tell.
    x : (k,) float64
        Place of each, in units of `per`; ascending.
    per : str
        Unit of `x`.
    of_slot : (m,) int64
        Point of each collective, -1 for none.
    steps_each : int or None
        Steps of a part; None where points are windows.
    notes : tuple of Note
    doubts : tuple of str
        Why the windows may not be those of one job, in sentences.
    """

    window: tuple[str, ...]
    first_step: I64
    last_step: I64
    iteration: I64
    at_s: F64
    x: F64
    per: Per
    of_slot: I64
    steps_each: int | None
    notes: tuple[Note, ...]
    doubts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.window)

    @property
    def noun(self) -> str:
        """What a point is, in words: a window, a step, or a part of a window."""
        return {None: "window", 1: "step"}.get(self.steps_each, "part")

    @property
    def counts(self) -> str:
        """What `iteration` counts: iterations that names of windows tell, or steps."""
        if self.steps_each == 1:
            return "step"
        numbers = zip(self.iteration.tolist(), self.window, strict=True)
        named = self.steps_each is None and all(str(one) in name for one, name in numbers)
        return "iteration" if named else "first step"


def points(tax: Tax, steps_each: int | None) -> Points:
    """Cut a job into points.

    Parameters
    ----------
    tax : Tax
    steps_each : int or None
        So many steps a point; None for one point a window.

    Returns
    -------
    Points
        Only those in which a collective counts.

    Raises
    ------
    SynctaxError
        If parts of windows were asked for where no step is marked, or there are too many.
    """
    found = tax.matches
    labels = list(dict.fromkeys(rank.window for rank in found.ranks))
    number = {label: i for i, label in enumerate(labels)}
    of_group = np.array([number[g.window] for g in found.groups], np.int64)
    window = of_group[found.group]
    part = np.zeros(len(found), np.int64)
    if steps_each is not None:
        part = _parts(tax, window, steps_each)
    use = tax.used & (part >= 0)
    known = np.unique(np.stack([window[use], part[use]]), axis=1)
    if known.shape[1] > MAX_POINTS:
        raise SynctaxError(
            f"{known.shape[1]:,} points are more than {MAX_POINTS:,}; "
            "take more steps a point"
        )
    first, last = _steps(tax, labels, known, steps_each)
    iteration = _iterations(labels, known, first, last, whole=steps_each is None)
    begin_ns = _begins_ns(tax, labels, known, first, whole=steps_each is None)
    order = np.arange(known.shape[1])
    if begin_ns is not None:
        order = np.argsort(begin_ns, kind="stable")
    if iteration is not None:
        order = np.argsort(iteration, kind="stable")
    place = np.full((len(labels), int(known[1].max(initial=0)) + 1), ABSENT, np.int64)
    place[known[0, order], known[1, order]] = np.arange(order.size)
    at_s = np.full(order.size, np.nan)
    if begin_ns is not None:
        at_s = (begin_ns[order] - begin_ns.min()) / NS_PER_S
    counted = np.full(order.size, ABSENT) if iteration is None else iteration[order]
    x, per = _axis(counted, at_s, whole=steps_each is None)
    inside = (part >= 0) & (part < place.shape[1])
    of_slot = np.where(inside, place[window, np.where(inside, part, 0)], ABSENT)
    return Points(
        window=tuple(labels[w] for w in known[0, order]),
        first_step=first[order],
        last_step=last[order],
        iteration=counted,
        at_s=at_s,
        x=x,
        per=per,
        of_slot=of_slot,
        steps_each=steps_each,
        notes=_notes(tax, labels, known, part),
        doubts=_doubts([labels[w] for w in dict.fromkeys(known[0].tolist())], _roots(tax)),
    )


def _parts(tax: Tax, window: I64, steps_each: int) -> I64:
    """Number of each slot's part of its window, -1 where its step is not marked."""
    step = tax.matches.step
    marked = step >= 0
    if not (marked & tax.used).any():
        raise SynctaxError(
            "no collective belongs to a profiler step, so windows cannot be cut into "
            "steps; call the profiler's step() after every step"
        )
    first = np.full(int(window.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, window[marked], step[marked])
    return np.where(marked, (step - first[window]) // steps_each, ABSENT)


def _steps(
    tax: Tax, labels: list[str], known: I64, steps_each: int | None
) -> tuple[I64, I64]:
    """First and last step of each point, -1 where none is marked."""
    found, inside = tax.matches, tax.matches.step >= 0
    of_group = {label: i for i, label in enumerate(labels)}
    window = np.array([of_group[g.window] for g in found.groups])[found.group[inside]]
    step = found.step[inside]
    low = np.full(len(labels), np.iinfo(np.int64).max)
    high = np.full(len(labels), ABSENT)
    np.minimum.at(low, window, step)
    np.maximum.at(high, window, step)
    first, last = low[known[0]], high[known[0]]
    if steps_each is not None:
        first = first + known[1] * steps_each
        last = np.minimum(first + steps_each - 1, last)
    return np.where(last < 0, ABSENT, first), last


def _iterations(
    labels: list[str], known: I64, first: I64, last: I64, *, whole: bool
) -> I64 | None:
    """Iteration at which each point begins: from the window's name, else from its steps."""
    named = [_NUMBERED.search(labels[w]) for w in known[0]]
    numbers = np.array([int(one[1]) if one else ABSENT for one in named], np.int64)
    if whole and (numbers >= 0).all() and np.unique(numbers).size == numbers.size:
        return numbers
    if (first < 0).any():
        return None
    spans = sorted(zip(first.tolist(), last.tolist(), strict=True))
    if all(one[1] < other[0] for one, other in pairwise(spans)):
        return first
    # the profiler counted from 0 in every window
    begin = np.full(len(labels), np.iinfo(np.int64).max)
    np.minimum.at(begin, known[0], first)
    begun: I64 = numbers + first - begin[known[0]]
    if all(named) and np.unique(begun).size == begun.size:
        return begun
    return None


def _begins_ns(
    tax: Tax, labels: list[str], known: I64, first: I64, *, whole: bool
) -> I64 | None:
    """When each point began, on the median rank; None where windows overlap in time."""
    begins: list[int] = []
    ranks = {label: [r for r in tax.matches.ranks if r.window == label] for label in labels}
    spans = [
        (min(r.window_start_ns for r in mine), max(r.window_end_ns for r in mine))
        for mine in (ranks[labels[w]] for w in dict.fromkeys(known[0].tolist()))
    ]
    if any(one[1] > other[0] for one, other in pairwise(sorted(spans))):
        return None
    for window, step in zip(known[0].tolist(), first.tolist(), strict=True):
        mine = ranks[labels[window]]
        starts = [r.window_start_ns for r in mine]
        if not whole:
            starts = [
                int(r.step_start_ns[r.step_number == step][0])
                for r in mine
                if (r.step_number == step).any()
            ]
        if not starts:
            return None
        begins.append(int(np.median(starts)))
    return np.array(begins, np.int64)


def _axis(iteration: I64, at_s: F64, *, whole: bool) -> tuple[F64, Per]:
    """Place of each point: by iteration, else by time, else one after the other."""
    if iteration.size and iteration[0] >= 0:
        span = int(iteration[-1] - iteration[0])
        if span >= MANY_ITERATIONS:
            return iteration / 1000.0, "1,000 iterations"
        return iteration.astype(np.float64), "iteration"
    if at_s.size > 1 and (np.diff(at_s) > 0).all():
        for per, length_s in _S_PER.items():
            if at_s[-1] >= _LEAST_SPAN * length_s:
                return at_s / length_s, per
    return np.arange(float(at_s.size)), "window" if whole else "part"


def _roots(tax: Tax) -> dict[str, set[str]]:
    """Folders that hold the traces of each window, without what is numbered."""
    roots: dict[str, set[str]] = {}
    for rank in tax.matches.ranks:
        numbered = _NUMBERED.search(rank.path)
        above = rank.path[: numbered.start()] if numbered else rank.path
        roots.setdefault(rank.window, set()).add(above.rpartition("/")[0])
    return roots


def _doubts(labels: list[str], roots: dict[str, set[str]]) -> tuple[str, ...]:
    """Say where windows clash, are named in different ways, or lie in other folders."""
    named = [(label, _NUMBERED.search(label)) for label in labels]
    first: dict[int, str] = {}
    said: list[str] = []
    for label, number in named:
        if number is None:
            continue
        other = first.setdefault(int(number[1]), label)
        if other != label and not said:
            said.append(
                f"{other} and {label} have one number: are these windows of one job? "
                "they are not ordered by number"
            )
    bare = [label for label, number in named if number is None]
    if first and bare:
        said.append(
            f"{bare[0] or 'a window'} has no number, {next(iter(first.values()))} has: "
            "are these traces of one job?"
        )
    apart = [label for label in labels if roots[label] != roots[labels[0]]]
    if apart and not said:
        folders = " and ".join(min(roots[one]) or "." for one in (labels[0], apart[0]))
        said.append(f"windows of {folders} are taken for one job's: are they?")
    return tuple(said)


def _notes(tax: Tax, labels: list[str], known: I64, part: I64) -> tuple[Note, ...]:
    said = []
    empty = [label for i, label in enumerate(labels) if i not in set(known[0].tolist())]
    if empty:
        detail = f"windows without a collective that counts, such as {empty[0]}"
        said.append(Note("window_empty", len(empty), detail))
    stepless = int((tax.used & (part < 0)).sum())
    if stepless:
        said.append(
            Note("no_step", stepless, "collectives that belong to no profiler step")
        )
    return tuple(said)
