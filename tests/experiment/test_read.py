"""The truth beside traces, good and bad."""

import json
import shutil
from dataclasses import replace

import pytest

from synctax.errors import BadInputError
from synctax.experiment import read_injections
from synctax.experiment.injections import Longer
from synctax.experiment.read import read_truth
from synctax.record.names import delays_file
from synctax.record.plan import DelayRule
from synctax.record.truth import Made, Truth, write_truth
from synctax.synth import Delay, SynthJob, write
from synctax.synth.program import build
from tests.experiment.made import BASE_NS, edit, experiment, truth_of


@pytest.fixture
def folder(tmp_path):
    return experiment(0, 5, 20).write(tmp_path)


def test_recorded_delays_are_read_as_they_are_told(folder):
    found = read_injections(folder)
    assert found.rank.tolist() == [1, 1, 1]
    assert found.step.tolist() == [6, 7, 8]
    assert found.asked_ns.tolist() == [0, 5_000_000, 20_000_000]
    assert found.slept_ns.tolist() == found.asked_ns.tolist()
    assert (found.start_ns > BASE_NS).all()
    assert (found.longer == Longer.SLICE).all()
    assert found.operators == ("aten::mm",)
    assert (found.told, found.meant) == ({0, 1}, {1})
    assert found.targets is None


def test_truth_is_read_as_the_recorder_wrote_it(tmp_path):
    rule = DelayRule("aten::*mm", 5e3, 8e3, "uniform", rank=3, first_step=2, nth=(0, 4))
    made = Made(2, "aten::mm", 4, 0, 6_543.21, BASE_NS, BASE_NS + 6_600_000, 77, "host")
    truth = Truth(3, "here", (rule, DelayRule("c10d::*", 0.0)), {2: {0: 5, 1: 1}}, (made,))
    write_truth(tmp_path / delays_file(3), truth)
    assert read_truth(tmp_path / delays_file(3)) == truth
    found = read_injections(tmp_path)
    assert (found.rules, found.asked_ns.tolist()) == (truth.rules, [6_543_210])


def test_a_spin_on_the_gpu_lasts_what_was_asked(folder):
    path = truth_of(folder, 1)
    delays = json.loads(path.read_text())["delays"]
    edit(path, delays=[one | {"side": "gpu", "end_ns": one["start_ns"]} for one in delays])
    found = read_injections(folder)
    assert (found.longer == Longer.SPIN).all()
    assert found.slept_ns.tolist() == [0, 5_000_000, 20_000_000]


def test_a_rule_for_all_ranks_is_meant_for_all(folder):
    edit(truth_of(folder, 0), rules=[{"operator": "aten::*", "us": 5.0}])
    found = read_injections(folder)
    assert found.meant is None
    assert [rule.operator for rule in found.rules] == ["aten::*", "aten::mm"]


@pytest.mark.parametrize(
    ("side", "longer", "name"),
    [
        ("op", Longer.SLICE, "aten::mm"),
        ("cpu", Longer.SLICE, "aten::mm"),
        ("call", Longer.CALL, "nvjet"),
        ("gap", Longer.GAP, "nvjet"),
        ("gpu", Longer.KERNEL, "nvjet"),
    ],
)
def test_made_up_delays_name_what_they_make_longer(tmp_path, side, longer, name):
    job = SynthJob(tp=2, fsdp=1, layers=1, steps=2, delays=(Delay(1, 1, 1, 5e3, side),))
    write(job, tmp_path)
    found = read_injections(tmp_path)
    assert found.longer.tolist() == [longer]
    assert found.operators[0].startswith(name)
    (target,) = found.targets
    assert (target.group, target.group_ranks) == ("tp", (0, 1))
    assert target.slack_ns >= 0


def test_without_ranges_around_launches_an_operator_shows_as_a_gap(tmp_path):
    delays = (Delay(1, 1, 1, 5e3, "op"),)
    write(SynthJob(tp=2, fsdp=1, layers=1, delays=delays, cpu_ops_per_kernel=0), tmp_path)
    assert read_injections(tmp_path).longer.tolist() == [Longer.GAP]


