"""Give every participation of a group the number of its collective."""

from functools import partial

import numpy as np

from synctax.arrays import I8, I64, apart, numbered
from synctax.collectives.align import align
from synctax.collectives.keyed import union_by_key
from synctax.collectives.matches import Identity
from synctax.collectives.model import Op
from synctax.collectives.pool import JobGroup, Participations
from synctax.collectives.settled import settled
from synctax.collectives.union import Union, sequence, union_by_order


def number(
    rows: I64,
    table: Participations,
    group: JobGroup,
    *,
    tolerance_ns: float,
    offset_scale_ns: float,
    on_cpu: bool,
) -> tuple[Union, I8]:
    """Number the collectives of a group by the best identity its rows have.

    Parameters
    ----------
    rows : (n,) int64
        The group's participations, by rank, then by end.
    table : Participations
        The table they are rows of.
    group : JobGroup
        Their group.
    tolerance_ns, offset_scale_ns : float
        As in `align.align`.
    on_cpu : bool
        The collectives are ranges on CPU threads, of which none is lost inside a window.

    Returns
    -------
    Union, (n,) int8
        Slot of each row, without gaps; `Identity` of each row.
    """
    identity = np.full(rows.size, Identity.ORDER, np.int8)
    if not group.labelled:
        identity[:] = Identity.INFERRED
    union = Union.empty(rows.size)
    key, kind = _keys(rows, table)
    keyed = np.flatnonzero(kind >= 0)
    identity[keyed] = kind[keyed]
    if keyed.size:
        part = union_by_key(rows[keyed], key[keyed], table, tolerance_ns=tolerance_ns)
        union.slot[keyed], union.doubt[keyed] = part.slot, part.doubt
    left = np.flatnonzero(kind < 0)
    if not left.size:
        return union, identity
    aligner = partial(align, tolerance_ns=tolerance_ns, offset_scale_ns=offset_scale_ns)
    count = int(union.slot.max(initial=-1)) + 1
    for _, some in apart(_pairs(rows[left], table)):
        inside = left[some]
        own = rows[inside]
        sure = settled(own, table) if on_cpu else None
        part = sure or union_by_order(table.rank[own], sequence(own, table), aligner)
        union.slot[inside], union.doubt[inside] = part.slot + count, part.doubt
        count += int(part.slot.max()) + 1
    return union, identity


def _keys(rows: I64, table: Participations) -> tuple[I64, I8]:
    """Identity of each row as an integer, and its kind (-1: none)."""
    kind = np.full(rows.size, -1, np.int8)
    key = np.zeros(rows.size, np.int64)
    # Point-to-point operations are counted apart, each pair for itself.
    collective = table.op[rows] != Op.SEND_RECV
    comms = table.comms_id[rows]
    if (comms[collective] != 0).all():
        kind[collective] = Identity.COMMS_ID
        key[collective] = numbered(comms[collective])[0]
    else:  # where some rank writes no Comms Id, Seq must do for all
        seq = table.seq[rows]
        has = (seq >= 0) & collective
        kind[has], key[has] = Identity.SEQ, seq[has]
    return key, kind


def _pairs(rows: I64, table: Participations) -> I64:
    """Which pair of ranks a send/recv belongs to; -1 for all other operations."""
    sends = table.op[rows] == Op.SEND_RECV
    if not sends.any():
        return np.full(rows.size, -1, np.int64)
    own, peer = table.own_rank[table.rank[rows]], table.peer[rows]
    known = sends & (peer >= 0) & (own >= 0)
    base = 1 + max(int(peer.max(initial=0)), int(own.max(initial=0)))
    pair = np.minimum(own, peer) * base + np.maximum(own, peer)
    return np.where(known, pair, -1).astype(np.int64)
