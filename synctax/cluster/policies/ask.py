"""Ask a policy where a job shall run, and check what it says."""

from collections.abc import Mapping
from numbers import Integral
from typing import TypeGuard

from synctax.cluster.jobs import Placement
from synctax.cluster.policies.built_in import BuiltIn
from synctax.cluster.policies.fault import described
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
    try:
        answer = policy(free.gpus, job, state)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() of a policy would end without a result
        raise SynctaxError(
            f"policy {name} failed on job {job.job_id}: {described(error)}"
        ) from error
    return None if answer is None else checked(answer, name, free, job)


def checked(answer: object, name: str, free: FreeGpus, job: JobView) -> Placement:
    """Make a placement of what a policy returned.

    Parameters
    ----------
    answer : object
        Workers by server; servers with none are left out.
    name : str
        Of the policy, for messages.
    free : FreeGpus
    job : JobView

    Raises
    ------
    SynctaxError
        If it is no placement of this job on free GPUs; names policy, job, and server.
    """
    if not isinstance(answer, Mapping):
        raise SynctaxError(
            f"policy {name} returned {_shown(answer)} for job {job.job_id}; expected the "
            "number of workers by server, such as {0: 4, 1: 4}, or None to have it wait"
        )
    for server, workers in answer.items():
        wrong = _wrong(server, workers, free)
        if wrong:
            raise SynctaxError(
                f"policy {name} put {_shown(workers)} workers of job {job.job_id} on "
                f"server {_shown(server)}; {wrong}"
            )
    placed = sum(int(workers) for workers in answer.values())
    if placed != job.gpus:
        raise SynctaxError(
            f"policy {name} placed {placed:,} workers of job {job.job_id}, which asks for "
            f"{job.gpus:,}: {_shown(dict(answer))}"
        )
    return placement_of(
        (int(server), int(workers)) for server, workers in answer.items() if workers
    )


def _wrong(server: object, workers: object, free: FreeGpus) -> str:
    """Say what is wrong with workers on a server; an empty text if nothing is."""
    many = free.gpus.size
    if not _is_whole(server) or not 0 <= server < many:
        return f"servers are whole numbers from 0 to {many - 1:,}"
    if not _is_whole(workers) or workers < 0:
        return "expected a whole number of 0 or more"
    if workers > free.gpus[server]:
        return f"{free.gpus[server]:,} GPUs are free there"
    return ""


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _shown(value: object) -> str:
    # numpy's own way to write a number is of no help here
    return str(value) if _is_whole(value) else f"{value!r:.80}"
