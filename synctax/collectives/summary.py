"""Tables of a tax: per role and operation, per collective, per rank."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US, apart, distinct, median
from synctax.collectives.clock import ClockFit
from synctax.collectives.matches import Identity, Status
from synctax.collectives.model import Op
from synctax.collectives.stragglers import longest_run, run_p, uniform_p
from synctax.schema import MEASURE, MEASURE_COLLECTIVES, MEASURE_RANKS, Rows

if TYPE_CHECKING:
    from synctax.collectives.tax import Tax


def summary(tax: "Tax") -> Rows:
    """Build the table `schema.MEASURE`: a row per role and operation, most waits first."""
    rows = [_row(tax, part) for part in parts(tax)]
    rows.sort(key=lambda row: (-row.pop("_waited_ns"), row["group"], row["op"]))
    return MEASURE.rows({name: [row[name] for row in rows] for name in MEASURE.names})


@dataclass(frozen=True, slots=True)
class Part:
    """The collectives of one role and operation that count, as slot numbers."""

    role: str
    op: Op
    slots: I64


def parts(tax: "Tax") -> Iterator[Part]:
    """Go through the roles and operations that have collectives which count."""
    found = tax.matches
    # by number: numpy takes the NULs off the end of a text that it compares with
    number: dict[str, int] = {}
    of_group = [number.setdefault(group.role, len(number)) for group in found.groups]
    used = np.flatnonzero(tax.used)
    role_of = np.array(of_group, np.int64)[found.group[used]]
    for role, one in number.items():
        mine = used[role_of == one]
        for code in distinct(found.op[mine]):
            yield Part(role, Op(int(code)), mine[found.op[mine] == code])


def _row(tax: "Tax", part: Part) -> dict[str, Any]:
    found, waits, slots = tax.matches, tax.waits, part.slots
    groups = [found.groups[g] for g in distinct(found.group[slots])]
    numbers = shares_and_taxes(tax, slots)
    payload = found.payload_bytes[slots]
    rows = _rows_of(tax, slots)
    row: dict[str, Any] = {
        "group": part.role,
        "op": part.op.label,
        "n_groups": len({group.ranks for group in groups}),
        "n_ranks": max(group.size for group in groups),
        "collectives": slots.size,
        "payload_bytes_median": _median(payload[payload >= 0].astype(np.float64)),
        "transfer_us_median": _median(waits.shortest_ns[slots] / NS_PER_US),
        "busbw_gb_per_s_median": _median(tax.busbw_gb_per_s[slots]),
        "wait_share_of_step": _share_of_step(tax, rows),
        "_waited_ns": int(waits.wait_ns[rows].sum()),
    }
    for name in ("tax_max_us", "tax_median_us"):
        low, p90, p99, high = np.quantile(numbers[name], (0.5, 0.9, 0.99, 1.0))
        row |= {f"{name}_median": low, f"{name}_p90": p90}
        row |= {f"{name}_p99": p99, f"{name}_max": high}
    row["tax_mean_us_median"] = _median(numbers["tax_mean_us"])
    row["tax_mean_us_mean"] = float(numbers["tax_mean_us"].mean())
    for name in ("share_fastest", "share_median"):
        row |= {
            f"{name}_median": _median(numbers[name]),
            f"{name}_max": numbers[name].max(),
        }
    return row | _straggler(tax, slots)


def shares_and_taxes(tax: "Tax", slots: I64) -> dict[str, F64]:
    """Return tax and shares of some collectives, each (k,) float64, times in µs."""
    waits = tax.waits
    shortest, longest = waits.shortest_ns[slots], waits.longest_ns[slots]
    median, mean = waits.median_ns[slots], waits.mean_ns[slots]
    with np.errstate(invalid="ignore", divide="ignore"):
        share_fastest = np.nan_to_num((longest - shortest) / longest)
        share_median = np.nan_to_num((median - shortest) / median)
    return {
        "tax_max_us": (longest - shortest) / NS_PER_US,
        "tax_median_us": (median - shortest) / NS_PER_US,
        "tax_mean_us": (mean - shortest) / NS_PER_US,
        "share_fastest": share_fastest,
        "share_median": share_median,
    }


def _median(values: F64) -> float | None:
    known = values[~np.isnan(values)]
    return median(known) if known.size else None


def _rows_of(tax: "Tax", slots: I64) -> I64:
    """Participations of some slots."""
    chosen = np.zeros(len(tax.matches), np.bool_)
    chosen[slots] = True
    return np.flatnonzero(np.repeat(chosen, np.diff(tax.matches.first)))


def _share_of_step(tax: "Tax", rows: I64) -> float | None:
    """Waits over the time of the same ranks' steps, or windows where none is marked."""
    found, waited_ns = tax.matches, tax.waits.wait_ns[rows]
    of_table = found.row[rows]
    rank, in_step = found.table.rank[of_table], found.table.step[of_table] >= 0
    waited = whole = 0
    for position, mine in apart(rank):
        if found.ranks[position].step_number.size:
            mine = mine[in_step[mine]]  # noqa: PLW2901 - those of them that count
        waited += int(waited_ns[mine].sum())
        whole += _steps_ns(tax, position)
    return waited / whole if whole else None


