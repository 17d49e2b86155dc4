"""`synctax record`, with jobs whose torch is a few lines long."""

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from synctax.cli.record_types import DelayRuleType
from synctax.errors import SynctaxError
from synctax.record.outcome import Outcome, RankOutcome
from synctax.record.plan import DelayRule, Plan
from synctax.report.record_view import parts
from synctax.report.tables import to_text
from tests.conftest import assert_in_words
from tests.record import fake_torch

TRAIN = """
import os, sys, torch
optimizer = torch.optim.SGD()
for _ in range(int(sys.argv[1])):
    optimizer.step()
print("trained")
sys.stdout.flush()
{last}
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Write a job that takes as many steps as told, and return its command."""
    monkeypatch.setenv("PYTHONPATH", str(fake_torch.write(tmp_path / "site")))
    monkeypatch.chdir(tmp_path)

    def job(steps=9, *, last=""):
        (tmp_path / "train.py").write_text(TRAIN.format(last=last))
        return [sys.executable, "train.py", steps]

    return job


@pytest.fixture
def record(run, capfd):
    """Run the command; `stdout` is the job's and ours, in order."""

    def record(*args):
        result = run("record", *args)
        assert_in_words(result)
        result.job = capfd.readouterr().out
        return result

    return record


# ------------------------------------------------------------------ what people see


def test_a_job_is_recorded_and_the_next_command_told(record, job, tmp_path):
    result = record("--", *job())
    assert result.exit_code == 0
    assert result.job == "trained\n"
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "synctax: recording steps 6 to 8 (from 0) of each rank into traces",
        "rank   host     state     steps   trace",
        "─────────────────────────────────────────────────────────────────",
        "   0   node-a   written   6-8     iteration_0/rank0_trace.json.gz",
        "1 of 1 rank recorded steps 6 to 8",
        "next: synctax inspect traces",
    ]
    assert (tmp_path / "traces" / "iteration_0" / "rank0_trace.json.gz").exists()


def test_quiet_says_nothing_where_all_is_well_and_what_is_wrong_otherwise(record, job):
    assert record("-q", "--", *job()).stderr == ""
    stderr = record("-q", "--overwrite", "--", *job(2)).stderr
    assert "recording" not in stderr
    assert "let the job run for 9 steps" in stderr


def test_a_job_that_is_too_short_has_no_trace_and_exits_with_1(record, job):
    result = record("--", *job(2))
    assert result.exit_code == 1
    assert "0 of 1 rank recorded the whole window" in result.stderr
    assert "next" not in result.stderr


@pytest.mark.parametrize(("steps", "code"), [(9, 7), (2, 7), (9, 1)])
def test_the_exit_code_of_the_job_is_kept(record, job, steps, code):
    assert record("--", *job(steps, last=f"sys.exit({code})")).exit_code == code


def test_a_job_that_dies_amid_the_window_is_told(record, job):
    result = record("--", *job(7, last="os._exit(9)"))
    assert result.exit_code == 9
    assert "rank 0 ended without a word while recording: killed" in result.stderr


def test_a_job_without_torch_is_told(record, job):
    result = record("--", sys.executable, "-c", "print(1)")
    assert result.exit_code == 1
    assert result.job == "1\n"
    assert "no process of the job reported" in result.stderr


def test_a_job_whose_python_is_isolated_is_told(record, job, tmp_path):
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); import torch"
    result = record("--", sys.executable, "-I", "-c", code)
    assert result.exit_code == 1
    assert "its Python ignores PYTHONPATH (-I, -E, -S)" in result.stderr


def test_many_ranks_that_are_alike_are_counted_and_odd_ones_shown():
    ranks = [
        RankOutcome(rank, "node-a", "written", first_step=6, end_step=9, trace="x")
        for rank in range(20)
    ]
    ranks[13] = RankOutcome(13, "node-b", "cut", "SIGTERM", 6, 7, 7, "x")
    ranks[14] = RankOutcome(14)
    outcome = Outcome(Plan(Path("traces")), 0, tuple(ranks))
    lines = to_text(parts(outcome)).splitlines()
    assert [line.split()[0] for line in lines[2:12]] == [*"01234567", "13", "14"]
    assert lines[10].split()[1:4] == ["node-b", "cut", "6"]
    assert lines[11].split()[1:5] == ["–", "absent", "–", "–"]
    assert lines[12] == "… and 10 more alike; -v lists them"
    assert len(to_text(parts(outcome, every_rank=True)).splitlines()) == 20 + 5


