"""The contention study: every workload beside every other on two servers.

References
----------
MoSim paper (arXiv 2609.23278), sections III-C and V-C, figures 2 and 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synctax.arrays import F64
from synctax.cluster.characterize.profile import Profile
from synctax.cluster.choices import Basis, ModelName, Scope
from synctax.cluster.metrics import STRETCHED
from synctax.cluster.pairs_run import Together, together
from synctax.cluster.settings import Contention
from synctax.schema.html import Shown
from synctax.schema.pairs import PAIRS

if TYPE_CHECKING:
    import pandas as pd

VARIANTS: Final[tuple[tuple[ModelName, Basis, Scope], ...]] = (
    ("tiresias", "iteration", "time"),
    ("pollux", "iteration", "time"),
    ("pollux", "iteration", "network"),
    ("mosim", "iteration", "time"),
    ("mosim", "network", "time"),
    ("mosim", "overlap", "time"),
)
"""Models that are held side by side: model, basis, scope."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs(Shown):
    """What w workloads do to each other in pairs.

    Parameters
    ----------
    profiles : tuple of Profile
        Of the workloads, alone.
    gpus : int
        Of every job, half of them on each of two servers.
    nic_bytes_per_s : float
        Of a server.
    contention : Contention
    iteration_change : (w, w) float64
        Time of an iteration of the first workload beside the second, over that alone.
    factor : (w, w) float64
        S of the first.
    network_share : (w, w) float64
        What part of the change is network time; NaN where there is no change.
    """

    profiles: tuple[Profile, ...]
    gpus: int
    nic_bytes_per_s: float
    contention: Contention
    iteration_change: F64
    factor: F64
    network_share: F64

    def __repr__(self) -> str:
        return f"<Pairs: {len(self.profiles)} workloads, {self.gpus} GPUs a job>"

    @property
    def iteration_s(self) -> F64:
        """Time of an iteration alone, (w,)."""
        return _column(self.profiles, "compute_s") + _column(self.profiles, "network_s")

    def summary(self) -> "PairsSummary":
        """Sum the matrix up."""
        whole = Together(self.iteration_change.ravel(), self.factor.ravel())
        told = _summed(whole, self.contention)
        share = self.network_share[~np.isnan(self.network_share)]
        return replace(
            told,
            network_share_mean=float(share.mean()) if share.size else np.nan,
            network_share_min=float(share.min()) if share.size else np.nan,
        )

    def to_frame(self) -> "pd.DataFrame":
        """Build the table of `synctax.simulate-pairs/1`, one row per ordered pair."""
        w = len(self.profiles)
        names = [one.workload for one in self.profiles]
        first = np.repeat(np.arange(w), w)
        alone_s = self.iteration_s[first]
        return PAIRS.to_frame(
            {
                "workload": [names[at] for at in first],
                "other": names * w,
                "iteration_change": self.iteration_change.ravel(),
                "factor": self.factor.ravel(),
                "network_share": self.network_share.ravel(),
                "iteration_s": alone_s,
                "pair_s": alone_s * self.iteration_change.ravel(),
                "compute_s": _column(self.profiles, "compute_s")[first],
                "network_s": _column(self.profiles, "network_s")[first],
                "sent_bytes": _column(self.profiles, "sent_bytes_per_worker")[first],
            }
        )


@dataclass(frozen=True, slots=True)
class PairsSummary:
    """All pairs under one model of contention in a few numbers.

    Parameters
    ----------
    model, demand_basis, static_scope : str
        As in `Contention`; demand_basis, its `basis`, is None but for mosim, static_scope
        but for pollux.
    iteration_change_mean, iteration_change_max : float
    factor_min, factor_mean, factor_max : float
    pairs_slowed, pairs : int
        Pairs whose first workload takes longer, and all.
    network_share_mean, network_share_min : float
        Of those, what part of the change is network time; NaN where that was not asked.
    """

    model: str
    demand_basis: str | None
    static_scope: str | None
    iteration_change_mean: float
    iteration_change_max: float
    factor_min: float
    factor_mean: float
    factor_max: float
    pairs_slowed: int
    pairs: int
    network_share_mean: float = np.nan
    network_share_min: float = np.nan


