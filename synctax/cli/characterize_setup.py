"""What `characterize` computes: workloads, GPUs and networks as options name them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from synctax.cli.asking import bad_option, read_named
from synctax.cluster.characterize.gpus import Precision, gpu_type
from synctax.cluster.characterize.pool import in_precision
from synctax.cluster.characterize.profile import (
    Assumptions,
    Profile,
    above_the_line,
    profile,
)
from synctax.cluster.characterize.workloads import Workload
from synctax.cluster.inputs.pool import read_pool
from synctax.notes import Note
from synctax.texts import BYTES_PER_GB


@dataclass(frozen=True, slots=True)
class On:
    """What workloads run on, as options say.

    Parameters
    ----------
    gpus : tuple of int
    gpu_type : str
    dtype : Precision or None
        None: of each workload.
    nic_gb_per_s : float
    nvlink_gb_per_s : float or None
        None: of the kind of GPU.
    assumptions : Assumptions
    """

    gpus: tuple[int, ...]
    gpu_type: str
    dtype: Precision | None
    nic_gb_per_s: float
    nvlink_gb_per_s: float | None
    assumptions: Assumptions


@dataclass(frozen=True, slots=True)
class Found:
    """Profiles and what is known of their workloads.

    Parameters
    ----------
    profiles : tuple of Profile
    workloads : tuple of Workload or None
        For each profile; None where nothing but the profile is known.
    parameters : dict
        What was asked.
    """

    profiles: tuple[Profile, ...]
    workloads: tuple[Workload | None, ...]
    parameters: dict[str, object]

    @property
    def notes(self) -> tuple[Note, ...]:
        """Of all profiles; what is said of several is said once."""
        every = [note for one in self.profiles for note in one.notes]
        many: Counter[tuple[str, str]] = Counter()
        for note in every:
            many[note.reason, note.detail] += note.count
        first = {(note.reason, note.detail): note for note in reversed(every)}
        return tuple(replace(first[key], count=count) for key, count in many.items())


def of_pool(names: Sequence[str], pool: Path | None) -> tuple[Workload, ...]:
    """Find workloads of a pool; all of it where none is named.

    Raises
    ------
    BadParameter
        If there is no such pool or workload.
    BadInputError
        If the file is no pool.
    """
    known = read_named("--pool", lambda: read_pool(pool))
    if not names:
        return known.workloads
    found = []
    for name in dict.fromkeys(names):
        at = known.find(name)
        if at is None:
            said = f"no workload {name!r} in the pool {known.name}; there is "
            raise bad_option("--workload", said + known.hint(name))
        found.append(known.workloads[at])
    return tuple(found)


def in_batches(
    workloads: Sequence[Workload], batch_per_gpu: int | None
) -> tuple[Workload, ...]:
    """Give workloads other batches; None leaves them as they are.

    Raises
    ------
    UsageError
        If the compute time of one is given, and not computed.
    """
    if batch_per_gpu is None:
        return tuple(workloads)
    given = next((one.name for one in workloads if one.compute_s is not None), None)
    if given is not None:
        raise click.UsageError(
            f"compute_s of {given} is given in the pool and is of its own batch; leave out "
            "--batch-per-gpu"
        )
    return tuple(replace(one, batch_per_gpu=batch_per_gpu) for one in workloads)


def of_shape(model: str, sequence: int | None, batch_per_gpu: int) -> tuple[Workload, ...]:
    """Make a workload of a transformer that `plan` knows, or of its file.

    Raises
    ------
    UsageError
        If nothing tells how long a sequence is.
    BadParameter
        If there is no such model.
    BadInputError
        If the file is no model.
    """
    from synctax.cluster.characterize.shapes import from_shape
    from synctax.planning.inputs.named import read_model

    if sequence is None:
        raise click.UsageError("--model needs --sequence: its operations grow with it")
    shape = read_named("--model", lambda: read_model(model))
    return (from_shape(shape, sequence=sequence, batch_per_gpu=batch_per_gpu),)


def computed(workloads: Sequence[Workload], on: On) -> Found:
    """Compute profiles of workloads for each number of GPUs.

    Raises
    ------
    BadParameter
        If there is no such kind of GPU, or it does not compute in --dtype.
    SynctaxError
        If it does not compute in the precision of a workload.
    """
    gpu = read_named("--gpu-type", lambda: gpu_type(on.gpu_type))
    dtype = on.dtype
    if dtype is not None:
        read_named("--dtype", lambda: gpu.tflops(dtype))
    nvlink = None if on.nvlink_gb_per_s is None else on.nvlink_gb_per_s * BYTES_PER_GB
    taken = [one if on.dtype is None else in_precision(one, on.dtype) for one in workloads]
    pairs = [(one, n) for one in taken for n in on.gpus]
    profiles = tuple(
        profile(
            one,
            n,
            gpu=gpu,
            nic_bytes_per_s=on.nic_gb_per_s * BYTES_PER_GB,
            nvlink_bytes_per_s=nvlink,
            assumptions=on.assumptions,
        )
        for one, n in pairs
    )
    parameters: dict[str, object] = {
        "workloads": [one.name for one in taken],
        "gpus": list(on.gpus),
        "gpu_type": gpu.name,
        "dtype": on.dtype,
        "nic_gb_per_s": on.nic_gb_per_s,
        "nvlink_gb_per_s": on.nvlink_gb_per_s
        if on.nvlink_gb_per_s is not None
        else gpu.link_gb_per_s,
        "efficiency": on.assumptions.efficiency,
        "memory_efficiency": on.assumptions.memory_efficiency,
        "latency_s": on.assumptions.latency_s,
        "gpus_per_server": on.assumptions.gpus_per_server,
    }
    line = on.nic_gb_per_s * BYTES_PER_GB
    profiles = tuple(
        replace(one, notes=(*one.notes, *above_the_line(one, line))) for one in profiles
    )
    return Found(profiles, tuple(one for one, _ in pairs), parameters)


def imported(profiles: Sequence[Profile], parameters: dict[str, object]) -> Found:
    """Take profiles that another program, or a trace, tells."""
    return Found(tuple(profiles), (None,) * len(profiles), parameters)
