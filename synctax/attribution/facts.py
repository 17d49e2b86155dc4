"""The numbers behind a verdict: what an attribution says of one role, or of all."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import ABSENT, I64, NS_PER_US
from synctax.attribution.culprits import CLASSES, COMMUNICATION
from synctax.attribution.equation import Fit
from synctax.attribution.labels import culprit_texts
from synctax.attribution.results import Known, Why
from synctax.attribution.summary import (
    Part,
    class_names,
    members,
    origin_ranks,
    parts,
    status_of,
    stragglers,
)
from synctax.attribution.variation import slipped
from synctax.collectives.model import Op
from synctax.collectives.summary import ranks_text

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

OUTLIER_LEAST_US = 100.0
OUTLIER_SHARE = 0.1
"""A residual is an outlier beyond both: this long, and this share of the tax."""

EXPLAINS_SHARE = 0.5
"""A kind of idle time explains an outlier if it is at least this share of the residual."""

LATENCIES = ("launch", "queue", "cross")
"""Kinds of idle time that equation 2 leaves out."""

COLLECTIVE = "collective"
"""What communication is called that is not known to be a wait for another group."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A collective that equation 2 does not explain.

    `why` is the kind of idle time that does (`launch`, `queue`, `cross`), or `other`;
    `idle_us` is how much longer the global rank `rank` was idle in that way than the rank
    it is compared with, 0 for `other`.
    """

    group: str
    group_ranks: str
    op: str
    index: int
    residual_us: float
    why: str
    idle_us: float
    rank: int


@dataclass(frozen=True, slots=True)
class Culprit:
    """A culprit that comes again: its name, class and rank, how often, how much."""

    text: str
    kind: str
    rank: int
    count: int
    share_of_tax: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What an attribution says of one role; `group` is empty for all of them.

    Parameters
    ----------
    method : str
        As in `Options`.
    asked, told, waited : int
        Collectives whose tax counts; of these, those that were attributed; and of these,
        those in which somebody waited.
    left_out : tuple of (str, int)
        Why some were not attributed, and how many.
    n_groups, n_ranks : int
        Its groups, and the ranks of all of them.
    tax_us : float
        Sum over those attributed; all shares are of this, but `gpu_only_share`, which is
        of their number, and `overlapped_share`, of the waits of all ranks.
    gpu_only_tax_us : (float, float) or None
        Least and largest tax of collectives whose straggler's path is GPU only.
    explained_share : float or None
        What culprits explain.
    classes, last : tuple of (name, share of tax)
        Classes of culprits, and stragglers; largest first. Communication that is not
        known to be a wait for another group is `COLLECTIVE`. Ties have no straggler.
    class_of : mapping of rank to name
        The class with most tax of each straggler.
    late_share : float or None
        What was carried, of collectives for which no culprit within the window is named.
    late : tuple of (rank, share of that)
        Whose lateness it was.
    origins : tuple of (rank, share of `propagated_share`)
        Where waits for other groups began that are culprits.
    worst : Culprit or None
        With the most variation.
    passed_on_by : tuple of str
        Roles in which a wait began that a culprit passed on; longest first.
    latency_us : mapping of kind to float
        Idle time on the slowest ranks' paths less that on the fastest ranks'.
    compared, equal_work, equal_geometry : int
        Collectives before which the work of all ranks was compared; that is equal kernel
        for kernel; also in launch geometry.
    slipped : int
        Collectives on whose slow path a name is that the other rank has more or less often.
    """

    group: str
    method: str
    asked: int
    told: int
    waited: int
    left_out: tuple[tuple[str, int], ...]
    n_groups: int
    n_ranks: int
    tax_us: float
    fit: Fit
    gpu_only_share: float
    gpu_only_tax_us: tuple[float, float] | None
    cpu_share_of_tax: float | None
    carried_share: float | None
    propagated_share: float | None
    diffuse_share: float | None
    overlapped_share: float | None
    explained_share: float | None
    classes: tuple[tuple[str, float], ...]
    last: tuple[tuple[int, float], ...]
    class_of: dict[int, str]
    late_share: float | None
    late: tuple[tuple[int, float], ...]
    origins: tuple[tuple[int, float], ...]
    worst: Culprit | None
    passed_on_by: tuple[str, ...]
    latency_us: dict[str, float]
    compared: int
    equal_work: int
    equal_geometry: int
    slipped: int
    outliers: tuple[Outlier, ...]


