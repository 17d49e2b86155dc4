"""What changes are worth: on made-up jobs whose other past is known, and on real traces."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import synctax
from synctax.attribution.changes import Change, Replace, parse_change
from synctax.attribution.whatif import ALL_TOGETHER, explore
from synctax.attribution.whatif_verdict import condition
from synctax.attribution.world import read_world
from synctax.errors import SynctaxError
from synctax.graph.model import NodeKind
from synctax.schema import WHATIF, WHATIF_OPS, WHATIF_STEPS
from synctax.synth import Delay, SynthJob, write
from tests.attribution.examples import kept
from tests.laws import some
from tests.trace import builders

JOB = SynthJob(tp=2, fsdp=2, layers=2, steps=3)
RANK, DELAY_US = 1, 8_000.0
REAL = {
    "ddp4-mi300": (0, 3), "dlrm8-v100": (0, 1, 5), "megatron-tp8-a100": None,
    "torchrec4-sleep-rank2": None,
}  # fmt: skip
"""Recorded jobs, and which of their ranks are read."""


def read(path, *, steps=None, cache=None):
    tax = synctax.measure(synctax.load([path], workers=1), steps=steps)
    return read_world(tax, workers=1, cache=cache)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write a job once and return its world."""
    known = {}

    def made(job):
        if repr(job) not in known:
            folder = tmp_path_factory.mktemp("job")
            write(job, folder)
            known[repr(job)] = read(folder)
        return known[repr(job)]

    return made


@pytest.fixture(scope="module")
def recorded(shared_traces):
    """Read a recorded job once and return its world."""
    known = {}

    def recorded(name):
        if name not in known:
            folder, ranks = shared_traces / name, REAL[name]
            job = synctax.load([folder], ranks=ranks, workers=1, cache=kept(folder))
            known[name] = read_world(synctax.measure(job), workers=1, cache=kept(folder))
        return known[name]

    return recorded


def lengthened(with_delay, without):
    """Replace the node of the delayed rank that is longer by what it lasts without."""

    def durations(world):
        part = slice(*world.network.base[RANK : RANK + 2])
        keys, lasts = world.key[part].tolist(), world.network.duration_ns[part].tolist()
        skip = np.isin(world.network.kind[part], [NodeKind.WAIT, NodeKind.COLLECTIVE])
        return {key: (node, lasts[node]) for node, key in enumerate(keys) if not skip[node]}

    before = durations(without)
    longer = [
        Replace(RANK, node, before[key][1])
        for key, (node, lasts) in durations(with_delay).items()
        if key in before and lasts - before[key][1] > DELAY_US * 900
    ]
    assert len(longer) == 1
    return longer[0]


PLACES = [*((side, "") for side in ("gpu", "op", "gap", "call")), ("gap", "tp:5")]
TOLD = {"sync_records": "full"}
AT_ONCE = {"run_ahead_steps": 0, "jitter": 0.1}
"""The trace tells what calls wait for; or not, and the host waits at each step's end."""


def without_its_delay(made, job, delay):
    """Replay a delayed job without the delay, and recall it and the same job without."""
    late, good = made(replace(job, delays=(delay,))), made(job)
    (told,) = explore(late, [lengthened(late, good)]).scenarios
    return told.outcome, explore(late, []).recorded, explore(good, []).recorded


@pytest.mark.parametrize(
    ("options", "side", "collective"),
    some(
        [
            *((TOLD, *place) for place in PLACES),
            *((AT_ONCE, *place) for place in PLACES[::3]),
        ]
    ),
)
def test_without_its_delay_a_job_takes_as_long_as_one_that_never_had_it(
    made, options, side, collective
):
    delay = Delay(RANK, 1, None if collective else 5, DELAY_US, side, collective)
    told, late, good = without_its_delay(made, replace(JOB, **options), delay)
    assert late.mean_total_us > 1.05 * good.mean_total_us
    assert told.mean_total_us == pytest.approx(good.mean_total_us, rel=0.001)
    assert_array_equal(told.step, [0, 1, 2])
    np.testing.assert_allclose(told.step_ns, good.step_ns, rtol=0.001)
    # untold, what a late launch hid of the other dependencies of a prefetch is guessed
    guessed = options is AT_ONCE and side != "gpu"
    told, late, good = (one.tax_ns.sum() for one in (told, late, good))
    assert abs(told - good) < (0.1 if guessed else 0.002) * abs(late - good)


