"""What changed, in sentences: by how much, who causes it, what stayed as it was."""

from typing import TYPE_CHECKING

import numpy as np

from synctax.attribution.labels import CLASS_TEXT, short_name
from synctax.comparison.likeness import Unlike
from synctax.comparison.options import WORDS
from synctax.comparison.stats import Difference
from synctax.texts import number, percent, signed, signed_us, time_us

if TYPE_CHECKING:
    from synctax.comparison.comparison import Comparison
    from synctax.comparison.culprits import Caused
    from synctax.comparison.rows import Change

NO_CHANGE = "no change"
"""What the first sentence begins with where no difference is more than chance."""

TAXES = ("tax_max_us_median", "tax_max_us_mean", "tax_mean_us_mean")
"""Quantities that tell a change of the tax; the first one that changed is named."""

TRANSFER = "transfer_us_median"
STEP = "step_us_mean"

LEAST_CHANGE = 0.01
"""Transfers and steps that change by a smaller share are not worth a sentence."""

MOST_LEADS = 4
"""So many numbers that changed are told, those with most time a step."""

_PARTS = 2
"""Items of a culprit that are named."""


def verdict(found: "Comparison") -> tuple[str, ...]:
    """Say what a comparison found.

    Parameters
    ----------
    found : Comparison

    Returns
    -------
    tuple of str
        Sentences: what the sides are not alike in, then what changed, most time a step
        first.
    """
    every = worth_telling(found)
    told = every[:MOST_LEADS]
    said = [*_unlike(found), *(_told(found, one) for one in told)]
    if len(every) > len(told):
        rest = len(every) - len(told)
        said.append(f"{rest:,} more changed, by less time a step: see the table")
    taxes = sum(one.quantity in TAXES for one in every)
    if not taxes:
        said.append(_none(found))
    said += [*_unsure(found), *_causes(found), *_straggler(found)]
    if found.fits is not None:
        said += _fit(found)
    said.append(_same(found, taxes))
    return tuple(text for text in said if text)


def worth_telling(found: "Comparison") -> "list[Change]":
    """List what changed of a step, and of each row's tax and transfer, most time first.

    Of a row's taxes it is the first of `TAXES` that changed. What counts is time a step:
    the difference, times how often a rank takes part in such a collective.

    Parameters
    ----------
    found : Comparison
    """
    told = [found.find(None, None, STEP)]
    for row in found.rows:
        taxes = (found.find(*row, name) for name in TAXES)
        told.append(next((one for one in taxes if changed(found, one)), None))
        told.append(found.find(*row, TRANSFER))
    real = [
        one
        for one in told
        if one is not None
        and changed(found, one)
        and (one.quantity in TAXES or _worth(one.found))
    ]
    return sorted(real, key=lambda one: -a_step_us(one))


def a_step_us(one: "Change") -> float:
    """Tell by how much time a step a number changed, without its sign.

    Parameters
    ----------
    one : Change
    """
    often = 1.0 if one.group is None or np.isnan(one.a_step) else one.a_step
    return abs(one.found.difference) * often


def interval(found: Difference, level: float, *, per: str = "") -> str:
    """Write a difference in µs, also as a share of what it was, with its interval.

    Parameters
    ----------
    found : Difference
    level : float
    per : str, optional
        What the difference is of, with a blank before it.

    Examples
    --------
    >>> interval(Difference(50.0, 60.0, 10.0, 7.0, 13.0, 0.0), 0.95)
    '+10 µs, +20 % (95 %: +7 µs to +13 µs)'
    """
    text = signed_us(found.difference) + per
    if found.a > 0 and found.difference:
        text += f", {signed(found.difference / found.a)}"
    if np.isnan(found.low):
        return f"{text} (no interval)"
    ends = f"{signed_us(found.low)} to {signed_us(found.high)}"
    return f"{text} ({percent(level)}: {ends})"


def _unlike(found: "Comparison") -> list[str]:
    kinds = frozenset(Unlike)
    return [f"not like with like: {n.detail}" for n in found.notes if n.reason in kinds]


def changed(found: "Comparison", one: "Change | None") -> bool:
    """Whether a number of a comparison is called changed."""
    if one is None:
        return False
    at = next(i for i, other in enumerate(found.changes) if other is one)
    return bool(found.changed[at])


def named(one: "Change") -> str:
    """Name a number of a comparison: of which row, and what of it.

    Parameters
    ----------
    one : Change
    """
    if one.group is None:
        return WORDS[one.quantity]
    return f"{WORDS[one.quantity]} of {one.group} {one.op}"


def _told(found: "Comparison", one: "Change") -> str:
    """Say by how much a number changed."""
    verb = "rose" if one.found.difference > 0 else "fell"
    text = (
        f"the {named(one)} {verb} from {time_us(one.found.a)} to {time_us(one.found.b)}: "
        f"{interval(one.found, found.options.level)}"
    )
    if one.group is None:
        return text
    stepped = all(run.stepped for side in (found.a, found.b) for run in side.runs)
    if stepped and one.a_step >= 1:
        text += f", {number(one.a_step, digits=2)} times a step"
    share = found.find(one.group, one.op, "wait_share_of_step")
    known = share is not None and not np.isnan(share.found.a + share.found.b)
    if share is None or not known or one.quantity not in TAXES:
        return text
    return (
        f"{text}; its waits were {percent(share.found.a)} of the step and are "
        f"{percent(share.found.b)}"
    )


