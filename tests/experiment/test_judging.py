"""What is put in comes back: recorded jobs made by hand, and made-up jobs on GPUs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import synctax
from synctax.collectives.tax import measure
from synctax.errors import BadInputError, SynctaxError
from synctax.experiment import judge, read_injections
from synctax.experiment.blame import blame
from synctax.experiment.reach import Reach, reach
from synctax.synth import Delay, SynthJob, truth, write
from tests.experiment.made import (
    ADD_US,
    BASE_NS,
    ISSUE_US,
    ISSUER,
    GlooJob,
    attributed,
    edit,
    experiment,
    judged,
    truth_of,
)

DOSES_MS = (0.0, 1.0, 20.0, 5.0, 2.0, 10.0, 0.0, 5.0, 10.0, 20.0, 1.0, 2.0)


@pytest.fixture(scope="session")
def cpu(tmp_path_factory) -> Path:
    """A job on CPUs whose rank 1 was delayed in each of its steps."""
    return experiment(*DOSES_MS).write(tmp_path_factory.mktemp("cpu"))


@pytest.fixture(scope="session")
def gpu_job() -> SynthJob:
    """Rank 2 is delayed at a kernel of each step, within its slack and beyond."""
    rng = np.random.default_rng(5)
    doses_us = np.repeat([0.0, 2e3, 5e3, 10e3, 20e3], 3)
    kernels = rng.permutation(np.arange(3, 48, 3))
    delays = tuple(
        Delay(2, step + 1, int(kernel), float(dose), "op")
        for step, (dose, kernel) in enumerate(
            zip(rng.permutation(doses_us), kernels, strict=True)
        )
    )
    return SynthJob(tp=4, fsdp=1, layers=2, steps=len(delays) + 1, delays=delays, seed=2)


@pytest.fixture(scope="session")
def gpu(tmp_path_factory, gpu_job) -> Path:
    folder = tmp_path_factory.mktemp("gpu")
    write(gpu_job, folder)
    return folder


# ------------------------------------------------------------------ on the CPU


def test_all_that_was_put_in_comes_back(cpu):
    found = judged(cpu, least_us=1_000)
    assert (found.tally.reached, found.tally.recovered) == (10, 10)
    line = found.by_delay
    assert line.ordinary.slope == pytest.approx(1, abs=0.005)
    assert line.robust.slope == pytest.approx(1, abs=0.005)
    assert line.r2 > 0.999
    assert found.by_culprit.robust.slope == pytest.approx(1, abs=0.005)


def test_each_delay_reaches_the_collective_that_follows_it(cpu):
    hits = judged(cpu).hits
    np.testing.assert_array_equal(hits.index, 3 * np.arange(12) + 1)
    np.testing.assert_array_equal(hits.step, 6 + np.arange(12))
    np.testing.assert_allclose(hits.delay_us, 1000 * np.array(DOSES_MS))
    assert set(hits.operator) == {"aten::mm"}
    assert np.isnan(hits.slack_us).all()


def test_the_path_consists_of_the_delayed_operator_as_far_as_it_lasts(cpu):
    hits = judged(cpu).hits
    (at,) = np.flatnonzero(hits.delay_us == 20_000)[:1]
    mm_us = 20_300
    rest_us = ADD_US + ISSUE_US
    assert hits.operator_share[at] == pytest.approx(mm_us / (mm_us + rest_us), abs=0.002)
    assert (hits.host_share > 0.99).all()


@pytest.mark.parametrize("late", [0, 2])
def test_renumbering_the_ranks_renumbers_the_answer(tmp_path, late):
    job = GlooJob({(late, 6, 1): 5.0, (late, 7, 2): 9.0}, ranks=3)
    found = judged(job.write(tmp_path))
    assert found.hits.rank.tolist() == [late, late]
    assert found.hits.straggler.tolist() == [late, late]
    assert found.tally.recovered == 2


def test_two_delays_before_one_collective_add_up(tmp_path):
    folder = GlooJob({(1, 6, 1): 4.0}).write(tmp_path)
    path = truth_of(folder, 1)
    (whole,) = json.loads(path.read_text())["delays"]
    middle = whole["start_ns"] + 1_500_000
    parts = [
        whole | {"asked_us": 1500.0, "end_ns": middle},
        whole | {"asked_us": 2500.0, "start_ns": middle},
    ]
    edit(path, delays=parts)
    hits = judged(folder).hits
    assert (len(hits), hits.delays.tolist(), hits.delay_us.tolist()) == (1, [2], [4000.0])
    assert hits.tax_us[0] == pytest.approx(4000, abs=50)


def test_a_rank_that_others_are_delayed_with_is_late_by_the_difference(tmp_path):
    job = GlooJob({(0, 6, 1): 3.0, (1, 6, 1): 10.0, (0, 7, 1): 5.0, (1, 7, 1): 5.0})
    found = judged(job.write(tmp_path), least_us=6_000)
    hits = found.hits
    np.testing.assert_allclose(hits.delay_us, [7_000.0, 0.0])
    assert hits.rank[0] == 1
    assert hits.tax_us[0] == pytest.approx(7_000, abs=50)
    assert hits.tax_us[1] < 50


def test_delays_of_several_ranks_leave_none_to_blame(tmp_path):
    """One reaches it from each rank; of the second step's, the other is a control."""
    late = {(0, 6, 1): 3.0, (1, 6, 1): 10.0, (0, 7, 1): 0.0, (1, 7, 1): 9.0}
    found = judged(GlooJob(late).write(tmp_path))
    assert found.hits.delays.tolist() == [2, 2]
    assert found.hits.positive.tolist() == [2, 1]
    assert found.hits.alone.tolist() == [False, True]
    assert found.to_frame().delays.sum() == 4
    assert (found.tally.reached, found.tally.judged, found.tally.recovered) == (2, 1, 1)
    assert "1 more cannot be judged (1 reached by several delays" in found.verdict()[1]


