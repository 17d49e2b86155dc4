"""What an attribution comes to, in sentences that say no more than the numbers do."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from synctax.attribution.equation import MIN_POINTS
from synctax.attribution.facts import Culprit, Facts, Outlier, facts, overall
from synctax.attribution.labels import CLASS_TEXT, short_name
from synctax.attribution.summary import PASSED_ON
from synctax.texts import percent, time_us

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

HOLDS_R2 = 0.95
HOLDS_SLOPE = 0.05
"""Equation 2 holds if R² is at least the first, and the slope at most so far from 1."""

PLACEBO_MARGIN = 0.05
"""Where random paths come so close to the R² of the critical paths, it proves nothing."""

MOST = 0.5
"""Share of the tax from which on something is the verdict, not a side remark."""

NOTEWORTHY = 0.1
"""Share of the tax below which something is not mentioned."""

STANDS_OUT = 2.0
"""A rank is named if its share of the tax is this many times its fair share."""

PAIR_LIMIT = 0.75
"""Or at least this: of two ranks none can have twice its fair share."""

NAMED = 3
"""So many ranks, classes or outliers are named."""

_CULPRITS = {
    "path": "culprits",
    "longest": "the longest kernels",
    "last-kernel": "the last kernels",
}
"""What the methods call culprit."""

_IDLE_TEXT = {
    "launch": "launch latency on rank {rank} (its kernels started late after their launch)",
    "queue": "stream queueing on rank {rank} (its kernels were launched, and their stream "
    "was free)",
    "cross": "latency between streams on rank {rank}",
}


def verdict(told: Facts) -> tuple[str, ...]:
    """Say what was found about one role; the sentences that apply, most telling first.

    Parameters
    ----------
    told : Facts

    Returns
    -------
    tuple of str
        Without a full stop, each below 200 characters but for names.
    """
    sentences = _SENTENCES if told.method == "path" else _OF_OTHER_METHODS
    return tuple(text for sentence in sentences if (text := sentence(told)))


def _who_and_what(told: Facts) -> str:
    if not told.told:
        return "no collective could be attributed"
    if not told.waited:
        return f"nobody waited in any of {told.told} collectives"
    kinds = [
        (CLASS_TEXT[name], percent(share))
        for name, share in told.classes
        if name in CLASS_TEXT and share >= NOTEWORTHY
    ][:NAMED]
    # each collective counts whole for the class of its culprit
    of_what = ["in collectives with {} of the tax", *["{}"] * NAMED]
    named = [
        f"{name} ({of.format(share)})"
        for (name, share), of in zip(kinds, of_what, strict=False)
    ]
    what = f"{_CULPRITS[told.method]} are {_listed(named)}"
    if not named:
        what = "no culprit can be named"
    elif told.method != "path":
        what += f", which explain {percent(told.explained_share or 0.0)} of the tax itself"
    return f"{what}; {_who(told.last, told.n_ranks, 'last for')}{_each(told)}"


def _each(told: Facts) -> str:
    """Say by what each of several ranks that stand out was late, where that differs."""
    ranks = [rank for rank, _ in _standing(told.last, told.n_ranks)]
    kinds = [told.class_of.get(rank, "") for rank in ranks]
    if len(set(kinds)) < 2 or not set(kinds) <= set(CLASS_TEXT):
        return ""
    pairs = zip(ranks, kinds, strict=True)
    told_apart = ", ".join(f"rank {rank}: {CLASS_TEXT[kind]}" for rank, kind in pairs)
    return f" ({told_apart})"


def _who(ranks: Sequence[tuple[int, float]], n_ranks: int, words: str) -> str:
    """Name the ranks that hold far more than their fair share of the tax."""
    standing = _standing(ranks, n_ranks)
    if not ranks:
        return f"no rank alone was {words} any of it (ranks tie)"
    if not standing:
        rank, share = ranks[0]
        return f"no rank stands out (rank {rank} was {words} {percent(share)} of it)"
    total = sum(share for _, share in standing)
    one = len(standing) == 1
    ranks_named = _listed([str(rank) for rank, _ in standing])
    was = "rank {} was" if one else "ranks {} were"
    return f"{was.format(ranks_named)} {words} {percent(total)} of it"


def _standing(ranks: Sequence[tuple[int, float]], n_ranks: int) -> list[tuple[int, float]]:
    limit = min(STANDS_OUT / max(n_ranks, 1), PAIR_LIMIT)
    return [(rank, share) for rank, share in ranks if share >= limit][:NAMED]


def _worst(told: Facts) -> str:
    worst = told.worst
    if worst is None or worst.share_of_tax < NOTEWORTHY:
        return ""
    return (
        f"most of all {_times(worst)}{short_name(worst.text)} on rank {worst.rank}: "
        f"{percent(worst.share_of_tax)} of the tax"
    )


def _times(worst: Culprit) -> str:
    return f"{worst.count} × " if worst.count > 1 else ""


def _host(told: Facts) -> str:
    cpu = told.cpu_share_of_tax
    if cpu is None:
        return ""
    if told.gpu_only_share == 1:
        return "all paths of stragglers are GPU only"
    if cpu < MOST:
        return (
            f"{percent(told.gpu_only_share)} of the paths of stragglers are GPU only; "
            f"paths through the CPU hold {percent(cpu)} of the tax"
        )
    text = f"host-bound: paths through the CPU hold {percent(cpu)} of the tax"
    if told.gpu_only_tax_us is None:
        return f"{text}; no path is GPU only"
    low, high = told.gpu_only_tax_us
    return f"{text}; GPU-only paths ({percent(told.gpu_only_share)}) {_range(low, high)}"


def _carried(told: Facts) -> str:
    share = told.late_share
    if share is None or share < NOTEWORTHY:
        return ""
    where = dict(told.classes).get("carried", 0.0)
    tail = "; no single item made them late" if where >= MOST else ""
    return (
        f"carried: {percent(share)} of the tax itself was there when the windows opened; "
        f"{_who(told.late, told.n_ranks, 'late already for')}{tail}"
    )


def _passed_on(told: Facts) -> str:
    share = told.propagated_share
    if share is None or share < NOTEWORTHY:
        return ""
    by = f" ({_listed(list(told.passed_on_by[:NAMED]))})" if told.passed_on_by else ""
    began = "where that began is not known"
    if told.origins:
        began = _who(told.origins, told.n_ranks, "the origin of")
    return (
        f"passed on: {percent(share)} of the tax itself is waiting for other groups{by}; "
        f"{began}"
    )


def _spread(told: Facts) -> str:
    share = dict(told.classes).get(PASSED_ON, 0.0)
    if share < NOTEWORTHY:
        return ""
    return (
        f"in collectives with {percent(share)} of the tax stragglers waited in several "
        "collectives of other groups: none explains half"
    )


def _diffuse(told: Facts) -> str:
    share = dict(told.classes).get("diffuse", 0.0)
    if share < NOTEWORTHY:
        return ""
    return (
        f"diffuse: in collectives with {percent(share)} of the tax no single item explains "
        "half"
    )


def _overlapped(told: Facts) -> str:
    share = told.overlapped_share
    if share is None or share < NOTEWORTHY:
        return ""
    return f"{percent(share)} of the wait is hidden behind other work of the same GPU"


def _equation(told: Facts) -> str:
    fit = told.fit
    if fit.n < MIN_POINTS:
        return (
            f"equation 2 cannot be checked: {_count(fit.n, 'collective')}, at least "
            f"{MIN_POINTS} are needed"
        )
    if fit.r2 != fit.r2:
        return "equation 2 cannot be checked: all taxes or all paths are equal"
    numbers = f"slope {fit.slope:.3f}, R² {fit.r2:.3f}{_placebo(told)}"
    outliers = _outliers(told)
    if abs(fit.slope - 1) > HOLDS_SLOPE or fit.r2 < HOLDS_R2:
        return f"equation 2 does not hold ({numbers}){outliers}"
    if fit.placebo_r2 >= fit.r2 - PLACEBO_MARGIN:
        return f"equation 2 proves nothing here: random paths fit as well ({numbers})"
    return f"equation 2 holds ({numbers}){outliers}"


def _placebo(told: Facts) -> str:
    placebo = told.fit.placebo_r2
    return "" if placebo != placebo else f", random paths {placebo:.2f}"


def _outliers(told: Facts) -> str:
    """List the outliers, and say what explains the largest."""
    if not told.outliers:
        return ""
    listed = ", ".join(_which(told, one) for one in told.outliers[:NAMED])
    left = len(told.outliers) - NAMED
    more = f" and {left} more" if left > 0 else ""
    one = len(told.outliers) == 1
    what, largest = ("outlier", "") if one else ("outliers", "the largest ")
    return f"; {what} {listed}{more}: {largest}{_idle(told.outliers[0])}"


def _which(told: Facts, one: Outlier) -> str:
    """Name an outlier; where siblings have its index, with the ranks of its group."""
    return f"#{one.index}" + (f" of ranks {one.group_ranks}" if told.n_groups > 1 else "")


def _idle(one: Outlier) -> str:
    if one.why in _IDLE_TEXT:
        return f"{time_us(one.idle_us)} more {_IDLE_TEXT[one.why].format(rank=one.rank)}"
    return (
        f"{time_us(abs(one.residual_us))} off, less than half of it launch, queueing or "
        "cross-stream latency"
    )


def _work(told: Facts) -> str:
    other = told.compared - told.equal_work
    if other:
        return (
            f"ranks launched different kernels before {other} of "
            f"{_count(told.compared, 'collective')}: there variation is work, not noise"
        )
    shapes = told.compared - told.equal_geometry
    if shapes:
        return (
            f"ranks launched the same kernels in other shapes before {shapes} of "
            f"{_count(told.compared, 'collective')}: there variation may be work"
        )
    return ""


def _occurrences(told: Facts) -> str:
    if not told.slipped:
        return ""
    return (
        f"before {told.slipped} of {_count(told.told, 'collective')} names occur more "
        "often on one rank than on another: compared by their sums"
    )


def _left_out(told: Facts) -> str:
    missing = told.asked - told.told
    if not missing:
        return ""
    why = ", ".join(f"{count} {reason}" for reason, count in told.left_out)
    return f"{missing} of {_count(told.asked, 'collective')} not attributed: {why}"


_SENTENCES: tuple[Callable[[Facts], str], ...] = (
    _who_and_what,
    _worst,
    _host,
    _carried,
    _passed_on,
    _spread,
    _diffuse,
    _overlapped,
    _work,
    _occurrences,
    _equation,
    _left_out,
)

_OF_OTHER_METHODS = (_who_and_what, _worst, _overlapped, _work, _left_out)
"""Without paths, nothing can be said of them."""


def _listed(names: Sequence[str]) -> str:
    """Join names in words.

    Examples
    --------
    >>> _listed(["0"]), _listed(["0", "6"]), _listed(["0", "3", "6"])
    ('0', '0 and 6', '0, 3 and 6')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _range(low_us: float, high_us: float) -> str:
    if low_us == high_us:
        return f"have a tax of {time_us(low_us)}"
    return f"have a tax of {time_us(low_us)} to {time_us(high_us)}"


