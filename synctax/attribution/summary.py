"""Tables of an attribution: per role and class of culprit, per collective, per rank."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import ABSENT, F64, I64, NS_PER_US
from synctax.attribution.culprits import CLASSES, COMMUNICATION, SIDES
from synctax.attribution.labels import WHY, culprit_text, culprit_texts, culprit_thread
from synctax.attribution.results import Known, Why
from synctax.collectives.matches import Status
from synctax.collectives.summary import per_collective as measured
from synctax.collectives.summary import ranks_text
from synctax.notes import Note
from synctax.schema import ATTRIBUTE, ATTRIBUTE_COLLECTIVES, ATTRIBUTE_RANKS

if TYPE_CHECKING:
    import pandas as pd

    from synctax.attribution.attribute import Attribution

NO_WAIT = "none"
"""Class of collectives in which nobody waited."""

PASSED_ON = "passed_on"
"""Class of collectives whose straggler waited for other groups, in no single one most."""


@dataclass(frozen=True, slots=True)
class Part:
    """Results that count, of one role or of one of its sibling groups.

    `rows` (k,) int64 are numbers of results; `group_ranks` is None where siblings are
    pooled.
    """

    role: str
    group_ranks: str | None
    rows: I64


def parts(found: "Attribution", *, per_group: bool = False) -> list[Part]:
    """Split the results that count by role, most tax first.

    Parameters
    ----------
    found : Attribution
    per_group : bool
        By sibling group as well.
    """
    matches, results = found.tax.matches, found.results
    keys: dict[tuple[str, str | None], list[int]] = {}
    for number, one in enumerate(matches.groups):
        ranks = ranks_text(one.ranks) if per_group else None
        keys.setdefault((one.role, ranks), []).append(number)
    group = matches.group[results.slot]
    split = [
        Part(role, ranks, np.flatnonzero(found.used & np.isin(group, numbers)))
        for (role, ranks), numbers in keys.items()
    ]
    filled = [part for part in split if part.rows.size]
    return sorted(filled, key=lambda part: -int(results.tax_ns[part.rows].sum()))


def summary(found: "Attribution", *, per_group: bool = False) -> "pd.DataFrame":
    """Build the table `schema.ATTRIBUTE`: roles, and in each classes, most tax first."""
    rows = [
        row
        for part in parts(found, per_group=per_group)
        for row in _class_rows(found, part)
    ]
    return ATTRIBUTE.to_frame(
        {name: [row[name] for row in rows] for name in ATTRIBUTE.names}
    )


def class_names(found: "Attribution", rows: I64) -> list[str]:
    """Class of each result: of its culprit, or why it has none.

    `NO_WAIT` where nobody waited, and `PASSED_ON` where communication has no culprit.
    """
    results = found.results
    names = np.array(CLASSES, object)[results.culprit_class[rows]]
    lone = results.culprit[rows] < 0
    names[lone & (results.culprit_class[rows] == COMMUNICATION)] = PASSED_ON
    names[results.tax_ns[rows] == 0] = NO_WAIT
    return [str(name) for name in names]


def stragglers(found: "Attribution", rows: I64) -> I64:
    """Position of the rank that was last in each result, -1 where ranks tie; (k,) int64."""
    last = found.tax.waits.straggler[found.results.slot[rows]]
    return last.astype(np.int64)


def origin_ranks(found: "Attribution", rows: I64) -> I64:
    """Position of the rank where the cause of each result lies, (k,) int64.

    -1 where it is not known, or ranks tie there.
    """
    results = found.results
    at, rank = results.origin[rows], results.origin_rank[rows].astype(np.int64)
    tied = (at >= 0) & (stragglers(found, np.maximum(at, 0)) < 0)
    return np.where(tied, ABSENT, rank)


def _class_rows(found: "Attribution", part: Part) -> list[dict[str, Any]]:
    results = found.results
    names = np.array(class_names(found, part.rows), object)
    tax, own = results.tax_ns[part.rows], results.culprit_ns[part.rows]
    sides = results.culprit_side[part.rows]
    rows = []
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        rows.append(
            {
                "group": part.role,
                "culprit_class": name,
                "collectives": int(mine.sum()),
                "share_of_collectives": float(mine.mean()),
                "variation_us": float(own[mine].sum()) / NS_PER_US,
                "share_of_variation": share(own[mine], own),
                "tax_us": float(tax[mine].sum()) / NS_PER_US,
                "share_of_tax": share(tax[mine], tax),
                "side": None if name == NO_WAIT else _side(int(sides[mine][0])),
                "group_ranks": part.group_ranks,
            }
        )
    rows.sort(key=lambda row: (-row["tax_us"], -row["collectives"], row["culprit_class"]))
    return rows


def _side(code: int) -> str | None:
    return SIDES[code] if code >= 0 else None


def share(part: I64, whole: I64) -> float | None:
    """Divide two sums; None where the whole is 0."""
    total = int(whole.sum())
    return int(part.sum()) / total if total else None


# ------------------------------------------------------------------ per collective


def per_collective(found: "Attribution") -> "pd.DataFrame":
    """Build the table `schema.ATTRIBUTE_COLLECTIVES` of all collectives shown."""
    tax = found.tax
    base = measured(tax)
    number_of = np.full(len(tax.matches), -1, np.int64)
    told = np.flatnonzero(found.results.known == Known.OK)
    number_of[found.results.slot[told]] = told
    slots = np.flatnonzero(tax.shown)
    rows = [_collective(found, slot, int(number_of[slot])) for slot in slots.tolist()]
    kept = (
        "group", "group_ranks", "op", "index", "step", "tax_max_us", "exposed_wait_us",
        "straggler_rank", "fastest_rank", "window",
    )  # fmt: skip
    data: dict[str, Any] = {name: base.column(name) for name in kept}
    for name in ATTRIBUTE_COLLECTIVES.names:
        if name not in data:
            data[name] = [row.get(name) for row in rows]
    return ATTRIBUTE_COLLECTIVES.to_frame(data)


def _collective(found: "Attribution", slot: int, number: int) -> dict[str, Any]:
    """What attribution says of one collective; `number` is that of its result, or -1."""
    tax, fence = found.tax, int(found.fence[slot])
    index = tax.matches.index
    status, reason = status_of(found, slot)
    row: dict[str, Any] = {
        "status": status,
        "reason": reason,
        "fence_index": int(index[fence]) if fence >= 0 else None,
    }
    if number < 0:
        return row
    return row | _paths(found, number) | _culprit(found, number) | _origin(found, number)


def _paths(found: "Attribution", number: int) -> dict[str, Any]:
    results = found.results
    if found.options.window == "lca":
        ancestor = int(found.fence[results.slot[number]])
    else:
        ancestor = int(found.slow.ancestor[number])
    tax_ns = int(results.tax_ns[number])
    path_ns = int(results.path_variation_ns[number])
    return {
        "path_variation_us": path_ns / NS_PER_US,
        "residual_us": (tax_ns - path_ns) / NS_PER_US,
        "ancestor_index": int(found.tax.matches.index[ancestor]) if ancestor >= 0 else -1,
        "path_side": path_side(found, number),
        "carried_us": int(results.carried_ns[number]) / NS_PER_US,
        "propagated_us": int(results.propagated_ns[number]) / NS_PER_US,
        "launch_us": int(results.launch_ns[number]) / NS_PER_US,
        "queue_us": int(results.queue_ns[number]) / NS_PER_US,
        "cross_us": int(results.cross_ns[number]) / NS_PER_US,
        "host_us": int(results.host_ns[number]) / NS_PER_US,
        "equal_work": bool(results.equal_work[number]),
    }


def path_side(found: "Attribution", number: int) -> str:
    """Tell by the number of a result whether its path goes through the `cpu`."""
    return "cpu" if found.results.host_ns[number] > 0 else "gpu"


def _culprit(found: "Attribution", number: int) -> dict[str, Any]:
    results = found.results
    tax_ns, own_ns = int(results.tax_ns[number]), int(results.culprit_ns[number])
    if not tax_ns:
        return {"culprit_class": NO_WAIT, "culprit_variation_us": 0.0}
    return {
        "culprit": culprit_text(found, number),
        "culprit_class": class_names(found, np.array([number]))[0],
        "culprit_side": _side(int(results.culprit_side[number])),
        "culprit_variation_us": own_ns / NS_PER_US,
        "culprit_share": own_ns / tax_ns,
        "culprit_why": WHY.get(Why(int(results.why[number]))),
        "culprit_thread": culprit_thread(found, number),
    }


def _origin(found: "Attribution", number: int) -> dict[str, Any]:
    """Where a wait for another group came from; that rank at least, where it is known."""
    results, matches = found.results, found.tax.matches
    if not results.tax_ns[number]:
        return {}
    rank, at = int(origin_ranks(found, np.array([number]))[0]), int(results.origin[number])
    row: dict[str, Any] = {"origin_rank": matches.ranks[rank].rank if rank >= 0 else None}
    if at < 0:
        return row
    slot = int(results.slot[at])
    return row | {
        "origin_culprit": culprit_text(found, at),
        "origin_group": matches.groups[matches.group[slot]].role,
        "origin_index": int(matches.index[slot]),
    }


def status_of(found: "Attribution", slot: int) -> tuple[str, str | None]:
    """Say whether a collective was attributed, and if not why."""
    tax, known = found.tax, Known(int(found.known[slot]))
    status = Status(int(tax.status[slot]))
    code = int(tax.matches.reason[slot])
    if status != Status.OK:
        head = "first collective of its group in the window"
        text = tax.matches.reasons[code] if code >= 0 else head
        return status.name.lower(), text
    if known == Known.OK:
        return "ok", None
    return known.name.lower().replace("_", " "), _unknown(found, slot, known)


def _unknown(found: "Attribution", slot: int, known: Known) -> str:
    if known == Known.NO_TAX:
        return "its tax cannot be believed"
    if known == Known.NO_FENCE:
        return "no earlier collective of its group that all ranks leave before one arrives"
    if known == Known.NOT_COMPARABLE:
        return "the paths of its ranks have no collective of the group in common"
    at = np.flatnonzero(found.results.slot == slot)
    position = int(found.results.unknown_rank[at[0]]) if at.size else -1
    if position < 0:
        return "its kernel is not in the graph of the straggler or of the fastest rank"
    rank = found.tax.matches.ranks[position].rank
    return (
        f"rank {rank} was idle for most of it, and the launch of what came next is not in "
        "the trace"
    )


def excluded(found: "Attribution") -> tuple[Note, ...]:
    """What was left out: of the tax, of attribution by reason, then notes on the graphs."""
    tax = found.tax
    counts: dict[tuple[str, str], int] = {}
    for slot in np.flatnonzero(tax.used & (found.known != Known.OK)).tolist():
        status, reason = status_of(found, slot)
        what = tax.matches.groups[tax.matches.group[slot]].role
        key = (status.replace(" ", "_"), f"{what}: {reason}")
        counts[key] = counts.get(key, 0) + 1
    missing = [Note(reason, count, text) for (reason, text), count in counts.items()]
    own = [note for note in found.notes if note not in tax.notes]
    return (*tax.excluded(), *missing, *own)


# ------------------------------------------------------------------ per rank


def per_rank(found: "Attribution") -> "pd.DataFrame":
    """Build the table `schema.ATTRIBUTE_RANKS`: roles, and in each ranks in order."""
    rows = [row for part in parts(found) for row in _rank_rows(found, part)]
    return ATTRIBUTE_RANKS.to_frame(
        {name: [row[name] for row in rows] for name in ATTRIBUTE_RANKS.names}
    )


def members(found: "Attribution", part: Part) -> list[int]:
    """Positions of the ranks in the groups of a part, in order of rank and window."""
    matches = found.tax.matches
    groups = np.unique(matches.group[found.results.slot[part.rows]])
    inside = {position for group in groups for position in matches.groups[group].members}
    return sorted(inside, key=lambda p: (matches.ranks[p].rank, p))


def _rank_rows(found: "Attribution", part: Part) -> Iterator[dict[str, Any]]:
    results, matches = found.results, found.tax.matches
    rows = part.rows[results.tax_ns[part.rows] > 0]
    whole = results.tax_ns[rows]
    slow, origin = stragglers(found, rows), origin_ranks(found, rows)
    untied = int((slow >= 0).sum())
    for position in members(found, part):
        one, mine = matches.ranks[position], rows[slow == position]
        tax = results.tax_ns[mine]
        text, kind, most_us = _worst(found, mine)
        sides = results.culprit_side[mine]
        by_side = [results.culprit_ns[mine][sides == side].sum() for side in range(3)]
        yield {
            "group": part.role,
            "rank": one.rank,
            "host": one.host or None,
            "gpu": one.gpu or None,
            "collectives": mine.size,
            "share_of_collectives": mine.size / untied if untied else None,
            "tax_us": _us(tax),
            "share_of_tax": share(tax, whole),
            "gpu_us": by_side[0] / NS_PER_US,
            "cpu_us": by_side[1] / NS_PER_US,
            "comm_us": by_side[2] / NS_PER_US,
            "carried_us": _us(results.carried_ns[mine]),
            "propagated_us": _us(results.propagated_ns[mine]),
            "culprit": text,
            "culprit_class": kind,
            "culprit_us": most_us,
            "gpu_only_share": _mean(results.host_ns[mine] == 0),
            "origin_collectives": int((origin == position).sum()),
            "origin_tax_us": _us(whole[origin == position]),
            "graph_nodes": found.nodes.get(position),
            "host_skew_us": found.skew_ns.get(position, 0) / NS_PER_US,
            "window": one.window or None,
        }


def _worst(found: "Attribution", rows: I64) -> tuple[str | None, str | None, float | None]:
    """The culprit with most variation over some results: text, class, µs."""
    tally = culprit_sums(found, rows)
    if not tally:
        return None, None, None
    (text, kind), (total, _count) = max(tally.items(), key=lambda pair: pair[1][0])
    return text, kind, total / NS_PER_US


def culprit_sums(found: "Attribution", rows: I64) -> dict[tuple[str, str], tuple[int, int]]:
    """Variation in ns and number of culprits of one text and class over some results."""
    results = found.results
    tally: dict[tuple[str, str], tuple[int, int]] = {}
    mine = rows[results.culprit[rows] >= 0]
    for text, kind, own_ns in zip(
        culprit_texts(found, mine),
        results.culprit_class[mine].tolist(),
        results.culprit_ns[mine].tolist(),
        strict=True,
    ):
        key = (text, CLASSES[kind])
        total, count = tally.get(key, (0, 0))
        tally[key] = (total + own_ns, count + 1)
    return tally


def _us(values: I64) -> float:
    return float(values.sum()) / NS_PER_US


def _mean(values: "np.ndarray | F64") -> float | None:
    return float(values.mean()) if values.size else None
