"""Kineto events and files, a dozen at a time, that read like the story they test.

Times are µs, as in the file. Every builder returns a dict that can be changed before
`trace` writes it; `trace` returns the bytes of a file.
"""

import gzip
import json
from typing import Any

Json = dict[str, Any]


def event(
    cat: str, name: str, ts: Any, dur: Any, pid: Any = 100, tid: Any = 1, **args: Any
) -> Json:
    """A complete event of any category."""
    return {
        "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip


def kernel(
    name: str,
    ts: Any,
    dur: Any,
    *,
    stream: Any = 7,
    corr: int = 0,
    device: int = 0,
    args: Json | None = None,
) -> Json:
    """A kernel on a stream, launched by the runtime call with the same `corr`."""
    where = {"device": device, "stream": stream, "correlation": corr}
    return event("kernel", name, ts, dur, device, stream, **where, **(args or {}))


def collective(
    ts: Any,
    dur: Any,
    *,
    op: str = "allreduce",
    ranks: tuple[int, ...] = (0, 1),
    group: str = "0",
    seq: int | None = None,
    elements: int = 1024,
    stream: int = 20,
    corr: int = 0,
    device: int = 0,
    name: str = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)",
    desc: str = "default_pg",
) -> Json:
    """A communication kernel with the metadata that PyTorch copies to it."""
    args: Json = {
        "Collective name": op, "In msg nelems": elements, "Out msg nelems": elements,
        "Group size": len(ranks), "dtype": "BFloat16", "In split size": "[]",
        "Out split size": "[]", "Process Group Name": group,
        "Process Group Description": desc, "Process Group Ranks": str(list(ranks)),
    }  # fmt: skip
    if seq is not None:
        args["Seq"] = seq
    return kernel(name, ts, dur, stream=stream, corr=corr, device=device, args=args)


def runtime(
    name: str, ts: Any, dur: Any, *, tid: Any = 1, corr: int = 0, cat: str = "cuda_runtime"
) -> Json:
    """A call into the CUDA (HIP, XPU) runtime or driver."""
    return event(cat, name, ts, dur, tid=tid, cbid=211, correlation=corr)


def cpu_op(name: str, ts: Any, dur: Any, *, tid: Any = 1, args: Json | None = None) -> Json:
    """An operator on a host thread."""
    return event("cpu_op", name, ts, dur, tid=tid, **(args or {}))


def annotation(
    name: str, ts: Any, dur: Any, *, tid: Any = 1, args: Json | None = None
) -> Json:
    """A named range on a host thread."""
    return event("user_annotation", name, ts, dur, tid=tid, **(args or {}))


def step(number: int, ts: Any, dur: Any) -> Json:
    """A profiler step."""
    return annotation(f"ProfilerStep#{number}", ts, dur)


def stream_wait(
    ts: Any, dur: Any, *, stream: int, on_stream: int = -1, on_corr: int = -1, corr: int = 0
) -> Json:
    """A `Stream Wait Event` record; -1 where the wait is not resolved."""
    return event(
        "cuda_sync", "Stream Wait Event", ts, dur, 0, stream,
        cuda_sync_kind="Stream Wait Event", stream=stream, correlation=corr, device=0,
        wait_on_stream=on_stream, wait_on_cuda_event_record_corr_id=on_corr,
        wait_on_cuda_event_id=-1,
    )  # fmt: skip


def flow(ts: Any, *, ident: int, end: bool = False, cat: str = "ac2g") -> Json:
    """One end of an arrow."""
    return {
        "ph": "f" if end else "s", "id": ident, "pid": 100, "tid": 1, "ts": ts, "cat": cat,
        "name": cat,
    }  # fmt: skip


def thread_name(pid: Any, tid: Any, name: str) -> Json:
    """The metadata event that names a thread."""
    return {
        "name": "thread_name", "ph": "M", "ts": 0, "pid": pid, "tid": tid,
        "args": {"name": name},
    }  # fmt: skip


def mark(name: str, ts: Any) -> Json:
    """An instant: `Iteration Start: PyTorch Profiler`, `Record Window End`."""
    return {"ph": "i", "s": "g", "name": name, "pid": "Traces", "tid": "Trace", "ts": ts}


def distributed(
    rank: int, world_size: int = 2, *, groups: list[Json] | None = None, **more: Any
) -> Json:
    """The `distributedInfo` of a rank."""
    return {
        "backend": "nccl", "rank": rank, "world_size": world_size,
        "pg_count": len(groups or []), "pg_config": groups or [], "nccl_version": "2.21.5",
        **more,
    }  # fmt: skip


def group_config(name: str, ranks: Any, *, desc: str = "default_pg") -> Json:
    """An entry of `pg_config`."""
    return {
        "pg_name": name, "pg_desc": desc, "backend_config": "cuda:nccl",
        "pg_size": len(ranks), "ranks": ranks,
    }  # fmt: skip


def trace(
    *events: Json,
    rank: int | None = 0,
    world_size: int = 2,
    indent: int | None = 2,
    after: Json | None = None,
    **metadata: Any,
) -> bytes:
    """The bytes of a trace file.

    `metadata` stands before the events, `after` behind them; `rank=None` leaves out
    `distributedInfo`.
    """
    head: Json = {"schemaVersion": 1}
    if rank is not None and "distributedInfo" not in metadata:
        head["distributedInfo"] = distributed(rank, world_size)
    document = {**head, **metadata, "traceEvents": list(events), **(after or {})}
    separators = (",", ":") if indent is None else None
    return json.dumps(document, indent=indent, separators=separators).encode()


def gz(data: bytes) -> bytes:
    """The same file, gzipped."""
    return gzip.compress(data, mtime=0)
