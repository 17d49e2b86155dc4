"""What changes would be worth, in sentences that say no more than the numbers do."""

from typing import TYPE_CHECKING

from synctax.arrays import NS_PER_US
from synctax.attribution.changes import Change, Replace
from synctax.attribution.labels import CLASS_TEXT, short_name
from synctax.texts import NOTHING, percent

if TYPE_CHECKING:
    from synctax.attribution.whatif import Outcome, Scenario, WhatIf

_WHAT_TEXT = {
    "gpu": "the GPU work",
    "cpu": "the host's work",
    "launches": "launching calls",
    "gaps": "unlogged host time",
}


def sentences(found: "WhatIf") -> tuple[str, ...]:
    """Say what each change would be worth, one sentence a scenario.

    Parameters
    ----------
    found : WhatIf

    Returns
    -------
    tuple of str
        Without a full stop.
    """
    return tuple(_sentence(found, scenario) for scenario in found.scenarios)


def condition(change: Change | Replace) -> str:
    """Say what is different.

    Parameters
    ----------
    change : Change or Replace

    Examples
    --------
    >>> condition(Change("gpu", kernel_class="gemm"))
    'with GEMM kernels as on the median rank'
    >>> condition(Change("cpu", 0.5, rank=3))
    "with the host's work on rank 3 taking 0.5 times as long"
    >>> condition(Change("tax", 0.0, group="tp"))
    'if nobody waited in collectives of tp'
    """
    if isinstance(change, Replace):
        took = f"{change.duration_ns / NS_PER_US:g} µs"
        return f"with node {change.node} of rank {change.rank} taking {took}"
    if change.what == "tax":
        of = f" of {change.group}" if change.group else ""
        return f"if nobody waited in collectives{of}"
    where = "" if change.rank is None else f" on rank {change.rank}"
    what = _what(change) + where
    if change.factor is None:
        return f"with {what} as on the median rank"
    if change.factor == 0:
        return f"with {what} taking no time"
    return f"with {what} taking {change.factor:g} times as long"


def _what(change: Change) -> str:
    known = CLASS_TEXT.get(change.kernel_class, f"{change.kernel_class} kernels")
    if change.kernel_class == "communication":
        known = "transfers"
    if change.kernel:
        name = f"kernels called {short_name(change.kernel)!r}"
        return f"{name} among {known}" if change.kernel_class else name
    return known if change.kernel_class else _WHAT_TEXT[change.what]


def _sentence(found: "WhatIf", scenario: "Scenario") -> str:
    changes = scenario.changes
    what = condition(changes[0]) if len(changes) == 1 else "with all of this together"
    before, after = found.unchanged, scenario.outcome
    times = _times(found, after)
    tax_us = found.counted_tax_us(before)
    if not tax_us or all(change.text == "tax=0" for change in changes):
        return f"{what} {times}"
    taxed = _tax(tax_us, found.counted_tax_us(after))
    return f"{what} {times}, and the tax would be {taxed}"


def _times(found: "WhatIf", after: "Outcome") -> str:
    before = found.unchanged
    step = _share(before.mean_step_us, after.mean_step_us)
    if before.step[0] < 0:
        return f"the whole window would take {_longer(step)}"
    text = f"a step would take {_longer(step)}"
    if not found.by_marks:
        return text
    # a host that is done sooner does not make a job faster
    total = _share(before.mean_total_us, after.mean_total_us)
    return f"{text} by the host's marks, the whole window {_longer(total)}"


def _share(before: float, after: float) -> float:
    return (after - before) / before if before else 0.0


def _longer(share: float) -> str:
    if abs(share) < NOTHING:
        return "as long as it does"
    return f"{percent(abs(share))} {'less' if share < 0 else 'longer'}"


def _tax(before_us: float, after_us: float) -> str:
    share = _share(before_us, after_us)
    if not after_us:
        return "gone"
    if abs(share) < NOTHING:
        return "the same"
    return f"{percent(abs(share))} {'lower' if share < 0 else 'higher'}"
