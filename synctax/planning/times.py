"""How long a step takes: computation, and what each dimension sends over its links."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64
from synctax.planning.domains import DP, EP, PP, Placement, sizes
from synctax.planning.flop import step_flop
from synctax.planning.layout import Layouts
from synctax.planning.pipeline import microbatches
from synctax.planning.setting import Setting
from synctax.planning.training import DIMENSIONS, Training
from synctax.planning.volumes import reductions


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Communication of k layouts, of a GPU and step; rows of tables as in DIMENSIONS.

    Parameters
    ----------
    sending_s : (5, k) float64
        Of each dimension, on the link that it uses, as if alone there.
    nvlink_s, nic_s : (k,) float64
        Of all dimensions that stay in a domain, and of all that leave it.
    exposed_s : (5, k) float64
        What of it no computation hides.
    """

    sending_s: F64
    nvlink_s: F64
    nic_s: F64
    exposed_s: F64


def compute_s(setting: Setting, recompute_flop_share: F64) -> F64:
    """Time the computation of a step, alike on all GPUs.

    Parameters
    ----------
    setting : Setting
    recompute_flop_share : (k,) float64
        What is computed again, over what is computed without.

    Returns
    -------
    (k,) float64
        FLOP / (GPUs · peak · MFU), in s.
    """
    rate = setting.gpus * setting.peak_flop_per_s * setting.assumptions.mfu
    once = step_flop(setting.model, setting.training) / rate
    return once * (1 + recompute_flop_share)


def times(
    setting: Setting, layouts: Layouts, placement: Placement, sent_bytes: F64, busy_s: F64
) -> Times:
    """Time what layouts send, and tell what of it is exposed.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.
    placement : Placement
    sent_bytes : (5, k) float64
        By a GPU in a step, by dimension.
    busy_s : (k,) float64
        Computation of a GPU in a step.

    Returns
    -------
    Times
    """
    over_nic = nic_bytes_per_s(
        setting, layouts, placement, pooled=setting.assumptions.pooled_nics
    )
    rate = np.where(placement.inside, setting.nvlink_bytes_per_s, over_nic)
    sending_s = sent_bytes / rate
    nvlink_s = np.where(placement.inside, sending_s, 0.0).sum(axis=0)
    nic_s = np.where(placement.inside, 0.0, sending_s).sum(axis=0)
    shares = [getattr(setting.assumptions.exposed, name) for name in DIMENSIONS]
    exposed_s = sending_s * np.array([[share or 0.0] for share in shares])
    if shares[DP] is None:
        exposed_s[DP] = dp_exposed_s(setting.training, layouts, sending_s[DP], busy_s)
    return Times(sending_s, nvlink_s, nic_s, exposed_s)


def nic_bytes_per_s(
    setting: Setting, layouts: Layouts, placement: Placement, *, pooled: bool
) -> F64:
    """Tell how fast a GPU's share of a collective goes that leaves its domain.

    Of k ranks that a group has in a domain, each sends on to the next over NVLink, and what
    crosses to the next domain is spread over the NICs of all k: a ring is k times as fast
    as one NIC. In an all-to-all each rank sends its own, and of n - 1 others k - 1 are
    reached over NVLink. Stages of a pipeline send to one neighbour each. Of k what it is in
    the domain where it is least.

    What leaves a block of a tier goes no faster than its uplinks carry it, and what runs
    over NVLink beside it takes its time too: the longest of these counts.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.
    placement : Placement
    pooled : bool
        Whether NICs are used so; else a group has the rate of one.

    Returns
    -------
    (5, k) float64
        Rows as in DIMENSIONS; of use where a group is not inside a domain.
    """
    nics = np.ones(placement.together.shape)
    if pooled:
        nics = placement.together.astype(np.float64)
        nics[PP] = 1.0
        nics[EP] = nics_of_all_to_all(sizes(layouts)[EP], placement.together[EP])
    return over_nics(setting, nics, placement.crowding)


def nics_of_all_to_all(ranks: I64, together: I64) -> F64:
    """Tell in how many NICs' time an all-to-all sends what one NIC would send of it.

    Parameters
    ----------
    ranks : (k,) int64
        n, of a group.
    together : (k,) int64
        Of them in a domain, k: all others are reached over NVLink.

    Returns
    -------
    (k,) float64
        (n - 1) / (n - k).
    """
    others = np.maximum(ranks, 2) - 1
    return np.asarray(others / np.maximum(others + 1 - together, 1))


def over_nics(setting: Setting, nics: F64, crowding: F64) -> F64:
    """Tell how fast a GPU's share goes over several NICs, the uplinks and NVLink.

    Parameters
    ----------
    setting : Setting
    nics : (..., k) float64
        How many share it.
    crowding : (..., k) float64
        As of `domains.Placement`.

    Returns
    -------
    (..., k) float64
        In bytes a second.
    """
    # a share of the uplinks, in NICs; as many as there are where no tier is crossed
    share = nics / np.maximum(crowding * nics, 1.0)
    return np.minimum(setting.nic_bytes_per_s * share, setting.nvlink_bytes_per_s)


def dp_exposed_s(training: Training, layouts: Layouts, sending_s: F64, busy_s: F64) -> F64:
    """Tell what of data parallelism takes longer than what it can run beside.

    The last reduction of a step begins with its last microbatch, and can run beside that
    one; those before it, where there are several, beside all that is left of the step.
    Parameters that are gathered for every layer can be gathered beside the whole step.

    Parameters
    ----------
    training : Training
    layouts : Layouts
        k of them.
    sending_s : (k,) float64
        What data parallelism sends in a step.
    busy_s : (k,) float64
        Computation of a GPU in a step.

    Returns
    -------
    (k,) float64
    """
    if training.sharding == "parameters":
        return np.maximum(sending_s - busy_s, 0.0)
    rounds = np.maximum(reductions(training, layouts), 1.0)
    last = busy_s / np.maximum(microbatches(training, layouts), 1.0)
    before = np.maximum(sending_s - busy_s, 0.0) * (1 - 1 / rounds)
    return before + np.maximum(sending_s / rounds - last, 0.0)