@pytest.mark.parametrize("side", ["gpu", "op"])
def test_a_host_that_runs_ahead_takes_no_delay_into_another_step(made, side):
    told, late, good = without_its_delay(made, JOB, Delay(RANK, 1, 5, DELAY_US, side))
    assert told.mean_total_us == pytest.approx(good.mean_total_us, rel=0.001)
    np.testing.assert_allclose(told.step_ns, good.step_ns, rtol=0.001)
    assert late.step_ns[1] > 1.5 * good.step_ns[1]
    np.testing.assert_allclose(late.step_ns[[0, 2]], good.step_ns[[0, 2]], rtol=0.001)


@pytest.mark.parametrize("text", ["cpu*0", "gaps*0.5", "launches*0", "gpu*0.7", "rank=0*0"])
def test_less_work_makes_no_mean_step_longer(made, busy_before, text):
    for world in (busy_before, made(JOB)):
        (told,) = explore(world, [parse_change(text)]).scenarios
        recorded = explore(world, []).recorded
        assert told.outcome.mean_step_us <= recorded.mean_step_us
        assert (told.outcome.total_ns <= recorded.total_ns).all()


@pytest.fixture(scope="module")
def busy_before(tmp_path_factory):
    """A job of which rank 0's thread is in many operators before its first step."""
    folder = tmp_path_factory.mktemp("busy")
    write(JOB, folder)
    path = next(folder.rglob("*rank0*.json"))
    trace = json.loads(path.read_text())
    first = next(one for one in trace["traceEvents"] if one.get("cat") == "cpu_op")
    where = {name: first[name] for name in ("pid", "tid", "cat", "ph")}
    trace["traceEvents"] += [
        {**where, "name": f"n{i}", "ts": first["ts"] - 3000 + i / 2, "dur": 6000 - i}
        for i in range(300)
    ]
    path.write_text(json.dumps(trace))
    return read(folder)


def test_steps_are_what_the_whole_takes_until_the_last_work_on_the_gpu(made):
    world = made(JOB)
    found = explore(world, [Change("cpu", 0.5)])
    network = world.network
    gpu = np.isin(network.kind, [NodeKind.GPU, NodeKind.COLLECTIVE])
    last = np.array([network.end_ns[(world.rank == r) & gpu].max() for r in range(4)])
    whole = (last - network.start_ns[network.base[:-1]]).mean()
    assert found.recorded.step_ns.sum() == pytest.approx(whole)
    assert not found.by_marks
    assert "marks" not in found.verdict()[0]


@pytest.mark.parametrize("name", REAL)
def test_real_traces_replay_to_the_nanosecond(recorded, name):
    found = explore(recorded(name), [Change("tax", 0.0)])
    assert found.error_ns == 0
    assert_array_equal(found.unchanged.total_ns, found.recorded.total_ns)
    assert_array_equal(found.unchanged.step_ns, found.recorded.step_ns)
    assert_array_equal(found.unchanged.tax_ns, found.recorded.tax_ns)
    assert_array_equal(
        found.recorded.tax_ns, found.tax.waits.longest_ns - found.tax.waits.shortest_ns
    )
    assert found.counted.sum() == found.tax.used.sum() > 0
    (free,) = found.scenarios
    assert (free.outcome.total_ns <= found.recorded.total_ns).all()
    assert not free.outcome.tax_ns[found.counted].any()


def test_the_sleep_of_one_rank_is_what_a_median_host_would_save(recorded):
    found = explore(
        recorded("torchrec4-sleep-rank2"),
        [Change("cpu"), Change("cpu", rank=2), Change("cpu", rank=0), Change("gpu")],
    )
    every, sleeper, other, gpu = (
        one.outcome.mean_total_us for one in found.scenarios if one.text != ALL_TOGETHER
    )
    whole = found.recorded.mean_total_us
    assert every < 0.6 * whole
    assert sleeper < 0.6 * whole
    assert other > 0.97 * whole
    assert gpu == pytest.approx(whole, rel=0.01)


def test_in_python_texts_are_changes_and_every_replay_is_counted(tmp_path):
    write(JOB, tmp_path)
    tax = synctax.measure(synctax.load([tmp_path], workers=1))
    done = []
    found = synctax.whatif(
        tax,
        "class=gemm*0.5",
        synctax.parse_change("tax=0"),
        workers=1,
        on_replay=lambda *counts: done.append(counts),
    )
    assert isinstance(found, synctax.WhatIf)
    assert done == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert found.to_frame()["change"].tolist() == ["class=gemm*0.5", "tax=0", ALL_TOGETHER]
    assert len(found.verdict()) == 3
    assert "with GEMM kernels taking 0.5 times as long" in found.verdict()[0]
    with pytest.raises(ValueError, match="not what to change to"):
        synctax.whatif(tax, "gemm")
    with pytest.raises(TypeError, match="wants the tax"):
        synctax.whatif(tax.matches, "tax=0")


