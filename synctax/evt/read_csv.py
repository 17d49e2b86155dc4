"""Block times and normalised maxima out of CSV files, and into the columns of one."""

from dataclasses import dataclass
from os import PathLike

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.errors import BadInputError
from synctax.evt.csv_order import in_order, usual_size
from synctax.evt.csv_table import Chunk, Table, wrong
from synctax.evt.cut import keep_blocks
from synctax.evt.model import LEAST_RANKS, Block, BlockTimes
from synctax.notes import Note

REQUIRED = ("block", "instance", "rank", "us")
OF_BLOCK = ("group", "op", "gpu", "dtype", "phase")
"""Columns that say something of the block: one value for each block."""

OPTIONAL = ("series", "measured_us", *OF_BLOCK)

LEAST_US = 1e-3
"""Some time of a file is at least so long: profilers tell no shorter ones."""

_NS_PER_US = 1_000
_EXACT_NS = 1e-6  # what arithmetic leaves of whole ns
_EXACT = 1e-15  # the same of long times, as a share


def read_block_times(path: str | PathLike[str]) -> tuple[BlockTimes, tuple[Note, ...]]:
    """Read block times from a CSV file, a line for each block, instance and rank.

    Parameters
    ----------
    path : path
        A file with the columns `block`, `instance`, `rank` and `us`, and any of `series`,
        `measured_us`, `group`, `op`, `gpu`, `dtype`, `phase`; separated by commas,
        semicolons or tabs. `instance`, `rank` and `series` are whole numbers, `us` the
        block time in µs; `measured_us` may be empty, and series are one where the column
        is absent. Lines may be in any order: instances are in order of time as they stand
        where the numbers of each block of a series ascend and its blocks take turns, else
        they are sorted by number.

    Returns
    -------
    BlockTimes
        `Block.source` is the path, `resolution_us` the step that all times are told in.
    tuple of Note
        Instances that were left out, having another number of ranks than most, and those
        that were put in order by number though they stood block after block.

    Raises
    ------
    BadInputError
        If the file cannot be read, has other columns, a value that is none, a rank twice
        in an instance, values that contradict each other, one rank an instance, or
        blocks over different numbers of ranks.
    """
    sets, notes = read_block_time_sets(path)
    if len(sets) > 1:
        sizes = " and ".join(str(one.m) for one in sets)
        raise BadInputError(
            f"{path} has blocks over {sizes} ranks; expected one number of ranks: read it "
            "by read_block_time_sets"
        )
    return sets[0], notes


def read_block_time_sets(
    path: str | PathLike[str],
) -> tuple[tuple[BlockTimes, ...], tuple[Note, ...]]:
    """Read block times that may be over different numbers of ranks from a CSV file.

    Parameters
    ----------
    path : path
        As for `read_block_times`.

    Returns
    -------
    tuple of BlockTimes
        A set for each number of ranks, ascending, with the series and blocks that most
        often have it; a number that a block has fewer than ten times makes no set.
    tuple of Note
        As of `read_block_times`.

    Raises
    ------
    BadInputError
        As `read_block_times`, but for blocks over different numbers of ranks.
    """
    table = Table.read(path, REQUIRED, OPTIONAL)
    lines = _Lines.of(table)
    return _sets(table, lines, _blocks(table, lines))


def read_maxima(path: str | PathLike[str]) -> F64:
    """Read normalised block maxima from the column `z` of a CSV file.

    Parameters
    ----------
    path : path
        A file with a column `z`, (maximum - a) / b of each instance; others do not count.

    Returns
    -------
    (n,) float64

    Raises
    ------
    BadInputError
        If the file cannot be read, has no such column, no line, or a value that is none.
    """
    table = Table.read(path, ("z",))
    return np.concatenate([chunk.numbers("z") for chunk in table.chunks()])


