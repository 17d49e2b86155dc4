"""The command `whatif` as users meet it."""

import json

import pytest
from click.testing import CliRunner

from synctax.attribution.whatif_tables import WHATIF, WHATIF_GROUPS, WHATIF_STEPS
from synctax.cli.measure import measure
from synctax.cli.whatif import whatif
from synctax.errors import SynctaxError
from synctax.report.whatif_view import changes
from synctax.synth import TRUTH_FILE, Delay, SynthJob, write

LATE = SynthJob(tp=2, fsdp=1, layers=1, delays=(Delay(1, 1, 3, 9_000.0),))


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("late")
    write(LATE, folder)
    return folder


@pytest.fixture
def ask(tmp_path):
    def ask(*args, command=whatif):
        named = [*map(str, args), "--workspace", str(tmp_path / "space")]
        return CliRunner().invoke(command, named)

    return ask


def rows(result, *, schema):
    assert result.exit_code == 0, result.output
    envelope = json.loads(result.stdout)
    assert envelope["schema"] == schema
    assert envelope["replay_error_us"] == 0
    return envelope["rows"]


@pytest.mark.parametrize(
    ("options", "table", "count"),
    [
        ([], WHATIF, 3),
        (["--per-group"], WHATIF_GROUPS, 6),
        (["--per-step"], WHATIF_STEPS, 9),
    ],
)
def test_json_has_the_promised_columns(ask, traces, options, table, count):
    asked = ["--change", "gpu:median", "--change", "tax=0", "--format", "json"]
    found = rows(ask(traces, *asked, *options), schema=table.schema)
    assert len(found) == count
    assert list(found[0]) == list(table.names)


def test_the_table_says_what_a_change_is_worth(ask, traces):
    result = ask(traces, "--change", "rank=1:median", "--change", "kernel=gemm*1")
    assert result.exit_code == 0, result.output
    assert "rank=1:median: step time falls by" in result.stdout
    assert "the tax falls by" in result.stdout
    assert "kernel=gemm*1: step time stays at" in result.stdout
    assert "nodes are as recorded" in result.stdout


def test_where_nobody_waits_nothing_is_said_of_the_tax(ask, tmp_path):
    quiet = SynthJob(tp=2, fsdp=1, layers=1, steps=1, jitter_law="none")
    write(quiet, tmp_path / "quiet")
    result = ask(tmp_path / "quiet", "--change", "gaps*0.5")
    assert result.exit_code == 0, result.output
    assert "the tax" not in result.stdout


def test_longer_kernels_make_steps_longer(ask, traces):
    result = ask(traces, "--change", "class=gemm*3")
    assert "class=gemm*3: step time rises by" in result.stdout


def test_without_traces_it_takes_those_that_were_measured_last(ask, traces):
    assert isinstance(ask("--change", "tax=0").exception, SynctaxError)
    ask(traces, "--ranks", "0-1", command=measure)
    result = ask("--change", "tax=0", "--format", "json")
    assert rows(result, schema=WHATIF.schema)
    line = result.stderr.splitlines()[0]
    assert line.startswith(f"note: {traces}: measured last")
    assert json.loads(result.stdout)["parameters"]["ranks"] == [0, 1]


def test_it_says_that_files_changed_since(ask, tmp_path):
    write(LATE, tmp_path / "job")
    ask(tmp_path / "job", command=measure)
    found = (tmp_path / "job").rglob("*.json")
    path = next(one for one in found if one.name != TRUTH_FILE)
    path.write_text(path.read_text() + "\n")
    result = ask("--change", "tax=0", "--no-cache", "--end-tolerance-us", "150")
    assert result.exit_code == 0, result.output
    assert "1 of 2 files changed since" in result.stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--change", "gemm"], "says not what to change to"),
        ([], "Missing option '--change'"),
        (["--change", "tax=0", "--per-group", "--per-step"], "exclude each other"),
    ],
)
def test_what_was_typed_wrong_is_a_matter_of_usage(ask, traces, args, says):
    result = ask(traces, *args)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_replay_that_is_off_is_shown_with_its_error():
    from synctax.report.output import Result

    class Off:
        error_ns = 2_500
        nodes = 7

    *_, last = changes(
        Off(), Result(WHATIF, WHATIF.to_frame({n: [] for n in WHATIF.names}))
    )
    assert "up to 2.5 µs off" in last
