"""Times matching, waits and tables of made-up ranks in memory.

    python -m tests.bench.matching                       the table of docs/performance.md
    python -m tests.bench.matching --docs PAGE           and puts it there
    python -m tests.bench.matching 256 50000 seq         one line, in this process

`seq` and `order` are one group of all ranks; `3d` are TP 8, DP and PP 4 with Seq, sends
between stages matched by order. Each line is a process of its own, which says how long the
CPU worked and what it held at most beside the ranks that it was given, in bytes a
participation. pandas does the least that waits need, from a frame of the same
participations that our matching numbered: by collective, what each lasts longer than the
shortest, which that is, and the median.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from synctax.collectives.model import Group, Op, RankCollectives
from synctax.collectives.summary import per_rank, summary
from synctax.collectives.tax import measure
from synctax.collectives.wait import waits
from tests.bench.into_page import put
from tests.bench.machine import machine
from tests.collectives.job import C, rank

SIZES = (
    (8, 20_000, "seq"), (8, 20_000, "order"), (512, 1_000, "seq"), (512, 1_000, "order"),
    (256, 50_000, "seq"), (256, 50_000, "order"), (256, 50_000, "3d"),
)  # fmt: skip
TP, PP = 8, 4
EACH_TP, EACH_DP = 0.7, 0.2
"""Of a rank's collectives in `3d`; the others are sends between stages."""


def job(ranks: int, collectives: int, *, by_seq: bool) -> list[RankCollectives]:
    """Ranks of one group on one host, of which each lost 0, 1 or 2 at its head."""
    draw = np.random.default_rng(0)
    group = Group("0", tuple(range(ranks)), "tp", ranks, "kernel")
    end_ns = ends_ns(draw, collectives)
    numbers = np.arange(collectives) if by_seq else np.full(collectives, -1)
    first = replace(blank(collectives, (group,)), seq=numbers)
    return [
        timed(first, number, end_ns, draw).take(slice(number % 3, None))
        for number in range(ranks)
    ]


