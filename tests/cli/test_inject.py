"""The command `inject` as users meet it; jobs that are recorded come last."""

import json
import shutil
import socket
from pathlib import Path

import pandas as pd
import pytest

from synctax.record import launch as launching
from synctax.record.outcome import Outcome, RankOutcome
from synctax.schema import INJECT, INJECT_COLLECTIVES
from tests.conftest import assert_in_words
from tests.experiment.made import GlooJob, edit, experiment, truth_of

DOSES_MS = (0.0, 1.0, 20.0, 5.0, 2.0, 10.0, 0.0, 5.0)


@pytest.fixture(scope="module")
def job(tmp_path_factory) -> Path:
    """Traces and truth of a job whose rank 1 was delayed."""
    return experiment(*DOSES_MS).write(tmp_path_factory.mktemp("job"))


@pytest.fixture
def inject(run, tmp_path):
    """Run `inject` with its workspace in a folder of the test."""

    def inject(*args: object):
        result = run("inject", "--workspace", tmp_path / "space", "--workers", "1", *args)
        assert_in_words(result)
        return result

    return inject


def test_json_is_an_envelope_with_the_promised_columns(inject, job):
    result = inject("--traces", job, "--format", "json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["schema"] == "synctax.inject/1"
    assert list(told["rows"][0]) == list(INJECT.names)
    assert [one["dose_us"] for one in told["rows"]] == [0, 1e3, 2e3, 5e3, 1e4, 2e4]
    assert told["recovery"]["recovered"] == told["recovery"]["judged"] == 4
    assert told["parameters"]["least_ms"] == 5
    assert told["excluded"][0]["reason"] == "head"


def test_people_read_a_verdict_first(inject, job):
    result = inject("--traces", job, "-q")
    assert result.stdout.startswith("recovered 4 of 4 collectives delayed by 5 ms or more")
    assert result.stderr == ""


def test_every_collective_goes_to_a_file(inject, job, tmp_path):
    path = tmp_path / "out.csv"
    assert inject("--traces", job, "--per-collective", "--result", path).exit_code == 0
    frame = pd.read_csv(path)
    assert tuple(frame.columns) == INJECT_COLLECTIVES.names
    assert len(frame) == len(DOSES_MS)
    shown = inject("--traces", job, "--per-collective").stdout
    assert shown.count("aten::mm") >= len(DOSES_MS)


def test_the_least_size_is_a_choice(inject, job):
    told = json.loads(inject("--traces", job, "--least-ms", "1", "--format", "json").stdout)
    assert told["recovery"]["judged"] == 6


def test_later_commands_find_what_was_judged(inject, run, job, tmp_path):
    assert inject("--traces", job).exit_code == 0
    result = run("attribute", "--workspace", tmp_path / "space", "--workers", "1")
    assert result.exit_code == 0
    assert "rank 1" in result.stdout


def test_nothing_is_kept_without_a_workspace(run, job, tmp_path):
    space = tmp_path / "space"
    result = run("inject", "--workspace", space, "--no-cache", "--traces", job, "-q")
    assert result.exit_code == 0
    assert not space.exists()


# ------------------------------------------------------------------ the gate


def test_the_gate_passes_what_came_back_and_says_of_how_many(inject, job):
    result = inject("--traces", job, "--fail-below", "1")
    assert result.exit_code == 0
    assert (
        "recovered 4 of 4 collectives, a share of 1.000 (4 of 4 that were reached could be "
        "judged, a share of 1.000): not below 1"
    ) in result.stderr
    assert inject("--traces", job, "--fail-below", "1", "-q").stderr == ""


@pytest.mark.parametrize(("heads", "exit_code"), [(2, 0), (3, 1)])
def test_a_gate_needs_half_of_what_was_reached(inject, tmp_path, heads, exit_code):
    """What reaches the first collective of the window cannot be judged."""
    folder = GlooJob({(1, 6, 1): 9.0, (1, 7, 1): 9.0}).write(tmp_path / "job")
    for number in range(heads):
        more = GlooJob({(1, 40 + 20 * number, 0): 9.0}, first_step=40 + 20 * number)
        more.write(folder)
    result = inject("--traces", folder, "--fail-below", "1")
    assert result.exit_code == exit_code
    judged = f"2 of {2 + heads} that were reached could be judged"
    assert judged in result.stderr
    if exit_code:
        assert "too little to hold against --fail-below: only 2 of 5" in result.stderr
        assert "of these 2 were recovered; not judged: 3 head" in result.stderr


def test_the_gate_fails_with_4_and_still_prints_the_table(inject, tmp_path):
    folder = experiment(0, 5, 20, 10).write(tmp_path / "job")
    path = truth_of(folder, 1)
    delays = json.loads(path.read_text())["delays"]
    edit(path, delays=[*delays[:3], delays[3] | {"operator": "aten::bmm"}])
    result = inject("--traces", folder, "--fail-below", "0.9")
    assert result.exit_code == 4
    assert (
        "share of 0.667 (3 of 3 that were reached could be judged, a share of 1.000): below"
        in result.stderr
    )
    assert "recovered 2 of 3" in result.stdout


def test_a_gate_with_nothing_to_judge_does_not_pass(inject, tmp_path):
    folder = experiment(0, 1).write(tmp_path / "job")
    result = inject("--traces", folder, "--fail-below", "0")
    assert result.exit_code == 1
    assert "nothing to hold against --fail-below" in result.stderr


# ------------------------------------------------------------------ wrong use, bad input


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("-q",),
        ("--traces", "JOB", "--", "python", "train.py"),
        ("--traces", "JOB", "--rank", "1"),
        ("--traces", "JOB", "--doses-ms", "1,2", "--repeats", "2"),
        ("--doses-ms", "1,1", "--", "python"),
        ("--doses-ms", "1,-2", "--", "python"),
        ("--doses-ms", "one", "--", "python"),
        ("--doses-ms", "", "--", "python"),
        ("--doses-ms", "1,1e300", "--", "python"),
        ("--repeats", "0", "--", "python"),
        ("--repeats", "100000000", "--", "python"),
        ("--rank", "99999999999", "--", "python"),
        ("--traces", "JOB", "--least-ms", "nan"),
        ("--traces", "JOB", "--least-ms", "inf"),
        ("--skip", "0", "--", "python"),
        ("--op", "", "--", "python"),
        ("--step-at", "nothing", "--", "python"),
        ("--traces", "JOB", "--fail-below", "2"),
        ("--traces", "JOB", "--least-ms", "0"),
        ("--traces", "JOB", "--result", "x.pdf"),
    ],
)
def test_wrong_use_ends_with_2(run, job, args):
    result = run("inject", *(job if part == "JOB" else part for part in args))
    assert result.exit_code == 2
    assert_in_words(result)