def test_ranks_that_were_delayed_alike_are_no_control(tmp_path):
    late = {(rank, 7, 1): 5.0 for rank in (0, 1)} | {(1, 8, 1): 0.0}
    hits = judged(GlooJob(late).write(tmp_path)).hits
    assert hits.asked_us.tolist() == [0, 0]
    assert hits.is_control.tolist() == [False, True]


def test_what_was_issued_before_a_delay_is_not_reached_by_it(tmp_path):
    """It began after the delay, behind others: on the CPU, too, there is a queue."""
    at = (1, 7, 1)
    one, other = GlooJob({at: 9.0}, ahead=[at]), GlooJob({at: 9.0})
    ahead, behind = (judged(j.write(tmp_path / str(j.ahead))).hits for j in (one, other))
    assert behind.index.tolist() == [4]
    assert ahead.index.tolist() == [5]


def test_a_delay_of_what_issues_a_collective_reaches_this_one(tmp_path):
    job = GlooJob({(1, 7, 1): 9.0, (1, 8, 2): 6.0}, operator=ISSUER)
    found = judged(job.write(tmp_path))
    assert found.hits.index.tolist() == [4, 8]
    assert found.hits.tax_us.tolist() == pytest.approx([9_000, 6_000], abs=50)
    assert found.tally.recovered == 2


def test_an_operator_that_is_named_like_a_collective_issues_none(tmp_path):
    """The collective before it is in the queue, and begins after the delay."""
    at = (1, 7, 1)
    folder = GlooJob({at: 9.0}, ahead=[at]).write(tmp_path)
    for path in folder.rglob("rank1_*"):
        path.write_text(path.read_text().replace("aten::mm", "aten::gather"))
    assert judged(folder).hits.index.tolist() == [5]