def _none(found: "Comparison") -> str:
    if not any(_both(found, *row) for row in found.rows):
        return "no group and operation is on both sides: their waits cannot be compared"
    if not any(not np.isnan(one.found.p) for one in found.changes):
        return (
            "whether anything changed cannot be told: a side has too few steps or "
            "collectives to say what is chance"
        )
    every = (found.changed, found.caused_changed, found.fit_changed)
    if any(one.any() for one in every):
        return "the tax of no row changed by more than chance explains"
    return (
        f"{NO_CHANGE}: none of {found.tested} numbers differs by more than chance explains"
    )


def _unsure(found: "Comparison") -> list[str]:
    """Name what differs and has no interval, where others have one: it did not vary."""
    if all(np.isnan(one.found.low) for one in found.changes):
        return []
    every = [found.find(*row, name) for row in found.rows for name in (TAXES[0], TRANSFER)]
    dark = [
        one
        for one in every
        if one is not None and np.isnan(one.found.low) and _worth(one.found)
    ]
    if not dark:
        return []
    dark.sort(key=lambda one: -a_step_us(one))
    some = "; ".join(
        f"{named(one)} {time_us(one.found.a)} to {time_us(one.found.b)}"
        for one in dark[:MOST_LEADS]
    )
    more = f" and {len(dark) - MOST_LEADS} more" if len(dark) > MOST_LEADS else ""
    return [f"these differ and did not vary enough to tell what is chance: {some}{more}"]


def _worth(one: Difference) -> bool:
    return abs(one.difference) > LEAST_CHANGE * max(abs(one.a), abs(one.b))


def _causes(found: "Comparison") -> list[str]:
    """Name what causes more or less tax than before, in each group."""
    if not found.caused:
        return []
    real = [
        one
        for one, is_real in zip(found.caused, found.caused_changed.tolist(), strict=True)
        if is_real
    ]
    said = []
    for group in dict.fromkeys(one.culprit.group for one in real):
        mine = [one for one in real if one.culprit.group == group]
        said.append(f"of the tax of {group}, {_cause(mine, found.options.level)}")
    return said


def who(one: "Caused") -> str:
    """Name a culprit.

    Parameters
    ----------
    one : Caused
    """
    culprit = one.culprit
    where = f"rank {culprit.rank}" if culprit.rank >= 0 else "no single rank"
    if culprit.kind == "rank":
        return where
    if culprit.kind == "class":
        return CLASS_TEXT.get(culprit.culprit_class, culprit.culprit_class)
    return f"{short_name(culprit.name)} on {where}"


def _cause(real: "list[Caused]", level: float) -> str:
    """Say which rank causes more or less than before, and which items on it.

    Without a rank that changed it is an item, or else a class.
    """
    order = ("rank", "item", "class")
    lead = min(real, key=lambda one: order.index(one.culprit.kind))
    text = (
        f"{interval(lead.found, level, per=' a collective')} is due to {who(lead)}: "
        f"{percent(lead.share_b)} of it (was {percent(lead.share_a)})"
    )
    parts = [one for one in real if _is_part(one, lead)][:_PARTS]
    if not parts:
        return text
    more = " and ".join(
        f"{short_name(one.culprit.name)} {signed_us(one.found.difference)}" for one in parts
    )
    return f"{text}; most of all {more}"


def _is_part(one: "Caused", lead: "Caused") -> bool:
    """Whether an item lies on the rank that leads, and changed the same way."""
    if (one.culprit.kind, lead.culprit.kind) != ("item", "rank"):
        return False
    same_way = one.found.difference * lead.found.difference > 0
    return one.culprit.rank == lead.culprit.rank and same_way


def _straggler(found: "Comparison") -> list[str]:
    """Say of the row with most waits whether the same rank is last most often."""
    for group, op in found.rows:
        one = found.find(group, op, "straggler_share")
        if one is None or None in one.ranks:
            continue
        before, after = one.ranks
        shares = percent(one.found.a), percent(one.found.b)
        if before == after:
            text = (
                f"rank {before} is last most often in {group} {op} on both sides "
                f"({shares[0]}, {shares[1]})"
            )
        else:
            text = (
                f"last most often in {group} {op} was rank {before} ({shares[0]}) and is "
                f"rank {after} ({shares[1]})"
            )
        return [text]
    return []


def _fit(found: "Comparison") -> list[str]:
    fits = found.fits
    if fits is None or not fits.changes:
        why = [": ".join(text.split(": ")[:2]) for text in fits.why_not] if fits else []
        return ["how waits grow was not compared; " + "; ".join(why)] if why else []
    changes = dict(fits.changes)
    one = changes["tau_us@512"]
    real = found.fit_changed
    if not real[list(changes).index("tau_us@512")]:
        return []
    text = (
        f"at 512 ranks the fit expects a mean wait of {time_us(one.b)} instead of "
        f"{time_us(one.a)}: {interval(one, found.options.level)}"
    )
    return [text]


def _same(found: "Comparison", taxes: int) -> str:
    """Count what did not change."""
    both = [row for row in found.rows if _both(found, *row)]
    same = len(both) - taxes
    if not taxes or same <= 0:
        return ""
    rows = "row" if same == 1 else "rows"
    return f"the tax of {same} other {rows} did not change by more than chance explains"


def _both(found: "Comparison", group: str, op: str) -> bool:
    one = found.find(group, op, TAXES[0])
    return one is not None and one.only_in is None
