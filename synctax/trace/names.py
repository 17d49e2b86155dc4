"""What names in a trace mean: kernels, operations, element types, roles of groups.

The knowledge is `names.toml`; this module loads it once and answers by string.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from synctax.arrays import I32

COMMUNICATION = "communication"
UNLABELLED = "unlabelled"
"""Role of a group of which nothing is known."""

_T = TypeVar("_T", bound=np.generic)

RangeKind = Literal["annotation", "record", "operator"]
CallKind = Literal["stream_sync", "event_sync", "device_sync", "copy", "record", "wait"]


@dataclass(frozen=True, slots=True)
class KernelName:
    """What a kernel's name tells.

    Parameters
    ----------
    kind : str
        `communication`, a class of compute (`gemm`, `attention`, ...) or `other`.
    library : str
        Who wrote it (`nccl`, `deep_ep`, ...), empty for `other`.
    op : str or None
        Operation (`all_reduce`) where the name tells.
    dtype : str or None
        Element type (`float16`) where the name tells.
    guess : bool
        The operation is only what such a kernel does most often.
    """

    kind: str
    library: str = ""
    op: str | None = None
    dtype: str | None = None
    guess: bool = False

    @property
    def communicates(self) -> bool:
        """Whether the kernel moves data between GPUs."""
        return self.kind == COMMUNICATION


@dataclass(frozen=True, slots=True)
class DType:
    """An element type by its torch name, and its size."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class _Rule:
    function: re.Pattern[str]
    namespace: re.Pattern[str] | None
    dtype: str
    answer: KernelName


@dataclass(frozen=True, slots=True)
class _Tables:
    rules: tuple[_Rule, ...]
    copy_engine: re.Pattern[str]
    ranges: tuple[tuple[str, RangeKind], ...]
    spans: tuple[str, ...]
    dispatch: frozenset[str]
    gemms: frozenset[str]
    runs_as: Mapping[str, str]
    calls: Mapping[str, CallKind]
    ops: Mapping[str, str]
    dtypes: Mapping[str, DType]
    roles: Mapping[str, str]
    unnamed: frozenset[str]


