"""What a synthetic job is: every option of the simulation, checked once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from synctax.synth.delay import Delay, check_delays

JitterLaw = Literal["normal", "student", "gumbel", "frechet", "none"]
JitterScope = Literal["kernel", "block"]
TpOp = Literal["reduce_scatter", "all_reduce"]
Metadata = Literal["full", "none"]
NcclNames = Literal["new", "old", "symmetric"]
SiblingNames = Literal["same", "distinct"]
Descriptions = Literal["torchtitan", "megatron"]
Layout = Literal["torchtitan", "torchtitan-old", "tensorboard", "megatron", "flat"]
Compress = Literal["none", "gz", "zst"]
SyncRecords = Literal["none", "full", "unresolved"]

MAX_XI = 0.5
"""At this shape and above the Fréchet law has no variance to scale."""


@dataclass(frozen=True, slots=True)
class SynthJob:
    """A training job to simulate, and how its traces are to be written.

    World size is `tp * fsdp * dp`; rank = (replica * fsdp + shard) * tp + position. The
    expert groups split the `fsdp` dimension into blocks of `ep` ranks, those of context
    parallelism into blocks of `cp`: the ranks of a sequence shard parameters, too.

    Parameters
    ----------
    tp, fsdp, ep, dp, cp : int
        Sizes of the tensor, sharded-data, expert, replicated-data and context dimensions;
        a dimension of 1 has no collectives.
    layers, steps, first_step : int
        Layers of the model, steps in the window, number of the first `ProfilerStep`.
    microbatches : int
        Forward and backward passes in a step. As FSDP2 does, each gathers parameters and
        reduces gradients of `fsdp`; replicas meet once a step.
    seed : int
        Of the numpy Generator; the same job and seed give the same bytes.
    tp_op : {"reduce_scatter", "all_reduce"}
        What tensor parallelism does in a layer: all-gather and reduce-scatter, or
        all-reduce.
    broadcast : bool
        One broadcast at the start of every step, in the sharded-data group.
    coalesced : int
        Kernels per all-gather of `fsdp`; they share one `Seq`.
    uneven : bool
        All-to-all with splits that differ between ranks.
    jitter_law, jitter, xi
        Law of kernel times, standard deviation relative to the kernel's mean, and shape
        of the Fréchet law. `student` has 5 degrees of freedom. Under `none` nothing is
        random, the CPU included.
    jitter_scope : {"kernel", "block"}
        What the law is that of: each kernel, or each compute block: the kernels between
        two collectives of the `tp` group then take one draw per rank, and their sum has
        the law.
    common_jitter, rank_jitter : float
        Further standard deviations of the same, normal: of what all ranks share, as where
        clocks are throttled, and of what a rank keeps for the whole job.
    cpu_jitter : float
        Mean of the random (exponential) part of a launch's CPU time over its fixed part.
    delays : sequence of Delay
        What is made late on purpose.
    alpha_us, bandwidth_gb_per_s
        Time of a transfer: latency, and 10⁹ bytes per second of the bus.
    tp_payload_bytes, fsdp_payload_bytes, ep_payload_bytes, dp_payload_bytes : int
        Full buffer of a collective (max of in and out).
    cp_payload_bytes : int
        The same of keys and values together, gathered in the forward pass of each layer,
        and of their gradients, reduced and scattered in the backward pass.
    fsdp_grad_payload_bytes : int or None
        Full buffer of a reduction of gradients in `fsdp`; None: that of a gather. Gradients
        are in FP32, so it is twice that of parameters in BF16.
    autograd_thread : bool
        Launch the backward pass from a thread of its own.
    run_ahead_steps : int
        By how many steps the CPU may be ahead of the GPU; 0 synchronises every step.
    metadata : {"full", "none"}
        Whether communication kernels say which collective they are.
    seq, comms_id : bool
        Whether the metadata has `Seq` and `Comms Id`.
    distributed_info : bool
        Whether the trace says its rank and its process groups.
    nccl_names, descriptions, sibling_names
        Era of kernel names, style of group descriptions, and whether sibling groups have
        one name.
    truncate_ranks : bool
        Cut lists of more than 30 ranks on events, as Kineto does.
    stream_step : int
        By how much the stream ids of consecutive ranks differ.
    hosts : int
        Hosts the ranks are spread over, in blocks.
    clock_offset_us, clock_drift_ppm : float
        How much further each host's clock is off, and runs too fast, than that of the
        host before.
    rank_clock_offset_us, rank_clock_drift_ppm : mapping of rank to float
        Values of single ranks, instead of their host's.
    lost_head, lost_tail : mapping of rank to int
        How many collectives of each group a rank loses at the edges of the window.
    start_skew_ms : float
        Ranks start at random within this time, so early ranks wait in the first
        collective.
    cuda_graphs : bool
        Launch each run of compute kernels as one graph.
    sync_records : {"none", "full", "unresolved"}
        Whether the profiler recorded what streams and the CPU waited for (`cuda_sync`
        events); `unresolved`: without what for, as CUDA 12.9 and later do.
    absolute_ts : bool
        Times since the epoch instead of since `baseTimeNanoseconds`.
    whole_us : bool
        Start and end cut to whole µs, as old PyTorch does.
    layout, compress
        Names of the files, and their compression.
    cpu_ops_per_kernel, python_functions : int
        Ranges on the CPU around each launch.
    size_mb : float or None
        Choose `steps` (and fewer `layers` if need be) so that a rank's plain file has
        about this many 10⁶ bytes.
    write_ranks : sequence of int, or None
        Ranks whose files are written; None: all.
    truth_paths : bool
        Add to the truth why the last rank of each collective was late: the critical path
        from the fence, its largest variation, waits for other groups.
    marker : bool
        Write which collective a kernel is into its arguments, for tests.
    """

    tp: int = 4
    fsdp: int = 2
    ep: int = 1
    dp: int = 1
    cp: int = 1
    layers: int = 4
    steps: int = 3
    microbatches: int = 1
    first_step: int = 0
    seed: int = 0
    tp_op: TpOp = "reduce_scatter"
    broadcast: bool = False
    coalesced: int = 1
    uneven: bool = False
    jitter_law: JitterLaw = "gumbel"
    jitter: float = 0.02
    xi: float = 0.15
    jitter_scope: JitterScope = "kernel"
    common_jitter: float = 0.0
    rank_jitter: float = 0.0
    cpu_jitter: float = 0.1
    delays: tuple[Delay, ...] = ()
    alpha_us: float = 10.0
    bandwidth_gb_per_s: float = 300.0
    tp_payload_bytes: int = 33_554_432
    fsdp_payload_bytes: int = 67_108_864
    ep_payload_bytes: int = 16_777_216
    dp_payload_bytes: int = 134_217_728
    cp_payload_bytes: int = 8_388_608
    fsdp_grad_payload_bytes: int | None = None
    autograd_thread: bool = True
    run_ahead_steps: int = 1
    metadata: Metadata = "full"
    seq: bool = True
    comms_id: bool = False
    distributed_info: bool = True
    nccl_names: NcclNames = "new"
    descriptions: Descriptions = "torchtitan"
    sibling_names: SiblingNames = "same"
    truncate_ranks: bool = True
    stream_step: int = 0
    hosts: int = 1
    clock_offset_us: float = 0.0
    clock_drift_ppm: float = 0.0
    rank_clock_offset_us: Mapping[int, float] = field(default_factory=dict)
    rank_clock_drift_ppm: Mapping[int, float] = field(default_factory=dict)
    lost_head: Mapping[int, int] = field(default_factory=dict)
    lost_tail: Mapping[int, int] = field(default_factory=dict)
    start_skew_ms: float = 0.0
    cuda_graphs: bool = False
    sync_records: SyncRecords = "none"
    absolute_ts: bool = False
    whole_us: bool = False
    layout: Layout = "torchtitan"
    compress: Compress = "none"
    cpu_ops_per_kernel: int = 2
    python_functions: int = 0
    size_mb: float | None = None
    write_ranks: tuple[int, ...] | None = None
    truth_paths: bool = False
    marker: bool = False

    def __post_init__(self) -> None:
        _check_limits(self)
        _check_numbers(self)
        _check_choices(self)
        _check_ranks(self)

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self.tp * self.fsdp * self.dp

    @property
    def written(self) -> tuple[int, ...]:
        """Ranks whose files are written, in ascending order."""
        if self.write_ranks is None:
            return tuple(range(self.world))
        return tuple(sorted(set(self.write_ranks)))

    @property
    def grad_payload_bytes(self) -> int:
        """Full buffer of a reduction of gradients in `fsdp`."""
        if self.fsdp_grad_payload_bytes is None:
            return self.fsdp_payload_bytes
        return self.fsdp_grad_payload_bytes

    @property
    def longest_transfer_us(self) -> float:
        """About how long the largest of the collectives takes, in µs."""
        payloads: list[int] = [getattr(self, f"{role}_payload_bytes") for role in ROLES]
        payload_bytes = max(*payloads, self.grad_payload_bytes)
        return self.alpha_us + payload_bytes / self.bandwidth_gb_per_s / 1e3

    def host_of(self, rank: int) -> int:
        """Number of the host of a rank."""
        return rank * self.hosts // self.world

    def clock_offset_ns(self, rank: int) -> int:
        """How far the clock of a rank is off at the start of the job, in ns."""
        default_us = self.clock_offset_us * self.host_of(rank)
        return round(self.rank_clock_offset_us.get(rank, default_us) * 1_000)

    def drift_ppm(self, rank: int) -> float:
        """How much the clock of a rank runs too fast, in parts per million."""
        default_ppm = self.clock_drift_ppm * self.host_of(rank)
        return self.rank_clock_drift_ppm.get(rank, default_ppm)


ROLES = ("tp", "fsdp", "ep", "dp", "cp")
"""Dimensions of the job, in the order in which their streams are numbered."""
_PAYLOADS = (*ROLES, "fsdp_grad")
_AT_LEAST: dict[str, float] = {
    **dict.fromkeys((*ROLES, "layers", "steps", "microbatches", "coalesced", "hosts"), 1),
    **dict.fromkeys(("first_step", "seed", "run_ahead_steps", "stream_step"), 0),
    **dict.fromkeys(("cpu_ops_per_kernel", "python_functions", "start_skew_ms"), 0),
    **dict.fromkeys(("jitter", "common_jitter", "rank_jitter", "cpu_jitter"), 0),
    "alpha_us": 0,
    **{f"{role}_payload_bytes": 1 for role in _PAYLOADS},
    "bandwidth_gb_per_s": 1e-3,
    "clock_offset_us": -1e9,
    "clock_drift_ppm": -1e5,
}
MAX_WORLD = 100_000
MAX_LAYERS = 10_000
# Beyond these, times would leave the 64 bits or the years that traces know.
_AT_MOST: dict[str, float] = {
    **dict.fromkeys((*ROLES, "hosts"), MAX_WORLD),
    **dict.fromkeys(("layers", "microbatches", "coalesced", "stream_step"), MAX_LAYERS),
    **dict.fromkeys(("steps", "run_ahead_steps"), 100_000_000),
    "first_step": 1_000_000_000,
    "seed": 2**63 - 1,
    **dict.fromkeys(("jitter", "common_jitter", "rank_jitter", "cpu_jitter"), 1e3),
    **dict.fromkeys(("cpu_ops_per_kernel", "python_functions"), 1e3),
    **{f"{role}_payload_bytes": 1e13 for role in _PAYLOADS},
    "alpha_us": 1e6,
    "bandwidth_gb_per_s": 1e6,
    "start_skew_ms": 1e5,
    "clock_offset_us": 1e9,
    "clock_drift_ppm": 1e5,
}
MAX_SIZE_MB = 1e7
MAX_TRANSFER_US = 1e9
MAX_LOST = 1_000_000_000
_CHOICES = {
    "tp_op": TpOp,
    "jitter_law": JitterLaw,
    "jitter_scope": JitterScope,
    "metadata": Metadata,
    "nccl_names": NcclNames,
    "descriptions": Descriptions,
    "sibling_names": SiblingNames,
    "layout": Layout,
    "compress": Compress,
    "sync_records": SyncRecords,
}


def _check_limits(job: SynthJob) -> None:
    for name, least in _AT_LEAST.items():
        value = getattr(job, name)
        if value is not None and not value >= least:
            raise ValueError(f"{name} must be at least {_figure(least)}, got {value}")
    for name, most in _AT_MOST.items():
        value = getattr(job, name)
        if value is not None and not value <= most:
            raise ValueError(f"{name} must be at most {_figure(most)}, got {value}")
    for name in ("clock_offset_us", "clock_drift_ppm"):
        for value in getattr(job, f"rank_{name}").values():
            if not _AT_LEAST[name] <= value <= _AT_MOST[name]:
                raise ValueError(
                    f"rank_{name} must lie within {_AT_MOST[name]:g} of 0, got {value}"
                )


def _figure(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def _check_numbers(job: SynthJob) -> None:
    if job.world > MAX_WORLD:
        raise ValueError(
            f"tp * fsdp * dp must be at most {MAX_WORLD:,} ranks, got {job.world:,}"
        )
    passed = job.layers * job.microbatches * job.coalesced
    if passed > MAX_LAYERS:
        raise ValueError(
            f"layers * microbatches * coalesced must be at most {MAX_LAYERS:,}, "
            f"got {passed:,}"
        )
    if job.longest_transfer_us > MAX_TRANSFER_US:
        raise ValueError(
            "the longest transfer (payload_bytes / bandwidth_gb_per_s) must take at most "
            f"{MAX_TRANSFER_US:g} us, got {job.longest_transfer_us:g}"
        )
    if job.size_mb is not None and not 0 < job.size_mb < MAX_SIZE_MB:
        raise ValueError(
            f"size_mb must lie between 0 and {MAX_SIZE_MB:g}, got {job.size_mb}"
        )
    if not 0 < job.xi < MAX_XI:
        raise ValueError(f"xi must lie between 0 and {MAX_XI}, got {job.xi}")
    if job.jitter_scope == "block" and job.tp == 1:
        raise ValueError("jitter_scope block needs tp collectives between blocks, got tp 1")
    for name in ("ep", "cp"):
        blocks = getattr(job, name)
        if job.fsdp % blocks:
            raise ValueError(
                f"{name} must divide fsdp, got {name} {blocks} and fsdp {job.fsdp}"
            )
    if job.hosts > job.world:
        raise ValueError(f"{job.hosts} hosts need as many ranks, the world has {job.world}")


def _check_choices(job: SynthJob) -> None:
    for name, choices in _CHOICES.items():
        if getattr(job, name) not in get_args(choices):
            known = ", ".join(get_args(choices))
            raise ValueError(f"{name} must be one of {known}, got {getattr(job, name)}")


def _check_ranks(job: SynthJob) -> None:
    _in_world(job, "delays", (delay.rank for delay in job.delays))
    _in_world(job, "write_ranks", job.write_ranks or ())
    for name in ("lost_head", "lost_tail", "rank_clock_offset_us", "rank_clock_drift_ppm"):
        _in_world(job, name, getattr(job, name))
    for name in ("lost_head", "lost_tail"):
        if any(count < 0 for count in getattr(job, name).values()):
            raise ValueError(f"{name} must not be negative, got {getattr(job, name)}")
        if any(count > MAX_LOST for count in getattr(job, name).values()):
            raise ValueError(f"{name} must be at most {MAX_LOST:,}")
    if job.write_ranks is not None and not job.write_ranks:
        raise ValueError("write_ranks names no rank")
    for delay in job.delays:
        if not 0 <= delay.step < job.steps and job.size_mb is None:
            raise ValueError(
                f"a delay names step {delay.step}, the job has {job.steps} steps"
            )
    check_delays(job.delays, ROLES)


def _in_world(job: SynthJob, name: str, ranks: Iterable[int]) -> None:
    for rank in ranks:
        if not 0 <= rank < job.world:
            raise ValueError(f"{name} names rank {rank}, the world has {job.world} ranks")
