"""The rounds over the ranks' files: walk to collectives, then look up counterparts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from synctax.arrays import I64, Bool
from synctax.attribution.model import GroupTask, Items, Query, RankPaths
from synctax.attribution.pool import Blocks, Names, PathSet, pool
from synctax.attribution.variation import Counterparts
from synctax.attribution.walk import Reading, look_up_rank, walk_rank
from synctax.attribution.windows import Roster, Wanted, Windows, query, tasks
from synctax.collectives.matches import Matches
from synctax.errors import SynctaxError
from synctax.trace.pool import Workers, map_files

OnProgress = Callable[[str, int], None]
OnRound = Callable[[str, Mapping[str, int]], None]

T = TypeVar("T")
OnBytes = Callable[[int], None]

WALKING, COMPARING = "following paths", "comparing"
"""What a round does, for `OnRound`."""


@dataclass(slots=True)
class Rounds:
    """Sends work to the ranks and collects what they say.

    Parameters
    ----------
    found : Matches
    seen : Windows
    reading : Reading
        How files are read.
    workers : int, Machines or None
        As for `map_files`.
    on_progress : callable or None
        Called with a path and its size when it is done with.
    on_round : callable or None
        Called before each round with what it does and the sizes of its files, in bytes.
    names : Names
        Of all ranks; grows.
    told : dict
        What each rank said, by its position, without its paths.
    blocks : Blocks
        Of all ranks, once everyone was asked.
    """

    found: Matches
    seen: Windows
    reading: Reading
    workers: Workers = None
    on_progress: OnProgress | None = None
    on_round: OnRound | None = None
    names: Names = field(default_factory=lambda: Names({}))
    roster: Roster = field(init=False)
    told: dict[int, RankPaths] = field(default_factory=dict)
    blocks: Blocks = field(default_factory=Blocks.none)

    def __post_init__(self) -> None:
        """Sort the participations, once for all rounds."""
        self.roster = Roster.of(self.found, self.seen)

    def walk(self, wanted: Wanted) -> PathSet:
        """Walk to collectives on all ranks that have any of the wanted paths.

        Raises
        ------
        SynctaxError
            If a file can no longer be read, or none of the paths is wanted.
        """
        by_rank = tasks(self.roster, self.seen, wanted)
        by_path = {self.found.ranks[rank].path: rank for rank in by_rank}
        todo: Mapping[str, Sequence[GroupTask]] = {
            path: by_rank[rank] for path, rank in by_path.items()
        }
        walk = partial(walk_rank, tasks=todo, reading=self.reading)
        answers = self._over_files(WALKING, walk, list(todo))
        ranks: dict[int, RankPaths] = {}
        for path, answer in zip(todo, answers, strict=True):
            ranks[by_path[path]] = answer
        if wanted.everyone:
            self.blocks = Blocks.of(ranks.values())
        # the paths go on in the pool; here only what is said of ranks is kept
        self.told |= {rank: replace(answer, groups=()) for rank, answer in ranks.items()}
        return pool(ranks, self.names)

    def equal_work(self, slot: I64) -> tuple[Bool, Bool]:
        """Tell before which collectives all ranks launched the same; see `Blocks`."""
        return self.blocks.equal(slot)

    def counterparts(self, items: Items, group: I64, rank: I64) -> Counterparts:
        """Find what other ranks did in place of items.

        Parameters
        ----------
        items : Items
        group, rank : (i,) int64
            Group whose collectives divide the trace, and position of the rank to search.
        """
        pair, where = np.unique(np.stack([rank, group]), axis=1, return_inverse=True)
        order = np.argsort(where.reshape(-1), kind="stable")
        bounds = np.searchsorted(where.reshape(-1)[order], np.arange(pair.shape[1] + 1))
        queries: dict[str, list[Query]] = {}
        asked: dict[str, list[I64]] = {}
        for number, (of_rank, of_group) in enumerate(pair.T.tolist()):
            path = self.found.ranks[of_rank].path
            rows = order[bounds[number] : bounds[number + 1]]
            who = (of_rank, of_group)
            one = query(self.roster, self.seen, who, items.key[rows], items.kin[rows])
            queries.setdefault(path, []).append(one)
            asked.setdefault(path, []).append(rows)
        look_up = partial(look_up_rank, queries=queries, reading=self.reading)
        answers = self._over_files(COMPARING, look_up, list(queries))
        result = Counterparts.none(len(items))
        for path, answer in zip(queries, answers, strict=True):
            for rows, one, told in zip(asked[path], queries[path], answer, strict=True):
                at = np.searchsorted(one.key, items.key[rows])
                for name in ("found", "start_ns", "end_ns", "kin_count", "kin_ns"):
                    getattr(result, name)[rows] = getattr(told, name)[at]
        return result

    def _over_files(
        self, what: str, function: Callable[[str, OnBytes], T], paths: Sequence[str]
    ) -> list[T]:
        return over_files(
            what,
            function,
            paths,
            workers=self.workers,
            on_progress=self.on_progress,
            on_round=self.on_round,
        )


def over_files(
    what: str,
    function: Callable[[str, OnBytes], T],
    paths: Sequence[str],
    *,
    workers: Workers = None,
    on_progress: OnProgress | None = None,
    on_round: OnRound | None = None,
) -> list[T]:
    """Run a function on files, and tell how far it is.

    Parameters
    ----------
    what : str
        What is done, for `on_round`.
    function, paths, workers, on_progress
        As for `map_files`; the bytes that the function tells do not count.
    on_round : callable, optional
        Called before with `what` and the sizes of the files, in bytes.

    Raises
    ------
    SynctaxError
        What it raised on a file: on the first of those, in the order given.
    """
    sizes = {path: _size_bytes(path) for path in paths}
    if on_round is not None:
        on_round(what, sizes)
    found: list[T] = []
    for answer in map_files(
        partial(_whole, function=function, sizes_bytes=sizes),
        paths,
        workers=workers,
        on_progress=on_progress,
    ):
        if isinstance(answer, SynctaxError):
            raise answer
        found.append(answer)
    return found


def _whole(
    path: str,
    on_bytes: OnBytes,
    *,
    function: Callable[[str, OnBytes], T],
    sizes_bytes: Mapping[str, int],
) -> T:
    # columns from a cache read no bytes, and graphs take longer than reading
    answer = function(path, lambda _bytes: None)
    on_bytes(sizes_bytes[path])
    return answer


def _size_bytes(path: str) -> int:
    """Size of a file; 1 for what has none, such as a URL."""
    file = Path(path)
    return max(file.stat().st_size, 1) if file.is_file() else 1
