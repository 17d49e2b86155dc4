"""How contention is modelled: which simulator's rules, and what a demand is."""

from dataclasses import dataclass
from math import inf

import numpy as np

from synctax.arrays import F64
from synctax.cluster.choices import (
    BASES,
    MIN_BANDWIDTH_SHARE,
    MODELS,
    SCOPES,
    STATIC_FACTOR,
    Basis,
    ModelName,
    Scope,
)
from synctax.cluster.jobs import Jobs
from synctax.planning.possible import ImpossibleError, is_number


@dataclass(frozen=True, slots=True)
class Contention:
    """How jobs that share links slow each other down.

    Parameters
    ----------
    model : ModelName
        `mosim`: shares of each link, equations 6 to 10; `tiresias`: none; `pollux`: one
        factor for every job that shares a NIC with another.
    basis : Basis
        What makes a rate of the bytes of an iteration (mosim only).
    static_factor : float
        1 or more (pollux only).
    static_scope : Scope
        Whether that factor is on the whole iteration or on its network time.
    min_bandwidth_share : float
        Least allocation over the rate of a link, 0 to 1; 0 for none.
    normalise_solo : bool
        Divide a job's factor by what it has alone on its servers, where a profile was
        taken on a faster network.
    placement_aware : bool
        Take `local_network_s` for jobs on one server.
    """

    model: ModelName = "mosim"
    basis: Basis = "iteration"
    static_factor: float = STATIC_FACTOR
    static_scope: Scope = "time"
    min_bandwidth_share: float = MIN_BANDWIDTH_SHARE
    normalise_solo: bool = False
    placement_aware: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """What n jobs demand of every link that they cross, in bytes a second.

    A job meets its own demand and that of the others on a link; the two differ where the
    others' is an expectation (`overlap`).

    Parameters
    ----------
    own : (n,) float64
        As the job itself counts it.
    among : (n,) float64
        As it counts for other jobs.
    """

    own: F64
    among: F64


def rates(jobs: Jobs, basis: Basis) -> Rates:
    """Make rates of the bytes of an iteration.

    Equation 7 is bytes an iteration and equation 8 holds it against bytes a second; the
    MoSim paper does not say what is between. `iteration` divides by the time of an
    iteration (average rate); `network` by its network time (rate while sending, as if all
    jobs sent together); `overlap` is a job's own rate while sending, and of each other job
    that rate times the share of time in which it sends: what it meets on average.

    Parameters
    ----------
    jobs : Jobs
    basis : Basis

    Returns
    -------
    Rates
        Of jobs with bytes and no network time: infinite on `network` and `overlap`.

    References
    ----------
    MoSim paper, section IV-C, equations 6 to 8.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        average = jobs.nic_bytes / jobs.iteration_s
        sending = np.where(jobs.nic_bytes > 0, jobs.nic_bytes / jobs.network_s, 0.0)
    if basis == "iteration":
        return Rates(average, average)
    if basis == "network":
        return Rates(sending, sending)
    return Rates(sending, average)


def check(contention: Contention) -> None:
    """Refuse settings that cannot be.

    Raises
    ------
    ImpossibleError
        Naming the setting.
    """
    for name, allowed in (("model", MODELS), ("basis", BASES), ("static_scope", SCOPES)):
        value = getattr(contention, name)
        if value not in allowed:
            raise ImpossibleError(name, value, " or ".join(allowed))
    factor = contention.static_factor
    if not is_number(factor) or not 1 <= factor < inf:
        raise ImpossibleError("static_factor", factor, "a number of 1 or more")
    share = contention.min_bandwidth_share
    if not is_number(share) or not 0 <= share <= 1:
        raise ImpossibleError("min_bandwidth_share", share, "a number from 0 to 1")
