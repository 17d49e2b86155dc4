"""Why ranks were late: paths that the simulation's own times must bear out."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.synth import TRUTH_FILE, Delay, SynthJob, truth, write, writer
from synctax.synth.lookup import delayed
from synctax.synth.path import LATENCIES
from synctax.synth.program import build
from synctax.synth.simulate import initial_state, simulate_step
from tests.laws import examples
from tests.synth.jobs import jobs

JOB = SynthJob(layers=1, steps=2, seed=11, truth_paths=True)
QUIET = replace(JOB, jitter_law="none", run_ahead_steps=0, tp=2)
"""Groups of two, so that there is a fastest rank as soon as one is late."""
ALONE = replace(
    JOB, fsdp=1, layers=2, jitter=0.3, cpu_jitter=3.0, run_ahead_steps=0, seed=5
)
"""One group, partly bound by the host."""
LATENCIES_NS = {"launch": {1_800}, "stream": {900}, "cross": {900, 1_800}}
DELAY_NS = 3_000_000


def simulated(job):
    program, found = build(job), []
    state = initial_state(job, program)
    for step in range(job.steps):
        times, state = simulate_step(job, program, state, step, delays=job.delays)
        found.append(times)
    return program, found


def span(steps, rank, item):
    """Where an item lies on a rank; None where only the GPU could tell."""
    times, at = steps[item.step], item.position
    if item.kind in ("kernel", "comm"):
        start = times.start_ns[rank, at]
        return start, start + times.duration_ns[rank, at]
    if item.kind in ("cpu", "call", "return"):
        edges = (times.slot_ns, times.call_ns, times.call_end_ns, times.slot_end_ns)
        first = ("cpu", "call", "return").index(item.kind)
        return edges[first][rank, at], edges[first + 1][rank, at]
    if item.kind == "gap" and at == times.slot_ns.shape[1]:
        return times.slot_end_ns[rank, -1], times.sync_ns[rank]
    if item.kind == "gap" and at:
        return times.slot_end_ns[rank, at - 1], times.slot_ns[rank, at]
    if item.kind == "gap":
        return steps[item.step - 1].end_ns[rank], times.slot_ns[rank, 0]
    return None


def check_path(path, steps, fence_ns, arrival_ns):
    at = fence_ns
    for item in path.items:
        assert item.start_ns == at < item.end_ns
        at = item.end_ns
        if item.kind in LATENCIES:
            cut = item.start_ns == fence_ns
            assert cut or item.duration_ns in LATENCIES_NS[item.kind]
        elif item.kind == "sync":
            assert item.end_ns == steps[item.step].end_ns[path.rank]
        else:
            start, end = span(steps, path.rank, item)
            assert (item.start_ns, item.end_ns) == (max(start, fence_ns), end)
    assert at == arrival_ns
    assert path.window_ns == arrival_ns - fence_ns


def check_variation(one, steps, why):
    found = span(steps, why.fast.rank, one.item)
    if found is None:
        assert one.item.kind == "sync"
        return
    start, end = found
    assert one.carried == (end <= why.fence_ns)
    whole = span(steps, why.slow.rank, one.item)
    if whole[0] < why.fence_ns < end:
        start = max(start, why.fence_ns)
    assert one.variation_ns == one.item.duration_ns - (end - start)


@settings(max_examples=examples(12), deadline=None)
@given(jobs(), st.booleans())
def test_a_path_tiles_the_time_from_the_fence_to_the_arrival(job, together):
    plain = {"clock_drift_ppm": 0.0, "rank_clock_drift_ppm": {}, "whole_us": False}
    job = replace(job, truth_paths=True, write_ranks=None, **(plain if together else {}))
    known = truth(job)
    program, steps = simulated(job)
    for (step, number, _), row in known.rows():
        why = row.lateness
        if why is None:
            continue
        arrivals = steps[step].start_ns[:, program.comms[number]]
        for path, rank in ((why.slow, row.straggler_rank), (why.fast, row.fastest_rank)):
            assert path.rank == rank
            check_path(path, steps, why.fence_ns, arrivals[rank])
        assert [one.item for one in why.variations] == [
            item for item in why.slow.items if item.kind not in LATENCIES
        ]
        for one in why.variations:
            check_variation(one, steps, why)
        if together:
            tax_ns = round(row.tax_max_us * 1000)
            assert why.slow.window_ns - why.fast.window_ns == tax_ns > 0


@settings(max_examples=examples(12), deadline=None)
@given(jobs())
def test_a_fence_is_the_last_that_all_ranks_recorded_and_left_together(job):
    known = truth(replace(job, truth_paths=True))
    program, steps = simulated(job)
    fences = {}
    for (step, number, _), row in known.rows():
        position = program.comms[number]
        comm = program.launches[position].comm
        ranks = list(row.group_ranks)
        if comm.uneven or comm.op == "broadcast" or row.n_ranks < len(ranks):
            assert row.lateness is None
            continue
        key = (comm.dimension, row.group_ranks)
        alike = row.straggler_rank is None or row.fastest_rank is None
        assert (row.lateness is None) == (alike or key not in fences)
        if row.lateness is not None:
            assert (row.lateness.fence_index, row.lateness.fence_ns) == fences[key]
        times = steps[step]
        (end_ns,) = set((times.start_ns + times.duration_ns)[ranks, position].tolist())
        fences[key] = (row.index, end_ns)


def rows(job):
    return {
        (row.group, row.group_ranks, row.index): row
        for row in truth(job).collectives()
        if row.lateness is not None
    }


def after_the_last_wait(items):
    """The end of a path that no other rank can change."""
    waits = [place for place, item in enumerate(items) if item.kind == "comm"]
    return items[waits[-1] + 1 :] if waits else items


@settings(max_examples=examples(8))
@given(st.data(), st.sampled_from([ALONE, JOB]), st.integers(1, 5_000))
def test_a_longer_kernel_on_the_path_is_found_there_to_the_nanosecond(data, job, more_us):
    program, before = build(job), rows(job)
    kernels = {
        (key, item.step, item.position): item
        for key, row in before.items()
        for item in after_the_last_wait(row.lateness.slow.items)
        if item.kind == "kernel" and item.start_ns > row.lateness.fence_ns
    }
    key, step, position = data.draw(st.sampled_from(sorted(kernels)))
    row = before[key]
    number = program.compute.index(position)
    late = Delay(row.straggler_rank, step, number, float(more_us))
    after = rows(replace(job, delays=(late,)))[key]
    old, new = row.lateness, after.lateness
    assert new.slow.window_ns == old.slow.window_ns + more_us * 1000
    assert after.straggler_rank == row.straggler_rank
    lengths = {item.key: item.duration_ns for item in old.slow.items}
    lengths["kernel", step, position] += more_us * 1000
    assert lengths == {item.key: item.duration_ns for item in new.slow.items}


@settings(max_examples=examples(8))
@given(st.data())
def test_what_is_late_by_less_than_the_margin_changes_no_path(data):
    program, before = build(ALONE), rows(ALONE)
    _, steps = simulated(ALONE)
    # Latencies differ by less than this.
    roomy = {key: row for key, row in before.items() if row.lateness.margin_ns > 8_000}
    key = data.draw(st.sampled_from(sorted(roomy)))
    row = roomy[key]
    why, rank = row.lateness, row.straggler_rank
    margin_us = (why.slow.margin_ns - 4_000) / 1000
    on_path = {item.key for item in why.slow.items}
    late = [
        Delay(rank, step, number, margin_us, side)
        for step, times in enumerate(steps)
        for number, position in enumerate(program.compute)
        for side, kind, at, start_ns in (
            ("gpu", "kernel", position, times.start_ns[rank, position]),
            ("op", "cpu", *slot_of(program, times, rank, position)),
            ("call", "call", *slot_of(program, times, rank, position)),
        )
        if start_ns > why.fence_ns and (kind, step, at) not in on_path
    ]
    delay = data.draw(st.sampled_from(late))
    after = rows(replace(ALONE, delays=(delay,)))[key]
    assert after.lateness.slow.items == why.slow.items


def slot_of(program, times, rank, position):
    slot = program.launches[position].slot
    return slot, times.slot_ns[rank, slot]


def row_reached(known):
    (injected,) = known.injected
    key = (injected.group, injected.group_ranks, injected.index)
    (row,) = (
        row for row in known.collectives() if (row.group, row.group_ranks, row.index) == key
    )
    return row


@pytest.mark.parametrize("excess_us", [2.0, 50.0, 1_000.0])
def test_the_margin_is_by_how_much_the_late_launch_completed_after_the_computation(
    excess_us,
):
    late = Delay(2, 1, None, 0.0, "op", "tp:3")
    (injected,) = truth(replace(QUIET, delays=(late,))).injected
    late = replace(late, delay_us=injected.slack_us + excess_us)
    row = row_reached(truth(replace(QUIET, delays=(late,))))
    assert row.lateness.slow.margin_ns == round(excess_us * 1000)


HOST_SIDES = [("op", "cpu"), ("cpu", "cpu"), ("gap", "gap"), ("call", "call")]


@pytest.mark.parametrize(
    ("side", "kind", "kernel", "collective"),
    [
        *((side, kind, 1, "") for side, kind in [*HOST_SIDES, ("gpu", "kernel")]),
        *((side, kind, None, "tp:1") for side, kind in HOST_SIDES),
    ],
)
def test_the_cause_is_what_was_made_late(side, kind, kernel, collective):
    job = replace(QUIET, tp_op="all_reduce", dp=2)
    late = Delay(2, 1, kernel, DELAY_NS / 1000, side, collective)
    known = truth(replace(job, delays=(late,)))
    (injected,) = known.injected
    row = row_reached(known)
    cause = row.lateness.cause
    position = delayed(known.program, late)
    slot = known.program.launches[position].slot
    at = position if kind == "kernel" else slot
    assert cause.item.key == (kind, 1, at)
    # A collective has computation before it that hides some of the delay.
    hidden_ns = round(injected.slack_us * 1000)
    assert DELAY_NS - hidden_ns - 20_000 <= cause.variation_ns <= DELAY_NS
    if not collective:
        assert cause.variation_ns == DELAY_NS
    names = {
        "cpu": "record_param_comms" if collective else "aten::mm",
        "gap": "",
        "call": "cudaLaunchKernelExC" if collective else "cudaLaunchKernel",
        "kernel": "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT",
    }
    assert cause.item.name == names[kind]
    assert row.lateness.propagated_ns == 0


def test_a_path_may_lead_through_the_end_of_a_step():
    last = len(build(QUIET).compute) - 1
    late = Delay(2, 0, last, 40_000.0, "gap")
    found = rows(replace(QUIET, run_ahead_steps=1, delays=(late,)))
    row = next(row for row in found.values() if row.step == 1 and row.straggler_rank == 2)
    kinds = [(item.kind, item.step) for item in row.lateness.slow.items]
    at = kinds.index(("sync", 0))
    assert kinds[at - 3 : at + 3] == [
        ("call", 0),
        ("return", 0),
        ("gap", 0),
        ("sync", 0),
        ("gap", 1),
        ("cpu", 1),
    ]
    assert row.lateness.slow.items[at].duration_ns == 4_200
    assert row.lateness.cause.item.kind == "gap"
    assert row.lateness.cause.item.step == 0
    assert row.lateness.cause.item.name == ""


def test_what_ends_a_step_late_is_the_computation_before_it():
    late = Delay(2, 0, len(build(QUIET).compute) - 1, 5_000.0)
    found = rows(replace(QUIET, delays=(late,)))
    row = next(row for row in found.values() if row.step == 1)
    kinds = [item.kind for item in row.lateness.slow.items]
    at = kinds.index("sync")
    assert kinds[at - 1 : at + 3] == ["kernel", "sync", "gap", "cpu"]
    assert row.lateness.slow.items[at].duration_ns == 900 + 4_200
    assert row.lateness.cause.item.key == ("kernel", 0, build(QUIET).compute[-1])
    assert row.lateness.cause.variation_ns == 5_000_000


def test_a_wait_for_another_group_is_propagated_and_the_one_waited_for_is_not():
    job = replace(QUIET, layers=1, run_ahead_steps=1)
    late = Delay(1, 1, 20, DELAY_NS / 1000)
    found = rows(replace(job, delays=(late,)))
    scattered = {
        key: row
        for key, row in found.items()
        if row.group == "fsdp" and row.op == "reduce_scatter" and row.step == 1
    }
    assert {key[1] for key in scattered} == {(0, 2), (1, 3)}
    for (_, ranks, _), row in scattered.items():
        assert row.tax_max_us == DELAY_NS / 1000
        assert row.straggler_rank == ranks[0]
        why = row.lateness
        if ranks == (1, 3):
            assert why.propagated_ns == 0
            assert why.cause.item.kind == "kernel"
            assert why.cause.item.position == delayed(build(job), late)
        else:
            assert why.propagated_ns == DELAY_NS
            assert why.cause.item.kind == "comm"
        assert why.cause.variation_ns == DELAY_NS


def test_a_rank_that_was_late_before_the_fence_carries_it():
    late = Delay(2, 1, None, 40_000.0, "gap", "tp:1")
    found = rows(replace(JOB, run_ahead_steps=1, delays=(late,)))
    carried = Counter()
    for row in found.values():
        for one in row.lateness.variations:
            carried[one.carried, row.straggler_rank == 2] += 1
    assert carried[True, True] > 20
    assert carried[False, True] > 20


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("operators", [0, 2])
def test_names_are_those_of_the_trace(tmp_path, graphs, operators):
    job = replace(
        QUIET,
        jitter_law="gumbel",
        cuda_graphs=graphs,
        cpu_ops_per_kernel=operators,
        delays=(Delay(0, 0, None, 9_000.0, "gap", "tp:5"),),
        layout="flat",
    )
    known = write(job, tmp_path)
    text = (tmp_path / "rank0.json").read_text()
    names = {
        (item.kind, item.name)
        for row in known.collectives()
        if row.lateness is not None
        for item in row.lateness.slow.items + row.lateness.fast.items
    }
    assert {kind for kind, _ in names} >= {"kernel", "cpu", "call", "return", "gap"}
    unnamed = {kind for kind, name in names if not name}
    assert unnamed == ({"gap"} if operators else {"gap", "cpu", "return"})
    for _, name in names:
        assert f'"name": "{name}"' in text or not name
    assert ("call", "cudaGraphLaunch") in names or not graphs


def test_the_truth_file_tells_them_where_asked(tmp_path):
    known = write(JOB, tmp_path / "with")
    write(replace(JOB, truth_paths=False), tmp_path / "without")
    having, lacking = (
        json.loads((tmp_path / name / TRUTH_FILE).read_text())["collectives"]
        for name in ("with", "without")
    )
    assert all("lateness" not in row for row in lacking)
    assert [
        {key: value for key, value in row.items() if key != "lateness"} for row in having
    ] == lacking
    told = [row["lateness"] for row in having if "lateness" in row]
    whys = [row.lateness for row in known.collectives() if row.lateness is not None]
    assert len(told) == len(whys) > 30
    for text, why in zip(told, whys, strict=True):
        assert text["fence_index"] == why.fence_index
        assert text["window_us"] == why.slow.window_ns / 1000
        assert text["margin_us"] == why.margin_ns / 1000
        assert text["propagated_us"] == why.propagated_ns / 1000
        item = why.cause.item
        cause = [item.kind, item.name, item.step, item.position]
        assert text["cause"] == [*cause, why.cause.variation_ns / 1000]
        assert [row[0] for row in text["items"]] == [
            one.item.kind for one in why.variations
        ]
        assert sum(row[4] for row in text["items"]) <= text["window_us"]


def test_paths_do_not_depend_on_how_many_files_are_open_at_once(tmp_path, monkeypatch):
    known = list(truth(JOB).collectives())
    monkeypatch.setattr(writer, "RANKS_AT_ONCE", 3)
    assert list(write(JOB, tmp_path).collectives()) == known
