"""What of a run is drawn anew: which step, or piece of the window, a collective lies in."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US
from synctax.collectives.tax import Tax
from synctax.comparison.resample import (
    LEAST_WINDOWS,
    MOST_UNITS,
    Series,
    block_length,
    draw,
    freedom,
    pieces_of,
    strata,
)
from synctax.comparison.stats import Draws

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

LEAST_STEPS = 2
"""Of fewer marked steps in a single window nothing can be drawn: neighbouring collectives
are instead. Windows of one step each are their own steps."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run with the units that are drawn of it.

    Parameters
    ----------
    tax : Tax
    found : Attribution or None
    series : Series
    stepped : bool
        Units are profiler steps (of very many, neighbours are one unit), and no pieces of
        the window.
    unit : (m,) int64
        Of each collective of `tax.matches`, -1 of those that do not count.
    end_ns : (r, u) int64
        When each unit ended on each rank (by position), on its own clock; -1 where the
        rank was not in it.
    time_us : (r, u) float64
        How long each unit took on each rank; 0 where that is not known.
    steps : int
        Profiler steps in all units; 0 where units are no steps.
    rank_steps : (r, u) int64
        Profiler steps of each unit that each rank was in; 0 where units are no steps.
    """

    tax: Tax
    found: "Attribution | None"
    series: Series
    stepped: bool
    unit: I64
    end_ns: I64
    time_us: F64
    steps: int
    rank_steps: I64

    def __len__(self) -> int:
        return len(self.series)


def run_of(tax: Tax, attributed: "Attribution | None" = None) -> Run:
    """Find the units of a run.

    Parameters
    ----------
    tax : Tax
        With a collective that counts.
    attributed : Attribution, optional
        Of the same tax.
    """
    found = units_of(tax)
    unit, sizes = found.unit, found.sizes
    length = block_length(_usual_rank(tax, unit, sum(sizes)), sizes)
    end_ns, time_us = _times(tax, unit, sum(sizes), stepped=found.stepped)
    return Run(
        tax=tax,
        found=attributed,
        series=Series(tuple(sizes), length),
        stepped=found.stepped,
        unit=unit,
        end_ns=end_ns,
        time_us=time_us,
        steps=found.steps,
        rank_steps=_rank_steps(tax, found),
    )


@dataclass(frozen=True, slots=True)
class Units:
    """In which unit each collective of a run lies.

    Parameters
    ----------
    unit : (m,) int64
        Of each collective of `tax.matches`, -1 of those that do not count; ascending in
        time within a window.
    sizes : list of int
        Units of each window.
    step : (m,) int64
        Number of the profiler step of each collective among those of all windows, -1 where
        `unit` is or where units are no steps.
    steps : int
        How many there are.
    """

    unit: I64
    sizes: list[int]
    step: I64
    steps: int

    @property
    def stepped(self) -> bool:
        """Whether units are profiler steps, and no pieces of the window."""
        return self.steps > 0


def units_of(tax: Tax) -> Units:
    """Tell in which unit each collective of a run lies.

    Parameters
    ----------
    tax : Tax
    """
    marked, windows = tax.matches.step, _windows(tax)
    least = 1 if len(windows) > 1 else LEAST_STEPS
    stepped = all(
        np.unique(marked[slots][marked[slots] >= 0]).size >= least for slots in windows
    )
    # of many windows whole ones are drawn, however many units they have
    few = len(windows) < LEAST_WINDOWS
    most = MOST_UNITS // max(len(windows), 1) if few else MOST_UNITS
    unit, step = np.full((2, len(tax.matches)), -1, np.int64)
    sizes: list[int] = []
    steps = 0
    for slots in windows:
        if stepped:
            own = _by_step(marked[slots])
            step[slots] = own + steps
            steps += int(own.max()) + 1
            own = pieces_of(int(own.max()) + 1, most)[own]
        else:
            own = pieces_of(slots.size, most)
        unit[slots] = own + sum(sizes)
        sizes.append(int(own.max()) + 1)
    return Units(unit, sizes, step, steps)


@dataclass(frozen=True, slots=True)
class Side:
    """The runs of one side, drawn anew.

    Parameters
    ----------
    runs : tuple of Run
        At least one.
    draws : Draws
    """

    runs: tuple[Run, ...]
    draws: Draws

    @property
    def ranks(self) -> set[int]:
        """Global ranks of all runs."""
        return {one.rank for run in self.runs for one in run.tax.matches.ranks}

    @property
    def begin(self) -> list[int]:
        """Number of the first unit of each run among all."""
        lengths = [0, *(len(run) for run in self.runs)]
        begins: list[int] = np.cumsum(lengths)[:-1].tolist()
        return begins


def side_of(runs: tuple[Run, ...], resamples: int, random: np.random.Generator) -> Side:
    """Draw the units of some runs.

    Parameters
    ----------
    runs : tuple of Run
    resamples : int
    random : Generator
    """
    series = [run.series for run in runs]
    drawn = draw(series, resamples, random)
    return Side(runs, Draws(drawn, freedom(series), strata(series)))


def _windows(tax: Tax) -> list[I64]:
    """Collectives that count, of each window, in order of time."""
    found = tax.matches
    used = np.flatnonzero(tax.used)
    start = found.table.start_ns[found.row[found.first[used]]]
    used = used[np.argsort(start, kind="stable")]
    names = [group.window for group in found.groups]
    number = {name: at for at, name in enumerate(dict.fromkeys(names))}
    window = np.array([number[name] for name in names], np.int64)[found.group[used]]
    return [used[window == at] for at in np.unique(window)]


def _by_step(step: I64) -> I64:
    """Number the steps of collectives in order of time; those of none go with the last."""
    known = np.flatnonzero(step >= 0)
    last = np.searchsorted(known, np.arange(step.size), side="right") - 1
    filled = step[known[np.maximum(last, 0)]]
    return np.unique(filled, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _usual_rank(tax: Tax, unit: I64, units: int) -> F64:
    """Say how long was waited in each unit, for what its collectives usually cost.

    The mean rank of its taxes among those of their group and operation, from 0 to 1.
    """
    used = np.flatnonzero(unit >= 0)
    waited = (tax.waits.longest_ns - tax.waits.shortest_ns)[used]
    kind = tax.matches.group[used].astype(np.int64) * 256 + tax.matches.op[used]
    order = np.lexsort((waited, kind))
    _, first, count = np.unique(kind[order], return_index=True, return_counts=True)
    rank = np.empty(used.size)
    within = np.arange(used.size) - np.repeat(first, count)
    rank[order] = within / np.repeat(np.maximum(count - 1, 1), count)
    inside = np.bincount(unit[used], minlength=units)
    return np.asarray(np.bincount(unit[used], rank, units) / np.maximum(inside, 1))


def _times(tax: Tax, unit: I64, units: int, *, stepped: bool) -> tuple[I64, F64]:
    """Tell when units ended on each rank, and how long they took there."""
    found = tax.matches
    count = np.diff(found.first)
    row_unit = np.repeat(unit, count)
    rows, row_unit = found.row[row_unit >= 0], row_unit[row_unit >= 0]
    table = found.table
    end = np.full((len(found.ranks), units), -1, np.int64)
    np.maximum.at(end, (table.rank[rows], row_unit), table.end_ns[rows])
    start = np.full(end.shape, np.iinfo(np.int64).max)
    np.minimum.at(start, (table.rank[rows], row_unit), table.start_ns[rows])
    time_us = np.zeros(end.shape)
    first_ns = start[np.arange(len(start)), (end >= 0).argmax(axis=1)]
    begin_ns = _begins_ns(tax, first_ns) if stepped else first_ns
    for position, one in enumerate(found.ranks):
        there = np.flatnonzero(end[position] >= 0)
        if not there.size:
            continue
        if not stepped:
            whole = one.window_end_ns - one.window_start_ns
            time_us[position, there] = whole / NS_PER_US / there.size
            continue
        ends = end[position, there]
        begin = np.concatenate([begin_ns[position : position + 1], ends[:-1]])
        time_us[position, there] = np.maximum(ends - begin, 0) / NS_PER_US
    return end, time_us


def _rank_steps(tax: Tax, units: Units) -> I64:
    """Count the steps of each unit that each rank was in, (r, u) int64."""
    found, (ranks, length) = tax.matches, (len(tax.matches.ranks), sum(units.sizes))
    if not units.stepped:
        return np.zeros((ranks, length), np.int64)
    step = np.repeat(units.step, np.diff(found.first))
    inside = step >= 0
    rank = found.table.rank[found.row[inside]].astype(np.int64)
    there = np.zeros((ranks, units.steps), np.bool_)
    there[rank, step[inside]] = True
    unit_of_step = np.zeros(units.steps, np.int64)
    unit_of_step[units.step[units.step >= 0]] = units.unit[units.step >= 0]
    at_rank, at_step = np.nonzero(there)
    cell = at_rank * length + unit_of_step[at_step]
    return np.bincount(cell, minlength=ranks * length).reshape(ranks, length)


def _begins_ns(tax: Tax, first_ns: I64) -> I64:
    """When the first step of each rank began: the end of the one before, or its own mark.

    Parameters
    ----------
    tax : Tax
    first_ns : (r,) int64
        When the first collective that counts started there.
    """
    table, ranks = tax.matches.table, tax.matches.ranks
    first_step = np.full(len(ranks), -1, np.int64)
    starts = np.flatnonzero(table.start_ns == first_ns[table.rank])[::-1]
    # the first of equals is written last
    first_step[table.rank[starts]] = table.step[starts]
    earlier = (table.step >= 0) & (table.step < first_step[table.rank])
    before = np.full(len(ranks), -1, np.int64)
    np.maximum.at(before, table.rank[earlier], table.end_ns[earlier])
    begins = np.where(before >= 0, before, first_ns)
    for position, one in enumerate(ranks):
        marked = one.step_start_ns[one.step_number == first_step[position]]
        if before[position] < 0 and marked.size:
            begins[position] = min(first_ns[position], int(marked[0]))
    return begins
