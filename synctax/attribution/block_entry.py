"""Which collectives end a block whose time is known on every rank, and why others not."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from synctax.arrays import ABSENT, F64, I8, I64, NS_PER_US, Bool
from synctax.attribution.block_walk import PathSums, RankSums
from synctax.attribution.judge import UNKNOWN_SHARE
from synctax.attribution.pool import Blocks, find_paths
from synctax.attribution.windows import Windows
from synctax.collectives.tax import Tax
from synctax.evt.model import Coverage
from synctax.notes import Note


class Entry(IntEnum):
    """Whether a collective enters; of several reasons against it the first counts."""

    ENTERED = 0
    NO_FENCE = 1
    NO_PATH = 2
    HOST = 3
    COLLECTIVE = 4
    UNKNOWN = 5
    NO_GEMM = 6
    UNEQUAL_WORK = 7
    NOT_ALONE = 8
    CUT = 9
    OTHER_SIZE = 10


REASONS = {
    Entry.NO_FENCE: "no_fence",
    Entry.NO_PATH: "partial_path",
    Entry.HOST: "through_cpu",
    Entry.COLLECTIVE: "through_collective",
    Entry.UNKNOWN: "unknown_path",
    Entry.NO_GEMM: "no_gemm",
    Entry.UNEQUAL_WORK: "unequal_work",
    Entry.NOT_ALONE: "overlapping",
    Entry.CUT: "cut_kernel",
    Entry.OTHER_SIZE: "other_size",
}
"""Reason of the note, for all that do not enter."""

DETAILS = {
    "no_fence": "no earlier collective of the group that all ranks leave together",
    "partial_path": "the path is not known on every rank",
    "through_cpu": "the path of a rank runs through the CPU",
    "through_collective": "the path of a rank runs through another collective, of any "
    "group: it holds waits",
    "unknown_path": "most of the tax may be idle time of unknown cause on a rank's path",
    "no_gemm": "no GEMM on the path of a rank",
    "unequal_work": "ranks launched different kernels",
    "overlapping": "the group's collective before still ran when a rank arrived: the "
    "window holds more than the block",
    "cut_kernel": "a kernel on a rank's path began before the window: that holds less than "
    "the block",
    "other_size": "the group has another number of ranks than most that enter",
}
"""What a note says of its reason."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The collectives of a job, and which of them end a known block.

    Parameters
    ----------
    why : (m,) int8
        `Entry` of each slot that counts (`tax.used`), -1 for the others.
    sums : PathSums
        Of all ranks, one after the other.
    path : (p,) int64
        Path of each participation among them, -1 where there is none.
    texts : tuple of str
        What `sums.gemm` are codes of.
    """

    why: I8
    sums: PathSums
    path: I64
    texts: tuple[str, ...]


def entries(tax: Tax, seen: Windows, ranks: dict[int, RankSums]) -> Entries:
    """Decide which collectives enter.

    Parameters
    ----------
    tax : Tax
    seen : Windows
    ranks : mapping of position to RankSums
        Of the ranks of the collectives that count.
    """
    found = tax.matches
    sums, rank, texts = _pool(ranks)
    path = _path_of(sums.slot, rank, tax)
    there = path >= 0
    why = np.where(tax.used, Entry.ENTERED, ABSENT).astype(np.int8)

    def against(reason: Entry, slots: Bool) -> None:
        why[(why == Entry.ENTERED) & slots] = reason

    def of_any(paths: Bool) -> Bool:
        """Slots with a rank whose path is so."""
        hit = there & np.append(paths, False)[path]
        return np.logical_or.reduceat(hit, found.first[:-1])

    slots = np.arange(len(found))
    tax_ns = tax.waits.longest_ns - tax.waits.shortest_ns
    unknown = sums.unknown_ns >= np.maximum(UNKNOWN_SHARE * tax_ns[sums.slot], 1)
    same, alike = Blocks(sums.slot, sums.work, sums.geometry, sums.kernels).equal(slots)
    against(Entry.NO_FENCE, seen.fence < 0)
    against(Entry.NO_PATH, np.logical_or.reduceat(~there, found.first[:-1]))
    against(Entry.HOST, of_any(sums.host_ns > 0))
    against(Entry.COLLECTIVE, of_any(sums.collective))
    against(Entry.UNKNOWN, of_any(unknown))
    against(Entry.NO_GEMM, of_any(sums.gemm < 0))
    against(Entry.UNEQUAL_WORK, ~(same & alike))
    against(Entry.NOT_ALONE, seen.fence != _before(tax, seen))
    against(Entry.CUT, of_any(sums.cut))
    return Entries(why, sums, path, texts)


def of_one_size(tax: Tax, why: I8, slots: I64) -> I8:
    """Leave out what has another number of ranks than most of some slots that enter.

    Of sizes that are equally frequent the larger stays.
    """
    size = np.diff(tax.matches.first)
    entered = slots[why[slots] == Entry.ENTERED]
    sizes, count = np.unique(size[entered], return_counts=True)
    if sizes.size < 2:
        return why
    most = sizes[::-1][np.argmax(count[::-1])]
    other = why.copy()
    other[entered[size[entered] != most]] = Entry.OTHER_SIZE
    return other


def coverage(tax: Tax, why: I8, slots: I64) -> Coverage:
    """Count what entered of some slots, and why the rest did not.

    Parameters
    ----------
    tax : Tax
    why : (m,) int8
    slots : (k,) int64
        All of them count.
    """
    tax_us = tax_of_us(tax)[slots]
    total_us = float(tax_us.sum())
    left_out = []
    for reason, name in REASONS.items():
        hit = why[slots] == reason
        if hit.any():
            share = _share_text(float(tax_us[hit].sum()), total_us)
            detail = f"{DETAILS[name]}; {share} of the tax"
            left_out.append(Note(name, int(hit.sum()), detail))
    entered = why[slots] == Entry.ENTERED
    return Coverage(
        slots.size,
        int(entered.sum()),
        total_us,
        float(tax_us[entered].sum()),
        tuple(left_out),
    )


def tax_of_us(tax: Tax) -> F64:
    """Tax of each collective, longest less shortest, (m,) float64 µs."""
    return (tax.waits.longest_ns - tax.waits.shortest_ns) / NS_PER_US


def _share_text(part_us: float, total_us: float) -> str:
    return f"{100 * part_us / total_us:.1f} %" if total_us else "none"


def _pool(ranks: dict[int, RankSums]) -> tuple[PathSums, I64, tuple[str, ...]]:
    """All paths, the position of the rank of each, and the names of GEMMs."""
    code: dict[str, int] = {}
    parts, positions = [], []
    for position, told in sorted(ranks.items()):
        own = [code.setdefault(text, len(code)) for text in told.texts]
        gemm = np.array([*own, ABSENT], np.int32)[told.sums.gemm]
        columns = {name: getattr(told.sums, name) for name in PathSums.__slots__}
        parts.append(PathSums(**{**columns, "gemm": gemm}))
        positions.append(np.full(len(told.sums), position, np.int64))
    everywhere = np.concatenate([np.empty(0, np.int64), *positions])
    return PathSums.join(parts), everywhere, tuple(code)


def _path_of(slot: I64, rank: I64, tax: Tax) -> I64:
    """Number of the path of each participation, -1 where there is none, (p,)."""
    found = tax.matches
    of = np.repeat(np.arange(len(found)), np.diff(found.first))
    return find_paths((slot, rank), (of, found.table.rank[found.row]))


def _before(tax: Tax, seen: Windows) -> I64:
    """The group's usable collective before each slot, -1 for none, (m,)."""
    group = tax.matches.group
    last = np.where(seen.usable, np.arange(group.size), ABSENT)
    before = np.concatenate([[ABSENT], np.maximum.accumulate(last)[:-1]])
    return np.where((before >= 0) & (group[before] == group), before, ABSENT)
