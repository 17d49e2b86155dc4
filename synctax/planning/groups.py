"""Groups of ranks on a grid, and what they have in a block of it: a domain, a host, a pod.

Ranks are numbered through and blocks follow each other from rank 0, so what a block holds
of groups depends on where it begins in them, which soon repeats: all that is counted here
is exact, over the blocks that differ.
"""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, Bool


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """How the groups of k layouts lie, all of a layout alike.

    A group has `runs` runs of `run` ranks each, `stride` apart. The groups of one tile, of
    stride·run contiguous ranks, have their runs there; `tiles` tiles with as many groups
    each follow on each other before the next run of the first begins.

    Parameters
    ----------
    stride, run : (k,) int64
    tiles, runs : (k,) int64
        With one run, all tiles there are.
    ranks : (k,) int64
        Of the layout.
    """

    stride: I64
    run: I64
    tiles: I64
    runs: I64
    ranks: I64

    @property
    def tile(self) -> I64:
        """Contiguous ranks that hold a run of several groups."""
        return self.stride * self.run

    @property
    def degree(self) -> I64:
        """Ranks of a group."""
        return self.run * self.runs

    @property
    def span(self) -> I64:
        """Contiguous ranks that hold whole groups: the least such block."""
        whole = np.where(self.runs > 1, self.ranks, self.tile)
        return np.where(self.degree == 1, 1, whole)


