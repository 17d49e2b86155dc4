"""Compute blocks of a job: which kernels they are, and the law of their times."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I64, NS_PER_US
from synctax.synth.jitter import expected_maximum
from synctax.synth.job import JitterLaw, SynthJob
from synctax.synth.program import Comm, Program, build


@dataclass(frozen=True, slots=True)
class BlockLaw:
    """One compute block of a step: the kernels before a collective of the `tp` group.

    Its time on a rank is a + b·Z, and what all ranks share; Z is drawn from `law`, shifted
    and scaled to mean 0 and standard deviation 1, by each rank in each step.

    Parameters
    ----------
    number : int
        Which of the step's collectives of its group ends it, from 0. Block 0 begins in the
        step before.
    op : str
        Operation of that collective.
    kernels : int
        How many compute kernels it has.
    a_us, b_us : float
        Mean of the sum of their times, and its standard deviation between ranks.
    law : str
        As `SynthJob.jitter_law`.
    xi : float
        Shape of the Fréchet law.
    """

    number: int
    op: str
    kernels: int
    a_us: float
    b_us: float
    law: JitterLaw
    xi: float

    def tau_us(self, n: int) -> float:
        """Expect the mean wait of n ranks: that of their largest block time, less a."""
        return self.b_us * expected_maximum(self.law, n, xi=self.xi)


def block_laws(job: SynthJob, program: Program | None = None) -> tuple[BlockLaw, ...]:
    """List the laws of the compute blocks of a step, in order.

    Parameters
    ----------
    job : SynthJob
        With `jitter_scope` "block".
    program : Program, optional
        Its step, if it is at hand.

    Returns
    -------
    tuple of BlockLaw
        One for each collective of the `tp` group in a step.

    Raises
    ------
    ValueError
        If kernels vary one by one, so that blocks have no law that was asked for.
    """
    if job.jitter_scope != "block":
        raise ValueError("blocks have a law of their own under jitter_scope block only")
    program = program or build(job)
    enders = _enders(program)
    block = ended_blocks(program) % len(enders)
    mean_us = np.bincount(block, mean_times_ns(program), len(enders)) / NS_PER_US
    kernels = np.bincount(block, minlength=len(enders))
    jitter = 0.0 if job.jitter_law == "none" else job.jitter
    return tuple(
        BlockLaw(
            number=number,
            op=comm.op,
            kernels=int(kernels[number]),
            a_us=float(mean_us[number]),
            b_us=float(mean_us[number]) * jitter,
            law=job.jitter_law,
            xi=job.xi,
        )
        for number, comm in enumerate(enders.values())
    )


def expected_tau_us(job: SynthJob, n: int | None = None) -> float:
    """Expect the tax of a job's `tp` collectives, were they of n ranks.

    It is the mean wait of a rank (`tax_mean_us`) over the collectives of a step, where
    nothing but block times keeps ranks apart: no delays, and a CPU that is ahead.

    Parameters
    ----------
    job : SynthJob
        With `jitter_scope` "block" and without `rank_jitter`: ranks that stay apart are not
        draws from one law.
    n : int, optional
        Ranks of the group; None: `job.tp`.

    Returns
    -------
    float
        E[M_n] − a in µs, M_n the largest of n block times.

    Raises
    ------
    ValueError
        If the job is another, or n below 1.

    References
    ----------
    Synchronization-tax paper, section 5: the tax as the largest of n block times.

    Examples
    --------
    >>> job = SynthJob(tp=4, fsdp=1, jitter_scope="block", jitter_law="gumbel")
    >>> grows = expected_tau_us(job, 16) / expected_tau_us(job, 4)
    >>> round(grows, 6)  # as ln n
    2.0
    """
    if job.rank_jitter:
        raise ValueError("ranks that differ for good (rank_jitter) have no one law")
    n = job.tp if n is None else n
    laws = block_laws(job)
    return sum(law.tau_us(n) for law in laws) / len(laws)


def ended_blocks(program: Program) -> I64:
    """Number the compute blocks of a step by the `tp` collective that ends them.

    Parameters
    ----------
    program : Program
        One step of a job with `tp` > 1.

    Returns
    -------
    (compute kernels,) int64
        How many collectives of the group precede each kernel; where that is all of the
        step, the first of the next step ends its block.
    """
    return np.searchsorted(list(_enders(program)), program.compute)


def mean_times_ns(program: Program) -> I64:
    """Mean times of the compute kernels of a step, in ns."""
    kernels = (launch.kernel for launch in program.launches)
    return np.array([kernel.mean_ns for kernel in kernels if kernel is not None], np.int64)


def _enders(program: Program) -> dict[int, Comm]:
    """Find the collectives of the `tp` group, by their launch."""
    launched = ((i, program.launches[i].comm) for i in program.comms)
    return {
        i: comm
        for i, comm in launched
        if comm is not None and program.dimensions[comm.dimension].key == "tp"
    }
