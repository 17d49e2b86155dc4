"""When everything happens: all ranks of a job in lock-step, in integer ns.

Within a step the CPU depends on the GPU only at its end, so launches are laid out first
and the GPU follows. A collective of symmetric type ends on all ranks of its group at one
instant: its latest arrival plus the transfer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synctax.arrays import F64, I64, NS_PER_US
from synctax.synth.delay import Delay
from synctax.synth.groups import Dimension
from synctax.synth.job import SynthJob
from synctax.synth.kernel_times import kernel_times_ns
from synctax.synth.lookup import delayed
from synctax.synth.program import Comm, Program

CALL_NS = 4_200
"""Duration of a launching call."""
START_LATENCY_NS = 1_800
"""From the end of the launching call to the earliest start of its kernel."""
STREAM_GAP_NS = 900
"""Between two kernels of a stream, and from one stream to another."""
STEP_CPU_NS = 60_000
"""CPU time around a step: data loading, logging."""
_START_STREAM = 2**32 - 1
"""Seed of the draws of profiler starts; steps use 0, 1, ..."""
_CPU_STREAM = 1
"""Seed of a step's draws of CPU times, beside those of its kernels."""


@dataclass(frozen=True, slots=True)
class State:
    """Where all ranks stand between two steps.

    `cpu_ns` and `compute_ns` (world,) are when the CPU and the compute stream are free,
    `streams_ns` (dimensions, world) the communication streams; `ends_ns` are the GPU's
    ends of the last steps, as many as the CPU may be ahead and one more.
    """

    cpu_ns: I64
    compute_ns: I64
    streams_ns: I64
    ends_ns: tuple[I64, ...] = ()


@dataclass(frozen=True, slots=True)
class StepTimes:
    """One step of all ranks, true time.

    Parameters
    ----------
    slot_ns, call_ns, call_end_ns, slot_end_ns : (world, slots) int64
        Start of the operators, start and end of the launching call, and end of the
        operators.
    start_ns, duration_ns : (world, launches) int64
        Of the kernels.
    begin_ns, sync_ns, end_ns : (world,) int64
        The CPU's step: begin, begin of the synchronisation that ends it, end.
    """

    slot_ns: I64
    call_ns: I64
    call_end_ns: I64
    slot_end_ns: I64
    start_ns: I64
    duration_ns: I64
    begin_ns: I64
    sync_ns: I64
    end_ns: I64


def initial_state(job: SynthJob, program: Program) -> State:
    """Start all ranks, spread over `job.start_skew_ms`."""
    rng = np.random.default_rng((job.seed, _START_STREAM))
    skew_ns = rng.random(job.world) * job.start_skew_ms * 1_000_000
    zero = np.zeros(job.world, np.int64)
    return State(
        np.rint(skew_ns).astype(np.int64),
        zero,
        np.zeros((len(program.dimensions), job.world), np.int64),
    )


