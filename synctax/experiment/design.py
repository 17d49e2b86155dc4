"""Which step gets which delay: all sizes in random order, block after block."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synctax.record.plan import DelayRule

US_PER_MS = 1_000

MAX_STEPS = 1_000
"""Steps of an experiment: each has a rule, and each operator is held against all rules."""

MAX_DOSE_MS = 3_600_000.0
"""No delay is longer than an hour."""


def blocks(doses_ms: Sequence[float], repeats: int, *, seed: int = 0) -> list[float]:
    """Lay out a randomised complete block design: one step a dose, in random order.

    A machine that becomes slower while the job runs, does so for all doses alike.

    Parameters
    ----------
    doses_ms : sequence of float
        Sizes of the delay, each once.
    repeats : int
        Blocks.
    seed : int

    Returns
    -------
    list of float
        The dose of each step, in ms.

    Raises
    ------
    ValueError
        If doses are missing, below 0, longer than an hour or there twice, or there is no
        block, or more than `MAX_STEPS` steps.

    References
    ----------
    Fisher, The Design of Experiments (1935), section 22; Montgomery, Design and Analysis of
    Experiments, chapter 4.

    Examples
    --------
    >>> blocks([0, 5, 20], 2)
    [20.0, 0.0, 5.0, 20.0, 5.0, 0.0]
    """
    if repeats < 1:
        raise ValueError(f"an experiment has at least one block, not {repeats}")
    if not doses_ms or len(set(doses_ms)) < len(doses_ms):
        raise ValueError("doses are distinct, and there is at least one")
    if not all(0 <= dose <= MAX_DOSE_MS for dose in doses_ms):
        raise ValueError(f"a dose is 0 ms to {MAX_DOSE_MS:,.0f} ms")
    steps = len(doses_ms) * repeats
    if steps > MAX_STEPS:
        raise ValueError(f"an experiment has {MAX_STEPS:,} steps at most, not {steps:,}")
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.array(doses_ms, np.float64)) for _ in range(repeats)]
    return [float(dose) for dose in np.concatenate(drawn)]


def rules(
    design: Sequence[float], rule: DelayRule, *, first_step: int
) -> tuple[DelayRule, ...]:
    """Make a rule of each step of a design.

    Parameters
    ----------
    design : sequence of float
        Doses in ms, as of `blocks`.
    rule : DelayRule
        What all have in common: operator, rank, how many occurrences.
    first_step : int
        Number of the first step, as the job counts them.

    Returns
    -------
    tuple of DelayRule
        A dose of 0 too has one, so that its occurrences are told: the controls.
    """
    return tuple(
        replace(
            rule,
            us=dose * US_PER_MS,
            first_step=first_step + number,
            end_step=first_step + number + 1,
            seed=rule.seed + number,
        )
        for number, dose in enumerate(design)
    )
