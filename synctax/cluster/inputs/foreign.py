"""Traces of other programs, told by their header, where jobs were expected."""

from collections.abc import Iterable
from typing import Final

HEADERS: Final = (
    ("seren or kalos (Acme)", {"node_num", "gpu_num", "type", "submit_time", "gpu_time"}),
    ("helios", {"vc", "gpu_num", "node_num", "state", "submit_time"}),
    ("openb (Alibaba, 2023)", {"cpu_milli", "num_gpu", "gpu_milli"}),
    ("spot (Alibaba, 2026)", {"job_name", "gpu_request", "worker_num"}),
    ("pai (Alibaba, 2020)", {"job_name", "inst_num", "plan_gpu"}),
    ("muri", {"num_gpu", "submit_time", "model_name", "resource_time_0"}),
    ("tiresias", {"num_gpu", "submit_time", "model_name"}),
    ("pollux", {"name", "time", "application", "num_replicas"}),
    ("slurm", {"jobid", "submit", "start", "end"}),
)
"""Formats that `convert` reads, the most particular first, and columns that tell them."""

PHILLY: Final = "philly"
"""The one that is JSON."""


def looks_like(names: Iterable[str]) -> str:
    """Tell whose trace has such columns; "" where nobody's that is known.

    Parameters
    ----------
    names : iterable of str
        In lower case.

    Examples
    --------
    >>> looks_like(["job_id", "num_gpu", "submit_time", "iterations", "model_name"])
    'tiresias'
    """
    found = set(names)
    return next((name for name, told in HEADERS if told <= found), "")