def test_where_all_hosts_are_slow_a_faster_one_helps_nobody(recorded):
    found = explore(recorded("megatron-tp8-a100"), [Change("cpu", rank=0)])
    (told,) = found.scenarios
    assert told.outcome.mean_total_us > 0.98 * found.recorded.mean_total_us
    assert told.outcome.mean_step_us > 0.98 * found.recorded.mean_step_us
    assert "a step would take 1.1 % less, and the tax" in found.verdict()[0]


def test_without_any_host_work_a_step_is_what_the_gpu_needs(recorded):
    found = explore(recorded("megatron-tp8-a100"), [Change("cpu", 0.0)])
    (told,) = found.scenarios
    assert told.outcome.mean_step_us == pytest.approx(told.outcome.mean_total_us, rel=0.01)


def test_copies_are_of_class_copy_whatever_they_are_called(recorded):
    world = recorded("torchrec4-sleep-rank2")
    copies = int(world.memory.sum())
    assert copies > 0
    (told,) = explore(world, [parse_change("class=copy*3")]).scenarios
    assert told.nodes >= copies
    named = {world.strings[code] for code in world.name[world.memory]}
    assert any(name.startswith("Memcpy") for name in named)


def test_work_that_only_one_rank_does_has_no_median(made):
    world = made(JOB)
    gpu = world.network.kind == NodeKind.GPU
    alone = replace(world, key=np.where(gpu, np.arange(gpu.size), 0).astype(np.uint64))
    with pytest.raises(SynctaxError, match="has a counterpart on another rank"):
        explore(alone, [parse_change("gpu:median")])


def test_a_replacement_is_told_in_words(made):
    found = explore(made(JOB), [Replace(0, 1, 1_500)])
    begin = "with node 1 of rank 0 taking 1.5 µs a step would take"
    assert found.verdict()[0].startswith(begin)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("launches:median", "with launching calls as on the median rank"),
        (
            "rank=2,class=norm*2",
            "with normalisation kernels on rank 2 taking 2 times as long",
        ),
        ("class=fused*0", "with fused kernels taking no time"),
        ("class=communication*0.5", "with transfers taking 0.5 times as long"),
        (
            "class=gemm,kernel=nvjet:median",
            "with kernels called 'nvjet' among GEMM kernels as on the median rank",
        ),
        ("group=tp,tax=0", "if nobody waited in collectives of tp"),
    ],
)
def test_changes_are_said_in_words(text, words):
    assert condition(parse_change(text)) == words


def test_changes_are_tried_alone_and_together(made):
    texts = ["class=gemm*0.5", "tax=0"]
    found = explore(made(JOB), [parse_change(text) for text in texts])
    assert [one.text for one in found.scenarios] == [*texts, ALL_TOGETHER]
    gemm, tax, both = (one.outcome.total_ns for one in found.scenarios)
    assert (both <= np.minimum(gemm, tax)).all()
    assert (gemm < found.recorded.total_ns).all()


def test_a_faster_transfer_shortens_collectives_of_all_their_ranks(made):
    world = made(JOB)
    found = explore(world, [parse_change("kernel=nccl*AllGather*0")])
    slots = np.flatnonzero(world.joint & (world.tax.matches.op == synctax.Op.ALL_GATHER))
    assert slots.size
    assert found.scenarios[0].outcome.mean_total_us < found.recorded.mean_total_us
    scatter = np.flatnonzero(world.tax.matches.op == synctax.Op.REDUCE_SCATTER)
    assert (found.scenarios[0].outcome.tax_ns[scatter] > 0).any()


def test_only_one_groups_ranks_stop_waiting(made):
    world = made(JOB)
    found = explore(world, [parse_change("group=tp,tax=0"), parse_change("tax=0")])
    groups = found.per_op()
    tp_only = groups[groups["change"] == "group=tp,tax=0"].set_index("group")
    assert (tp_only.loc[["tp"], "tax_changed_us_sum"] == 0).all()
    assert (tp_only.loc[["fsdp"], "tax_changed_us_sum"] > 0).any()
    tp, every, _ = (one.outcome.mean_total_us for one in found.scenarios)
    assert every <= tp <= found.recorded.mean_total_us


