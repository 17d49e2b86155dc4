"""Which collective each delay reaches: the next one that its rank joins with others."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synctax.arrays import ABSENT, I32, I64, Bool
from synctax.collectives.matches import Matches
from synctax.collectives.model import RankCollectives
from synctax.collectives.summary import ranks_text
from synctax.errors import BadInputError, SynctaxError
from synctax.experiment.injections import Injections, Target
from synctax.notes import Note

MEETING = 2
"""Ranks of the smallest group in which one can wait for another."""


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
        Delays that reach none, by reason.
    """

    position: I32
    slot: I64
    slack_ns: I64
    notes: tuple[Note, ...]


def reach(matches: Matches, injections: Injections) -> Reach:
    """Find which collective each delay reaches.

    On the CPU it is the first that the rank enters after the end of the delay; on a GPU
    the first that its host launches after that: launches before it are in the queue
    already. A made-up job says it itself. Groups of one rank, in which nobody waits, are
    passed over.

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
        If nothing was delayed.
    """
    read = _read(matches)
    _check_told(injections, read)
    if not len(injections):
        raise SynctaxError(_nothing(injections))
    position = _positions(matches, injections, read)
    if injections.targets is not None:
        return _told(matches, injections.targets, position)
    slot = np.full(len(injections), ABSENT, np.int64)
    outside = np.zeros(len(injections), np.bool_)
    slots, first_row = _slots(matches)
    for here in np.unique(position).tolist():
        mine = np.flatnonzero(position == here)
        rank = matches.ranks[here]
        inside = _inside(rank, injections.start_ns[mine])
        if not inside.any():
            raise BadInputError(_other_run(rank, injections, mine))
        outside[mine] = ~inside
        rows = slice(first_row[here], first_row[here] + len(rank))
        sizes = np.array([group.size for group in matches.groups], np.int64)
        meets = sizes[matches.table.group[rows]] >= MEETING
        slot[mine] = _following(
            _begins_ns(matches, rank, rows)[meets],
            slots[rows][meets],
            injections.end_ns[mine],
        )
    slot[outside] = ABSENT
    after = (slot < 0) & ~outside
    notes = _notes(
        (
            ("delay_outside_steps", outside, "delays outside of the steps of the trace"),
            ("delay_at_the_end", after, "delays that no collective follows in the trace"),
        )
    )
    return Reach(position, slot, np.full(slot.size, ABSENT, np.int64), notes)


def _begins_ns(matches: Matches, rank: RankCollectives, rows: slice) -> I64:
    """When each participation began: on a GPU, when its host launched it."""
    table = matches.table
    return table.launch_ns[rows] if rank.comm_kernels else table.start_ns[rows]


def _following(begin_ns: I64, slot: I64, end_ns: I64) -> I64:
    """Slot of the first participation that begins at or after each time, -1 for none."""
    order = np.argsort(begin_ns, kind="stable")
    at = np.searchsorted(begin_ns[order], end_ns, side="left")
    return np.append(slot[order], ABSENT)[at]


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
            ("delay_at_the_end", none, "delays that no collective follows in the trace"),
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


def _check_told(injections: Injections, read: dict[int, list[int]]) -> None:
    """Refuse a truth that says nothing of ranks that were to be delayed."""
    meant = set(read) if injections.meant is None else injections.meant
    silent = sorted(meant - injections.told)
    absent = [rank for rank in silent if rank not in read]
    if absent:
        raise BadInputError(
            f"rank {ranks_text(tuple(absent))} was to be delayed, and nothing is there of "
            f"it: there are the ranks {ranks_text(tuple(sorted(read)))}; delay one of "
            "these, or copy the folder whole"
        )
    if silent:
        raise BadInputError(
            f"rank {ranks_text(tuple(silent))} was to be delayed, and what was done to it "
            f"is missing: there is no rank{silent[0]}_delays.json; copy the folder whole"
        )


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


def _other_run(rank: RankCollectives, injections: Injections, mine: I64) -> str:
    source = injections.sources[int(injections.source[mine[0]])]
    first_ns = int(injections.start_ns[mine].min())
    apart_s = (first_ns - rank.window_start_ns) / 1e9
    when = "before" if apart_s < 0 else "after"
    return (
        f"{source} is of another run than {rank.path}: none of {mine.size} delays lies in "
        f"a step of the trace; the first is {abs(apart_s):,.3f} s {when} the trace begins"
    )


def _nothing(injections: Injections) -> str:
    if injections.targets is not None:
        return "nothing was delayed in the made-up job; give synctax synth some --delay"
    if not injections.patterns:
        return "nothing was delayed: the truth has no rules; record with synctax inject"
    named = ", ".join(injections.patterns)
    return (
        f"nothing was delayed: no operator that ran in the recorded steps matches {named}; "
        "give --op a name as it stands in the traces, such as aten::mm or aten::addmm"
    )
