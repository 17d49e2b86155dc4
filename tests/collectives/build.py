"""Build a `RankTrace` from dict events like Kineto's, without a file."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from synctax.collectives.model import Op, RankCollectives
from synctax.trace.model import (
    CommArgs,
    EventKind,
    Events,
    KernelArgs,
    Lanes,
    RankTrace,
    SyncArgs,
    TraceMeta,
)

Event = dict[str, Any]

KINDS = {
    "cpu_op": EventKind.CPU_OP,
    "user_annotation": EventKind.ANNOTATION,
    "gpu_user_annotation": EventKind.GPU_ANNOTATION,
    "kernel": EventKind.KERNEL,
    "gpu_memcpy": EventKind.MEMCPY,
    "gpu_memset": EventKind.MEMSET,
    "cuda_runtime": EventKind.RUNTIME,
    "cuda_driver": EventKind.RUNTIME,
}

_GPU = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")

_TEXT = {
    "collective": "Collective name",
    "dtype": "dtype",
    "group_name": "Process Group Name",
    "group_description": "Process Group Description",
    "group_ranks": "Process Group Ranks",
    "in_split": "In split size",
    "out_split": "Out split size",
    "input_dims": "Input Dims",
    "input_type": "Input type",
}
_NUMBER = {
    "in_elements": "In msg nelems",
    "out_elements": "Out msg nelems",
    "group_size": "Group size",
    "seq": "Seq",
    "src": "Src Rank",
    "dst": "Dst Rank",
    "rank_start": "Global rank start",
    "rank_stride": "Global rank stride",
}


class _Dictionary(dict[str, int]):
    def code(self, text: Any) -> int:
        if text is None:
            return -1
        if not isinstance(text, str):
            text = json.dumps(text)
        return self.setdefault(text, len(self))


def ns(us: float) -> int:
    return round(us * 1000)


def rank_trace(events: Iterable[Event], meta: TraceMeta | None = None) -> RankTrace:
    """Events of one rank, in any order; `ts` and `dur` in µs."""
    rows = sorted((e for e in events if e.get("cat") in KINDS), key=lambda e: e["ts"])
    words, lanes = _Dictionary(), _Dictionary()
    args = [e.get("args", {}) for e in rows]
    gpu = [a if e["cat"] in _GPU else {} for a, e in zip(args, rows, strict=True)]

    def ints(values: Sequence[int], dtype: Any = np.int64) -> Any:
        return np.array(values, dtype)

    table = Events(
        kind=ints([KINDS[e["cat"]] for e in rows], np.int8),
        name=ints([words.code(e["name"]) for e in rows], np.int32),
        start_ns=ints([ns(e["ts"]) for e in rows]),
        duration_ns=ints([ns(e.get("dur", 0)) for e in rows]),
        lane=ints([lanes.code([e.get("pid", 0), e.get("tid", 0)]) for e in rows], np.int32),
        device=ints([a.get("device", -1) for a in gpu], np.int32),
        stream=ints([a.get("stream", -1) for a in gpu], np.int32),
        correlation=ints([a.get("correlation", -1) for a in args]),
        external_id=ints([a.get("External id", -1) for a in args]),
    )
    keys = {*_TEXT.values(), *_NUMBER.values()}
    told = [i for i, a in enumerate(args) if keys & set(a)]
    comms = CommArgs(
        event=ints(told),
        **{
            name: ints([words.code(args[i].get(key)) for i in told], np.int32)
            for name, key in _TEXT.items()
        },
        **{
            name: ints([args[i].get(key, -1) for i in told])
            for name, key in _NUMBER.items()
        },
        comms_id=np.array([args[i].get("Comms Id", 0) for i in told], np.uint64),
    )
    none, none32 = np.array([], np.int64), np.array([], np.int32)
    places = [json.loads(place) for place in lanes]
    return RankTrace(
        path="rank0.json",
        meta=meta or TraceMeta(),
        events=table,
        lanes=Lanes(
            ints([int(p) for p, _ in places]),
            ints([int(t) for _, t in places]),
            tuple("" for _ in places),
        ),
        kernels=KernelArgs(none, none32, none),
        syncs=SyncArgs(none, none, none, none),
        comms=comms,
        strings=tuple(words),
    )


def kernel(name: str, ts: float, dur: float, **args: Any) -> Event:
    args = {"device": 0, "stream": 20, **args}
    args = {
        key.replace("_", " ") if key == "External_id" else key: v for key, v in args.items()
    }
    return {"ph": "X", "cat": "kernel", "name": name, "ts": ts, "dur": dur,
            "pid": args["device"], "tid": args["stream"], "args": args}  # fmt: skip


def copy(name: str, ts: float, dur: float, **args: Any) -> Event:
    return {**kernel(name, ts, dur, **args), "cat": "gpu_memcpy"}


def call(
    ts: float, correlation: int, *, tid: int = 1, name: str = "cudaLaunchKernel"
) -> Event:
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "ts": ts, "dur": 1,
            "pid": 100, "tid": tid, "args": {"correlation": correlation}}  # fmt: skip


def op(name: str, ts: float, dur: float, *, tid: int = 1, **args: Any) -> Event:
    annotated = name.startswith(("nccl:", "gloo:", "ProfilerStep"))
    return {"ph": "X", "cat": "user_annotation" if annotated else "cpu_op", "name": name,
            "ts": ts, "dur": dur, "pid": 100, "tid": tid, "args": args}  # fmt: skip


def described(
    collective: str, *, n: int = 1024, ranks: str = "[0, 1]", **more: Any
) -> Event:
    """Collective arguments as PyTorch writes them."""
    return {
        "Collective name": collective,
        "In msg nelems": n,
        "Out msg nelems": n,
        "Group size": 2,
        "dtype": "BFloat16",
        "Process Group Name": "1",
        "Process Group Ranks": ranks,
        **more,
    }


def launched(
    name: str,
    annotation: str,
    *,
    dims: str = "[[4, 8]]",
    kind: str = '["c10::Half"]',
    ts: float = 0.0,
    corr: int = 5,
) -> list[Event]:
    """A kernel without metadata, launched inside an annotation, as in Megatron traces."""
    return [
        op("record_param_comms", ts, 10),
        op(annotation, ts + 1, 8, **{"Input Dims": dims, "Input type": kind}),
        call(ts + 3, corr),
        kernel(name, ts + 20, 10, correlation=corr, **{"External id": corr}),
    ]


def ops(found: RankCollectives) -> list[str]:
    return [Op(code).label for code in found.op.tolist()]


def reasons(found: RankCollectives) -> dict[str, int]:
    return {note.reason: note.count for note in found.notes}


def dtypes(found: RankCollectives) -> list[str | None]:
    return [found.strings[code] if code >= 0 else None for code in found.dtype.tolist()]
