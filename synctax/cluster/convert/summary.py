"""What jobs of a trace are like, in a few numbers."""

from dataclasses import dataclass

import numpy as np

from synctax.cluster.convert.convert import Converted


@dataclass(frozen=True, slots=True)
class Summary:
    """Jobs in numbers; times in s.

    Parameters
    ----------
    span_s : float
        From the first submission to the last.
    gpus : tuple of (int, int)
        Numbers of GPUs and how many jobs ask for so many, ascending.
    mean_s, median_s, longest_s : float
        Of run times.
    waits : int
        Jobs whose start is known.
    wait_median_s : float
        Of those, from submission to start; NaN if none.
    named : int
        Jobs with a workload.
    """

    span_s: float
    gpus: tuple[tuple[int, int], ...]
    mean_s: float
    median_s: float
    longest_s: float
    waits: int
    wait_median_s: float
    named: int


def summary(found: Converted) -> Summary:
    """Sum up one job or more.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not len(found):
        raise ValueError("no jobs to sum up")
    counts = zip(*np.unique(found.gpus, return_counts=True), strict=True)
    wait_s = found.start_s - found.submit_s
    wait_s = wait_s[~np.isnan(wait_s)]
    return Summary(
        span_s=float(found.submit_s[-1] - found.submit_s[0]),
        gpus=tuple((int(gpus), int(jobs)) for gpus, jobs in counts),
        mean_s=float(found.duration_s.mean()),
        median_s=float(np.median(found.duration_s)),
        longest_s=float(found.duration_s.max()),
        waits=wait_s.size,
        wait_median_s=float(np.median(wait_s)) if wait_s.size else float("nan"),
        named=sum(map(bool, found.workload)),
    )