def facts(found: "Attribution") -> tuple[Facts, ...]:
    """Collect the numbers of each role, most tax first."""
    return tuple(_facts(found, part) for part in parts(found))


def overall(found: "Attribution") -> Facts:
    """Collect the numbers of all roles together."""
    return _facts(found, Part("", None, np.flatnonzero(found.used)))


def _facts(found: "Attribution", part: Part) -> Facts:
    results, rows = found.results, part.rows
    tax = results.tax_ns[rows]
    whole = int(tax.sum())

    def of_tax(values: I64) -> float | None:
        return int(values.sum()) / whole if whole else None

    gpu_only = results.host_ns[rows] == 0
    gpu_tax = tax[gpu_only & (tax > 0)] / NS_PER_US
    names = _kinds(found, rows)
    slots = _asked(found, part)
    last = _global(found, stragglers(found, rows))
    inside = np.isin(results.why[rows], (Why.SLOWER, Why.ALONE))
    late = np.where(inside, 0, results.carried_ns[rows])
    passed_on = np.clip(results.propagated_ns[rows], 0, tax)
    began = np.where(results.comm_slot[rows] >= 0, origin_ranks(found, rows), ABSENT)
    return Facts(
        group=part.role,
        method=found.options.method,
        asked=slots.size,
        told=rows.size,
        waited=int((tax > 0).sum()),
        left_out=_left_out(found, slots),
        n_groups=np.unique(found.tax.matches.group[results.slot[rows]]).size,
        n_ranks=len({found.tax.matches.ranks[p].rank for p in members(found, part)}),
        tax_us=whole / NS_PER_US,
        fit=found.fit(rows),
        gpu_only_share=float(gpu_only.mean()) if rows.size else float("nan"),
        gpu_only_tax_us=(float(gpu_tax.min()), float(gpu_tax.max()))
        if gpu_tax.size
        else None,
        cpu_share_of_tax=of_tax(tax[~gpu_only]),
        carried_share=of_tax(results.carried_ns[rows]),
        propagated_share=of_tax(passed_on),
        diffuse_share=of_tax(tax[results.culprit[rows] < 0]),
        overlapped_share=_overlapped(found, results.slot[rows]),
        explained_share=of_tax(results.culprit_ns[rows]),
        classes=_shares(names, tax),
        last=_shares(last, tax),
        class_of=_class_of(last, names, tax),
        late_share=of_tax(late),
        late=_shares(last, late),
        origins=_shares(_global(found, began), passed_on),
        worst=_worst(found, rows, whole),
        passed_on_by=_passed_on_by(found, rows),
        latency_us={
            kind: float(getattr(results, f"{kind}_ns")[rows].sum()) / NS_PER_US
            for kind in LATENCIES
        },
        compared=rows.size,
        equal_work=int(results.equal_work[rows].sum()),
        equal_geometry=int(results.equal_geometry[rows].sum()),
        slipped=_slipped(found, rows),
        outliers=_outliers(found, rows),
    )


def _kinds(found: "Attribution", rows: I64) -> list[str]:
    """Class of each result, waits for other groups and other communication told apart."""
    proven = (found.results.comm_slot[rows] >= 0).tolist()
    names = class_names(found, rows)
    return [
        COLLECTIVE if name == CLASSES[COMMUNICATION] and not of_others else name
        for name, of_others in zip(names, proven, strict=True)
    ]


def _slipped(found: "Attribution", rows: I64) -> int:
    """How many results compare names that one rank has more often than the other."""
    slow = found.slow
    count = slow.sum(slipped(slow.items, found.twins).astype(np.int64))
    return int((count[rows] > 0).sum())


def _asked(found: "Attribution", part: Part) -> I64:
    """Slots of a part whose tax counts."""
    matches = found.tax.matches
    mine = [not part.role or group.role == part.role for group in matches.groups]
    return np.flatnonzero(found.tax.used & np.array(mine, np.bool_)[matches.group])


def _left_out(found: "Attribution", slots: I64) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for slot in slots[found.known[slots] != Known.OK].tolist():
        status, _ = status_of(found, slot)
        counts[status] = counts.get(status, 0) + 1
    return tuple(counts.items())


def _global(found: "Attribution", position: I64) -> list[int]:
    ranks = found.tax.matches.ranks
    return [ranks[p].rank if p >= 0 else -1 for p in position.tolist()]


