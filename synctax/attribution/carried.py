"""Lateness that a rank brought into the window: where, before it, that came up."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from synctax.arrays import I64, NS_PER_US, Bool
from synctax.attribution import culprits
from synctax.attribution.pool import PathSet
from synctax.attribution.results import Results, Why
from synctax.attribution.rounds import Rounds
from synctax.attribution.variation import Counterparts
from synctax.attribution.windows import Wanted
from synctax.collectives.tax import Tax

REACH_FACTOR = 50
REACH_LEAST_NS = 50_000 * NS_PER_US
"""Before a window it is searched back this many times the tax, and at least so long."""


def trace_back(
    tax: Tax,
    rounds: Rounds,
    parts: tuple[Results, PathSet, PathSet],
    usual: culprits.Usual,
    *,
    least_share: float,
) -> tuple[Results, PathSet]:
    """Find the item before the window that made a rank late, where most was carried.

    All ranks leave the fence together, but their hosts may stand at different places in
    the program then: how much later than the fastest rank's counterpart an item began,
    against the fence, is how late its rank was. Back from the window, that lateness
    shrinks where the rank had been slower, and is gone where it began.

    Parameters
    ----------
    tax : Tax
    rounds : Rounds
    parts : (Results, PathSet, PathSet)
        Results so far, and the paths of the slowest and the fastest rank.
    usual : Usual
    least_share : float
        Of the tax; a smaller increase names no culprit.

    Returns
    -------
    Results, PathSet
        The slow paths with their preludes, for those that were searched.
    """
    results, slow, fast = parts
    asked = np.flatnonzero(
        (results.carried_ns >= least_share * results.tax_ns)
        & (results.tax_ns > 0)
        & (results.culprit_ns < least_share * results.tax_ns)
    )
    if not asked.size:
        return results, slow
    longer = _preludes(tax, rounds, slow, results, asked)
    before = longer.before
    path = np.repeat(np.arange(asked.size), np.diff(longer.before_first))
    twins = rounds.counterparts(
        before.key,
        tax.matches.group[longer.slot[path]].astype(np.int64),
        fast.rank[asked[path]].astype(np.int64),
    )
    grown = _increases(longer, twins, fast.begin_ns[asked], results.tax_ns[asked])
    best = culprits.largest(grown, longer.before_first)
    amount = np.minimum(np.append(grown, 0)[best], results.tax_ns[asked])
    hit = (amount >= least_share * results.tax_ns[asked]) & (best >= 0)
    slow = _with_preludes(slow, longer, asked)
    rows, at = asked[hit], best[hit]
    shifted = at - longer.before_first[:-1][hit] + slow.before_first[rows]
    columns: dict[str, tuple[np.ndarray, Any]] = {
        "culprit": (results.culprit, shifted),
        "culprit_ns": (results.culprit_ns, amount[hit]),
        "why": (results.why, Why.CARRIED),
        "culprit_class": (
            results.culprit_class,
            culprits.classes(before.take(at), rounds.names.texts, usual),
        ),
        "culprit_side": (results.culprit_side, culprits.sides(before.take(at))),
        "comm_slot": (results.comm_slot, before.slot[at]),
    }
    changed: dict[str, np.ndarray] = {}
    for name, (old, new) in columns.items():
        column = old.copy()
        column[rows] = new
        changed[name] = column
    return replace(results, **changed), slow


def _preludes(
    tax: Tax, rounds: Rounds, slow: PathSet, results: Results, asked: I64
) -> PathSet:
    """Walk again to some collectives, further back."""
    found, seen = tax.matches, rounds.seen
    row = seen.slow[slow.slot[asked]]
    walked = np.zeros(found.row.size, np.bool_)
    walked[row] = True
    begin = np.zeros(found.row.size, np.int64)
    begin[row] = slow.begin_ns[asked]
    reach = np.zeros(found.row.size, np.int64)
    reach[row] = np.maximum(REACH_FACTOR * results.tax_ns[asked], REACH_LEAST_NS)
    none = np.zeros(found.row.size, np.bool_)
    told = dict(rounds.told)
    longer = rounds.walk(Wanted(begin, walked, reach, none))
    rounds.told = told | rounds.told
    return longer.take(longer.find(slow.slot[asked], slow.rank[asked]))


def _increases(
    longer: PathSet, twins: Counterparts, fast_begin_ns: I64, tax_ns: I64
) -> I64:
    """How much of the lateness at the window's beginning came up in each item.

    Lateness may come and go: what a wait made good later is no part of it. So an item
    counts for what the least lateness from it onwards is lower before it than after.
    """
    before = longer.before
    path = np.repeat(np.arange(len(longer)), np.diff(longer.before_first))
    late = (before.full_start_ns - longer.begin_ns[path]) - (
        twins.start_ns - fast_begin_ns[path]
    )
    taken = np.where(twins.found, twins.end_ns - twins.start_ns, 0)
    slower = np.maximum(before.duration_ns - taken, 0)
    grown = np.zeros(path.size, np.int64)
    first = longer.before_first.tolist()
    for number, (low, high) in enumerate(pairwise(first)):
        own = slice(low, high)
        grown[own] = _grown(late[own], slower[own], twins.found[own], int(tax_ns[number]))
    return grown


def _grown(late: I64, slower: I64, found: Bool, tax_ns: int) -> I64:
    """Steps of the least lateness from each item onwards, from 0 up to the tax.

    A step lies between two items with counterparts. It is owed by the first, as far as
    that was slower, and by items without counterpart between them; the larger first.
    """
    level = tax_ns
    steps = np.zeros(late.size, np.int64)
    between: list[int] = []
    for at in range(late.size - 1, -1, -1):
        between.append(at)
        if not found[at]:
            continue
        lower = max(0, min(level, int(late[at])))
        for item in sorted(between, key=lambda item: -int(slower[item])):
            steps[item] = min(level - lower - int(steps[between].sum()), slower[item])
        level = lower
        between = []
        if not level:
            break
    return steps


def _with_preludes(slow: PathSet, longer: PathSet, asked: I64) -> PathSet:
    counts = np.zeros(len(slow), np.int64)
    counts[asked] = np.diff(longer.before_first)
    return replace(
        slow, before=longer.before, before_first=np.concatenate([[0], np.cumsum(counts)])
    )