def test_an_operator_whose_collective_is_not_there_reaches_the_next(tmp_path):
    folder = GlooJob({(1, 7, 1): 9.0}).write(tmp_path)
    path = truth_of(folder, 1)
    path.write_text(path.read_text().replace("aten::mm", "c10d::send"))
    assert judged(folder).hits.index.tolist() == [4]


def test_another_operator_of_the_name_does_not_do(tmp_path):
    """The truth tells of a delay in the call before the slow one."""
    folder = GlooJob({(1, 6, 1): 8.0}, noise_us=0).write(tmp_path)
    path = truth_of(folder, 1)
    (delay,) = json.loads(path.read_text())["delays"]
    shift = (8_000 + 300 + 1) * 1_000
    moved = {"start_ns": delay["start_ns"] + shift, "end_ns": delay["start_ns"] + shift}
    edit(path, delays=[delay | moved])
    hits = judged(folder).hits
    assert hits.culprit == ("aten::mm",)
    assert (hits.rank_named.tolist(), hits.operator_named.tolist()) == ([True], [False])


def test_another_name_does_not_do(tmp_path):
    folder = GlooJob({(1, 6, 1): 8.0}).write(tmp_path)
    path = truth_of(folder, 1)
    (delay,) = json.loads(path.read_text())["delays"]
    edit(path, delays=[delay | {"operator": "aten::bmm"}])
    hits = judged(folder).hits
    assert hits.rank_named.all()
    assert not hits.operator_named.any()
    assert (hits.operator_share == 0).all()


def test_what_reaches_the_head_is_counted_and_not_judged(tmp_path):
    folder = GlooJob({(1, 6, 0): 9.0, (1, 7, 1): 9.0}).write(tmp_path)
    found = judged(folder)
    assert (found.tally.reached, found.tally.judged, found.tally.recovered) == (2, 1, 1)
    assert found.tally.share == 1
    assert found.tally.share_of_reached == 0.5
    (note,) = found.left_out()
    assert (note.reason, note.count) == ("head", 1)
    assert (
        "1 more cannot be judged (1 head): of all 2 that are reached 50 %"
        in found.verdict()[1]
    )
    row = found.per_collective().iloc[0]
    assert row.isna()[["tax_max_us", "recovered", "rank_named", "path_side"]].all()


def test_a_delay_after_the_last_collective_reaches_none(tmp_path):
    folder = GlooJob({(1, 6, 1): 5.0}, steps=2).write(tmp_path)
    path = truth_of(folder, 1)
    (delay,) = json.loads(path.read_text())["delays"]
    (trace,) = folder.rglob("rank1_trace.json")
    ends = [e["ts"] + e["dur"] for e in json.loads(trace.read_text())["traceEvents"]]
    last = BASE_NS + int(max(ends)) * 1000
    late = delay | {"start_ns": last - 2_000, "end_ns": last - 1_000}
    beyond = delay | {"start_ns": last + 10**9, "end_ns": last + 2 * 10**9}
    edit(path, delays=[delay, late, beyond])
    found = judged(folder)
    assert len(found.hits) == 1
    counts = {note.reason: note.count for note in found.notes}
    assert counts["delay_at_the_end"] == 1
    assert counts["delay_outside_steps"] == 1


def test_without_marked_steps_the_window_counts(tmp_path):
    folder = experiment(0, 5).write(tmp_path)
    for trace in folder.rglob("*_trace.json"):
        whole = json.loads(trace.read_text())
        kept = [e for e in whole["traceEvents"] if "ProfilerStep" not in e["name"]]
        trace.write_text(json.dumps(whole | {"traceEvents": kept}))
    assert judged(folder).tally.recovered == 1


def test_several_windows_have_each_their_truth(tmp_path):
    one = experiment(0, 5)
    other = replace(one, first_step=20, late={(1, 20, 1): 20.0, (1, 21, 1): 10.0})
    for job in (one, other):
        job.write(tmp_path)
    found = judged(tmp_path)
    assert sorted(found.hits.asked_us.tolist()) == [0, 5_000, 10_000, 20_000]
    assert found.tally.recovered == 3