def job_3d(ranks: int, collectives: int) -> list[RankCollectives]:
    """Ranks of a TP, a DP and a PP group each, which lost 0, 1 or 2 at their heads."""
    draw = np.random.default_rng(0)
    block = ranks // PP
    kinds = draw.choice(3, collectives, p=[EACH_TP, EACH_DP, 1 - EACH_TP - EACH_DP])
    sends = kinds == 2
    number_in = np.zeros(collectives, np.int64)
    for kind in range(3):
        number_in[kinds == kind] = np.arange((kinds == kind).sum())
    upper = draw.random(collectives) < 0.5  # which of its two neighbours a stage sends to
    shared = ends_ns(draw, collectives)
    late_ns = draw.integers(0, 3_000, (3, ranks))
    result = []
    for number in range(ranks):
        tp, dp = number // TP * TP, number // block * block + number % TP
        of = (
            tuple(range(tp, tp + TP)),
            tuple(range(dp, number // block * block + block, TP)),
            tuple(range(number % block, ranks, block)),
        )
        groups = tuple(
            Group(str(kind), members, role, len(members), "kernel")
            for kind, (members, role) in enumerate(zip(of, ("tp", "dp", "pp"), strict=True))
        )
        stage = number // block
        # of stages 0 1 2 3 the pairs are 0-1 and 2-3, or 1-2 and 3-0
        peer = (stage ^ 1) * upper + ((stage + 1 - 2 * (stage % 2 == 0)) % PP) * ~upper
        first = replace(
            blank(collectives, groups),
            op=np.where(sends, Op.SEND_RECV, Op.ALL_REDUCE).astype(np.int8),
            group=kinds.astype(np.int32),
            seq=np.where(sends, -1, number_in),
            peer=np.where(sends, peer * block + number % block, -1),
        )
        own_ns = np.array([late_ns[kind][min(of[kind])] for kind in range(3)])
        made = timed(first, number, shared + own_ns[kinds], draw)
        result.append(made.take(slice(number % 3, None)))
    return result


def blank(collectives: int, groups: tuple[Group, ...]) -> RankCollectives:
    """One rank with so many collectives that do not differ yet."""
    return rank(0, [C(k, 0) for k in range(collectives)], groups=groups)


def ends_ns(draw: np.random.Generator, collectives: int) -> np.ndarray:
    """Times at which ranks leave, 0.2 to 3 ms apart."""
    return np.cumsum(draw.integers(200_000, 3_000_000, collectives))


def timed(
    one: RankCollectives, number: int, end_ns: np.ndarray, draw: np.random.Generator
) -> RankCollectives:
    """Give a rank its number, and its kernels their times."""
    duration_ns = draw.integers(10_000, 90_000, end_ns.size)
    start_ns = end_ns - duration_ns
    return replace(
        one, rank=number, start_ns=start_ns, launch_ns=start_ns, duration_ns=duration_ns
    )


def made(ranks: int, collectives: int, kind: str) -> list[RankCollectives]:
    """Make the ranks of a line."""
    if kind == "3d":
        return job_3d(ranks, collectives)
    return job(ranks, collectives, by_seq=kind == "seq")


def peak_mb() -> float:
    """Most memory that this process held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def took_s(work: Callable[[], object]) -> tuple[object, float]:
    """Do some work; also say for how many seconds the CPU was at it."""
    began = time.process_time()
    done = work()
    return done, time.process_time() - began


def line(ranks: int, collectives: int, kind: str) -> str:
    """Measure one line of the table, in this process."""
    given = made(ranks, collectives, kind)
    before_mb = peak_mb()
    tax, match_s = took_s(lambda: measure(given))
    more_mb = peak_mb() - before_mb
    _, tables_s = took_s(lambda: (summary(tax), per_rank(tax)))
    table, row = tax.matches.table, tax.matches.row
    rank, duration_ns = table.rank[row], table.duration_ns[row]
    _, waits_s = took_s(lambda: waits(tax.matches.first, rank, duration_ns))
    import pandas as pd  # only now: its memory is none of ours

    slot = np.repeat(np.arange(len(tax.matches)), np.diff(tax.matches.first))
    frame = pd.DataFrame({"slot": slot, "ns": duration_ns})

    def by_pandas() -> object:
        groups = frame.groupby("slot")["ns"]
        return frame["ns"] - groups.transform("min"), groups.idxmin(), groups.median()

    _, pandas_s = took_s(by_pandas)
    per_s, bytes_each = row.size / match_s / 1e6, more_mb * 1e6 / row.size
    return (
        f"| {ranks} × {collectives:,} {kind} | {match_s:.2f} | {per_s:.1f} | "
        f"{bytes_each:.0f} | {tables_s:.2f} | {waits_s:.2f} | {pandas_s:.2f} |"
    )


def lines() -> Iterator[str]:
    """Measure all lines, each in a process of its own."""
    yield (
        "| ranks × collectives | measure, s | million/s | bytes each | tables, s | "
        "of measure, waits, s | pandas, waits, s |\n"
    )
    yield "|---|---|---|---|---|---|---|\n"
    for size in SIZES:
        command = [sys.executable, "-m", "tests.bench.matching", *map(str, size)]
        yield subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Print the table, or the line that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", nargs="*", help="RANKS COLLECTIVES seq|order|3d")
    parser.add_argument("--docs", type=Path, help="put the table into this page")
    options = parser.parse_args()
    if options.size:
        ranks, collectives, kind = options.size
        sys.stdout.write(line(int(ranks), int(collectives), kind) + "\n")
        return
    table = ""
    for text in lines():
        sys.stdout.write(text)
        sys.stdout.flush()
        table += text
    if options.docs:
        put(options.docs, "matching", f"{table}\n{machine()}; one round.")


if __name__ == "__main__":
    main()
