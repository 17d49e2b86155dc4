"""A real job of two processes, delayed while it was recorded: does that come back?"""

import json
import sys
from pathlib import Path

import pytest

from synctax.experiment import read_injections
from synctax.experiment.recovered import LEAST_JUDGED_SHARE
from tests.conftest import ROOT
from tests.experiment.made import judged

RANKS = ROOT / "tests" / "record" / "launched" / "ranks.py"
EXAMPLE = ROOT / "examples" / "tensor_parallel.py"
DELAY_MS = 60
"""Longer than what a busy machine does to a process."""

REPEATS, PICK, SKIP = 3, 2, 2


SET = ROOT / "examples" / "tp2-injected"
"""Recorded on two cores that did nothing else."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> tuple[Path, dict]:
    """Run the command once: the folder of the traces, and the envelope it printed."""
    pytest.importorskip("torch")
    from click.testing import CliRunner

    from synctax.cli import main

    folder = tmp_path_factory.mktemp("recorded")
    steps = SKIP + 1 + 2 * REPEATS + 1
    job = [
        sys.executable,
        str(EXAMPLE),
        "--tp",
        "2",
        "--layers",
        "1",
        "--steps",
        f"{steps}",
    ]
    asked = [
        "inject", "-o", str(folder / "traces"), "--doses-ms", f"0,{DELAY_MS}", "--repeats",
        f"{REPEATS}", "--pick", f"{PICK}", "--skip", f"{SKIP}", "--no-cache", "--workers",
        "1", "--result", str(folder / "result.json"), "--",
        sys.executable, str(RANKS), "2", *job,
    ]  # fmt: skip
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.stderr
    return folder / "traces", json.loads((folder / "result.json").read_text())


@pytest.mark.torch
def test_the_truth_tells_of_every_delay_that_was_planned(recorded):
    told = read_injections(recorded[0])
    assert told.told == {0, 1}
    assert set(told.rank.tolist()) == {1}
    assert set(told.operators) == {"aten::mm"}
    sizes = told.asked_ns.tolist()
    assert sizes.count(0) == sizes.count(DELAY_MS * 1_000_000) == REPEATS * PICK
    assert (told.slept_ns >= told.asked_ns).all()
    assert sorted(set(told.step.tolist())) == list(range(SKIP + 1, SKIP + 1 + 2 * REPEATS))


@pytest.mark.torch
def test_delays_come_back_by_rank_operator_and_amount(recorded):
    """On a machine that others use, too, most do; how many on a calm one: below."""
    found = recorded[1]["recovery"]
    assert found["judged"] >= REPEATS
    assert found["rank_named"] > found["judged"] / 2
    assert found["recovered"] > found["judged"] / 2
    line = recorded[1]["lines"]["tax_by_delay"]
    assert line["robust"]["slope"] > 0.5
    assert line["steps"] == 2 * REPEATS


@pytest.mark.torch
def test_every_delay_reaches_a_collective_or_is_counted_with_its_reason(recorded):
    told = recorded[1]
    reaching = sum(one["delays"] for one in told["rows"])
    others = [n for n in told["excluded"] if n["reason"].startswith("delay_")]
    assert reaching + sum(one["count"] for one in others) == told["delays"]
    assert told["delays"] == 2 * REPEATS * PICK
    assert reaching >= REPEATS * PICK


@pytest.mark.torch
def test_controls_are_delayed_by_nothing(recorded):
    rows = {one["dose_us"]: one for one in recorded[1]["rows"]}
    control, delayed = rows[0.0], rows[1000.0 * DELAY_MS]
    assert control["delay_us_median"] < 1_000
    assert delayed["excess_us_median"] > 500 * DELAY_MS
    share = "operator_path_share_median"
    assert control[share] < delayed[share]


@pytest.mark.torch
def test_it_is_judged_again_from_its_folder(recorded):
    again = judged(recorded[0])
    assert again.tally.recovered == recorded[1]["recovery"]["recovered"]
    assert again.hits.step.tolist() == sorted(again.hits.step.tolist())


# ------------------------------------------------------------------ on a calm machine


@pytest.mark.skipif(not SET.is_dir(), reason=f"{SET.relative_to(ROOT)} is not there")
def test_on_idle_cores_all_but_one_of_twenty_come_back_by_their_amount():
    """What the experiment promises, and no job beside others on a machine can keep."""
    found = judged(SET)
    assert found.least_us == 5_000
    assert found.tally.judged >= LEAST_JUDGED_SHARE * found.tally.reached
    assert found.tally.judged >= 20
    assert found.tally.share >= 0.95
    for line in (found.by_delay.ordinary, found.by_delay.robust):
        assert 0.9 <= line.slope <= 1.1
