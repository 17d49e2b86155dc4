"""Many simulations of one trace: every combination of settings, in several processes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.cluster.choices import Basis, ModelName
from synctax.cluster.engine.simulate import simulate
from synctax.cluster.jobs import Jobs
from synctax.cluster.machines import Cluster
from synctax.cluster.metrics import summary
from synctax.cluster.settings import Contention
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema.sweep import SUMMARY_COLUMNS, SWEEP
from synctax.trace.pool import map_files

if TYPE_CHECKING:
    import pandas as pd

BYTES_PER_GB = 1e9


@dataclass(frozen=True, slots=True)
class Combination:
    """Settings of one simulation.

    Parameters
    ----------
    policy, queue : str
    nic_gb_per_s : float or None
        Of every server; None leaves them as the cluster has them.
    model : ModelName
    basis : Basis or None
        None but for mosim, the only model that has one.
    seed : int
        Of whatever is drawn.
    """

    policy: str
    queue: str
    nic_gb_per_s: float | None
    model: ModelName
    basis: Basis | None
    seed: int

    def __str__(self) -> str:
        """Name it: `bin-packing, backfill, 0.625 GB/s, mosim, iteration, seed 3`."""
        nic = None if self.nic_gb_per_s is None else f"{self.nic_gb_per_s:g} GB/s"
        parts = (self.policy, self.queue, nic, self.model, self.basis, f"seed {self.seed}")
        return ", ".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Choices:
    """What is combined with what; of each one or more.

    Parameters
    ----------
    policies, queues : tuple of str
    nic_gb_per_s : tuple of float or None
    models : tuple of ModelName
    bases : tuple of Basis
        For mosim; other models have none and are run once.
    seeds : tuple of int
    """

    policies: tuple[str, ...]
    queues: tuple[str, ...]
    nic_gb_per_s: tuple[float | None, ...] = (None,)
    models: tuple[ModelName, ...] = ("mosim",)
    bases: tuple[Basis, ...] = ("iteration",)
    seeds: tuple[int, ...] = (0,)

    def combinations(self) -> tuple[Combination, ...]:
        """List them in order, seeds innermost."""
        of_models: list[tuple[ModelName, Basis | None]] = []
        for model in self.models:
            bases = self.bases if model == "mosim" else (None,)
            of_models += [(model, basis) for basis in bases]
        whole = product(
            self.policies, self.queues, self.nic_gb_per_s, of_models, self.seeds
        )
        return tuple(
            Combination(policy, queue, nic, model, basis, seed)
            for policy, queue, nic, (model, basis), seed in whole
        )


Load = Callable[[Cluster, int], Jobs]
"""Makes the jobs for a cluster and a seed; importable by its name, or a partial of such."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What came of c combinations.

    Parameters
    ----------
    combinations : tuple of Combination
    found : tuple of mapping or SynctaxError
        Numbers of `metrics.Summary` by name, or what went wrong.
    notes : tuple of Note
        Those of simulations: each reason once, with how many combinations have it.
    """

    combinations: tuple[Combination, ...]
    found: tuple[Mapping[str, Any] | SynctaxError, ...]
    notes: tuple[Note, ...] = ()

    @property
    def failed(self) -> tuple[tuple[Combination, SynctaxError], ...]:
        """Those that went wrong, and why."""
        both = zip(self.combinations, self.found, strict=True)
        return tuple((one, told) for one, told in both if isinstance(told, SynctaxError))

    def records(self) -> Iterator[dict[str, Any]]:
        """Tell each combination with its numbers; None where it went wrong."""
        for one, told in zip(self.combinations, self.found, strict=True):
            wrong = isinstance(told, SynctaxError)
            numbers = {} if isinstance(told, SynctaxError) else told
            yield {
                "policy": one.policy,
                "queue": one.queue,
                "nic_gb_per_s": one.nic_gb_per_s,
                "model": one.model,
                "basis": one.basis,
                "seed": one.seed,
                **{column.name: numbers.get(column.name) for column in SUMMARY_COLUMNS},
                "error": str(told) if wrong else None,
            }

    def to_frame(self) -> "pd.DataFrame":
        """Build the table of `synctax.sweep/1`, one row per combination."""
        rows = list(self.records())
        return SWEEP.to_frame({name: [row[name] for row in rows] for name in SWEEP.names})


def sweep(
    choices: Choices,
    cluster: Cluster,
    load: Load,
    *,
    contention: Contention | None = None,
    workers: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Sweep:
    """Simulate every combination.

    Jobs are made where they are run, once for each combination, and only its numbers come
    back: memory is that of one simulation for each process.

    Parameters
    ----------
    choices : Choices
    cluster : Cluster
        Its policy and queue give way to those of the choices.
    load : callable
        Makes the jobs of a cluster and a seed. It runs in worker processes.
    contention : Contention, optional
        What the choices leave open.
    workers : int, optional
        At most so many processes; default: the cores that this process may use.
    on_progress : callable, optional
        Told how many more combinations are done.

    Returns
    -------
    Sweep
        In the order of `choices.combinations()`, whatever `workers` is. A combination that
        cannot be simulated keeps its place, with its error.

    Raises
    ------
    WorkerLostError
        If a worker was killed or its memory ran out; it names the combinations.
    ValueError
        If nothing is to be combined.
    """
    whole = choices.combinations()
    if not whole:
        raise ValueError("a choice of nothing leaves nothing to sweep over")
    names = [str(one) for one in whole]
    by_name = dict(zip(names, whole, strict=True))
    if len(by_name) < len(whole):
        raise ValueError("a choice is named twice")
    run = partial(_one, by_name, cluster, contention or Contention(), load)
    told = None if on_progress is None else partial(_tell, on_progress)
    done = map_files(run, names, workers=workers, on_progress=told)
    found = tuple(one if isinstance(one, SynctaxError) else one[0] for one in done)
    noted = [() if isinstance(one, SynctaxError) else one[1] for one in done]
    return Sweep(whole, found, tuple(_merged(zip(names, noted, strict=True))))


def _merged(noted: Iterable[tuple[str, tuple[Note, ...]]]) -> Iterator[Note]:
    """Tell each reason once: in how many combinations, and what it was in the first."""
    found: dict[str, tuple[int, str, str]] = {}
    for name, notes in noted:
        for note in notes:
            many, detail, first = found.get(
                note.reason, (0, f"{note.count:,} × {note.detail}", name)
            )
            found[note.reason] = many + 1, detail, first
    for reason, (many, detail, first) in found.items():
        yield Note(reason, many, f"simulations with {detail}", first)


def _tell(on_progress: Callable[[int], None], _name: str, count: int) -> None:
    on_progress(count)


def _one(
    by_name: Mapping[str, Combination],
    cluster: Cluster,
    contention: Contention,
    load: Load,
    name: str,
    on_done: Callable[[int], None],
) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Simulate one combination; in a worker."""
    one = by_name[name]
    how = replace(contention, model=one.model, basis=one.basis or contention.basis)
    where = of_nic(cluster, one.nic_gb_per_s)
    try:
        done = simulate(
            load(where, one.seed),
            where,
            contention=how,
            policy=one.policy,
            queue=one.queue,
        )
    except SynctaxError as error:
        raise SynctaxError(f"{name}: {error}") from error
    finally:
        on_done(1)
    return summary(done).told(), done.notes


