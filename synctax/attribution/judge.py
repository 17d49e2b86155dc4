"""From the paths of the slowest and fastest ranks to a verdict on each collective."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import ABSENT, I8, I32, I64, NS_PER_US, Bool
from synctax.attribution import carried, culprits
from synctax.attribution.model import Items
from synctax.attribution.options import Options
from synctax.attribution.origins import origins
from synctax.attribution.pool import PathSet
from synctax.attribution.results import Known, Results, Why
from synctax.attribution.rounds import Rounds
from synctax.attribution.usual import merge_usual
from synctax.attribution.variation import (
    Counterparts,
    Variation,
    path_variation,
    slipped,
    variation,
)
from synctax.collectives.tax import Tax
from synctax.graph.model import EdgeKind
from synctax.notes import Note
from synctax.texts import time_us

LEAST_SHARE = 0.5
"""An item that explains less than this share of the tax is no culprit."""

UNKNOWN_SHARE = 0.5
"""If more than this share of the tax is idle time of unknown cause, the path is unknown."""

_LATENCY = (EdgeKind.LAUNCH, EdgeKind.STREAM, EdgeKind.CROSS)


@dataclass(frozen=True, slots=True)
class Judged:
    """Results, the paths they rest on, and how their items compare."""

    results: Results
    slow: PathSet
    fast: PathSet
    twins: Counterparts
    variation: Variation
    notes: tuple[Note, ...]


def judge(
    tax: Tax, rounds: Rounds, paths: tuple[PathSet, PathSet], options: Options
) -> Judged:
    """Compare slow and fast paths and find the culprits.

    Parameters
    ----------
    tax : Tax
    rounds : Rounds
        To look up counterparts.
    paths : (PathSet, PathSet)
        Of the slowest and of the fastest rank, collective by collective.
    options : Options
    """
    slow, fast = paths
    blamed = _blamed(slow, options.method)
    twins = _twins(tax, rounds, (blamed, fast), options.match)
    path = blamed.path
    compared = variation(blamed.items, twins, fast.begin_ns[path], fast.end_ns[path])
    usual = culprits.Usual(*merge_usual([told.usual for told in rounds.told.values()]))
    tax_ns = (tax.waits.longest_ns - tax.waits.shortest_ns)[slow.slot]
    results = _measured(tax, rounds, (slow, fast), tax_ns)
    best = culprits.largest(compared.own_ns, blamed.first)
    own = np.append(compared.own_ns, 0)[best]
    alone = np.append(compared.alone_ns, 0)[best] > 0
    carried_ns = np.minimum(blamed.sum(compared.carried_ns), tax_ns)
    results = replace(
        results,
        culprit=best,
        culprit_ns=np.minimum(own, tax_ns),
        why=np.where(alone, Why.ALONE, Why.SLOWER).astype(np.int8),
        carried_ns=carried_ns,
    )
    named = culprits.Named(rounds.names.texts, usual, tax)
    results = _named(results, blamed.items, twins, named)
    before = blamed
    notes = _slipped(results, blamed, slipped(blamed.items, twins))
    if options.method == "path" and options.match == "counterpart":
        results, before, noted = carried.trace_back(
            rounds, (results, blamed, fast), named, least_share=LEAST_SHARE
        )
        notes += noted
    least = LEAST_SHARE if options.method == "path" else 0.0
    results = _without_culprit(results, least)
    results = _unknown(results, slow, fast)
    return Judged(origins(results, tax), before, fast, twins, compared, notes)


def _slipped(results: Results, blamed: PathSet, slips: Bool) -> tuple[Note, ...]:
    """Count the collectives in which names occur more often on one rank than the other."""
    hit = blamed.sum(slips.astype(np.int64)) > 0
    if not hit.any():
        return ()
    detail = (
        f"of {len(results)} collectives: names that one rank has more often on its path's "
        "stretch than the other are compared by their sums"
    )
    return (Note("occurrence_differs", int(hit.sum()), detail),)


def _blamed(slow: PathSet, method: str) -> PathSet:
    """The items among which the culprit is searched: those of the path, or one kernel."""
    if method == "path":
        return slow
    only = slow.longest if method == "longest" else slow.last
    there = only.kind >= 0
    first = np.concatenate([[0], np.cumsum(there)])
    return replace(slow, first=first, items=only.take(there))


def _twins(
    tax: Tax, rounds: Rounds, paths: tuple[PathSet, PathSet], match: str
) -> Counterparts:
    slow, fast = paths
    if match == "path":
        return path_variation(slow.items, slow.path, fast.items, fast.path)
    group = tax.matches.group[slow.slot].astype(np.int64)
    return rounds.counterparts(
        slow.items, group[slow.path], fast.rank[slow.path].astype(np.int64)
    )


def _measured(
    tax: Tax, rounds: Rounds, paths: tuple[PathSet, PathSet], tax_ns: I64
) -> Results:
    """What follows from the two paths without looking for counterparts."""
    slow, fast = paths
    same, alike = rounds.equal_work(slow.slot)
    count = len(slow)
    none = np.full(count, ABSENT, np.int64)
    latency = {kind: _idle(slow, kind) - _idle(fast, kind) for kind in _LATENCY}
    return Results(
        slot=slow.slot,
        known=np.zeros(count, np.int8),
        unknown_rank=none.astype(np.int32),
        tax_ns=tax_ns,
        path_variation_ns=slow.sum(slow.items.duration_ns)
        - fast.sum(fast.items.duration_ns),
        carried_ns=np.zeros(count, np.int64),
        propagated_ns=_waited(tax, slow) - _waited(tax, fast),
        launch_ns=latency[EdgeKind.LAUNCH],
        queue_ns=latency[EdgeKind.STREAM],
        cross_ns=latency[EdgeKind.CROSS],
        host_ns=slow.sum(np.where(culprits.is_host(slow.items), slow.items.duration_ns, 0)),
        culprit=none,
        why=np.zeros(count, np.int8),
        culprit_ns=np.zeros(count, np.int64),
        culprit_class=np.full(count, culprits.DIFFUSE, np.int8),
        culprit_side=none.astype(np.int8),
        comm_slot=none,
        origin=np.arange(count),
        origin_rank=slow.rank,
        equal_work=same,
        equal_geometry=alike,
    )


def _idle(paths: PathSet, kind: EdgeKind) -> I64:
    """Idle time behind edges of a kind on each path, (p,) int64."""
    after = paths.sum(np.where(paths.items.edge == kind, paths.items.gap_ns, 0))
    return after + np.where(paths.head_edge == kind, paths.head_gap_ns, 0)


def _waited(tax: Tax, paths: PathSet) -> I64:
    """Waits for other groups on each path, (p,) int64.

    Only collectives whose tax can be believed: of the others no wait is known.
    """
    items, found = paths.items, tax.matches
    other = found.group[items.slot] != found.group[paths.slot[paths.path]]
    within = np.where(other, culprits.wait_ns(items, tax), 0)
    return paths.sum(within)


def _named(
    results: Results, items: Items, twins: Counterparts, named: culprits.Named
) -> Results:
    """Class and side of the culprits, as far as they were found among the items."""
    at = results.culprit
    kind = np.append(named.classes(items, twins), culprits.DIFFUSE)[at]
    side = np.append(culprits.sides(items), ABSENT)[at]
    slot = np.append(np.where(named.waited(items), items.slot, ABSENT), ABSENT)[at]
    return replace(
        results,
        culprit_class=kind.astype(np.int8),
        culprit_side=side.astype(np.int8),
        comm_slot=named.of_others(slot, results.slot),
    )


def _without_culprit(results: Results, least_share: float) -> Results:
    """Name no culprit where the largest variation explains too little of the tax.

    Heuristics (a least share of 0) always name one, whatever it explains.
    """
    enough = results.culprit >= 0
    enough &= (results.culprit_ns > 0) | (least_share == 0)
    enough &= results.culprit_ns >= least_share * results.tax_ns
    mostly_carried = results.carried_ns >= LEAST_SHARE * results.tax_ns
    mostly_waited = results.propagated_ns >= LEAST_SHARE * results.tax_ns
    instead = np.where(mostly_carried, culprits.CARRIED, culprits.DIFFUSE)
    instead[mostly_waited] = culprits.COMMUNICATION
    instead[results.tax_ns == 0] = culprits.DIFFUSE
    return replace(
        results,
        culprit=np.where(enough, results.culprit, ABSENT),
        why=np.where(enough, results.why, Why.NONE).astype(np.int8),
        culprit_ns=np.where(enough, results.culprit_ns, 0),
        culprit_class=np.where(enough, results.culprit_class, instead).astype(np.int8),
        culprit_side=np.where(enough, results.culprit_side, ABSENT).astype(np.int8),
        comm_slot=np.where(enough, results.comm_slot, ABSENT),
        carried_ns=np.where(
            enough & (results.why != Why.CARRIED),
            np.minimum(results.carried_ns, results.tax_ns - results.culprit_ns),
            results.carried_ns,
        ),
    )


def _unknown(results: Results, slow: PathSet, fast: PathSet) -> Results:
    """Mark collectives of which most of the tax may hide in idle time of unknown cause."""
    of_slow, of_fast = _unknown_ns(slow), _unknown_ns(fast)
    most = np.maximum(of_slow, of_fast)
    unknown: Bool = (results.tax_ns > 0) & (most >= UNKNOWN_SHARE * results.tax_ns)
    rank: I32 = np.where(of_slow >= of_fast, slow.rank, fast.rank)
    known: I8 = np.where(unknown, Known.PATH_UNKNOWN, Known.OK).astype(np.int8)
    return replace(
        results,
        known=known,
        unknown_rank=np.where(unknown, rank, ABSENT).astype(np.int32),
    )


def _unknown_ns(paths: PathSet) -> I64:
    within = paths.sum(np.where(paths.items.unknown, paths.items.gap_ns, 0))
    return within + np.where(paths.head_unknown, paths.head_gap_ns, 0)


def graph_notes(ranks: Iterable[tuple[tuple[Note, ...], int]]) -> tuple[Note, ...]:
    """What the graphs of all ranks inferred or left out, one note a reason.

    Parameters
    ----------
    ranks : iterable of (tuple of Note, int)
        Notes of each rank's graph, and what was added to its host times, in ns.
    """
    merged: dict[str, Note] = {}
    skews = []
    for notes, skew_ns in ranks:
        if skew_ns:
            skews.append(skew_ns)
        for note in notes:
            old = merged.get(note.reason)
            count = note.count + (old.count if old else 0)
            detail = old.detail if old else note.detail
            merged[note.reason] = Note(note.reason, count, detail, note.where)
    if skews:
        worst = max(-skew for skew in skews) / NS_PER_US
        merged["host_clock_skew"] = Note(
            "host_clock_skew",
            len(skews),
            f"ranks whose host clock runs ahead of their GPU's, by up to "
            f"{time_us(worst)}: corrected",
        )
    return tuple(merged.values())
