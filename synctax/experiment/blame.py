"""What attribution says of collectives that delays reach: rank and cause named or not."""

from typing import Any

import numpy as np

from synctax.arrays import ABSENT, NS_PER_US, Bool
from synctax.attribution.attribute import Attribution
from synctax.attribution.labels import culprit_items, culprit_text
from synctax.attribution.model import Items
from synctax.attribution.results import Known
from synctax.attribution.summary import origin_ranks, path_side, status_of
from synctax.collectives.model import Op
from synctax.collectives.summary import ranks_text
from synctax.experiment.hits import Dose, Hits, doses
from synctax.experiment.injections import Injections, Longer
from synctax.experiment.reach import Reach
from synctax.graph.model import NodeKind
from synctax.trace.model import EventKind

SPIN = "spin_kernel"
"""What is in the name of the kernel that torch spins with."""

_KIND = {
    Longer.SLICE: NodeKind.SLICE,
    Longer.KERNEL: NodeKind.GPU,
    Longer.SPIN: NodeKind.GPU,
    Longer.CALL: NodeKind.SLICE,
    Longer.GAP: NodeKind.GAP,
}


def blame(found: Attribution, injections: Injections, reached: Reach) -> Hits:
    """Look up what is said of every collective that delays reach, and was asked for.

    Parameters
    ----------
    found : Attribution
    injections : Injections
    reached : Reach

    Returns
    -------
    Hits
        In order of slot.

    Notes
    -----
    The delayed rank is named where it is the straggler, or where the culprit is a wait that
    another group passed on and the rank is at its origin. The delayed operator is named
    where it is the culprit on that rank, by name; in recorded jobs the item must also be
    one that was running during the delay: another of its name does not do.
    """
    matches = found.tax.matches
    shown = (reached.slot >= 0) & found.tax.shown[reached.slot]
    first, ranks = matches.first, matches.table.rank[matches.row].astype(np.int64)
    hit = doses(
        np.where(shown, reached.slot, ABSENT),
        reached.position.astype(np.int64),
        (injections.asked_ns, injections.slept_ns),
        reached.slack_ns,
        np.split(ranks, first[1:-1]),
    )
    number = np.full(len(matches), ABSENT, np.int64)
    told = np.flatnonzero(found.results.known == Known.OK)
    number[found.results.slot[told]] = told
    place = _Place(found, injections)
    rows = [
        place.row(dose)
        | (place.said(dose, n) if (n := int(number[dose.slot])) >= 0 else {})
        for dose in hit
    ]
    return Hits.of(rows)


