"""No command writes over what it reads, and no two results go into one file."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT, assert_in_words

CLUSTER = ROOT / "examples" / "cluster"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with a trace, a cluster, a pool, measured times and a policy."""
    monkeypatch.chdir(tmp_path)
    for name in ("two-jobs.csv", "two-servers.yaml", "pool.yaml"):
        shutil.copy(CLUSTER / name, name)
    Path("times.csv").write_text("job_id,start_s,end_s\nA,0,1000\n")
    Path("own.py").write_text("def first(free, job, state):\n    return None\n")
    Path("link.csv").symlink_to("two-jobs.csv")
    Path("sub").mkdir()
    return tmp_path


ON = ("two-jobs.csv", "--cluster", "two-servers.yaml")
SIMULATE = ("simulate", *ON, "--format", "csv")


@pytest.mark.parametrize(
    ("args", "target", "read"),
    [
        (SIMULATE, "two-jobs.csv", "TRACE"),
        (SIMULATE, "./sub/../two-jobs.csv", "TRACE"),
        (SIMULATE, "link.csv", "TRACE"),
        (SIMULATE, "two-servers.yaml", "--cluster"),
        ((*SIMULATE, "--measured", "times.csv"), "times.csv", "--measured"),
        ((*SIMULATE, "--pool", "pool.yaml"), "pool.yaml", "--pool"),
        ((*SIMULATE, "--policy", "own.py:first"), "own.py", "--policy"),
        (("simulate", "--pairs", "--pool", "two-jobs.csv"), "two-jobs.csv", "--pool"),
        (("sweep", *ON), "two-jobs.csv", "TRACE"),
        (("sweep", *ON, "--policies", "spread,own.py:first"), "own.py", "--policies"),
        (("convert", "times.csv", "two-jobs.csv"), "two-jobs.csv", "FILES"),
        (("measure", "two-jobs.csv"), "two-jobs.csv", "TRACES"),
        (("bandwidth", "--tax", "two-jobs.csv"), "two-jobs.csv", "--tax"),
    ],
)
def test_a_result_is_not_written_over_an_input(run, files, args, target, read):
    before = {one.name: one.read_bytes() for one in files.iterdir() if one.is_file()}
    result = run(*args, "-o", target, "--format", "csv")
    assert_in_words(result)
    assert result.exit_code == 2
    assert f"would overwrite what is read as {read}" in result.stderr
    assert before == {
        one.name: one.read_bytes() for one in files.iterdir() if one.is_file()
    }


@pytest.mark.parametrize("args", [("measure",), ("characterize",), ("inspect",)])
def test_a_trace_in_a_folder_is_not_written_over(run, files, args):
    shutil.copytree(ROOT / "examples" / "tp4-fsdp2", "run")
    trace = min(Path("run").rglob("*.json*"))
    before = trace.read_bytes()
    result = run(*args, "run", "-o", trace, "--format", "json", "-q")
    assert result.exit_code == 2
    assert "would overwrite what is read as a trace" in result.stderr
    assert trace.read_bytes() == before


@pytest.mark.parametrize("other", ["t.json", "./t.json", "sub/../t.json", "to.json"])
def test_two_results_do_not_go_into_one_file(run, files, other):
    Path("to.json").symlink_to("t.json")
    result = run(*SIMULATE[:4], "--timeline", "t.json", "-o", other)
    assert result.exit_code == 2
    assert "-o and --timeline both name" in result.stderr
    assert not Path("t.json").exists()


def test_a_timeline_is_not_written_over_an_input(run, files):
    shutil.copy("two-servers.yaml", "two.json")
    args = ("simulate", "two-jobs.csv", "--cluster", "two.json", "--timeline", "two.json")
    result = run(*args)
    assert result.exit_code == 2
    assert "--timeline two.json would overwrite what is read as --cluster" in result.stderr


def test_files_that_are_no_input_and_devices_are_written(run, files):
    Path("out.csv").write_text("old")
    assert run(*SIMULATE, "-q", "-o", "out.csv").exit_code == 0
    assert Path("out.csv").read_text().startswith("job_id,")
    assert run(*SIMULATE, "-q", "-o", "/dev/null").exit_code == 0
    # no file is called so, whatever the command makes of it
    odd = run(*SIMULATE, "-q", "--policy", "a\0b", "-o", "out.csv")
    assert odd.exit_code == 2
    assert "Invalid value for --policy" in odd.stderr


@pytest.fixture
def recalled(files, run, monkeypatch):
    """Traces that were measured last, and are not named again."""
    shutil.copytree(ROOT / "examples" / "tp4-fsdp2", "traces")
    assert run("measure", "traces", "-q").exit_code == 0
    return Path("traces") / "rank0.json.gz"


@pytest.mark.parametrize(
    "args",
    [
        ("attribute", "--format", "csv", "-o"),
        ("whatif", "--change", "cpu:median", "--format", "csv", "-o"),
        ("fit-evt", "--format", "csv", "-o"),
        ("trend", "--by", "step", "--format", "csv", "-o"),
        ("compare", "traces", "traces", "--format", "csv", "-o"),
        ("verify", "traces", "--format", "csv", "-o"),
    ],
)
def test_a_trace_that_was_measured_last_is_not_written_over(recalled, run, args):
    before = recalled.read_bytes()
    result = run(*args, recalled)
    assert_in_words(result)
    assert result.exit_code == 2
    assert "would overwrite what is read as" in result.stderr
    assert recalled.read_bytes() == before


@pytest.mark.parametrize("args", [("attribute",), ("fit-evt",), ("trend", "--by", "step")])
def test_a_picture_is_not_drawn_over_a_trace_that_was_measured_last(recalled, run, args):
    link = Path("link.png")
    link.symlink_to(recalled)
    before = recalled.read_bytes()
    result = run(*args, "--plot", link)
    assert result.exit_code == 2
    assert "would overwrite what is read as a trace" in result.stderr
    assert recalled.read_bytes() == before