# ------------------------------------------------------------------ on GPUs


def test_what_exceeds_the_slack_comes_back(gpu, gpu_job):
    found = judged(gpu, least_us=1_000)
    assert found.knows_slack
    assert found.tally.judged >= 4
    assert found.tally.share == 1
    line = found.by_excess
    assert line.ordinary.slope == pytest.approx(1, abs=0.01)
    assert line.r2 > 0.999
    # hidden by the lead of the host, most of a delay does not show
    assert found.by_delay.ordinary.slope < 0.9


def test_the_truth_of_a_made_up_job_says_what_is_reached(gpu, gpu_job):
    hits = judged(gpu).hits
    known = {
        (one.group, one.index, one.delay_us, one.slack_us)
        for one in truth(gpu_job).injected
        if one.index is not None
    }
    told = set(
        zip(
            hits.group,
            hits.index.tolist(),
            hits.delay_us.tolist(),
            hits.slack_us.tolist(),
            strict=True,
        )
    )
    assert told == known
    np.testing.assert_allclose(
        hits.expected_us, np.maximum(hits.delay_us - hits.slack_us, 0), atol=1e-3
    )


def test_the_path_goes_through_the_cpu_where_the_delay_exceeds_the_slack(gpu):
    found = judged(gpu)
    hits = found.hits
    np.testing.assert_array_equal(hits.host_share > 0, hits.expected_us > 0)
    bins = found.through_cpu()
    assert sum(one["collectives"] for one in bins) == hits.judged.sum()
    for one in bins:
        assert one["through_cpu_share"] == (
            one["from_us"] is not None and one["from_us"] >= 0
        )
    shares = [one["cpu_path_share_median"] for one in bins]
    assert shares[-1] > 0.95
    assert any(
        "100 % of collectives whose delay exceeds its slack" in text
        for text in found.verdict()
    )


@pytest.mark.parametrize("side", ["gap", "call", "gpu"])
def test_each_side_is_found_as_what_it_makes_longer(tmp_path, side):
    delays = (Delay(1, 1, 5, 0.0, side), Delay(1, 2, 7, 25e3, side))
    job = SynthJob(tp=2, fsdp=1, layers=1, steps=3, delays=delays)
    write(job, tmp_path)
    found = judged(tmp_path)
    assert (found.tally.judged, found.tally.recovered) == (1, 1)
    assert found.hits.operator_share[1] > 0.9


def test_a_wait_that_was_passed_on_leads_to_its_origin(tmp_path):
    """The collective that is reached waits for another one, and that for the delay."""
    folder = GlooJob({(1, 6, 1): 8.0}).write(tmp_path)
    found, told = attributed(folder), read_injections(folder)
    results = found.results
    first, second = (int(np.flatnonzero(results.slot == slot)[0]) for slot in (1, 2))
    comm, origin = results.comm_slot.copy(), results.origin.copy()
    rank = results.origin_rank.copy()
    comm[second], origin[second], rank[second] = 1, first, 1
    handed = replace(results, comm_slot=comm, origin=origin, origin_rank=rank)
    slot, ns = np.array([2]), np.array([-1])
    late = Reach(np.array([1], np.int32), slot, ns, ())
    hits = blame(replace(found, results=handed), told, late)
    flags = (hits.rank_named, hits.operator_named, hits.passed_on, hits.recovered)
    assert [flag.tolist() for flag in flags] == [[True]] * 4
    assert hits.origin_culprit == ("aten::mm",)
    alone = blame(found, told, late)
    assert not alone.operator_named.any()
    assert alone.origin_culprit == (None,)