# ------------------------------------------------------------------ formats


def test_json_goes_to_stdout_with_what_was_asked(record, job):
    result = record("--format", "json", "--stack", "--no-shapes", "--", *job())
    found = json.loads(result.stdout)
    assert found["schema"] == "synctax.record/1"
    assert found["parameters"]["command"][1:] == ["train.py", "9"]
    asked = found["parameters"]
    assert (asked["stack"], asked["shapes"], asked["whole_run"]) == (True, False, False)
    assert (asked["folder"], asked["step_at"], asked["delays"]) == ("traces", None, [])
    assert (found["exit_code"], found["traces"]) == (0, 1)
    assert found["verdict"] == ["1 of 1 rank recorded steps 6 to 8"]
    (row,) = found["rows"]
    assert (row["rank"], row["state"]) == (0, "written")
    assert (row["first_step"], row["end_step"]) == (6, 9)
    assert (row["reason"], row["delays"]) == (None, None)


def test_csv_has_a_row_a_rank_and_absent_is_empty(record, job):
    result = record("--format", "csv", "--", *job(2))
    (row,) = csv.DictReader(io.StringIO(result.stdout))
    assert row["state"] == "nothing"
    assert row["trace"] == row["first_step"] == ""


def test_the_processes_that_were_no_rank_are_in_json(record, job):
    result = record("--format", "json", "--", *job(0))
    found = json.loads(result.stdout)
    assert [one["reason"] for one in found["bystanders"]] == ["no optimizer stepped"]
    assert result.exit_code == 1


# ------------------------------------------------------------------ folders


def test_a_recording_is_not_overwritten_unless_asked(record, job, tmp_path):
    trace = tmp_path / "a" / "b" / "iteration_0" / "rank0_trace.json.gz"
    assert record("--folder", "a/b", "--", *job()).exit_code == 0
    trace.write_text("of before")
    result = record("-o", "a/b", "--", *job())
    assert result.exit_code == 2
    assert result.job == ""
    assert "a/b holds a recording; --overwrite replaces it" in result.stderr
    assert record("-o", "a/b", "--overwrite", "--", *job()).exit_code == 0
    assert trace.read_text() == ""


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_files_of_a_project_are_no_recording_and_stay(record, job, tmp_path, overwrite):
    settings = tmp_path / "record" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    result = record("-o", ".", *overwrite, "--", *job())
    assert result.exit_code == 2
    assert "such as record/settings.json" in result.stderr
    assert settings.exists()


def test_the_next_command_can_be_pasted(record, job):
    stderr = record("-o", "my runs/x", "--", *job()).stderr
    assert stderr.splitlines()[-1] == "next: synctax inspect 'my runs/x'"


def test_measure_comes_next_where_several_ranks_have_traces(monkeypatch, run):
    ranks = [RankOutcome(n, "a", "written", trace="x", end_step=9) for n in range(2)]
    outcome = Outcome(Plan(Path("traces")), 0, tuple(ranks))
    monkeypatch.setattr("synctax.record.launch.launch", lambda *_, **__: outcome)
    result = run("record", "--", "true")
    assert result.stderr.splitlines()[-1] == "next: synctax measure traces"


@pytest.mark.parametrize(("code", "kept"), [(7, 7), (0, 1)])
def test_a_summary_that_cannot_be_shown_takes_no_exit_code_away(
    monkeypatch, run, code, kept
):
    outcome = Outcome(Plan(Path("traces")), code, ())
    monkeypatch.setattr("synctax.record.launch.launch", lambda *_, **__: outcome)

    def fail(*_):
        raise SynctaxError("stdout is closed")

    monkeypatch.setattr("synctax.report.output.emit", fail)
    result = run("record", "--format", "json", "--", "true")
    assert result.exit_code == kept
    assert "stdout is closed" in result.stderr


