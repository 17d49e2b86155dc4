"""What one rank contributes to its collectives, and what ranks have in common.

`RankCollectives` is all that matching needs of a rank: it is small, so it is what travels
from the process (or machine) that read the file.
"""

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

import numpy as np

from synctax.arrays import I8, I32, I64, U64, Bool
from synctax.notes import Note
from synctax.trace import names


class Op(IntEnum):
    """The collective operations, named as torch.distributed names them."""

    ALL_REDUCE = 0
    ALL_GATHER = 1
    REDUCE_SCATTER = 2
    ALL_TO_ALL = 3
    BROADCAST = 4
    REDUCE = 5
    GATHER = 6
    SCATTER = 7
    SEND_RECV = 8
    BARRIER = 9
    UNKNOWN = 10

    @property
    def label(self) -> str:
        """The name that users see: `all_reduce`."""
        return self.name.lower()


SYMMETRIC = frozenset(
    {Op.ALL_REDUCE, Op.ALL_GATHER, Op.REDUCE_SCATTER, Op.ALL_TO_ALL, Op.BARRIER}
)
"""Operations that no rank leaves before every rank has entered and sent its part."""

IS_SYMMETRIC: Bool = np.array([op in SYMMETRIC for op in Op])
"""Whether each `Op` is one of them, by its number."""


UNLABELLED = names.UNLABELLED
"""Role of a group that stands for a stream without metadata, as others of no name."""


class Origin(StrEnum):
    """How the ranks of a group are known; the values are what users see."""

    KERNEL = "kernel"
    """From the metadata of its collectives."""
    PG_CONFIG = "pg_config"
    """From the groups that the trace declares."""
    STRIDE = "stride"
    """From the first rank and the stride."""
    INFERRED = "inferred"
    """From the stream: there is no metadata."""


@dataclass(frozen=True, slots=True)
class Group:
    """A process group as one rank knows it.

    Parameters
    ----------
    name : str
        The name of the process group; not unique (sibling groups share it). Empty where
        the trace has no metadata.
    ranks : tuple of int, or None
        Global ranks in ascending order; None where the trace does not tell.
    role : str
        `tp`, `dp`, `fsdp`, `ep`, `pp`, `cp`, ... where names.toml knows the description,
        else the description, else `pg NAME`, else `unlabelled`.
    size : int or None
        Declared number of ranks.
    origin : str
        How `ranks` is known: `kernel`, `pg_config`, `stride` (from start and stride) or
        `inferred` (from the stream: no metadata).
    stream : int
        For `inferred` groups: ordinal (0, 1, ...) of the stream among this rank's
        communication streams without metadata; else -1.
    """

    name: str
    ranks: tuple[int, ...] | None
    role: str
    size: int | None
    origin: str
    stream: int = -1


@dataclass(frozen=True, slots=True)
class RankCollectives:
    """Every communication kernel (or gloo span) of one rank and window.

    Rows are in order of start. One entry a participation in every array.

    Parameters
    ----------
    start_ns, duration_ns : (n,) int64
        Exact, on this rank's own clock.
    launch_ns : (n,) int64
        When the host launched it, or issued it to a thread of the backend, on the same
        clock; `start_ns` where that is unknown.
    op : (n,) int8
        `Op`.
    group : (n,) int32
        Index into `groups`.
    kernel, dtype : (n,) int32
        Codes into `strings`: kernel name, torch dtype name; -1 where unknown.
    payload_bytes : (n,) int64
        max(in, out) bytes as in nccl-tests (for all-gather and reduce-scatter the full
        buffer, not the shard); -1 where unknown.
    seq : (n,) int64
        `Seq`, -1 where absent. Coalesced operations share it.
    comms_id : (n,) uint64
        `Comms Id`, 0 where absent.
    step : (n,) int64
        Number N of the `ProfilerStep#N` it belongs to, -1 where none.
    stream : (n,) int64
        Stream or thread it ran on.
    uneven : (n,) bool
        The split sizes of an all-to-all are known and differ.
    named : (n,) bool
        The operation is known from metadata or a name, not guessed.
    peer : (n,) int64
        For send/recv: the peer's global rank where known, else -1.
    busy_start_ns, busy_end_ns : (b,) int64
        Times within the span of participations in which this GPU also computed: disjoint
        intervals in ascending order, clipped to the union of the participations.
    step_number, step_start_ns, step_end_ns : (s,) int64
        The profiler steps of this rank.
    window_start_ns, window_end_ns : int
        First start and last end of any event.
    rank : int
        Global rank; -1 until it is assigned.
    host, gpu : str
        As shown to users; empty where unknown. `gpu` is like `3` or `3 (H100)`.
    window : str
        Which window of the rank this is (`iteration_100`), empty where there is one.
    compute_kernels, comm_kernels : int
        Counts.
    """

    path: str
    rank: int
    host: str
    gpu: str
    window: str
    start_ns: I64
    duration_ns: I64
    launch_ns: I64
    op: I8
    group: I32
    kernel: I32
    dtype: I32
    payload_bytes: I64
    seq: I64
    comms_id: U64
    step: I64
    stream: I64
    uneven: Bool
    named: Bool
    peer: I64
    busy_start_ns: I64
    busy_end_ns: I64
    step_number: I64
    step_start_ns: I64
    step_end_ns: I64
    window_start_ns: int
    window_end_ns: int
    compute_kernels: int
    comm_kernels: int
    groups: tuple[Group, ...]
    strings: tuple[str, ...]
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        window = f" in {self.window}" if self.window else ""
        kernels = f"{len(self):,} communication kernels"
        return f"<RankCollectives: rank {self.rank}{window}, {kernels}>"

    def __len__(self) -> int:
        return int(self.start_ns.size)

    def take(self, rows: I64 | Bool | slice) -> "RankCollectives":
        """Keep some participations; all else is as it was.

        Parameters
        ----------
        rows : (k,) int64, (n,) bool or slice
            Which, in order of start.
        """
        return replace(self, **{name: getattr(self, name)[rows] for name in PER_ROW})


PER_ROW = (
    "start_ns", "duration_ns", "launch_ns", "op", "group", "kernel", "dtype",
    "payload_bytes", "seq", "comms_id", "step", "stream", "uneven", "named", "peer",
)  # fmt: skip
"""The columns of `RankCollectives` that have one entry a participation."""
