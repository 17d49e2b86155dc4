"""From changes to the new duration of every node."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import I64, U64, Bool
from synctax.attribution.changes import Change, Replace
from synctax.attribution.keys import NO_KEY
from synctax.attribution.labels import short_name
from synctax.attribution.world import World
from synctax.collectives.model import UNLABELLED
from synctax.errors import SynctaxError
from synctax.graph.model import NodeKind
from synctax.notes import Note
from synctax.trace import names
from synctax.trace.names import known_roles

_SHOWN = 12

_COPY, _COMMUNICATION, _OTHER = "copy", "communication", "other"
_FIXED = (_COPY, _COMMUNICATION, _OTHER)
_HOST_CLASSES = {
    "cpu_launch": "; for launching calls give launches",
    "cpu_op": "; for the host's work give cpu",
    "python_gap": "; for unlogged host time give gaps",
    "host_stall": "; for the host's work give cpu",
}
"""What the classes of culprits that are no kernels' are called here."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What changes come to.

    `duration_ns` (n,) int64; `together` (m,) bool: collectives that ranks still leave
    together; `nodes`: how many durations differ, participations that nobody waits in
    included; `notes`: what could not be changed.
    """

    duration_ns: I64
    together: Bool
    nodes: int
    notes: tuple[Note, ...]


def apply(world: World, changes: Sequence[Change | Replace]) -> Applied:
    """Change durations, one change after the other.

    Parameters
    ----------
    world : World
    changes : sequence of Change or Replace
        Medians are those of what was recorded, whatever came before.

    Returns
    -------
    Applied

    Raises
    ------
    SynctaxError
        If a change names a rank, class, kernel or group that is not there, or a median
        is asked of what has none.
    ValueError
        If a replacement names a node that is not there, or a negative duration.
    """
    duration = world.network.duration_ns.copy()
    together = np.ones(len(world.tax.matches), np.bool_)
    notes: list[Note] = []
    for change in changes:
        if isinstance(change, Replace):
            duration[_node(world, change)] = change.duration_ns
        elif change.what == "tax":
            together &= ~_waits(world, change)
        elif change.factor is None:
            _medians(world, change, duration, notes)
        else:
            rows = np.flatnonzero(_selected(world, change))
            duration[rows] = np.rint(duration[rows] * change.factor).astype(np.int64)
    _transfers_only(world, together, duration)
    nodes = int((duration != world.network.duration_ns).sum())
    return Applied(duration, together, nodes, tuple(notes))


def _transfers_only(world: World, together: Bool, duration: I64) -> None:
    """Let participations that wait for nobody last as long as the transfer."""
    barriers, slot = world.barriers()
    transfer = np.full(together.size, np.iinfo(np.int64).max)
    np.minimum.at(transfer, slot, duration[barriers.node])
    free = ~together[slot]
    duration[barriers.node[free]] = transfer[slot[free]]


def _node(world: World, change: Replace) -> int:
    ranks = world.tax.matches.ranks
    base = world.network.base
    for position, rank in enumerate(ranks):
        if (rank.rank, rank.window) == (change.rank, change.window):
            size = int(base[position + 1] - base[position])
            if not 0 < change.node < size:
                raise ValueError(f"{change.text}: its nodes are 1 to {size - 1}")
            if change.duration_ns < 0:
                raise ValueError(f"{change.text}: a duration is 0 or more")
            return int(base[position]) + change.node
    raise ValueError(f"{change.text}: there is no such rank and window")


def _waits(world: World, change: Change) -> Bool:
    """Collectives that ranks would leave without waiting, (m,)."""
    chosen = _of_group(world, change)
    if not (chosen & world.joint).any():
        raise SynctaxError(
            f"{change.text}: there is no collective of which it is known how long ranks "
            "waited, and so no wait to take away; synctax measure --per-collective lists "
            "each with its reason"
        )
    return chosen


def _of_group(world: World, change: Change) -> Bool:
    groups, wanted = world.tax.matches.groups, change.group
    hit = [not wanted or wanted in (group.role, group.name) for group in groups]
    roles = sorted({group.role for group in groups})
    if not any(hit) and roles == [UNLABELLED] and wanted in known_roles():
        hit = [True] * len(groups)  # what has no name answers to any role
    if not any(hit):
        raise SynctaxError(f"{change.text}: no group {wanted}; there are {_some(roles)}")
    chosen: Bool = np.array(hit, np.bool_)[world.tax.matches.group]
    return chosen


def _selected(world: World, change: Change) -> Bool:
    """Nodes that a change is about, (n,)."""
    kind = world.network.kind
    if change.what == "launches":
        chosen = world.launches.copy()
    elif change.what == "gpu":
        chosen = (kind == NodeKind.GPU) | (kind == NodeKind.COLLECTIVE)
    else:
        chosen = kind == NodeKind.GAP
        if change.what == "cpu":
            chosen |= kind == NodeKind.SLICE
    if change.rank is not None:
        chosen &= _of_rank(world, change)
    if change.kernel_class:
        chosen &= _of_class(world, change, chosen)
    if change.kernel:
        chosen &= _of_name(world, change, chosen)
    if not chosen.any():
        raise SynctaxError(f"{change.text}: the traces hold no such work")
    return chosen


def _of_rank(world: World, change: Change) -> Bool:
    known = [rank.rank for rank in world.tax.matches.ranks]
    if change.rank not in known:
        raise SynctaxError(
            f"{change.text}: no rank {change.rank}; there are {_some(sorted(set(known)))}"
        )
    chosen: Bool = (np.array(known) == change.rank)[world.rank]
    return chosen


def _of_class(world: World, change: Change, among: Bool) -> Bool:
    classes = (*(names.kernel(text).kind for text in world.strings), _OTHER)
    code = {name: number for number, name in enumerate(dict.fromkeys((*_FIXED, *classes)))}
    own = np.array([code[name] for name in classes])[world.name]
    own[world.memory] = code[_COPY]
    own[world.network.kind == NodeKind.COLLECTIVE] = code[_COMMUNICATION]
    hit: Bool = own == code.get(change.kernel_class, len(code))
    if not (hit & among).any():
        there = np.unique(own[among]).tolist()
        known = sorted(name for name, number in code.items() if number in there)
        hint = _HOST_CLASSES.get(change.kernel_class, "")
        raise SynctaxError(
            f"{change.text}: no kernel of class {change.kernel_class}; "
            f"there are {_some(known)}{hint}"
        )
    return hit


def _of_name(world: World, change: Change, among: Bool) -> Bool:
    pattern = re.compile(".*".join(map(re.escape, change.kernel.split("*"))), re.DOTALL)
    found = [pattern.search(text) is not None for text in world.strings]
    hit = np.array([*found, False])[world.name]
    if not (hit & among).any():
        total = np.bincount(
            world.name[among & (world.name >= 0)],
            world.network.duration_ns[among & (world.name >= 0)],
            minlength=len(world.strings),
        )
        longest = [
            short_name(world.strings[code])
            for code in np.argsort(-total, kind="stable")[:3].tolist()
            if total[code]
        ]
        raise SynctaxError(
            f"{change.text}: no GPU work has {change.kernel!r} in its name; what takes "
            f"most time is called {'; '.join(longest)}"
        )
    return hit


def _some(values: Sequence[object]) -> str:
    shown = ", ".join(map(str, values[:_SHOWN]))
    left = len(values) - _SHOWN
    return shown if left <= 0 else f"{shown} and {left} more"


def _medians(world: World, change: Change, duration: I64, notes: list[Note]) -> None:
    """Set what a change is about to the median of its counterparts."""
    chosen = _selected(world, change) & (world.network.kind != NodeKind.COLLECTIVE)
    if not chosen.any():
        raise SynctaxError(
            f"{change.text}: durations of collectives are waits, and have no median to "
            "behave like; give tax=0, or a factor for the transfer (kernel=NAME*0.5)"
        )
    whole = _alike(world, change)
    ranks = len({rank.rank for rank in world.tax.matches.ranks})
    if ranks == 1:
        raise SynctaxError(
            f"{change.text}: a median over ranks needs two or more, and one was read"
        )
    median, known = medians(world.key, world.rank, world.network.duration_ns, whole)
    lone = int((chosen & ~known).sum())
    if lone == chosen.sum():
        raise SynctaxError(
            f"{change.text}: none of {lone:,} durations has a counterpart on another rank, "
            "and so a median"
        )
    if lone:
        detail = "durations left as they were: no counterpart on another rank"
        notes.append(Note("whatif_no_counterpart", lone, f"{change.text}: {detail}"))
    rows = np.flatnonzero(chosen & known)
    duration[rows] = median[rows]


def _alike(world: World, change: Change) -> Bool:
    """Nodes among which counterparts are sought: the same work on any rank."""
    on_gpu = world.network.kind == NodeKind.GPU
    host = (world.network.kind == NodeKind.SLICE) | (world.network.kind == NodeKind.GAP)
    alike: Bool = on_gpu if change.what == "gpu" else host
    return alike


def medians(key: U64, rank: I64, duration_ns: I64, among: Bool) -> tuple[I64, Bool]:
    """Find the median over ranks of each node's duration.

    Parameters
    ----------
    key : (n,) uint64
        Equal for counterparts; `NO_KEY` for nodes without.
    rank : (n,) int64
    duration_ns : (n,) int64
    among : (n,) bool
        Nodes that count.

    Returns
    -------
    (n,) int64, (n,) bool
        The median, rounded down; whether a counterpart is on another rank.

    Examples
    --------
    >>> key, rank = np.array([5, 5, 5, 9], np.uint64), np.array([0, 1, 2, 2])
    >>> medians(key, rank, np.array([10, 70, 20, 30]), np.ones(4, bool))
    (array([20, 20, 20,  0]), array([ True,  True,  True, False]))
    """
    rows = np.flatnonzero(among & (key != NO_KEY))
    rows = rows[np.lexsort((duration_ns[rows], key[rows]))]
    ordered = duration_ns[rows]
    begin = np.append(True, key[rows][1:] != key[rows][:-1])[: rows.size]
    first = np.flatnonzero(begin)
    count = np.diff(np.append(first, rows.size))
    middle = (ordered[first + (count - 1) // 2] + ordered[first + count // 2]) // 2
    several = np.zeros(first.size, np.bool_)
    if first.size:
        lowest = np.minimum.reduceat(rank[rows], first)
        several = np.maximum.reduceat(rank[rows], first) > lowest
    median = np.zeros(key.size, np.int64)
    known = np.zeros(key.size, np.bool_)
    median[rows] = np.repeat(np.where(several, middle, 0), count)
    known[rows] = np.repeat(several, count)
    return median, known