def envelope(found: "Attribution") -> dict[str, Any]:
    """Collect what JSON holds beside the rows: of all together, then of each role.

    Returns
    -------
    dict
        `slope`, `r2`, `placebo_r2`, `residual_us` (median |tax - path variation|),
        `collectives` and so on over all roles; `verdict`, a list of sentences; `groups`,
        a list of the same keys for each role.
    """
    every = facts(found)
    told = {one.group: list(verdict(one)) for one in every}
    several = len(told) > 1
    sentences = [
        f"{group}: {text}" if several else text for group in told for text in told[group]
    ]
    groups = [
        {"group": one.group, **_keys(one), "verdict": told[one.group]} for one in every
    ]
    return {**_keys(overall(found)), "verdict": sentences, "groups": groups}


def _keys(told: Facts) -> dict[str, Any]:
    fit = told.fit
    return {
        "slope": fit.slope,
        "r2": fit.r2,
        "placebo_r2": fit.placebo_r2,
        "residual_us": fit.residual_us,
        "collectives": fit.n,
        "gpu_only_share": told.gpu_only_share,
        "intercept_us": fit.intercept_us,
        "residual_max_us": fit.residual_max_us,
        "tax_us": told.tax_us,
        "cpu_share_of_tax": told.cpu_share_of_tax,
        "carried_share": told.carried_share,
        "propagated_share": told.propagated_share,
        "diffuse_share": told.diffuse_share,
        "overlapped_share": told.overlapped_share,
        "gaps": {f"{kind}_us": own for kind, own in told.latency_us.items()},
        "equal_work": {
            "compared": told.compared,
            "equal": told.equal_work,
            "equal_geometry": told.equal_geometry,
        },
        "not_attributed": dict(told.left_out),
        "outliers": [
            {
                "group": one.group,
                "group_ranks": one.group_ranks,
                "op": one.op,
                "index": one.index,
                "residual_us": one.residual_us,
                "why": one.why,
                "idle_us": one.idle_us,
                "rank": one.rank,
            }
            for one in told.outliers
        ],
    }
