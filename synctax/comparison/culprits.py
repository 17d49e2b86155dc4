"""Whose caused tax changed: classes of culprits, ranks, and single items on ranks."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US
from synctax.attribution.attribute import Attribution
from synctax.attribution.labels import culprit_text
from synctax.attribution.summary import NO_WAIT, class_names, origin_ranks
from synctax.comparison.rows import rows_of
from synctax.comparison.stats import LEAST_DRAWN, Difference, Estimate, difference
from synctax.comparison.units import Side
from synctax.notes import Note
from synctax.texts import counted

KINDS = ("class", "rank", "item")

LEAST_SHARE = 0.005
"""Items that cause a smaller share of the tax on both sides are not listed."""

_NAMED = 4

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


@dataclass(frozen=True, slots=True)
class Blame:
    """What one culprit causes on one side.

    Parameters
    ----------
    estimate : Estimate
        Of µs per attributed collective of its group.
    share : float
        Of the tax of its group.
    each_us : float
        µs per collective in the units that have it.
    one_us : float
        µs of a collective that has it.
    drawn : float
        How many units (runs, windows, blocks) of its group are drawn.
    collectives : float
        Collectives of its group in such a unit.
    """

    estimate: Estimate
    share: float
    each_us: float
    one_us: float
    drawn: float
    collectives: float


def compare_culprits(a: Side, b: Side, level: float) -> list[Caused]:
    """Compare the tax that each culprit causes, per attributed collective of its group.

    Groups whose operations are not the same on both sides are left out, and ranks that are
    on one side only (`not_compared` says which).

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
    roles -= set(_other_operations(a, b))
    ranks = {-1, *(_ranks(a) & _ranks(b))}
    found = []
    for culprit in {*ours, *theirs}:
        if culprit.group not in roles or culprit.rank not in ranks:
            continue
        one, two = ours.get(culprit), theirs.get(culprit)
        share_a, share_b = (0.0 if x is None else x.share for x in (one, two))
        if culprit.kind == "item" and max(share_a, share_b) < LEAST_SHARE:
            continue
        before = one.estimate if one else _none(two, _any_of(ours, culprit.group))
        after = two.estimate if two else _none(one, _any_of(theirs, culprit.group))
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


def not_compared(a: Side, b: Side) -> tuple[Note, ...]:
    """Say which groups and ranks are left out where culprits are compared.

    Parameters
    ----------
    a, b : Side
    """
    said = []
    other = _other_operations(a, b)
    if other:
        text = (
            f"other operations of {', '.join(other)} in A than in B: who causes their tax "
            "is not compared"
        )
        said.append(Note("culprits_differ", len(other), text))
    ours, theirs = _ranks(a), _ranks(b)
    for only, name in ((ours - theirs, "A"), (theirs - ours, "B")):
        if only:
            some = ", ".join(str(rank) for rank in sorted(only)[:_NAMED])
            more = f" and {len(only) - _NAMED} more" if len(only) > _NAMED else ""
            text = (
                f"{counted(len(only), 'rank')} only in {name} ({some}{more}): what they "
                "wait and cause is not compared"
            )
            said.append(Note("ranks_only_in_one", len(only), text))
    return tuple(said)


def _ranks(side: Side) -> set[int]:
    return {one.rank for run in side.runs for one in run.tax.matches.ranks}


def _other_operations(a: Side, b: Side) -> list[str]:
    """List groups on both sides whose operations are not the same there."""
    ops: tuple[dict[str, set[str]], ...] = ({}, {})
    for side, found in zip((a, b), ops, strict=True):
        for role, op in rows_of(side):
            found.setdefault(role, set()).add(op)
    ours, theirs = ops
    return [role for role, own in ours.items() if theirs.get(role, own) != own]


def _any_of(blames: dict[Culprit, Blame], group: str) -> Blame:
    return next(one for culprit, one in blames.items() if culprit.group == group)


def _none(other: Blame | None, here: Blame) -> Estimate:
    """A culprit that a side does not have causes nothing there that was seen.

    How sure that is, one more unit tells that has as much of it as those of the other
    side, or one collective; nor is it surer than as many units of the other side would be.
    """
    if other is None or here.drawn < LEAST_DRAWN:
        return Estimate(0.0, np.nan, 0.0)
    as_other = other.estimate.error * np.sqrt(other.drawn / here.drawn)
    more = max(other.each_us, other.one_us / here.collectives) / (here.drawn + 1)
    return Estimate(0.0, float(np.fmax(more, as_other)), here.drawn - 1)


def _estimates(side: Side) -> dict[Culprit, Blame]:
    """Tell what each culprit causes."""
    blamed = _blamed(side)
    roles = np.array(blamed.role, object)
    found: dict[Culprit, Blame] = {}
    for role in dict.fromkeys(blamed.role):
        mine = np.flatnonzero(roles == role)
        unit, tax = blamed.unit[mine], blamed.tax_us[mine]
        ones, whole = np.ones(mine.size), float(tax.sum())
        drawn = min(side.draws.blocks, float(np.unique(unit).size))
        for number in np.unique(blamed.code[mine]).tolist():
            its = np.where((blamed.code[mine] == number).any(axis=1), tax, 0.0)
            share = float(its.sum()) / whole if whole else float("nan")
            has = its > 0
            each, one = (
                float(its[of].mean()) if of.any() else 0.0
                for of in (np.isin(unit, unit[has]), has)
            )
            culprit = blamed.culprits[number]
            if culprit.culprit_class != NO_WAIT:
                estimate = side.draws.ratio(unit, its, ones)
                found[culprit] = Blame(
                    estimate, share, each, one, drawn, mine.size / max(drawn, 1)
                )
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
