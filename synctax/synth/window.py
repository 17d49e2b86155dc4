"""What of a step a rank's file holds: which kernels, and when by the rank's own clock."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I64, NS_PER_S, NS_PER_US, Bool
from synctax.synth.job import SynthJob
from synctax.synth.program import Program

BASE_TIME_NS = 1_774_224_000 * NS_PER_S
"""`baseTimeNanoseconds` of every trace."""
START_NS = 3_141_592 * NS_PER_S
"""Start of the job, after the base."""


def local_ns(job: SynthJob, rank: int, true_ns: I64) -> I64:
    """Read the clock of a rank.

    Parameters
    ----------
    job : SynthJob
        Knows offset and drift.
    rank : int
        Whose clock.
    true_ns : int64 of any shape
        Times since the start of the job.

    Returns
    -------
    int64 of that shape
        Times since `BASE_TIME_NS`, to the ns.
    """
    local = true_ns + (START_NS + job.clock_offset_ns(rank))
    drift_ppm = job.drift_ppm(rank)
    if drift_ppm:
        local = local + np.rint(true_ns * (drift_ppm * 1e-6)).astype(np.int64)
    return local


def written_ns(job: SynthJob, local: I64) -> I64:
    """Cut times to what the file holds: ns, or whole µs."""
    return local // NS_PER_US * NS_PER_US if job.whole_us else local


@dataclass(frozen=True, slots=True)
class Edges:
    """What the ranks lose at the edges of the window.

    Parameters
    ----------
    head, tail : (world,) int64
        Collectives of each group that are lost first and last.
    first, last : (world,) int64
        Compute kernels are kept strictly between these launches of the job, counted
        over all steps: a kernel lies outside as soon as one group has lost a
        collective beyond it.
    """

    head: I64
    tail: I64
    first: I64
    last: I64

    def recorded(self, job: SynthJob, program: Program, step: int) -> Bool:
        """Say which kernels of a step the files hold.

        Returns
        -------
        (world, launches) bool
            False for ranks without a file, too.
        """
        position = step * len(program.launches) + np.arange(len(program.launches))
        kept = (position > self.first[:, None]) & (position < self.last[:, None])
        for column in program.comms:
            comm = program.launches[column].comm
            assert comm is not None  # noqa: S101 - `comms` lists collectives
            per_step = program.per_step[comm.dimension]
            index = step * per_step + comm.ordinal
            kept[:, column] = (index >= self.head) & (
                index < job.steps * per_step - self.tail
            )
        written = np.zeros(job.world, np.bool_)
        written[list(job.written)] = True
        return kept & written[:, None]

    def spans(
        self, job: SynthJob, program: Program, dimension: int, group: int
    ) -> list[tuple[int, int]]:
        """List which collectives of a group any of its ranks recorded.

        Returns
        -------
        list of (int, int)
            Disjoint ranges of positions (end excluded), ascending.
        """
        total = job.steps * program.per_step[dimension]
        members = program.dimensions[dimension].members[group].tolist()
        merged: list[tuple[int, int]] = []
        for start, end in sorted(
            (int(self.head[rank]), total - int(self.tail[rank]))
            for rank in set(members) & set(job.written)
        ):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            elif start < end:
                merged.append((start, end))
        return merged


def place(spans: list[tuple[int, int]], position: int) -> int | None:
    """Count the recorded collectives before one; None if it is not recorded itself.

    Examples
    --------
    >>> place([(2, 4), (7, 9)], 8)
    3
    """
    before = 0
    for start, end in spans:
        if start <= position < end:
            return before + position - start
        before += end - start
    return None


def edges(job: SynthJob, program: Program) -> Edges:
    """Lay out what each rank loses."""
    head, tail = (
        np.array([lost.get(rank, 0) for rank in range(job.world)], np.int64)
        for lost in (job.lost_head, job.lost_tail)
    )
    n_launches = len(program.launches)
    first = np.full(job.world, -1, np.int64)
    last = np.full(job.world, job.steps * n_launches, np.int64)
    for rank in range(job.world):
        starts, ends = [], []
        for number, per_step in enumerate(program.per_step):
            own = [i for i in program.comms if _dimension(program, i) == number]
            total = job.steps * per_step
            lost = min(int(head[rank]), total)
            kept = max(total - int(tail[rank]), 0)
            if lost:
                step, ordinal = divmod(lost - 1, per_step)
                starts.append(step * n_launches + own[ordinal])
            if kept < total:
                step, ordinal = divmod(kept, per_step)
                ends.append(step * n_launches + own[ordinal])
        first[rank] = min(starts, default=-1)
        last[rank] = max(ends, default=job.steps * n_launches)
    return Edges(head, tail, first, last)


def _dimension(program: Program, position: int) -> int:
    comm = program.launches[position].comm
    return -1 if comm is None else comm.dimension
