"""Tax, shares and stragglers of two sides, row by row."""

from dataclasses import dataclass, field, replace

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US, Bool, members
from synctax.collectives.stragglers import longest_run
from synctax.collectives.summary import parts, shares_and_taxes
from synctax.comparison.stats import NOTHING, Difference, Estimate, difference
from synctax.comparison.units import Side


@dataclass(frozen=True, slots=True)
class Change:
    """One number before and after.

    Parameters
    ----------
    group, op : str or None
        Of which row; None for the whole job.
    quantity : str
        Its name, with its unit at the end.
    found : Difference
    counts : (int, int)
        Collectives behind it on either side.
    ranks : (int or None, int or None)
        The rank it is of, on either side.
    a_step : float
        Collectives of its row in which a rank takes part in a step (or, where none is
        marked, in all), the mean of both sides; NaN where that is not known.
    """

    group: str | None
    op: str | None
    quantity: str
    found: Difference
    counts: tuple[int, int] = (0, 0)
    ranks: tuple[int | None, int | None] = (None, None)
    a_step: float = float("nan")

    @property
    def only_in(self) -> str | None:
        """The side that has it, where the other does not."""
        if self.group is None or all(self.counts):
            return None
        return "a" if self.counts[0] else "b"


@dataclass(frozen=True, slots=True)
class Row:
    """Collectives of one role and operation on one side, over its runs.

    Parameters
    ----------
    side : Side
    slots : tuple of (k,) int64
        Of each run, in order of group and time.
    """

    side: Side
    slots: tuple[I64, ...]

    @property
    def count(self) -> int:
        """How many collectives there are."""
        return sum(slots.size for slots in self.slots)

    @property
    def unit(self) -> I64:
        """Unit of each collective, (k,) int64."""
        return np.concatenate(
            [
                run.unit[slots] + begin
                for run, slots, begin in zip(
                    self.side.runs, self.slots, self.side.begin, strict=True
                )
            ]
        )

    @property
    def a_step(self) -> float:
        """Collectives in which a rank takes part in a step, or in all without steps."""
        took_part = steps = 0
        for run, slots in zip(self.side.runs, self.slots, strict=True):
            rows, _ = members(run.tax.matches.first, slots)
            found = run.tax.matches
            there = np.unique(found.table.rank[found.row[rows]])
            took_part += rows.size
            if run.stepped:
                steps += int(run.rank_steps[there].sum())
            else:
                # a rank has a position in every window
                steps += len({found.ranks[at].rank for at in there.tolist()})
        return took_part / steps if steps else float("nan")

    def values(self) -> dict[str, F64]:
        """Taxes, shares and transfers of each collective, (k,) float64."""
        found: list[dict[str, F64]] = []
        for run, slots in zip(self.side.runs, self.slots, strict=True):
            tax = run.tax
            found.append(
                shares_and_taxes(tax, slots)
                | {
                    "transfer_us": tax.waits.shortest_ns[slots] / NS_PER_US,
                    "busbw_gb_per_s": tax.busbw_gb_per_s[slots],
                }
            )
        return {name: np.concatenate([one[name] for one in found]) for name in found[0]}

    def payloads(self) -> I64:
        """Payload of each collective in bytes, -1 where unknown; (k,) int64."""
        pairs = zip(self.side.runs, self.slots, strict=True)
        return np.concatenate([run.tax.matches.payload_bytes[s] for run, s in pairs])


def rows_of(side: Side) -> dict[tuple[str, str], Row]:
    """Find the roles and operations of a side, those of which most is waited first."""
    slots: dict[tuple[str, str], list[I64]] = {}
    waited: dict[tuple[str, str], int] = {}
    for at, run in enumerate(side.runs):
        for part in parts(run.tax):
            key = (part.role, part.op.label)
            none = [np.empty(0, np.int64) for _ in side.runs]
            slots.setdefault(key, none)[at] = part.slots
            tax_ns = (
                run.tax.waits.mean_ns[part.slots] - run.tax.waits.shortest_ns[part.slots]
            )
            ranks = run.tax.waits.n_ranks[part.slots]
            waited[key] = waited.get(key, 0) + int((tax_ns * ranks).sum())
    order = sorted(slots, key=lambda key: (-waited[key], key))
    return {key: Row(side, tuple(slots[key])) for key in order}


@dataclass(frozen=True, slots=True)
class Numbers:
    """Estimates of one row of one side.

    `ranks` are the global ranks that a quantity is of.
    """

    estimates: dict[str, Estimate]
    count: int = 0
    ranks: dict[str, int] = field(default_factory=dict)


