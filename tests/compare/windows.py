"""Jobs of many profiler windows, made without files: who is late is drawn."""

import numpy as np

from synctax.collectives.model import Group, Op, RankCollectives

NS_PER_US = 1_000
WINDOW_NS = 60_000_000_000
"""A window a minute."""


def windows(
    delays_us: "list[np.ndarray]",
    *,
    ranks: "list[tuple[int, ...]] | None" = None,
    steps: int = 4,
    label: str = "iteration_{number}",
    apart: int = 100,
    transfer_us: float = 50.0,
) -> list[RankCollectives]:
    """Build ranks of a tp group over windows.

    Parameters
    ----------
    delays_us : list of (n, r) arrays, one a window
        By how much each rank is late to each of n collectives, spread over the steps.
    ranks : list of tuple of int, optional
        Those of each window; else 0 to r - 1.
    steps, label, apart
        Profiler steps of a window; its label by number, and how far numbers are apart.
    """
    made = []
    for place, late in enumerate(delays_us):
        own = ranks[place] if ranks else tuple(range(late.shape[1]))
        number = (place + 1) * apart
        window = label.format(number=number) if len(delays_us) > 1 else ""
        for column, rank in enumerate(own):
            made.append(
                _rank(rank, own, late, column, place, number, window, steps, transfer_us)
            )
    return made


def _rank(rank, own, late, column, place, number, window, steps, transfer_us):
    n = len(late)
    begin = place * WINDOW_NS
    end = begin + (1 + np.arange(n)) * 1_000 * NS_PER_US
    last = late.max(axis=1)
    duration = np.round((transfer_us + last - late[:, column]) * NS_PER_US).astype(np.int64)
    step = number + np.arange(n) * steps // n
    marks = np.unique(step)
    first = np.searchsorted(step, marks)
    bounds = np.append(end[first] - 900 * NS_PER_US, end[-1] + 100 * NS_PER_US)
    zeros = np.zeros(n, np.int64)
    return RankCollectives(
        path=f"{window}/rank{rank}.json",
        rank=rank,
        host=f"node-{rank // 4}",
        gpu=str(rank),
        window=window,
        start_ns=end - duration,
        duration_ns=duration,
        launch_ns=end - duration,
        op=np.full(n, Op.ALL_REDUCE, np.int8),
        group=zeros.astype(np.int32),
        kernel=zeros.astype(np.int32),
        dtype=zeros.astype(np.int32),
        payload_bytes=np.full(n, 1024, np.int64),
        seq=np.arange(n),
        comms_id=zeros.astype(np.uint64),
        step=step,
        stream=np.full(n, 7, np.int64),
        uneven=np.zeros(n, np.bool_),
        named=np.ones(n, np.bool_),
        peer=np.full(n, -1, np.int64),
        busy_start_ns=zeros[:0],
        busy_end_ns=zeros[:0],
        step_number=marks,
        step_start_ns=bounds[:-1],
        step_end_ns=bounds[1:],
        window_start_ns=int(begin),
        window_end_ns=int(bounds[-1]),
        compute_kernels=0,
        comm_kernels=n,
        groups=(Group("0", own, "tp", len(own), "kernel"),),
        strings=("Float",),
    )