def test_collectives_of_other_groups_are_left_out_and_counted(tmp_path):
    delays = (Delay(2, 1, 24, 9e3, "gpu"),)
    write(SynthJob(tp=2, fsdp=2, layers=1, steps=3, delays=delays), tmp_path)
    every, other = judged(tmp_path), judged(tmp_path, group="fsdp")
    assert every.hits.group == ("tp",)
    assert len(other.hits) == 0
    counts = {note.reason: note.count for note in other.notes}
    assert counts["delay_not_selected"] == 1
    assert "nothing is said of recovery" in other.verdict()[0]
    assert len(other.to_frame()) == len(other.per_collective()) == 0


def test_several_delays_have_no_slack_together(tmp_path):
    delays = (Delay(1, 1, 5, 20e3, "op"), Delay(1, 1, 6, 20e3, "op"))
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=3, delays=delays), tmp_path)
    found = judged(tmp_path)
    (delay_us,) = found.hits.delay_us.tolist()
    assert delay_us == 40e3
    assert np.isnan(found.hits.slack_us).all()
    assert not found.due.any()


def test_collectives_that_were_lost_are_counted(tmp_path):
    delays = (Delay(1, 2, 13, 20e3, "op"), Delay(0, 1, 5, 20e3, "op"))
    job = SynthJob(tp=2, fsdp=1, layers=1, steps=3, delays=delays, lost_tail={0: 4, 1: 4})
    write(job, tmp_path)
    found = judged(tmp_path)
    counts = {note.reason: note.count for note in found.notes}
    known = truth(job).injected
    assert counts.get("delay_not_recorded", 0) == sum(
        one.group is not None and one.index is None for one in known
    )
    assert len(found.hits) == sum(one.index is not None for one in known)


def test_a_recorded_delay_on_a_gpu_reaches_the_first_that_is_launched_after_it(
    gpu, tmp_path
):
    """Launched before and run after: the delay has nothing to do with it."""
    tax = attributed(gpu).tax
    folder = tmp_path / "recorded"
    shutil.copytree(gpu, folder)
    (folder / "truth.json").unlink()
    table = tax.matches.table
    (position,) = (i for i, rank in enumerate(tax.matches.ranks) if rank.rank == 2)
    mine = np.flatnonzero(table.rank == position)
    mine = mine[np.argsort(table.launch_ns[mine])]
    behind = table.start_ns[mine] - table.launch_ns[mine]
    assert (behind > 0).all()
    at = int(table.launch_ns[mine[20]]) + 1
    trace = Path(tax.matches.ranks[position].path)
    step = int(table.step[mine[20]])
    write_truth(folder / trace.relative_to(gpu).parent, 2, step, (at, at + 10))
    found = reach(
        measure(synctax.load([str(folder)], workers=1)).matches, read_injections(folder)
    )
    slots = np.repeat(np.arange(len(tax.matches)), np.diff(tax.matches.first))
    (row,) = np.flatnonzero(tax.matches.row == mine[21])
    assert found.slot.tolist() == [slots[row]]
    assert table.start_ns[mine[20]] > at + 10, "it ran after the delay"


def write_truth(folder, rank, step, between):
    rules = [{"operator": "aten::mm", "us": 0.01, "rank": rank}]
    delay = {
        "step": step,
        "operator": "aten::mm",
        "nth": 0,
        "rule": 0,
        "asked_us": 0.01,
        "start_ns": between[0],
        "end_ns": between[1],
        "thread": 1,
        "side": "host",
    }
    keys = {
        "schema": "synctax.delays/1",
        "rank": rank,
        "host": "",
        "rules": rules,
        "occurrences": {},
        "delays": [delay],
    }
    (folder / f"rank{rank}_delays.json").write_text(json.dumps(keys))


def test_what_a_gpu_hides_is_said_where_no_truth_tells_it(gpu, tmp_path):
    folder = tmp_path / "recorded"
    shutil.copytree(gpu, folder)
    (folder / "truth.json").unlink()
    rank = next(r for r in attributed(gpu).tax.matches.ranks if r.rank == 2)
    at = int(rank.step_start_ns[1]) + 1_000
    where = folder / Path(rank.path).relative_to(gpu).parent
    write_truth(where, 2, int(rank.step_number[1]), (at, at + 10_000_000))
    found = judged(folder)
    assert found.setting.on_gpu
    assert not found.knows_slack
    assert any("launches run ahead of a GPU" in text for text in found.verdict())


