"""Whether a job sends what its layout should: bytes of a step, microbatches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64
from synctax.collectives.model import Op
from synctax.planning.pipeline import tensors_passed
from synctax.planning.training import DIMENSIONS
from synctax.planning.verify.check import Broken, Check
from synctax.planning.verify.plan_file import PlanRow
from synctax.planning.verify.traffic import Traffic
from synctax.texts import counted, number, percent, size_bytes

ROLES: Final = {
    "tp": ("tp", "etp"),
    "pp": ("pp",),
    "dp": ("dp", "fsdp", "dp_cp", "dp_replicate", "edp"),
    "cp": ("cp",),
    "ep": ("ep",),
}
"""Roles whose bytes a dimension of the plan stands for."""

_NO_STEPS = (
    "no step is marked: call profiler.step() once a training step, so that the trace tells"
)


def sent(moved: Traffic, row: PlanRow, tolerance: float) -> list[Check]:
    """Compare what ranks sent in a step with what is predicted.

    The mean over the ranks, as the plan's layers of a stage are an average; of pipeline
    parallelism the most that a rank sent, as the plan tells the stage that sends most.

    Parameters
    ----------
    moved : Traffic
    row : PlanRow
    tolerance : float
        By what share they may differ.
    """
    return [
        _sent(moved, dimension, row.sent_bytes[dimension], tolerance)
        for dimension in DIMENSIONS
        if row.sent_bytes[dimension] > 0
    ]


def _sent(moved: Traffic, dimension: str, expected: float, tolerance: float) -> Check:
    told = f"{size_bytes(expected)} a step ± {percent(tolerance)}"
    if not moved.steps:
        return Check("bytes", dimension, "warning", told, "", 0, 1, because=_NO_STEPS)
    parts = [moved.sent[role] for role in ROLES[dimension] if role in moved.sent]
    unknown = sum(part.unknown for part in parts)
    if unknown or not parts:
        because = (
            f"the traces do not tell the bytes of {counted(unknown, 'collective')} "
            "(record_shapes=True tells most; batched sends and receives have none)"
            if unknown
            else f"no collective of {dimension} was recorded"
        )
        return Check("bytes", dimension, "warning", told, "", 0, 1, because=because)
    by_rank = _by_rank(moved, dimension)
    found = float(by_rank.max() if dimension == "pp" else by_rank.mean())
    off = found / expected - 1
    text = f"{size_bytes(found)}, {_off(off)}"
    wrong = (Broken((), (), text),) if abs(off) > tolerance else ()
    return Check(
        "bytes",
        dimension,
        "warning",
        told,
        text,
        checked=1,
        broken=wrong,
        because=_why(off) if wrong else "",
    )


def _by_rank(moved: Traffic, dimension: str) -> F64:
    total: dict[int, float] = {}
    for role in ROLES[dimension]:
        part = moved.sent.get(role)
        if part is None:
            continue
        for rank, sent_bytes in zip(
            part.rank.tolist(), part.bytes_per_step.tolist(), strict=True
        ):
            total[rank] = total.get(rank, 0.0) + sent_bytes
    return np.array(list(total.values()) or [0.0], np.float64)


def _off(share: float) -> str:
    if abs(share) < _SAME:
        return "as predicted"
    return f"{percent(abs(share))} {'more' if share > 0 else 'less'}"


_SAME = 0.005


def _why(off: float) -> str:
    """Say what such a ratio comes from most often."""
    times = 1 + off if off > 0 else 1 / max(1 + off, _NOTHING)
    near = round(times)
    if near == 1 or abs(times / near - 1) > _NEARLY:
        return ""
    word = "as much" if off > 0 else "less"
    return (
        f"{near:,} times {word}: another number of microbatches, sequences or layers than "
        "planned"
    )


_NOTHING = 1e-12
_NEARLY = 0.02


@dataclass(frozen=True, slots=True)
class _Count:
    """How microbatches show: collectives of a role a step, and how many they should be."""

    role: str
    calls: float
    expected: float


def microbatches(moved: Traffic, row: PlanRow, tolerance: float) -> Check:
    """Compare the microbatches of a step with those that are planned.

    They show in how often layers communicate: reduce-scatters and all-reduces of TP, else
    all-to-alls of EP, else messages between stages.

    Parameters
    ----------
    moved : Traffic
    row : PlanRow
    tolerance : float
        By what share they may differ.
    """
    expected = f"{number(row.microbatches)} a step"
    count = next(_counts(moved, row), None) if moved.steps else None
    if count is None or not count.expected > 0:
        because = (
            "no collective of a layer tells: it takes TP, EP or PP"
            if moved.steps
            else _NO_STEPS
        )
        return Check("microbatches", "", "warning", expected, "", 0, 1, because=because)
    found = row.microbatches * count.calls / count.expected
    text = f"{number(round(found, 1))} by {count.calls:,.0f} collectives of {count.role}"
    off = abs(found / row.microbatches - 1) > tolerance
    return Check(
        "microbatches",
        count.role,
        "warning",
        expected,
        text,
        checked=1,
        broken=(Broken((), (), text),) if off else (),
    )


def _counts(moved: Traffic, row: PlanRow) -> Iterator[_Count]:
    layout = row.layout
    reducing = (int(Op.REDUCE_SCATTER), int(Op.ALL_REDUCE))
    if layout.tp > 1 and "tp" in moved.sent:
        yield _Count("tp", _calls(moved, "tp", reducing), row.barriers)
    elif layout.ep > 1 and "ep" in moved.sent:
        yield _Count("ep", _calls(moved, "ep", (int(Op.ALL_TO_ALL),)), row.barriers)
    elif layout.pp > 1 and "pp" in moved.sent:
        tensors = tensors_passed(layout.pp, layout.virtual_stages)
        # each is sent by one and received by another
        messages = 2 * tensors * row.microbatches
        yield _Count("pp", _calls(moved, "pp", (int(Op.SEND_RECV),), most=True), messages)


def _calls(moved: Traffic, role: str, ops: tuple[int, ...], *, most: bool = False) -> float:
    """Count collectives a step: the mean over ranks, or the most that one has."""
    calls = moved.sent[role].calls_per_step
    some = [calls[op] for op in ops if op in calls]
    if not some:
        return 0.0
    total: F64 = np.sum(some, axis=0)
    return float(total.max() if most else total.mean())
