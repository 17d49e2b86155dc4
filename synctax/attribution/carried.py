"""Lateness that a rank brought into the window: where, before it, that came up."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from synctax.arrays import ABSENT, I64, NS_PER_US, Bool
from synctax.attribution import culprits
from synctax.attribution.pool import PathSet
from synctax.attribution.results import Results, Why
from synctax.attribution.rounds import Rounds
from synctax.attribution.variation import Counterparts, most_ns, slipped
from synctax.attribution.windows import Wanted
from synctax.notes import Note

REACH_FACTOR = 50
REACH_LEAST_NS = 50_000 * NS_PER_US
"""Before a window it is searched back this many times the tax, and at least so long."""


MOST_TRACED = 1_000
"""Of so many collectives, those with the largest tax, carried lateness is traced back."""


def trace_back(
    rounds: Rounds,
    parts: tuple[Results, PathSet, PathSet],
    named: culprits.Named,
    *,
    least_share: float,
) -> tuple[Results, PathSet, tuple[Note, ...]]:
    """Find the item before the window that made a rank late, where most was carried.

    All ranks leave the fence together, but their hosts may stand at different places in
    the program then: how much later than the fastest rank's counterpart an item began,
    against the fence, is how late its rank was. Back from the window, that lateness
    shrinks where the rank had been slower, and is gone where it began.

    Parameters
    ----------
    rounds : Rounds
    parts : (Results, PathSet, PathSet)
        Results so far, and the paths of the slowest and the fastest rank.
    named : Named
        What items are.
    least_share : float
        Of the tax; a smaller increase names no culprit.

    Returns
    -------
    Results, PathSet, notes
        The slow paths with their preludes, for those that were searched.
    """
    results, slow, fast = parts
    asked = np.flatnonzero(
        (results.carried_ns >= least_share * results.tax_ns)
        & (results.tax_ns > 0)
        & (results.culprit_ns < least_share * results.tax_ns)
    )
    asked, notes = _worst(results, asked)
    if not asked.size:
        return results, slow, notes
    longer = _preludes(rounds, slow, results, asked)
    named = replace(named, texts=rounds.names.texts)  # the preludes name more
    before = longer.before
    path = np.repeat(np.arange(asked.size), np.diff(longer.before_first))
    twins = rounds.counterparts(
        before,
        rounds.found.group[longer.slot[path]].astype(np.int64),
        fast.rank[asked[path]].astype(np.int64),
    )
    grown = _increases(longer, twins, fast.begin_ns[asked], results.tax_ns[asked])
    # ranks leave the group's own collectives together: no lateness comes up in them
    group = np.append(rounds.found.group, ABSENT)
    grown[group[before.slot] == group[longer.slot[path]]] = 0
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
            named.classes(before.take(at), twins.take(at)),
        ),
        "culprit_side": (results.culprit_side, culprits.sides(before.take(at))),
        "comm_slot": (
            results.comm_slot,
            named.of_others(
                np.where(named.waited(before.take(at)), before.slot[at], ABSENT),
                results.slot[rows],
            ),
        ),
    }
    changed: dict[str, np.ndarray] = {}
    for name, (old, new) in columns.items():
        column = old.copy()
        column[rows] = new
        changed[name] = column
    return replace(results, **changed), slow, notes


def _worst(results: Results, asked: I64) -> tuple[I64, tuple[Note, ...]]:
    """Keep those of the largest tax, in order; note how many are left out."""
    left = asked.size - MOST_TRACED
    if left <= 0:
        return asked, ()
    order = np.argsort(-results.tax_ns[asked], kind="stable")
    detail = "collectives of less tax whose carried lateness was not traced back"
    return np.sort(asked[order[:MOST_TRACED]]), (Note("not_traced_back", left, detail),)


def _preludes(rounds: Rounds, slow: PathSet, results: Results, asked: I64) -> PathSet:
    """Walk again to some collectives, further back."""
    found, seen = rounds.found, rounds.seen
    row = seen.slow[slow.slot[asked]]
    walked = np.zeros(found.row.size, np.bool_)
    walked[row] = True
    begin = np.zeros(found.row.size, np.int64)
    begin[row] = slow.begin_ns[asked]
    reach = np.zeros(found.row.size, np.int64)
    reach[row] = np.maximum(REACH_FACTOR * results.tax_ns[asked], REACH_LEAST_NS)
    none = np.zeros(found.row.size, np.bool_)
    longer = rounds.walk(Wanted(begin, walked, reach, none))
    return longer.take(longer.find(slow.slot[asked], slow.rank[asked]))


def _increases(
    longer: PathSet, twins: Counterparts, fast_begin_ns: I64, tax_ns: I64
) -> I64:
    """How much of the lateness at the window's beginning came up in each item.

    Lateness may come and go: what a wait made good later is no part of it. So an item
    counts for what the least lateness from it onwards is lower before it than after.
    Where lateness that was there before all items is larger than any step, the cause lies
    further back, and nothing counts.
    """
    before = longer.before
    path = np.repeat(np.arange(len(longer)), np.diff(longer.before_first))
    late = (before.full_start_ns - longer.begin_ns[path]) - (
        twins.start_ns - fast_begin_ns[path]
    )
    known = twins.found & ~slipped(before, twins)
    taken = np.where(known, twins.end_ns - twins.start_ns, 0)
    slower = np.maximum(before.duration_ns - taken, 0)
    slower = np.minimum(slower, most_ns(before, twins))
    grown = np.zeros(path.size, np.int64)
    first = longer.before_first.tolist()
    for number, (low, high) in enumerate(pairwise(first)):
        own = slice(low, high)
        grown[own] = _grown(late[own], slower[own], known[own], int(tax_ns[number]))
    return grown


def _grown(late: I64, slower: I64, known: Bool, tax_ns: int) -> I64:
    """Steps of the least lateness from each item onwards.

    They go up from 0 to the lateness at the window's beginning, which may be more than
    the tax: the rest was slack, and the largest step is what it took to exceed it. A step
    lies between two items with counterparts. It is owed by the first, as far as that was
    slower, and by items without counterpart between them; the larger first.
    """
    steps = np.zeros(late.size, np.int64)
    last = np.flatnonzero(known)[-1:]
    level = max([tax_ns, *(late[last] + slower[last]).tolist()])
    between: list[int] = []
    for at in range(late.size - 1, -1, -1):
        between.append(at)
        if not known[at]:
            continue
        lower = max(0, min(level, int(late[at])))
        left = level - lower
        for item in sorted(between, key=lambda item: -int(slower[item])):
            steps[item] = min(left, slower[item])
            left -= steps[item]
        level = lower
        between = []
        if not level:
            break
    if level > steps.max(initial=0):
        steps[:] = 0
    return steps


def _with_preludes(slow: PathSet, longer: PathSet, asked: I64) -> PathSet:
    counts = np.zeros(len(slow), np.int64)
    counts[asked] = np.diff(longer.before_first)
    return replace(
        slow, before=longer.before, before_first=np.concatenate([[0], np.cumsum(counts)])
    )
