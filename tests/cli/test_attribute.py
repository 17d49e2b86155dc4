"""The command `attribute` as users meet it."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from synctax.cli.progress import RoundsOfFiles
from synctax.cli.recall import Sources, recall
from synctax.schema import (
    ATTRIBUTE,
    ATTRIBUTE_COLLECTIVES,
    ATTRIBUTE_RANKS,
    ATTRIBUTE_STORY,
)
from synctax.synth import SynthJob, write
from synctax.workspace import Workspace
from tests.conftest import ROOT, assert_in_words

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"

KEYS = [
    "slope", "r2", "placebo_r2", "residual_us", "collectives", "gpu_only_share",
    "intercept_us", "residual_max_us", "tax_us", "cpu_share_of_tax", "carried_share",
    "propagated_share", "diffuse_share", "overlapped_share", "gaps", "equal_work",
    "not_attributed", "outliers", "verdict",
]  # fmt: skip
"""Keys of the envelope that other programs rely on, beside those of every command."""


@pytest.fixture(scope="module")
def traces(tmp_path_factory) -> Path:
    """A small job of one group of two ranks."""
    folder = tmp_path_factory.mktemp("job") / "traces"
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=2, jitter=0.1), folder)
    return folder


@pytest.fixture
def command(run, tmp_path, monkeypatch):
    """Run a command in a folder of the test, with its workspace there."""
    monkeypatch.chdir(tmp_path)

    def command(name: str, *args: object):
        return run(name, *args, "--workers", 1)

    return command


@pytest.fixture
def attribute(command):
    def attribute(*args: object):
        return command("attribute", *args)

    return attribute


def envelope(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_view_is_golden(attribute, columns, golden):
    columns(EXAMPLE, Path(".synctax"))
    result = attribute(EXAMPLE, "-q")
    assert result.exit_code == 0, result.stderr
    golden("attribute/tp4-fsdp2.txt", result.stdout)


def test_json_is_an_envelope_with_the_promised_keys(attribute, columns):
    columns(EXAMPLE, Path(".synctax"))
    told = envelope(attribute(EXAMPLE, "--format", "json"))
    assert told["schema"] == "synctax.attribute/1"
    assert list(told["rows"][0]) == list(ATTRIBUTE.names)
    assert list(told)[3:-1] == [*KEYS, "groups"]
    assert [list(one) for one in told["groups"]] == [["group", *KEYS]] * 2
    assert {one["group"] for one in told["groups"]} == {"tp", "fsdp"}
    assert sum(one["collectives"] for one in told["groups"]) == told["collectives"]
    assert all(text.startswith(("tp: ", "fsdp: ")) for text in told["verdict"])
    assert set(told["gaps"]) == {"launch_us", "queue_us", "cross_us"}
    assert set(told["equal_work"]) == {"compared", "equal", "equal_geometry"}
    assert told["parameters"]["window"] == "fence"
    assert told["parameters"]["tolerance_us"] == 3.0


@pytest.mark.parametrize(
    ("option", "table"),
    [
        (("--per-collective",), ATTRIBUTE_COLLECTIVES),
        (("--per-rank",), ATTRIBUTE_RANKS),
        (("--per-group",), ATTRIBUTE),
        (("--explain", "3"), ATTRIBUTE_STORY),
    ],
)
def test_every_table_is_shown_and_goes_to_files_whole(attribute, traces, option, table):
    assert len(attribute(traces, *option, "-q").stdout.splitlines()) > 2
    for name, read in (("out.csv", pd.read_csv), ("out.parquet", pd.read_parquet)):
        assert attribute(traces, *option, "-o", name, "-q").exit_code == 0
        assert tuple(read(name).columns) == table.names


def test_what_was_measured_last_is_attributed(command, traces, tmp_path):
    (tmp_path / "here").symlink_to(traces)
    assert command("measure", "here", "-q").exit_code == 0
    result = command("attribute", "--group", "tp")
    assert result.exit_code == 0
    assert "note: using here as measured just now (.synctax)\n" in result.stderr
    assert result.stdout == command("attribute", "here", "--group", "tp").stdout
    assert "using" not in command("attribute", "-q").stderr


def test_ranks_and_steps_of_the_last_measure_hold_unless_others_are_given(command, traces):
    command("measure", traces, "--ranks", "0,1", "--steps", "1:")
    result = command("attribute", "--format", "json")
    assert "(.synctax), --ranks 0,1 --steps 1:" in result.stderr
    assert envelope(result)["parameters"]["ranks"] == [0, 1]
    every = command("attribute", "--steps", "0:2", "--format", "json")
    assert "--steps" not in every.stderr
    assert envelope(every)["parameters"]["steps"] == [0, 2]
    assert envelope(every)["collectives"] > envelope(result)["collectives"]


def test_traces_that_are_named_are_remembered_as_measure_does(command, traces):
    assert command("attribute", traces, "--steps", "0:2", "--ranks", "0-1").exit_code == 0
    last = Workspace(Path(".synctax")).last_measure()
    assert last.targets == (str(traces),)
    assert last.options["steps"] == [0, 2]
    assert last.options["ranks"] == [0, 1]
    assert len(last.files) == 2


def test_what_was_measured_last_stays_so_when_it_is_only_recalled(command, traces):
    assert command("measure", traces, "--ranks", "0,1").exit_code == 0
    before = Path(".synctax/last_measure.json").read_bytes()
    assert command("attribute", "--steps", "1:").exit_code == 0
    assert Path(".synctax/last_measure.json").read_bytes() == before


def test_files_that_changed_since_are_told(command, traces, tmp_path):
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=2), tmp_path / "t")
    assert command("measure", "t").exit_code == 0
    for path in (tmp_path / "t").rglob("rank1*"):
        os.utime(path, ns=(1, 1))
    one = command("attribute").stderr
    assert "note: 1 file has changed since, such as t/" in one
    for path in (tmp_path / "t").rglob("rank0*"):
        os.utime(path, ns=(1, 1))
    assert "note: 2 files have changed since" in command("attribute").stderr
    for path in (tmp_path / "t").rglob("rank1*"):
        path.unlink()
    told = command("attribute", "--group", "tp").stderr
    assert "note: 1 file has changed since, such as t/" in told
    assert "note: 1 file is gone since, such as t/" in told


def test_nothing_measured_and_nothing_named_says_what_to_do(attribute):
    result = attribute()
    assert result.exit_code == 1
    assert "nothing was measured in .synctax yet; name the traces" in result.stderr


def test_no_cache_leaves_nothing_behind(attribute, traces, tmp_path):
    assert attribute(traces, "--no-cache").exit_code == 0
    assert not (tmp_path / ".synctax").exists()


def test_the_number_of_workers_changes_nothing(run, traces):
    one, two = (
        run("attribute", traces, "--no-cache", "--workers", n, "--format", "json")
        for n in (1, 2)
    )
    assert envelope(one) == envelope(two)


def test_windows_matches_and_methods_are_the_callers_choice(attribute, traces):
    for options in (
        ("--window", "lca"),
        ("--match", "path"),
        ("--method", "longest"),
        ("--method", "last-kernel"),
        ("--tolerance-us", "0"),
    ):
        told = envelope(attribute(traces, *options, "--format", "json"))
        name = options[0].strip("-").replace("-", "_")
        assert str(told["parameters"][name]).removesuffix(".0") == options[1]


@pytest.mark.parametrize(
    "options",
    [
        ("--per-rank", "--per-collective"),
        ("--per-group", "--explain", "3"),
        ("--explain", "3", "--method", "longest"),
        ("--explain", "three"),
        ("--explain", "-1"),
        ("--explain", "3@"),
        ("--explain", "3@a"),
        ("--explain", "9" * 30),
        ("--window", "start"),
        ("--tolerance-us", "nan"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(attribute, traces, options):
    result = attribute(traces, *options)
    assert result.exit_code == 2
    assert_in_words(result)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--group", "pp"), "no group pp; there are tp"),
        (("--op", "broadcast"), "no broadcast among the collectives"),
        (("--steps", "7:9"), "no collective in the steps asked for; there are 0, 1"),
        (("--explain", "99"), "no collective has index 99; the last one has"),
        (("--explain", "0"), "#0 was not attributed (head): first collective"),
        (("--explain", "3@0-7"), "no group of ranks 0-7; there are 0,1"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(attribute, traces, options, error):
    result = attribute(traces, *options)
    assert result.exit_code == 1
    assert error in result.stderr
    assert_in_words(result)


def test_one_collective_of_a_group_has_no_window(attribute, tmp_path):
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=1, jitter=0.1), tmp_path / "t")
    folder = tmp_path / "t"
    result = attribute(folder, "--per-collective", "--format", "json")
    told = [row["status"] for row in envelope(result)["rows"]]
    assert told.count("head") == 1
    alone = attribute(folder / "none")
    assert alone.exit_code == 3
    lone = attribute(next(folder.rglob("rank0*")), "--group", "tp")
    assert lone.exit_code == 1
    assert_in_words(lone)


def test_paths_that_are_not_known_leave_a_list_and_no_summary(
    attribute, traces, monkeypatch
):
    from synctax.attribution import attribute as module
    from synctax.attribution.results import Known

    whole = module.attribute

    def unknown(tax, **more):
        found = whole(tax, **more)
        known = found.results.known.copy()
        known[:] = Known.PATH_UNKNOWN
        codes = found.known.copy()
        codes[found.results.slot] = Known.PATH_UNKNOWN
        return replace(found, known=codes, results=replace(found.results, known=known))

    monkeypatch.setattr(module, "attribute", unknown)
    result = attribute(traces)
    assert result.exit_code == 1
    assert "path unknown); --per-collective lists each" in result.stderr
    rows = envelope(attribute(traces, "--per-collective", "--format", "json"))["rows"]
    assert {row["status"] for row in rows} == {"head", "path unknown"}
    assert attribute(traces, "--per-rank").exit_code == 1


def test_small_rows_are_folded_in_a_story_unless_v_is_given(attribute, traces):
    short = attribute(traces, "--explain", "3", "-q").stdout
    long = attribute(traces, "--explain", "3", "-v").stdout
    table = long.split("\n\n")[1]
    assert " events " in short.split("\n\n")[1]
    assert " events " not in table
    assert len(long.splitlines()) > len(short.splitlines())


def test_ranks_of_a_collective_may_be_written_in_any_way(attribute, traces):
    for text in ("3@0,1", "3@0-1", " 3 @ 1, 0 "):
        told = envelope(attribute(traces, "--explain", text, "--format", "json"))
        assert told["parameters"]["explain"] == "3@0,1"
        assert told["collective"] == "tp reduce_scatter #3"
        assert told["schema"] == "synctax.attribute-story/1"


def test_names_of_folders_are_escaped(command, tmp_path):
    folder = tmp_path / "t\x1b[2J"
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=2, layout="flat"), folder)
    command("measure", folder)
    result = command("attribute")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout + result.stderr


# ------------------------------------------------------------ parts of the command


def recorded(space: Path, **changes: object) -> Path:
    """Leave a record of a measurement, changed."""
    Workspace(space).record_measure(["s3://bucket/run", str(space.parent)], [], options={})
    path = space / "last_measure.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | changes))
    return space


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("2020-01-01T00:00:00+00:00", " days ago"),
        ("now", "just now"),
    ],
)
def test_age_and_urls_are_told_as_they_are(tmp_path, when, text):
    changes = {} if when == "now" else {"when": when}
    space = recorded(tmp_path / "space", **changes)
    told = recall(Sources((), None, None, None, None), space)
    assert told.traces[0] == "s3://bucket/run"
    assert text in told.said[0]
    assert "s3://bucket/run" in told.said[0]


def test_a_manifest_alone_is_told_by_its_name(tmp_path):
    space = recorded(tmp_path / "space", targets=[], manifest=str(tmp_path / "ranks.csv"))
    told = recall(Sources((), None, None, None, 7.0), space)
    assert told.recalled
    assert told.manifest == tmp_path / "ranks.csv"
    assert told.end_tolerance_us == 7.0
    assert "ranks.csv as measured" in told.said[0]


def test_what_is_given_needs_no_record(tmp_path):
    given = Sources((), tmp_path / "ranks.csv", None, None, None)
    assert recall(given, tmp_path / "none") == given
    assert not given.recalled


def test_each_round_has_its_progress(capsys):
    with RoundsOfFiles(verbosity=1) as rounds:
        rounds.on_progress("early", 5)
        rounds.on_round("following paths", {"a": 10, "b": 5})
        rounds.on_progress("a", 10)
        rounds.on_round("comparing", {"a": 10})
        rounds.on_progress("a", 10)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("following paths: 1 of 2 files, 10 B of 15 B")
    assert lines[1].startswith("comparing: 1 of 1 file,")
