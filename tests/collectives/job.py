"""Ranks with a few collectives each, written as their test tells the story."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.collectives.model import Group, Op, RankCollectives

US = 1_000


@dataclass(frozen=True)
class C:
    """One participation; `end` and `duration` in µs on the rank's own clock."""

    end: float
    duration: float
    op: Op = Op.ALL_REDUCE
    payload: int = 1024
    seq: int = -1
    comms_id: int = 0
    group: int = 0
    dtype: str = "Float"
    step: int = -1
    uneven: bool = False
    named: bool = True
    peer: int = -1


WORLD = Group("0", (0, 1, 2, 3), "tp", 4, "kernel")
UNLABELLED = Group("", None, "unlabelled", None, "inferred", 0)


def rank(
    number: int,
    collectives: Sequence[C],
    *,
    groups: Sequence[Group] = (WORLD,),
    host: str = "node0",
    window: str = "",
    clock_us: float = 0.0,
    busy: Sequence[tuple[float, float]] = (),
    steps: Sequence[tuple[int, float, float]] = (),
    on_cpu: bool = False,
) -> RankCollectives:
    """Build what one rank contributes; its clock is ahead by `clock_us`."""
    end = np.array([round((c.end + clock_us) * US) for c in collectives], np.int64)
    duration = np.array([round(c.duration * US) for c in collectives], np.int64)
    order = np.argsort(end - duration, kind="stable")
    c = [collectives[i] for i in order]
    end, duration = end[order], duration[order]
    dtypes = tuple(dict.fromkeys(one.dtype for one in c))

    def ints(values: list[int], dtype: type = np.int64) -> np.ndarray:
        return np.array(values, dtype)

    return RankCollectives(
        path=f"rank{number}.json",
        rank=number,
        host=host,
        gpu=str(number),
        window=window,
        start_ns=end - duration,
        duration_ns=duration,
        launch_ns=end - duration,
        op=ints([one.op for one in c], np.int8),
        group=ints([one.group for one in c], np.int32),
        kernel=ints([0 for _ in c], np.int32),
        dtype=ints([dtypes.index(one.dtype) for one in c], np.int32),
        payload_bytes=ints([one.payload for one in c]),
        seq=ints([one.seq for one in c]),
        comms_id=ints([one.comms_id for one in c], np.uint64),
        step=ints([one.step for one in c]),
        stream=ints([7 for _ in c]),
        uneven=ints([one.uneven for one in c], np.bool_),
        named=ints([one.named for one in c], np.bool_),
        peer=ints([one.peer for one in c]),
        busy_start_ns=ints([round((a + clock_us) * US) for a, _ in busy]),
        busy_end_ns=ints([round((b + clock_us) * US) for _, b in busy]),
        step_number=ints([n for n, _, _ in steps]),
        step_start_ns=ints([round((a + clock_us) * US) for _, a, _ in steps]),
        step_end_ns=ints([round((b + clock_us) * US) for _, _, b in steps]),
        window_start_ns=int((end - duration).min(initial=0)),
        window_end_ns=int(end.max(initial=0)),
        compute_kernels=0,
        comm_kernels=0 if on_cpu else len(c),
        groups=tuple(groups),
        strings=dtypes or ("Float",),
    )


def lockstep(
    ends: Sequence[float], durations: Sequence[Sequence[float]], **kwargs: object
) -> list[RankCollectives]:
    """Ranks that leave collective k together at `ends[k]`; `durations[rank][k]`."""
    common = {name: kwargs.pop(name) for name in list(kwargs) if name in C.__annotations__}
    return [
        rank(
            number,
            [C(end, d, **common) for end, d in zip(ends, mine, strict=True)],  # type: ignore[arg-type]
            **kwargs,  # type: ignore[arg-type]
        )
        for number, mine in enumerate(durations)
    ]
