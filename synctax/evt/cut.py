"""Cut instances into smaller groups of ranks, and pool several sets of block times."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synctax.arrays import I64, Bool
from synctax.evt.model import BlockTimes
from synctax.evt.streams import stream
from synctax.notes import Note
from synctax.texts import counted


def cut(times: BlockTimes, m: int, *, seed: int = 0) -> tuple[BlockTimes, tuple[Note, ...]]:
    """Partition each instance at random into groups of `m` ranks.

    The ranks that fill no group are left out of that instance. Groups of one instance
    stay next to each other, so that a resample can take whole instances.

    Parameters
    ----------
    times : BlockTimes
        i instances over m0 ranks each.
    m : int
        Ranks of the groups, at most m0.
    seed : int
        Seed of the partitions.

    Returns
    -------
    BlockTimes
        i · floor(m0 / m) rows of m ranks; what a group of these would have waited was
        not measured, hence NaN. The same times if m is m0.
    tuple of Note
        How many ranks of instances were left over.

    Raises
    ------
    ValueError
        If `m` is below 1 or above m0.
    """
    if not 1 <= m <= times.m:
        raise ValueError(f"cannot cut {times.m} ranks into groups of {m}")
    if m == times.m:
        return times, ()
    groups = times.m // m
    draw = stream(seed, "cuts").random(times.us.shape)
    order = np.argsort(draw, axis=1)[:, : groups * m]
    rows = len(times) * groups
    result = replace(
        times,
        block=np.repeat(times.block, groups),
        instance=np.repeat(times.instance, groups),
        series=np.repeat(times.series, groups),
        rank=np.take_along_axis(times.rank, order, 1).reshape(rows, m),
        us=np.take_along_axis(times.us, order, 1).reshape(rows, m),
        measured_us=np.full(rows, np.nan),
    )
    left_over = len(times) * (times.m - groups * m)
    if not left_over:
        return result, ()
    detail = f"{times.m} ranks make {counted(groups, 'group')} of {m}"
    return result, (Note("left_over_rank", left_over, detail),)


def join(sets: Sequence[BlockTimes]) -> BlockTimes:
    """Pool several sets; blocks and series of different sets stay distinct.

    Parameters
    ----------
    sets : sequence of BlockTimes
        At least one, all over the same number of ranks.

    Returns
    -------
    BlockTimes
        All rows, set after set; its resolution is the coarsest.

    Raises
    ------
    ValueError
        If there is none, or their numbers of ranks differ.
    """
    if not sets:
        raise ValueError("no block times to join")
    sizes = {times.m for times in sets}
    if len(sizes) > 1:
        raise ValueError(f"cannot join instances over {sorted(sizes)} ranks")
    blocks = np.cumsum([0, *(len(times.blocks) for times in sets[:-1])])
    spans = [int(times.series.max(initial=-1)) + 1 for times in sets[:-1]]
    first = np.cumsum([0, *spans])
    return BlockTimes(
        blocks=tuple(block for times in sets for block in times.blocks),
        block=np.concatenate([t.block + b for t, b in zip(sets, blocks, strict=True)]),
        instance=np.concatenate([t.instance for t in sets]),
        series=np.concatenate([t.series + s for t, s in zip(sets, first, strict=True)]),
        rank=np.concatenate([t.rank for t in sets]),
        us=np.concatenate([t.us for t in sets]),
        measured_us=np.concatenate([t.measured_us for t in sets]),
        resolution_us=max(t.resolution_us for t in sets),
    )


def select(times: BlockTimes, rows: Bool | I64) -> BlockTimes:
    """Keep some rows, by mask or by index; all blocks stay listed.

    Parameters
    ----------
    times : BlockTimes
        i rows.
    rows : (i,) bool or (k,) int64
        Which.

    Returns
    -------
    BlockTimes
        These rows, in this order.
    """
    return replace(
        times,
        block=times.block[rows],
        instance=times.instance[rows],
        series=times.series[rows],
        rank=times.rank[rows],
        us=times.us[rows],
        measured_us=times.measured_us[rows],
    )


def keep_blocks(times: BlockTimes, stays: Bool) -> BlockTimes:
    """Keep some blocks with their rows, and number them anew.

    Parameters
    ----------
    times : BlockTimes
        i rows of c blocks.
    stays : (c,) bool
        Which.

    Returns
    -------
    BlockTimes
        These blocks, in their order.
    """
    kept = select(times, stays[times.block])
    number = np.cumsum(stays) - 1
    blocks = tuple(b for b, stay in zip(times.blocks, stays, strict=True) if stay)
    return replace(kept, blocks=blocks, block=number[kept.block])


def units(times: BlockTimes) -> I64:
    """Number the instances: rows that were cut from one instance share a number.

    Parameters
    ----------
    times : BlockTimes
        i rows, groups of one instance next to each other.

    Returns
    -------
    (i,) int64
        0, 1, ... without gaps, in the order of the rows.
    """
    keys = np.stack([times.series, times.block, times.instance])
    new = np.ones(len(times), np.bool_)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    return np.cumsum(new) - 1
