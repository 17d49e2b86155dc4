"""Find why ranks were late, for every collective of a job that can tell."""

from collections.abc import Iterator
from dataclasses import replace

from synctax.synth.answers import Place, Truth
from synctax.synth.lateness import Lateness, lateness
from synctax.synth.maxima import maxima
from synctax.synth.path import Timeline
from synctax.synth.simulate import StepTimes, initial_state, simulate_step


def explain(known: Truth) -> Truth:
    """Add to the truth of each collective why its last rank was late.

    The job is simulated once more; as many steps are in memory as the CPU may be ahead,
    and two more.

    Parameters
    ----------
    known : Truth
        Of all ranks.

    Returns
    -------
    Truth
        The same, with `lateness`.
    """
    return replace(known, lateness=dict(_explained(known)))


def _explained(known: Truth) -> Iterator[tuple[Place, Lateness]]:
    job, program = known.job, known.program
    steps: dict[int, StepTimes] = {}
    timeline = Timeline(job, program, maxima(program), steps)
    state = initial_state(job, program)
    fences: dict[tuple[int, int], tuple[int, int]] = {}
    simulated = 0
    for place, row in known.rows():
        step, number, group = place
        while simulated <= step:
            times, state = simulate_step(job, program, state, simulated, delays=job.delays)
            steps[simulated] = times
            # A path ends at a fence of this step or the one before, which began when
            # the GPU had done the one that far ahead of it.
            steps.pop(simulated - job.run_ahead_steps - 2, None)
            simulated += 1
        position = program.comms[number]
        comm = program.launches[position].comm
        assert comm is not None  # noqa: S101 - `comms` lists collectives
        if not comm.symmetric or row.n_ranks < len(row.group_ranks):
            continue
        key = (comm.dimension, group)
        if (
            key in fences
            and row.straggler_rank is not None
            and row.fastest_rank is not None
        ):
            ranks = (row.straggler_rank, row.fastest_rank)
            yield place, lateness(timeline, (step, position), ranks, fences[key])
        fence = timeline.span(row.group_ranks[0], ("comm", step, position))
        fences[key] = (row.index, fence[1])