def test_an_option_that_a_recording_only_has_is_named(inject, job):
    result = inject("--traces", job, "--doses-ms", "1,2", "--pick", "1")
    assert "--doses-ms, --pick: for recording a COMMAND only" in result.stderr


def test_the_folder_of_a_recording_is_not_taken_for_the_result(inject, job):
    result = inject("--traces", job, "-o", "out.json")
    assert result.exit_code == 2
    assert "--result FILE takes the result" in result.stderr
    result = inject("-o", "out.json", "--", "python")
    assert result.exit_code == 2
    assert "the result goes to --result out.json" in result.stderr


def test_traces_without_truth_end_with_3(inject, job, tmp_path):
    folder = tmp_path / "job"
    shutil.copytree(job, folder)
    for path in folder.rglob("*_delays.json"):
        path.unlink()
    result = inject("--traces", folder)
    assert result.exit_code == 3
    assert "does not tell what was delayed" in result.stderr


# ------------------------------------------------------------------ a recording


@pytest.fixture
def launched(monkeypatch):
    """Put a job in the place of `launch`; what was asked for, and what it leaves."""
    seen = {}

    def launch(plan, command, *, overwrite=False, stdout_to_stderr=False):
        seen.update(plan=plan, command=command, overwrite=overwrite)
        seen["apart"] = stdout_to_stderr
        first = plan.skip + plan.warmup
        late_by = seen.get("late_by", 0)
        if seen.get("traces", True):
            late = {(rule.rank, rule.first_step, 1): rule.us / 1000 for rule in plan.delays}
            made = GlooJob(late, steps=plan.steps, first_step=first)
            made.write(plan.folder)
            if "operator" in seen:
                edit(truth_of(plan.folder, 1), delays=[])
        fate = "written" if seen.get("traces", True) else "nothing"
        ranks = tuple(
            RankOutcome(
                rank,
                seen.get("host", socket.gethostname()),
                fate,
                first_step=first + late_by,
                end_step=first + late_by + plan.steps,
                steps_seen=seen.get("steps", first + plan.steps),
                trace=f"rank{rank}" if fate == "written" else "",
            )
            for rank in range(2)
        )
        return Outcome(plan, seen.get("exit_code", 0), ranks)

    monkeypatch.setattr(launching, "launch", launch)
    return seen


