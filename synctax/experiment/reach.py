"""Which collective each delay reaches: the next one that its rank joins with others."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synctax.arrays import ABSENT, I32, I64, Bool, take
from synctax.collectives.matches import Matches
from synctax.collectives.model import RankCollectives
from synctax.collectives.summary import ranks_text
from synctax.errors import BadInputError
from synctax.experiment.injections import Injections, Target
from synctax.experiment.planned import check, not_recorded, refuse_other_run
from synctax.notes import Note
from synctax.trace.names import operation

MEETING = 2
"""Ranks of the smallest group in which one can wait for another."""

AT_THE_END = "delays that no collective follows in the trace"


@dataclass(frozen=True, slots=True)
class Reach:
    """What delays reach; (d,) arrays.

    Parameters
    ----------
    position : (d,) int32
        Place of the delayed rank among those read.
    slot : (d,) int64
        Number in `Matches` of the collective that is reached, -1 for none.
    slack_ns : (d,) int64
        How much of the delay is hidden where the truth tells it, else -1.
    notes : tuple of Note
        Delays that reach none, by reason, and rules for steps that were not recorded.
    """

    position: I32
    slot: I64
    slack_ns: I64
    notes: tuple[Note, ...]


def reach(matches: Matches, injections: Injections) -> Reach:
    """Find which collective each delay reaches.

    It is the first that the rank issues after the end of the delay, by a launch on a GPU
    or an operator on the CPU: what was issued before is in a queue already. A delay of an
    operator that itself issues a collective on the CPU reaches this one. Where a trace
    does not tell when a collective was issued, it counts when that began. A made-up job
    says itself what is reached. Groups of one rank, in which nobody waits, are passed over.

    Parameters
    ----------
    matches : Matches
    injections : Injections

    Raises
    ------
    BadInputError
        If the truth is that of other traces: delayed ranks or their traces are missing,
        or no delay lies in a step of its rank's trace.
    SynctaxError
        If nothing was delayed, or nothing of what was recorded.
    """
    check(matches, injections)
    read = _read(matches)
    position = _positions(matches, injections, read)
    if injections.targets is not None:
        return _told(matches, injections.targets, position)
    slot = np.full(len(injections), ABSENT, np.int64)
    outside, last = np.zeros((2, len(injections)), np.bool_)
    slots, first_row = _slots(matches)
    for here in np.unique(position).tolist():
        mine = np.flatnonzero(position == here)
        rank = matches.ranks[here]
        inside = _inside(rank, injections.start_ns[mine])
        if not inside.any():
            refuse_other_run(matches, rank, injections, mine)
        outside[mine] = ~inside
        rows = np.arange(first_row[here], first_row[here] + len(rank))
        sizes = np.array([group.size for group in matches.groups], np.int64)
        rows = rows[sizes[matches.table.group[rows]] >= MEETING]
        row = _issued_after(matches, rows, injections.end_ns[mine])
        if not rank.comm_kernels:
            own = _issued_by(matches, rows, injections, mine)
            row = np.where(own >= 0, own, row)
        slot[mine], last[mine] = take(slots, row), row < 0
    slot[outside] = ABSENT
    notes = _notes(
        (
            ("delay_outside_steps", outside, "delays outside of the steps of the trace"),
            ("delay_at_the_end", last & ~outside, AT_THE_END),
            (
                "delay_not_matched",
                (slot < 0) & ~last & ~outside,
                "delays that reach a collective which is no part of any match",
            ),
        )
    )
    notes += not_recorded(matches, injections.rules)
    return Reach(position, slot, np.full(slot.size, ABSENT, np.int64), notes)


def _issued_after(matches: Matches, rows: I64, end_ns: I64) -> I64:
    """Row of the first participation issued at or after each time, -1 for none."""
    issued_ns = matches.table.launch_ns[rows]
    order = np.argsort(issued_ns, kind="stable")
    at = np.searchsorted(issued_ns[order], end_ns, side="left")
    return np.append(rows[order], ABSENT)[at]


def _issued_by(matches: Matches, rows: I64, injections: Injections, mine: I64) -> I64:
    """Row of the participation that each delayed operator itself issued, -1 for none.

    The delay lies between the beginning of the operator and what it does: of all that were
    issued before the delay it is the last, and begins after it.
    """
    table = matches.table
    issued_ns = table.launch_ns[rows]
    order = np.argsort(issued_ns, kind="stable")
    at = np.searchsorted(issued_ns[order], injections.start_ns[mine], side="right") - 1
    last = np.append(rows[order], ABSENT)[at]
    begins_ns = take(table.start_ns, last)
    issues = np.array([_issues(name) for name in injections.operators], np.bool_)
    own = issues[injections.operator[mine]] & (begins_ns >= injections.end_ns[mine])
    return np.where(own, last, ABSENT)


def _issues(operator: str) -> bool:
    """Whether an operator issues a collective; `aten::gather` and the like do not."""
    return not operator.startswith("aten::") and operation(operator) is not None


def _slots(matches: Matches) -> tuple[I64, I64]:
    """Slot of each row of the table, and where the rows of each rank begin."""
    slots = np.full(matches.table.rank.size, ABSENT, np.int64)
    slots[matches.row] = np.repeat(np.arange(len(matches)), np.diff(matches.first))
    counts = [len(rank) for rank in matches.ranks]
    return slots, np.concatenate([[0], np.cumsum(counts)])


def _told(matches: Matches, targets: tuple[Target | None, ...], position: I32) -> Reach:
    """Look up what the truth of a made-up job says is reached."""
    at = {
        (group.role, group.ranks, int(matches.index[slot])): slot
        for slot, group in enumerate(matches.groups[number] for number in matches.group)
    }
    slot = np.array(
        [
            ABSENT if one is None else at.get((one.group, one.group_ranks, one.index), -1)
            for one in targets
        ],
        np.int64,
    )
    slack_ns = np.array(
        [ABSENT if one is None else one.slack_ns for one in targets], np.int64
    )
    none = np.array([one is None for one in targets], np.bool_)
    notes = _notes(
        (
            ("delay_at_the_end", none, AT_THE_END),
            (
                "delay_not_recorded",
                ~none & (slot < 0),
                "delays that reach a collective which is in no trace",
            ),
        )
    )
    return Reach(position, slot, slack_ns, notes)


def _notes(counted: tuple[tuple[str, Bool, str], ...]) -> tuple[Note, ...]:
    return tuple(Note(why, int(hit.sum()), text) for why, hit, text in counted if hit.any())


def _inside(rank: RankCollectives, time_ns: I64) -> Bool:
    """Tell which times lie in a step of a rank, or in its window if none is marked."""
    if not rank.step_number.size:
        whole: Bool = (time_ns >= rank.window_start_ns) & (time_ns <= rank.window_end_ns)
        return whole
    order = np.argsort(rank.step_start_ns, kind="stable")
    at = np.searchsorted(rank.step_start_ns[order], time_ns, side="right") - 1
    end_ns = rank.step_end_ns[order][np.maximum(at, 0)]
    within: Bool = (at >= 0) & (time_ns <= end_ns)
    return within


# ------------------------------------------------------------------ truth and traces


def _read(matches: Matches) -> dict[int, list[int]]:
    """Positions of each global rank: several where it has several windows."""
    read: dict[int, list[int]] = {}
    for position, rank in enumerate(matches.ranks):
        read.setdefault(rank.rank, []).append(position)
    return read


def _positions(matches: Matches, injections: Injections, read: dict[int, list[int]]) -> I32:
    """Find the trace of each delayed rank: beside the truth, where there are several."""
    keys = np.stack([injections.rank, injections.source.astype(np.int64)])
    positions = np.full(len(injections), ABSENT, np.int32)
    for rank, code in np.unique(keys, axis=1).T.tolist():
        source = injections.sources[code]
        where = read.get(rank, [])
        if len(where) > 1:
            beside = [p for p in where if _folder(matches.ranks[p].path) == _folder(source)]
            where = beside or where
        if len(where) != 1:
            raise BadInputError(_no_trace(source, rank, sorted(read), len(where)))
        positions[(injections.rank == rank) & (injections.source == code)] = where[0]
    return positions


def _folder(path: str) -> Path:
    return Path(path).resolve().parent


def _no_trace(source: str, rank: int, read: list[int], count: int) -> str:
    there = f"there are the ranks {ranks_text(tuple(read))}"
    if count:
        return (
            f"{source} tells of delays on rank {rank}, and {count} traces are of it in "
            "other folders; keep truth and traces of a window in one folder"
        )
    return (
        f"{source} tells of delays on rank {rank}, and no trace of it was read ({there}); "
        "add its trace"
    )
