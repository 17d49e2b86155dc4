"""What each point of a trend says of one group role and operation."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import ABSENT, F64, I64, NS_PER_US, members
from synctax.collectives.summary import Part, parts, shares_and_taxes
from synctax.collectives.tax import Tax
from synctax.comparison.trend_points import Points

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution


@dataclass(frozen=True, slots=True)
class Spans:
    """How long the steps of every rank took on its GPU.

    One entry a rank and step (a rank, where none is marked): `position` (s,) int64 of the
    rank, `point` (s,) int64, -1 for none, `ns` (s,) int64, `marked` (s,) bool. `spent_ns`
    (s,) int64 is what waits are a share of: of whole windows it holds what comes after the
    last collective, too, which no other step has at its end.
    """

    position: I64
    point: I64
    ns: I64
    spent_ns: I64
    marked: np.ndarray


@dataclass(frozen=True, slots=True)
class Straggler:
    """Who was last most often at a point: global rank, host, and in what share."""

    rank: int
    host: str
    share: float


@dataclass(frozen=True, slots=True)
class Line:
    """One role and operation over the points.

    Parameters
    ----------
    part : Part
    slots : tuple of (n,) int64
        Its collectives at each point; empty where there is none.
    tax_us, step : tuple of arrays
        Their tax, and the profiler step each belongs to.
    n_ranks : (k,) int64
        Ranks that took part.
    wait_share, step_us : (k,) float64
        Waits over the time of the same ranks' steps; the median step. NaN where unknown.
    stragglers : tuple of Straggler or None
        None where ranks tie.
    ranks : (r,) int64
        Global ranks, ascending.
    hosts : tuple of str
        Of these ranks.
    owed_us : (r, k) float64
        What the others waited for a rank, a collective that it took part in; NaN where it
        was in none.
    took, last : (r, k) int64
        In how many collectives a rank took part, and in how many it was last.
    culprits : tuple of dict
        Share of the tax at each point that is owed to each class; empty without one.
    """

    part: Part
    slots: tuple[I64, ...]
    tax_us: tuple[F64, ...]
    step: tuple[I64, ...]
    n_ranks: I64
    wait_share: F64
    step_us: F64
    stragglers: tuple[Straggler | None, ...]
    ranks: I64
    hosts: tuple[str, ...]
    owed_us: F64
    took: I64
    last: I64
    culprits: tuple[dict[str, float], ...]


def lines(tax: Tax, at: Points, attribution: "Attribution | None") -> list[Line]:
    """Follow every role and operation over the points, most waits first.

    Parameters
    ----------
    tax : Tax
    at : Points
    attribution : Attribution or None
        Of this tax.
    """
    spans = _spans(tax, at)
    classes = _classes(attribution) if attribution is not None else None
    made = [_line(tax, at, part, spans, classes) for part in parts(tax)]
    told = [(waited, line) for waited, line in made if any(one.size for one in line.slots)]
    told.sort(key=lambda pair: (-pair[0], pair[1].part.role, pair[1].part.op.label))
    return [line for _waited, line in told]


Classes = tuple[I64, list[str], I64]
"""Slot, class and tax in ns of every collective that was attributed."""


def _line(
    tax: Tax, at: Points, part: Part, spans: Spans, classes: Classes | None
) -> tuple[int, Line]:
    slots = tuple(_by_point(part.slots, at.of_slot[part.slots], len(at)))
    whole = np.concatenate(slots) if slots else part.slots[:0]
    tax_us = shares_and_taxes(tax, whole)["tax_max_us"]
    cuts = np.cumsum([one.size for one in slots])[:-1]
    who = _Who.of(tax, at, whole)
    ranks, owed, took, last = who.owed(tax_us)
    share, step_us = who.shares(spans, len(at))
    step = tax.matches.step[whole]
    waited = int(who.wait_ns.sum())
    host = {one.rank: one.host for one in tax.matches.ranks}
    return waited, Line(
        part=part,
        slots=slots,
        tax_us=tuple(np.split(tax_us, cuts)),
        step=tuple(np.split(step, cuts)),
        n_ranks=who.n_ranks(len(at)),
        wait_share=share,
        step_us=step_us,
        stragglers=tuple(_straggler(tax, one) for one in slots),
        ranks=ranks,
        hosts=tuple(host.get(rank, "") for rank in ranks.tolist()),
        owed_us=owed,
        took=took,
        last=last,
        culprits=_culprits(at, part, classes) if classes else ({},) * len(at),
    )


def _by_point(slots: I64, point: I64, count: int) -> Iterator[I64]:
    order = np.argsort(point, kind="stable")
    bounds = np.searchsorted(point[order], np.arange(count + 1))
    for low, high in pairwise(bounds.tolist()):
        yield slots[order[low:high]]


@dataclass(frozen=True, slots=True)
class _Who:
    """Participations in some slots: rank's position, global rank, point, slot, wait."""

    tax: Tax
    position: I64
    rank: I64
    point: I64
    slot: I64
    in_step: np.ndarray
    wait_ns: I64
    slots: I64
    of_slot: I64

    @classmethod
    def of(cls, tax: Tax, at: Points, slots: I64) -> "_Who":
        found = tax.matches
        rows, slot = members(found.first, slots)
        position = found.table.rank[found.row[rows]].astype(np.int64)
        return cls(
            tax=tax,
            position=position,
            rank=found.table.own_rank[position],
            point=at.of_slot[slot],
            slot=slot,
            in_step=found.table.step[found.row[rows]] >= 0,
            wait_ns=tax.waits.wait_ns[rows],
            slots=slots,
            of_slot=at.of_slot,
        )

    def n_ranks(self, count: int) -> I64:
        """Ranks at each point, (k,) int64."""
        pairs = np.unique(np.stack([self.point, self.rank]), axis=1)
        return np.bincount(pairs[0], minlength=count)

    def owed(self, tax_us: F64) -> tuple[I64, F64, I64, I64]:
        """Global ranks, what the others waited for each, and its counts, as in `Line`."""
        count = int(self.of_slot.max(initial=-1)) + 1
        ranks, row = np.unique(self.rank, return_inverse=True)
        took = np.zeros((ranks.size, count), np.int64)
        was_last = np.zeros((ranks.size, count), np.int64)
        np.add.at(took, (row, self.point), 1)
        owed = np.zeros((ranks.size, count))
        last = self.tax.waits.straggler[self.slots]
        told = last >= 0
        rank = self.tax.matches.table.own_rank[last[told]]
        point = self.of_slot[self.slots[told]]
        row = np.searchsorted(ranks, rank)
        np.add.at(owed, (row, point), tax_us[told])
        np.add.at(was_last, (row, point), 1)
        each = np.divide(owed, took, out=np.full(took.shape, np.nan), where=took > 0)
        return ranks, each, took, was_last

    def shares(self, spans: Spans, count: int) -> tuple[F64, F64]:
        """Waits over the time of the same ranks' steps, and the median step, (k,) each."""
        size = len(self.tax.matches.ranks)
        there = np.unique(self.point * size + self.position)
        mine = np.isin(spans.point * size + spans.position, there) & (spans.point >= 0)
        whole = np.bincount(spans.point[mine], spans.spent_ns[mine], minlength=count)
        stepped = np.zeros(size, np.bool_)
        stepped[spans.position[spans.marked]] = True
        counts = self.in_step | ~stepped[self.position]
        waited = np.bincount(self.point[counts], self.wait_ns[counts], minlength=count)
        share = np.divide(waited, whole, out=np.full(count, np.nan), where=whole > 0)
        marked = mine & spans.marked
        steps = _by_point(spans.ns[marked], spans.point[marked], count)
        medians = [np.median(one) / NS_PER_US if one.size else np.nan for one in steps]
        return share, np.array(medians, np.float64)


