"""Shared options: what their texts mean, and where a result then goes."""

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from synctax import workspace
from synctax.cli import options
from synctax.cli.reading_options import workers_option
from synctax.report.output import Output


@click.command()
@options.traces_argument
@options.ranks_option
@options.steps_option
@click.option("--n", type=options.GroupSizes())
@workers_option
@options.manifest_option
@options.workspace_options
@options.output_options
def probe(**values):
    click.echo(repr(values))


def parsed(*args):
    return probe.make_context("probe", ["t", *map(str, args)]).params


def refused(*args):
    result = CliRunner().invoke(probe, ["t", *map(str, args)])
    assert result.exit_code == 2
    return result.stderr


@given(st.frozensets(st.integers(0, 200), min_size=1))
def test_a_list_of_ranks_is_read_back(ranks):
    assert parsed("--ranks", ",".join(map(str, ranks)))["ranks"] == ranks


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_range_of_ranks_holds_both_ends(first, more):
    assert parsed("--ranks", f"{first}-{first + more}")["ranks"] == frozenset(
        range(first, first + more + 1)
    )


def test_ranks_mix_ranges_and_numbers():
    assert parsed("--ranks", "0-2, 12,1")["ranks"] == {0, 1, 2, 12}


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "1,,2", "1-2-3", "²", "0x1"])
def test_what_is_no_list_of_ranks_is_refused(text):
    assert "is no list of ranks like 0-7,12" in refused("--ranks=" + text)


def test_ranks_that_run_backwards_are_refused():
    assert "runs backwards" in refused("--ranks", "7-0")


def test_a_slip_of_the_keyboard_does_not_fill_memory():
    assert "more than 1,000,000 ranks" in refused("--ranks", "0-999999999")


@pytest.mark.parametrize("text", ["9" * 20, "0-" + "9" * 20, "9" * 5000])
def test_ranks_beyond_any_job_are_refused(text):
    assert "is above 2,147,483,647" in refused("--ranks", text)


@pytest.mark.parametrize("text", ["9" * 20, ":" + "9" * 20, "9" * 5000 + ":"])
def test_steps_beyond_any_job_are_refused(text):
    assert "is above 2,147,483,647" in refused("--steps", text)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999"])
def test_a_number_is_finite(text):
    with pytest.raises(click.BadParameter, match="no finite number"):
        options.Finite().convert(text, None, None)


def test_a_number_is_not_below_its_least():
    assert options.Finite(least=0).convert("0", None, None) == 0
    with pytest.raises(click.BadParameter, match=r"-0\.5 is below 0"):
        options.Finite(least=0).convert("-0.5", None, None)


@pytest.mark.parametrize("flags", [("-q", "-v"), ("-v", "-q"), ("-qv",)])
def test_quiet_and_verbose_exclude_each_other(flags):
    assert "-q and -v exclude each other" in refused(*flags)


@pytest.mark.parametrize("name", ["", " "])
def test_a_workspace_has_a_name(name):
    assert "the name of the directory is empty" in refused("--workspace", name)


def test_a_device_needs_no_format():
    assert parsed("-o", "/dev/null")["out"] == Output("table", Path("/dev/null"), 0)


@given(st.frozensets(st.integers(2, 200), min_size=1))
def test_a_list_of_sizes_is_read_back_in_order(sizes):
    assert parsed("--n", ",".join(map(str, sizes)))["n"] == tuple(sorted(sizes))


def test_a_range_of_sizes_doubles_and_holds_both_ends():
    assert parsed("--n", "4:72, 512,8")["n"] == (4, 8, 16, 32, 64, 72, 512)
    assert parsed("--n", "8:8")["n"] == (8,)