def of_nic(cluster: Cluster, nic_gb_per_s: float | None) -> Cluster:
    """Give every server of a cluster the same NIC; None leaves them as they are.

    Parameters
    ----------
    cluster : Cluster
    nic_gb_per_s : float or None

    Returns
    -------
    Cluster
    """
    if nic_gb_per_s is None:
        return cluster
    rate = nic_gb_per_s * BYTES_PER_GB
    return replace(cluster, nic_bytes_per_s=np.full(cluster.servers, rate))


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds and its interval.

    Parameters
    ----------
    mean : float
        NaN of nothing.
    half : float
        Half the width of the 95 % interval by Student's t; NaN of fewer than two values.
    """

    mean: float
    half: float


def interval(values: F64, *, level: float = 0.95) -> Interval:
    """Estimate the mean of independent values, such as one for each seed.

    Parameters
    ----------
    values : (n,) float64
        NaN values do not count.
    level : float
        Of the interval.

    Returns
    -------
    Interval

    Examples
    --------
    >>> import numpy as np
    >>> found = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(found.mean, 3), round(found.half, 3)
    (2.0, 2.484)
    """
    known = values[~np.isnan(values)]
    if known.size < 2:
        return Interval(float(known.mean()) if known.size else np.nan, np.nan)
    from scipy.special import stdtrit  # scipy.stats takes seconds to import

    error = known.std(ddof=1) / np.sqrt(known.size)
    width = stdtrit(known.size - 1, (1 + level) / 2)
    return Interval(float(known.mean()), float(width * error))