def test_a_file_is_no_folder(record, job):
    result = record("-o", "train.py", "--", *job())
    assert result.exit_code == 2
    assert "train.py" in result.stderr


# ------------------------------------------------------------------ commands


def test_a_command_that_is_not_there_exits_as_in_a_shell(record, job):
    result = record("--", "nonesuch", "x")
    assert result.exit_code == 127
    assert result.stderr == (
        "synctax: error: nonesuch: no such command; give its path, or run it as python -m "
        "MODULE\n"
    )
    job()
    result = record("--", "./train.py")
    assert result.exit_code == 126
    assert "run it as python ./train.py" in result.stderr


def test_options_of_the_job_are_its_own_even_without_dashes(record, job):
    result = record(*job(), "--steps", "1", "-q", "--help")
    assert result.exit_code == 0
    assert "recording steps 6 to 8" in result.stderr


def test_without_a_command_the_help_is_shown(record):
    assert "synctax record [OPTIONS] -- COMMAND" in record().stderr
    assert "Missing argument 'COMMAND...'" in record("--stack").stderr


# ------------------------------------------------------------------ options


@pytest.fixture
def planned(monkeypatch, run):
    """Return the plan that options make, and what is said first; nothing is started."""
    made = []

    def launch(plan, command, *, overwrite, on_start):
        on_start()
        made.append(plan)
        return Outcome(plan, 0, ())

    monkeypatch.setattr("synctax.record.launch.launch", launch)

    def planned(*args):
        said = run("record", *args, "--", "true").stderr.splitlines()[0]
        return made.pop(), said

    return planned


def test_the_options_are_the_plan(planned, tmp_path):
    assert planned()[0] == Plan(Path("traces"))
    plan, _ = planned(
        *("-o", tmp_path, "--skip", 2, "--warmup", 0, "--steps", 4, "--meet-timeout-s", 0),
        *("--step-at", "train:Trainer.step", "--delay", "op=aten::mm,ms=1"),
    )
    assert plan == Plan(
        tmp_path,
        skip=2,
        warmup=0,
        steps=4,
        step_by="function",
        step_at="train:Trainer.step",
        meet_timeout_s=0,
        delays=(DelayRule("aten::mm", 1000),),
    )
    assert planned("--whole-run")[0].step_by == "run"
    assert planned("--skip", 0, "--step-at", "train:step")[0].skip == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--steps", 1], "recording step 6 (from 0) of each rank into traces"),
        (["--whole-run"], "recording the whole run into traces"),
        (["--delay", "op=x,ms=1"], "of each rank, with a delay, into traces"),
        (["--delay", "op=x,ms=1,step=4:6"], "with a delay, into traces"),
        (["--delay", "op=x,ms=1,step=8:20"], "with a delay, into traces"),
        (["--delay", "op=x,ms=1"] * 2, "of each rank, with 2 delays, into traces"),
    ],
)
def test_the_first_line_tells_what_will_be_recorded(planned, options, told):
    assert planned(*options)[1].endswith(told)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--whole-run", "--step-at", "a:b"], "exclude each other"),
        (["--whole-run", "--skip", 5], "--whole-run leaves nothing for --skip"),
        (["--whole-run", "--steps", 5], "--whole-run leaves nothing for --steps"),
        (["--skip", 0], "--skip at least 1, or name a function"),
        (["--step-at", "train"], "a function is module:function, not 'train'"),
        (["--steps", 0], "0 is not in the range"),
        (["--meet-timeout-s", "nan"], "no finite number"),
        (["--delay", "op=x"], "'op=x' is no delay like rank=1,op=aten::mm"),
        (
            ["--delay", "op=x,ms=1,step=9:"],
            "step=9: delays nothing: it acts in",
        ),
        (["--delay", "op=x,ms=1,step=0:5"], "and the recorded steps, 5:9"),
        (["--whole-run", "--delay", "op=x,ms=1,step=1"], "step=1:2 delays nothing"),
    ],
)
def test_options_that_make_no_sense_are_refused(run, options, told):
    result = run("record", *options, "--", "true")
    assert result.exit_code == 2
    assert told in result.stderr


# ------------------------------------------------------------------ delays


