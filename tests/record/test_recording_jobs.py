"""Real jobs of two processes: what they leave, and that they end as without us."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

import synctax
from synctax.record.truth import read_truth
from tests.record.conftest import read_trace, run_ranks, steps_of

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="needs the extra torch")

NS_PER_US = 1000
TOLERANCE_NS = 500_000
BOTH = (0, 1)


@pytest.fixture(scope="module")
def singles(tmp_path_factory):
    """Scripts that are started once, at the same time: each mostly imports torch."""
    commands = [("no_group.py", "2"), ("stopped.py",)]

    def run(command):
        name, *args = command
        return name, run_ranks(name, tmp_path_factory.mktemp("single"), *args, ranks=1)

    with ThreadPoolExecutor() as pool:
        return dict(pool.map(run, commands))


# ------------------------------------------------------------------ windows


@pytest.mark.parametrize("rank", BOTH)
def test_a_window_amid_the_loop_has_its_steps_and_nothing_else(recorded, rank):
    trace = recorded.trace("middle", rank)
    steps = steps_of(trace)
    assert list(steps) == [2, 3]
    operators = [e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    assert min(e["ts"] for e in operators) >= steps[2][0]
    reduced = [e for e in trace["traceEvents"] if e["name"] == "gloo:all_reduce"]
    assert [e["args"]["Input Dims"] for e in reduced] == [[[32, 32]]] * 2
    told = trace["distributedInfo"]
    assert (told["rank"], told["world_size"], told["backend"]) == (rank, 2, "gloo")
    assert trace["synctax"]["met"] is True
    assert {e["tid"] for e in reduced} <= set(trace["synctax"]["gloo_threads"])
    assert trace["synctax"]["gloo_threads"] == sorted(trace["synctax"]["gloo_threads"])


def test_ranks_open_their_windows_together(recorded):
    opened = []
    for rank in BOTH:
        trace = recorded.trace("middle", rank)
        opened.append(steps_of(trace)[2][0] + trace["baseTimeNanoseconds"] / NS_PER_US)
    assert abs(opened[0] - opened[1]) < 100_000  # 0.1 s, on processors that others use


def test_states_tell_what_each_rank_wrote(recorded):
    states = recorded.states("middle")
    assert [(state.rank, state.world_size, state.backend) for state in states] == [
        (0, 2, "gloo"),
        (1, 2, "gloo"),
    ]
    for state in states:
        assert (state.state, state.reason, state.met) == ("written", "", True)
        assert (state.first_step, state.end_step, state.steps_seen) == (2, 4, 6)
        assert state.trace == f"iteration_4/rank{state.rank}_trace.json.gz"
    assert len(recorded.said("middle", 0)["said"]) == 1
    assert recorded.said("middle", 1)["said"] == []


def test_what_was_recorded_can_be_loaded_and_measured(recorded):
    job = synctax.load([recorded.folder / "middle" / "iteration_4"])
    assert sorted(rank.rank for rank in job.ranks) == [0, 1]
    table = synctax.measure(job).to_frame()
    assert list(table["op"]) == ["all_reduce"]
    assert list(table["collectives"]) == [1]  # of two, the first is the window's head
    assert list(table["payload_bytes_median"]) == [32 * 32 * 4]


def test_states_and_truths_beside_the_traces_are_no_traces(recorded):
    assert len(list((recorded.folder / "delayed").rglob("*.json"))) == 6
    job = synctax.load([recorded.folder / "delayed"])
    assert sorted(rank.rank for rank in job.ranks) == [0, 1]


def test_two_windows_of_a_job_have_steps_of_their_own(recorded):
    folder = recorded.folder / "twice"
    for rank in BOTH:
        found = {
            path.parent.name: list(steps_of(read_trace(path)))
            for path in folder.glob(f"iteration_*/rank{rank}_trace.json.gz")
        }
        assert found == {"iteration_3": [1, 2], "iteration_7": [5, 6]}
    assert [state.met for state in recorded.states("twice")] == [True, True]


def test_a_job_without_collectives_is_recorded_and_its_forked_child_is_not(recorded):
    for rank in BOTH:
        trace = recorded.trace("alone", rank)
        assert list(steps_of(trace)) == [2, 3]
        assert recorded.said("alone", rank)["more"] == {"child": 0}
        assert {e["pid"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"} == {
            recorded.states("alone")[rank].pid
        }


def test_too_few_steps_are_told_with_what_is_needed(recorded):
    for state in recorded.states("few"):
        assert (state.state, state.trace) == ("nothing", "")
        assert state.reason == "the window needs 8 steps, and 3 were seen"
    assert [len(recorded.said("few", rank)["said"]) for rank in BOTH] == [1, 0]


# ------------------------------------------------------------------ meeting


def test_a_rank_that_never_comes_is_named_and_the_others_record(recorded):
    (state,) = recorded.states("missing")
    assert (state.state, state.met) == ("written", False)
    assert state.reason == "1 of 2 ranks met before the window"
    assert recorded.said("missing", 0)["said"][0] == state.reason
    assert recorded.trace("missing", 0)["synctax"]["met"] is False


def test_a_rank_that_comes_late_knows_that_the_others_went_on(recorded):
    for rank in BOTH:
        assert (
            recorded.said("late", rank)["said"][0] == "1 of 2 ranks met before the window"
        )
        assert recorded.states("late")[rank].state == "written"


def test_a_rank_that_cannot_write_is_not_waited_for(recorded):
    told = [recorded.said("no_folder", rank) for rank in BOTH]
    assert [one["states"] for one in told] == [["written"], ["nothing"]]
    assert "Not a directory" in told[1]["said"][0]
    assert len(told[1]["said"]) == 1
    assert max(one["more"]["seconds"] for one in told) < 15  # of 30 s that it would wait


# ------------------------------------------------------------------ ends


def test_an_exception_of_one_rank_leaves_the_traces_of_both(recorded):
    states = recorded.states("raises")
    assert [state.state for state in states] == ["cut", "cut"]
    assert states[0].reason == "the loop ended after 1 of 5 steps of the window"
    assert states[1].reason.startswith("KeyError: ")
    assert recorded.said("raises", 1)["more"] == {"raised": True}
    assert {state.trace.split("/")[0] for state in states} == {"iteration_7"}
    for rank, state in enumerate(states):
        cut = recorded.trace("raises", rank)["synctax"]["cut"]
        assert cut == state.reason.replace("\\", "/")
        assert state.end_step == 3


def test_a_rank_that_dies_takes_the_others_with_it_but_not_their_traces(recorded):
    assert [rank.code for rank in recorded.ranks] == [1, 1]
    assert recorded.ranks[1].err.endswith("ValueError: bad sample in step 3\n")
    states = recorded.states("dies")
    assert [state.state for state in states] == ["cut", "cut"]
    assert states[1].reason == "ValueError: bad sample in step 3"
    assert states[0].reason.startswith("RuntimeError: ")  # as gloo says it
    for rank in BOTH:
        trace = recorded.trace("dies", rank)
        assert list(steps_of(trace)) == [2, 3]
        assert trace["synctax"]["end_step"] == 3
    job = synctax.load([recorded.folder / "dies" / "iteration_7"])
    assert sorted(rank.rank for rank in job.ranks) == [0, 1]


def test_neither_we_nor_kineto_write_to_stderr_unasked(recorded):
    for rank in recorded.ranks:
        assert rank.err.count("Traceback") == 1  # of the last scenario
        assert not [word for word in ("synctax record", "USDT", "WARN") if word in rank.err]


def test_a_thread_that_is_not_the_loops_ends_the_window(recorded):
    for state in recorded.states("other_thread"):
        assert (state.state, state.reason) == ("cut", "SIGTERM came")
        assert state.end_step in (3, 4)  # 4: torch ends a profiler on its own thread only


def test_a_window_that_is_open_when_the_script_ends_is_written(singles):
    job = singles["no_group.py"]
    (state,) = job.states()
    assert (job.ranks[0].code, state.state, state.end_step) == (0, "cut", 2)
    assert job.ranks[0].err == (
        f"synctax record: rank 0: steps 0:2 are in {job.folder / state.trace} "
        "(the loop ended after 2 of 3 steps of the window)\n"
    )


@pytest.mark.parametrize("name", ["fewer", "early"])
def test_a_rank_that_ends_before_the_window_is_not_waited_for(recorded, name):
    states = recorded.states(name)
    assert [state.state for state in states] == ["written", "nothing"]
    assert states[0].met is False
    assert states[0].reason == "1 of 2 ranks met before the window"
    assert recorded.said(name, 0)["more"]["seconds"] < 40  # of 60 that it would wait


def test_a_signal_ends_a_meeting_and_the_rank_that_waits_in_it(singles):
    job = singles["stopped.py"]
    assert job.ranks[0].code == 0, job.ranks[0].err
    code, seconds = job.ranks[0].out.split()
    assert int(code) == -signal.SIGTERM
    assert float(seconds) < 20  # of 60 that the meeting would last
    (state,) = job.states()
    assert (state.state, state.trace) == ("nothing", "")
    assert state.reason.startswith("SIGTERM came in step 1; ")


def test_a_whole_run_knows_the_groups_that_were_made_in_it(recorded):
    for rank in BOTH:
        trace = recorded.trace("whole", rank)
        told = trace["distributedInfo"]
        assert [one["ranks"] for one in told["pg_config"]] == [[0, 1], [rank]]
        assert len(trace["synctax"]["gloo_threads"]) == 4
    job = synctax.load([recorded.folder / "whole"])
    table = synctax.measure(job).to_frame()
    # those of one rank alone are no other's; of six, the first is the window's head
    assert list(zip(table["n_ranks"], table["collectives"], strict=True)) == [(2, 5)]


# ------------------------------------------------------------------ the job's own profiler


def test_the_jobs_profiler_on_one_rank_is_waited_for_by_all(recorded):
    states = recorded.states("busy")
    assert [(state.state, state.met) for state in states] == [("written", True)] * 2
    assert {state.first_step for state in states} == {7}  # tried at 2, 4 and 7
    assert recorded.said("busy", 0)["more"]["theirs"] > 0
    assert recorded.said("busy", 0)["said"][0] == (
        "the job's own profiler is running on this rank; waiting for its end"
    )
    assert recorded.said("busy", 1)["said"] == []


def test_the_jobs_profiler_that_never_ends_is_told_at_the_end(recorded):
    for state in recorded.states("always_busy"):
        assert state.state == "nothing"
        assert state.reason == "the job's own profiler was running until the end"
    assert recorded.said("always_busy", 0)["more"]["theirs"] > 0


def test_the_jobs_profiler_amid_the_window_ends_it_on_its_rank(recorded):
    states = recorded.states("interrupted")
    assert [state.state for state in states] == ["cut", "written"]
    assert states[0].reason == "the job used its own profiler after 2 of 4 steps"
    assert "aten::mm" in recorded.said("interrupted", 0)["more"]["theirs"]
    assert list(steps_of(recorded.trace("interrupted", 1))) == [2, 3, 4, 5]


# ------------------------------------------------------------------ delays


def test_all_ranks_tell_what_they_delayed(recorded):
    truths = [
        read_truth(recorded.folder / "delayed" / state.delays)
        for state in recorded.states("delayed")
    ]
    assert truths[0].rules == truths[1].rules
    assert truths[0].occurrences == truths[1].occurrences
    assert list(truths[0].occurrences) == [1, 2, 3]
    fixed = [[made.step for made in truth.delays if made.rule == 0] for truth in truths]
    assert fixed == [[], [1, 2, 3]]
    drawn = [[made for made in truth.delays if made.rule == 1] for truth in truths]
    assert [[made.step for made in some] for some in drawn] == [[2, 3], [2, 3]]
    assert all(500 <= made.asked_us <= 1500 for some in drawn for made in some)


def test_each_delay_lies_within_its_operator_and_step_of_the_trace(recorded):
    state = recorded.states("delayed")[1]
    trace = recorded.trace("delayed", 1)
    steps = steps_of(trace)
    base_ns = trace["baseTimeNanoseconds"]
    truth = read_truth(recorded.folder / "delayed" / state.delays)
    made = [one for one in truth.delays if one.step in steps]
    assert len(made) == 4

    def span_ns(begin_us, end_us):
        return base_ns + begin_us * NS_PER_US, base_ns + end_us * NS_PER_US

    for one in made:
        start_ns, end_ns = span_ns(*steps[one.step])
        around = [
            span_ns(event["ts"], event["ts"] + event["dur"])
            for event in trace["traceEvents"]
            if event["name"] == one.operator and event["tid"] == one.thread
        ]
        assert any(
            start_ns <= begin
            and end <= end_ns
            and begin - TOLERANCE_NS <= one.start_ns
            and one.end_ns <= end + TOLERANCE_NS
            and end - begin >= one.asked_us * NS_PER_US
            for begin, end in around
        )


def test_the_mode_alone_tells_what_it_delayed(recorded):
    folder = recorded.folder / "delay_alone"
    truths = [read_truth(folder / f"rank{rank}_delays.json") for rank in BOTH]
    assert [[made.step for made in truth.delays] for truth in truths] == [
        [],
        [0, 0, 0, 1, 1, 1],
    ]
    assert truths[0].occurrences == truths[1].occurrences