@cache
def _tables() -> _Tables:
    text = files(__package__).joinpath("names.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    roles = dict(data["role"])
    unnamed = roles.pop("unnamed")
    kinds: tuple[RangeKind, ...] = ("annotation", "record", "operator")
    return _Tables(
        rules=tuple(_rule(entry) for entry in data["kernel"]),
        copy_engine=re.compile(data["copy_engine"]["pattern"]),
        ranges=tuple((prefix, kind) for kind in kinds for prefix in data["range"][kind]),
        spans=tuple(data["range"]["span"]),
        dispatch=frozenset(data["range"]["dispatch"]),
        gemms=frozenset(data["operator"]["gemm"]),
        runs_as=data["runs_as"],
        calls={name: kind for kind, names in data["call"].items() for name in names},
        ops={name: op for op, names in data["op"].items() for name in names},
        dtypes={
            name: DType(dtype, entry["bytes"])
            for dtype, entry in data["dtype"].items()
            for name in (dtype, *entry["names"])
        },
        roles={name: role for role, names in roles.items() for name in names},
        unnamed=frozenset(unnamed),
    )


def _rule(entry: Mapping[str, Any]) -> _Rule:
    namespace = entry.get("namespace")
    return _Rule(
        function=re.compile(entry["function"]),
        namespace=None if namespace is None else re.compile(namespace),
        dtype=entry.get("dtype", ""),
        answer=KernelName(
            kind=entry["class"],
            library=entry["library"],
            op=entry.get("op"),
            guess=entry.get("guess", False),
        ),
    )


_LONGEST = 1_000
"""Characters of a function's name that are looked at: what a pattern does with one grows
with the square of its length."""


@lru_cache(maxsize=1 << 16)
def kernel(name: str) -> KernelName:
    """Tell what a kernel does from its name, demangled or not.

    Parameters
    ----------
    name : str
        As it stands in the trace, with template arguments and parameters.

    Examples
    --------
    >>> kernel("ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, ncclWork*)").op
    'all_reduce'
    >>> kernel("void at::native::reduce_kernel<512, 1, float>(float)").kind
    'reduction'
    """
    namespace, function = _split(name)
    function = function[:_LONGEST]
    for rule in _tables().rules:
        if rule.function.match(function) and (
            rule.namespace is None or rule.namespace.search(namespace)
        ):
            if not rule.dtype:
                return rule.answer
            answer = rule.answer
            return KernelName(
                answer.kind,
                answer.library,
                answer.op,
                _named_dtype(name, function, rule.dtype),
                answer.guess,
            )
    return KernelName("other")


_ANONYMOUS = ("(anonymous namespace)::", "<unnamed>::", "{anonymous}::")
_MANGLED = re.compile(r"_Z(?P<nested>N?)K?(?=\d)")
_LENGTH = re.compile(r"[0-9]{1,6}")


def _split(name: str) -> tuple[str, str]:
    """Split `void a::b<T>(T*)` into `a` and `b`."""
    if name.startswith("_Z"):
        path = _mangled_path(name)
    else:
        for anonymous in _ANONYMOUS:
            name = name.replace(anonymous, "")
        # A __global__ function is no member of a template: nothing before its own
        # arguments holds < or (.
        head = re.split(r"[<(]", name, maxsplit=1)[0].strip()
        path = head.rsplit(" ", maxsplit=1)[-1].removesuffix(".kd")
    namespace, _, function = path.rpartition("::")
    return namespace, function


def _mangled_path(name: str) -> str:
    """Read the nested name of an Itanium-mangled symbol, as ROCm may leave it."""
    start = _MANGLED.match(name)
    parts: list[str] = []
    at = start.end() if start else len(name)
    while length := _LENGTH.match(name, at):
        at = length.end() + int(length.group())
        parts.append(name[length.end() : at])
        if start and not start["nested"]:  # what follows are the parameters
            break
    return "::".join(part for part in parts if not part.startswith("_GLOBAL_")) or name


_SUFFIX = re.compile(
    r"_(?:Sum|Prod|MinMax|Max|Min|PreMulSum|SumPostDiv|Avg|sum|prod|max|min)"
    r"_(?P<dtype>[A-Za-z_]\w*?)(?:_(?:RING|TREE|NVLS|COLLNET|PAT)\w*)?$"
)
_TOKEN = re.compile(r"[A-Za-z_][\w:]*")


def _named_dtype(name: str, function: str, where: str) -> str | None:
    dtypes = _tables().dtypes
    if where == "suffix":
        found = _SUFFIX.search(function)
        known = dtypes.get(found["dtype"]) if found else None
        return known.name if known else None
    arguments = name.partition(function + "<")[2].partition(">(")[0]
    for token in _TOKEN.findall(arguments):
        if token in dtypes:
            return dtypes[token].name
    return None


def copy_engine(name: str) -> bool:
    """Tell whether a memcpy of this name goes from one GPU to another."""
    return _tables().copy_engine.match(name) is not None


@lru_cache(maxsize=1 << 16)
def range_kind(name: str) -> RangeKind | None:
    """Tell whether a range on the CPU belongs to communication, and which kind it is.

    Examples
    --------
    >>> range_kind("nccl:all_reduce"), range_kind("record_param_comms")
    ('annotation', 'record')
    """
    for prefix, kind in _tables().ranges:
        if name.startswith(prefix):
            return kind
    return None


def is_span(name: str) -> bool:
    """Tell whether a range is a collective itself: backends that run on the CPU."""
    return name.startswith(_tables().spans)


def is_dispatch(name: str) -> bool:
    """Tell whether a range is the dispatcher's around Python code, and no work itself."""
    return name in _tables().dispatch


def is_gemm_operator(name: str) -> bool:
    """Tell whether an operator on the CPU multiplies matrices.

    Examples
    --------
    >>> is_gemm_operator("aten::addmm"), is_gemm_operator("aten::add")
    (True, False)
    """
    return name in _tables().gemms


def runs_as(op: str | None) -> str | None:
    """Tell what a CPU backend without an algorithm for an operation runs instead.

    Examples
    --------
    >>> runs_as("reduce_scatter"), runs_as("all_gather")
    ('all_reduce', None)
    """
    return None if op is None else _tables().runs_as.get(op)


def call(name: str) -> CallKind | None:
    """Tell what a runtime call does to the order of work; None for all others.

    Examples
    --------
    >>> call("cudaStreamSynchronize"), call("cudaLaunchKernel")
    ('stream_sync', None)
    """
    return _tables().calls.get(name)


@lru_cache(maxsize=1 << 16)
def operation(name: str) -> str | None:
    """Tell the operation that a collective name, annotation or operator stands for.

    Parameters
    ----------
    name : str
        `_allgather_base`, `nccl:send 0->1`, `c10d::allreduce_`, ...

    Returns
    -------
    str or None
        `all_gather`, `send_recv`, `all_reduce`; None where the name is not known.

    Examples
    --------
    >>> operation("_allgather_base"), operation("nccl:send 0->1")
    ('all_gather', 'send_recv')
    """
    bare = name.rsplit(":", maxsplit=1)[-1].lower().split(" ")[0].strip("_")
    return _tables().ops.get(bare)


def dtype(name: str) -> DType | None:
    """Find an element type by any of its spellings; None where it is not known.

    Examples
    --------
    >>> dtype("c10::Half")
    DType(name='float16', bytes=2)
    """
    return _tables().dtypes.get(name)


def role(description: str, name: str) -> str:
    """Tell what a process group is for.

    Parameters
    ----------
    description, name : str
        `Process Group Description` and `Process Group Name`, empty where absent.

    Returns
    -------
    str
        `tp`, `fsdp`, ... where either is known; else the description; else `pg NAME`;
        else `unlabelled`.

    Examples
    --------
    >>> role("TENSOR_MODEL_PARALLEL_GROUP", "3"), role("mesh_dp_shard", ""), role("", "7")
    ('tp', 'fsdp', 'pg 7')
    """
    for text in (description, name):
        known = _known_role(text)
        if known is not None:
            return known
    if description.lower() not in _tables().unnamed:
        return description
    return f"pg {name}" if name else UNLABELLED


def known_roles() -> frozenset[str]:
    """Return the roles that names.toml knows, `tp` and the others."""
    return frozenset(_tables().roles.values())


@lru_cache(maxsize=1 << 12)
def _known_role(text: str) -> str | None:
    bare = text.lower().removeprefix("mesh_").partition(":")[0]
    for ending in ("_gloo", "_ag", "_group"):
        bare = bare.removesuffix(ending)
    return _tables().roles.get(bare)


def by_name(
    strings: tuple[str, ...], codes: I32, ask: Callable[[str], object], dtype: type[_T]
) -> npt.NDArray[_T]:
    """Ask something of every distinct string and answer for each code.

    Parameters
    ----------
    strings : tuple of str
        The dictionary that codes index.
    codes : (n,) int32
    ask : callable
        From a string to a number, asked once a distinct string.
    dtype : type
        Of the answers.

    Returns
    -------
    (n,) dtype
        0 for code -1.

    Examples
    --------
    >>> by_name(("a", "bcd"), np.array([1, -1, 1], np.int32), len, np.int64)
    array([3, 0, 3])
    """
    seen = np.bincount(codes + 1, minlength=len(strings) + 1)
    answer = np.zeros(len(strings) + 1, dtype)
    for code in np.flatnonzero(seen[1:]).tolist():
        answer[code] = ask(strings[code])
    return answer.take(codes)
