"""Times of compute blocks between collectives, out of a job's critical paths.

A block is what every rank computes between two consecutive collectives of its group. The
window of an instance begins when all ranks have left the first of the two together and
ends, for each rank, when it arrives at the second: its block time is the time that kernels
take on its critical path in between. Kernels that run beside the path on another stream
do not count, and no time counts twice: the items of a path follow one another. Latencies
between kernels do not count either. Where the path of every rank is kernels only, the
difference of two ranks' block times is thus, but for latencies, the difference of their
arrivals: the wait.

Without a GPU the host computes: a block is what it does on the path, operators and the gaps
between them, from leaving the collective before (each rank when it does: on CPUs ranks
leave when their threads are scheduled again) to issuing the next.

A window that holds more or less than its block (a collective that still ran, a kernel cut
by the beginning of the window) has no block time: its length says when the fence fell and
not what the block took.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import ABSENT, I8, I64
from synctax.attribution.block_entry import (
    Entries,
    Entry,
    coverage,
    entries,
    of_one_size,
    tax_of_us,
)
from synctax.attribution.block_table import table
from synctax.attribution.block_walk import RankSums, sum_rank
from synctax.attribution.judge import graph_notes
from synctax.attribution.options import Options
from synctax.attribution.rounds import WALKING, OnProgress, OnRound, over_files
from synctax.attribution.walk import Reading
from synctax.attribution.windows import Roster, Wanted, Windows, begins_ns, tasks, windows
from synctax.collectives.load import Cache
from synctax.collectives.tax import Tax
from synctax.errors import SynctaxError
from synctax.evt.model import BlockTimes, Coverage
from synctax.evt.sample import MIN_DISTINCT_VALUES
from synctax.evt.standard import MIN_INSTANCES
from synctax.notes import Note
from synctax.schema import FIT_EVT_INSTANCES
from synctax.schema.html import Shown
from synctax.trace.on_scheduler import on_scheduler
from synctax.trace.pool import Workers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class FoundBlocks(Shown):
    """What `block_times` found for the groups of one role.

    Parameters
    ----------
    times : BlockTimes or None
        None where no collective enters.
    coverage : Coverage
        What part of the role's collectives and tax that is, and why not the rest.
    group : str
        The role.
    payload_bytes : int or None
        Largest buffer of its collectives that count; None where the trace has none.
    slot : (i,) int64
        The collective that ends each instance, number in `tax.matches`.
    why : (m,) int8
        `Entry` of each collective of `tax.matches` that counts, -1 for the others and for
        those of other roles.
    notes : tuple of Note
        What was inferred, chosen or left out, from measuring on.
    """

    times: BlockTimes | None
    coverage: Coverage
    group: str
    payload_bytes: int | None
    slot: I64
    why: I8
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        blocks = "nothing" if self.times is None else repr(self.times).strip("<>")
        return f"<FoundBlocks: {self.group}, {blocks}>"

    def to_frame(self) -> "pd.DataFrame":
        """One row per instance and rank (`schema.FIT_EVT_INSTANCES`)."""
        if self.times is None:
            return FIT_EVT_INSTANCES.to_frame({n: [] for n in FIT_EVT_INSTANCES.names})
        return self.times.to_frame()


def block_times(  # noqa: PLR0913 - each choice is one of its own
    tax: Tax,
    *,
    options: Options | None = None,
    workers: Workers = None,
    scheduler: str | None = None,
    cache: Cache | None = None,
    on_progress: OnProgress | None = None,
    on_round: OnRound | None = None,
) -> FoundBlocks:
    """Time the compute blocks before the collectives of a role on all ranks.

    A collective enters if on every rank its critical path, from the end of the group's
    collective before, is known, runs on the GPU only (if there is one), has a GEMM and runs
    through no other collective, and all ranks launched the same since then. Everything
    else is counted in `coverage`. Blocks are told apart by the names and launch geometry
    of their kernels in order, the operation that ends them, the GPU model and the pass;
    sibling groups share them.

    Parameters
    ----------
    tax : Tax
        As `measure` returns it; its selection of groups, operations and steps counts. Of
        several roles the one is taken of whose tax most enters, if it has as many
        instances as a fit needs. The files of its ranks
        are read again for their graphs, once.
    options : Options, optional
        `tolerance_us` counts.
    workers, scheduler, cache
        As for `load`.
    on_progress, on_round
        As for `attribute`.

    Returns
    -------
    FoundBlocks

    Raises
    ------
    SynctaxError
        If no collective has a tax that counts, or a file can no longer be read.
    TypeError
        If `tax` is not what `measure` returns.

    References
    ----------
    Synchronization-tax paper, sections 5.1 and 5.2.
    """
    if not isinstance(tax, Tax):
        raise TypeError("block_times wants the tax that synctax.measure(job) returns")
    if not tax.used.any():
        raise SynctaxError(
            f"none of {int(tax.shown.sum())} collectives asked for has a tax that can be "
            "believed; see synctax measure --per-collective for the reasons"
        )
    reading = Reading(cache, (options or Options()).tolerance_us)
    seen = windows(tax)
    with on_scheduler(workers, scheduler) as crew:
        ranks = _walk(tax, seen, reading, (crew, on_progress, on_round))
    found = entries(tax, seen, ranks)
    group, slots, notes = _choose(tax, found)
    why = of_one_size(tax, found.why, slots)
    entered = slots[why[slots] == Entry.ENTERED]
    why[np.setdiff1d(np.arange(why.size), slots)] = ABSENT
    graphs = graph_notes([(told.notes, told.skew_ns) for told in ranks.values()])
    whole_us = all(told.whole_us for told in ranks.values())
    payload = int(tax.matches.payload_bytes[slots].max())
    return FoundBlocks(
        times=table(tax, found, entered, whole_us=whole_us) if entered.size else None,
        coverage=coverage(tax, why, slots),
        group=group,
        payload_bytes=payload if payload >= 0 else None,
        slot=entered,
        why=why,
        notes=(*tax.notes, *graphs, *notes, *_without_gpu(tax, int(entered.size))),
    )


def _without_gpu(tax: Tax, count: int) -> tuple[Note, ...]:
    if not count or any(r.comm_kernels or r.compute_kernels for r in tax.matches.ranks):
        return ()
    text = "of instances without a GPU: their time is all that the host does in between"
    return (Note("host_blocks", count, text),)


def _walk(
    tax: Tax,
    seen: Windows,
    reading: Reading,
    how: tuple[Workers, OnProgress | None, OnRound | None],
) -> dict[int, RankSums]:
    """Sum up the paths of all ranks to the collectives that count, by rank's position."""
    found = tax.matches
    slot = np.repeat(np.arange(len(found)), np.diff(found.first))
    wanted = Wanted(
        begin_ns=begins_ns(found, seen, seen.fence),
        walked=(tax.used & (seen.fence >= 0))[slot],
        reach_ns=np.zeros(slot.size, np.int64),
        sampled=np.zeros(slot.size, np.bool_),
    )
    by_rank = tasks(Roster.of(found, seen), seen, wanted)
    todo = {found.ranks[rank].path: of_rank for rank, of_rank in by_rank.items()}
    workers, on_progress, on_round = how
    answers = over_files(
        WALKING,
        partial(sum_rank, tasks=todo, reading=reading),
        list(todo),
        workers=workers,
        on_progress=on_progress,
        on_round=on_round,
    )
    return dict(zip(by_rank, answers, strict=True))


