"""Who made the others wait: culprits of all collectives of a job."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US, Bool
from synctax.attribution import align, judge
from synctax.attribution.equation import Fit, fit
from synctax.attribution.options import Options
from synctax.attribution.pool import PathSet
from synctax.attribution.results import Known, Results
from synctax.attribution.rounds import OnProgress, OnRound, Rounds
from synctax.attribution.variation import Counterparts, Variation
from synctax.attribution.walk import Reading
from synctax.attribution.windows import Wanted, Windows, begins_ns, sampled_slots, windows
from synctax.collectives.load import Cache
from synctax.collectives.matches import Status
from synctax.collectives.tax import Tax
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema.html import Shown
from synctax.trace.on_scheduler import on_scheduler
from synctax.trace.pool import Workers
from synctax.trace.standing import standing

if TYPE_CHECKING:
    import pandas as pd

    from synctax.attribution.story_model import Story

REASONS_NAMED = 2
"""So many reasons are named why nothing can be attributed."""


@dataclass(frozen=True, repr=False, eq=False)
class Attribution(Shown):
    """What `attribute` found.

    Parameters
    ----------
    tax : Tax
        What was measured; `tax.used` are the collectives that were asked for.
    seen : Windows
        Straggler, fastest rank and fence of every collective.
    fence : (m,) int64
        Slot whose end begins the window of each collective, -1 for none.
    known : (m,) int8
        `Known`, of every collective of `tax.matches`.
    results : Results
        Of the collectives that were attributed, of all groups.
    slow, fast : PathSet
        Paths of the slowest and of the fastest rank, one for each result.
    twins : Counterparts
        Of the items of `slow`, on the fastest rank.
    variation : Variation
        Of the items of `slow`.
    texts : tuple of str
        What `name` and `context` of items are codes of.
    lanes : mapping of position to tuple of str
        Names of the threads and streams of each rank.
    nodes, skew_ns : mapping of position to int
        Size of the graph of each rank, and what was added to its host times.
    options : Options
    notes : tuple of Note
        What was inferred or left out, of graphs and of measuring.
    """

    tax: Tax
    seen: Windows
    fence: I64
    known: np.ndarray
    results: Results
    slow: PathSet
    fast: PathSet
    twins: Counterparts
    variation: Variation
    texts: tuple[str, ...]
    lanes: dict[int, tuple[str, ...]]
    nodes: dict[int, int]
    skew_ns: dict[int, int]
    options: Options
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        asked, told = int(self.tax.used.sum()), int(self.used.sum())
        return f"<Attribution: {told} of {asked} collectives>"

    @cached_property
    def used(self) -> Bool:
        """Which results count: asked for, and the path is known; (s,) bool."""
        used: Bool = self.tax.used[self.results.slot] & (self.results.known == Known.OK)
        return used

    @cached_property
    def equation(self) -> Fit:
        """Equation 2 over the collectives that count."""
        return self.fit(np.flatnonzero(self.used))

    def fit(self, rows: I64) -> Fit:
        """Fit equation 2 over some results, given by number."""
        results = self.results
        return fit(
            results.tax_ns[rows] / NS_PER_US,
            results.path_variation_ns[rows] / NS_PER_US,
            self._random_us(rows),
        )

    def _random_us(self, rows: I64) -> F64:
        slow, fast = self.slow.random_ns[:, rows], self.fast.random_ns[:, rows]
        there = (slow >= 0) & (fast >= 0)
        return np.where(there, (slow - fast) / NS_PER_US, np.nan)

    def to_frame(self, *, per_group: bool = False) -> "pd.DataFrame":
        """One row per group role and class of culprit (`schema.ATTRIBUTE`).

        Parameters
        ----------
        per_group : bool
            Tell sibling groups apart.
        """
        from synctax.attribution.summary import summary

        return summary(self, per_group=per_group)

    def per_collective(self) -> "pd.DataFrame":
        """One row per collective (`schema.ATTRIBUTE_COLLECTIVES`)."""
        from synctax.attribution.summary import per_collective

        return per_collective(self)

    def per_rank(self) -> "pd.DataFrame":
        """One row per group role and rank (`schema.ATTRIBUTE_RANKS`)."""
        from synctax.attribution.summary import per_rank

        return per_rank(self)

    def verdict(self) -> dict[str, tuple[str, ...]]:
        """Say in sentences what was found, by group role."""
        from synctax.attribution.facts import facts
        from synctax.attribution.verdict import verdict

        return {one.group: verdict(one) for one in facts(self)}

    def explain(self, index: int, *, group_ranks: str | None = None) -> "Story":
        """Tell one collective event by event.

        Parameters
        ----------
        index, group_ranks
            As in `per_collective`; the ranks where several groups have the index.

        Raises
        ------
        SynctaxError
            If there is no such collective, or several, or it was not attributed.
        ValueError
            If this was made with a `method` other than "path".
        """
        from synctax.attribution.choose import find
        from synctax.attribution.story import story

        return story(self, find(self, index, group_ranks=group_ranks))


def attribute(  # noqa: PLR0913 - each choice is one of its own
    tax: Tax,
    *,
    options: Options | None = None,
    workers: Workers = None,
    scheduler: str | None = None,
    cache: Cache | None = None,
    on_progress: OnProgress | None = None,
    on_round: OnRound | None = None,
) -> Attribution:
    """Find out which item on which rank made the others wait, for every collective.

    Parameters
    ----------
    tax : Tax
        As `measure` returns it; its selection of groups, operations and steps counts. The
        files of its ranks are read again for their graphs. The first collective of each
        group and window follows no common moment and is never attributed.
    options : Options, optional
        `window`: where the window of a collective begins: "fence", the end of the latest
        earlier collective that all ranks leave together, or "lca", the paper's lowest
        common ancestor. `match`: the counterpart of an item is searched on the whole
        fastest rank ("counterpart") or, as in the paper, by name and index on its path
        ("path"). `method`: "path", or what simple heuristics blame: the "longest" kernel
        before the collective, or the "last-kernel". `tolerance_us`: as for
        `graph.critical_path.deciding_edges`.
    workers, scheduler, cache
        As for `load`; files are read twice or more, from the cache after the first time.
    on_progress : callable, optional
        Called with a path and its size in bytes whenever a round is done with it.
    on_round : callable, optional
        Called before each round with what it does and the sizes of its files.

    Returns
    -------
    Attribution

    Raises
    ------
    SynctaxError
        If none of the collectives has a tax, a window and a path that can be known, or a
        file can no longer be read.
    TypeError
        If `tax` is not what `measure` returns.

    References
    ----------
    Synchronization-tax paper, section 4.
    """
    options = options or Options()
    if not isinstance(tax, Tax):
        raise TypeError("attribute wants the tax that synctax.measure(job) returns")
    seen = windows(tax)
    reading = Reading(cache, options.tolerance_us, options.method != "path")
    if not (tax.used & seen.usable).any():
        raise SynctaxError(_nothing(tax, seen))
    paths = [rank.path for rank in tax.matches.ranks]
    with on_scheduler(workers, scheduler) as found, standing(found, paths) as crew:
        rounds = Rounds(tax.matches, seen, reading, crew, on_progress, on_round)
        return _attribute(tax, seen, rounds, options)


def _attribute(tax: Tax, seen: Windows, rounds: Rounds, options: Options) -> Attribution:
    fence, known = _fences(tax, seen, rounds, options)
    asked = np.flatnonzero(fence >= 0)
    if not (tax.used[asked]).any():
        raise SynctaxError(_nothing(tax, seen))
    paths = rounds.walk(_wanted(tax, seen, fence))
    slow = paths.find(asked, seen.rank[seen.slow[asked]])
    fast = paths.find(asked, seen.rank[seen.fast[asked]])
    there = (slow >= 0) & (fast >= 0)
    known[asked[~there]] = Known.PATH_UNKNOWN
    judged = judge.judge(
        tax, rounds, (paths.take(slow[there]), paths.take(fast[there])), options
    )
    known[judged.results.slot] = judged.results.known
    told = rounds.told.values()
    graphs = judge.graph_notes((one.notes, one.skew_ns) for one in told)
    return Attribution(
        tax=tax,
        seen=seen,
        fence=fence,
        known=known,
        results=judged.results,
        slow=judged.slow,
        fast=judged.fast,
        twins=judged.twins,
        variation=judged.variation,
        texts=rounds.names.texts,
        lanes={rank: told.lanes for rank, told in rounds.told.items()},
        nodes={rank: told.nodes for rank, told in rounds.told.items()},
        skew_ns={rank: told.skew_ns for rank, told in rounds.told.items()},
        options=options,
        notes=(*tax.notes, *graphs, *judged.notes),
    )


def _fences(
    tax: Tax, seen: Windows, rounds: Rounds, options: Options
) -> tuple[I64, np.ndarray]:
    """Slot that begins each window, and what keeps others from having one."""
    known = np.full(len(tax.matches), Known.NO_TAX, np.int8)
    known[seen.usable] = Known.NO_FENCE
    fence = seen.fence
    if options.window == "lca":
        fence = align.common_ancestors(tax.matches, seen, rounds)
        known[seen.usable] = Known.NOT_COMPARABLE
    known[fence >= 0] = Known.OK
    return fence, known


def _wanted(tax: Tax, seen: Windows, fence: I64) -> Wanted:
    """Paths of the slowest and fastest rank of every collective with a window."""
    found = tax.matches
    walked = np.zeros(found.row.size, np.bool_)
    asked = np.flatnonzero(fence >= 0)
    walked[seen.slow[asked]] = walked[seen.fast[asked]] = True
    sampled = sampled_slots(found, tax.used & (fence >= 0))
    slot = np.repeat(np.arange(len(found)), np.diff(found.first))
    return Wanted(
        begins_ns(found, seen, fence),
        walked,
        np.zeros(found.row.size, np.int64),
        sampled[slot],
        everyone=True,
    )


def _nothing(tax: Tax, seen: Windows) -> str:
    count = int(tax.used.sum())
    if not count:
        return (
            f"none of {int(tax.shown.sum())} collectives asked for has a tax that can be "
            f"believed ({_statuses(tax)}); see synctax measure --per-collective for the "
            "reasons"
        )
    fenced = int((seen.fence[tax.used] >= 0).sum())
    if not fenced:
        return (
            f"none of {count} collectives follows one of its group that all ranks leave "
            "together, so no window begins at a common moment; profile a longer window"
        )
    return (
        f"none of {count} collectives has a critical path that can be compared over the "
        "ranks; use --window fence"
    )


def _statuses(tax: Tax) -> str:
    """Count collectives by status, most first, with the reason that most have."""
    found = tax.matches
    told: Counter[tuple[str, int]] = Counter()
    for slot in np.flatnonzero(tax.shown).tolist():
        status = Status(int(tax.status[slot])).name.lower()
        told[status, int(found.reason[slot])] += 1
    return ", ".join(
        f"{count} {status}" + (f": {found.reasons[code]}" if code >= 0 else "")
        for (status, code), count in told.most_common(REASONS_NAMED)
    )
