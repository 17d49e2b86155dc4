"""How fast GPUs of different kinds compute, relative to those that profiles are of."""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from synctax.cluster.characterize.gpus import GpuType, gpu_type, gpu_types
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
    groups: tuple[Group, ...], reference: str
) -> tuple[list[float], tuple[Note, ...]]:
    """Tell the speed of each group relative to the reference.

    Where the file does not tell, it is 1 for the reference's own kind, else the ratio of
    peaks: in FP16, where both have tensor cores for it, else in FP32. What training gets
    of a peak differs between kinds, so a measured speed in the file is better.

    Parameters
    ----------
    groups : tuple of Group
    reference : str
        A kind of GPU; empty where the file does not tell.

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
            ratio, words = _ratio(one, reference)
            found.append(ratio)
            inferred[one.gpu_type] = words
            many += one.count
    if not inferred:
        return found, ()
    many = sum(
        one.count for one in groups if one.speed is None and one.gpu_type in inferred
    )
    detail = (
        f"servers whose speed relative to {reference} is the ratio of peaks: "
        f"{', '.join(inferred.values())}; a measured speed in the file is better"
    )
    return found, (Note("speed_of_peaks", many, detail),)


def _ratio(group: Group, reference: str) -> tuple[float, str]:
    if reference not in known_gpus():
        # some kinds of the file differ from this one, which nothing is known of
        other = f"{reference!r}, which others are relative to," if reference else "the rest"
        raise group.section.wrong(
            "speed",
            f"a number, 1 for as fast as {other} as its peak is not known; or "
            f"reference_gpu and gpu_type among {', '.join(known_gpus())}",
        )
    if group.gpu_type not in known_gpus():
        near = get_close_matches(group.gpu_type, known_gpus(), n=1, cutoff=0.6)
        meant = f"{near[0]}, or " if near else ""
        raise group.section.wrong(
            "gpu_type",
            f"{meant}one of {', '.join(known_gpus())}; or speed beside it, 1 for as fast "
            f"as {reference}",
        )
    return _of_peaks(gpu_type(group.gpu_type), gpu_type(reference))


def _of_peaks(one: GpuType, reference: GpuType) -> tuple[float, str]:
    half, reference_half = one.fp16_tflops, reference.fp16_tflops
    if half is not None and reference_half is not None:
        return half / reference_half, f"{one.name} {number(half / reference_half)} (FP16)"
    ratio = one.fp32_tflops / reference.fp32_tflops
    return ratio, f"{one.name} {number(ratio)} (FP32)"
