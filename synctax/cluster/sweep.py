"""Many simulations of one trace: every combination of settings, in several processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.cluster.choices import ALIASES, Basis, ModelName
from synctax.cluster.engine.simulate import simulate
from synctax.cluster.inputs.read_jobs import JobsRead
from synctax.cluster.jobs import Jobs
from synctax.cluster.machines import Cluster
from synctax.cluster.metrics import summary
from synctax.cluster.settings import Contention
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema.html import Shown
from synctax.schema.sweep import SUMMARY_COLUMNS, SWEEP
from synctax.texts import BYTES_PER_GB
from synctax.trace.pool import map_tasks

if TYPE_CHECKING:
    import pandas as pd


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
        nic = None if self.nic_gb_per_s is None else f"{rate_text(self.nic_gb_per_s)} GB/s"
        parts = (self.policy, self.queue, nic, self.model, self.basis, f"seed {self.seed}")
        return ", ".join(part for part in parts if part is not None)


def rate_text(value: float) -> str:
    """Write a rate in full, and no two alike.

    Examples
    --------
    >>> rate_text(0.625), rate_text(0.6250001), rate_text(9.0)
    ('0.625', '0.6250001', '9')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


@dataclass(frozen=True, slots=True)
class Choices:
    """What is combined with what; of each one or more.

    Parameters
    ----------
    policies, queues : tuple of str
        Other names of policies are brought to the first.
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
        """List them in order, seeds innermost.

        Raises
        ------
        ValueError
            If nothing is to be combined, or a choice is named twice.
        """
        policies = tuple(ALIASES.get(one, one) for one in self.policies)
        given = (
            policies,
            self.queues,
            self.nic_gb_per_s,
            self.models,
            self.bases,
            self.seeds,
        )
        for choice in given:
            if not choice:
                raise ValueError("a choice of nothing leaves nothing to sweep over")
            if len(set(choice)) < len(choice):
                raise ValueError(f"a choice is named twice: {', '.join(map(str, choice))}")
        of_models: list[tuple[ModelName, Basis | None]] = []
        for model in self.models:
            bases = self.bases if model == "mosim" else (None,)
            of_models += [(model, basis) for basis in bases]
        whole = product(policies, self.queues, self.nic_gb_per_s, of_models, self.seeds)
        return tuple(
            Combination(policy, queue, nic, model, basis, seed)
            for policy, queue, nic, (model, basis), seed in whole
        )


Load = Callable[[Cluster, int], Jobs | JobsRead]
"""Makes the jobs for a cluster and a seed; importable by its name, or a partial of such."""


@dataclass(frozen=True, slots=True)
class Sweep(Shown):
    """What came of c combinations.

    Parameters
    ----------
    combinations : tuple of Combination
    found : tuple of mapping or SynctaxError
        Numbers of `metrics.Summary` by name, or what went wrong.
    notes : tuple of Note
        Those of reading and simulating: each reason once; where not all combinations have
        the same, with how many of them have it.
    """

    combinations: tuple[Combination, ...]
    found: tuple[Mapping[str, Any] | SynctaxError, ...]
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        failed = len(self.failed)
        return f"<Sweep: {len(self.combinations):,} combinations, {failed} failed>"

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
                "demand_basis": one.basis,
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
        cannot be simulated, or whose process was killed, keeps its place, with its error.

    Raises
    ------
    ValueError
        If nothing is to be combined, or a choice is named twice.
    """
    whole = choices.combinations()
    names = [str(one) for one in whole]
    run = partial(_one, whole, cluster, contention or Contention(), load)
    told = None if on_progress is None else partial(_tell, on_progress)
    done = map_tasks(run, names, workers=workers, on_progress=told, go_on=True)
    found = tuple(one if isinstance(one, SynctaxError) else one[0] for one in done)
    noted = [None if isinstance(one, SynctaxError) else one[1] for one in done]
    return Sweep(whole, found, tuple(merged(names, noted)))


def merged(
    names: Sequence[str], noted: Sequence[tuple[Note, ...] | None]
) -> Iterator[Note]:
    """Tell each reason once, of many runs.

    Parameters
    ----------
    names : n strings
        Of runs.
    noted : n tuples of Note
        None of a run that failed, which does not count.

    Yields
    ------
    Note
        One that all runs have alike as it is; of others how many runs have it, between
        which counts, and what it is in the first of them.
    """
    by_reason: dict[str, list[tuple[str, tuple[Note, ...]]]] = {}
    runs = 0
    for name, notes in zip(names, noted, strict=True):
        runs += notes is not None
        for reason in dict.fromkeys(note.reason for note in notes or ()):
            mine = tuple(note for note in notes or () if note.reason == reason)
            by_reason.setdefault(reason, []).append((name, mine))
    for reason, some in by_reason.items():
        run, first = some[0]
        if len(some) == runs and all(mine == first for _name, mine in some):
            yield from first
        else:
            each = _each([mine for _name, mine in some])
            yield Note(reason, len(some), f"simulations of {runs:,}, {each}", run)


def _each(some: Sequence[tuple[Note, ...]]) -> str:
    """Say how much of a note each of some runs has."""
    counts = [sum(note.count for note in mine) for mine in some]
    low, high = min(counts), max(counts)
    many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    details = {note.detail for mine in some for note in mine}
    others = " (the first; others differ)" if len(details) > 1 else ""
    return f"each with {many} × {some[0][0].detail}{others}"


def _tell(on_progress: Callable[[int], None], _at: int, count: int) -> None:
    on_progress(count)


def _one(
    whole: Sequence[Combination],
    cluster: Cluster,
    contention: Contention,
    load: Load,
    at: int,
    on_done: Callable[[int], None],
) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Simulate one combination; in a worker."""
    one = whole[at]
    how = replace(contention, model=one.model, basis=one.basis or contention.basis)
    where = of_nic(cluster, one.nic_gb_per_s)
    try:
        read = load(where, one.seed)
        jobs, notes = (read.jobs, read.notes) if isinstance(read, JobsRead) else (read, ())
        done = simulate(jobs, where, contention=how, policy=one.policy, queue=one.queue)
    except SynctaxError as error:
        raise SynctaxError(f"{one}: {error}") from error
    finally:
        on_done(1)
    return summary(done).told(), (*notes, *done.notes)


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