def numbers(row: Row) -> Numbers:
    """Estimate everything that is compared of a row.

    Parameters
    ----------
    row : Row

    Returns
    -------
    Numbers
    """
    draws, unit, values = row.side.draws, row.unit, row.values()
    median, p90 = draws.quantile(unit, values["tax_max_us"], (0.5, 0.9))
    found = {
        "tax_max_us_median": median,
        "tax_max_us_mean": draws.mean(unit, values["tax_max_us"]),
        "tax_max_us_p90": p90,
        "tax_mean_us_mean": draws.mean(unit, values["tax_mean_us"]),
        "share_fastest_median": draws.quantile(unit, values["share_fastest"], (0.5,))[0],
        "wait_share_of_step": _of_step(row),
        "transfer_us_median": draws.quantile(unit, values["transfer_us"], (0.5,))[0],
        "busbw_gb_per_s_median": draws.quantile(unit, values["busbw_gb_per_s"], (0.5,))[0],
    }
    last, rank, series, others = _lasts(row)
    ranks: dict[str, int] = {}
    top = _most_often(last, rank, others)
    if top is not None:
        sibling, ranks["straggler_share"] = top
        mine = (others == sibling) & (last >= 0)
        # the share of whoever is last most often is larger the fewer steps there are, so
        # it is not tested: shares of given ranks are (`compare_ranks`)
        share = float((rank[mine] == top[1]).mean())
        found["straggler_share"] = Estimate(share, np.nan, 0.0)
    both = (series[1:] == series[:-1]) & (last[1:] >= 0) & (last[:-1] >= 0)
    if both.any():
        again = (last[1:] == last[:-1])[both]
        found["straggler_persistence"] = draws.share(unit[:-1][both], again)
        runs = [longest_run(last[series == one]) for one in np.unique(series)]
        found["straggler_longest_run"] = Estimate(float(max(runs)), np.nan, 0.0)
    return Numbers(found, row.count, ranks)


def compare_rows(a: Side, b: Side, level: float) -> list[Change]:
    """Compare all rows of two sides, and the time of a step.

    Parameters
    ----------
    a, b : Side
    level : float
        Of intervals.
    """
    ours, theirs = rows_of(a), rows_of(b)
    changes = _step_change(a, b, level)
    for key in dict.fromkeys([*ours, *theirs]):
        one = numbers(ours[key]) if key in ours else Numbers({})
        two = numbers(theirs[key]) if key in theirs else Numbers({})
        often = float(np.mean([of[key].a_step for of in (ours, theirs) if key in of]))
        for name in dict.fromkeys([*one.estimates, *two.estimates]):
            before = one.estimates.get(name, NOTHING)
            after = two.estimates.get(name, NOTHING)
            if np.isnan(before.value) and np.isnan(after.value):
                continue
            ranks = (one.ranks.get(name), two.ranks.get(name))
            found = difference(before, after, level)
            if ranks[0] != ranks[1]:
                # shares of two ranks: how they differ is no change of either
                found = replace(found, difference=np.nan)
            counts = (one.count, two.count)
            changes.append(Change(*key, name, found, counts, ranks, often))
    return changes


def _step_change(a: Side, b: Side, level: float) -> list[Change]:
    if not all(run.stepped for run in (*a.runs, *b.runs)):
        return []
    both = [_step_us(side) for side in (a, b)]
    return [Change(None, None, "step_us_mean", difference(both[0], both[1], level))]


def _step_us(side: Side) -> Estimate:
    """Mean time of a step, over steps and ranks."""
    times = np.concatenate([run.time_us for run in side.runs], axis=None)
    units = [
        np.broadcast_to(np.arange(len(run)) + begin, run.time_us.shape).reshape(-1)
        for run, begin in zip(side.runs, side.begin, strict=True)
    ]
    steps = np.concatenate([run.rank_steps for run in side.runs], axis=None)
    known = times > 0
    return side.draws.ratio(
        np.concatenate(units)[known], times[known], steps[known].astype(np.float64)
    )


def _of_step(row: Row) -> Estimate:
    """Waits over the time of the same ranks' steps."""
    unit, over, under = list[I64](), list[F64](), list[F64]()
    for run, slots, begin in zip(row.side.runs, row.slots, row.side.begin, strict=True):
        rows, slot = members(run.tax.matches.first, slots)
        rank = run.tax.matches.table.rank[run.tax.matches.row[rows]]
        there = np.unique(rank)
        unit += [run.unit[slot] + begin, np.tile(np.arange(len(run)) + begin, there.size)]
        over += [run.tax.waits.wait_ns[rows] / NS_PER_US, np.zeros(there.size * len(run))]
        under += [np.zeros(rows.size), run.time_us[there].reshape(-1)]
    return row.side.draws.ratio(
        np.concatenate(unit), np.concatenate(over), np.concatenate(under)
    )