def test_a_job_is_recorded_by_plan_and_judged(inject, launched, tmp_path):
    folder = tmp_path / "out"
    result = inject(
        "-o", folder, "--doses-ms", "0,5,10", "--repeats", "2", "--skip", "3", "--seed",
        "4", "--how", "spin", "--overwrite", "--format", "json", "--", "torchrun", "x.py",
        "-q",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    plan = launched["plan"]
    assert launched["command"] == ("torchrun", "x.py", "-q")
    assert launched["overwrite"] is True
    assert launched["apart"] is True, "stdout is for the result"
    assert (plan.folder, plan.skip, plan.warmup, plan.steps) == (folder, 3, 1, 6)
    assert [rule.first_step for rule in plan.delays] == list(range(4, 10))
    assert sorted(rule.us for rule in plan.delays) == [0, 0, 5e3, 5e3, 1e4, 1e4]
    assert {(r.operator, r.rank, r.pick, r.how) for r in plan.delays} == {
        ("aten::mm", 1, 2, "spin")
    }
    told = json.loads(result.stdout)
    assert told["recovery"]["recovered"] == told["recovery"]["judged"] == 4
    assert told["parameters"]["command"] == ["torchrun", "x.py", "-q"]
    assert told["parameters"]["doses_ms"] == [0, 5, 10]
    assert told["cores"] >= 1
    assert "recording 6 of 10 steps" in result.stderr
    assert "2 of 2 ranks recorded steps 4 to 9" in result.stderr


def test_steps_may_end_at_a_function_from_the_first_on(inject, launched, tmp_path):
    result = inject(
        "-o", tmp_path / "out", "--step-at", "train:step", "--skip", "0", "--doses-ms",
        "0,5", "--repeats", "1", "-q", "--", "x",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    plan = launched["plan"]
    assert (plan.step_by, plan.step_at, plan.skip) == ("function", "train:step", 0)
    assert result.stderr == ""


def test_cores_of_several_hosts_are_not_shared(inject, launched, tmp_path):
    launched["host"] = "elsewhere"
    result = inject("-o", tmp_path / "out", "--format", "json", "--", "x")
    assert json.loads(result.stdout)["cores"] is None


def test_the_exit_code_of_the_job_is_kept(inject, launched, tmp_path):
    launched["exit_code"] = 7
    result = inject("-o", tmp_path / "out", "--", "x")
    assert result.exit_code == 7
    assert "the job ended with exit code 7" in result.stderr
    assert result.stdout == ""


def test_a_window_that_was_put_off_holds_no_delay_and_says_why(inject, launched, tmp_path):
    launched["late_by"] = 30
    result = inject("-o", tmp_path / "out", "--", "x")
    assert result.exit_code == 1
    assert (
        "nothing was delayed: the window was put off: steps 6 to 35 were to be delayed, "
        "and steps 36 to 65 were recorded"
    ) in result.stderr
    assert "a profiler of the job" in result.stderr
    assert result.stdout == ""


def test_an_operator_that_did_not_run_is_named_before_anything_is_measured(
    inject, launched, tmp_path, monkeypatch
):
    launched["operator"] = "none"
    monkeypatch.setattr("synctax.cli.inject_stages.attributed", None)
    result = inject("-o", tmp_path / "out", "--", "x")
    assert result.exit_code == 1
    assert "no operator that ran in the recorded steps matches aten::mm" in result.stderr


def test_a_window_that_was_put_off_a_little_is_judged(inject, launched, tmp_path):
    launched["late_by"] = 29
    assert inject("-o", tmp_path / "out", "-q", "--", "x").exit_code == 0


def test_a_job_that_is_too_short_says_how_long_it_must_be(inject, launched, tmp_path):
    launched.update(traces=False, steps=8)
    result = inject("-o", tmp_path / "out", "--", "x")
    assert result.exit_code == 1
    assert "5 to skip, 1 to warm up, 30 with delays (fewer: --repeats)" in result.stderr