class _Place:
    """Describes collectives of one attribution."""

    def __init__(self, found: Attribution, injections: Injections) -> None:
        self.found = found
        self.injections = injections
        self.code = {text: code for code, text in enumerate(found.texts)}
        self.spins = [code for text, code in self.code.items() if SPIN in text]
        self.clusters: dict[tuple[str, int], int] = {}

    def row(self, dose: Dose) -> dict[str, Any]:
        """Which collective it is, and what reaches it."""
        tax, matches, told = self.found.tax, self.found.tax.matches, self.injections
        group = matches.groups[matches.group[dose.slot]]
        status, reason = status_of(self.found, dose.slot)
        last = int(tax.waits.straggler[dose.slot])
        names = dict.fromkeys(told.operators[code] for code in told.operator[dose.rows])
        step = int(told.step[dose.rows[0]])
        key = (group.window, step)
        tax_ns = tax.waits.longest_ns[dose.slot] - tax.waits.shortest_ns[dose.slot]
        return {
            "group": group.role,
            "group_ranks": ranks_text(group.ranks),
            "op": Op(int(matches.op[dose.slot])).label,
            "index": int(matches.index[dose.slot]),
            "step": step,
            "cluster": self.clusters.setdefault(key, len(self.clusters)),
            "rank": matches.ranks[dose.rank].rank,
            "operator": ", ".join(names),
            "delays": dose.count,
            "positive": dose.positive,
            "asked_us": dose.asked_ns / NS_PER_US,
            "delay_us": dose.slept_ns / NS_PER_US,
            **self._shows(dose),
            "tax_us": int(tax_ns) / NS_PER_US if tax.used[dose.slot] else None,
            "judged": False,
            "status": status,
            "reason": reason,
            "straggler": matches.ranks[last].rank if last >= 0 else ABSENT,
        }

    def _shows(self, dose: Dose) -> dict[str, Any]:
        """How much of a dose is hidden, and how much must show."""
        if dose.slack_ns >= 0:
            shows_ns: int | None = max(dose.slept_ns - dose.slack_ns, 0)
        else:
            shows_ns = dose.slept_ns if self.injections.targets is None else None
        return {
            "slack_us": dose.slack_ns / NS_PER_US if dose.slack_ns >= 0 else None,
            "expected_us": None if shows_ns is None else shows_ns / NS_PER_US,
        }

    def said(self, dose: Dose, number: int) -> dict[str, Any]:
        """What attribution says of it, by the number of its result."""
        found, results = self.found, self.found.results
        ranks, slow = found.tax.matches.ranks, found.slow
        last = int(found.tax.waits.straggler[dose.slot])
        at = int(results.origin[number]) if results.comm_slot[number] >= 0 else ABSENT
        rank = int(origin_ranks(found, np.array([number]))[0])
        handed = at >= 0 and rank == dose.rank
        here, there = self._blames(dose, number), handed and self._blames(dose, at)
        begin, end = int(slow.first[number]), int(slow.first[number + 1])
        items = slow.items.take(slice(begin, end))
        own_ns = int(items.duration_ns[self._like(items, dose)].sum())
        length_ns = int(slow.end_ns[number] - slow.begin_ns[number])
        culprit_ns = int(results.culprit_ns[number])
        blamed = number if here else at if there else ABSENT
        return {
            "judged": bool(found.tax.used[dose.slot]),
            "culprit": culprit_text(found, number),
            "origin_culprit": culprit_text(found, at) if at >= 0 else None,
            "origin_rank": ranks[rank].rank if rank >= 0 else ABSENT,
            "culprit_us": culprit_ns / NS_PER_US if results.culprit[number] >= 0 else None,
            "blamed_us": results.culprit_ns[blamed] / NS_PER_US if blamed >= 0 else None,
            "rank_named": last == dose.rank or handed,
            "operator_named": here or there,
            "passed_on": there and not here,
            "operator_share": own_ns / length_ns if length_ns else None,
            "host_share": int(results.host_ns[number]) / length_ns if length_ns else None,
            "path_side": path_side(found, number),
        }

    def _blames(self, dose: Dose, number: int) -> bool:
        """Whether the culprit of a result is what was delayed."""
        row = int(self.found.results.culprit[number])
        if row < 0 or int(self.found.slow.rank[number]) != dose.rank:
            return False
        items = culprit_items(self.found, number).take(slice(row, row + 1))
        told = self.injections
        if not self._like(items, dose)[0]:
            return False
        if told.targets is not None:
            return True
        skew_ns = self.found.skew_ns.get(dose.rank, 0)
        begin_ns, end_ns = told.start_ns[dose.rows], told.end_ns[dose.rows]
        meets = (begin_ns + skew_ns <= items.full_end_ns[0]) & (
            end_ns + skew_ns >= items.full_start_ns[0]
        )
        # a kernel runs after its launch; how long after, the truth does not say
        meets |= told.longer[dose.rows] == Longer.SPIN
        return bool(meets.any())

    def _like(self, items: Items, dose: Dose) -> Bool:
        """Tell which items are of the kind and name of what was delayed, (i,) bool."""
        told = self.injections
        like = np.zeros(len(items), np.bool_)
        keys = np.stack([told.longer[dose.rows], told.operator[dose.rows]]).astype(np.int64)
        for longer, operator in np.unique(keys, axis=1).T.tolist():
            code = self.code.get(told.operators[operator], ABSENT - 1)
            like |= self._lengthened(items, Longer(longer), code)
        return like

    def _lengthened(self, items: Items, longer: Longer, code: int) -> Bool:
        like: Bool = items.kind == _KIND[longer]
        if longer in (Longer.SLICE, Longer.KERNEL):
            like &= items.name == code
        elif longer is Longer.SPIN:
            like &= np.isin(items.name, self.spins)
        elif longer is Longer.CALL:
            like &= items.source == EventKind.RUNTIME
        return like