def _straggler(tax: Tax, slots: I64) -> Straggler | None:
    """Who was last most often, as `measure` tells it: within one of sibling groups."""
    found = tax.matches
    last = tax.waits.straggler[slots]
    told = last >= 0
    if not told.any():
        return None
    group = found.group[slots[told]]
    pairs, counts = np.unique(np.stack([group, last[told]]), axis=1, return_counts=True)
    rank = found.table.own_rank[pairs[1]]
    best = np.lexsort((rank, -counts))[0]
    share = counts[best] / counts[pairs[0] == pairs[0, best]].sum()
    return Straggler(int(rank[best]), found.ranks[pairs[1, best]].host, float(share))


def _spans(tax: Tax, at: Points) -> Spans:
    """How long steps took: from the last collective of one to the last of the next.

    The first begins at its own mark. As in `collectives.summary`: the host runs ahead, so
    its ranges do not say when the GPU did the work of a step.
    """
    found, table = tax.matches, tax.matches.table
    inside = table.step >= 0
    rank, step = table.rank[inside].astype(np.int64), table.step[inside]
    order = np.lexsort((step, rank))
    rank, step = rank[order], step[order]
    new = np.flatnonzero(np.diff(rank, prepend=-1).astype(np.bool_) | _changes(step))
    start, end = table.start_ns[inside][order], table.end_ns[inside][order]
    first_ns = np.minimum.reduceat(start, new) if new.size else start
    last_ns = np.maximum.reduceat(end, new) if new.size else end
    rank, step = rank[new], step[new]
    opens = np.diff(rank, prepend=-1) != 0
    closes = np.diff(rank, append=-1) != 0
    for entry in np.flatnonzero(opens).tolist():
        one = found.ranks[rank[entry]]
        if one.step_start_ns.size:
            first_ns[entry] = min(first_ns[entry], int(one.step_start_ns.min()))
    rest_ns = np.zeros(rank.size, np.int64)
    for entry in np.flatnonzero(closes).tolist() if at.steps_each is None else ():
        one = found.ranks[rank[entry]]
        if one.step_end_ns.size:
            rest_ns[entry] = max(0, int(one.step_end_ns.max()) - int(last_ns[entry]))
    before = np.where(opens, first_ns, np.concatenate([[0], last_ns[:-1]]))
    bare = [i for i, one in enumerate(found.ranks) if not one.step_number.size]
    widths = [found.ranks[i].window_end_ns - found.ranks[i].window_start_ns for i in bare]
    ns = np.concatenate([np.maximum(last_ns - before, 0), np.array(widths, np.int64)])
    return Spans(
        position=np.concatenate([rank, np.array(bare, np.int64)]),
        point=np.concatenate(
            [_point_of(tax, at, rank, step), _point_of(tax, at, bare, None)]
        ),
        ns=ns,
        spent_ns=ns + np.concatenate([rest_ns, np.zeros(len(bare), np.int64)]),
        marked=np.arange(rank.size + len(bare)) < rank.size,
    )