def test_a_kernel_that_spins_is_the_delay_of_a_recorded_gpu(tmp_path):
    job = SynthJob(tp=2, fsdp=1, layers=1, steps=3, delays=(Delay(1, 1, 5, 8e3, "gpu"),))
    write(job, tmp_path)
    (tmp_path / "truth.json").unlink()
    (path,) = tmp_path.rglob("rank1_trace.json")
    trace = json.loads(path.read_text())
    (spin,) = (
        e for e in trace["traceEvents"]
        if e.get("cat") == "kernel" and 8_000 < e["dur"] < 9_000 and "nccl" not in e["name"]
    )  # fmt: skip
    spin["name"] = "at::cuda::(anonymous namespace)::spin_kernel(long)"
    (call,) = (
        e for e in trace["traceEvents"]
        if e.get("cat") == "cuda_runtime"
        and e["args"].get("correlation") == spin["args"]["correlation"]
    )  # fmt: skip
    path.write_text(json.dumps(trace))
    at = trace["baseTimeNanoseconds"] + round(1000 * call["ts"])
    write_truth(path.parent, 1, 1, (at, at + 1_000))
    told = path.parent / "rank1_delays.json"
    (delay,) = json.loads(told.read_text())["delays"]
    edit(told, delays=[delay | {"side": "gpu", "asked_us": 8_000.0}])
    found = judged(tmp_path)
    assert (found.tally.reached, found.tally.recovered) == (1, 1)
    assert found.hits.operator_share[0] > 0.8


# ------------------------------------------------------------------ truth and traces


def refused(folder, error=BadInputError):
    with pytest.raises(error) as told:
        judged(folder)
    return str(told.value)


@pytest.fixture
def folder(cpu, tmp_path) -> Path:
    """The same job, to be damaged."""
    copied = tmp_path / "job"
    shutil.copytree(cpu, copied)
    return copied


def test_the_truth_of_another_run_is_refused(folder):
    path = truth_of(folder, 1)
    hour_ns = 3_600 * 10**9
    delays = json.loads(path.read_text())["delays"]
    for one in delays:
        one["start_ns"] -= hour_ns
        one["end_ns"] -= hour_ns
    edit(path, delays=delays)
    message = refused(folder)
    assert "of another run" in message
    assert "none of 12 delays lies in a step" in message
    assert "before the trace begins" in message


def put_off(folder, *, by):
    """Copy a job, and number the steps of its traces as if they had begun later."""
    copied = folder.with_name(f"{folder.name}{by}")
    folder = Path(shutil.copytree(folder, copied))
    for path in folder.rglob("*_trace.json"):
        whole = json.loads(path.read_text())
        for event in whole["traceEvents"]:
            name, _, number = event["name"].partition("#")
            if number:
                event["name"] = f"{name}#{int(number) + by}"
        path.write_text(json.dumps(whole))
    return folder


def planned(folder, steps, **more):
    """Let the truth tell of a rule for each of some steps."""
    rules = [
        {"operator": "aten::mm", "us": 5e3, "rank": 1, "first_step": n, "end_step": n + 1}
        for n in steps
    ]
    edit(truth_of(folder, 0), rules=rules)
    edit(truth_of(folder, 1), rules=rules, **more)


def test_a_window_that_was_put_off_is_told_from_a_wrong_name(folder):
    planned(folder, range(6, 18), delays=[])
    assert "no operator that ran" in refused(folder, SynctaxError)
    message = refused(put_off(folder, by=12), SynctaxError)
    assert message.startswith("nothing was delayed: the window was put off: steps 6 to 17")
    assert "steps 18 to 29 were recorded" in message
    assert "--skip the steps that it takes" in message


