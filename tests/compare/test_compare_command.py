"""`synctax compare` on the command line."""

import json
import shutil

import pytest

from synctax.cli.compare import KERNEL_CLASSES
from synctax.comparison.kernels import COMPUTE
from tests.compare.jobs import make

QUICK = ("--resamples", 200, "--no-fit", "--no-cache", "-q")


def test_the_verdict_comes_before_the_table(pair, run):
    result = run("compare", *pair, *QUICK)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("the mean tax of tp all_gather rose from")
    head = next(at for at, line in enumerate(lines) if line.startswith("group"))
    assert head < 8
    gather = next(line for line in lines[head:] if "all_gather" in line)
    assert "*" in gather
    assert "µs → " not in lines[head]


def test_json_has_the_verdict_rows_and_what_was_asked(pair, run):
    result = run("compare", *pair, *QUICK, "--format", "json", "--seed", 3)
    found = json.loads(result.stdout)
    assert found["schema"] == "synctax.compare/1"
    assert found["parameters"]["seed"] == 3
    assert found["parameters"]["a"] == [str(pair[0])]
    assert (found["runs_a"], found["runs_b"]) == (1, 1)
    assert any(row["changed"] for row in found["rows"])
    assert found["verdict"][0].startswith("the mean tax")


@pytest.mark.parametrize(
    ("table", "shown"),
    [("--per-rank", "mean wait A"), ("--culprits", "rank 1: "), ("--kernels", "gemm")],
)
def test_other_tables(pair, run, table, shown):
    result = run("compare", *pair, *QUICK, table)
    assert shown in result.stdout
    assert result.exit_code == 0


def test_the_fit_is_a_table(pair, run):
    result = run("compare", *pair, "--fit", "--no-cache", "-q", "--resamples", 200)
    assert "tau_us@512" in result.stdout
    assert "instances of blocks of tp, fitted over 2 ranks" in result.stdout


def test_a_fit_that_cannot_be_made_is_said(tmp_path, run):
    folder = make(tmp_path / "one", seed=1, steps=2)
    result = run(
        "compare",
        folder,
        folder,
        "--fit",
        "--no-cache",
        "--resamples",
        200,
        "--op",
        "all_gather",
    )
    assert result.exit_code == 0
    assert "A and B: a fit would" in result.stdout


def test_classes_of_kernels_are_those_that_compute():
    assert KERNEL_CLASSES == COMPUTE


def test_kernels_of_both_sides_are_counted_by_one_unit(tmp_path, pair, run):
    bare = make(tmp_path, seed=1, steps=1)
    result = run("compare", pair[0], bare, *QUICK)
    assert "kernels a " not in result.stdout


def test_a_pattern_of_folders_is_several_runs(tmp_path, pair, run):
    for name, folder in (("run-1", pair[0]), ("run-2", pair[1])):
        shutil.copytree(folder, tmp_path / name)
    more = make(tmp_path / "more", seed=5)
    result = run(
        "compare", tmp_path / "run-*", pair[0], "--also-b", more, *QUICK, "--format", "json"
    )
    found = json.loads(result.stdout)
    assert (found["runs_a"], found["runs_b"]) == (2, 2)


def test_a_side_may_be_a_manifest(tmp_path, pair, run):
    for folder in pair:
        traces = sorted(folder.rglob("*trace.json*"))
        rows = [f"{path},{rank}" for rank, path in enumerate(traces)]
        (tmp_path / f"{folder.name}.csv").write_text("\n".join(["file,rank", *rows]))
    manifests = [tmp_path / f"{folder.name}.csv" for folder in pair]
    result = run("compare", *manifests, *QUICK)
    assert result.exit_code == 0
    assert result.stdout == run("compare", *pair, *QUICK).stdout


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--per-rank", "--fit"), "exclude each other"),
        (("--fit", "--no-fit"), "--fit and --no-fit exclude each other"),
        (("--figure", "clocks"), "--plot"),
        (("--level", 0.2), "--level"),
    ],
)
def test_wrong_usage(pair, run, asked, said):
    result = run("compare", *pair, *asked)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_run_given_twice_is_refused(pair, run):
    result = run("compare", *pair, "--also-a", pair[0])
    assert result.exit_code == 2
    assert "given twice as a run of A" in result.stderr


def test_a_run_without_waits_is_named(tmp_path, pair, run):
    lone = make(tmp_path / "lone", seed=1)
    next(lone.rglob("rank1_*.json*")).unlink()
    result = run("compare", pair[0], lone, *QUICK)
    assert result.exit_code == 1
    assert "lone" in result.stderr


def test_culprits_that_cannot_be_known_leave_the_rest(pair, run):
    result = run(
        "compare",
        *pair,
        "--no-fit",
        "--no-cache",
        "--resamples",
        200,
        "--steps",
        "0:1",
        "--op",
        "all_gather",
        "--group",
        "tp",
    )
    assert result.exit_code == 0


def test_a_picture_is_drawn_of_either_kind(tmp_path, pair, run):
    for name in ("tax", "clocks"):
        path = tmp_path / f"{name}.svg"
        result = run("compare", *pair, *QUICK, "--plot", path, "--figure", name)
        assert result.exit_code == 0
        assert path.stat().st_size > 1000


def test_the_workspace_still_holds_what_was_measured_before(tmp_path, pair, run):
    space = tmp_path / "space"
    run("measure", pair[0], "--workspace", space)
    before = (space / "last.json").read_text() if (space / "last.json").exists() else None
    run("compare", *pair, "--resamples", 200, "--no-fit", "-q", "--workspace", space)
    after = (space / "last.json").read_text() if (space / "last.json").exists() else None
    assert before == after
