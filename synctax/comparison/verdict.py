"""What changed, in sentences: by how much, who causes it, what stayed as it was."""

from typing import TYPE_CHECKING

import numpy as np

from synctax.attribution.labels import CLASS_TEXT, short_name
from synctax.comparison.culprits import KINDS
from synctax.comparison.stats import Difference
from synctax.texts import percent, time_us

if TYPE_CHECKING:
    from synctax.comparison.comparison import Comparison
    from synctax.comparison.culprits import Caused
    from synctax.comparison.rows import Change

NO_CHANGE = "no change"
"""What the first sentence begins with where no difference is more than chance."""

HEADLINES = ("tax_max_us_median", "tax_max_us_mean", "tax_mean_us_mean")
"""Quantities that tell a change of the tax; the first one that changed is named."""

LEAST_CHANGE = 0.01
"""Transfers and steps that change by a smaller share are not worth a sentence."""

MOST_ROWS = 3

_UNLIKE = ("differ", "only_in")
_LABELS = {
    "tax_max_us_median": "median tax",
    "tax_max_us_mean": "mean tax",
    "tax_mean_us_mean": "mean wait",
}


def verdict(found: "Comparison") -> tuple[str, ...]:
    """Say what a comparison found.

    Parameters
    ----------
    found : Comparison

    Returns
    -------
    tuple of str
        Sentences, the one that matters most first.
    """
    taxes = [text for row in found.rows if (text := _tax(found, *row))]
    shown = taxes[:MOST_ROWS]
    if len(taxes) > MOST_ROWS:
        shown.append(f"the tax of {len(taxes) - MOST_ROWS} more rows changed")
    said = [*_unlike(found), *(shown or [_none(found)]), *_others(found)]
    said += [*_causes(found), *_straggler(found)]
    if found.fits is not None:
        said += _fit(found)
    said.append(_same(found, len(taxes)))
    return tuple(text for text in said if text)


def interval(found: Difference, level: float) -> str:
    """Write a difference in µs with its interval.

    Parameters
    ----------
    found : Difference
    level : float

    Examples
    --------
    >>> interval(Difference(50.0, 60.0, 10.0, 7.0, 13.0, 0.0), 0.95)
    '+10 µs (95 %: +7 µs to +13 µs)'
    """
    text = signed_us(found.difference)
    if np.isnan(found.low):
        return f"{text} (no interval)"
    ends = f"{signed_us(found.low)} to {signed_us(found.high)}"
    return f"{text} ({percent(level)}: {ends})"


def signed_us(value_us: float) -> str:
    """Write a time with its sign.

    Examples
    --------
    >>> signed_us(-2500.0), signed_us(0.0)
    ('−2.5 ms', '0 µs')
    """
    if not value_us or np.isnan(value_us):
        return time_us(value_us)
    return ("−" if value_us < 0 else "+") + time_us(abs(value_us))


def _unlike(found: "Comparison") -> list[str]:
    notes = [n for n in found.notes if any(part in n.reason for part in _UNLIKE)]
    if not notes:
        return []
    return ["not like with like: " + "; ".join(note.detail for note in notes)]


def changed(found: "Comparison", one: "Change | None") -> bool:
    """Whether a number of a comparison is called changed."""
    if one is None:
        return False
    at = next(i for i, other in enumerate(found.changes) if other is one)
    return bool(found.changed[at])


def _tax(found: "Comparison", group: str, op: str) -> str:
    """Say by how much the tax of a row changed, if it did."""
    for name in HEADLINES:
        one = found.find(group, op, name)
        if one is None or not changed(found, one):
            continue
        verb = "rose" if one.found.difference > 0 else "fell"
        share = found.find(group, op, "wait_share_of_step")
        of_step = ""
        if share is not None and not np.isnan(share.found.a + share.found.b):
            of_step = (
                f"; its waits were {percent(share.found.a)} of the step and are "
                f"{percent(share.found.b)}"
            )
        return (
            f"the {_LABELS[name]} of {group} {op} {verb} from {time_us(one.found.a)} to "
            f"{time_us(one.found.b)}: {interval(one.found, found.options.level)}{of_step}"
        )
    return ""


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


def _others(found: "Comparison") -> list[str]:
    """Say what else changed that the tax follows from or leads to."""
    said = []
    step = found.find(None, None, "step_us_mean")
    if step is not None and changed(found, step) and _worth(step.found):
        said.append(
            f"a step takes {time_us(step.found.b)} instead of {time_us(step.found.a)}: "
            f"{interval(step.found, found.options.level)}"
        )
    for group, op in found.rows:
        one = found.find(group, op, "transfer_us_median")
        if one is not None and changed(found, one) and _worth(one.found):
            said.append(
                f"transfers of {group} {op} take {time_us(one.found.b)} instead of "
                f"{time_us(one.found.a)}"
            )
    return said[:MOST_ROWS]


def _worth(one: Difference) -> bool:
    return abs(one.difference) > LEAST_CHANGE * max(abs(one.a), abs(one.b))


def _causes(found: "Comparison") -> list[str]:
    """Name what causes more or less tax than before, in each group."""
    if not found.caused:
        return []
    real = found.caused_changed
    said = []
    for group in dict.fromkeys(one.culprit.group for one in found.caused):
        first = {kind: _first(found.caused, real, group, kind) for kind in KINDS}
        text = _cause(first, found.options.level)
        if text:
            said.append(f"of the tax of {group}, {text}")
    return said


def _first(
    caused: "tuple[Caused, ...]", real: np.ndarray, group: str, kind: str
) -> "Caused | None":
    """Find what of a kind changed most, of what changed at all."""
    for one, is_real in zip(caused, real, strict=True):
        if is_real and (one.culprit.group, one.culprit.kind) == (group, kind):
            return one
    return None


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


def _cause(first: "dict[str, Caused | None]", level: float) -> str:
    """Say which rank causes more or less than before, and what on it."""
    rank, item, by_class = first["rank"], first["item"], first["class"]
    lead = rank or item or by_class
    if lead is None:
        return ""
    text = (
        f"{interval(lead.found, level)} a collective is due to {who(lead)}: "
        f"{percent(lead.share_b)} of it (was {percent(lead.share_a)})"
    )
    rest = [one for one in (item, by_class) if one is not None and one is not lead]
    more = " and ".join(f"{who(one)} {signed_us(one.found.difference)}" for one in rest)
    return f"{text}; most of all {more}" if more else text


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
        why = [
            f"{name}: {text.partition(':')[0]}"
            for name, text in zip("AB", fits.refused if fits else (), strict=False)
            if text
        ]
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
    one = found.find(group, op, HEADLINES[0])
    return one is not None and one.only_in is None