def test_delays_before_a_window_that_was_put_off_are_no_other_run(folder):
    path = truth_of(folder, 1)
    delays = json.loads(path.read_text())["delays"]
    early = [
        one | {key: one[key] - 10**10 for key in ("start_ns", "end_ns")} for one in delays
    ]
    planned(folder, range(6, 18), delays=early)
    assert "is of another run" in refused(folder)
    assert "the window was put off" in refused(put_off(folder, by=20), SynctaxError)
    planned(folder, range(40, 52), delays=early)
    assert "is of another run" in refused(folder), "no window is put off to an earlier step"


def test_rules_for_steps_that_were_not_recorded_are_counted(folder):
    planned(folder, range(6, 21))
    (note,) = (n for n in judged(folder).notes if n.reason == "rule_outside_steps")
    assert note.count == 3
    assert note.detail.endswith("18 to 20, while traces hold 6 to 17")


def test_a_rule_without_an_end_and_steps_that_are_not_marked_are_no_trouble(folder):
    rule = {"operator": "aten::mm", "us": 5e3}
    edit(truth_of(folder, 1), rules=[rule])
    assert not any(n.reason == "rule_outside_steps" for n in judged(folder).notes)


def test_a_delayed_rank_without_a_trace_is_named(folder):
    for path in folder.rglob("rank1_trace.json"):
        path.unlink()
    copied = next(folder.rglob("rank0_trace.json"))
    other = json.loads(copied.read_text())
    other["distributedInfo"]["rank"] = 2
    (copied.parent / "rank2_trace.json").write_text(json.dumps(other))
    (copied.parent / "rank2_delays.json").write_text(
        truth_of(folder, 0).read_text().replace('"rank": 0', '"rank": 2')
    )
    message = refused(folder)
    assert (
        "no trace of rank 1 was read" in message or "tells of delays on rank 1" in message
    )


def test_a_delayed_rank_without_a_truth_is_named(folder):
    truth_of(folder, 1).unlink()
    assert "there is no rank1_delays.json" in refused(folder)


def test_a_rank_that_the_job_does_not_have_is_named(folder):
    for rank in (0, 1):
        rules = [{"operator": "aten::mm", "us": 1.0, "rank": 5}]
        edit(truth_of(folder, rank), rules=rules, delays=[])
    message = refused(folder)
    assert "rank 5 was to be delayed" in message
    assert "there are the ranks 0,1; delay one of these" in message


def test_truths_in_other_folders_than_several_windows_are_told(tmp_path):
    one = experiment(0, 5)
    for job in (one, replace(one, first_step=20, late={(1, 20, 1): 20.0})):
        job.write(tmp_path)
    for path in sorted(tmp_path.rglob("*_delays.json"))[:2]:
        path.rename(tmp_path / path.name)
    assert "2 traces are of it in other folders" in refused(tmp_path)


def test_a_job_without_delays_is_refused(folder):
    edit(truth_of(folder, 1), delays=[])
    assert "no operator that ran in the recorded steps matches aten::mm" in refused(
        folder, SynctaxError
    )
    edit(truth_of(folder, 0), rules=[])
    edit(truth_of(folder, 1), rules=[])
    assert "the truth has no rules" in refused(folder, SynctaxError)


def test_a_made_up_job_without_delays_is_refused(tmp_path):
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=2), tmp_path)
    assert "give synctax synth some --delay" in refused(tmp_path, SynctaxError)


def test_truth_without_traces_is_refused(folder):
    for path in folder.rglob("*_trace.json"):
        path.unlink()
    assert "no trace" in refused(folder)


def test_wrong_calls_are_refused(cpu):
    found, told = attributed(cpu), read_injections(cpu)
    with pytest.raises(TypeError, match="attribute"):
        judge(found.tax, told)
    for least_us in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="least_us"):
            judge(found, told, least_us=least_us)
    with pytest.raises(ValueError, match="resamples"):
        judge(found, told, resamples=0)
