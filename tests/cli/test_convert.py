"""The command `convert` as users meet it."""

import csv
import io
import json

import pandas as pd
import pytest
from click.testing import CliRunner

from synctax.cli import main
from synctax.cluster.convert.formats import FORMATS
from synctax.cluster.convert.found import FORMAT_NAMES
from synctax.cluster.inputs.named import read_cluster
from synctax.cluster.inputs.read_jobs import read_jobs
from synctax.schema.convert import CONVERT
from tests.conftest import ROOT, assert_in_words

TRACES = ROOT / "examples" / "cluster" / "traces"
PAI = (TRACES / "pai_job_table.csv", TRACES / "pai_task_table.csv")


@pytest.fixture
def convert(run, tmp_path, monkeypatch):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def convert(*args: object, **options: object):
        return run("convert", *args, **options)

    return convert


def refused(result, code: int) -> str:
    assert_in_words(result)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    return result.stderr


def envelope(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_file_of_jobs_has_the_rows_and_stderr_what_became_of_the_others(
    convert, tmp_path
):
    told = convert(TRACES / "sacct.txt", "-o", "jobs.csv")
    assert (told.exit_code, told.stdout) == (0, "")
    assert (tmp_path / "jobs.csv").read_text() == (
        "job_id,submit_s,gpus,duration_s,start_s,end_s\n"
        "501,0.0,8,7200.0,4.0,7204.0\n"
        "502_1,300.0,2,90000.0,1800.0,91800.0\n"
        "504,900.0,4,60.0,960.0,1020.0\n"
    )
    assert "output of sacct -P (slurm): 9 rows read, 3 kept, 3 rejected, 3 dropped" in (
        told.stderr
    )
    assert "rejected: 2 × jobs without a start: they may never have run" in told.stderr
    assert "sacct.txt line 6" in told.stderr
    assert "2026-02-02 09:00:00" in told.stderr
    quiet = convert(TRACES / "sacct.txt", "-o", "jobs.csv", "-q")
    assert quiet.stderr == ""


def test_what_is_written_is_what_simulate_reads(convert, tmp_path):
    convert(TRACES / "tiresias_jobs.csv", "-o", "jobs.csv")
    jobs = read_jobs(tmp_path / "jobs.csv", read_cluster("mosim-2x8")).jobs
    assert jobs.job_id == ("0", "1", "2")
    assert jobs.duration_ns.tolist() == [600 * 10**9, 900 * 10**9, 300 * 10**9]
    assert jobs.workload[:2] == ("resnet-50", "inception-v3")
    again = convert("jobs.csv", "--format", "csv")
    assert again.stdout == (tmp_path / "jobs.csv").read_text()


def test_json_accounts_for_every_row(convert):
    told = envelope(convert(*PAI, "--format", "json"))
    assert told["schema"] == CONVERT.schema
    assert tuple(told["rows"][0]) == CONVERT.names
    left = {one["reason"]: one["count"] for one in told["excluded"]}
    assert left["joined"] == 6
    assert told["rows_kept"] == len(told["rows"]) == 3
    assert told["rows_rejected"] + told["rows_dropped"] == sum(left.values())
    assert told["rows_read"] == told["rows_kept"] + sum(left.values()) == 13
    assert told["parameters"]["from"] == "pai"
    assert [one["reason"] for one in told["notes"]] == ["gpus_added_up", "gpus_rounded_up"]
    assert told["origin"] == "1000 s on the clock of the trace"


def test_without_a_format_people_read_the_counts(convert):
    told = convert(TRACES / "helios_cluster_log.csv")
    assert told.exit_code == 0
    lines = told.stdout.splitlines()
    assert lines[0].startswith("Helios cluster_log.csv (helios): 5 rows read, 3 kept")
    assert any("rejected" in line and "line 5" in line for line in lines)
    assert "GPUs: 1 (33 %), 8 (33 %), 16 (33 %)" in told.stdout
    assert "measured: 3 starts, median wait 5 s" in told.stdout
    assert told.stderr == ""


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("", "no job is kept, as there are no rows"),
        ("a,1,0,5\n", "no job is kept of 1 row; 1 are jobs that ask for no GPU [no_gpu]"),
        ("a,1,4,\nb,1,4,\nc,1,0,5\n", "[no_duration]; --assume-duration-s sets the run"),
    ],
)
def test_where_no_job_is_kept_nothing_is_written(convert, tmp_path, rows, says):
    (tmp_path / "x.csv").write_text("job_id,submit,gpus,duration\n" + rows)
    assert says in refused(convert("x.csv", "-o", "jobs.csv"), 1)
    assert not (tmp_path / "jobs.csv").exists()
    shown = convert("x.csv")
    assert (shown.exit_code, says in shown.stderr) == (1, True)
    assert "0 kept" in shown.stdout
    assert says in refused(convert("x.csv", "--format", "json", "-q"), 1)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (["--status", "pass"], "--status all keeps them"),
        (["--fractional", "drop"], "--fractional round-up keeps them"),
    ],
)
def test_what_would_keep_jobs_is_said(convert, tmp_path, options, advice):
    head, *rows = (TRACES / "openb_pod_list.csv").read_text().splitlines()
    (tmp_path / "x.csv").write_text("\n".join([head, rows[1]]))
    assert advice in refused(convert("x.csv", "-o", "jobs.csv", *options), 1)


