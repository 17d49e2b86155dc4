"""Whose caused tax changed: classes of culprits, ranks, and single items on ranks."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US
from synctax.attribution.attribute import Attribution
from synctax.attribution.labels import culprit_text
from synctax.attribution.summary import NO_WAIT, class_names, origin_ranks
from synctax.comparison.likeness import Unlike
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

    `code` has one column a kind; its numbers, and those of `group`, are of `Named`.
    """

    unit: I64
    tax_us: F64
    group: I64
    code: I64


@dataclass(slots=True)
class Named:
    """Culprits and groups of both sides, numbered as they are met."""

    culprits: dict[Culprit, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)

    def add(self, culprits: tuple[Culprit, ...]) -> list[int]:
        """Number culprits of one group; the group is numbered, too."""
        self.groups.setdefault(culprits[0].group, len(self.groups))
        return [self.culprits.setdefault(one, len(self.culprits)) for one in culprits]


@dataclass(frozen=True, slots=True)
class Blame:
    """What the culprits of both sides cause on one: (n,) arrays, of n culprits.

    Parameters
    ----------
    estimates : mapping of int to Estimate
        µs per attributed collective of its group, of culprits that are compared and caused
        something here; by number.
    share : (n,) float64
        Of the tax of its group; NaN where there is none.
    each_us : (n,) float64
        µs per collective in the units that have it.
    one_us : (n,) float64
        µs of a collective that has it.
    drawn : (n,) float64
        How many units (runs, windows, blocks) of its group are drawn.
    collectives : (n,) float64
        Collectives of its group in such a unit.
    """

    estimates: dict[int, Estimate]
    share: F64
    each_us: F64
    one_us: F64
    drawn: F64
    collectives: F64

    def of(self, number: int) -> Estimate | None:
        """Return what a culprit causes, None where it was not seen."""
        return self.estimates.get(number)


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
    named = Named()
    both = [_blamed(side, named) for side in (a, b)]
    blames = [_blame(side, of, named) for side, of in zip((a, b), both, strict=True)]
    listed = _compared(a, b, named, blames)
    one, two = (
        replace(blame, estimates=_estimates(side, of, named, listed))
        for side, of, blame in zip((a, b), both, blames, strict=True)
    )
    found = []
    for culprit, number in listed.items():
        before = one.of(number) or _none(two, one, number)
        after = two.of(number) or _none(one, two, number)
        shares = float(one.share[number]), float(two.share[number])
        found.append(Caused(culprit, *shares, difference(before, after, level)))
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


def _compared(
    a: Side, b: Side, named: Named, blames: Sequence[Blame]
) -> dict[Culprit, int]:
    """Choose culprits that are compared: of groups and ranks that both sides have.

    An item that causes less than `LEAST_SHARE` on both sides is none of them.
    """
    seen = [blame.share > 0 for blame in blames]
    roles: set[str] = set(named.groups)
    for here in seen:
        roles &= {one.group for one, at in named.culprits.items() if here[at]}
    roles -= set(_other_operations(a, b))
    ranks = {-1, *(a.ranks & b.ranks)}
    share = np.fmax(blames[0].share, blames[1].share)
    return {
        one: at
        for one, at in named.culprits.items()
        if one.group in roles
        and one.rank in ranks
        and one.culprit_class != NO_WAIT
        and share[at] >= (LEAST_SHARE if one.kind == "item" else 0.0)
    }


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
        said.append(Note(Unlike.CULPRITS, len(other), text))
    ours, theirs = a.ranks, b.ranks
    for only, name in ((ours - theirs, "A"), (theirs - ours, "B")):
        if only:
            some = ", ".join(str(rank) for rank in sorted(only)[:_NAMED])
            more = f" and {len(only) - _NAMED} more" if len(only) > _NAMED else ""
            text = (
                f"{counted(len(only), 'rank')} only in {name} ({some}{more}): what they "
                "wait and cause is not compared"
            )
            said.append(Note(Unlike.RANKS_OF_ONE, len(only), text))
    return tuple(said)


def _other_operations(a: Side, b: Side) -> list[str]:
    """List groups on both sides whose operations are not the same there."""
    ops: tuple[dict[str, set[str]], ...] = ({}, {})
    for side, found in zip((a, b), ops, strict=True):
        for role, op in rows_of(side):
            found.setdefault(role, set()).add(op)
    ours, theirs = ops
    return [role for role, own in ours.items() if theirs.get(role, own) != own]


