"""The command `whatif` as users meet it."""

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest

from synctax.attribution.whatif import explore
from synctax.cli.progress import RoundsOfFiles
from synctax.report import tables, whatif_view
from synctax.report.output import Result
from synctax.schema import WHATIF, WHATIF_OPS, WHATIF_STEPS
from synctax.synth import Delay, SynthJob, write
from synctax.workspace import Workspace
from tests.conftest import ROOT, assert_in_words
from tests.trace import builders

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"
LATE = SynthJob(tp=2, fsdp=1, layers=1, delays=(Delay(1, 1, 3, 9_000.0),))


@pytest.fixture(scope="module")
def traces(tmp_path_factory) -> Path:
    """A small job of which rank 1 is late once."""
    folder = tmp_path_factory.mktemp("late") / "traces"
    write(LATE, folder)
    return folder


@pytest.fixture(scope="module")
def gloo(tmp_path_factory) -> Path:
    """Two ranks without a GPU, whose threads reduce; rank 1 begins later."""
    folder = tmp_path_factory.mktemp("gloo")
    for rank in (0, 1):
        events = []
        for k in range(4):
            at, late = 1_000 * k, 200 * rank
            events += [
                builders.cpu_op("aten::mm", at, 100 + late, tid=61),
                builders.cpu_op("c10d::allreduce_", at + 110 + late, 20, tid=61),
                builders.annotation("gloo:all_reduce", at + 135 + late, 500 - late, tid=99),
            ]
        (folder / f"rank{rank}.json").write_bytes(builders.trace(*events, rank=rank))
    return folder


@pytest.fixture
def command(run, tmp_path, monkeypatch):
    """Run a command in a folder of the test, with its workspace there."""
    monkeypatch.chdir(tmp_path)

    def command(name: str, *args: object):
        return run(name, *args, "--workers", 1)

    return command


@pytest.fixture
def ask(command):
    def ask(path, *changes: str, more=()):
        given = [one for change in changes for one in ("--change", change)]
        return command("whatif", *([path] if path else []), *given, *more)

    return ask