def rule(text):
    return DelayRuleType().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("op=aten::mm,us=5", DelayRule("aten::mm", 5)),
        ("op=aten::*mm , ms=5", DelayRule("aten::*mm", 5e3)),
        ("s=0.5,op=mm,rank=3", DelayRule("mm", 5e5, rank=3)),
        ("op=mm,ms=1,step=3:10", DelayRule("mm", 1e3, first_step=3, end_step=10)),
        ("op=mm,ms=1,step=3", DelayRule("mm", 1e3, first_step=3, end_step=4)),
        ("op=mm,ms=1,step=3:", DelayRule("mm", 1e3, first_step=3)),
        ("op=mm,ms=1,nth=5", DelayRule("mm", 1e3, nth=(5,))),
        ("op=mm,ms=1,nth=2:5", DelayRule("mm", 1e3, nth=(2, 3, 4))),
        ("op=mm,ms=1,pick=2,seed=7", DelayRule("mm", 1e3, pick=2, seed=7)),
        ("op=mm,ms=2:8", DelayRule("mm", 2e3, 8e3, "uniform")),
        ("op=mm,ms=2:8,law=uniform", DelayRule("mm", 2e3, 8e3, "uniform")),
        ("op=mm,ms=2,law=exponential", DelayRule("mm", 2e3, law="exponential")),
        ("op=mm,ms=2,law=fixed", DelayRule("mm", 2e3)),
        ("op=mm,ms=2,side=gpu", DelayRule("mm", 2e3, side="gpu")),
        ("op=mm,ms=2,how=spin", DelayRule("mm", 2e3, how="spin")),
    ],
)
def test_a_delay_reads_as_it_is_meant(text, made):
    assert rule(text) == made
    assert rule(made) is made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is no delay like"),
        ("ms=5", "is no delay like"),
        ("op=mm", "is no delay like"),
        ("op=mm,ms=5,us=5", "is no delay like"),
        ("op=mm,op=mm,ms=5", "is no delay like"),
        ("op=mm,ms=5,kernel=3", "is no delay like"),
        ("op=mm,ms=five", "'five' is not a valid float"),
        ("op=mm,ms=-1", "-1 is below 0"),
        ("op=mm,ms=nan", "no finite number"),
        ("op=mm,ms=8:2", "the largest delay, 2000.0, is below 8000.0"),
        ("op=mm,ms=2:", "'' is not a valid float"),
        ("op=mm,ms=2,law=uniform", "a uniform law, and no other, has two ends, as ms=2:8"),
        ("op=mm,ms=2:8,law=fixed", "fixed with ms=2:8 is none"),
        ("op=mm,ms=2,law=pareto", "law is fixed or uniform or exponential, not 'pareto'"),
        ("op=mm,ms=2,side=cpu", "side is host or gpu, not 'cpu'"),
        ("op=mm,ms=2,how=gpu", "how is sleep or spin, not 'gpu'"),
        ("op=mm,ms=2,side=gpu,how=spin", "a GPU always spins"),
        ("op=mm,ms=2,rank=a", "'a' is not a valid integer"),
        ("op=mm,ms=2,rank=-1", "count from 0"),
        ("op=mm,ms=2,step=5:3", "'5:3' holds no step"),
        ("op=mm,ms=2,nth=1,pick=1", "not both"),
        ("op=mm,ms=2,nth=3:3", "nth=3:3 holds no occurrence"),
        ("op=mm,ms=2,nth=0:1000000", "more than 100,000 occurrences"),
        ("op=,ms=2", "a delay needs the name of an operator"),
    ],
)
def test_a_delay_that_is_none_is_refused_in_words(run, text, told):
    result = run("record", "--delay", text, "--", "true")
    assert result.exit_code == 2
    assert told in result.stderr


# ------------------------------------------------------------------ as users run it


def test_sigterm_ends_the_job_and_its_trace_is_told(job):
    command = [str(part) for part in job(7, last="import time; time.sleep(60)")]
    process = subprocess.Popen(
        [sys.executable, "-m", "synctax", "record", "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "trained\n"
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "rank 0 recorded a part: SIGTERM came in step 7" in stderr
    assert "next: synctax inspect traces" in stderr
