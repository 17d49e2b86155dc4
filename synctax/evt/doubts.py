"""A doubt about a prediction: how large, from where on it matters, whom it concerns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from synctax.evt.tax import Method

Direction = Literal["above", "below", "both"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the data.

    Parameters
    ----------
    kind : str
        Questions of one kind speak of the same thing.
    unit : str
        What effect and threshold are told in.
    direction : {"above", "below", "both"}
        Which effects matter: above the threshold, below it, or on both sides of 0.
    """

    kind: str
    unit: str
    direction: Direction = "above"


QUESTIONS: dict[str, Question] = {
    "rounding": Question("rounding", "share of the scale of the maxima"),
    "effective_sample": Question("effective_sample", "independent instances", "below"),
    "common_variation": Question("common_variation", "share of the variance"),
    "rank_effect": Question("ranks", "share of the variance"),
    "straggler": Question("ranks", "Cramér's V"),
    "rank_memory": Question("ranks", "independent times of a rank", "below"),
    "shape": Question("shape", "ξ", "both"),
    "deviations_reach": Question("reach", "ranks"),
    "reach": Question("reach", "times the ranks of the fit"),
    "few_ranks": Question("deviations", "ranks", "below"),
    "skew": Question("deviations", "L-skewness", "both"),
    "light_tail": Question("deviations", "L-kurtosis", "below"),
    "autocorrelation": Question("autocorrelation", "correlation"),
}
"""All that is asked, what matters most first."""


@dataclass(frozen=True, slots=True)
class Check:
    """The answer to one question.

    Parameters
    ----------
    name : str
        Stable identifier, of `QUESTIONS`.
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

    @property
    def question(self) -> Question:
        """What was asked."""
        return QUESTIONS[self.name]


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


def pressing(checks: Sequence[Check], method: Method) -> tuple[Check, ...]:
    """Select what somebody who uses one method must know: of each kind the worst.

    Parameters
    ----------
    checks : sequence of Check
    method : {"gumbel", "gev", "lmoments", "deviations"}

    Returns
    -------
    tuple of Check
        What matters most first.
    """
    worst = {one.question.kind: one for one in reversed(in_order(fired(checks, method)))}
    return in_order(tuple(worst.values()))


def in_order(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Sort checks, what matters most first.

    Parameters
    ----------
    checks : sequence of Check
    """
    order = list(QUESTIONS)
    return tuple(sorted(checks, key=lambda one: order.index(one.name)))


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