def _lasts(row: Row) -> tuple[I64, I64, I64, I64]:
    """Tell who was last in each collective of a row.

    Returns
    -------
    last, rank, series, sibling : (k,) int64
        Position of the straggler and its global rank, -1 where ranks tie; which run and
        group it is in; which group over the runs.
    """
    last, rank, series, siblings = (list[I64]() for _ in range(4))
    names: dict[tuple[int, ...], int] = {}
    for number, (run, slots) in enumerate(zip(row.side.runs, row.slots, strict=True)):
        found = run.tax.matches
        position = run.tax.waits.straggler[slots].astype(np.int64)
        own = np.array([one.rank for one in found.ranks] + [-1], np.int64)
        group = found.group[slots].astype(np.int64)
        sibling = np.array(
            [names.setdefault(one.ranks, len(names)) for one in found.groups], np.int64
        )
        last.append(position)
        rank.append(own[position])
        series.append(group + (number << 32))
        siblings.append(sibling[group])
    return (
        np.concatenate(last),
        np.concatenate(rank),
        np.concatenate(series),
        np.concatenate(siblings),
    )


def _most_often(last: I64, rank: I64, sibling: I64) -> tuple[int, int] | None:
    """Find the group and rank that was last most often, the lowest rank of equals."""
    decided = last >= 0
    if not decided.any():
        return None
    pairs, count = np.unique(
        np.stack([rank[decided], sibling[decided]]), axis=1, return_counts=True
    )
    best = int(count.argmax())
    return int(pairs[1, best]), int(pairs[0, best])


@dataclass(frozen=True, slots=True)
class RankChange:
    """What one rank waited before and after, or how often it was last."""

    group: str
    op: str
    rank: int
    quantity: str
    found: Difference
    only_in: str | None


def compare_ranks(a: Side, b: Side, level: float) -> list[RankChange]:
    """Compare what each rank of each row waited, and how often it was last.

    Parameters
    ----------
    a, b : Side
    level : float
        Of intervals.
    """
    ours, theirs = rows_of(a), rows_of(b)
    changes = []
    for key in dict.fromkeys([*ours, *theirs]):
        one = _of_ranks(ours[key]) if key in ours else {}
        two = _of_ranks(theirs[key]) if key in theirs else {}
        for rank in sorted({*one, *two}):
            only = None if rank in one and rank in two else "a" if rank in one else "b"
            for at, name in enumerate(("wait_us_mean", "straggler_share")):
                before = one.get(rank, (NOTHING, NOTHING))[at]
                after = two.get(rank, (NOTHING, NOTHING))[at]
                found = difference(before, after, level)
                changes.append(RankChange(*key, rank, name, found, only))
    return changes


def _of_ranks(row: Row) -> dict[int, tuple[Estimate, Estimate]]:
    """Mean wait of each global rank, and its share of being last."""
    unit, rank, wait = list[I64](), list[I64](), list[F64]()
    was_last, decided = list[Bool](), list[Bool]()
    for run, slots, begin in zip(row.side.runs, row.slots, row.side.begin, strict=True):
        found = run.tax.matches
        rows, slot = members(found.first, slots)
        position = found.table.rank[found.row[rows]]
        own = np.array([one.rank for one in found.ranks], np.int64)
        last = run.tax.waits.straggler[slot]
        unit.append(run.unit[slot] + begin)
        rank.append(own[position])
        wait.append(run.tax.waits.wait_ns[rows] / NS_PER_US)
        was_last.append(last == position)
        decided.append(last >= 0)
    units, ranks = np.concatenate(unit), np.concatenate(rank)
    waits = np.concatenate(wait)
    lasts: Bool = np.concatenate(was_last)
    known: Bool = np.concatenate(decided)
    draws = row.side.draws
    every, part = np.unique(ranks, return_inverse=True)
    part = part.reshape(-1).astype(np.int64)
    waited = draws.means(units, waits, part)
    ever, part = np.unique(ranks[known], return_inverse=True)
    part = part.reshape(-1).astype(np.int64)
    share = dict(
        zip(ever.tolist(), draws.shares(units[known], lasts[known], part), strict=True)
    )
    return {
        one: (mean, share.get(one, NOTHING))
        for one, mean in zip(every.tolist(), waited, strict=True)
    }
