"""Block times of the collectives that enter, in the columns of the tail model."""

import os

import numpy as np

from synctax.arrays import I64, NS_PER_US
from synctax.attribution.block_entry import Entries
from synctax.attribution.block_names import gpu_model, operand_dtype
from synctax.attribution.block_walk import BACKWARD, FORWARD
from synctax.collectives.model import Op
from synctax.collectives.tax import Tax
from synctax.evt.model import Block, BlockTimes

_PHASES = {FORWARD: "forward", BACKWARD: "backward"}


def table(tax: Tax, found: Entries, slots: I64, *, whole_us: bool) -> BlockTimes:
    """Put the block times of collectives together.

    Parameters
    ----------
    tax : Tax
    found : Entries
    slots : (i,) int64
        Collectives that enter, ascending; at least one, all of one role and as many ranks.
    whole_us : bool
        The trace tells whole µs.
    """
    matches, sums, waits = tax.matches, found.sums, tax.waits
    size = int(matches.first[slots[0] + 1] - matches.first[slots[0]])
    row = matches.first[slots][:, None] + np.arange(size)
    path = found.path[row]
    position = matches.table.rank[matches.row[row]].astype(np.int64)
    blocks, block = _blocks(tax, found, slots, path, position)
    series = np.unique(matches.group[slots], return_inverse=True)[1].reshape(-1)
    return BlockTimes(
        blocks=blocks,
        block=block,
        instance=_occurrence(series * len(blocks) + block),
        series=series.astype(np.int64),
        rank=matches.table.own_rank[position],
        us=sums.compute_ns[path] / NS_PER_US,
        measured_us=(waits.mean_ns - waits.shortest_ns)[slots] / NS_PER_US,
        resolution_us=1.0 if whole_us else 0.0,
    )


def _blocks(
    tax: Tax, found: Entries, slots: I64, path: I64, position: I64
) -> tuple[tuple[Block, ...], I64]:
    """Tell blocks apart, numbered as they are first met; which one each instance is."""
    matches, sums = tax.matches, found.sums
    of_rank = [gpu_model(rank.gpu) for rank in matches.ranks]
    models, model = np.unique(of_rank, return_inverse=True)
    # ranks launched the same kernels: those of the first stand for all
    one = path[:, 0]
    columns = (
        matches.op[slots],
        np.bitwise_or.reduce(1 << model.reshape(-1)[position], axis=1),
        sums.phase[one],
        sums.kernels[one],
        sums.work[one].view(np.int64),
        sums.geometry[one].view(np.int64),
    )
    keys, first, block = np.unique(
        np.stack([column.astype(np.int64) for column in columns]),
        axis=1,
        return_index=True,
        return_inverse=True,
    )
    order = np.argsort(first)
    number = np.argsort(order)[block.reshape(-1)]
    source, role = _source(tax), matches.groups[matches.group[slots[0]]].role
    blocks: list[Block] = []
    for op, gpus, phase, kernels, _, _ in keys.T[order].tolist():
        label = Op(op).label
        gemm = _most_frequent(found, path[number == len(blocks)])
        here = [
            name for bit, name in enumerate(models.tolist()) if name and gpus >> bit & 1
        ]
        same = sum(block.op == label for block in blocks)
        blocks.append(
            Block(
                name=f"{label} {same + 1}",
                source=source,
                group=role,
                op=label,
                kernels=kernels,
                gemm=gemm,
                gpu=", ".join(here),
                dtype=operand_dtype(gemm),
                phase=_PHASES.get(phase, ""),
            )
        )
    return tuple(blocks), number


def _most_frequent(found: Entries, path: I64) -> str:
    """The GEMM that takes most of most paths, the first met of equals."""
    count = np.bincount(found.sums.gemm[path.reshape(-1)])
    return found.texts[int(count.argmax())]


def _source(tax: Tax) -> str:
    """The folder that all files lie in, "" where there is none."""
    folders = {
        rank.path.replace(os.sep, "/").rpartition("/")[0] for rank in tax.matches.ranks
    }
    parts = [folder.split("/") for folder in folders]
    same = 0
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        same += 1
    return "/".join(parts[0][:same])


def _occurrence(values: I64) -> I64:
    """Which of its equals each value is, in order, from 0.

    >>> _occurrence(np.array([3, 5, 3, 3]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    begins = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    place = np.arange(values.size)
    occurrence = np.empty(values.size, np.int64)
    occurrence[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return occurrence