def _shares(names: list[Any], tax: I64) -> tuple[tuple[Any, float], ...]:
    """Add up tax by name, as shares, largest first; the nameless (-1) are left out."""
    sums: dict[Any, int] = {}
    for name, own in zip(names, tax.tolist(), strict=True):
        sums[name] = sums.get(name, 0) + own
    whole = sum(sums.values())
    order = sorted(sums.items(), key=lambda pair: -pair[1])
    return tuple((name, own / whole) for name, own in order if own > 0 and name != -1)


def _class_of(ranks: list[int], names: list[str], tax: I64) -> dict[int, str]:
    """The class with most tax of each rank."""
    pairs = _shares(list(zip(ranks, names, strict=True)), tax)
    return {rank: name for (rank, name), _ in reversed(pairs)}


def _overlapped(found: "Attribution", slots: I64) -> float | None:
    """Share of the waits of all ranks during which their GPU computed something."""
    tax = found.tax
    mine = np.zeros(len(tax.matches), np.bool_)
    mine[slots] = True
    rows = np.repeat(mine, np.diff(tax.matches.first))
    whole = int(tax.waits.wait_ns[rows].sum())
    return 1 - int(tax.exposed_ns[rows].sum()) / whole if whole else None


def _worst(found: "Attribution", rows: I64, whole: int) -> Culprit | None:
    """The culprit, by name and rank, with the most variation."""
    results, ranks = found.results, found.tax.matches.ranks
    tally: dict[tuple[str, str, int], tuple[int, int]] = {}
    mine = rows[(results.culprit[rows] >= 0) & (results.comm_slot[rows] < 0)]
    for text, kind, rank, own_ns in zip(
        culprit_texts(found, mine),
        results.culprit_class[mine].tolist(),
        found.slow.rank[mine].tolist(),
        results.culprit_ns[mine].tolist(),
        strict=True,
    ):
        key = (text, CLASSES[kind], ranks[rank].rank)
        total, count = tally.get(key, (0, 0))
        tally[key] = (total + own_ns, count + 1)
    if not tally:
        return None
    key, (total, count) = max(tally.items(), key=lambda pair: pair[1][0])
    return Culprit(*key, count, total / whole)


def _passed_on_by(found: "Attribution", rows: I64) -> tuple[str, ...]:
    matches, results = found.tax.matches, found.results
    mine = rows[results.comm_slot[rows] >= 0]
    group = matches.group[results.slot[np.maximum(results.origin[mine], 0)]]
    roles = [
        matches.groups[own if origin >= 0 else matches.group[slot]].role
        for own, origin, slot in zip(
            group.tolist(),
            results.origin[mine].tolist(),
            results.comm_slot[mine].tolist(),
            strict=True,
        )
    ]
    return tuple(name for name, _ in _shares(roles, results.culprit_ns[mine]))


def _outliers(found: "Attribution", rows: I64) -> tuple[Outlier, ...]:
    """Collectives whose residual is large, largest first."""
    results, matches = found.results, found.tax.matches
    tax = results.tax_ns[rows] / NS_PER_US
    residual = tax - results.path_variation_ns[rows] / NS_PER_US
    far = np.abs(residual) > np.maximum(OUTLIER_LEAST_US, OUTLIER_SHARE * tax)
    outliers = []
    for at in np.flatnonzero(far)[np.argsort(-np.abs(residual[far]), kind="stable")]:
        number, slot = int(rows[at]), int(results.slot[rows[at]])
        side = found.slow if residual[at] > 0 else found.fast
        group = matches.groups[matches.group[slot]]
        why, idle_us = _why(found, number, float(residual[at]))
        outliers.append(
            Outlier(
                group=group.role,
                group_ranks=ranks_text(group.ranks),
                op=Op(int(matches.op[slot])).label,
                index=int(matches.index[slot]),
                residual_us=float(residual[at]),
                why=why,
                idle_us=idle_us,
                rank=matches.ranks[side.rank[number]].rank,
            )
        )
    return tuple(outliers)


def _why(found: "Attribution", number: int, residual_us: float) -> tuple[str, float]:
    """The kind of idle time that explains a residual, and how much of it; or `other`."""
    idle = {
        kind: float(getattr(found.results, f"{kind}_ns")[number]) / NS_PER_US
        for kind in LATENCIES
    }
    kind = max(idle, key=lambda name: idle[name] / residual_us)
    if idle[kind] / residual_us < EXPLAINS_SHARE:
        return "other", 0.0
    return kind, abs(idle[kind])
