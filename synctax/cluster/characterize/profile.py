"""What an iteration of a job alone takes, and where each number is from."""

from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Final

from synctax.cluster.characterize.gpus import GpuType, Precision
from synctax.cluster.characterize.ring import (
    DEFAULT_LATENCY_S,
    ring_bytes,
    ring_s,
    two_level_s,
)
from synctax.cluster.characterize.workloads import Workload
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.planning.possible import ImpossibleError, is_number
from synctax.texts import BYTES_PER_GB, number, rate_gb_per_s, size_bytes

EFFICIENCY: Final[dict[Precision, float]] = {
    "fp32": 0.65,
    "tf32": 0.25,
    "fp16": 0.4,
    "bf16": 0.4,
}
"""What matrix products and convolutions reach of the peak of their precision: about the
middle of what twelve published throughputs of one GPU (NVIDIA's of ResNet-50 and
BERT-large, TensorFlow's and Lambda's of ResNet-50 and Inception-v3) come to. These are met
within a factor of 1.45, others within one of 2.2 (docs/characterizing.md)."""

MEMORY_EFFICIENCY: Final = 0.75
"""What all other operations reach of the rate of memory."""

STATE_BYTES_PER_PARAMETER: Final = 16
"""Of weights, gradients and Adam's state, in FP32 as with mixed precision (Rajbhandari et
al. 2020, ZeRO, section 3.1)."""

