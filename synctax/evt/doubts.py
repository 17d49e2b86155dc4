"""A doubt about a prediction: how large, from where on it matters, whom it concerns."""

from collections.abc import Sequence
from dataclasses import dataclass

from synctax.evt.tax import Method


@dataclass(frozen=True, slots=True)
class Check:
    """One question to the data.

    Parameters
    ----------
    name : str
        Stable identifier.
    effect : float
        How large what was looked for is; NaN where it cannot be told.
    threshold : float
        From where on it matters.
    p : float
        How probable such an effect is by chance; NaN where that is not asked.
    fired : bool
        Whether it is too large to be ignored.
    message : str
        What was found, what it does to a prediction, and what to do; "" unless fired.
    methods : tuple of str
        The predictors that it casts doubt on.
    """

    name: str
    effect: float
    threshold: float
    p: float
    fired: bool
    message: str = ""
    methods: tuple[Method, ...] = ()


def fired(checks: Sequence[Check], method: Method) -> tuple[Check, ...]:
    """Select the checks that cast doubt on a method.

    Parameters
    ----------
    checks : sequence of Check
    method : {"gumbel", "gev", "lmoments", "deviations"}

    Returns
    -------
    tuple of Check
    """
    return tuple(c for c in checks if c.fired and method in c.methods)


def doubt(
    name: str,
    measure: tuple[float, float, float],
    fires: bool,
    message: str,
    methods: tuple[Method, ...] = (),
) -> Check:
    """Make a check of effect, threshold and p; the message is for when it fires."""
    effect, threshold, p = measure
    found = bool(fires)
    return Check(name, effect, threshold, p, found, message if found else "", methods)
