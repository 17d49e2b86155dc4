"""`--plot` of plan, simulate, sweep and verify: what is drawn, and what is refused."""

from pathlib import Path

import pytest

from synctax.report.figures import pairs, plan, simulate, sweep, timeline, verify
from tests.conftest import ROOT

CLUSTER = ROOT / "examples" / "cluster"
JOBS = (CLUSTER / "two-jobs.csv", "--cluster", CLUSTER / "two-servers.yaml")
PLAN = (
    *(
        "plan",
        "--model",
        "llama3-8b",
        "--hardware",
        "dgx-h100",
        "--gpus",
        8,
        "--tax",
        "none",
    ),
    *("--sequence", 8192, "--batch", 64),
)


def watched(module, name: str, made: list):
    """The figure `name`, which tells when it is drawn."""
    draw = getattr(module, name)

    def watching(*args):
        made.append((module.__name__.rpartition(".")[2], name))
        return draw(*args)

    return watching


@pytest.fixture
def drawn(run, tmp_path, monkeypatch):
    """Run a command with --plot; tell the figure that was asked for, and how it ended."""
    monkeypatch.chdir(tmp_path)
    made = []
    for module, name in (
        (plan, "pareto"),
        (plan, "step"),
        (simulate, "jct"),
        (timeline, "timeline"),
        (pairs, "pairs"),
        (sweep, "jct"),
        (verify, "groups"),
    ):
        monkeypatch.setattr(module, name, watched(module, name, made))

    def drawn(*args: object) -> list[tuple[str, str]]:
        result = run(*args, "--plot", "made.svg")
        assert result.exit_code == 0, result.stderr
        assert Path("made.svg").read_text().startswith("<?xml")
        return made

    return drawn


@pytest.mark.parametrize(
    ("command", "figure"),
    [
        (PLAN, ("plan", "pareto")),
        ((*PLAN, "--figure", "step", "--format", "csv"), ("plan", "step")),
        (("simulate", *JOBS), ("simulate", "jct")),
        (("simulate", *JOBS, "--figure", "timeline"), ("timeline", "timeline")),
        (("simulate", "--pairs"), ("pairs", "pairs")),
        (("simulate", "--pairs", "--format", "json"), ("pairs", "pairs")),
        (("sweep", *JOBS, "--queues", "fifo,easy", "--workers", 1), ("sweep", "jct")),
        (
            ("verify", ROOT / "examples" / "tp4-fsdp2", "--no-cache", "--workers", 1),
            ("verify", "groups"),
        ),
    ],
)
def test_a_command_draws_the_figure_that_is_asked_for_beside_its_table(
    drawn, command, figure
):
    assert drawn(*command) == [figure]


def test_bars_are_of_the_lines_of_the_table(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = []
    monkeypatch.setattr(
        plan,
        "step",
        lambda found, rows, draw=plan.step: seen.append(rows) or draw(found, rows),
    )
    done = run(*PLAN, "--top", 3, "--figure", "step", "--plot", "steps.pdf")
    assert done.exit_code == 0
    assert len(seen[0]) == 3


def test_what_failed_in_a_sweep_keeps_the_others_from_no_picture(
    run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("def wrong(free, job, state):\n    return {99: job.gpus}\n")
    policies = ("--policies", "spread,own.py:wrong", "--workers", 1, "--plot", "made.png")
    made_up = ("philly-like", "--jobs", 3, "--cluster", CLUSTER / "two-servers.yaml")
    done = run("sweep", *made_up, *policies)
    assert done.exit_code == 1
    assert "1 of 2 combinations failed" in done.stderr
    assert Path("made.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ((*PLAN, "--explain", "tp8,pp1,dp1"), "--plot is for the list of layouts"),
        ((*PLAN, "--export", "megatron"), "--plot is for the list of layouts"),
        (("plan", "--list-models"), "--plot is for layouts, not for lists"),
        (("simulate", "--list-clusters"), "--plot changes nothing of --list-clusters"),
        (
            ("simulate", "--pairs", "--figure", "jct"),
            "--figure changes nothing of --pairs; leave it out",
        ),
    ],
)
def test_a_picture_of_what_has_none_is_refused(run, tmp_path, command, said):
    path = tmp_path / "made.png"
    done = run(*command, "--plot", path)
    assert done.exit_code == 2
    assert said in done.stderr
    assert not path.exists()