def test_all_ranks_at_the_median_hardly_wait(made):
    world = made(replace(JOB, jitter=0.1))
    found = explore(world, [parse_change("gpu:median"), parse_change("cpu:median")])
    both = found.scenarios[-1].outcome.tax_ns[found.counted].sum()
    assert both < 0.2 * found.recorded.tax_ns[found.counted].sum()


def test_launching_calls_and_gaps_are_part_of_the_host(made):
    world = made(JOB)
    changes = [Change(what, 0.0) for what in ("launches", "gaps", "cpu")]
    launches, gaps, cpu = explore(world, changes).scenarios[:3]
    assert 0 < launches.nodes < cpu.nodes
    assert 0 < gaps.nodes < cpu.nodes
    assert launches.nodes + gaps.nodes < cpu.nodes


def test_tables_have_their_columns_and_agree_with_each_other(made):
    found = explore(made(JOB), [parse_change("rank=2*0.5"), parse_change("tax=0")])
    frames = found.to_frame(), found.per_op(), found.per_step()
    for frame, table in zip(frames, (WHATIF, WHATIF_OPS, WHATIF_STEPS), strict=True):
        assert tuple(frame) == table.names
    changes, groups, steps = frames
    assert len(changes) == 3
    assert len(steps) == 3 * JOB.steps
    by_change = groups.groupby("change", sort=False)["tax_changed_us_sum"].sum()
    np.testing.assert_allclose(by_change, changes["tax_changed_us_sum"])
    mean = steps.groupby("change", sort=False)["step_changed_us"].mean()
    np.testing.assert_allclose(mean, changes["step_changed_us"])
    assert "3 scenarios" in repr(found)
    assert "rank=2*0.5" in found._repr_html_()


def test_traces_without_steps_are_one_window(tmp_path):
    write(replace(JOB, steps=1), tmp_path)
    for path in tmp_path.rglob("*.json"):
        path.write_text(path.read_text().replace("ProfilerStep#", "some range "))
    found = explore(read(tmp_path), [Change("gpu", 0.5)])
    assert found.recorded.step.tolist() == [-1]
    assert found.recorded.step_ns[0] == found.recorded.total_ns.mean()
    assert found.to_frame()["steps"].isna().all()
    assert found.per_step()["step"].isna().all()
    (note,) = (note for note in found.notes if note.reason == "whatif_no_step")
    assert note.detail.endswith("no profiler step is marked on any rank")


def test_steps_that_are_not_marked_are_told_to_be_the_whole_window(made):
    world = made(JOB)
    some, none = (
        replace(world, tax=replace(world.tax, steps=steps))
        for steps in (range(1, 2), range(70, 71))
    )
    found, left = explore(some, []), explore(none, [])
    assert found.recorded.step.tolist() == [1]
    assert "whatif_no_step" not in {note.reason for note in found.notes}
    assert left.recorded.step_ns[0] == left.recorded.total_ns.mean()
    (note,) = (note for note in left.notes if note.reason == "whatif_no_step")
    assert note.count == len(world.tax.matches.ranks)
    assert "no profiler step asked for" in note.detail


def test_of_several_profiler_windows_each_has_its_own_medians(tmp_path):
    job = replace(JOB, steps=2, jitter=0.1)
    later = dict.fromkeys(range(4), 1e6)
    other = replace(job, first_step=2, seed=1, rank_clock_offset_us=later)
    write(job, tmp_path / "both" / "iteration_1")
    write(other, tmp_path / "both" / "iteration_2")
    changes = [Change("gpu"), Change("cpu")]
    both = explore(read(tmp_path / "both"), changes)
    apart = [
        explore(read(tmp_path / "both" / f"iteration_{window}"), changes)
        for window in (1, 2)
    ]
    assert len({rank.window for rank in both.tax.matches.ranks}) == 2
    for number, told in enumerate(both.scenarios):
        own = [one.scenarios[number] for one in apart]
        assert told.nodes == sum(one.nodes for one in own)
        for name in ("total_ns", "step", "step_ns"):
            alone = [getattr(one.outcome, name) for one in own]
            assert_array_equal(getattr(told.outcome, name), np.concatenate(alone))


def test_what_measuring_left_out_is_told_once_and_first(made, tmp_path):
    write(replace(JOB, broadcast=True, lost_tail={3: 2}), tmp_path)
    world = read(tmp_path)
    found, left_out = explore(world, []), world.tax.excluded()
    assert found.notes[: len(world.tax.notes)] == world.tax.notes
    assert found.excluded()[: len(left_out)] == left_out
    assert len(set(found.excluded())) == len(found.excluded())
    assert set(found.notes) <= set(found.excluded())