_TERA: Final = 1e12


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
    gpus_per_server : int or None
        None: one ring over all workers, at the rate of a NIC, wherever they are. A number:
        workers sit on servers of so many, and reduce there before they do over NICs.
    """

    efficiency: float | None = None
    memory_efficiency: float = MEMORY_EFFICIENCY
    latency_s: float = DEFAULT_LATENCY_S
    gpus_per_server: int | None = None


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
        What goes out through the NIC of each server of a job that has several: in a ring
        what each worker sends, c of the MoSim paper's equation 6 in one direction.
    barriers : float
        At which all workers meet.
    compute_from, network_from, bytes_from : str
        Where each number is from.
    notes : tuple of Note
    tax_s : float
        Waiting for others that is no transfer, the mean over workers, where it was
        measured; NaN where not known.
    hides : bool
        Whether `network_s` may leave out what computation hides: the bytes over it are then
        no rate of a NIC.
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
    hides: bool = False


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
    link = nvlink_bytes_per_s
    if link is None:
        link = nan if gpu.link_gb_per_s is None else gpu.link_gb_per_s * BYTES_PER_GB
    wires = _Wires(nic_bytes_per_s, link, assumed.latency_s)
    compute_s, compute_from = _compute(workload, gpu, assumed)
    if gpus == 1:
        sending = _Sending(0.0, 0.0, "one worker", "one worker")
    elif workload.network_s is not None and workload.sent_bytes_per_worker is not None:
        sending = _given(workload, gpus)
    elif assumed.gpus_per_server is None:
        sending = _ring(workload, gpus, wires)
    else:
        sending = _two_levels(workload, gpus, wires, assumed.gpus_per_server)
    return Profile(
        workload=workload.name,
        gpus=gpus,
        gpu_type=gpu.name,
        compute_s=compute_s,
        network_s=sending.network_s,
        local_network_s=ring_s(gpus, workload.gradient_bytes, link, assumed.latency_s)
        if gpus > 1
        else 0.0,
        sent_bytes_per_worker=sending.sent_bytes,
        barriers=workload.barriers,
        compute_from=compute_from,
        network_from=sending.network_from,
        bytes_from=sending.bytes_from,
        notes=(*sending.notes, *_too_large(workload, gpu)),
    )


def above_the_line(one: Profile, nic_bytes_per_s: float) -> tuple[Note, ...]:
    """Say where a profile sends faster than a NIC can.

    Parameters
    ----------
    one : Profile
    nic_bytes_per_s : float
        Of a server, in one direction.
    """
    # one of 10^9 more is rounding
    if not one.sent_bytes_per_worker > nic_bytes_per_s * one.network_s * (1 + 1e-9):
        return ()
    nic = rate_gb_per_s(nic_bytes_per_s / BYTES_PER_GB)
    text = (
        f"profiles that send faster than the {nic} of a NIC: they are given so, of a "
        "faster network"
    )
    return (Note("rate_above_nic", 1, text),)


def _too_large(workload: Workload, gpu: GpuType) -> tuple[Note, ...]:
    """Say where a GPU cannot hold the copy of the model that each has."""
    state = STATE_BYTES_PER_PARAMETER * workload.parameters
    if workload.compute_s is not None or not state > gpu.memory_gb * BYTES_PER_GB:
        return ()
    text = (
        f"profiles of {workload.name}, a copy of which no {gpu.name} can hold: weights, "
        f"gradients and Adam's state take {size_bytes(state)} of "
        f"{size_bytes(gpu.memory_gb * BYTES_PER_GB)}; plan finds layouts that fit"
    )
    return (Note("state_exceeds_memory", 1, text),)


@dataclass(frozen=True, slots=True)
class _Wires:
    nic_bytes_per_s: float
    link_bytes_per_s: float
    latency_s: float

    def __str__(self) -> str:
        nic = number(self.nic_bytes_per_s / BYTES_PER_GB)
        return f"{nic} GB/s, {number(self.latency_s * 1e6)} µs a step"


@dataclass(frozen=True, slots=True)
class _Sending:
    network_s: float
    sent_bytes: float
    network_from: str
    bytes_from: str
    notes: tuple[Note, ...] = ()


def _check(gpus: int, nic_bytes_per_s: float, assumed: Assumptions) -> None:
    if gpus < 1:
        raise ImpossibleError("gpus", gpus, "1 or more")
    if not nic_bytes_per_s > 0:
        raise ImpossibleError("nic_bytes_per_s", nic_bytes_per_s, "a number above 0")
    latency = assumed.latency_s
    if not is_number(latency) or not 0 <= latency < inf:
        raise ImpossibleError("latency_s", latency, "a number of 0 or more")
    servers_of = assumed.gpus_per_server
    if servers_of is not None and servers_of < 1:
        raise ImpossibleError("gpus_per_server", servers_of, "1 or more")
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
    others_s = workload.elementwise_bytes_per_sample / (memory * BYTES_PER_GB)
    words = f"roofline: {number(share)} of {number(peak)} TFLOPS {workload.dtype}"
    if workload.elementwise_bytes_per_sample:
        words += (
            f", {number(assumed.memory_efficiency)} of {number(gpu.memory_gb_per_s)} GB/s"
        )
    return workload.batch_per_gpu * (products_s + others_s), words


def _given(workload: Workload, gpus: int) -> _Sending:
    """Take what is known; for another number of workers as a ring would send it."""
    network_s, sent = workload.network_s or 0.0, workload.sent_bytes_per_worker or 0.0
    known = workload.measured_gpus
    if known is None or known == gpus:
        return _Sending(network_s, sent, "given", "given")
    if known == 1:
        raise SynctaxError(
            f"{workload.name} is known on one GPU, where nothing is sent; leave out its "
            "network_s and sent_bytes_per_worker, or give those of several GPUs"
        )
    # an all-reduce of the same gradients
    scale = ring_bytes(gpus, 1.0) / ring_bytes(known, 1.0)
    words = f"given for {known} workers, scaled as a ring"
    return _Sending(scale * network_s, scale * sent, words, words)


def _ring(workload: Workload, gpus: int, wires: _Wires) -> _Sending:
    payload = workload.gradient_bytes
    return _Sending(
        ring_s(gpus, payload, wires.nic_bytes_per_s, wires.latency_s),
        ring_bytes(gpus, payload),
        f"ring: {wires}",
        f"ring of {size_bytes(payload)} of gradients",
    )


def _two_levels(workload: Workload, gpus: int, wires: _Wires, per_server: int) -> _Sending:
    if gpus % per_server:
        raise ImpossibleError(
            "gpus_per_server", per_server, f"a number that divides the {gpus} GPUs of a job"
        )
    payload = workload.gradient_bytes
    if isnan(wires.link_bytes_per_s):
        raise SynctaxError(
            f"nothing tells how fast GPUs of a server send to each other; two levels over "
            f"servers of {per_server} need it (NVLink, or PCIe)"
        )
    rates = wires.link_bytes_per_s, wires.nic_bytes_per_s
    servers = gpus // per_server
    note = Note(
        "placement_assumed",
        1,
        f"profiles that hold only where a job has {per_server} GPUs on each of its servers",
    )
    return _Sending(
        two_level_s(gpus, per_server, payload, rates, wires.latency_s),
        ring_bytes(servers, payload),
        f"two levels: {number(rates[0] / BYTES_PER_GB)} GB/s in servers of {per_server}; "
        f"{wires}",
        f"through a NIC: ring of {size_bytes(payload)} over {servers} servers",
        (note,),
    )