def _steps_ns(tax: "Tax", position: int) -> int:
    """How long the selected steps of a rank took on its GPU.

    The host runs ahead of the GPU, so its `ProfilerStep` ranges do not say when the work
    of a step was done: a step lasts from the last collective of the step before to the
    last of its own (or its range, if that is longer).
    """
    one, table = tax.matches.ranks[position], tax.matches.table
    if not one.step_number.size:
        return one.window_end_ns - one.window_start_ns
    steps = tax.steps or range(int(one.step_number.min()), int(one.step_number.max()) + 1)
    chosen = (one.step_number >= steps.start) & (one.step_number < steps.stop)
    if not chosen.any():
        return 0
    mine = table.of_rank(position)
    step = table.step[mine]
    start_ns = table.start_ns[mine]
    end_ns = start_ns + table.duration_ns[mine]
    inside = (step >= steps.start) & (step < steps.stop)
    before = (step >= 0) & (step < steps.start)
    first = min(int(one.step_start_ns[chosen].min()), int(start_ns[inside].min()))
    if before.any():
        first = int(end_ns[before].max())
    last = int(end_ns[inside].max())
    if not (step >= steps.stop).any():
        last = max(last, int(one.step_end_ns[chosen].max()))
    return max(last - first, 0)


def _straggler(tax: "Tax", slots: I64) -> dict[str, Any]:
    """Who is last most often, and whether that is chance; a group's windows add up."""
    found, straggler = tax.matches, tax.waits.straggler
    counts: dict[tuple[str, tuple[int, ...]], dict[int, int]] = {}
    run, draws = 0, list[tuple[int, int]]()
    for number, mine in apart(found.group[slots]):
        group = found.groups[number]
        last = straggler[slots[mine]]
        run = max(run, longest_run(last))
        draws.append((last.size, len(group.members)))
        tally = counts.setdefault((group.name, group.ranks), {})
        times = np.bincount(last[last >= 0], minlength=len(found.ranks))
        for member in group.members:
            rank = found.ranks[member].rank
            tally[rank] = tally.get(rank, 0) + int(times[member])
    best = max(
        ((count, -rank, sum(tally.values())) for tally in counts.values()
         for rank, count in tally.items()),
        default=(0, 0, 0),
    )  # fmt: skip
    if not best[0]:
        return dict.fromkeys(_STRAGGLER) | {"straggler_longest_run": 0}
    one = next(rank for rank in found.ranks if rank.rank == -best[1])
    tallies = [np.array(list(tally.values()), np.int64) for tally in counts.values()]
    none_so_long = math.prod(1.0 - run_p(run, size, members) for size, members in draws)
    return {
        "straggler_rank": one.rank,
        "straggler_host": one.host or None,
        "straggler_gpu": one.gpu or None,
        "straggler_share": best[0] / best[2],
        "straggler_uniform_p": uniform_p(tallies),
        "straggler_longest_run": run,
        "straggler_run_p": 1.0 - none_so_long,
    }


_STRAGGLER = tuple(name for name in MEASURE.names if name.startswith("straggler"))


def per_collective(tax: "Tax") -> Rows:
    """Build the table `schema.MEASURE_COLLECTIVES` of the selected collectives."""
    found, waits = tax.matches, tax.waits
    slots = np.flatnonzero(tax.shown)
    table = found.table
    ranks = np.array([rank.rank for rank in found.ranks] + [-1], np.int64)
    group = found.group[slots].tolist()
    roles = [one.role for one in found.groups]
    members = [ranks_text(one.ranks) for one in found.groups]
    windows = [one.window or None for one in found.groups]
    count = waits.n_ranks[slots]
    exposed = np.add.reduceat(tax.exposed_ns, found.first[:-1])[slots] / count
    # Where the tax may not be believed, or one rank is all there is, none is told.
    silent = np.isin(tax.matches.own_status[slots], (Status.INVALID, Status.UNMATCHED))
    silent |= count == 1
    numbers = shares_and_taxes(tax, slots)
    numbers["exposed_wait_us"] = exposed / NS_PER_US
    numbers["busbw_gb_per_s"] = tax.busbw_gb_per_s[slots].copy()
    for values in numbers.values():
        values[silent] = np.nan
    shown_rank = {
        name: np.where(silent, -1, ranks[column[slots]])
        for name, column in (
            ("straggler_rank", waits.straggler),
            ("fastest_rank", waits.fastest),
        )
    }
    return MEASURE_COLLECTIVES.rows(
        {
            "group": [roles[g] for g in group],
            "group_ranks": [members[g] for g in group],
            "op": _texts([op.label for op in Op], found.op[slots]),
            "index": found.index[slots],
            "step": _absent(found.step[slots]),
            "seq": _absent(found.seq[slots]),
            "payload_bytes": _absent(found.payload_bytes[slots]),
            "n_ranks": count,
            "duration_min_us": waits.shortest_ns[slots] / NS_PER_US,
            "duration_median_us": waits.median_ns[slots] / NS_PER_US,
            "duration_max_us": waits.longest_ns[slots] / NS_PER_US,
            "straggler_rank": _absent(shown_rank["straggler_rank"]),
            "fastest_rank": _absent(shown_rank["fastest_rank"]),
            "start_spread_us": found.start_spread_ns[slots] / NS_PER_US,
            "end_spread_us": found.end_spread_ns[slots] / NS_PER_US,
            "identity": _texts(
                [one.name.lower() for one in Identity], found.identity[slots]
            ),
            "status": _texts([one.name.lower() for one in Status], tax.status[slots]),
            "reason": _texts([*found.reasons, None], found.reason[slots]),
            "dtype": _texts([*table.dtypes, None], found.dtype[slots]),
            "window": [windows[g] for g in group],
            **numbers,
        }
    )