def envelope(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_view_is_golden(ask, columns, golden):
    columns(EXAMPLE, Path(".synctax"))
    result = ask(EXAMPLE, "class=gemm:median", "rank=5:median", "tax=0", more=["-q"])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    golden("whatif/tp4-fsdp2.txt", result.stdout)


def test_beside_chosen_steps_the_whole_window_is_called_so(ask, traces):
    assert "whole window" in ask(traces, "tax=0", more=["--steps", "1"]).stdout
    shown = ask(traces, "tax=0").stdout
    assert "in all" in shown
    assert "whole window" not in shown


def test_thousands_of_a_percentage_are_apart(ask, traces):
    shown = ask(traces, "gpu*1000").stdout
    assert re.search(r"a step would take \d{2},\d{3} % longer", shown)
    assert re.search(r"\+\d{2},\d{3} %", shown)
    assert not re.search(r"\d{4} %", shown)


@pytest.mark.parametrize(
    ("options", "table", "count"),
    [
        ([], WHATIF, 3),
        (["--per-op"], WHATIF_OPS, 6),
        (["--per-step"], WHATIF_STEPS, 9),
    ],
)
def test_every_table_goes_to_people_and_programs(ask, traces, options, table, count):
    changes = ("gpu:median", "tax=0")
    told = envelope(ask(traces, *changes, more=[*options, "--format", "json"]))
    assert told["schema"] == table.schema
    assert told["parameters"]["changes"] == list(changes)
    assert told["replay_error_us"] == 0
    assert len(told["verdict"]) == 3
    assert len(told["rows"]) == count
    assert list(told["rows"][0]) == list(table.names)
    shown = ask(traces, *changes, more=[*options, "-q"]).stdout.splitlines()
    assert shown[:3] == told["verdict"]
    assert shown[-1].startswith("replayed without a change: exact (")
    assert ask(traces, *changes, more=[*options, "-o", "out.csv"]).exit_code == 0
    assert tuple(pd.read_csv("out.csv").columns) == table.names


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize("options", [[], ["--per-op"], ["--per-step"]])
def test_on_narrow_and_wide_terminals_the_outcome_stays(
    ask, traces, monkeypatch, columns, options
):
    monkeypatch.setenv("COLUMNS", columns)
    shown = ask(traces, "class=gemm:median", more=options).stdout.splitlines()
    assert max(map(len, shown)) <= int(columns)
    head = next(line for line in shown if line.startswith("change "))
    assert "by" in head.split()
    assert shown[-1].startswith("replayed without a change: exact")


def test_sentences_say_what_a_change_is_worth(ask, traces):
    changes = ("rank=1:median", "kernel=gemm*1", "class=gemm*3", "gaps*0", "tax=0")
    late, same, longer, gaps, tax, together = ask(traces, *changes).stdout.splitlines()[:6]
    begin = "with the GPU work on rank 1 as on the median rank a step would take "
    assert late.startswith(begin)
    assert "% less, and the tax would be" in late
    assert late.endswith("% lower")
    assert same == (
        "with kernels called 'gemm' taking 1 times as long a step would take as long as it "
        "does, and the tax would be the same"
    )
    assert longer.startswith("with GEMM kernels taking 3 times as long a step would take")
    assert "% longer" in longer
    assert gaps.startswith("with unlogged host time taking no time a step would take")
    assert tax.startswith("if nobody waited in collectives a step would take")
    assert "the tax" not in tax
    assert together.startswith("with all of this together a step would take")
    assert together.endswith("the tax would be gone")


def test_where_nobody_waits_nothing_is_said_of_the_tax(ask, tmp_path):
    quiet = SynthJob(tp=2, fsdp=1, layers=1, steps=1, jitter_law="none")
    write(quiet, tmp_path / "quiet")
    result = ask(tmp_path / "quiet", "gaps*0.5")
    assert result.exit_code == 0, result.stderr
    assert "the tax" not in result.stdout


def test_what_was_measured_last_is_replayed_and_named_traces_are_the_last(
    command, ask, traces, tmp_path
):
    (tmp_path / "here").symlink_to(traces)
    assert "name the traces" in ask(None, "tax=0").stderr
    command("measure", "here", "--ranks", "0-1", "--steps", "1:")
    result = ask(None, "tax=0", more=["--format", "json"])
    said = "note: using here as measured just now (.synctax), --ranks 0,1 --steps 1:\n"
    assert said in result.stderr
    assert envelope(result)["parameters"]["ranks"] == [0, 1]
    assert envelope(result)["rows"][0]["steps"] == 2
    for path in traces.rglob("rank1*"):
        os.utime(path)
    assert "1 file has changed since" in ask(None, "tax=0").stderr
    ask(traces, "tax=0", more=["--steps", "0:1"])
    last = Workspace(Path(".synctax")).last_measure()
    assert last.targets == (str(traces),)
    assert last.options["steps"] == [0, 1]


def test_steps_select_what_is_told_and_change_no_replay(ask, traces):
    more = ["--format", "json", "--per-step"]
    every = envelope(ask(traces, "class=gemm*0.5", more=more))["rows"]
    some = envelope(ask(traces, "class=gemm*0.5", more=[*more, "--steps", "1:3"]))["rows"]
    assert some == every[1:3]
    (whole,) = envelope(ask(traces, "tax=0", more=more[:2]))["rows"]
    told = envelope(ask(traces, "tax=0", more=[*more[:2], "--steps", "2"]))
    assert told["rows"][0]["total_changed_us"] == whole["total_changed_us"]
    assert told["rows"][0]["collectives"] < whole["collectives"]
    assert told["parameters"]["steps"] == [2, 3]


def test_no_cache_leaves_nothing_behind(ask, traces, tmp_path):
    assert ask(traces, "tax=0", more=["--no-cache"]).exit_code == 0
    assert not (tmp_path / ".synctax").exists()


def test_the_number_of_workers_changes_nothing(run, traces):
    asked = ["whatif", traces, "--change", "cpu:median", "--no-cache", "--format", "json"]
    one, two = (envelope(run(*asked, "--workers", n)) for n in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--change", "gemm"], "says not what to change to"),
        (["--change", "tax=1"], "only ask what if there were none"),
        (["--change", "class=gemm*-1"], "the factor must lie from 0 to"),
        ([], "Missing option '--change'"),
        (["--change", "tax=0", "--per-op", "--per-step"], "exclude each other"),
        (["--change", "tax=0", "--steps", "3:1"], "holds no step"),
    ],
)
def test_what_was_typed_wrong_is_a_matter_of_usage(command, traces, args, says):
    result = command("whatif", traces, *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert_in_words(result)


@pytest.mark.parametrize(
    ("change", "more", "error"),
    [
        ("class=gem:median", [], "no kernel of class gem; there are "),
        ("class=host_stall*0", [], "; for the host's work give cpu"),
        ("kernel=no_such*0.5", [], "no GPU work has 'no_such' in its name"),
        ("rank=99:median", [], "no rank 99; there are 0, 1"),
        ("group=pp,tax=0", [], "no group pp; there are tp"),
        ("kernel=nccl:median", [], "durations of collectives are waits"),
        ("tax=0", ["--steps", "70"], "no collective in the steps asked for"),
        ("cpu:median", ["--ranks", "0"], "a median over ranks needs two or more"),
        ("tax=0", ["--ranks", "0"], "no collective of which it is known how long"),
        ("tax=0", ["--ranks", "77"], "rank"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(ask, traces, change, more, error):
    result = ask(traces, change, more=more)
    assert result.exit_code == 1
    assert error in result.stderr
    assert_in_words(result)


def test_one_rank_alone_has_times_and_no_tax(ask, traces):
    result = ask(traces, "class=gemm*0.5", more=["--ranks", "0", "--format", "json"])
    (row,) = envelope(result)["rows"]
    assert row["step_change_us"] < 0
    assert row["collectives"] == 0
    assert row["tax_us_sum"] is row["tax_change_us"] is row["tax_changed_us_sum"] is None
    shown = ask(traces, "class=gemm*0.5", more=["--ranks", "0"])
    assert "the tax" not in shown.stdout
    assert "–" in shown.stdout


def test_ranks_without_a_gpu_are_replayed_as_well(ask, gloo):
    shown = ask(gloo, "cpu:median", "tax=0")
    assert shown.exit_code == 0, shown.stderr
    assert "the whole window would take" in shown.stdout
    assert "replayed without a change: exact" in shown.stdout
    told = envelope(ask(gloo, "rank=1,cpu*0.5", "tax=0", more=["--format", "json"]))
    assert [row["steps"] for row in told["rows"]] == [None] * 3
    assert told["rows"][0]["tax_changed_us_sum"] < told["rows"][0]["tax_us_sum"]
    for change in ("gpu:median", "launches*0", "class=gemm:median", "kernel=gemm*0.5"):
        refused = ask(gloo, change)
        assert refused.exit_code == 1
        assert_in_words(refused)
    assert "the traces hold no such work" in ask(gloo, "launches*0").stderr
    assert "there are communication" in ask(gloo, "class=gemm:median").stderr


def test_memory_that_runs_out_is_told_with_what_to_do(ask, traces, monkeypatch):
    from synctax.attribution import world

    def full(_parts):
        raise MemoryError

    monkeypatch.setattr(world, "join", full)
    result = ask(traces, "tax=0")
    assert result.exit_code == 1
    assert "the graphs of all 2 ranks at once; choose some of them (--ranks)" in (
        result.stderr
    )
    assert_in_words(result)


def test_a_file_that_went_away_after_measuring_is_named(ask, tmp_path, monkeypatch):
    from synctax.cli import reading

    write(LATE, tmp_path / "job")
    whole = reading.measure_again

    def measured(*args, **more):
        tax = whole(*args, **more)
        next((tmp_path / "job").rglob("rank1*")).unlink()
        return tax

    monkeypatch.setattr(reading, "measure_again", measured)
    result = ask(tmp_path / "job", "tax=0", more=["--no-cache"])
    assert result.exit_code == 3
    assert "rank1" in result.stderr
    assert_in_words(result)


def test_what_is_read_and_replayed_is_counted_on_stderr(ask, traces):
    lines = ask(traces, "gpu:median", "tax=0", more=["-v"]).stderr.splitlines()
    shown = [line for line in lines if not line.startswith("note: ")]
    assert shown[0].startswith("read: 2 of 2 files")
    assert shown[1].startswith("building graphs: 2 of 2 files")
    assert shown[2] == "replaying: 4 of 4 replays"
    assert ask(traces, "tax=0", more=["-q"]).stderr == ""


def test_replays_are_counted_after_the_rounds_over_files(capsys):
    with RoundsOfFiles(verbosity=1) as rounds:
        rounds.on_round("building graphs", {"a": 10})
        rounds.on_progress("a", 10)
        rounds.on_replay(0, 3)
        rounds.on_replay(2, 3)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("building graphs: 1 of 1 file,")
    assert lines[1] == "replaying: 2 of 3 replays"


def test_a_replay_that_is_off_is_shown_with_its_error(monkeypatch, traces):
    from dataclasses import replace

    import synctax
    from synctax.attribution.changes import Change
    from synctax.attribution.world import read_world

    monkeypatch.setattr(whatif_view, "can_show_blocks", lambda: False)
    world = read_world(synctax.measure(synctax.load([traces], workers=1)), workers=1)
    found = replace(explore(world, [Change("gpu", 0.5)]), error_ns=2_500)
    shown = whatif_view.parts(found, Result(WHATIF, found.to_frame()))
    text = tables.to_text(shown, to_file=True).splitlines()
    assert text[-1].startswith("replayed without a change: up to 2.5 µs off (")
    assert next(line for line in text if line.startswith("gpu*0.5")).endswith(".")