def _changes(values: I64) -> np.ndarray:
    result: np.ndarray = np.diff(values, prepend=values[:1] - 1) != 0
    return result


def _point_of(tax: Tax, at: Points, position: "I64 | list[int]", step: I64 | None) -> I64:
    """Point of each rank and step, -1 for none."""
    windows: dict[str, list[int]] = {}
    for number, label in enumerate(at.window):
        windows.setdefault(label, []).append(number)
    place = np.asarray(position, np.int64)
    window = np.array([rank.window for rank in tax.matches.ranks], object)[place]
    result = np.full(place.size, ABSENT, np.int64)
    for label, points in windows.items():
        own = np.flatnonzero(window == label)
        if at.steps_each is None:
            result[own] = points[0]
        elif step is not None:
            result[own] = _holding(at, np.array(points, np.int64), step[own])
    return result


def _holding(at: Points, points: I64, step: I64) -> I64:
    """Which of the points of a window, whose steps do not overlap, each step lies in."""
    points = points[np.argsort(at.first_step[points], kind="stable")]
    before = np.searchsorted(at.first_step[points], step, "right") - 1
    found = points[np.maximum(before, 0)]
    inside = (before >= 0) & (step <= at.last_step[found])
    return np.where(inside, found, ABSENT)


def _classes(found: "Attribution") -> Classes:
    from synctax.attribution.summary import class_names

    rows = np.flatnonzero(found.used)
    results = found.results
    return results.slot[rows], class_names(found, rows), results.tax_ns[rows]


def _culprits(at: Points, part: Part, classes: Classes) -> tuple[dict[str, float], ...]:
    """Share of the tax that each class owes at each point, the largest first."""
    slot, names, tax_ns = classes
    mine = np.flatnonzero(np.isin(slot, part.slots) & (at.of_slot[slot] >= 0))
    sums: list[dict[str, int]] = [{} for _ in range(len(at))]
    for entry in mine.tolist():
        tally = sums[at.of_slot[slot[entry]]]
        tally[names[entry]] = tally.get(names[entry], 0) + int(tax_ns[entry])
    return tuple(_largest_first(tally) for tally in sums)


def _largest_first(tally: dict[str, int]) -> dict[str, float]:
    whole = sum(tally.values())
    ordered = sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: ns / whole for name, ns in ordered} if whole else {}