def test_what_no_collective_follows_has_no_target(tmp_path):
    job = SynthJob(tp=1, fsdp=2, layers=1, steps=1)
    last = len(build(job).compute) - 1
    write(replace(job, delays=(Delay(0, 0, last, 5e3),)), tmp_path)
    assert read_injections(tmp_path).targets == (None,)


def test_delays_before_collectives_are_in_their_range(tmp_path):
    delays = (Delay(1, 1, None, 5e3, "op", "tp:2"),)
    write(SynthJob(tp=2, fsdp=1, layers=1, delays=delays), tmp_path)
    assert read_injections(tmp_path).operators == ("record_param_comms",)


# ------------------------------------------------------------------ bad input


def refused(folder):
    with pytest.raises(BadInputError) as error:
        read_injections(folder)
    return str(error.value)


def test_no_folder_is_refused(tmp_path):
    assert "is no folder" in refused(tmp_path / "absent")


def test_traces_without_truth_are_refused_with_what_to_do(folder):
    for path in folder.rglob("*_delays.json"):
        path.unlink()
    assert "synctax inject -- COMMAND" in refused(folder)


def test_two_truths_are_one_too_many(folder, tmp_path):
    (tmp_path / "truth.json").write_text("{}")
    assert "keep them in folders of their own" in refused(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\xff", '{"schema": 3}'])
def test_broken_json_is_named_with_its_file(folder, text):
    path = truth_of(folder, 1)
    path.write_text(text, encoding="latin-1")
    assert f"{path} is not the truth of injected delays" in refused(folder)


def test_another_kind_is_named(folder):
    edit(truth_of(folder, 0), schema="synctax.delays/9")
    assert "'synctax.delays/9'" in refused(folder)


@pytest.mark.parametrize(
    "keys",
    [
        {"delays": [{"step": 1}]},
        {"rank": "one"},
        {"delays": 3},
        {"rules": [{"rank": 1}]},
        {"rules": [{"operator": "aten::mm", "us": -1.0}]},
    ],
)
def test_what_is_missing_or_of_another_type_is_told(folder, keys):
    edit(truth_of(folder, 1), **keys)
    assert "$" in refused(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"asked_us": -1.0},
        {"asked_us": 1e300},
        {"end_ns": 0},
        {"step": -1},
        {"step": 2**40},
        {"start_ns": -1},
        {"end_ns": 2**63},
    ],
)
def test_a_delay_that_is_none_is_refused(folder, change):
    path = truth_of(folder, 1)
    delays = json.loads(path.read_text())["delays"]
    edit(path, delays=[delays[0] | change])
    assert "damaged" in refused(folder)


def test_a_file_of_another_rank_is_refused(folder):
    path = truth_of(folder, 1)
    edit(path, rank=0)
    assert "tells of rank 0, whose file is rank0_delays.json" in refused(folder)


def test_the_same_delay_is_not_told_twice(folder):
    path = truth_of(folder, 1)
    delays = json.loads(path.read_text())["delays"]
    edit(path, delays=delays + delays[-1:])
    assert "at {start_ns} ns".format(**delays[-1]) in refused(folder)
    edit(path, delays=[*delays, delays[-1] | {"thread": 99}])
    assert len(read_injections(folder)) == len(delays) + 1


def test_a_window_that_was_copied_beside_itself_is_named(folder):
    (window,) = folder.glob("iteration_*")
    shutil.copytree(window, folder / "copy")
    message = refused(folder)
    assert str(window) in message
    assert str(folder / "copy") in message
    assert "keep each window's folder once" in message


def test_a_rank_that_is_none_is_refused(folder):
    edit(truth_of(folder, 1), rank=-2)
    assert "the rank is -2" in refused(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"injected": [{"rank": 1}]},
        {"injected": None},
        {"parameters": {"tp": -3, "delays": []}},
        {"parameters": {}},
    ],
)
def test_the_truth_of_a_made_up_job_that_is_damaged_is_refused(tmp_path, change):
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=1), tmp_path)
    edit(tmp_path / "truth.json", **change)
    assert "does not tell what was delayed" in refused(tmp_path)