def rows(times: BlockTimes) -> dict[str, list[int] | list[float] | list[str]]:
    """Lay block times out as the columns that `read_block_times` reads.

    Parameters
    ----------
    times : BlockTimes

    Returns
    -------
    dict of str to list
        `block`, `instance`, `rank`, `us`, `series`, `group`, `op`, `gpu`, `dtype`,
        `phase`, `measured_us`: a row for each instance and rank, in their order. Read
        back they are the same but for what has no column: source, GEMM and number of
        kernels of a block. NaN stands for a wait that is not known.
    """
    of_row = np.repeat(np.arange(len(times)), times.m)
    block = [times.blocks[number] for number in times.block[of_row].tolist()]
    return {
        "block": [one.name for one in block],
        "instance": times.instance[of_row].tolist(),
        "rank": times.rank.reshape(-1).tolist(),
        "us": times.us.reshape(-1).tolist(),
        "series": times.series[of_row].tolist(),
        **{name: [getattr(one, name) for one in block] for name in OF_BLOCK},
        "measured_us": times.measured_us[of_row].tolist(),
    }


def resolution_us(us: F64) -> float:
    """Find the step that times are told in: the largest that all differences share.

    Parameters
    ----------
    us : float64 array of any shape
        Times in µs.

    Returns
    -------
    float
        In µs; 0 where times are told in less than ns, or all are equal.

    Examples
    --------
    >>> resolution_us(np.array([3.0, 43.0, 123.0])), resolution_us(np.array([0.5, 0.501]))
    (40.0, 0.001)
    """
    ns = np.asarray(us).ravel() * _NS_PER_US
    whole = np.rint(ns)
    if (np.abs(ns - whole) > _EXACT_NS + _EXACT * whole).any():
        return 0.0
    steps = (whole - whole.min(initial=np.inf)).astype(np.int64)
    return int(np.gcd.reduce(steps)) / _NS_PER_US