def test_what_no_barrier_can_be_is_counted(tmp_path):
    write(replace(JOB, broadcast=True, lost_tail={3: 2}), tmp_path)
    found = explore(read(tmp_path), [Change("gaps", 0.0)])
    assert {"replay_invalid", "replay_partial"} <= {note.reason for note in found.notes}
    assert found.error_ns == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class=gem*0.5", "no kernel of class gem; there are .*gemm"),
        ("kernel=no_such*0.5", "no GPU work has 'no_such' in its name"),
        ("rank=99:median", "no rank 99; there are 0, 1"),
        ("group=pp,tax=0", "no group pp; there are fsdp, tp"),
        ("kernel=nccl:median", "durations of collectives are waits"),
        ("class=communication:median", "durations of collectives are waits"),
    ],
)
def test_what_is_not_there_is_named(made, text, says):
    with pytest.raises(SynctaxError, match=says):
        explore(made(JOB), [parse_change(text)])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (Replace(99, 1, 0), "no such rank"),
        (Replace(0, 10**9, 0), "its nodes are 1 to"),
        (Replace(0, 1, -1), "0 or more"),
        (Replace(0, 1, 0, "w"), "rank 0 node 1 of window w"),
    ],
)
def test_a_replacement_names_a_node_that_is_there(made, change, says):
    with pytest.raises(ValueError, match=says):
        explore(made(JOB), [change])


def test_a_replacement_may_make_a_node_longer(made):
    world = made(JOB)
    first = int(np.flatnonzero(world.network.kind == NodeKind.GPU)[0])
    duration_ns = int(world.network.duration_ns[first]) + 5_000_000
    (told,) = explore(world, [Replace(0, first, duration_ns)]).scenarios
    assert told.nodes == 1
    before = explore(world, []).recorded.total_ns
    assert (told.outcome.total_ns - before > 1_000_000).all()


def test_a_lone_group_without_a_name_answers_to_any(tmp_path):
    bare = {"metadata": "none", "distributed_info": False}
    write(SynthJob(tp=2, fsdp=1, layers=1, **bare), tmp_path)
    found = explore(read(tmp_path), [parse_change("group=tp,tax=0")])
    assert not found.scenarios[0].outcome.tax_ns[found.counted].any()


def test_a_collective_that_is_not_in_the_graph_keeps_its_durations(made, tmp_path):
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=1), tmp_path)
    last_ns = int(read(tmp_path).tax.matches.ranks[1].start_ns[-1])

    class Altered:
        """A nanosecond more of rank 1's last collective than was measured."""

        def read(self, path, read):
            trace = read()
            duration_ns = trace.events.duration_ns.copy()
            duration_ns[trace.events.start_ns == last_ns] += 1
            return replace(trace, events=replace(trace.events, duration_ns=duration_ns))

    world = read(tmp_path, cache=Altered())
    assert world.joint.sum() == len(world.tax.matches) - 1
    assert "replay_no_node" in {note.reason for note in world.notes}


def test_collectives_in_a_circle_are_counted(made):
    world = made(JOB)
    matches = world.tax.matches
    # on rank 0 two collectives of one group change places
    group = np.flatnonzero(matches.group == matches.group[-1])[-3:-1]
    one, other = matches.first[group]
    node = world.node.copy()
    node[[one, other]] = node[[other, one]]
    found = explore(replace(world, node=node), [])
    assert found.error_ns == 0
    (note,) = (note for note in found.notes if note.reason == "replay_circular")
    assert note.count >= 1


def test_a_step_of_the_host_that_ends_after_its_last_node_keeps_its_distance(tmp_path):
    for rank in (0, 1):
        events = [
            builders.step(1, 0, 5_000),
            builders.cpu_op("aten::mm", 10, 400 + 100 * rank),
            builders.cpu_op("c10d::allreduce_", 600, 20),
            builders.annotation("gloo:all_reduce", 650 + rank, 500 - rank, tid=99),
            builders.step(2, 5_000, 5_000),
            builders.cpu_op("aten::mm", 5_010, 400),
        ]
        (tmp_path / f"rank{rank}.json").write_bytes(builders.trace(*events, rank=rank))
    found = explore(read(tmp_path), [Change("cpu", 0.0)])
    assert found.by_marks
    assert found.unchanged.step_ns.tolist() == found.recorded.step_ns.tolist()
    assert found.recorded.step_ns.tolist() == [5_000_000, 5_000_000]
    assert 4_000_000 < found.scenarios[0].outcome.step_ns[1] < 5_000_000
    says = r"a step would take .* by the host's marks, the whole window .* less"
    assert re.search(says, found.verdict()[0])
