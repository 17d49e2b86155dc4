"""Kineto's keys and categories as data: what an event looks like in the file."""

import re
from typing import Any

import msgspec

from synctax.arrays import ABSENT
from synctax.trace.chunks import Grammar, UndecodableError
from synctax.trace.model import EventKind

NO_RAW = msgspec.Raw(b"")

CATEGORIES = {
    "cpu_op": EventKind.CPU_OP,
    "user_annotation": EventKind.ANNOTATION,
    "gpu_user_annotation": EventKind.GPU_ANNOTATION,
    "kernel": EventKind.KERNEL,
    "gpu_memcpy": EventKind.MEMCPY,
    "gpu_memset": EventKind.MEMSET,
    "cuda_runtime": EventKind.RUNTIME,
    "cuda_driver": EventKind.RUNTIME,
    "hip_runtime": EventKind.RUNTIME,
    "hip_driver": EventKind.RUNTIME,
    "xpu_runtime": EventKind.RUNTIME,
    "xpu_driver": EventKind.RUNTIME,
    "privateuse1_runtime": EventKind.RUNTIME,
    "privateuse1_driver": EventKind.RUNTIME,
    "cuda_sync": EventKind.SYNC,
    "xpu_sync": EventKind.SYNC,
    "cuda_event": EventKind.CUDA_EVENT,
    # PyTorch 1.8 to 1.11
    "Operator": EventKind.CPU_OP,
    "Kernel": EventKind.KERNEL,
    "Memcpy": EventKind.MEMCPY,
    "Memset": EventKind.MEMSET,
    "Runtime": EventKind.RUNTIME,
}

SKIPPED = frozenset(
    {
        "ac2g", "fwdbwd", "async_cpu_to_gpu", "async_gpu", "python_function", "Python",
        "overhead", "Trace", "cpu_instant_event", "external_correlation",
        "collective_comm", "hardware_counters", "cuda_profiler_range", "mtia_counters",
        "forward_backward", "async",
    }
)  # fmt: skip
"""Categories that are known and not needed."""

PHASES = {
    "s": "flow", "t": "flow", "f": "flow", "i": "instant", "I": "instant", "C": "counter",
    "b": "async", "e": "async", "n": "async", "B": "begin", "E": "end",
}  # fmt: skip

STEP_PREFIX = "ProfilerStep#"

COMMUNICATES = (
    "record_param_comms", "c10d::", "symm_mem::", "nccl:", "gloo:", "mpi:", "ucc:", "xccl:",
    "hccl:", "cncl:", "rccl:", "oneccl:",
)  # fmt: skip
"""How names of CPU ranges begin that tell of communication."""
COMMUNICATION = re.compile("|".join(map(re.escape, COMMUNICATES)))

START_MARK, END_MARK = "Iteration Start", "Record Window End"
"""How names of the profiler's own marks begin: of its start and its end."""

GRAMMAR = Grammar(
    list_start=re.compile(rb'"traceEvents"[^\[{"]{0,64}[\[{]'),
    event_start=re.compile(rb'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s)"\s*:'),
    event_mark=re.compile(rb'"ph"\s*:'),
    event_key=re.compile(rb'"(?:ph|cat|name|pid|tid|ts|dur|args)"\s*:'),
)


class Args(msgspec.Struct, gc=False, rename=None):
    """The arguments that are needed, of events of every category."""

    external_id: Any = msgspec.field(default=ABSENT, name="External id")
    external_id_old: Any = msgspec.field(default=ABSENT, name="external id")
    correlation: Any = ABSENT
    device: Any = None
    stream: Any = None
    name: Any = None
    grid: msgspec.Raw = NO_RAW
    block: msgspec.Raw = NO_RAW
    graph_node: Any = msgspec.field(default=ABSENT, name="graph node id")
    collective: Any = msgspec.field(default=None, name="Collective name")
    dtype: Any = None
    group_name: Any = msgspec.field(default=None, name="Process Group Name")
    group_description: Any = msgspec.field(default=None, name="Process Group Description")
    group_ranks: Any = msgspec.field(default=None, name="Process Group Ranks")
    in_split: Any = msgspec.field(default=None, name="In split size")
    out_split: Any = msgspec.field(default=None, name="Out split size")
    input_dims: msgspec.Raw = msgspec.field(default=NO_RAW, name="Input Dims")
    input_type: msgspec.Raw = msgspec.field(default=NO_RAW, name="Input type")
    in_elements: Any = msgspec.field(default=None, name="In msg nelems")
    out_elements: Any = msgspec.field(default=None, name="Out msg nelems")
    group_size: Any = msgspec.field(default=None, name="Group size")
    seq: Any = msgspec.field(default=None, name="Seq")
    src: Any = msgspec.field(default=None, name="Src Rank")
    dst: Any = msgspec.field(default=None, name="Dst Rank")
    rank_start: Any = msgspec.field(default=None, name="Global rank start")
    rank_stride: Any = msgspec.field(default=None, name="Global rank stride")
    comms_id: Any = msgspec.field(default=None, name="Comms Id")
    wait_stream: Any = msgspec.field(default=ABSENT, name="wait_on_stream")
    wait_correlation: Any = msgspec.field(
        default=ABSENT, name="wait_on_cuda_event_record_corr_id"
    )
    wait_event_id: Any = msgspec.field(default=ABSENT, name="wait_on_cuda_event_id")


NO_ARGS = Args()


class Event(msgspec.Struct, gc=False):
    """One event; times stay text, since a float cannot hold them."""

    ph: str = ""
    cat: str | None = ""
    name: str | None = ""
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    ts: msgspec.Raw = NO_RAW
    dur: msgspec.Raw = NO_RAW
    args: Args | None = None


_DECODER = msgspec.json.Decoder(list[Event])


def decode(text: bytes | memoryview) -> list[Event]:
    """Decode a JSON list of events.

    Raises
    ------
    UndecodableError
        If it is not valid JSON, or an event has a value of a type it never has.
    """
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        message = str(error)
        place = _PLACE.search(message)
        raise UndecodableError(message, int(place[1]) if place else None) from error


_PLACE = re.compile(r"\(byte (\d+)\)")
