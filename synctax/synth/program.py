"""What every rank launches in one step, in order: the same program on all of them."""

from dataclasses import dataclass, field, replace
from typing import Literal

from synctax.arrays import NS_PER_US
from synctax.synth.groups import Dimension, dimensions
from synctax.synth.job import SynthJob
from synctax.synth.kernels import (
    ADD,
    ATTENTION,
    ATTENTION_BACKWARD,
    GEMM,
    GEMM_BACKWARD,
    NORM,
    NORM_BACKWARD,
    OPTIMIZER,
    ROPE,
    SILU,
    SILU_BACKWARD,
    Kernel,
)

KERNEL_CPU_NS = 9_000
"""CPU time to launch one kernel, its operators included."""
COMM_CPU_NS = 40_000
_BROADCAST_BYTES = 1_048_576

ITEM_BYTES = {"BFloat16": 2, "Float": 4}


@dataclass(frozen=True, slots=True)
class Comm:
    """One collective of a step, as all groups of its dimension do it.

    Parameters
    ----------
    dimension : int
        Index into `Program.dimensions`.
    op : str
        `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all` or `broadcast`.
    elements : int
        Full buffer; a multiple of the group's size.
    dtype : str
        As torch writes it in the trace.
    transfer_ns : int
        Time from the last arrival to the common end.
    fenced : bool
        It waits for the compute kernels launched before it.
    ordinal, seq_ordinal : int
        Position among the collectives of its group in the step, of kernels and of calls.
    uneven : bool
        Split sizes differ between ranks.
    """

    dimension: int
    op: str
    elements: int
    dtype: str
    transfer_ns: int
    fenced: bool
    ordinal: int
    seq_ordinal: int
    uneven: bool = False

    @property
    def payload_bytes(self) -> int:
        """Bytes of the full buffer."""
        return self.elements * ITEM_BYTES[self.dtype]

    @property
    def symmetric(self) -> bool:
        """Whether all ranks leave it together."""
        return self.op != "broadcast" and not self.uneven


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of the program: either `kernel` or `comm` is set."""

    kernel: Kernel | None
    comm: Comm | None
    backward: bool
    slot: int


@dataclass(frozen=True, slots=True)
class Walk:
    """One stretch of GPU work.

    `compute`: kernels `first` to `last` (exclusive) in a row. `comm`: collective `first`.
    `wait`: the compute stream waits for collective `first`.
    """

    kind: Literal["compute", "comm", "wait"]
    first: int
    last: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """One launching call on the CPU, for one kernel or for a graph of several.

    Parameters
    ----------
    first, last : int
        Its launches, the last one excluded.
    cpu_ns : int
        CPU time, without the random part.
    waits : tuple of int
        Collectives that the compute stream is told to wait for just before.
    """

    first: int
    last: int
    cpu_ns: int
    waits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """One step.

    `compute` and `comms` are the positions of the compute kernels and of the collectives
    among `launches`; `per_step` and `seq_per_step` count the kernels and the calls of
    each dimension.
    """

    dimensions: tuple[Dimension, ...]
    launches: tuple[Launch, ...]
    walk: tuple[Walk, ...]
    slots: tuple[Slot, ...]
    compute: tuple[int, ...]
    comms: tuple[int, ...]
    per_step: tuple[int, ...]
    seq_per_step: tuple[int, ...]


def build(job: SynthJob) -> Program:
    """Lay out one step of a transformer with `job.layers` layers, and its optimizer."""
    builder = _Builder(job, dimensions(job))
    if job.broadcast:
        builder.broadcast()
    scattered: tuple[int, ...] = ()
    for _ in range(job.microbatches):
        scattered = _microbatch(builder)
    builder.wait(scattered[-1:])
    builder.wait(builder.comm("dp", "all_reduce", dtype="Float"))
    builder.kernels(OPTIMIZER, OPTIMIZER)
    return builder.finish()


def _microbatch(builder: "_Builder") -> tuple[int, ...]:
    """Go forward and backward through all layers; return where gradients are reduced."""
    job = builder.job
    gathered = builder.gather()
    for layer in range(job.layers):
        following = builder.gather() if layer + 1 < job.layers else ()
        builder.wait(gathered)
        _forward(builder)
        gathered = following
    builder.backward = True
    scattered: tuple[int, ...] = ()
    gathered = builder.gather()
    for layer in range(job.layers):
        following = builder.gather() if layer + 1 < job.layers else ()
        builder.wait(gathered)
        _backward(builder)
        scattered += builder.scatter()
        gathered = following
    builder.backward = False
    return scattered


def _forward(builder: "_Builder") -> None:
    builder.kernels(NORM)
    builder.tp_enter()
    builder.kernels(GEMM, ROPE)
    builder.exposed("cp", "all_gather")
    builder.kernels(ATTENTION, GEMM)
    builder.tp_leave()
    builder.kernels(ADD, NORM)
    builder.tp_enter()
    builder.exposed("ep", "all_to_all")
    builder.kernels(GEMM, SILU, GEMM)
    builder.exposed("ep", "all_to_all")
    builder.tp_leave()
    builder.kernels(ADD)


def _backward(builder: "_Builder") -> None:
    builder.tp_enter()
    builder.exposed("ep", "all_to_all")
    builder.kernels(GEMM_BACKWARD, GEMM_BACKWARD, SILU_BACKWARD, GEMM_BACKWARD)
    builder.exposed("ep", "all_to_all")
    builder.tp_leave()
    builder.kernels(NORM_BACKWARD, ADD)
    builder.tp_enter()
    builder.kernels(GEMM_BACKWARD, ATTENTION_BACKWARD)
    builder.exposed("cp", "reduce_scatter")
    builder.kernels(ROPE, GEMM_BACKWARD, GEMM_BACKWARD)
    builder.tp_leave()
    builder.kernels(NORM_BACKWARD, ADD)


@dataclass(slots=True)
class _Builder:
    job: SynthJob
    dims: tuple[Dimension, ...]
    backward: bool = False
    launches: list[Launch] = field(default_factory=list)
    walk: list[Walk] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    open_from: int | None = None
    pending: tuple[int, ...] = ()
    ordinals: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def kernels(self, *kernels: Kernel) -> None:
        """Launch compute kernels."""
        if self.open_from is None:
            self.open_from = len(self.launches)
        for kernel in kernels:
            position = len(self.launches)
            graph = self.job.cuda_graphs and position > self.open_from
            if graph:
                slot = self.slots.pop()
                longer = replace(slot, last=position + 1, cpu_ns=KERNEL_CPU_NS * 2)
                self.slots.append(longer)
            else:
                self.slot(position, KERNEL_CPU_NS)
            self.launches.append(Launch(kernel, None, self.backward, len(self.slots) - 1))

    def close(self) -> None:
        """End the current run of compute kernels."""
        if self.open_from is not None:
            self.walk.append(Walk("compute", self.open_from, len(self.launches)))
            self.open_from = None

    def wait(self, positions: tuple[int, ...]) -> None:
        """Let the compute stream wait for the last of these collectives."""
        if positions:
            self.close()
            self.walk.append(Walk("wait", positions[-1]))
            self.pending += positions[-1:]

    def slot(self, position: int, cpu_ns: int) -> None:
        """Call the launch of one kernel, after the waits that were asked for."""
        self.slots.append(Slot(position, position + 1, cpu_ns, self.pending))
        self.pending = ()

    def comm(
        self,
        key: str,
        op: str,
        *,
        dtype: str = "BFloat16",
        fenced: bool = True,
        parts: int = 1,
        payload_bytes: int | None = None,
    ) -> tuple[int, ...]:
        """Launch a collective as `parts` kernels; nothing where the job lacks the group."""
        number = next((i for i, dim in enumerate(self.dims) if dim.key == key), None)
        if number is None:
            return ()
        self.close()
        if payload_bytes is None:
            payload_bytes = int(getattr(self.job, f"{key}_payload_bytes")) // parts
        size = self.dims[number].size
        elements = max(1, payload_bytes // ITEM_BYTES[dtype] // size) * size
        transfer_ns = _transfer_ns(self.job, op, elements * ITEM_BYTES[dtype], size)
        call = self.calls.setdefault(key, 0)
        self.calls[key] += 1
        positions = []
        for _ in range(parts):
            ordinal = self.ordinals.setdefault(key, 0)
            self.ordinals[key] += 1
            uneven = self.job.uneven and op == "all_to_all"
            comm = Comm(
                number, op, elements, dtype, transfer_ns, fenced, ordinal, call, uneven
            )
            position = len(self.launches)
            self.slot(position, COMM_CPU_NS)
            self.launches.append(Launch(None, comm, self.backward, len(self.slots) - 1))
            self.walk.append(Walk("comm", position))
            positions.append(position)
        return tuple(positions)

    def exposed(self, key: str, op: str, *, payload_bytes: int | None = None) -> None:
        """Launch a collective that the compute stream waits for at once."""
        self.wait(self.comm(key, op, payload_bytes=payload_bytes))

    def gather(self) -> tuple[int, ...]:
        """Prefetch the parameters of a layer beside the compute stream."""
        return self.comm("fsdp", "all_gather", fenced=False, parts=self.job.coalesced)

    def scatter(self) -> tuple[int, ...]:
        """Reduce the gradients of a layer."""
        grads = self.job.grad_payload_bytes
        return self.comm("fsdp", "reduce_scatter", dtype="Float", payload_bytes=grads)

    def broadcast(self) -> None:
        """Send buffers from the first rank of the sharded, else of the tensor, group."""
        key = "fsdp" if self.job.fsdp > 1 else "tp"
        self.exposed(key, "broadcast", payload_bytes=_BROADCAST_BYTES)

    def tp_enter(self) -> None:
        """Gather the sequence, where it is sharded."""
        if self.job.tp_op == "reduce_scatter":
            self.exposed("tp", "all_gather")

    def tp_leave(self) -> None:
        """Sum what the tensor-parallel ranks computed."""
        self.exposed("tp", self.job.tp_op)

    def finish(self) -> Program:
        """Freeze the step."""
        self.close()
        positions = range(len(self.launches))
        return Program(
            self.dims,
            tuple(self.launches),
            tuple(self.walk),
            tuple(self.slots),
            tuple(i for i in positions if self.launches[i].comm is None),
            tuple(i for i in positions if self.launches[i].comm is not None),
            tuple(self.ordinals.get(dim.key, 0) for dim in self.dims),
            tuple(self.calls.get(dim.key, 0) for dim in self.dims),
        )


def _transfer_ns(job: SynthJob, op: str, payload_bytes: int, size: int) -> int:
    """Time of a transfer at bus bandwidth, with nccl-tests' factors."""
    factor = {"all_reduce": 2 * (size - 1) / size, "broadcast": 1.0}
    wire_bytes = factor.get(op, (size - 1) / size) * payload_bytes
    return round(job.alpha_us * NS_PER_US + wire_bytes / job.bandwidth_gb_per_s)


def split_elements(comm: Comm, size: int) -> list[list[int]]:
    """Say what each rank sends to each other in an all-to-all with uneven splits.

    Parameters
    ----------
    comm : Comm
        The collective.
    size : int
        Ranks in the group.

    Returns
    -------
    size lists of size int
        Elements that rank `i` of the group sends to rank `j`.
    """
    unit = max(1, comm.elements // (2 * size))
    return [[(1 + (i + 2 * j) % 3) * unit for j in range(size)] for i in range(size)]


def in_out_elements(comm: Comm, size: int, member: int) -> tuple[int, int]:
    """Size the input and output buffers of one rank of the group.

    Parameters
    ----------
    comm : Comm
        The collective.
    size : int
        Ranks in the group.
    member : int
        Position of the rank in its group.

    Returns
    -------
    (int, int)
        Elements in and out.
    """
    if comm.uneven:
        splits = split_elements(comm, size)
        return sum(splits[member]), sum(row[member] for row in splits)
    if comm.op == "all_gather":
        return comm.elements // size, comm.elements
    if comm.op == "reduce_scatter":
        return comm.elements, comm.elements // size
    return comm.elements, comm.elements
