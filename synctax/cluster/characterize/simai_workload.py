"""Workloads that AICB writes for SimAI: what layers compute and communicate.

The first line names degrees of parallelism, the second counts layers; of a layer there
are, forward, for gradients of inputs and of weights, a time in ns, an operation with the
group it is of (`ALLGATHER_DP_EP`) and the bytes of the full buffer.
"""

import os
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from synctax.arrays import ABSENT, I8, I64
from synctax.cluster.characterize.simai_text import LARGEST_BYTES, lines_of
from synctax.collectives.model import Op
from synctax.errors import BadInputError
from synctax.trace.whole import whole

KIND: Final = "a workload of AICB for SimAI"

GROUPS: Final = ("tp", "ep", "dp", "dp_ep")
"""Roles of process groups, by the codes of `AicbWorkload.group`."""

_OPS: Final = {
    "ALLREDUCE": Op.ALL_REDUCE,
    "ALLTOALL": Op.ALL_TO_ALL,
    "ALLGATHER": Op.ALL_GATHER,
    "REDUCESCATTER": Op.REDUCE_SCATTER,
}
_TYPE: Final = re.compile(rf"({'|'.join(_OPS)})(_DP_EP|_EP)?")
_KEYS: Final = {
    "model_parallel_NPU_group": "tp",
    "ep": "ep",
    "pp": "pp",
    "vpp": "vpp",
    "ga": "ga",
    "all_gpus": "gpus",
}
_LARGEST_DEGREE: Final = 2**31 - 1
_LARGEST: Final = 2**53
_FIELDS: Final = 12
"""Of a layer; a policy of its own may follow (HYBRID_CUSTOMIZED)."""


@dataclass(frozen=True, slots=True, eq=False)
class AicbWorkload:
    """What every GPU does in an iteration, one entry a call of m layers and three passes.

    Parameters
    ----------
    name : str
        Of the file.
    degrees : dict of str to int
        `tp`, `ep`, `pp`, `vpp`, `ga` (1 where not told), `gpus` (0 where not told).
    pipeline_bytes : float
        Of a message between stages of the pipeline.
    op : (3·m,) int8
        `Op`, -1 for none.
    group : (3·m,) int8
        Code into `GROUPS`.
    comm_bytes : (3·m,) int64
        The full buffer, for an all-gather what is gathered.
    compute_ns : (3·m,) int64
    unknown : int
        Operations of other names, which SimAI takes for none.
    """

    name: str
    degrees: dict[str, int]
    pipeline_bytes: float
    op: I8
    group: I8
    comm_bytes: I64
    compute_ns: I64
    unknown: int


def read_workload(path: str | os.PathLike[str]) -> AicbWorkload:
    """Read a workload file.

    Raises
    ------
    BadInputError
        If it is none, or is cut; names the line.

    References
    ----------
    astra-sim/workload/Workload.cc of github.com/aliyun/SimAI.
    """
    return workload_of(whole(path, KIND, most=LARGEST_BYTES), name=os.fspath(path))


def workload_of(data: bytes, *, name: str) -> AicbWorkload:
    """Read the text of a workload file; errors as `read_workload`."""
    lines = lines_of(data, name=name, kind=KIND)
    degrees, pipeline_bytes = _degrees(lines[0] if lines else "", name)
    count = _count(lines[1].strip() if len(lines) > 1 else "", "layers", name, 2)
    rows = [(at, line.split()) for at, line in enumerate(lines[2:], 3) if line.strip()]
    if len(rows) != count:
        raise BadInputError(
            f"{name}, line 2: expected {KIND} with {len(rows):,} layers as below, found "
            f"{count:,}: the file is cut off or put together"
        )
    op, group, size, compute, unknown = [], [], [], [], 0
    for line, cells in rows:
        if not _FIELDS <= len(cells) <= _FIELDS + 1:
            raise BadInputError(
                f"{name}, line {line}: expected {_FIELDS} fields of a layer, found "
                f"{len(cells)}"
            )
        for at, default in ((2, "tp"), (5, "tp"), (8, "dp")):
            kind = _TYPE.fullmatch(cells[at + 1])
            unknown += kind is None and cells[at + 1] != "NONE"
            op.append(ABSENT if kind is None else int(_OPS[kind[1]]))
            role = (kind[2] if kind and kind[2] else default).lower().lstrip("_")
            group.append(GROUPS.index(role))
            compute.append(_count(cells[at], "a time in ns", name, line))
            size.append(_count(cells[at + 2], "bytes", name, line))
    return AicbWorkload(
        name=name,
        degrees=degrees,
        pipeline_bytes=pipeline_bytes,
        op=np.array(op, np.int8),
        group=np.array(group, np.int8),
        comm_bytes=np.array(size, np.int64),
        compute_ns=np.array(compute, np.int64),
        unknown=unknown,
    )


def _degrees(line: str, name: str) -> tuple[dict[str, int], float]:
    """Read `POLICY model_parallel_NPU_group: 8 ep: 1 ... pp_comm: 50331648`."""
    words = line.split()
    if not words or not re.fullmatch(r"[A-Z_]{1,64}", words[0]):
        raise BadInputError(
            f"{name}, line 1: expected {KIND} that begins with a policy such as "
            f"HYBRID_TRANSFORMER_FWD_IN_BCKWD, found {line[:80]!r}"
        )
    told = {key.removesuffix(":"): value for key, value in pairwise(words)}
    degrees = dict.fromkeys(_KEYS.values(), 1) | {"gpus": 0}
    for key, ours in _KEYS.items():
        if key in told:
            value = _count(told[key], key, name, 1)
            if not 0 < value <= _LARGEST_DEGREE:
                raise BadInputError(
                    f"{name}, line 1: expected {key} of 1 or more, found {value:,}"
                )
            degrees[ours] = value
    whole_part, dot, zeros = told.get("pp_comm", "0").partition(".")
    if dot and zeros.strip("0"):
        raise BadInputError(
            f"{name}, line 1: expected pp_comm in bytes, found {told['pp_comm'][:80]!r}"
        )
    return degrees, float(_count(whole_part, "pp_comm in bytes", name, 1))


def _count(text: str, what: str, name: str, line: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        raise BadInputError(f"{name}, line {line}: expected {what}, found {text[:80]!r}")
    value = int(text)
    if value > _LARGEST:
        raise BadInputError(f"{name}, line {line}: expected {what}, found {value:,}")
    return value