def _choose(tax: Tax, found: Entries) -> tuple[str, I64, tuple[Note, ...]]:
    """Choose a role, and list its collectives that count."""
    role = np.array([group.role for group in tax.matches.groups])[tax.matches.group]
    tax_us = tax_of_us(tax)
    slots = {str(one): np.flatnonzero(tax.used & (role == one)) for one in np.unique(role)}
    slots = {one: of_role for one, of_role in slots.items() if of_role.size}

    def enters(one: str) -> tuple[bool, float, float]:
        entered = slots[one][found.why[slots[one]] == Entry.ENTERED]
        enough = _in_frequent_blocks(tax, found, entered) >= MIN_DISTINCT_VALUES
        return enough, float(tax_us[entered].sum()), float(tax_us[slots[one]].sum())

    chosen = max(slots, key=enters)
    if len(slots) == 1:
        return chosen, slots[chosen], ()
    others = ", ".join(one for one in slots if one != chosen)
    note = Note(
        "group_chosen",
        len(slots) - 1,
        f"the blocks are those of {chosen}, of whose tax most enters, and not of {others}; "
        "--group names another",
    )
    return chosen, slots[chosen], (note,)


def _in_frequent_blocks(tax: Tax, found: Entries, entered: I64) -> int:
    """How many of some instances are of blocks that have enough of them to be fitted."""
    work = found.sums.work[found.path[tax.matches.first[entered]]]
    count = np.unique(work, return_counts=True)[1]
    return int(count[count >= MIN_INSTANCES].sum())