def contiguous(stride: I64, degree: I64, ranks: I64) -> Groups:
    """Lay groups of one run each.

    Parameters
    ----------
    stride, degree, ranks : (k,) int64

    Returns
    -------
    Groups
    """
    tiles = np.maximum(ranks // (stride * degree), 1)
    return Groups(stride, degree, tiles, np.ones_like(degree), ranks)


def smallest_part(groups: Groups, domain: int) -> I64:
    """Count the ranks of a group in a domain that it touches, where they are fewest.

    Parameters
    ----------
    groups : Groups
        Of k layouts.
    domain : int
        Ranks of one.

    Returns
    -------
    (k,) int64
        The narrowest passage of a ring: what it sends on from there has no more NICs.

    Notes
    -----
    Bounds of tiles and of domains cut the ranks into pieces, and of L ranks a group with
    neighbours `stride` apart has at least L/stride, rounded down. So for one run the
    shortest piece counts; with several it does where a domain is too short for two.
    """
    shortest = _shortest_piece(groups.tile, groups.ranks, domain)
    found = np.clip(shortest // groups.stride, 1, groups.run)
    period = groups.tile * groups.tiles
    several = (groups.runs > 1) & (period - groups.tile < domain)
    several &= groups.ranks > domain
    if several.any():
        found[several] = _fewest_of_runs(_some(groups, several), domain)
    return np.where(groups.ranks <= domain, groups.degree, found)


def flows(groups: Groups, block: int) -> F64:
    """Count the groups that a block holds a part of, in the block where they are most.

    A ring leaves a block once, however many of its ranks are there; so does what a
    pipeline sends, half of it forward and half back.

    Parameters
    ----------
    groups : Groups
        Of k layouts.
    block : int
        Ranks of one, fewer than those of the layout.

    Returns
    -------
    (k,) float64
        Where blocks are shorter than tiles min(stride, block), up to twice that for one in
        which a tile ends.
    """
    row, at, length = _blocks(groups, block)
    some = _some(groups, row)
    # whoever touches both a block and the rest is in neither alone
    touched = _touching(some, at, length)
    touched += _touching(some, (at + length) % some.tile, some.ranks - length)
    shared = touched - some.stride * some.tiles
    return _most(shared.astype(np.float64), row, len(groups.run))


def leaving_shares(groups: Groups, block: int) -> F64:
    """Count what leaves a block in an all-to-all, in the block where it is most.

    Parameters
    ----------
    groups : Groups
        Of k layouts, of one run each.
    block : int
        Ranks of one, fewer than those of the layout.

    Returns
    -------
    (k,) float64
        In what one rank sends to all others.
    """
    row, at, length = _blocks(groups, block)
    some = _some(groups, row)
    first = np.minimum(length, some.tile - at)
    last = (length - first) % some.tile
    sent = _sent_out(some, first) + _sent_out(some, last)
    return _most(sent, row, len(groups.run))


def same_indices(groups: Groups, host: int) -> Bool:
    """Tell whether a group has the same local indices on every host that it touches.

    A ring then enters and leaves each host on rails that the next one has too.

    Parameters
    ----------
    groups : Groups
        Of k layouts.
    host : int
        GPUs of one.

    Returns
    -------
    (k,) bool
        Whether a host divides the stride, so that there is one index; or the stride
        divides a host and whole runs fill hosts, or lie on one in the same place.
    """
    stride, tile, ranks = groups.stride, groups.tile, groups.ranks
    period = tile * groups.tiles
    repeats = (period % host == 0) | ((host % period == 0) & (ranks % host == 0))
    on_one = (host % tile == 0) & ((groups.runs == 1) | repeats)
    fills = (host % stride == 0) & ((tile % host == 0) | on_one)
    return np.asarray((groups.span == 1) | (ranks <= host) | (stride % host == 0) | fills)


def alike(*columns: I64) -> tuple[I64, I64]:
    """Find rows that are the same in all columns.

    Parameters
    ----------
    *columns : (k,) int64

    Returns
    -------
    first : (j,) int64
        One of each kind.
    kind : (k,) int64
        Which kind a row is.

    Examples
    --------
    >>> alike(np.array([4, 2, 4]), np.array([1, 1, 1]))
    (array([1, 0]), array([1, 0, 1]))
    """
    kind = np.zeros(len(columns[0]), np.int64)
    first = np.zeros(min(len(kind), 1), np.int64)
    for column in columns:
        _, value = np.unique(column, return_inverse=True)
        both = kind * (int(value.max(initial=0)) + 1) + value
        _, first, kind = np.unique(both, return_index=True, return_inverse=True)
    return first, kind


def _some(groups: Groups, rows: I64 | Bool) -> Groups:
    return Groups(
        groups.stride[rows],
        groups.run[rows],
        groups.tiles[rows],
        groups.runs[rows],
        groups.ranks[rows],
    )


def _counted(counts: I64) -> tuple[I64, I64]:
    """List 0, 1, ... for each row as often as told, and the rows they are of."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)


def _shortest_piece(tile: I64, ranks: I64, domain: int) -> I64:
    """Find the shortest piece that bounds of tiles and of domains cut ranks into."""
    one, back = alike(tile, ranks)
    tiles, total = tile[one], ranks[one]
    row, at = _counted(np.minimum(total // tiles, domain // np.gcd(domain, tiles)))
    bound = (at + 1) * tiles[row]
    before = bound % domain
    # behind the last rank there is nothing
    after = np.where(bound < total[row], domain - before, domain)
    piece = np.where(before > 0, np.minimum(before, after), domain)
    shortest = np.minimum(tiles, domain)
    np.minimum.at(shortest, row, piece)
    return np.asarray(shortest[back])


def _fewest_of_runs(groups: Groups, domain: int) -> I64:
    """Count the fewest ranks of a group in a domain that may hold parts of several runs."""
    run, tile = groups.run, groups.tile
    row, at = _counted(np.minimum(groups.ranks // domain, tile // np.gcd(tile, domain)))
    some = _some(groups, row)
    offset = at * domain % some.tile
    found = run.copy()
    period = tile * groups.tiles
    times = domain // period
    np.minimum.at(found, row, np.where(times[row] > 0, 0, _in_one(some, offset, domain)))
    rest = period - domain % period
    most = _longest(some, (offset + domain) % some.tile, rest[row])
    few = (times + 1) * run
    np.minimum.at(few, row, (times[row] + 1) * some.run - -(-most // some.stride))
    found = np.where(times > 0, few, np.maximum(found, 1))
    return np.asarray(np.minimum(found, _in_the_last(groups, groups.ranks % domain)))


def _in_one(groups: Groups, offset: I64, domain: int) -> I64:
    """Count the fewest of a group that a domain shorter than a period touches."""
    missing = groups.tile * groups.tiles - domain
    # the run that it begins in comes again at its end
    again = groups.run - -(-missing // groups.stride)
    head, tail = groups.tile - offset, groups.tile - missing + offset
    apart = np.minimum(head, tail) // groups.stride
    return np.maximum(np.where(offset > missing, again, apart), 1)


def _in_the_last(groups: Groups, left: I64) -> I64:
    """Count the fewest of a group that the ranks behind the last whole domain touch."""
    stride, run, tile = groups.stride, groups.run, groups.tile
    times, rest = np.divmod(left, tile * groups.tiles)
    outside = np.minimum(tile * groups.tiles - rest, tile)
    several = (times + 1) * run - -(-outside // stride)
    head = left % tile
    one = np.where(head > 0, np.maximum(head // stride, 1), run)
    parts = np.where(times > 0, several, one)
    return np.asarray(np.where(left == 0, run * groups.runs, parts))


def _longest(groups: Groups, offset: I64, length: I64) -> I64:
    """Find the most ranks that a stretch has of one tile."""
    first = np.minimum(length, groups.tile - offset)
    return np.asarray(np.maximum(first, np.minimum(length - first, groups.tile)))


def _blocks(groups: Groups, block: int) -> tuple[I64, I64, I64]:
    """List the blocks that differ: of which row, where in a tile they begin, how long."""
    tile, ranks = groups.tile, groups.ranks
    repeat = np.gcd(tile, block)
    long = tile >= block
    # of long tiles only blocks with a bound of tiles in them differ from the first
    counts = np.minimum(
        ranks // np.where(long, tile, block), np.where(long, block, tile) // repeat
    )
    row, at = _counted(np.maximum(counts, 1))
    into = at * tile[row] % block
    start = np.where(long[row], tile[row] - into, at * block) % tile[row]
    length = np.minimum(np.full(len(row), block), ranks[row])
    left = np.flatnonzero(ranks % block)
    row = np.concatenate([row, left])
    start = np.concatenate([start, (ranks[left] // block * block) % tile[left]])
    return row, start, np.concatenate([length, ranks[left] % block])


def _touching(groups: Groups, offset: I64, length: I64) -> I64:
    """Count the groups that have a rank in a stretch, which may pass the last rank."""
    stride, tile = groups.stride, groups.tile
    first = np.minimum(length, tile - offset)
    whole, last = np.divmod(length - first, tile)
    ends = np.minimum(stride, first) + np.minimum(stride, last)
    # the tile that it begins in comes again at its end
    ends = np.where(whole == groups.tiles - 1, np.minimum(stride, first + last), ends)
    every = length >= tile * groups.tiles
    return np.where(every, stride * groups.tiles, whole * stride + ends)


def _sent_out(groups: Groups, length: I64) -> F64:
    """Count what leaves a stretch at one end of a tile, in what a rank sends in all."""
    have, more = np.divmod(length, groups.stride)
    left = groups.run - have
    pairs = more * (have + 1) * (left - 1) + (groups.stride - more) * have * left
    return np.asarray(pairs / np.maximum(groups.run - 1, 1))


def _most(values: F64, row: I64, rows: int) -> F64:
    most = np.zeros(rows)
    np.maximum.at(most, row, values)
    return most
