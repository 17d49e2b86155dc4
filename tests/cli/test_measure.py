"""The command `measure` as users meet it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from synctax.notes import Note
from synctax.schema import MEASURE, MEASURE_COLLECTIVES, MEASURE_RANKS
from synctax.synth import SynthJob, write
from tests.conftest import ROOT, assert_in_words
from tests.trace.builders import annotation, kernel, trace

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"


@pytest.fixture
def measure(run, columns, tmp_path):
    """Run `measure` with a workspace of the test, for which the example was read before."""
    space = columns(EXAMPLE, tmp_path / "space")

    def measure(*args: object):
        return run("measure", *args, "--workspace", space)

    return measure


def rows(result) -> list[dict]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["rows"]


def test_json_is_an_envelope_with_the_promised_columns(measure):
    result = measure(EXAMPLE, "--format", "json")
    envelope = json.loads(result.stdout)
    assert envelope["schema"] == "synctax.measure/1"
    assert list(envelope["rows"][0]) == list(MEASURE.names)
    assert envelope["parameters"]["include_head"] is False
    assert {"reason", "count"} <= set(envelope["excluded"][0])
    assert 0 < envelope["gpu_hours_waited_exposed"] <= envelope["gpu_hours_waited"]


def test_table_is_golden(measure, golden):
    result = measure("examples/tp4-fsdp2" if Path.cwd() == ROOT else EXAMPLE)
    assert result.exit_code == 0
    golden("measure/tp4-fsdp2.txt", result.stdout)


@pytest.mark.parametrize(
    ("option", "table"),
    [("--per-collective", MEASURE_COLLECTIVES), ("--per-rank", MEASURE_RANKS)],
)
def test_other_tables_go_to_csv_and_parquet_whole(measure, tmp_path, option, table):
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        path = tmp_path / f"out{suffix}"
        assert measure(EXAMPLE, option, "-o", path).exit_code == 0
        assert tuple(read(path).columns) == table.names


def test_the_two_detailed_tables_exclude_each_other(measure):
    assert measure(EXAMPLE, "--per-rank", "--per-collective").exit_code == 2


def test_a_gate_that_is_passed_fails_with_4_and_still_prints_the_table(measure):
    result = measure(EXAMPLE, "--fail-above-us", "5")
    assert result.exit_code == 4
    assert "fsdp reduce_scatter" in result.stderr
    assert "all_reduce" in result.stdout
    assert measure(EXAMPLE, "--fail-above-us", "1e9").exit_code == 0


def test_a_gate_with_nothing_to_judge_does_not_pass(measure):
    result = measure(EXAMPLE / "rank0.json.gz", "--per-collective", "--fail-above-us", "1")
    assert result.exit_code == 1
    assert "nothing to hold against --fail-above-us" in result.stderr


def test_a_second_run_reads_no_json(measure, tmp_path):
    folder = tmp_path / "traces"
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=2), folder)
    first = measure(folder, "--per-collective", "--format", "csv", "-q")
    assert first.exit_code == 0
    for path in folder.rglob("rank*.json"):
        # Same size and time, but nothing in it: whoever reads it finds no trace.
        stat = path.stat()
        path.write_bytes(b" " * stat.st_size)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    again = measure(folder, "--per-collective", "--format", "csv", "-q")
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    afresh = measure(folder, "--no-cache", "-q")
    assert afresh.exit_code == 3


def test_no_cache_leaves_nothing_behind(run, tmp_path):
    space = tmp_path / "space"
    result = run("measure", EXAMPLE, "--no-cache", "--workspace", space)
    assert result.exit_code == 0
    assert not space.exists()


def test_what_was_measured_is_remembered(measure, tmp_path):
    assert measure(EXAMPLE, "--group", "tp").exit_code == 0
    from synctax.workspace import Workspace

    last = Workspace(tmp_path / "space").last_measure()
    assert last.targets == (str(EXAMPLE),)
    assert last.options["group"] == "tp"
    assert len(last.files) == 8


def test_the_number_of_workers_changes_nothing(measure):
    one, two = (
        measure(EXAMPLE, "--no-cache", "--workers", n, "--format", "json") for n in (1, 2)
    )
    assert rows(one) == rows(two)


def test_ranks_and_steps_are_selected(measure):
    all_rows = rows(measure(EXAMPLE, "--per-collective", "--format", "json"))
    some = rows(
        measure(
            EXAMPLE,
            "--per-collective",
            "--format",
            "json",
            "--steps",
            "1:2",
            "--group",
            "tp",
        )
    )
    assert some == [r for r in all_rows if r["step"] == 1 and r["group"] == "tp"]
    few = measure(EXAMPLE, "--ranks", "0-3", "--format", "json")
    assert {r["group"] for r in rows(few)} == {"tp"}
    assert {r["n_groups"] for r in rows(few)} == {1}


def test_an_absent_group_is_answered_with_those_there_are(measure):
    result = measure(EXAMPLE, "--group", "pp")
    assert result.exit_code == 1
    assert "no group pp; there are tp, fsdp" in result.stderr


def test_an_empty_folder_is_bad_input(measure, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    result = measure(empty)
    assert result.exit_code == 3
    assert str(empty) in result.stderr


def test_a_folder_of_junk_names_what_was_found(measure, tmp_path):
    junk = tmp_path / "junk"
    junk.mkdir()
    (junk / "rank0.json").write_text('{"schema": "1.1.1", "nodes": []}')
    (junk / "notes.json").write_text("[1, 2")
    result = measure(junk)
    assert result.exit_code == 3
    assert "rank0.json" in result.stderr
    assert_in_words(result)


def test_one_rank_alone_has_nothing_to_compare(measure):
    result = measure(EXAMPLE / "rank0.json.gz")
    assert result.exit_code == 1
    assert "only one rank of the group was read" in result.stderr


def test_names_of_files_are_escaped_for_people_and_true_in_json(run, measure, tmp_path):
    folder = tmp_path / "t\x1b[2J\nnote: x"
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=2, layout="flat"), folder)
    inspected = run("inspect", folder)
    for read in (inspected, measure(folder)):
        assert read.exit_code == 0
        assert "\x1b" not in read.stdout + read.stderr
        assert "\nnote: x" not in read.stdout + read.stderr
    assert r"t\x1b[2J\nnote: x" in inspected.stdout
    found = json.loads(run("inspect", folder, "--format", "json").stdout)
    assert str(folder / "rank0.json") in {row["file"] for row in found["rows"]}


@pytest.mark.parametrize("option", ["--fail-above-us", "--end-tolerance-us"])
@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
def test_a_limit_is_a_number(measure, option, number):
    assert measure(EXAMPLE, option, number).exit_code == 2


def test_a_folder_of_the_user_is_no_workspace(run, tmp_path):
    (tmp_path / "last_measure.json").write_text("mine")
    result = run("measure", EXAMPLE, "--workspace", tmp_path)
    assert result.exit_code == 1
    assert "holds what synctax did not make; give --workspace DIR" in result.stderr
    assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]


def test_two_ranks_without_kernels_are_told_what_to_record(measure, tmp_path):
    for r in (0, 1):
        step = annotation(name="ProfilerStep#1", ts=0, dur=10)
        (tmp_path / f"rank{r}.json").write_bytes(
            trace([step], distributedInfo={"rank": r, "world_size": 2})
        )
    result = measure(tmp_path / "rank0.json", tmp_path / "rank1.json")
    assert result.exit_code == 1
    assert "no communication kernel on any of 2 ranks" in result.stderr


def test_a_rank_that_is_cut_off_is_measured_as_far_as_it_goes(measure, tmp_path):
    write(SynthJob(tp=2, fsdp=1, layers=2, steps=3), tmp_path / "t")
    cut = next((tmp_path / "t").rglob("rank1*"))
    data = cut.read_bytes()
    cut.write_bytes(data[: int(len(data) * 0.9)])
    result = measure(tmp_path / "t", "--per-collective", "--format", "json")
    found = rows(result)
    status = [row["status"] for row in found]
    assert {"ok", "partial"} <= set(status)
    reasons = {note["reason"] for note in json.loads(result.stdout)["excluded"]}
    assert any("trunc" in reason or "cut" in reason for reason in reasons)


def test_kernels_without_names_or_ranks_do_not_crash(measure, tmp_path):
    for r in (0, 1):
        kernels = [
            kernel(name="ncclDevKernel_Generic_4", ts=10 + 100 * i, dur=5) for i in range(3)
        ]
        (tmp_path / f"rank{r}.json").write_bytes(trace(kernels))
    result = measure(tmp_path / "rank0.json", tmp_path / "rank1.json")
    assert result.exit_code in (0, 1)
    assert_in_words(result)


def gone(group: int) -> bool:
    """Whether no process of a group is left, or soon is."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def wait_for_workers(parent: int) -> None:
    """Wait until a process has children; where that cannot be seen, a second."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    for _ in range(200):
        if not children.exists():
            time.sleep(1)
            return
        if children.read_text().strip():
            return
        time.sleep(0.02)


def test_ctrl_c_leaves_no_file_and_no_process(tmp_path):
    write(SynthJob(tp=2, fsdp=1, size_mb=12), tmp_path / "t")
    out = tmp_path / "out.json"
    started = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "synctax",
            "measure",
            str(tmp_path / "t"),
            "-o",
            str(out),
            "--no-cache",
            "--workers",
            "2",
        ],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,
    )
    wait_for_workers(started.pid)
    os.killpg(started.pid, signal.SIGINT)
    _, stderr = started.communicate(timeout=30)
    assert started.returncode in (130, 0)  # 0: it was faster than the signal
    assert b"Traceback" not in stderr
    assert b"unexpected" not in stderr
    if started.returncode == 130:
        assert not out.exists()
    assert gone(started.pid)


def test_a_workspace_that_fills_up_on_the_way_is_said(measure, monkeypatch):
    full = Note("workspace_unwritable", 1, "the disk is full")
    monkeypatch.setattr(
        "synctax.workspace.Workspace.record_measure", lambda *_args, **_options: full
    )
    result = measure(EXAMPLE)
    assert result.exit_code == 0
    assert "the disk is full" in result.stderr