def _texts(names: Sequence[str | None], codes: np.ndarray) -> list[str | None]:
    """The name of each code; -1 is the last one."""
    return [names[code] for code in codes.tolist()]


def _absent(values: I64) -> list[int | None]:
    return [None if value < 0 else value for value in values.tolist()]


def ranks_text(ranks: tuple[int, ...]) -> str:
    """Write ranks in ascending order shortly.

    Examples
    --------
    >>> ranks_text((0, 1, 2, 3)), ranks_text((0, 4)), ranks_text((0, 1, 2, 8))
    ('0-3', '0,4', '0-2,8')
    """
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs
    )


def per_rank(tax: "Tax") -> Rows:
    """Build the table `schema.MEASURE_RANKS`."""
    rows = [row for part in parts(tax) for row in _rank_rows(tax, part)]
    return MEASURE_RANKS.rows(
        {name: [row[name] for row in rows] for name in MEASURE_RANKS.names}
    )


def _rank_rows(tax: "Tax", part: Part) -> Iterator[dict[str, Any]]:
    found = tax.matches
    rows = _rows_of(tax, part.slots)
    rank = found.table.rank[found.row[rows]]
    slot = np.repeat(np.arange(len(found)), np.diff(found.first))[rows]
    wait_ns = tax.waits.wait_ns[rows]
    last = tax.waits.straggler[slot]
    for position, mine in apart(rank):
        one, waited_ns = found.ranks[position], wait_ns[mine]
        untied = int((last[mine] >= 0).sum())
        was_last = int((last[mine] == position).sum())
        clock = _clock_of(tax, slot[mine], position)
        yield {
            "group": part.role,
            "op": part.op.label,
            "rank": one.rank,
            "host": one.host or None,
            "gpu": one.gpu or None,
            "collectives": mine.size,
            "straggler_count": was_last,
            "straggler_share": was_last / untied if untied else None,
            # in ns, which are whole: a sum of µs has digits that no time has
            "tax_mean_us": float(waited_ns.mean()) / NS_PER_US,
            "wait_us_median": median(waited_ns) / NS_PER_US,
            "wait_us_p90": float(np.quantile(waited_ns, 0.9)) / NS_PER_US,
            "wait_us_max": int(waited_ns.max()) / NS_PER_US,
            "wait_us_sum": int(waited_ns.sum()) / NS_PER_US,
            "exposed_wait_us_sum": float(tax.exposed_ns[rows[mine]].sum()) / NS_PER_US,
            "clock_offset_us": clock.offset_ns / NS_PER_US if clock else None,
            "clock_drift_ppm": clock.drift * 1e6 if clock else None,
            "clock_residual_us": clock.residual_ns / NS_PER_US if clock else None,
            "window": one.window or None,
        }


def caused_us(tax: "Tax") -> dict[tuple[str, str, int, str], float]:
    """Sum up the tax of the collectives that count in which each rank was last.

    Parameters
    ----------
    tax : Tax

    Returns
    -------
    mapping
        In µs, by role, operation, global rank and window; without those that never were.
    """
    matches, waits = tax.matches, tax.waits
    tax_ns = waits.longest_ns - waits.shortest_ns
    sums: dict[tuple[str, str, int, str], float] = {}
    for part in parts(tax):
        slots = part.slots[waits.straggler[part.slots] >= 0]
        last = waits.straggler[slots]
        for position, mine in apart(last):
            one = matches.ranks[position]
            own_ns = int(tax_ns[slots[mine]].sum())
            key = part.role, part.op.label, one.rank, one.window
            sums[key] = sums.get(key, 0.0) + own_ns / NS_PER_US
    return sums


def _clock_of(tax: "Tax", slots: I64, position: int) -> ClockFit | None:
    """The clock of a rank in the first of its groups here that needed one."""
    clocks = tax.matches.clocks
    fits = [clocks[g].get(position) for g in distinct(tax.matches.group[slots])]
    return next((clock for clock in fits if clock is not None), None)