def _none(there: Blame, here: Blame, number: int) -> Estimate:
    """A culprit that a side does not have causes nothing there that was seen.

    How sure that is, one more unit tells that has as much of it as those of the other
    side, or one collective; nor is it surer than as many units of the other side would be.
    """
    other, drawn = there.of(number), float(here.drawn[number])
    if other is None or drawn < LEAST_DRAWN:
        return Estimate(0.0, np.nan, 0.0)
    as_other = other.error * np.sqrt(there.drawn[number] / drawn)
    one = there.one_us[number] / here.collectives[number]
    more = max(there.each_us[number], one) / (drawn + 1)
    return Estimate(0.0, float(np.fmax(more, as_other)), drawn - 1)


def _blame(side: Side, of: Blamed, named: Named) -> Blame:
    """Sum what each culprit causes on a side; estimates are yet to be made."""
    count, groups = len(named.culprits), len(named.groups)
    role = np.array([named.groups[one.group] for one in named.culprits], np.int64)
    inside = np.bincount(of.group, minlength=groups).astype(np.float64)
    whole = np.bincount(of.group, of.tax_us, groups).astype(np.float64)
    cells, in_cell = np.unique(of.group * side.draws.units + of.unit, return_counts=True)
    met = np.bincount(cells // side.draws.units, minlength=groups)
    drawn = np.minimum(side.draws.blocks, met.astype(np.float64))
    sums, times, beside = np.zeros(count), np.zeros(count), np.zeros(count)
    for code in of.code.T:
        # a collective without a wait has one and the same code thrice: it adds nothing
        has = of.tax_us > 0
        sums += np.bincount(code, of.tax_us, count)
        times += np.bincount(code[has], minlength=count)
        pairs = np.unique(code[has] * side.draws.units + of.unit[has])
        its, unit = np.divmod(pairs, side.draws.units)
        there = np.searchsorted(cells, role[its] * side.draws.units + unit)
        beside += np.bincount(its, in_cell[there], count)
    return Blame(
        {},
        _over(sums, whole[role]),
        _over(sums, beside),
        _over(sums, times),
        drawn[role],
        inside[role] / np.maximum(drawn[role], 1),
    )


def _over(top: F64, bottom: F64) -> F64:
    nothing = np.full(top.shape, np.nan)
    return np.asarray(np.divide(top, bottom, out=nothing, where=bottom > 0))


def _estimates(
    side: Side, of: Blamed, named: Named, listed: dict[Culprit, int]
) -> dict[int, Estimate]:
    """Estimate what each of some culprits causes, all of a group at once."""
    drawn, found = side.draws.drawn, dict[int, Estimate]()
    for group, number in named.groups.items():
        mine = of.group == number
        unit, tax_us, codes = of.unit[mine], of.tax_us[mine], of.code[mine]
        wanted = [at for one, at in listed.items() if one.group == group]
        seen = np.intersect1d(wanted, codes).astype(np.int64)
        lots, lot = drawn.scale.size, drawn.lot[unit]
        over = np.zeros((lots, seen.size))
        for code in codes.T:
            has = np.isin(code, seen)
            place = lot[has] * seen.size + np.searchsorted(seen, code[has])
            sums = np.bincount(place, tax_us[has], over.size)
            over += sums.reshape(over.shape)
        under = np.bincount(lot, minlength=lots).astype(np.float64)[:, None]
        found |= dict(zip(seen.tolist(), side.draws.ratios(over, under), strict=True))
    return found


def _blamed(side: Side, named: Named) -> Blamed:
    unit, tax_us, group, codes = list[I64](), list[F64](), list[int](), list[list[int]]()
    for run, begin in zip(side.runs, side.begin, strict=True):
        found = run.found
        if found is None:
            continue
        rows = np.flatnonzero(found.used)
        slots = found.results.slot[rows]
        unit.append(run.unit[slots] + begin)
        tax_us.append(found.results.tax_ns[rows] / NS_PER_US)
        for culprits in _named(found, rows):
            codes.append(named.add(culprits))
            group.append(named.groups[culprits[0].group])
    return Blamed(
        np.concatenate(unit),
        np.concatenate(tax_us),
        np.array(group, np.int64),
        np.array(codes, np.int64).reshape(-1, len(KINDS)),
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
