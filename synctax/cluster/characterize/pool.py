"""The workloads that jobs are drawn from where a trace names none."""

from synctax.cluster.characterize.workloads import Workload


def default_pool() -> tuple[Workload, ...]:
    """Tell the twelve workloads of the MoSim paper's table I.

    Returns
    -------
    tuple of Workload
    """
    raise NotImplementedError
