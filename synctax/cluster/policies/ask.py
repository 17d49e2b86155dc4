"""Ask a policy where a job shall run, and check what it says."""

from collections.abc import Mapping

from synctax.cluster.jobs import Placement
from synctax.cluster.policies.built_in import BuiltIn
from synctax.cluster.policies.free import FreeGpus
from synctax.cluster.policies.policy import ClusterView, JobView, Policy, placement_of
from synctax.errors import SynctaxError


def ask(
    policy: Policy, name: str, free: FreeGpus, job: JobView, state: ClusterView
) -> Placement | None:
    """Ask a policy where a job shall run.

    Parameters
    ----------
    policy : Policy
    name : str
        For messages.
    free : FreeGpus
        At least as many as the job asks for.
    job : JobView
    state : ClusterView

    Returns
    -------
    Placement or None
        None where the policy has the job wait.

    Raises
    ------
    SynctaxError
        If the policy raises, or what it returns is no placement of this job; names
        policy, job and what was wrong.
    """
    if isinstance(policy, BuiltIn):
        chosen = policy.place(free, job.gpus)
        return None if chosen is None else placement_of(chosen)
    answer = policy(free.gpus, job, state)
    return None if answer is None else checked(answer, name, free, job)


def checked(
    answer: Mapping[int, int], name: str, free: FreeGpus, job: JobView
) -> Placement:
    """Make a placement of what a policy returned."""
    placement = placement_of(answer)
    if sum(workers for _, workers in placement) != job.gpus or not free.fits(placement):
        raise SynctaxError(f"policy {name} placed job {job.job_id} as {answer!r}")
    return placement
