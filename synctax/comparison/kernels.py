"""How long computation takes: durations of kernels by class, such as GEMMs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US
from synctax.attribution.culprits import CLASSES
from synctax.attribution.rounds import OnProgress, OnRound, over_files
from synctax.attribution.walk import Reading
from synctax.collectives.load import Cache
from synctax.comparison.stats import NOTHING, Difference, Draws, Estimate, difference
from synctax.comparison.units import Run, Side
from synctax.trace import names
from synctax.trace.model import EventKind
from synctax.trace.names import by_name
from synctax.trace.pool import Workers

COMPUTE = CLASSES[: CLASSES.index("communication")]
"""Classes of kernels that compute."""

KEPT = 1_000
"""Durations that are kept of a class and rank, evenly over their order."""

_NUMBER = {name: at for at, name in enumerate(COMPUTE)}
_READING = "timing kernels"


@dataclass(frozen=True, slots=True)
class RankKernels:
    """Kernels of one rank, by class in the order of `COMPUTE`.

    Parameters
    ----------
    path : str
        The file.
    count, sum_ns : (c, u) int64
        In each unit of the run.
    kept_us : tuple of (k,) float64
        Durations of each class, ascending: every one, or `KEPT` of them, each of which
        then stands for as many others.
    """

    path: str
    count: I64
    sum_ns: I64
    kept_us: tuple[F64, ...]


@dataclass(frozen=True, slots=True)
class SideKernels:
    """Kernels of a side: `ranks` of each run."""

    ranks: tuple[tuple[RankKernels, ...], ...]

    def durations_us(self, kernel_class: str) -> F64:
        """List durations of a class that were kept, `KEPT` at most of a rank.

        A rank with more kernels than that counts for no more than one with so many.
        """
        at = _NUMBER[kernel_class]
        kept = [one.kept_us[at] for run in self.ranks for one in run]
        return np.concatenate(kept) if kept else np.empty(0)

    def median_us(self, kernel_class: str) -> float:
        """Median duration of a class, every kernel counted once; NaN without any."""
        at, values = _NUMBER[kernel_class], self.durations_us(kernel_class)
        if not values.size:
            return float("nan")
        ranks = [one for run in self.ranks for one in run if one.kept_us[at].size]
        each = [one.count[at].sum() / one.kept_us[at].size for one in ranks]
        if len(set(each)) == 1:
            return float(np.median(values))
        weight = np.repeat(each, [one.kept_us[at].size for one in ranks])
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weight[order])
        return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


@dataclass(frozen=True, slots=True)
class KernelChange:
    """Durations of one class before and after: `found` is of their means, in µs."""

    kernel_class: str
    counts: tuple[int, int]
    median_us: tuple[float, float]
    found: Difference


def kernels_of(
    run: Run,
    *,
    workers: Workers = None,
    cache: Cache | None = None,
    on_progress: OnProgress | None = None,
    on_round: OnRound | None = None,
) -> tuple[RankKernels, ...]:
    """Read how long the kernels of every rank took.

    A kernel counts for the unit in which it started on its rank.

    Parameters
    ----------
    run : Run
        Its files are read again.
    workers, cache, on_progress, on_round
        As for `attribute`.

    Raises
    ------
    SynctaxError
        If a file can no longer be read.
    """
    ranks = run.tax.matches.ranks
    ends = {one.path: run.end_ns[at] for at, one in enumerate(ranks)}
    paths = list(ends)
    reading = Reading(cache, 0.0)
    return tuple(
        over_files(
            _READING,
            partial(_time_rank, ends_ns=ends, reading=reading),
            paths,
            workers=workers,
            on_progress=on_progress,
            on_round=on_round,
        )
    )


def _time_rank(
    path: str,
    on_bytes: Callable[[int], None],
    *,
    ends_ns: Mapping[str, I64],
    reading: Reading,
) -> RankKernels:
    trace = reading.trace(path, on_bytes)
    events, ends = trace.events, ends_ns[path]
    rows = np.flatnonzero(events.kind == EventKind.KERNEL)
    of_class = by_name(trace.strings, events.name[rows], _class, np.int8).astype(np.int64)
    rows, of_class = rows[of_class >= 0], of_class[of_class >= 0]
    there = np.flatnonzero(ends >= 0)
    at = np.searchsorted(ends[there], events.start_ns[rows])
    inside = at < there.size
    rows, of_class, unit = rows[inside], of_class[inside], there[at[inside]]
    took = events.duration_ns[rows]
    cell = of_class * ends.size + unit
    shape = (len(COMPUTE), ends.size)
    whole = len(COMPUTE) * ends.size
    count = np.bincount(cell, minlength=whole).reshape(shape)
    total = np.bincount(cell, took.astype(np.float64), whole).reshape(shape)
    kept = tuple(_evenly(took[of_class == one]) for one in range(len(COMPUTE)))
    return RankKernels(path, count.astype(np.int64), total.astype(np.int64), kept)


def _class(name: str) -> int:
    kind = names.kernel(name)
    return -1 if kind.communicates else _NUMBER.get(kind.kind, _NUMBER["other"])


def _evenly(took_ns: I64) -> F64:
    ordered = np.sort(took_ns) / NS_PER_US
    if ordered.size <= KEPT:
        return np.asarray(ordered)
    place = ((np.arange(KEPT) + 0.5) * ordered.size / KEPT).astype(np.int64)
    return np.asarray(ordered[place])


def compare_kernels(
    sides: tuple[Side, Side], kernels: tuple[SideKernels, SideKernels], level: float
) -> list[KernelChange]:
    """Compare mean durations of kernels by class, most time first.

    Parameters
    ----------
    sides : (Side, Side)
    kernels : (SideKernels, SideKernels)
    level : float
        Of intervals.
    """
    changes, total = [], {}
    for at, name in enumerate(COMPUTE):
        one, two = (
            _mean(side, of.ranks, at) for side, of in zip(sides, kernels, strict=True)
        )
        if not one[1] and not two[1]:
            continue
        middle = [of.median_us(name) for of in kernels]
        total[name] = max(0.0 if np.isnan(x.value) else x.value * n for x, n in (one, two))
        found = difference(one[0], two[0], level)
        changes.append(KernelChange(name, (one[1], two[1]), (middle[0], middle[1]), found))
    return sorted(changes, key=lambda change: -total[change.kernel_class])


def _mean(
    side: Side, runs: Sequence[Sequence[RankKernels]], at: int
) -> tuple[Estimate, int]:
    counts = np.concatenate([sum(one.count[at] for one in run) for run in runs])
    sums = np.concatenate([sum(one.sum_ns[at] for one in run) for run in runs])
    draws: Draws = side.draws
    if not counts.sum():
        return NOTHING, 0
    unit = np.arange(counts.size)
    mean = draws.ratio(unit, sums / NS_PER_US, counts.astype(np.float64))
    return mean, int(counts.sum())
