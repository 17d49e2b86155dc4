"""A real job of two processes, delayed while it was recorded: does that come back?"""

import json
import sys
from pathlib import Path

import pytest

from synctax.experiment import read_injections
from tests.conftest import ROOT
from tests.experiment.made import judged

pytestmark = pytest.mark.torch

RANKS = ROOT / "tests" / "record" / "launched" / "ranks.py"
EXAMPLE = ROOT / "examples" / "tensor_parallel.py"
DELAY_MS = 60
"""Longer than what a busy machine does to a process."""

REPEATS, PICK, SKIP = 3, 2, 2


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


def test_the_truth_tells_of_every_delay_that_was_planned(recorded):
    told = read_injections(recorded[0])
    assert told.told == {0, 1}
    assert set(told.rank.tolist()) == {1}
    assert set(told.operators) == {"aten::mm"}
    sizes = told.asked_ns.tolist()
    assert sizes.count(0) == sizes.count(DELAY_MS * 1_000_000) == REPEATS * PICK
    assert (told.slept_ns >= told.asked_ns).all()
    assert sorted(set(told.step.tolist())) == list(range(SKIP + 1, SKIP + 1 + 2 * REPEATS))


def test_delays_come_back_by_rank_operator_and_amount(recorded):
    found = recorded[1]["recovery"]
    assert found["judged"] >= REPEATS
    assert found["rank_named"] == found["judged"]
    assert found["recovered"] >= 0.8 * found["judged"]
    slope = recorded[1]["lines"]["tax_by_delay"]["robust"]["slope"]
    assert 0.8 < slope < 1.3


def test_controls_are_delayed_by_nothing(recorded):
    rows = {one["dose_us"]: one for one in recorded[1]["rows"]}
    assert rows[0.0]["delays"] == REPEATS * PICK
    assert rows[0.0]["delay_us_median"] < 1_000
    assert rows[0.0]["operator_path_share_median"] < 0.9
    assert rows[1000.0 * DELAY_MS]["excess_us_median"] > 500 * DELAY_MS


def test_it_is_judged_again_from_its_folder(recorded):
    again = judged(recorded[0])
    assert again.tally.recovered == recorded[1]["recovery"]["recovered"]
    assert again.hits.step.tolist() == sorted(again.hits.step.tolist())
