"""GPUs that can be computed for: peaks, memory, links inside a server."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, get_args

from synctax.bandwidth.hardware import hardware
from synctax.errors import SynctaxError

Precision = Literal["fp32", "tf32", "fp16", "bf16"]
"""Of matrix products. `fp32` is on the units for FP32, not on tensor cores."""

PRECISIONS: Final[tuple[Precision, ...]] = get_args(Precision)

DEFAULT_GPU: Final = "v100"
"""Of the MoSim paper's testbed (section III-A4)."""


@dataclass(frozen=True, slots=True)
class GpuType:
    """A kind of GPU, as its maker states it.

    Parameters
    ----------
    name, title : str
    fp32_tflops : float
        Dense peaks in 10^12 operations a second.
    tf32_tflops, fp16_tflops, bf16_tflops : float or None
        None where the GPU has no units for it.
    tensor_cores : tuple of str
        Precisions whose peak is that of tensor cores (AMD: matrix cores); others run on the
        units of FP32, as FP16 on P100.
    memory_gb, memory_gb_per_s : float
        10^9 bytes, and 10^9 bytes a second.
    link_gb_per_s : float or None
        What it sends to others of its server over NVLink or Infinity Fabric, 10^9 bytes a
        second per direction; None where there is only PCIe.
    source : str
    """

    name: str
    title: str
    fp32_tflops: float
    tf32_tflops: float | None
    fp16_tflops: float | None
    bf16_tflops: float | None
    tensor_cores: tuple[Precision, ...]
    memory_gb: float
    memory_gb_per_s: float
    link_gb_per_s: float | None
    source: str

    def tflops(self, precision: Precision) -> float:
        """Tell the peak of matrix products, 10^12 operations a second.

        Raises
        ------
        SynctaxError
            If the GPU has no units for it.
        """
        peaks = {one: getattr(self, f"{one}_tflops") for one in PRECISIONS}
        if peaks[precision] is None:
            known = ", ".join(one for one, peak in peaks.items() if peak is not None)
            raise SynctaxError(
                f"{self.name} has no units for {precision}; it computes in {known}: take "
                "one of these, or another GPU"
            )
        return float(peaks[precision])


@cache
def gpu_types() -> tuple[GpuType, ...]:
    """Read every kind of GPU, in the order of the file.

    Returns
    -------
    tuple of GpuType
    """
    text = files("synctax.cluster.characterize").joinpath("gpus.toml").read_text("utf-8")
    return tuple(_gpu(name, entry) for name, entry in tomllib.loads(text).items())


def gpu_type(name: str) -> GpuType:
    """Find a kind of GPU by its name, in any case.

    Raises
    ------
    SynctaxError
        If there is none of that name.

    Examples
    --------
    >>> gpu_type("V100").tflops("fp32"), gpu_type("h100").link_gb_per_s
    (15.7, 450.0)
    """
    known = {one.name: one for one in gpu_types()}
    found = known.get(name.strip().lower())
    if found is None:
        near = near_gpu(name)
        meant = f"; did you mean {near}?" if near else ""
        raise SynctaxError(f"no GPU type {name!r}; there are {', '.join(known)}{meant}")
    return found


def near_gpu(name: str) -> str:
    """Tell which kind of GPU a name is likely to mean; "" where none is.

    Examples
    --------
    Names as `nvidia-smi` writes them:

    >>> near_gpu("Tesla V100-SXM2-32GB"), near_gpu("NVIDIA A100-SXM4-80GB")
    ('v100', 'a100')
    """
    known = [one.name for one in gpu_types()]
    parts = [one for one in re.split(r"[^a-z0-9]+", name.lower()) if one]
    for one in (*parts, "".join(parts)):
        if one in known:
            return one
    # numbers alone are of other makers' names
    for one in (part for part in parts if not part.isdigit()):
        near = get_close_matches(one, known, n=1, cutoff=0.75)
        if near:
            return near[0]
    return ""


def _gpu(name: str, entry: Mapping[str, Any]) -> GpuType:
    source, bf16, link = entry["source"], entry.get("bf16_tflops"), None
    if "like" in entry:
        same = hardware(entry["like"])
        bf16, link, source = (
            same.bf16_tflops,
            same.link_gb_per_s,
            f"{source}; {same.source}",
        )
    link = entry.get("link_gb_per_s", link)
    return GpuType(
        name,
        entry["title"],
        float(entry["fp32_tflops"]),
        _float(entry.get("tf32_tflops")),
        _float(entry.get("fp16_tflops")),
        _float(bf16),
        tuple(entry["tensor_cores"]),
        float(entry["memory_gb"]),
        float(entry["memory_gb_per_s"]),
        _float(link),
        source,
    )


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
