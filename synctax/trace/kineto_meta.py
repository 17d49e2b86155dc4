"""What a Kineto file says outside its list of events."""

import re
from typing import Any

import orjson

from synctax.trace.columns import whole
from synctax.trace.model import Device, GroupConfig, TraceMeta
from synctax.trace.numbers import MAX_RANK
from synctax.trace.salvage import member
from synctax.trace.tally import Tally

_MAX_BASE_NS = 4 * 10**18
_CUDA_VERSIONS = ("cuda_runtime", "cuda_driver")
_KEYS = (
    "distributedInfo", "deviceProperties", "baseTimeNanoseconds", "host_name",
    "PT_PROFILER_JOB_NAME", "cupti_version", "cuda_runtime_version",
    "cuda_driver_version", "hip_runtime_version", "hip_driver_version",
    "pytorch_version", "torch_version", "synctax",
)  # fmt: skip


def read_meta(head: bytes, tail: bytes, tally: Tally, *, closed: bool) -> TraceMeta:
    """Read the metadata before and after the events.

    Parameters
    ----------
    head, tail : bytes
        Text up to the key of the list, and after its closing bracket.
    tally : Tally
        Told where the text is damaged; what can be read of it counts.
    closed : bool
        Whether the list of events was complete; if not, nothing followed it.
    """
    return _meta(_document(head, tail, tally, closed=closed), tally)


def _document(head: bytes, tail: bytes, tally: Tally, *, closed: bool) -> dict[str, Any]:
    head = head.removeprefix(b"\xef\xbb\xbf").rstrip()
    tail = tail.strip() if closed else b"}"
    if not head.strip() and not tail.strip(b"}"):
        return {}  # a bare list
    # where there is no list, the text before it is all there is
    text = head if head.endswith(b"}") and not closed else head + b'"":0' + tail
    try:
        document = orjson.loads(_utf8(text, tally))
    except orjson.JSONDecodeError as error:
        before = error.pos <= len(head)
        place = f"line {error.lineno:,}" if before else "after the events"
        tally.add("metadata_damaged", where=place.__str__)
        return {
            key: value for key in _KEYS if (value := member(head + tail, key)) is not None
        }
    return document if isinstance(document, dict) else {}


def _utf8(text: bytes, tally: Tally) -> bytes:
    try:
        text.decode()
    except UnicodeDecodeError:
        tally.add("invalid_utf8")
        return text.decode("utf-8", "replace").encode()
    return text


def _meta(document: dict[str, Any], tally: Tally) -> TraceMeta:
    info = _mapping(document.get("distributedInfo"))
    return TraceMeta(
        rank=_count(info.get("rank"), tally),
        world_size=_count(info.get("world_size"), tally),
        backend=_text(info.get("backend")),
        nccl_version=_known(info.get("nccl_version")),
        groups=tuple(
            _group(_mapping(entry), tally) for entry in _list(info.get("pg_config"))
        ),
        host=_text(document.get("host_name")),
        devices=tuple(
            Device(number, _text(entry.get("name")) or "")
            for entry in map(_mapping, _list(document.get("deviceProperties")))
            if (number := _count(entry.get("id"), tally)) is not None
        ),
        job=_text(document.get("PT_PROFILER_JOB_NAME")),
        base_time_ns=_base_time(document.get("baseTimeNanoseconds"), tally),
        versions=_versions(document),
        runner_threads=_threads(_mapping(document.get("synctax")), tally),
    )


def _threads(recorder: dict[str, Any], tally: Tally) -> tuple[int, ...]:
    """Return the threads that `synctax.record` lists."""
    listed = [_count(thread, tally) for thread in _list(recorder.get("gloo_threads"))]
    return tuple(dict.fromkeys(thread for thread in listed if thread is not None))


def _base_time(value: Any, tally: Tally) -> int:
    if value is None:
        return 0
    base = whole(value)
    if base is None or not 0 <= base <= _MAX_BASE_NS:
        tally.add("base_time_unreadable", f"baseTimeNanoseconds is {value!r:.40}")
        return 0
    return base


def _versions(document: dict[str, Any]) -> dict[str, str]:
    versions = {}
    for key, value in document.items():
        name, text, number = key.removesuffix("_version"), _text(value), whole(value)
        if name == key or text is None:
            continue
        if name in _CUDA_VERSIONS and number is not None:  # 12080 is 12.8
            text = f"{number // 1000}.{number % 1000 // 10}"
        versions[name] = text
    return versions


def _group(entry: dict[str, Any], tally: Tally) -> GroupConfig:
    return GroupConfig(
        name=_text(entry.get("pg_name")) or "",
        description=_text(entry.get("pg_desc")) or "",
        backend=_text(entry.get("backend_config")) or "",
        size=_count(entry.get("pg_size"), tally),
        ranks=_ranks(entry.get("ranks"), tally),
    )


_RANK_LIST = re.compile(r"\[\s*([0-9]++(?:\s*+,\s*+[0-9]++)*+)\s*\]")


def _ranks(value: Any, tally: Tally) -> tuple[int, ...] | None:
    """Return the list of ranks, which on-demand traces quote and truncate."""
    if isinstance(value, str):
        complete = _RANK_LIST.fullmatch(value.strip())
        listed: list[Any] = complete[1].split(",") if complete else []
    else:
        listed = _list(value)
    ranks = [_count(rank, tally) for rank in listed]
    known = [rank for rank in ranks if rank is not None]
    return tuple(known) if known and len(known) == len(ranks) else None


def _mapping(value: Any) -> dict[str, Any]:
    value = _unquoted(value)
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    value = _unquoted(value)
    return value if isinstance(value, list) else []


def _unquoted(value: Any) -> Any:
    """Read JSON that was written as a string."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _known(value: Any) -> str | None:
    text = _text(value)
    return None if text is None or text.lower() == "unknown" else text


def _count(value: Any, tally: Tally) -> int | None:
    number = None if isinstance(value, bool) else whole(value)
    if number is None or 0 <= number <= MAX_RANK:
        return number
    tally.add("integer_out_of_range")
    return None