def simulate_step(
    job: SynthJob,
    program: Program,
    state: State,
    step: int,
    *,
    delays: Sequence[Delay],
) -> tuple[StepTimes, State]:
    """Run one step of all ranks.

    Parameters
    ----------
    job, program
        The job and its step.
    state : State
        Where the step before ended.
    step : int
        Number of the step, from 0; chooses its random draws.
    delays : sequence of Delay
        Injected delays; those of other steps are ignored.

    Returns
    -------
    StepTimes, State
        The step, and where it ends.
    """
    compute = np.array(program.compute)
    duration_ns = np.zeros((job.world, len(program.launches)), np.int64)
    duration_ns[:, compute] = kernel_times_ns(job, program, step)
    late = _Late.none((job.world, len(program.slots)))
    for delay in delays:
        if delay.step == step:
            position = delayed(program, delay)
            delay_ns = round(delay.delay_us * NS_PER_US)
            if delay.side == "gpu":
                duration_ns[delay.rank, position] += delay_ns
            else:
                late_ns = late.of(delay.side)
                late_ns[delay.rank, program.launches[position].slot] += delay_ns
    cost_ns = _cpu_times_ns(job, program, step)
    slot_ns, call_ns, call_end_ns, slot_end_ns = _launches(state, cost_ns, late)
    slot_of = np.array([launch.slot for launch in program.launches])
    walker = _Walker(
        program,
        call_end_ns[:, slot_of] + START_LATENCY_NS,
        duration_ns,
        np.zeros_like(duration_ns),
        state.compute_ns,
        list(state.streams_ns),
    )
    walker.run()
    sync_ns = slot_end_ns[:, -1] + STEP_CPU_NS // 2
    ends_ns = (*state.ends_ns, walker.compute_ns)[-job.run_ahead_steps - 1 :]
    end_ns = sync_ns + CALL_NS
    if len(ends_ns) > job.run_ahead_steps:
        end_ns = np.maximum(end_ns, ends_ns[0] + CALL_NS)
    times = StepTimes(
        slot_ns,
        call_ns,
        call_end_ns,
        slot_end_ns,
        walker.start_ns,
        walker.duration_ns,
        state.cpu_ns,
        sync_ns,
        end_ns,
    )
    streams_ns = np.array(walker.streams_ns, np.int64).reshape(state.streams_ns.shape)
    return times, State(end_ns + NS_PER_US, walker.compute_ns, streams_ns, ends_ns)


def slack_ns(
    job: SynthJob, program: Program, state: State, delay: Delay
) -> tuple[int, int, int] | None:
    """Find which collective a delay reaches, and how much of it is hidden.

    Times are maxima of sums, so the latest arrival at the collective is max(A, B + delay):
    A comes from a run without the delay, B from one with a delay that hides nothing.

    Parameters
    ----------
    job, program
        The job, all other delays included.
    state : State
        Where the step before the delay's ended.
    delay : Delay
        One of `job.delays`.

    Returns
    -------
    (step, position, slack_ns), or None
        Step and launch of the delayed collective, or of the first that waits for compute
        kernels after the delayed kernel, and A − B; None where none follows.
    """
    position = delayed(program, delay)
    fenced = [i for i in program.comms if _fenced(program, i)]
    after = [position] if delay.place else [i for i in fenced if i > position]
    step = delay.step if after else delay.step + 1
    target = (after or fenced or [-1])[0]
    if target < 0 or step >= job.steps:
        return None
    others = list(job.delays)
    others.remove(delay)
    certain = replace(delay, delay_us=_CERTAIN_US)
    without_ns, certain_ns = (
        _latest_arrival_ns(job, program, state, injected, (delay, step, target))
        for injected in (others, [*others, certain])
    )
    return step, target, without_ns - (certain_ns - round(_CERTAIN_US * NS_PER_US))


_CERTAIN_US = 1e12
"""A delay that nothing else in a job comes near."""


def _fenced(program: Program, position: int) -> bool:
    comm = program.launches[position].comm
    return comm is not None and comm.fenced


def _latest_arrival_ns(
    job: SynthJob,
    program: Program,
    state: State,
    delays: Sequence[Delay],
    target: tuple[Delay, int, int],
) -> int:
    delay, last_step, position = target
    times, state = simulate_step(job, program, state, delay.step, delays=delays)
    if last_step > delay.step:
        times, _ = simulate_step(job, program, state, last_step, delays=delays)
    comm = program.launches[position].comm
    assert comm is not None  # noqa: S101 - the caller chose a collective
    dimension = program.dimensions[comm.dimension]
    members = dimension.members[dimension.group_of[delay.rank]]
    return int(times.start_ns[members, position].max())


