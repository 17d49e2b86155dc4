"""How fast GPUs of different kinds compute, relative to those that profiles are of."""

from dataclasses import dataclass, replace
from functools import cache
from math import inf

import numpy as np

from synctax.cluster.characterize.gpus import GpuType, gpu_type, gpu_types, near_gpu
from synctax.cluster.characterize.profile import profile
from synctax.cluster.characterize.workloads import Workload
from synctax.cluster.inputs.pool import Pool, read_pool
from synctax.notes import Note
from synctax.planning.inputs.yaml_values import Section
from synctax.texts import number


@dataclass(frozen=True, slots=True)
class Group:
    """Servers that are alike, as a file describes them.

    Parameters
    ----------
    section : Section
        Where they stand.
    count, gpus : int
        Servers, and GPUs of each.
    gpu_type : str
        Empty where the file does not tell.
    nic_bytes_per_s, nvlink_bytes_per_s : float
        NaN where the file does not tell.
    speed : float or None
    """

    section: Section
    count: int
    gpus: int
    gpu_type: str
    nic_bytes_per_s: float
    nvlink_bytes_per_s: float
    speed: float | None


@cache
def known_gpus() -> tuple[str, ...]:
    """Name the kinds of GPU that something is known of."""
    return tuple(one.name for one in gpu_types())


def speeds(
    groups: tuple[Group, ...], reference: str, pool: Pool | None = None
) -> tuple[list[float], tuple[Note, ...]]:
    """Tell the speed of each group relative to the reference.

    Where the file does not tell, it is 1 for the reference's own kind, else the ratio of
    the times that workloads of the pool take by the roofline of `profile`, in their own
    precision: the geometric mean over workloads, each as often as it is drawn.

    Parameters
    ----------
    groups : tuple of Group
    reference : str
        A kind of GPU; empty where the file does not tell.
    pool : Pool, optional
        What jobs train; the pool that is built in where it has no workload whose time is
        computed.

    Returns
    -------
    list of float
    tuple of Note

    Raises
    ------
    BadInputError
        If a speed is missing, and one of the two kinds is not known.
    """
    found, inferred, many = [], {}, 0
    for one in groups:
        if one.speed is not None:
            found.append(one.speed)
        elif one.gpu_type == reference:
            found.append(1.0)
        else:
            _check_known(one, reference)
            ratio, words = _of_roofline(one.gpu_type, reference, pool)
            found.append(ratio)
            inferred[one.gpu_type] = words
            many += one.count
    if not inferred:
        return found, ()
    detail = (
        f"servers whose speed relative to {reference} is that of a roofline: "
        f"{', '.join(inferred.values())}; a measured speed in the file is better"
    )
    return found, (Note("speed_of_roofline", many, detail),)


def _check_known(group: Group, reference: str) -> None:
    if reference not in known_gpus():
        # some kinds of the file differ from this one, which nothing is known of
        other = f"{reference!r}, which others are relative to," if reference else "the rest"
        near = near_gpu(reference)
        meant = f"; did you mean {near}?" if near else ""
        raise group.section.wrong(
            "speed",
            f"a number, 1 for as fast as {other} as its peak is not known; or "
            f"reference_gpu and gpu_type among {', '.join(known_gpus())}{meant}",
        )
    if group.gpu_type not in known_gpus():
        near = near_gpu(group.gpu_type)
        meant = f"{near}, or " if near else ""
        raise group.section.wrong(
            "gpu_type",
            f"{meant}one of {', '.join(known_gpus())}; or speed beside it, 1 for as fast "
            f"as {reference}",
        )


def _of_roofline(name: str, reference: str, pool: Pool | None) -> tuple[float, str]:
    """Tell a speed, and how it differs between workloads."""
    computed = [] if pool is None else _computed(pool)
    computed = computed or _computed(read_pool())
    one, other = gpu_type(name), gpu_type(reference)
    ratios = np.array([_compute_s(of, other) / _compute_s(of, one) for of, _ in computed])
    weights = np.array([weight for _, weight in computed])
    mean = float(np.exp(np.average(np.log(ratios), weights=weights)))
    precisions = "/".join(sorted({of.dtype for of, _ in computed}))
    spread = f"{number(ratios.min())} to {number(ratios.max())} by workload"
    return mean, f"{name} {number(mean)} in {precisions} ({spread})"


def _computed(pool: Pool) -> list[tuple[Workload, float]]:
    """List workloads whose compute time is computed, and how often each is drawn."""
    both = zip(pool.workloads, pool.weights.tolist(), strict=True)
    return [(one, weight) for one, weight in both if one.compute_s is None]


def _compute_s(workload: Workload, gpu: GpuType) -> float:
    if getattr(gpu, f"{workload.dtype}_tflops") is None:
        # as frameworks do on GPUs that have no units for it
        workload = replace(workload, dtype="fp32")
    return profile(workload, 1, gpu=gpu, nic_bytes_per_s=inf).compute_s
