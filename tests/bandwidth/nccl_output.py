"""Outputs that look as nccl-tests print them, for times that are known."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

# ruff: noqa: E501

MODERN = """\
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: {program}
# nThread 1 nGpus {n} minBytes 8 maxBytes 4294967296 step: 2(factor) warmup iters: 1 iters: 20
#
# Using devices
{ranks}
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""

OLD = """\
# nThread 1 nGpus {n} minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
{ranks}
#
#                                                       out-of-place                       in-place
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""

FOOTER = """\
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 123.456
#
"""

PROGRAMS = {
    "all_reduce": "all_reduce_perf",
    "reduce_scatter": "reduce_scatter_perf",
    "all_gather": "all_gather_perf",
    "all_to_all": "alltoall_perf",
}


@dataclass(frozen=True)
class Bench:
    """A run of one program over n ranks."""

    op: str = "all_reduce"
    n: int = 8
    head: str = MODERN

    @property
    def factor(self) -> float:
        return (2 if self.op == "all_reduce" else 1) * (self.n - 1) / self.n

    def header(self) -> str:
        ranks = "\n".join(
            f"#  Rank {rank:2} Group  0 Pid {4000 + rank:6} on    node-{rank // 8:02} "
            f"device {rank % 8:2} [0000:1b:00] NVIDIA H200"
            for rank in range(self.n)
        )
        return self.head.format(program=PROGRAMS[self.op], n=self.n, ranks=ranks)

    def row(
        self, size: int, time_us: float, wrong: str = "0", in_place: float = 0.0
    ) -> str:
        """One line; the in-place run takes half as long again unless it is told."""
        redop = "sum" if self.op in ("all_reduce", "reduce_scatter") else "none"
        labels = f"{size:12}  {size // 4:12}  {'float':>8}  {redop:>6}"
        if self.head != OLD:
            labels += f"  {'-1':>6}"
        first = self.half(size, time_us, wrong)
        return labels + first + self.half(size, in_place or 1.5 * time_us, wrong)

    def half(self, size: int, time_us: float, wrong: str) -> str:
        rate = size / time_us / 1e3
        return f"  {seven(time_us)}  {rate:6.2f}  {rate * self.factor:6.2f}  {wrong:>6}"

    def text(self, sizes: Iterable[int], time_us: Callable[[int], float]) -> str:
        rows = "".join(f"{self.row(size, time_us(size))}\n" for size in sizes)
        return self.header() + rows + FOOTER


def seven(value: float) -> str:
    """Seven characters, with as many decimals as they hold."""
    return next(
        (t for t in (f"{value:7.2f}", f"{value:7.1f}") if len(t) <= 7), f"{value:7.0f}"
    )