def pairs(
    profiles: Sequence[Profile], *, nic_bytes_per_s: float, contention: Contention
) -> Pairs:
    """Run every workload beside every other, itself among them.

    Two jobs share two servers, half of the GPUs of each job on each server, so that they
    meet at both NICs.

    Parameters
    ----------
    profiles : sequence of w Profile
        All of the same number of GPUs, an even one.
    nic_bytes_per_s : float
        Of a server.
    contention : Contention

    Returns
    -------
    Pairs

    Raises
    ------
    ValueError
        If there is no profile, or numbers of GPUs differ or are odd.

    References
    ----------
    MoSim paper, section III-C.
    """
    gpus = _gpus(profiles)
    w = len(profiles)
    found = _run(profiles, gpus, nic_bytes_per_s, contention)
    change = found.iteration_change.reshape(w, w)
    factor = found.factor.reshape(w, w)
    return Pairs(
        tuple(profiles),
        gpus,
        nic_bytes_per_s,
        contention,
        change,
        factor,
        _network_share(profiles, change, contention),
    )


def compare(
    profiles: Sequence[Profile], *, nic_bytes_per_s: float, contention: Contention
) -> tuple[PairsSummary, ...]:
    """Sum the same pairs up under every model and basis, `contention` giving the rest.

    Parameters
    ----------
    profiles, nic_bytes_per_s, contention
        As for `pairs`.

    Returns
    -------
    tuple of PairsSummary
        In the order of `VARIANTS`.

    Raises
    ------
    ValueError
        As `pairs`.
    """
    gpus = _gpus(profiles)
    told = []
    for model, basis, scope in VARIANTS:
        how = replace(contention, model=model, basis=basis, static_scope=scope)
        told.append(_summed(_run(profiles, gpus, nic_bytes_per_s, how), how))
    return tuple(told)


def _gpus(profiles: Sequence[Profile]) -> int:
    found = {one.gpus for one in profiles}
    if len(found) != 1:
        raise ValueError(f"profiles of {sorted(found)} GPUs are no pairs")
    return found.pop()


def _run(
    profiles: Sequence[Profile], gpus: int, nic_bytes_per_s: float, contention: Contention
) -> Together:
    w = len(profiles)
    both = np.stack([np.repeat(np.arange(w), w), np.tile(np.arange(w), w)], axis=1)
    return together(
        _column(profiles, "compute_s")[both],
        _column(profiles, "network_s")[both],
        _column(profiles, "sent_bytes_per_worker")[both],
        gpus=gpus,
        nic_bytes_per_s=nic_bytes_per_s,
        contention=contention,
    )


def _network_share(profiles: Sequence[Profile], change: F64, contention: Contention) -> F64:
    """Tell what part of changes is network time.

    All of it where a model stretches network time alone. Pollux's factor on whole
    iterations stretches computation as much.
    """
    share = np.ones(change.shape)
    if contention.model == "pollux" and contention.static_scope == "time":
        network_s = _column(profiles, "network_s")
        whole_s = _column(profiles, "compute_s") + network_s
        share = np.broadcast_to((network_s / whole_s)[:, None], change.shape)
    return np.where(np.abs(change - 1) > STRETCHED, share, np.nan)


def _summed(found: Together, contention: Contention) -> PairsSummary:
    change, factor = found.iteration_change, found.factor
    return PairsSummary(
        model=contention.model,
        demand_basis=contention.basis if contention.model == "mosim" else None,
        static_scope=contention.static_scope if contention.model == "pollux" else None,
        iteration_change_mean=float(change.mean()),
        iteration_change_max=float(change.max()),
        factor_min=float(factor.min()),
        factor_mean=float(factor.mean()),
        factor_max=float(factor.max()),
        pairs_slowed=int((change > 1 + STRETCHED).sum()),
        pairs=change.size,
    )


def _column(profiles: Sequence[Profile], name: str) -> F64:
    values: list[Any] = [getattr(one, name) for one in profiles]
    return np.array(values, np.float64)