@pytest.mark.parametrize("text", ["", "a", "4:", ":4", "4,,8", "4-8", "4:8:16", "1e3"])
def test_what_is_no_list_of_sizes_is_refused(text):
    assert "is no number of ranks; give 512, 8,72 or 8:4096" in refused("--n=" + text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1", "a group of 1 waits for nobody; the least is 2"),
        ("0:8", "'0' begins with 0"),
        ("4,096", "'096' begins with 0: sizes are 4096, not 4,096"),
        ("8:4", "runs backwards"),
        ("9999999999", "is above 2,147,483,647"),
    ],
)
def test_sizes_that_no_group_has_are_refused(text, words):
    assert words in refused("--n", text)


def test_the_end_of_steps_is_not_included():
    assert list(parsed("--steps", "3:6")["steps"]) == [3, 4, 5]


def test_one_step_is_a_range_of_one():
    assert list(parsed("--steps", "7")["steps"]) == [7]


def test_steps_may_be_open_at_either_end():
    assert parsed("--steps", ":4")["steps"] == range(4)
    assert parsed("--steps", "4:")["steps"] == range(4, sys.maxsize)


@pytest.mark.parametrize("text", ["", ":", "a:b", "1:2:3", "-3:", "1.5:"])
def test_what_is_no_range_of_steps_is_refused(text):
    assert "is no range of steps" in refused("--steps=" + text)


def test_a_range_without_steps_is_refused():
    assert "the end is not included" in refused("--steps", "5:5")


def test_values_that_are_parsed_already_pass():
    assert options.RankSet().convert([1, 2], None, None) == {1, 2}
    assert options.StepRange().convert(range(2), None, None) == range(2)
    assert options.GroupSizes().convert((2, 8), None, None) == (2, 8)


def test_traces_are_wanted():
    assert CliRunner().invoke(probe, []).exit_code == 2


@pytest.mark.parametrize("workers", ["0", "-1", "many"])
def test_workers_are_at_least_one(workers):
    refused("--workers", workers)


def test_a_manifest_must_exist(tmp_path):
    assert "does not exist" in refused("--manifest", tmp_path / "no.csv")


def test_defaults_write_a_table_to_stdout():
    assert parsed() == {
        "traces": ("t",),
        "ranks": None,
        "steps": None,
        "n": None,
        "workers": None,
        "manifest": None,
        "workspace": Path(workspace.DIRECTORY),
        "no_cache": False,
        "out": Output("table", None, 0),
    }


@pytest.mark.parametrize(
    ("name", "fmt"),
    [("a.json", "json"), ("a.CSV", "csv"), ("a.parquet", "parquet"), ("a.txt", "table")],
)
def test_the_name_of_the_file_tells_the_format(tmp_path, name, fmt):
    assert parsed("-o", tmp_path / name)["out"] == Output(fmt, tmp_path / name, 0)


def test_format_wins_over_the_name(tmp_path):
    out = parsed("-o", tmp_path / "a.json", "--format", "csv")["out"]
    assert out.fmt == "csv"


def test_order_of_options_does_not_matter(tmp_path):
    path = tmp_path / "a"
    assert parsed("-o", path, "--format", "csv", "-q") == parsed(
        "-q", "--format", "csv", "-o", path
    )


def test_a_name_that_tells_no_format_is_refused(tmp_path):
    assert "'a.xlsx' tells no format" in refused("-o", tmp_path / "a.xlsx")


def test_a_file_in_no_folder_is_refused_before_the_work(tmp_path):
    assert "is no folder" in refused("-o", tmp_path / "no" / "a.csv")


def test_a_dash_is_stdout():
    assert parsed("-o", "-", "--format", "csv")["out"] == Output("csv", None, 0)


def test_parquet_does_not_go_to_a_terminal(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(click.UsageError, match="parquet is binary"):
        parsed("--format", "parquet")


def test_parquet_goes_down_a_pipe():
    assert parsed("--format", "parquet")["out"].fmt == "parquet"


@pytest.mark.parametrize(("flags", "verbosity"), [((), 0), (("-q",), -1), (("-vv",), 2)])
def test_verbosity_reaches_output_and_context(flags, verbosity):
    context = probe.make_context("probe", ["t", *flags])
    assert context.params["out"].verbosity == verbosity
    assert options.verbosity(context) == verbosity
