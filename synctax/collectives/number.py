"""Give every participation of a group the number of its collective."""

from functools import partial

import numpy as np

from synctax.arrays import I8, I64, distinct
from synctax.collectives.align import align
from synctax.collectives.clock import ClockFit
from synctax.collectives.group_clock import group_clocks
from synctax.collectives.keyed import union_by_key
from synctax.collectives.matches import Identity
from synctax.collectives.model import Op
from synctax.collectives.pool import JobGroup, Participations
from synctax.collectives.settled import settled
from synctax.collectives.union import Union, union_by_order


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
        clocks: dict[int, ClockFit] = {}
        for _ in range(2):  # the second round knows the clocks
            part = union_by_key(
                rows[keyed], key[keyed], table, tolerance_ns=tolerance_ns, clocks=clocks
            )
            clocks, _ = group_clocks(
                rows[keyed], part.slot, table, tolerance_ns=tolerance_ns, one_host=False
            )
        union.slot[keyed], union.doubt[keyed] = part.slot, part.doubt
    aligner = partial(align, tolerance_ns=tolerance_ns, offset_scale_ns=offset_scale_ns)
    pair = _pairs(rows, table)
    for which in distinct(pair[kind < 0]):
        inside = np.flatnonzero((kind < 0) & (pair == which))
        sure = settled(rows[inside], table) if on_cpu else None
        part = sure or union_by_order(rows[inside], table, aligner)
        union.slot[inside] = part.slot + union.slot.max(initial=-1) + 1
        union.doubt[inside] = part.doubt
    return union, identity


def _keys(rows: I64, table: Participations) -> tuple[I64, I8]:
    """Identity of each row as an integer, and its kind (-1: none)."""
    kind = np.full(rows.size, -1, np.int8)
    key = np.zeros(rows.size, np.int64)
    comms, seq = table.comms_id[rows], table.seq[rows]
    # Point-to-point operations are counted apart, each pair for itself.
    collective = table.op[rows] != Op.SEND_RECV
    if (comms[collective] != 0).all():
        _, code = np.unique(comms, return_inverse=True)
        kind[collective] = Identity.COMMS_ID
        key[collective] = code.reshape(-1)[collective]
    else:  # where some rank writes no Comms Id, Seq must do for all
        has = (seq >= 0) & collective
        kind[has], key[has] = Identity.SEQ, seq[has]
    return key, kind


def _pairs(rows: I64, table: Participations) -> I64:
    """Which pair of ranks a send/recv belongs to; -1 for all other operations."""
    own, peer = table.own_rank[table.rank[rows]], table.peer[rows]
    known = (table.op[rows] == Op.SEND_RECV) & (peer >= 0) & (own >= 0)
    base = 1 + max(int(peer.max(initial=0)), int(own.max(initial=0)))
    pair = np.minimum(own, peer) * base + np.maximum(own, peer)
    return np.where(known, pair, -1).astype(np.int64)
