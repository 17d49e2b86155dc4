"""What travels to and from a job as plain values: no test here needs torch."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.errors import BadInputError, SynctaxError
from synctax.record import DelayRule, Plan, RankState, TorchMissingError, read_states
from synctax.record.names import part_path, state_path
from synctax.record.proc import is_running, ran_at
from synctax.record.state import (
    read_state,
    state_before,
    write_state,
    write_whole,
)
from synctax.record.truth import Made, Truth, read_truth, write_truth

counts = st.integers(0, 10**6)
words = st.text(max_size=20)
states = st.builds(
    RankState,
    rank=counts,
    world_size=counts,
    host=words,
    pid=counts,
    state=st.sampled_from(["waiting", "recording", "written", "cut", "nothing"]),
    reason=words,
    first_step=counts,
    met=st.one_of(st.booleans(), st.integers(2, 9)),
)


def rules():
    amounts = st.floats(0, 1e6)
    return st.one_of(
        st.builds(DelayRule, operator=st.just("aten::mm"), us=amounts, rank=counts),
        st.builds(
            DelayRule,
            operator=st.text(min_size=1, max_size=9),
            us=st.floats(0, 10),
            us_max=st.floats(10, 20),
            law=st.just("uniform"),
            nth=st.lists(counts, max_size=3).map(tuple),
        ),
        st.builds(
            DelayRule,
            operator=st.just("*"),
            us=amounts,
            pick=st.integers(1, 9),
            end_step=counts.map(lambda step: step + 1),
        ),
    )


# ------------------------------------------------------------------ plans


@given(st.lists(rules(), max_size=3).map(tuple), counts, st.integers(1, 99), st.booleans())
def test_a_plan_arrives_as_it_was_sent(delays, skip, steps, shapes):
    plan = Plan(
        folder="traces", skip=skip, steps=steps, record_shapes=shapes, delays=delays
    )
    sent = replace(plan, folder=Plan.from_json(plan.to_json()).folder)
    assert Plan.from_json(plan.to_json()) == sent


@pytest.mark.parametrize("text", ["[]", '{"folder": "x", "colour": "red"}', "3", "{"])
def test_a_plan_of_something_else_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - json has words of its own
        Plan.from_json(text)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"skip": -1}, "skip and warmup"),
        ({"warmup": -1}, "skip and warmup"),
        ({"steps": 0}, "at least one step"),
        ({"step_by": "function"}, "go together"),
        ({"step_at": "a:b"}, "go together"),
        ({"step_by": "function", "step_at": "train"}, "module:function"),
        ({"meet_timeout_s": -1.0}, "wait 0 s"),
        ({"meet_timeout_s": float("nan")}, "wait 0 s"),
    ],
)
def test_a_plan_without_sense_is_a_wrong_call(keys, words):
    with pytest.raises(ValueError, match=words):
        Plan("traces", **keys)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"operator": ""}, "name of an operator"),
        ({"us": -1.0}, "0 µs or more"),
        ({"us": float("inf")}, "0 µs or more"),
        ({"us_max": 3.0}, "uniform law"),
        ({"law": "uniform"}, "uniform law"),
        ({"law": "uniform", "us_max": 0.5}, "below"),
        ({"first_step": 4, "end_step": 4}, "no step"),
        ({"nth": (1,), "pick": 1}, "not both"),
        ({"pick": 0}, "at least one"),
        ({"nth": (-1,)}, "count from 0"),
        ({"rank": -1}, "count from 0"),
        ({"side": "gpu", "how": "spin"}, "choice of the host"),
    ],
)
def test_a_rule_without_sense_is_a_wrong_call(keys, words):
    with pytest.raises(ValueError, match=words):
        DelayRule(**{"operator": "aten::mm", "us": 1.0} | keys)


# ------------------------------------------------------------------ states


@given(states)
def test_a_state_is_read_as_it_was_written(tmp_path_factory, state):
    folder = tmp_path_factory.mktemp("state")
    write_state(folder, state)
    assert read_states(folder) == [state]
    assert state_before(folder, state.rank) == state


def test_states_come_by_rank_and_not_by_name(tmp_path):
    for rank in (10, 2, 0):
        write_state(tmp_path, RankState(rank, 11, "host", 1))
    assert [state.rank for state in read_states(tmp_path)] == [0, 2, 10]


def test_no_folder_has_no_states(tmp_path):
    assert read_states(tmp_path / "nowhere") == []
    assert state_before(tmp_path / "nowhere", 0) is None


def test_what_a_later_version_knows_is_passed_over(tmp_path):
    path = state_path(tmp_path, 0)
    keys = asdict(RankState(0, 1, "host", 1)) | {
        "schema": "synctax.record-rank/1",
        "moon": "full",
    }
    write_whole(path, json.dumps(keys))
    assert read_state(path) == RankState(0, 1, "host", 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"schema": "synctax.record/2"}',
        '{"schema": "synctax.record-rank/1"}',
    ],
)
def test_what_is_no_state_is_named(tmp_path, text):
    path = state_path(tmp_path, 3)
    write_whole(path, text)
    with pytest.raises(
        BadInputError, match=r"rank3.json is not the state of a recorded rank"
    ):
        read_states(tmp_path)
    assert state_before(tmp_path, 3) is None


def test_a_file_that_cannot_be_written_whole_leaves_the_one_before(tmp_path):
    path = tmp_path / "state.json"
    write_whole(path, "before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "after \udcff")
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_a_link_in_the_place_of_a_part_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    path = tmp_path / "state.json"
    part_path(path, os.getpid()).symlink_to(precious)
    write_whole(path, "new")
    assert (path.read_text(), precious.read_text()) == ("new", "kept")
    assert not path.is_symlink()


# ------------------------------------------------------------------ truths

made = st.builds(
    Made,
    step=counts,
    operator=words,
    nth=counts,
    rule=counts,
    asked_us=st.floats(0, 1e6),
    start_ns=st.integers(0, 2**62),
    end_ns=st.integers(0, 2**62),
    thread=counts,
    side=st.sampled_from(["host", "gpu"]),
)


@given(
    st.builds(
        Truth,
        rank=counts,
        host=words,
        rules=st.lists(rules(), max_size=3).map(tuple),
        occurrences=st.dictionaries(counts, st.dictionaries(counts, counts, max_size=3)),
        delays=st.lists(made, max_size=3).map(tuple),
    )
)
def test_a_truth_is_read_as_it_was_written(tmp_path_factory, truth):
    path = tmp_path_factory.mktemp("truth") / "rank0_delays.json"
    write_truth(path, truth)
    assert read_truth(path) == truth


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"schema": "synctax.delays/2"}',
        '{"schema": "synctax.delays/1", "rank": 0}',
    ],
)
def test_what_is_no_truth_is_named(tmp_path, text):
    path = tmp_path / "rank0_delays.json"
    path.write_text(text)
    with pytest.raises(
        BadInputError, match=r"rank0_delays.json does not tell what was delayed"
    ):
        read_truth(path)
    with pytest.raises(BadInputError, match=r"none\.json"):
        read_truth(tmp_path / "none.json")


# ------------------------------------------------------------------ without torch


def without_torch(code: str) -> "subprocess.CompletedProcess[str]":
    hide = "import sys; sys.modules['torch'] = None; from synctax import record\n"
    return subprocess.run(
        [sys.executable, "-c", hide + code], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", ["profile", "Delay", "Recording"])
def test_without_torch_a_name_that_needs_it_says_what_to_install(name):
    ended = without_torch(f"record.{name}")
    last = ended.stderr.splitlines()[-1]
    assert last == (
        "synctax.record.TorchMissingError: "
        "synctax.record needs PyTorch: pip install 'synctax[torch]'"
    )


def test_without_torch_plans_rules_and_states_are_there():
    code = "record.Plan('x'), record.DelayRule('a', us=1), record.read_states, dir(record)"
    assert without_torch(code).stderr == ""


def test_a_missing_torch_is_told_from_other_errors(monkeypatch):
    from synctax import record

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "synctax.record.delay", raising=False)
    with pytest.raises(TorchMissingError, match="needs PyTorch"):
        record.Delay  # noqa: B018
    assert set(dir(record)) >= {"Delay", "DelayRule", "Plan", "Recording", "profile"}


def test_missing_torch_is_an_import_error_and_one_of_ours():
    assert issubclass(TorchMissingError, ImportError)
    assert issubclass(TorchMissingError, SynctaxError)


def test_another_name_is_no_attribute():
    from synctax import record

    with pytest.raises(AttributeError, match="no attribute 'profiel'"):
        record.profiel  # noqa: B018


def test_another_package_that_is_missing_is_named_itself(monkeypatch):
    from synctax import record

    monkeypatch.setitem(record._HOME, "Plan", "synctax.record.nowhere")
    with pytest.raises(ModuleNotFoundError, match=r"synctax\.record\.nowhere"):
        record.Plan  # noqa: B018


# ------------------------------------------------------------------ processes


def test_a_process_runs_or_not_whoever_owns_it(monkeypatch):
    assert is_running(os.getpid())
    assert not is_running(2**30)

    def forbid(pid, number):
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbid)
    assert is_running(1)


def test_a_process_ran_when_it_did_and_not_before():
    now_s = time.time()
    assert ran_at(os.getpid(), now_s)
    assert not ran_at(os.getpid(), now_s - 10**6)
    assert not ran_at(2**30, now_s)
