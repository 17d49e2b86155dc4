"""Whose code runs, when, and what it can do to results: `simulate` and `sweep`."""

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT

TRACE = "job_id,submit_s,gpus,duration_s\na,0,4,100\nb,1,4,50\n"
SERVERS = "servers: [{count: 2, gpus: 8, gpu_type: v100, nic_bytes_per_s: 625e6}]\n"
OWN = """
from pathlib import Path
with Path("ran").open("a") as file:
    file.write("x")
print("loaded")
def first(free, job, state):
    print("asked", job)
    return {0: job.gpus}
def leave(free, job, state):
    raise SystemExit(0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A trace, a policy that leaves a trace of its own, and a cluster that names it."""
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(TRACE)
    Path("own.py").write_text(OWN)
    Path("sent.yaml").write_text(f"{SERVERS}policy: own.py:first\n")
    Path("plain.yaml").write_text(SERVERS)
    return tmp_path


@pytest.mark.parametrize(
    "args",
    [
        ("simulate", "jobs.csv", "--cluster", "sent.yaml"),
        ("simulate", "--pairs", "--cluster", "sent.yaml"),
        ("simulate", "jobs.csv", "--cluster", "sent.yaml", "--policy", "spread"),
        ("sweep", "jobs.csv", "--cluster", "sent.yaml", "--policies", "spread"),
    ],
)
def test_code_that_a_cluster_file_names_never_runs(run, folder, args):
    result = run(*args)
    assert result.exit_code == 3
    assert "sent.yaml, line 2: policy is 'own.py:first'; expected one of" in result.stderr
    assert "a function of your own runs only where the command" in result.stderr
    assert not Path("ran").exists()


def test_a_file_that_the_command_names_runs_once_and_stdout_is_the_result_alone(
    run, folder
):
    args = ("jobs.csv", "--cluster", "plain.yaml", "--policy", "own.py:first")
    result = run("simulate", *args, "--format", "json")
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["rows"]) == 2
    assert "loaded\nasked JobView(job_id='a', gpus=4" in result.stderr
    assert Path("ran").read_text() == "x"


def test_a_policy_that_would_end_the_program_is_an_error(run, folder):
    args = ("jobs.csv", "--cluster", "plain.yaml", "--policy", "own.py:leave")
    result = run("simulate", *args)
    assert result.exit_code == 1
    assert "policy own.py:leave failed on job a: SystemExit: 0 (own.py, line" in (
        result.stderr
    )


def test_a_gpu_as_nvidia_smi_writes_it_is_told_with_file_line_and_what_it_means(
    run, folder
):
    text = SERVERS.replace("gpu_type: v100", "gpu_type: Tesla V100-SXM2-32GB")
    Path("smi.yaml").write_text(f"# written down\n{text}")
    result = run("simulate", "jobs.csv", "--cluster", "smi.yaml")
    assert result.exit_code == 3
    assert "smi.yaml, line 2: " in result.stderr
    assert "(did you mean v100?)" in result.stderr


def test_an_example_policy_still_runs_by_its_file(run, folder):
    own = ROOT / "examples" / "cluster" / "own_policy.py"
    args = ("jobs.csv", "--cluster", "plain.yaml", "--policy", f"{own}:one_server", "-q")
    result = run("simulate", *args)
    assert result.exit_code == 0
    assert "own_policy.py:one_server" in " ".join(result.stdout.split())
