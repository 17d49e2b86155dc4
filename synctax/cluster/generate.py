"""Made-up traces that look like a public one: submissions, widths and run times."""

from collections.abc import Mapping
from math import log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

PHILLY_MEAN_S: Final = 14_614.0
PHILLY_MEDIAN_S: Final = 1_186.0
"""Run times in Philly's job log: of 83,154 jobs."""

SHORTEST_S: Final = 3 * 60.0
LONGEST_S: Final = 424 * 60.0
"""Run times in the trace of the MoSim paper, section III-A3."""

RATE_PER_S: Final = 0.005
"""Jobs that are submitted a second (MoSim paper, section III-A3)."""

PHILLY_GPUS: Final = {2: 1.0, 4: 1.0, 8: 1.0}
"""Weights of GPU counts.

In Philly's log jobs of 2 to 8 GPUs ask for 2, 4 or 8, about as often for each: 34, 35 and
31 % of 5,331 such jobs in the extract that Pollux's artifact (OSDI '21) publishes.
"""


def philly_like(
    jobs: int,
    seed: int,
    *,
    rate_per_s: float = RATE_PER_S,
    shortest_s: float = SHORTEST_S,
    longest_s: float = LONGEST_S,
    gpus: Mapping[int, float] = PHILLY_GPUS,
) -> dict[str, list[str] | list[float] | list[int]]:
    """Make up jobs like those that the MoSim paper draws from Philly's log.

    Submissions are a Poisson process from the first one on. Run times are log-normal with
    the mean and the median of Philly's, given that they are between two bounds: what is
    outside is drawn again, not set to the bound, so that no length is more frequent than
    its neighbours. The more of the long tail that is left out, the lower mean and median
    become.

    Parameters
    ----------
    jobs : int
        How many, 1 or more.
    seed : int
        The same one gives the same jobs; more jobs begin with the fewer ones.
    rate_per_s : float
    shortest_s, longest_s : float
        Bounds of run times, above 0.
    gpus : mapping of int to float
        Weights of GPU counts.

    Returns
    -------
    dict of str to list
        Columns `job_id`, `submit_s`, `gpus` and `duration_s` of the CSV of jobs, in order
        of submission; times to the ms.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    MoSim paper (arXiv 2609.23278), section III-A3; M. Jeon et al., Analysis of large-scale
    multi-tenant GPU clusters for DNN training workloads, USENIX ATC 2019.

    Examples
    --------
    >>> philly_like(3, 0)["submit_s"][0]
    0.0
    """
    if jobs < 1 or seed < 0:
        raise ValueError(f"{jobs} jobs with seed {seed}; expected 1 or more, and 0 or more")
    if not (rate_per_s > 0 and 0 < shortest_s < longest_s):
        raise ValueError(
            f"{rate_per_s:g} jobs/s of {shortest_s:g} to {longest_s:g} s; expected a rate "
            "above 0 and ascending bounds above 0"
        )
    weights = np.array(list(gpus.values()), np.float64)
    if not weights.size or min(gpus) < 1 or not (weights > 0).all():
        raise ValueError("weights of GPU counts: expected counts of 1 or more, above 0")
    # a job's numbers are a row, so that those of more jobs begin with those of fewer
    gap, length, width = np.random.default_rng(seed).random((jobs, 3)).T
    waited_s = -np.log1p(-gap) / rate_per_s
    waited_s[0] = 0.0
    counts = list(gpus)
    at = np.searchsorted(np.cumsum(weights) / weights.sum(), width, side="right")
    law = NormalDist(log(PHILLY_MEDIAN_S), sqrt(2 * log(PHILLY_MEAN_S / PHILLY_MEDIAN_S)))
    low, high = law.cdf(log(shortest_s)), law.cdf(log(longest_s))
    # a quantile between those of the bounds: the law of drawing again
    lengths = [law.inv_cdf(low + one * (high - low)) for one in length.tolist()]
    duration_s = np.clip(np.round(np.exp(lengths), 3), shortest_s, longest_s)
    return {
        "job_id": [f"j{number}" for number in range(jobs)],
        "submit_s": np.round(np.cumsum(waited_s), 3).tolist(),
        "gpus": [counts[min(one, len(counts) - 1)] for one in at.tolist()],
        "duration_s": duration_s.tolist(),
    }
