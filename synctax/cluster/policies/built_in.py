"""The policies that are built in, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from synctax.arrays import I64
from synctax.cluster.choices import ALIASES, PolicyName
from synctax.cluster.policies.bin_packing import bin_packing
from synctax.cluster.policies.free import FreeGpus
from synctax.cluster.policies.load_balancing import load_balancing
from synctax.cluster.policies.most_allocated import most_allocated
from synctax.cluster.policies.policy import ClusterView, JobView
from synctax.cluster.policies.spread import spread

Place = Callable[[FreeGpus, int], dict[int, int] | None]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A policy that looks at nothing but free GPUs: a job fits where enough are free.

    Parameters
    ----------
    name : str
    place : callable
        Of free GPUs, which a simulation keeps, and the number that a job asks for.

    Examples
    --------
    A policy of one's own can leave the choice to it, on fewer servers:

    >>> import numpy as np
    >>> from synctax.cluster.jobs import simple_jobs
    >>> job = JobView(simple_jobs([(0, 8, 100)]), 0)
    >>> BUILT_IN["bin-packing"](np.array([0, 8, 5]), job)
    {1: 8}
    """

    name: str
    place: Place

    def __call__(
        self, free: I64, job: JobView, _state: ClusterView | None = None, /
    ) -> Mapping[int, int] | None:
        """Place a job, as any policy does."""
        return self.place(FreeGpus(free), job.gpus)


_PLACES: Final[dict[PolicyName, Place]] = {
    "bin-packing": bin_packing,
    "most-allocated": most_allocated,
    "load-balancing": load_balancing,
    "spread": spread,
}

BUILT_IN: Final = {str(name): BuiltIn(name, place) for name, place in _PLACES.items()}


def built_in(name: str) -> BuiltIn | None:
    """Take a policy that is built in by its name or another name of it; else None."""
    return BUILT_IN.get(ALIASES.get(name, name))
