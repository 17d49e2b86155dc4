"""What an iteration of a job alone takes, and where each number is from."""

from dataclasses import dataclass
from math import inf, nan
from typing import Final

from synctax.cluster.characterize.gpus import GpuType, Precision
from synctax.cluster.characterize.ring import DEFAULT_LATENCY_S, ring_bytes, ring_s
from synctax.cluster.characterize.workloads import Workload
from synctax.notes import Note
from synctax.planning.possible import ImpossibleError, is_number
from synctax.texts import number

EFFICIENCY: Final[dict[Precision, float]] = {
    "fp32": 0.65,
    "tf32": 0.25,
    "fp16": 0.4,
    "bf16": 0.4,
}
"""What matrix products and convolutions reach of the peak of their precision: about the
middle of what published throughputs of one GPU come to, which lie within a third of it."""

MEMORY_EFFICIENCY: Final = 0.75
"""What all other operations reach of the rate of memory."""

_TERA: Final = 1e12
_GIGA: Final = 1e9


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is assumed where nothing was measured.

    Parameters
    ----------
    efficiency : float or None
        What matrix products reach of the peak; None: `EFFICIENCY` of their precision.
    memory_efficiency : float
        What all other operations reach of the rate of memory.
    latency_s : float
        Of a step of a ring.
    """

    efficiency: float | None = None
    memory_efficiency: float = MEMORY_EFFICIENCY
    latency_s: float = DEFAULT_LATENCY_S


@dataclass(frozen=True, slots=True)
class Profile:
    """An iteration of a job that is alone on its servers and their network.

    Parameters
    ----------
    workload : str
    gpus : int
        Workers.
    gpu_type : str
        Empty where it is not known.
    compute_s : float
        Computation of a worker.
    network_s : float
        Communication that is no part of `compute_s`, with workers on several servers; 0
        for one worker.
    local_network_s : float
        The same with all workers on one server; NaN where not known.
    sent_bytes_per_worker : float
        What each worker sends, c of the MoSim paper's equation 6 in one direction.
    barriers : float
        At which all workers meet.
    compute_from, network_from, bytes_from : str
        Where each number is from.
    notes : tuple of Note
    tax_s : float
        Waiting for others that is no transfer, the mean over workers, where it was
        measured; NaN where not known.
    """

    workload: str
    gpus: int
    gpu_type: str
    compute_s: float
    network_s: float
    local_network_s: float
    sent_bytes_per_worker: float
    barriers: float
    compute_from: str
    network_from: str
    bytes_from: str
    notes: tuple[Note, ...] = ()
    tax_s: float = nan


def profile(
    workload: Workload,
    gpus: int,
    *,
    gpu: GpuType,
    nic_bytes_per_s: float,
    nvlink_bytes_per_s: float | None = None,
    assumptions: Assumptions | None = None,
) -> Profile:
    """Tell what an iteration of a workload takes on a number of GPUs.

    Computation is a roofline of two kinds of operations: matrix products and convolutions
    at a share of the GPU's peak, everything else at a share of the rate of its memory. The
    network carries one ring all-reduce of all gradients, after the computation. Numbers
    that the workload brings along are taken as they are.

    Parameters
    ----------
    workload : Workload
    gpus : int
        Workers, 1 or more.
    gpu : GpuType
    nic_bytes_per_s : float
        Of a server, in one direction; may be infinite.
    nvlink_bytes_per_s : float, optional
        What a GPU sends to others of its server; None: as `gpu` has it, NaN: not known.
    assumptions : Assumptions, optional

    Returns
    -------
    Profile

    Raises
    ------
    SynctaxError
        If the GPU does not compute in the precision of the workload.
    ImpossibleError
        Naming a value that cannot be.

    References
    ----------
    MoSim paper (arXiv 2609.23278), sections II-A and IV-A2.
    """
    assumed = Assumptions() if assumptions is None else assumptions
    _check(gpus, nic_bytes_per_s, assumed)
    compute_s, compute_from = _compute(workload, gpu, assumed)
    network_s, network_from = _network(workload, gpus, nic_bytes_per_s, assumed)
    sent, bytes_from = _bytes(workload, gpus)
    link = nvlink_bytes_per_s
    if link is None:
        link = nan if gpu.link_gb_per_s is None else gpu.link_gb_per_s * _GIGA
    return Profile(
        workload.name,
        gpus,
        gpu.name,
        compute_s,
        network_s,
        ring_s(gpus, workload.gradient_bytes, link, assumed.latency_s) if gpus > 1 else 0.0,
        sent,
        workload.barriers,
        compute_from,
        network_from,
        bytes_from,
    )


def _check(gpus: int, nic_bytes_per_s: float, assumed: Assumptions) -> None:
    if gpus < 1:
        raise ImpossibleError("gpus", gpus, "1 or more")
    if not nic_bytes_per_s > 0:
        raise ImpossibleError("nic_bytes_per_s", nic_bytes_per_s, "a number above 0")
    latency = assumed.latency_s
    if not is_number(latency) or not 0 <= latency < inf:
        raise ImpossibleError("latency_s", latency, "a number of 0 or more")
    for name in ("efficiency", "memory_efficiency"):
        share = getattr(assumed, name)
        if share is not None and (not is_number(share) or not 0 < share < inf):
            raise ImpossibleError(name, share, "a number above 0")


def _compute(workload: Workload, gpu: GpuType, assumed: Assumptions) -> tuple[float, str]:
    if workload.compute_s is not None:
        return workload.compute_s, "given"
    share = assumed.efficiency
    if share is None:
        share = EFFICIENCY[workload.dtype]
    peak = gpu.tflops(workload.dtype)
    products_s = workload.flop_per_sample / (peak * _TERA * share)
    memory = gpu.memory_gb_per_s * assumed.memory_efficiency
    others_s = workload.elementwise_bytes_per_sample / (memory * _GIGA)
    words = f"roofline: {number(share)} of {number(peak)} TFLOPS {workload.dtype}"
    if workload.elementwise_bytes_per_sample:
        words += (
            f", {number(assumed.memory_efficiency)} of {number(gpu.memory_gb_per_s)} GB/s"
        )
    return workload.batch_per_gpu * (products_s + others_s), words


def _network(
    workload: Workload, gpus: int, nic_bytes_per_s: float, assumed: Assumptions
) -> tuple[float, str]:
    if gpus == 1:
        return 0.0, "one worker"
    if workload.network_s is not None and workload.measured_gpus in (None, gpus):
        return workload.network_s, "given"
    latency_s = assumed.latency_s
    words = (
        f"ring: {number(nic_bytes_per_s / _GIGA)} GB/s, {number(latency_s * 1e6)} µs a step"
    )
    return ring_s(gpus, workload.gradient_bytes, nic_bytes_per_s, latency_s), words


def _bytes(workload: Workload, gpus: int) -> tuple[float, str]:
    if gpus == 1:
        return 0.0, "one worker"
    sent = workload.sent_bytes_per_worker
    if sent is not None and workload.measured_gpus in (None, gpus):
        return sent, "given"
    words = f"ring of {number(workload.gradient_bytes / 1e6)} MB of gradients"
    return ring_bytes(gpus, workload.gradient_bytes), words