def _cpu_times_ns(job: SynthJob, program: Program, step: int) -> I64:
    fixed_ns = np.array([slot.cpu_ns for slot in program.slots], np.int64)
    if job.jitter_law == "none":
        fixed: I64 = np.tile(fixed_ns, (job.world, 1))
        return fixed
    rng = np.random.default_rng((job.seed, step, _CPU_STREAM))
    exponential: F64 = -np.log1p(-rng.random((job.world, fixed_ns.size)))
    random_ns: F64 = np.rint(fixed_ns * job.cpu_jitter * exponential)
    return fixed_ns + random_ns.astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Late:
    """What delays add to slots, (world, slots) int64 ns: before, within, in the call."""

    gap_ns: I64
    operators_ns: I64
    call_ns: I64

    @classmethod
    def none(cls, shape: tuple[int, int]) -> "_Late":
        return cls(*(np.zeros(shape, np.int64) for _ in range(3)))

    def of(self, side: str) -> I64:
        """Choose what a delay on the CPU makes longer."""
        return {"gap": self.gap_ns, "call": self.call_ns}.get(side, self.operators_ns)


def _launches(state: State, cost_ns: I64, late: _Late) -> tuple[I64, I64, I64, I64]:
    busy_ns = cost_ns + late.operators_ns + late.call_ns
    taken_ns = np.cumsum(late.gap_ns + busy_ns, axis=1)
    slot_end_ns = (state.cpu_ns + STEP_CPU_NS // 2)[:, None] + taken_ns
    slot_ns = slot_end_ns - busy_ns
    call_ns = slot_ns + late.operators_ns + cost_ns // 2
    return slot_ns, call_ns, call_ns + CALL_NS + late.call_ns, slot_end_ns


@dataclass(slots=True)
class _Walker:
    program: Program
    ready_ns: I64
    duration_ns: I64
    start_ns: I64
    compute_ns: I64
    streams_ns: list[I64]

    def run(self) -> None:
        for item in self.program.walk:
            if item.kind == "compute":
                self.compute(slice(item.first, item.last))
            elif item.kind == "comm":
                self.comm(item.first)
            else:
                end_ns = self.start_ns[:, item.first] + self.duration_ns[:, item.first]
                self.compute_ns = np.maximum(self.compute_ns, end_ns + STREAM_GAP_NS)

    def compute(self, run: slice) -> None:
        # start[k] = max(ready[k], free[k-1]) in closed form: free[k] is the cumulated
        # time plus the largest lead of any kernel before it.
        taken_ns = self.duration_ns[:, run] + STREAM_GAP_NS
        total_ns = np.cumsum(taken_ns, axis=1)
        lead_ns = np.maximum(
            self.ready_ns[:, run] - (total_ns - taken_ns), self.compute_ns[:, None]
        )
        free_ns = np.maximum.accumulate(lead_ns, axis=1) + total_ns
        self.start_ns[:, run] = free_ns - taken_ns
        self.compute_ns = free_ns[:, -1]

    def comm(self, position: int) -> None:
        comm = self.program.launches[position].comm
        assert comm is not None  # noqa: S101 - the walk names collectives only
        dimension = self.program.dimensions[comm.dimension]
        arrival_ns = np.maximum(self.ready_ns[:, position], self.streams_ns[comm.dimension])
        if comm.fenced:
            arrival_ns = np.maximum(arrival_ns, self.compute_ns + STREAM_GAP_NS)
        end_ns = _end_ns(comm, dimension, arrival_ns)
        self.start_ns[:, position] = arrival_ns
        self.duration_ns[:, position] = end_ns - arrival_ns
        self.streams_ns[comm.dimension] = end_ns + STREAM_GAP_NS


def _end_ns(comm: Comm, dimension: Dimension, arrival_ns: I64) -> I64:
    by_group = arrival_ns[dimension.members]
    if comm.op == "broadcast":
        # The root leaves once its buffer is sent; the others when they have received it.
        root_ns = by_group[:, :1]
        ends = np.maximum(by_group, root_ns) + comm.transfer_ns
        ends[:, 0] = root_ns[:, 0] + comm.transfer_ns // 2
    else:
        ends = by_group.max(axis=1, keepdims=True) + np.full(
            dimension.size, comm.transfer_ns
        )
        if comm.uneven:
            ends = ends - comm.transfer_ns * np.arange(dimension.size) // (
                2 * dimension.size
            )
    end_ns = np.empty_like(arrival_ns)
    end_ns[dimension.members] = ends
    return end_ns
