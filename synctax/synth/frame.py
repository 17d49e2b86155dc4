"""What stands around the events of a trace: who wrote it, and how it ends."""

from dataclasses import dataclass

import orjson

from synctax.synth.events import instant_event, metadata_event
from synctax.synth.job import SynthJob
from synctax.synth.program import Program
from synctax.synth.window import BASE_TIME_NS

_FIRST_PID = 4_000
_DEVICE = {
    "name": "NVIDIA H100 80GB HBM3",
    "totalGlobalMem": 85_029_158_912,
    "computeMajor": 9,
    "computeMinor": 0,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65_536,
    "warpSize": 32,
    "sharedMemPerBlock": 49_152,
    "numSms": 132,
}
_WORKER_SORT_INDEX = 16_777_216


@dataclass(frozen=True, slots=True)
class Face:
    """Who a rank is on its host.

    Parameters
    ----------
    rank, host : int
        Global rank and number of the host.
    device : int
        Number of the GPU on the host.
    pid, autograd_tid : int
        Process, and the thread of the backward pass (the main thread's id is the pid).
    """

    rank: int
    host: int
    device: int
    pid: int
    autograd_tid: int

    @property
    def host_name(self) -> str:
        """Name of the host."""
        return f"node-{self.host}"


def face(job: SynthJob, rank: int) -> Face:
    """Place a rank on its host."""
    host = job.host_of(rank)
    device = sum(job.host_of(other) == host for other in range(rank))
    pid = _FIRST_PID + 64 * device + 1_000 * host
    return Face(rank, host, device, pid, pid + 7 if job.autograd_thread else pid)


def header(job: SynthJob, program: Program, who: Face) -> str:
    """Write the top of a trace, up to the opening of its events."""
    count = sum(job.host_of(rank) == who.host for rank in range(job.world))
    fields: dict[str, object] = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": number, **_DEVICE} for number in range(count)],
    }
    if job.distributed_info:
        fields["distributedInfo"] = _distributed_info(job, program, who)
    fields |= {
        "host_name": who.host_name,
        "cupti_version": 26,
        "cuda_runtime_version": 12_080,
        "cuda_driver_version": 12_080,
        "trace_id": f"{job.seed:032X}",
        "record_shapes": 1,
    }
    if job.python_functions:
        fields["with_stack"] = 1
    lines = [
        f'  "{name}": {orjson.dumps(value).decode()},' for name, value in fields.items()
    ]
    return "{\n" + "\n".join(lines) + '\n  "traceEvents": [\n'


def _distributed_info(job: SynthJob, program: Program, who: Face) -> dict[str, object]:
    groups: list[tuple[str, str, list[int]]] = [("0", "default_pg", list(range(job.world)))]
    for dimension in program.dimensions:
        number = int(dimension.group_of[who.rank])
        members = dimension.members[number].tolist()
        groups.append((dimension.names[number], dimension.description, members))
    config = [
        {
            "pg_name": name,
            "pg_desc": description,
            "backend_config": "cuda:nccl",
            "pg_size": len(members),
            "ranks": members,
        }
        for name, description, members in groups
    ]
    return {
        "backend": "nccl",
        "rank": who.rank,
        "world_size": job.world,
        "pg_count": len(config),
        "pg_config": config,
        "nccl_version": "2.27.5" if job.nccl_names != "old" else "2.18.3",
    }


def closing_events(who: Face, streams: list[int], span: tuple[str, str, str]) -> list[str]:
    """Write names of lanes and the profiler's own marks.

    Parameters
    ----------
    who : Face
        The rank.
    streams : list of int
        Its streams.
    span : (str, str, str)
        Start, duration and end of the window, in µs.
    """
    start, duration, end = span
    cpu, gpu = (who.pid, 0), (who.device, 0)
    events = [
        metadata_event("process_name", cpu, start, '"name": "python"'),
        metadata_event("process_labels", cpu, start, '"labels": "CPU"'),
        metadata_event("process_sort_index", cpu, start, f'"sort_index": {who.pid}'),
        metadata_event("process_name", gpu, start, '"name": "python"'),
        metadata_event("process_labels", gpu, start, f'"labels": "GPU {who.device}"'),
        metadata_event(
            "process_sort_index",
            gpu,
            start,
            f'"sort_index": {_WORKER_SORT_INDEX + who.device}',
        ),
    ]
    threads = {who.pid: f"thread {who.pid} (python)"}
    threads.setdefault(who.autograd_tid, f"thread {who.autograd_tid} (pt_autograd_0)")
    lanes = [((who.pid, tid), name) for tid, name in threads.items()]
    lanes += [((who.device, stream), f"stream {stream} ") for stream in streams]
    for lane, name in lanes:
        events.append(metadata_event("thread_name", lane, start, f'"name": "{name}"'))
        events.append(
            metadata_event("thread_sort_index", lane, start, f'"sort_index": {lane[1]}')
        )
    events.append(
        '  {\n    "ph": "X", "cat": "Trace", '
        f'"ts": {start}, "dur": {duration},\n'
        '    "pid": "Spans", "tid": "PyTorch Profiler",\n'
        '    "name": "PyTorch Profiler (0)",\n'
        '    "args": {\n      "Op count": 0\n    }\n  }'
    )
    traces = '"pid": "Traces", "tid": "Trace PyTorch Profiler"'
    events.append(instant_event("Iteration Start: PyTorch Profiler", traces, start))
    events.append(instant_event("Record Window End", '"pid": "", "tid": ""', end))
    return events


def footer(job: SynthJob, name: str) -> str:
    """Write what follows the events."""
    base = "" if job.absolute_ts else f',\n  "baseTimeNanoseconds": {BASE_TIME_NS}'
    return f'\n  ],\n  "traceName": "{name}",\n  "displayTimeUnit": "ms"{base}\n}}\n'
