"""Laws of the simulated job, before any clock or file."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.synth import Delay, SynthJob, truth
from synctax.synth.program import build
from synctax.synth.simulate import initial_state, simulate_step
from tests.laws import examples

QUIET = SynthJob(jitter_law="none", layers=2, steps=2)
NOISY = SynthJob(layers=1, steps=2, ep=2, dp=2, cp=2, broadcast=True, seed=3)


def steps_of(job):
    program = build(job)
    state = initial_state(job, program)
    for step in range(job.steps):
        times, state = simulate_step(job, program, state, step, delays=job.delays)
        yield program, times


def comms_of(program):
    for position in program.comms:
        comm = program.launches[position].comm
        yield position, comm, program.dimensions[comm.dimension]


def rows_of(known):
    return {(row.group, row.group_ranks, row.index): row for row in known.collectives()}


def test_ranks_leave_a_symmetric_collective_at_one_instant_after_the_last_arrival():
    for program, times in steps_of(NOISY):
        for position, comm, dimension in comms_of(program):
            if comm.op == "broadcast":
                continue
            starts = times.start_ns[dimension.members, position]
            ends = starts + times.duration_ns[dimension.members, position]
            due = starts.max(axis=1, keepdims=True) + comm.transfer_ns
            assert_array_equal(ends, np.broadcast_to(due, ends.shape))


def test_the_root_of_a_broadcast_leaves_before_the_others():
    program, times = next(steps_of(NOISY))
    position, _, dimension = next(comms_of(program))
    ends = times.start_ns[dimension.members, position]
    ends = ends + times.duration_ns[dimension.members, position]
    assert (ends[:, 0] < ends[:, 1:].min(axis=1)).all()


def test_ranks_leave_an_uneven_all_to_all_apart():
    job = SynthJob(tp=1, fsdp=4, ep=4, uneven=True, layers=1)
    program, times = next(steps_of(job))
    position = next(p for p, comm, _ in comms_of(program) if comm.op == "all_to_all")
    ends = times.start_ns[:, position] + times.duration_ns[:, position]
    assert len(set(ends.tolist())) == 4


def test_kernels_of_a_stream_never_overlap_and_streams_run_side_by_side():
    together = 0
    for program, times in steps_of(replace(NOISY, layers=3)):
        streams = {None: list(program.compute)}
        for position, comm, _ in comms_of(program):
            streams.setdefault(comm.dimension, []).append(position)
        for positions in streams.values():
            starts = times.start_ns[:, positions]
            ends = starts + times.duration_ns[:, positions]
            assert (starts[:, 1:] >= ends[:, :-1]).all()
        gathers = [p for p, comm, _ in comms_of(program) if comm.op == "all_gather"]
        for rank in range(NOISY.world):
            for position in gathers:
                start = times.start_ns[rank, position]
                end = start + times.duration_ns[rank, position]
                compute = times.start_ns[rank, list(program.compute)]
                together += int(((compute > start) & (compute < end)).sum())
    assert together > 50


def test_no_kernel_starts_before_the_call_that_launched_it():
    for program, times in steps_of(NOISY):
        slots = [launch.slot for launch in program.launches]
        assert (times.start_ns > times.call_ns[:, slots]).all()


def test_the_cpu_runs_ahead_of_the_gpu_once_the_queue_is_filled():
    *_, (program, times) = steps_of(replace(NOISY, steps=3))
    slots = [launch.slot for launch in program.launches]
    lead_ns = times.start_ns - times.call_ns[:, slots]
    assert np.median(lead_ns) > 1_000_000


def test_without_run_ahead_the_step_ends_after_its_last_kernel():
    for program, times in steps_of(replace(NOISY, run_ahead_steps=0)):
        last = program.compute[-1]
        ends = times.start_ns[:, last] + times.duration_ns[:, last]
        assert (times.end_ns > ends).all()


def test_nobody_waits_without_jitter_and_delays():
    assert {row.tax_max_us for row in truth(QUIET).collectives()} == {0.0}
    assert {row.straggler_rank for row in truth(QUIET).collectives()} == {None}


def test_a_skewed_start_is_paid_in_the_first_collectives():
    rows = list(truth(replace(QUIET, start_skew_ms=50)).collectives())
    heads = [row.tax_max_us for row in rows if row.status == "head" and row.group == "fsdp"]
    later = [row.tax_max_us for row in rows if row.step == 1]
    assert max(heads) > 5_000
    assert max(later) < 1


@settings(max_examples=examples(8), deadline=None)
@given(
    rank=st.integers(0, 15),
    step=st.integers(0, 1),
    kernel=st.integers(0, 25),
    delay_us=st.integers(0, 4_000),
    seed=st.integers(0, 9),
)
def test_a_slow_kernel_keeps_others_waiting_for_what_exceeds_its_slack(
    rank, step, kernel, delay_us, seed
):
    calm = replace(NOISY, seed=seed)
    known = truth(replace(calm, delays=(Delay(rank, step, kernel, float(delay_us)),)))
    (injected,) = known.injected
    if injected.slack_us is None:
        assert step == 1
        return
    key = (injected.group, injected.group_ranks, injected.index)
    before, after = rows_of(truth(calm))[key], rows_of(known)[key]
    more_ns = max(0, round((delay_us - injected.slack_us) * 1000))
    assert rank in injected.group_ranks
    if before.op == "broadcast":
        return
    for other in set(injected.group_ranks) - {rank}:
        assert after.duration_ns[other] == before.duration_ns[other] + more_ns
    if more_ns:
        assert after.straggler_rank == rank


@pytest.mark.parametrize("kernel", [3, 20])
@pytest.mark.parametrize("excess_us", [-100.0, 0.0, 250.0, 2_000.0])
def test_a_late_launch_raises_the_tax_by_what_exceeds_its_slack(kernel, excess_us):
    probe = Delay(2, 1, kernel, 0.0, "cpu")
    (injected,) = truth(replace(QUIET, delays=(probe,))).injected
    assert injected.slack_us > 1_000
    delay = replace(probe, delay_us=injected.slack_us + excess_us)
    known = truth(replace(QUIET, delays=(delay,)))
    assert known.injected[0].slack_us == injected.slack_us
    reached = rows_of(known)[(injected.group, injected.group_ranks, injected.index)]
    assert reached.tax_max_us == pytest.approx(max(0.0, excess_us))
    assert reached.straggler_rank == (2 if excess_us > 0 else None)


def test_a_slow_kernel_without_jitter_has_no_slack():
    known = truth(replace(QUIET, delays=(Delay(1, 0, 3, 750.0),)))
    (injected,) = known.injected
    row = rows_of(known)[(injected.group, injected.group_ranks, injected.index)]
    assert injected.slack_us == 0
    assert (row.op, row.tax_max_us, row.straggler_rank) == ("reduce_scatter", 750.0, 1)


def test_a_delay_reaches_into_the_next_step_when_none_of_its_own_is_left():
    last = len(build(QUIET).compute) - 1
    known = truth(replace(QUIET, delays=(Delay(1, 0, last, 900.0), Delay(1, 1, last, 9.0))))
    assert known.injected[0].op == "all_gather"
    assert rows_of(known)[("tp", (0, 1, 2, 3), known.injected[0].index)].step == 1
    assert known.injected[1].group is None


@pytest.mark.parametrize(
    ("changed", "op", "count"),
    [
        ({"tp_op": "all_reduce"}, "all_reduce", 2 * 4),
        ({"tp_op": "reduce_scatter"}, "all_gather", 2 * 4),
        ({"fsdp": 1, "ep": 1}, "all_to_all", 0),
        ({"fsdp": 2, "ep": 2}, "all_to_all", 2 * 4),
        ({"fsdp": 2, "ep": 2, "microbatches": 3}, "all_to_all", 3 * 2 * 4),
        ({"tp": 1, "cp": 2}, "all_gather", 2),
        ({"tp": 1, "cp": 2}, "reduce_scatter", 2),
        ({"tp": 1, "cp": 2, "microbatches": 3}, "reduce_scatter", 3 * 2),
    ],
)
def test_a_layer_has_the_collectives_of_its_parallelism(changed, op, count):
    program = build(replace(QUIET, **changed))
    ops = [comm.op for _, comm, dim in comms_of(program) if dim.key in ("tp", "ep", "cp")]
    assert ops.count(op) == count


def test_keys_and_values_are_gathered_before_attention_and_reduced_after_it():
    program = build(replace(QUIET, cp=2, layers=1))
    for position, comm, dimension in comms_of(program):
        if dimension.key == "cp":
            beside = position + (-1 if comm.op == "reduce_scatter" else 1)
            assert "flash" in program.launches[beside].kernel.name
            assert program.launches[position].backward == (comm.op == "reduce_scatter")


def test_replicas_meet_once_a_step_and_shards_after_each_microbatch():
    program = build(replace(QUIET, dp=2, microbatches=3))
    ops = [(dim.key, comm.op) for _, comm, dim in comms_of(program)]
    assert ops.count(("dp", "all_reduce")) == 1
    assert ops[-1] == ("dp", "all_reduce")
    assert ops.count(("fsdp", "reduce_scatter")) == 3 * QUIET.layers
    assert ops.count(("fsdp", "all_gather")) == 3 * 2 * QUIET.layers
    whole = build(replace(QUIET, dp=2))
    n_optimizer = 2
    assert len(program.compute) - n_optimizer == 3 * (len(whole.compute) - n_optimizer)


@pytest.mark.parametrize(("given", "payload"), [(None, 1_000), (2_000, 2_000)])
def test_gradients_may_take_other_bytes_than_parameters(given, payload):
    job = replace(QUIET, fsdp_payload_bytes=1_000, fsdp_grad_payload_bytes=given)
    rows = [row for row in truth(job).collectives() if row.group == "fsdp"]
    found = {(row.op, row.dtype, row.payload_bytes) for row in rows}
    assert found == {
        ("all_gather", "BFloat16", 1_000),
        ("reduce_scatter", "Float", payload),
    }


def test_coalesced_kernels_share_a_seq():
    job = replace(QUIET, coalesced=3, steps=1)
    rows = [r for r in truth(job).collectives() if r.group_ranks == (0, 4)]
    gathers = [row.seq for row in rows if row.op == "all_gather"]
    assert gathers[:6] == [1, 1, 1, 2, 2, 2]
    assert [row.index for row in rows] == list(range(len(rows)))


def test_groups_are_the_slices_of_the_world():
    job = SynthJob(tp=2, fsdp=4, ep=2, dp=2, cp=4, steps=1, layers=1)
    groups = {}
    for row in truth(job).collectives():
        groups.setdefault(row.group, set()).add(row.group_ranks)
    assert groups["tp"] == {tuple(range(i, i + 2)) for i in range(0, 16, 2)}
    assert groups["fsdp"] == {tuple(range(s, s + 8, 2)) for s in (0, 1, 8, 9)}
    assert groups["dp"] == {(i, i + 8) for i in range(8)}
    assert groups["ep"] == {(i, i + 2) for i in (0, 1, 4, 5, 8, 9, 12, 13)}
    assert groups["cp"] == groups["fsdp"]


def test_payloads_are_full_buffers_that_the_group_can_share():
    job = SynthJob(tp=3, fsdp=2, tp_payload_bytes=1000, steps=1, layers=1)
    sizes = {row.group: row.payload_bytes for row in truth(job).collectives()}
    assert sizes["tp"] == 996
    assert sizes["fsdp"] == job.fsdp_payload_bytes


def test_the_smallest_job_has_no_collectives():
    known = truth(SynthJob(tp=1, fsdp=1, steps=1, layers=1))
    assert list(known.collectives()) == []
    assert known.ranks[0].n_kernels > 10
