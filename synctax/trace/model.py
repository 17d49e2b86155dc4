"""What the profiler of one rank wrote: typed columns, and what had to be left out.

These types know nothing of a file format; `kineto.py` fills them. All times are int64
ns since the Unix epoch where the trace says so (`baseTimeNanoseconds` is added), else
since whatever the trace's own origin is.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from synctax.arrays import I8, I32, I64, U64
from synctax.notes import Note


class EventKind(IntEnum):
    """The kinds of events that are kept; everything else is counted and dropped."""

    CPU_OP = 0
    ANNOTATION = 1
    """`user_annotation`: a range that the program or the framework named."""
    GPU_ANNOTATION = 2
    KERNEL = 3
    MEMCPY = 4
    MEMSET = 5
    RUNTIME = 6
    """A call into CUDA, HIP or XPU, runtime or driver."""
    SYNC = 7
    """A `cuda_sync` record: who waited for which event or stream."""
    CUDA_EVENT = 8


GPU_KINDS = (EventKind.KERNEL, EventKind.MEMCPY, EventKind.MEMSET)


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """A process group as the trace's metadata declares it.

    `ranks` are global ranks in order, None where the list is absent or was truncated.
    """

    name: str
    description: str = ""
    backend: str = ""
    size: int | None = None
    ranks: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU of the host, by the id that kernels use."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class TraceMeta:
    """What a trace says of itself outside its events; None or empty where it is silent."""

    rank: int | None = None
    world_size: int | None = None
    backend: str | None = None
    nccl_version: str | None = None
    groups: tuple[GroupConfig, ...] = ()
    host: str | None = None
    devices: tuple[Device, ...] = ()
    job: str | None = None
    """Job name or trace id: traces of one job agree in it."""
    base_time_ns: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    """Other versions found (`cuda_runtime`, `cuda_driver`, `cupti`, `pytorch`)."""
    profiler_start_ns: int | None = None
    """The profiler's own mark of its start (`Iteration Start`), same clock as events."""
    profiler_end_ns: int | None = None
    """The profiler's own mark of its end (`Record Window End`), same clock as events."""
    runner_threads: tuple[int, ...] = ()
    """Threads of a CPU backend that run collectives (gloo: two a group, in the order in
    which groups were made), where the recorder listed them."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """The threads and streams events lie on, by lane number.

    Parameters
    ----------
    process, thread : (n,) int64
        Kineto's `pid` and `tid` (for GPU events: device and stream).
    label : n strings
        Thread name from the metadata events (`pt_autograd_0`), else empty.
    """

    process: I64
    thread: I64
    label: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a rank, in order of start (ties: in order of the file).

    Every column has one entry an event. Codes index `RankTrace.strings`, lanes index
    `RankTrace.lanes`; -1 stands for absent.

    Parameters
    ----------
    kind : (n,) int8
        `EventKind`.
    name : (n,) int32
        Code of the name.
    start_ns, duration_ns : (n,) int64
        Exact; durations are never negative.
    lane : (n,) int32
        Lane number.
    device, stream : (n,) int32
        For GPU events and syncs, else -1. Stream 0 is a valid stream.
    correlation, external_id : (n,) int64
        Links a runtime call with what it launched; an operator with its children.
    """

    kind: I8
    name: I32
    start_ns: I64
    duration_ns: I64
    lane: I32
    device: I32
    stream: I32
    correlation: I64
    external_id: I64

    def __len__(self) -> int:
        return int(self.start_ns.size)


@dataclass(frozen=True, slots=True)
class KernelArgs:
    """Launch geometry of kernels; one row a kernel that has any.

    `event` (m,) int64 indexes `Events`; `geometry` (m,) int32 is the code of a text like
    `24x1x1/544x1x1` (grid/block); `graph_node` (m,) int64 is the CUDA graph node id.
    """

    event: I64
    geometry: I32
    graph_node: I64


@dataclass(frozen=True, slots=True)
class SyncArgs:
    """What a `cuda_sync` record waited for; all (m,) int64, -1 where unresolved.

    `event` indexes `Events`.
    """

    event: I64
    wait_stream: I64
    wait_correlation: I64
    wait_event_id: I64


@dataclass(frozen=True, slots=True)
class CommArgs:
    """Metadata of communication, of kernels and of CPU ranges; one row an event with any.

    Rows exist for kernels with collective metadata, for `record_param_comms`, for
    `nccl:*`/`gloo:*` ranges and for `c10d::*` operators, in order of `event`.

    Parameters
    ----------
    event : (m,) int64
        Index into `Events`.
    collective, dtype, group_name, group_description, group_ranks, in_split, out_split,
    input_dims, input_type : (m,) int32
        Codes of the text as it stands in the trace, -1 where absent. `group_ranks` may be
        truncated (`[0, 1, ..., ...]`); `input_dims` and `input_type` are JSON text.
    in_elements, out_elements, group_size, seq, src, dst, rank_start, rank_stride :
        (m,) int64
        -1 where absent.
    comms_id : (m,) uint64
        0 where absent.
    """

    event: I64
    collective: I32
    dtype: I32
    group_name: I32
    group_description: I32
    group_ranks: I32
    in_split: I32
    out_split: I32
    input_dims: I32
    input_type: I32
    in_elements: I64
    out_elements: I64
    group_size: I64
    seq: I64
    src: I64
    dst: I64
    rank_start: I64
    rank_stride: I64
    comms_id: U64


@dataclass(frozen=True, slots=True)
class RankTrace:
    """One profiler window of one rank.

    `strings` is the dictionary of every coded column; `truncated` says that the file
    ended before the trace did; `notes` lists repairs and exclusions of reading;
    `bytes_read` is the size of the plain JSON text.
    """

    path: str
    meta: TraceMeta
    events: Events
    lanes: Lanes
    kernels: KernelArgs
    syncs: SyncArgs
    comms: CommArgs
    strings: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    truncated: bool = False
    bytes_read: int = 0
