"""Whose caused tax changed: classes of culprits, ranks, and single items on ranks."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US
from synctax.attribution.attribute import Attribution
from synctax.attribution.labels import culprit_text
from synctax.attribution.summary import NO_WAIT, class_names, origin_ranks
from synctax.comparison.stats import NOTHING, Difference, Estimate, difference
from synctax.comparison.units import Side

KINDS = ("class", "rank", "item")

LEAST_SHARE = 0.005
"""Items that cause a smaller share of the tax on both sides are not listed."""

_INDEX = re.compile(r" #\d+$")
"""Ends the name of a collective; that of the same place in another run may differ."""


@dataclass(frozen=True, slots=True, order=True)
class Culprit:
    """What causes tax; fields that its kind does not tell are empty, or -1."""

    group: str
    kind: str
    culprit_class: str = ""
    name: str = ""
    rank: int = -1


@dataclass(frozen=True, slots=True)
class Caused:
    """Tax that a culprit causes before and after.

    `share_a` and `share_b` are of the tax of its group (NaN where there is none), `found`
    is of µs per attributed collective.
    """

    culprit: Culprit
    share_a: float
    share_b: float
    found: Difference


@dataclass(frozen=True, slots=True)
class Blamed:
    """Attributed collectives of one side: (k,) arrays.

    `culprits` are the names that codes index; `code` has one column a kind.
    """

    unit: I64
    tax_us: F64
    role: list[str]
    code: I64
    culprits: tuple[Culprit, ...]


def compare_culprits(a: Side, b: Side, level: float) -> list[Caused]:
    """Compare the tax that each culprit causes, per attributed collective of its group.

    Parameters
    ----------
    a, b : Side
        Of runs that were attributed.
    level : float
        Of intervals.

    Returns
    -------
    list of Caused
        Groups in order of name, kind after kind, most change first.
    """
    ours, theirs = _estimates(a), _estimates(b)
    roles = {one.group for one in ours} & {one.group for one in theirs}
    found = []
    for culprit in {*ours, *theirs}:
        if culprit.group not in roles:
            continue
        one, two = ours.get(culprit), theirs.get(culprit)
        share_a, share_b = (0.0 if x is None else x[1] for x in (one, two))
        if culprit.kind == "item" and max(share_a, share_b) < LEAST_SHARE:
            continue
        before, after = _or_zero(one, a), _or_zero(two, b)
        found.append(Caused(culprit, share_a, share_b, difference(before, after, level)))
    order = {kind: at for at, kind in enumerate(KINDS)}
    return sorted(
        found,
        key=lambda one: (
            one.culprit.group,
            order[one.culprit.kind],
            -abs(one.found.difference),
            one.culprit,
        ),
    )


def _or_zero(one: tuple[Estimate, float] | None, side: Side) -> Estimate:
    """A culprit that a side does not have causes nothing there."""
    if one is not None:
        return one[0]
    return Estimate(0.0, 0.0, side.draws.blocks - 1) if side.draws.blocks > 1 else NOTHING


def _estimates(side: Side) -> dict[Culprit, tuple[Estimate, float]]:
    """Tax per collective, and share of the tax of its group, by culprit."""
    blamed = _blamed(side)
    roles = np.array(blamed.role, object)
    found: dict[Culprit, tuple[Estimate, float]] = {}
    for role in dict.fromkeys(blamed.role):
        mine = np.flatnonzero(roles == role)
        unit, tax = blamed.unit[mine], blamed.tax_us[mine]
        ones, whole = np.ones(mine.size), float(tax.sum())
        for number in np.unique(blamed.code[mine]).tolist():
            its = np.where((blamed.code[mine] == number).any(axis=1), tax, 0.0)
            share = float(its.sum()) / whole if whole else float("nan")
            culprit = blamed.culprits[number]
            if culprit.culprit_class != NO_WAIT:
                found[culprit] = (side.draws.ratio(unit, its, ones), share)
    return found


def _blamed(side: Side) -> Blamed:
    unit, tax_us, role, codes = list[I64](), list[F64](), list[str](), list[list[int]]()
    numbers: dict[Culprit, int] = {}
    for run, begin in zip(side.runs, side.begin, strict=True):
        found = run.found
        if found is None:
            continue
        rows = np.flatnonzero(found.used)
        slots = found.results.slot[rows]
        unit.append(run.unit[slots] + begin)
        tax_us.append(found.results.tax_ns[rows] / NS_PER_US)
        for culprits in _named(found, rows):
            role.append(culprits[0].group)
            codes.append([numbers.setdefault(one, len(numbers)) for one in culprits])
    return Blamed(
        np.concatenate(unit),
        np.concatenate(tax_us),
        role,
        np.array(codes, np.int64),
        tuple(numbers),
    )


def _named(found: Attribution, rows: I64) -> Iterable[tuple[Culprit, Culprit, Culprit]]:
    """Name the culprit of each result three times: by class, by rank, and by itself."""
    matches, results = found.tax.matches, found.results
    names = class_names(found, rows)
    own = [one.rank for one in matches.ranks]
    for number, name, position in zip(
        rows.tolist(), names, origin_ranks(found, rows).tolist(), strict=True
    ):
        role = matches.groups[matches.group[results.slot[number]]].role
        rank = own[position] if position >= 0 else -1
        at = int(results.origin[number])
        at = at if at >= 0 else number
        text = _INDEX.sub("", culprit_text(found, at) or "")
        cause = name if at == number else class_names(found, np.array([at]))[0]
        by_class = Culprit(role, "class", name)
        if name == NO_WAIT:
            yield by_class, by_class, by_class
            continue
        yield (
            by_class,
            Culprit(role, "rank", rank=rank),
            Culprit(role, "item", cause, text, rank),
        )
