"""Each kind of delay changes what it says and nothing before it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.synth import Delay, SynthJob, truth
from synctax.synth.lookup import delayed
from synctax.synth.program import build
from synctax.synth.simulate import initial_state, simulate_step

QUIET = SynthJob(jitter_law="none", layers=2, steps=1)
RANK, DELAY_NS = 2, 70_000
PLACES = [(5, ""), (None, "tp:3"), (None, "fsdp:1")]


def simulated(job):
    program = build(job)
    times, _ = simulate_step(
        job, program, initial_state(job, program), 0, delays=job.delays
    )
    return program, times


def pair(delay):
    program, before = simulated(QUIET)
    _, after = simulated(replace(QUIET, delays=(delay,)))
    slot = program.launches[delayed(program, delay)].slot
    return slot, before, after


def moved(slot, before, after, name):
    """By how much the delayed slot and the next one move on the delayed rank."""
    change = (getattr(after, name) - getattr(before, name))[RANK]
    assert not change[:slot].any()
    assert len(set(change[slot + 1 :].tolist())) == 1
    return int(change[slot]), int(change[slot + 1])


@pytest.mark.parametrize(("kernel", "collective"), PLACES)
@pytest.mark.parametrize(
    ("side", "begin", "call", "call_end"),
    [("op", 0, 1, 1), ("cpu", 0, 1, 1), ("gap", 1, 1, 1), ("call", 0, 0, 1)],
)
def test_a_delay_on_the_cpu_lies_before_the_operators_inside_them_or_in_the_call(
    kernel, collective, side, begin, call, call_end
):
    found = pair(Delay(RANK, 0, kernel, DELAY_NS / 1000, side, collective))
    assert moved(*found, "slot_ns") == (begin * DELAY_NS, DELAY_NS)
    assert moved(*found, "call_ns") == (call * DELAY_NS, DELAY_NS)
    assert moved(*found, "call_end_ns") == (call_end * DELAY_NS, DELAY_NS)
    assert moved(*found, "slot_end_ns") == (DELAY_NS, DELAY_NS)


@pytest.mark.parametrize("side", ["gpu", "op", "gap", "call"])
def test_no_other_rank_launches_differently(side):
    _, before, after = pair(Delay(RANK, 0, 5, 70.0, side))
    others = np.arange(QUIET.world) != RANK
    for name in ("slot_ns", "call_ns", "call_end_ns", "slot_end_ns"):
        assert_array_equal(getattr(before, name)[others], getattr(after, name)[others])


def test_no_kernel_starts_before_its_launching_call_ends():
    late = [Delay(r, 0, 3 * r, 900.0, "call") for r in range(4)]
    late += [Delay(5, 0, None, 9_000.0, "call", "tp:2")]
    for graphs in (False, True):
        program, times = simulated(
            replace(QUIET, delays=tuple(late), cuda_graphs=graphs, layers=1)
        )
        slots = [launch.slot for launch in program.launches]
        assert (times.start_ns >= times.call_end_ns[:, slots] + 1_800).all()
        lasts = times.call_end_ns - times.call_ns
        assert set(lasts.ravel().tolist()) == {4_200, 904_200, 9_004_200}


def test_delays_of_one_place_add_up():
    place = (None, 500.0)
    late = tuple(
        Delay(RANK, 0, *place, side, "tp:3") for side in ("op", "gap", "call", "cpu", "op")
    )
    _, before = simulated(QUIET)
    _, after = simulated(replace(QUIET, delays=late))
    ends = (after.slot_end_ns - before.slot_end_ns)[RANK]
    assert int(ends[-1]) == 2_500_000


@pytest.mark.parametrize("side", ["op", "gap", "call"])
@pytest.mark.parametrize("excess_us", [-100.0, 0.0, 250.0])
def test_a_late_launch_of_a_collective_is_its_lateness_beyond_the_slack(side, excess_us):
    probe = Delay(RANK, 0, None, 0.0, side, "tp:6")
    (injected,) = truth(replace(QUIET, delays=(probe,))).injected
    delay = replace(probe, delay_us=injected.slack_us + excess_us)
    known = truth(replace(QUIET, delays=(delay,)))
    (after,) = known.injected
    assert after.slack_us == injected.slack_us > 100
    assert (after.group, after.index, after.kernel_index) == ("tp", 6, None)
    assert after.kernel.startswith("ncclDevKernel_AllGather")
    (row,) = (
        row
        for row in known.collectives()
        if (row.group_ranks, row.index) == (after.group_ranks, 6) and row.group == "tp"
    )
    assert row.tax_max_us == pytest.approx(max(0.0, excess_us))
    assert row.straggler_rank == (RANK if excess_us > 0 else None)


def test_a_delay_of_a_prefetch_reaches_that_prefetch():
    delay = Delay(RANK, 0, None, 40_000.0, "gap", "fsdp:1")
    (injected,) = truth(replace(QUIET, delays=(delay,))).injected
    assert (injected.op, injected.index) == ("all_gather", 1)
    assert injected.slack_us < 40_000