@pytest.mark.parametrize(
    ("file", "option", "value", "only"),
    [
        ("tiresias_jobs.csv", "--attempts", "sum", "philly"),
        ("tiresias_jobs.csv", "--timezone", "UTC", "philly, helios, acme, slurm"),
        ("sacct.txt", "--throughputs", TRACES / "gavel_throughputs.json", "gavel"),
        ("sacct.txt", "--assume-duration-s", "60", "spot, muri, chronus, tiresias, pollux"),
    ],
)
def test_options_of_no_use_are_refused(convert, file, option, value, only):
    said = refused(convert(TRACES / file, option, value, "-o", "jobs.csv"), 2)
    assert f"{option} is of no use with" in said
    assert f"only with {only}" in said


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_narrow_tables_say_where_rows_are(run, width):
    log = TRACES / "philly_cluster_job_log.json"
    told = run("convert", log, env={"COLUMNS": width})
    assert all(f"line {n}" in told.stdout for n in (94, 199, 227))
    several = run("convert", *PAI, env={"COLUMNS": f"{int(width) + 20}"})
    assert "pai_job_table.csv line 4" in several.stdout


def test_jobs_come_from_stdin():
    data = (TRACES / "sacct.txt").read_bytes()
    args = ["convert", "-", "--format", "json"]
    told = envelope(CliRunner().invoke(main, args, input=data))
    assert told["rows_kept"] == 3
    assert told["files"] == ["stdin"]


def test_no_trace_is_written_over(convert, tmp_path):
    before = (TRACES / "jobs.csv").read_bytes()
    (tmp_path / "jobs.csv").write_bytes(before)
    (tmp_path / "link.csv").symlink_to("jobs.csv")
    assert "overwrite" in refused(convert("link.csv", "-o", "jobs.csv"), 2)
    assert (tmp_path / "jobs.csv").read_bytes() == before


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "UTC+8", "", "Europe"])
def test_no_such_time_zone_is_wrong_usage(convert, zone):
    assert "no time zone" in refused(convert(TRACES / "sacct.txt", "--timezone", zone), 2)


def test_a_time_zone_that_is_nearly_one_is_named(convert):
    for zone, meant in (
        ("utc", "UTC"),
        ("None", "none"),
        ("europe/pariss", "Europe/Paris"),
    ):
        said = refused(convert(TRACES / "sacct.txt", "--timezone", zone), 2)
        assert f"did you mean {meant};" in said


def test_many_widths_and_models_are_summed_up(convert, tmp_path):
    rows = "".join(f"{n},{n * 40000},{n + 1},60,vgg16\n" for n in range(8))
    (tmp_path / "x.csv").write_text("job_id,submit,gpus,duration,model\n" + rows)
    told = convert("x.csv").stdout
    assert "and 2 other numbers" in told
    assert "submitted over 3.24 d" in told
    assert "workloads: 8 of 8 jobs, 1 model in the trace" in told


def test_parquet_and_csv_have_the_same_jobs(convert, tmp_path):
    convert(*PAI, "-o", "jobs.parquet", "--fractional", "drop")
    rows = list(csv.DictReader(io.StringIO(convert(*PAI, "--format", "csv").stdout)))
    frame = pd.read_parquet(tmp_path / "jobs.parquet")
    assert frame["job_id"].tolist() == ["job_a"] == [rows[0]["job_id"]]
    assert tuple(frame) == CONVERT.names


def test_options_choose_jobs_and_times(convert):
    log = TRACES / "philly_cluster_job_log.json"
    passed = envelope(convert(log, "--status", "pass", "--format", "json"))
    assert passed["rows_kept"] == 5
    span = envelope(convert(log, "--attempts", "span", "--format", "json"))
    assert span["rows"][1]["duration_s"] == 11_580.0
    wall = envelope(convert(log, "--timezone", "none", "--format", "json"))
    assert wall["rows_kept"] == 5


def test_gavel_says_what_it_needs(convert):
    said = refused(convert(TRACES / "gavel.trace", "-o", "jobs.csv"), 1)
    assert "--throughputs simulation_throughputs.json tells the rates" in said
    assert "--throughputs does not tell" not in said


def test_gavel_takes_its_rates_from_a_file(convert, tmp_path):
    rates = ("--throughputs", TRACES / "gavel_throughputs.json")
    told = envelope(convert(TRACES / "gavel.trace", *rates, "--format", "json"))
    assert [row["duration_s"] for row in told["rows"]] == [1500.0, 300.0]
    assert "no throughputs of a100; it has v100" in refused(
        convert(TRACES / "gavel.trace", *rates, "--gpu-type", "a100"), 3
    )
    assert "give both" in refused(convert(TRACES / "gavel.trace", "--gpu-type", "a100"), 2)
    (tmp_path / "x.json").write_text("[]")
    assert "simulation_throughputs.json" in refused(
        convert(TRACES / "gavel.trace", "--throughputs", "x.json"), 3
    )
    assert "cannot be read" in refused(
        convert(TRACES / "gavel.trace", "--throughputs", "no.json"), 3
    )
    assumed = convert(TRACES / "gavel.trace", "--assume-duration-s", 60, "-o", "j.json")
    assert json.loads((tmp_path / "j.json").read_text())["rows_kept"] == 3
    assert "run times that the trace does not tell" in assumed.stderr


def test_what_is_no_trace_names_the_formats(convert, tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    said = refused(convert("x.csv"), 3)
    assert all(name in said for name in FORMAT_NAMES)
    assert "no.csv" in refused(convert("no.csv"), 3)
    assert "pbs" in refused(convert("x.csv", "--from", "pbs"), 2)


def test_formats_that_may_be_named_are_those_that_are_read():
    assert tuple(FORMATS) == FORMAT_NAMES
