"""What became of each rank, read from what processes left, and said in sentences."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.record.names import PROCESS_SCHEMA, delays_path, process_path, state_path
from synctax.record.outcome import (
    BY_WHAT,
    TOO_FEW,
    UNREADABLE,
    Outcome,
    RankOutcome,
    is_running,
    read_outcome,
    read_ranks,
)
from synctax.record.plan import DelayRule, Plan
from synctax.record.state import RankState, write_state, write_whole
from synctax.record.truth import Made, Truth, write_truth
from tests.laws import examples

TRACE = "iteration_9/rank{}_trace.json.gz"


def left(folder, state, rank=0, *, world_size=1, **keys):
    """Leave the state of a rank; one with a trace has the window of the default plan."""
    if state in ("written", "cut"):
        keys = {"first_step": 6, "end_step": 9, "trace": TRACE.format(rank)} | keys
    write_state(folder, RankState(rank, world_size, "node-a", 17, state=state, **keys))


def bystander(folder, reason, *, rank="", pid=1, **keys):
    word = {"schema": PROCESS_SCHEMA, "host": "node-a", "rank": rank, "reason": reason}
    text = json.dumps(word | {"command": ["python", "x.py"]} | keys)
    write_whole(process_path(folder, "node-a", pid), text)


def verdict(folder, exit_code=0, **plan):
    return read_outcome(Plan(folder, **plan), exit_code).verdict()


# ------------------------------------------------------------------ laws

FATES = ("written", "cut", "nothing", "waiting", "recording")


@settings(max_examples=examples(30))  # each is a folder with files
@given(st.dictionaries(st.integers(0, 7), st.sampled_from(FATES), min_size=1))
def test_each_rank_of_the_job_has_one_row_in_order(tmp_path_factory, states):
    folder = tmp_path_factory.mktemp("job")
    for rank, state in states.items():
        left(folder, state, rank, world_size=8)
    outcome = read_outcome(Plan(folder), 0)
    assert [row.rank for row in outcome.ranks] == list(range(8))
    assert {row.rank for row in outcome.ranks if row.fate == "absent"} == (
        set(range(8)) - set(states)
    )
    traced = sum(state in ("written", "cut") for state in states.values())
    assert outcome.n_traces == traced
    assert all((row.end_step > 0) == bool(row.trace) for row in outcome.ranks)


@given(st.sets(st.integers(0, 99), min_size=1))
def test_the_ranks_of_a_sentence_can_be_read_back(ranks):
    rows = tuple(RankOutcome(rank, fate="cut", reason="why") for rank in sorted(ranks))
    line = Outcome(Plan("traces"), 0, rows).verdict()[1]
    names = line.removesuffix(" recorded a part: why").partition(" ")[2]
    read = set()
    for part in names.split(", "):
        first, _, last = part.partition("-")
        read.update(range(int(first), int(last or first) + 1))
    assert read == ranks


# ------------------------------------------------------------------ sentences


def test_all_is_well(tmp_path):
    for rank in range(4):
        left(tmp_path, "written", rank, world_size=4)
    assert verdict(tmp_path) == ["4 of 4 ranks recorded steps 6 to 8"]


def test_one_step_is_named_alone(tmp_path):
    left(tmp_path, "written", first_step=6, end_step=7)
    assert verdict(tmp_path) == ["1 of 1 rank recorded step 6"]


def test_a_whole_run_is_named_so(tmp_path):
    left(tmp_path, "written", first_step=0, end_step=1)
    assert verdict(tmp_path, step_by="run") == ["1 of 1 rank recorded the whole run"]


def test_ranks_that_did_not_meet_are_warned_of(tmp_path):
    left(tmp_path, "written", 0, world_size=2, reason="1 of 2 ranks met")
    left(tmp_path, "written", 1, world_size=2, first_step=7, end_step=10)
    assert verdict(tmp_path) == [
        "2 of 2 ranks recorded the whole window",
        "rank 0: 1 of 2 ranks met",
    ]


def test_each_fate_is_told_with_its_reason_once(tmp_path):
    left(tmp_path, "written", 0, world_size=8)
    left(tmp_path, "cut", 1, world_size=8, reason="SIGTERM came in step 7")
    left(tmp_path, "cut", 2, world_size=8, reason="SIGTERM came in step 7")
    left(tmp_path, "cut", 3, world_size=8, reason="ValueError: bad in step 7")
    left(tmp_path, "recording", 4, world_size=8)
    left(tmp_path, "waiting", 5, world_size=8)
    left(tmp_path, "nothing", 6, world_size=8)
    assert verdict(tmp_path, 1) == [
        "the job ended with exit code 1",
        "1 of 8 ranks recorded steps 6 to 8",
        "ranks 1-2 recorded a part: SIGTERM came in step 7",
        "rank 3 recorded a part: ValueError: bad in step 7",
        "rank 6 recorded nothing: no reason is known",
        f"rank 4 ended without a word while recording: {BY_WHAT}",
        f"rank 5 ended without a word before the window began: {BY_WHAT}",
        "no report of rank 7: it ended, or was ended, before its first step",
    ]


def test_a_rank_that_never_reported_has_the_reason_of_its_process(tmp_path):
    left(tmp_path, "written", 0, world_size=2)
    bystander(tmp_path, "no optimizer stepped; OSError: no data", rank="1")
    assert verdict(tmp_path)[1] == (
        "no report of rank 1: no optimizer stepped; OSError: no data"
    )


def test_a_job_that_was_too_short_says_what_to_choose(tmp_path):
    few = "the window needs 9 steps, and 4 were seen"
    left(tmp_path, "nothing", 0, reason=few, steps_seen=4)
    assert verdict(tmp_path)[-1] == (
        "let the job run for 9 steps (--skip 5 + --warmup 1 + --steps 3), or choose "
        "fewer: it ran 4"
    )


@pytest.mark.parametrize(
    ("exit_code", "seen", "plan"),
    [(1, 4, {}), (0, 9, {}), (0, 4, {"step_by": "run"})],
)
def test_a_job_that_failed_otherwise_is_not_told_to_run_longer(
    tmp_path, exit_code, seen, plan
):
    left(tmp_path, "nothing", 0, reason=f"{TOO_FEW} some steps", steps_seen=seen)
    assert "choose" not in " ".join(verdict(tmp_path, exit_code, **plan))


def test_a_rank_that_gave_up_for_another_reason_is_not_told_to_run_longer(tmp_path):
    left(tmp_path, "nothing", 0, reason="torch sees no GPU", steps_seen=5)
    assert verdict(tmp_path) == [
        "0 of 1 rank recorded the whole window",
        "rank 0 recorded nothing: torch sees no GPU",
    ]


def rank_of(pid, *, state="recording", host=""):
    return RankState(0, 1, host or socket.gethostname(), pid, state=state)


def test_a_rank_runs_as_long_as_its_process_unless_its_recording_has_ended(monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(rank_of(process.pid))
    assert is_running(rank_of(process.pid, state="waiting"))
    assert not is_running(rank_of(process.pid, state="written"))
    assert not is_running(rank_of(process.pid, host="another-host"))
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its parent has not noticed
    if sys.platform == "linux":
        assert not is_running(rank_of(process.pid))
    process.wait()
    assert not is_running(rank_of(process.pid))


def test_a_process_of_another_user_runs(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert is_running(rank_of(1))


def test_where_nothing_tells_a_zombie_from_others_it_is_none(monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: open("/nonesuch"))  # noqa: PTH123, SIM115
    assert is_running(rank_of(os.getpid()))


# ------------------------------------------------------------------ no rank at all


def test_a_silent_job_has_its_likely_reasons(tmp_path):
    (line,) = verdict(tmp_path)
    assert line.startswith("no process of the job reported; either none imported torch")
    assert "-I, -E, -S" in line
    assert verdict(tmp_path, 9)[0] == "the job ended with exit code 9"


def test_a_job_without_an_optimizer_is_told_of_other_steps(tmp_path):
    bystander(tmp_path, "no optimizer stepped", pid=1)
    bystander(tmp_path, "no optimizer stepped", pid=2)
    lines = verdict(tmp_path)
    assert lines[0] == (
        "2 processes imported torch, none became a rank: no optimizer stepped"
    )
    assert "--step-at MODULE:FUNCTION" in lines[1]
    assert "--whole-run" in lines[1]


def test_a_function_that_never_ran_is_told(tmp_path):
    bystander(tmp_path, "train defines no step")
    assert verdict(tmp_path, step_by="function", step_at="train:step") == [
        "1 process imported torch, none became a rank: train defines no step"
    ]


# ------------------------------------------------------------------ damage


@settings(max_examples=examples(30))  # each is a folder with files
@given(
    st.sampled_from(["rank1.json", "process-node-a-1.json"]),
    st.one_of(
        st.binary(max_size=20),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5),
            lambda some: (
                st.lists(some, max_size=2)
                | st.dictionaries(st.sampled_from(["schema", "rank", "host"]), some)
            ),
            max_leaves=5,
        ).map(lambda value: json.dumps(value).encode()),
    ),
    st.integers(0, 255),
)
def test_whatever_is_damaged_the_exit_code_and_the_ranks_that_are_not_are_told(
    tmp_path_factory, name, data, exit_code
):
    folder = tmp_path_factory.mktemp("job")
    left(folder, "written", 0, world_size=2)
    (folder / "record" / name).write_bytes(data)
    outcome = read_outcome(Plan(folder), exit_code)
    assert outcome.exit_code == exit_code
    assert [(row.rank, row.fate) for row in outcome.ranks] == [
        (0, "written"),
        (1, "absent"),
    ]
    (line,) = outcome.unreadable
    assert line.startswith(f"record/{name} cannot be read: ")
    assert line in outcome.verdict()


def test_a_rank_whose_state_is_damaged_is_not_said_to_have_ended_early(tmp_path):
    left(tmp_path, "written", 0, world_size=2)
    left(tmp_path, "written", 1, world_size=2, end_step="nine")
    assert verdict(tmp_path) == [
        "1 of 2 ranks recorded steps 6 to 8",
        f"no report of rank 1: {UNREADABLE}",
        "record/rank1.json cannot be read: TypeError: end_step is 'nine'",
    ]


def test_a_job_of_which_nothing_can_be_read_is_not_told_to_set_its_path(tmp_path):
    write_whole(state_path(tmp_path, 0), "")
    first, second = verdict(tmp_path, 7)
    assert first == "the job ended with exit code 7"
    assert second.startswith("record/rank0.json cannot be read: JSONDecodeError: Expecting")
    assert read_ranks(tmp_path)[0] == []


def test_a_process_that_another_left_no_room_is_told_with_what_helps(tmp_path):
    left(tmp_path, "written")
    bystander(tmp_path, "process 3 is rank 0", double=True)
    bystander(tmp_path, "no optimizer stepped", pid=2)
    assert verdict(tmp_path)[1] == (
        "1 process more recorded nothing: process 3 is rank 0; jobs that run one after "
        "another need a folder each (-o DIR), ranks of one job RANK and WORLD_SIZE"
    )


# ------------------------------------------------------------------ delays


def delayed(folder, rank, *made, matched=()):
    """Leave a trace and the delays of a rank: rules that were applied, 2 ms each."""
    name = delays_path(9, rank).as_posix()
    left(folder, "written", rank, world_size=2, delays=name)
    delays = [
        Made(6, "aten::mm", n, rule, 2000.0, 10**15, 10**15 + 2_100_000, 1, "host")
        for n, rule in enumerate(made)
    ]
    truth = Truth(rank, "node-a", (), {6: {}, 7: dict(enumerate(matched))}, tuple(delays))
    write_truth(folder / name, truth)


def rules(*operators, **keys):
    return tuple(DelayRule(operator, 2000, **keys) for operator in operators)


def test_what_was_delayed_is_told_with_rules_that_did_nothing(tmp_path):
    plan = rules("aten::mm") + rules("aten::mul", nth=(9,)) + rules("aten::linear", "x")
    plan += rules("aten::mm", rank=7) + rules("aten::add", rank=1)
    delayed(tmp_path, 0, 0, 0, matched=(3, 2, 0, 0, 3, 2))
    delayed(tmp_path, 1, 0, matched=(3, 2, 0, 0, 3, 0))
    lines = verdict(tmp_path, delays=plan)
    assert lines[0] == "2 of 2 ranks recorded steps 6 to 8"
    assert lines[1] == "3 delays, 6.300 ms in all, on ranks 0, 1"
    mul = "the delay of aten::mul did nothing: 4 operators have that name, and none was"
    assert lines[2] == f"{mul} chosen"
    assert lines[3].startswith("the delay of aten::linear did nothing: no operator of that")
    assert lines[4].startswith("the delay of x did nothing: no operator of that name ran")
    assert lines[5] == "the delay of aten::mm did nothing: there is no rank 7 of 2"
    assert lines[6].startswith("the delay of aten::add did nothing: no operator")
    assert len(lines) == 7


def test_rules_that_are_alike_and_silent_are_told_once(tmp_path):
    delayed(tmp_path, 0)
    lines = verdict(tmp_path, delays=rules("x", "x", "x"))
    assert "no operator was delayed" in lines
    assert sum("the delay of x" in line for line in lines) == 1


def test_of_a_rank_whose_delays_are_lost_nothing_is_said(tmp_path):
    delayed(tmp_path, 0, 0)
    left(tmp_path, "recording", 1, world_size=2)
    lines = verdict(tmp_path, delays=rules("x") + rules("y", rank=1))
    assert not any("delay of y" in line for line in lines)
    assert "1 delay, 2.100 ms in all, on rank 0" in lines


def test_delays_on_a_gpu_last_as_long_as_was_asked(tmp_path):
    name = delays_path(9, 0).as_posix()
    left(tmp_path, "written", 0, delays=name)
    made = Made(6, "aten::mm", 0, 0, 5000.0, 10, 20, 1, "gpu")
    write_truth(tmp_path / name, Truth(0, "a", (), {}, (made,)))
    assert verdict(tmp_path)[1] == "1 delay, 5.000 ms in all, on rank 0"


@pytest.mark.parametrize("damage", [{}, {"schema": 0}, {"delays": [3]}, {"delays": None}])
@pytest.mark.parametrize("part", [None, "end_ns", "side"])
def test_delays_that_cannot_be_read_are_named(tmp_path, damage, part):
    delayed(tmp_path, 0, 0)
    name = delays_path(9, 0).as_posix()
    keys = json.loads((tmp_path / name).read_text())
    if part:
        keys["delays"][0][part] = {"end_ns": "x", "side": "cpu"}[part]
        keys["delays"][0]["asked_us"] = None
    elif not damage:
        keys = {}
    write_whole(tmp_path / name, json.dumps(keys | damage))
    outcome = read_outcome(Plan(tmp_path, delays=rules("x")), 7)
    assert outcome.exit_code == 7
    assert any("rank0_delays.json" in line for line in outcome.verdict())


def test_a_word_of_another_kind_is_none(tmp_path):
    left(tmp_path, "written")
    bystander(tmp_path, "no optimizer stepped", schema="another/1")
    outcome = read_outcome(Plan(tmp_path), 0)
    assert outcome.bystanders == ()
    assert "the schema is 'another/1'" in outcome.verdict()[-1]
