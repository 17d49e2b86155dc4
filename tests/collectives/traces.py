"""Small traces of a job, written as the profiler writes them."""

import gzip
import json
from pathlib import Path


def kernel(name, ts_us, dur_us, *, stream=7, correlation=0, device=0, **metadata):
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": device,
        "tid": stream,
        "ts": ts_us,
        "dur": dur_us,
        "args": {
            "device": device,
            "stream": stream,
            "correlation": correlation,
            **metadata,
        },
    }


def all_reduce(
    ts_us, dur_us, *, ranks=None, name="0", description="default_pg", seq=None, **more
):
    """An all-reduce of 1,024 floats; without `ranks` the kernel has no metadata."""
    metadata = {}
    if ranks is not None:
        metadata = {
            "Collective name": "allreduce",
            "In msg nelems": 1024,
            "Out msg nelems": 1024,
            "Group size": len(ranks),
            "dtype": "Float",
            "Process Group Name": name,
            "Process Group Description": description,
            "Process Group Ranks": str(list(ranks)),
        }
    if seq is not None:
        metadata["Seq"] = seq
    return kernel(
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
        ts_us,
        dur_us,
        stream=20,
        **more,
        **metadata,
    )


def gemm(ts_us=100, dur_us=50, *, device=0):
    return kernel("ampere_sgemm_128x64_tn", ts_us, dur_us, device=device)


def trace(*events, rank=None, world=None, **top):
    """The JSON of one rank's trace; `top` are further top-level keys."""
    info = {}
    if rank is not None:
        info["rank"] = rank
    if world is not None:
        info["world_size"] = world
    head = {"schemaVersion": 1, **({"distributedInfo": info} if info else {}), **top}
    return json.dumps({**head, "traceEvents": list(events)})


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def job(
    folder: Path, *, ranks=4, name="rank{}.json", world=None, start_us=0, **top
) -> Path:
    """All ranks of a job; rank r waits r × 10 µs in each of three all-reduces."""
    for rank in range(ranks):
        events = [gemm(start_us + 50, device=rank)]
        for k in range(3):
            end_us = start_us + 1000 * (k + 1)
            wait_us = 20 + 10 * rank
            events.append(
                all_reduce(
                    end_us - wait_us, wait_us, ranks=range(ranks), seq=k, device=rank
                )
            )
        write(
            folder / name.format(rank),
            trace(*events, rank=rank, world=world or ranks, **top),
        )
    return folder