_Described = tuple[str, str, str, str, str, str]
"""Name of a block and the values of `OF_BLOCK`."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """What the lines of a file say, in their order.

    Parameters
    ----------
    line : (l,) int64
        Their numbers.
    block : (l,) int64
        The block, with all that is said of it: index into `descriptions`.
    series, instance, rank : (l,) int64
    us, measured_us : (l,) float64
    descriptions : tuple
        In the order of their first lines.
    """

    line: I64
    block: I64
    series: I64
    instance: I64
    rank: I64
    us: F64
    measured_us: F64
    descriptions: tuple[_Described, ...]

    @classmethod
    def of(cls, table: Table) -> "_Lines":
        """Read all lines."""
        known: dict[_Described, int] = {}
        parts = [_part(chunk, known) for chunk in table.chunks()]
        counts = np.concatenate([part[0] for part in parts], axis=1)
        us, measured_us = np.concatenate([part[1] for part in parts], axis=1)
        line, block, series, instance, rank = counts
        return cls(line, block, series, instance, rank, us, measured_us, tuple(known))


def _part(chunk: Chunk, known: dict[_Described, int]) -> tuple[I64, F64]:
    """Read some lines; descriptions of blocks are numbered as they are met."""
    group, op, gpu, dtype, phase = (chunk.texts(name) for name in OF_BLOCK)
    described = zip(chunk.names("block"), group, op, gpu, dtype, phase, strict=True)
    block = [known.setdefault(one, len(known)) for one in described]
    counts = [chunk.counts(name) for name in ("series", "instance", "rank")]
    times_us = (chunk.times_us("us"), chunk.known_times_us("measured_us"))
    return np.array([chunk.line, block, *counts], np.int64), np.array(times_us)


def _blocks(table: Table, lines: _Lines) -> tuple[Block, ...]:
    """Name the blocks, each described in one way."""
    _, first = np.unique(lines.block, return_index=True)
    met: dict[str, tuple[_Described, int]] = {}
    for one, line in zip(lines.descriptions, lines.line[first].tolist(), strict=True):
        known, before = met.setdefault(one[0], (one, line))
        for column, value, other in zip(OF_BLOCK, one[1:], known[1:], strict=True):
            if value != other:
                expected = f"{other!r} as on line {before}, for the same block"
                raise wrong(table.source, line, column, value, expected)
    return tuple(
        Block(name, table.source, group, op, gpu=gpu, dtype=dtype, phase=phase)
        for name, group, op, gpu, dtype, phase in lines.descriptions
    )


def _sets(
    table: Table, lines: _Lines, blocks: tuple[Block, ...]
) -> tuple[tuple[BlockTimes, ...], tuple[Note, ...]]:
    """Put the lines of each instance together, and instances over as many ranks."""
    keys = (lines.series, lines.block, lines.instance)
    order = np.lexsort((lines.rank, *reversed(keys)))
    new = np.ones(order.size, np.bool_)
    new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    _check_ranks(table, lines, order, new)
    begin = np.flatnonzero(new)
    size = np.diff(np.append(begin, order.size))
    first = np.minimum.reduceat(order, begin)
    _check_measured(table, lines, order, np.repeat(first, size))
    _check_unit(table, lines)
    usual = usual_size(lines.series[first], lines.block[first], size)
    order_of_time, notes = _in_order(lines, first)
    sets = []
    for m in np.unique(usual[usual >= LEAST_RANKS]).tolist():
        kept = order_of_time[((usual == m) & (size == m))[order_of_time]]
        cells = order[begin[kept, None] + np.arange(m)]
        sets.append(_set(lines, blocks, first[kept], cells))
    if not sets:
        raise BadInputError(
            f"{table.source}: most instances have one rank; expected the times of all "
            "ranks of a group, at least two"
        )
    left_out = (size != usual) | (usual < LEAST_RANKS)
    return tuple(sets), (*notes, *_left_out(lines, first[left_out], sets))


def _set(lines: _Lines, blocks: tuple[Block, ...], first: I64, cells: I64) -> BlockTimes:
    """Take the instances of these first lines, whose ranks are on the lines `cells`."""
    us, block = lines.us[cells], lines.block[first]
    times = BlockTimes(
        blocks=blocks,
        block=block,
        instance=lines.instance[first],
        series=lines.series[first],
        rank=lines.rank[cells],
        us=us,
        measured_us=lines.measured_us[first],
        resolution_us=resolution_us(us),
    )
    return keep_blocks(times, np.bincount(block, minlength=len(blocks)) > 0)


def _check_unit(table: Table, lines: _Lines) -> None:
    """Refuse times that no profiler can tell, which may be in seconds."""
    at = int(lines.us.argmax())
    if 0 < lines.us[at] < LEAST_US:
        raise wrong(
            table.source,
            int(lines.line[at]),
            "us",
            table.cell(int(lines.line[at]), "us"),
            f"a time in µs; no time of the file is above {LEAST_US:g} µs, the step of "
            "profilers: is it in seconds?",
        )


def _check_ranks(table: Table, lines: _Lines, order: I64, new: Bool) -> None:
    """Refuse a rank that an instance has twice."""
    again = np.flatnonzero(~new[1:] & (np.diff(lines.rank[order]) == 0)) + 1
    if not again.size:
        return
    at = again[order[again].argmin()]
    raise wrong(
        table.source,
        int(lines.line[order[at]]),
        "rank",
        str(lines.rank[order[at]]),
        "a rank of this block and instance that is not on line "
        f"{lines.line[order[at - 1]]} already (instances of several groups need a column "
        "series)",
    )


def _check_measured(table: Table, lines: _Lines, order: I64, first: I64) -> None:
    """Refuse an instance with several measured waits."""
    own, theirs = lines.measured_us[order], lines.measured_us[first]
    differs = ~((own == theirs) | (np.isnan(own) & np.isnan(theirs)))
    if not differs.any():
        return
    at = np.flatnonzero(differs)[order[differs].argmin()]
    line = int(lines.line[order[at]])
    raise wrong(
        table.source,
        line,
        "measured_us",
        table.cell(line, "measured_us"),
        f"what line {lines.line[first[at]]} has for the same instance",
    )


def _in_order(lines: _Lines, first: I64) -> tuple[I64, tuple[Note, ...]]:
    """List instances by series, then in order of time; `first` are their first lines."""
    order, piled = in_order(
        lines.series[first], lines.block[first], lines.instance[first], first
    )
    if not piled.any():
        return order, ()
    detail = (
        "instances stand block after block: they are put in order of time by their numbers"
    )
    where = f"line {lines.line[first[piled].min()]}"
    return order, (Note("piled_blocks", int(piled.sum()), detail, where),)


def _left_out(lines: _Lines, others: I64, sets: list[BlockTimes]) -> tuple[Note, ...]:
    """Count instances of another size; `others` are their first lines."""
    if not others.size:
        return ()
    than = f"the {sets[0].m} of {len(sets[0])} others"
    if len(sets) > 1:
        than = "most of their block have, or of one rank"
    return (
        Note(
            "other_size",
            int(others.size),
            f"instances with another number of ranks than {than}",
            f"line {lines.line[others.min()]}",
        ),
    )
