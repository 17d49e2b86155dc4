"""Times matching and waits of made-up ranks in memory: `python -m tests.bench.matching`."""

import sys
import time
from dataclasses import replace

import numpy as np

from synctax.collectives.model import Group, RankCollectives
from synctax.collectives.tax import measure
from tests.collectives.job import C, rank

COLUMNS = (
    "op", "group", "kernel", "dtype", "payload_bytes", "seq", "comms_id", "step", "stream",
    "uneven", "named", "peer",
)  # fmt: skip


def job(ranks: int, collectives: int, *, by_seq: bool) -> list[RankCollectives]:
    """Ranks of one group on one host, of which each lost 0, 1 or 2 at its head."""
    draw = np.random.default_rng(0)
    ends = np.cumsum(draw.uniform(200, 3_000, collectives))
    group = Group("0", tuple(range(ranks)), "tp", ranks, "kernel")
    numbers = [k if by_seq else -1 for k in range(collectives)]
    first = rank(
        0, [C(end, 50, seq=k) for end, k in zip(ends, numbers, strict=True)], groups=[group]
    )
    end_ns = first.start_ns + first.duration_ns
    result = []
    for number in range(ranks):
        lost = number % 3
        duration_ns = draw.integers(10_000, 90_000, collectives - lost)
        kept = {name: getattr(first, name)[lost:] for name in COLUMNS}
        start_ns = end_ns[lost:] - duration_ns
        result.append(
            replace(first, rank=number, start_ns=start_ns, duration_ns=duration_ns, **kept)
        )
    return result


def main() -> None:
    """Print a line for each size and kind of identity."""
    for ranks, collectives in ((8, 20_000), (512, 1_000)):
        for by_seq in (True, False):
            made = job(ranks, collectives, by_seq=by_seq)
            began = time.perf_counter()
            measure(made)
            seconds = time.perf_counter() - began
            how = "by Seq" if by_seq else "by order"
            sys.stdout.write(f"{ranks} ranks × {collectives:,} {how}: {seconds:.2f} s\n")


if __name__ == "__main__":
    main()
