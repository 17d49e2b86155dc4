"""Traces of other systems: what becomes of their rows."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.cluster.convert.gavel import read_throughputs
from synctax.cluster.convert.summary import summary
from synctax.errors import BadInputError
from tests.cluster.converting import (
    TRACES,
    columns,
    noted,
    philly_job,
    read,
    reasons,
)

# published samples, with numbers that follow from their rows


def test_phillys_example_runs_for_the_sum_of_its_attempts(shared_cluster_traces):
    path = shared_cluster_traces / "philly_readme_example_cluster_job_log.json"
    found = read(path)
    # 74 s and 2 d 5 h 39 min 42 s, as Pollux' artifact has it too
    assert columns(found) == [("application_1506638472019_14199", 0.0, 8, 193_256.0)]
    assert (found.start_s[0], found.end_s[0]) == (30.0, 193_293.0)
    assert found.origin == "2017-10-07 01:11:39 (America/Los_Angeles)"
    assert read(path, attempts="span").duration_s[0] == 193_263.0


def test_helios_example_has_its_own_run_times(shared_cluster_traces):
    found = read(shared_cluster_traces / "helios_readme_cluster_log.csv")
    assert columns(found) == [
        ("1425511", 0.0, 1, 36_848.0),
        ("1425512", 26.0, 4, 249.0),
        ("1425513", 27.0, 1, 675_233.0),
    ]
    assert noted(found) == {}
    only = read(shared_cluster_traces / "helios_readme_cluster_log.csv", status="pass")
    assert only.job_id == ("1425511",)
    assert reasons(only) == {"not_passed": 2}


def test_serens_run_times_agree_and_those_of_kalos_include_the_wait(shared_cluster_traces):
    seren = read(shared_cluster_traces / "acme_readme_seren.csv")
    assert columns(seren) == [("5778432", 0.0, 8, 117.0), ("5778469", 336.0, 8, 2693.0)]
    assert noted(seren) == {}
    kalos = read(shared_cluster_traces / "acme_readme_kalos.csv")
    assert kalos.duration_s.tolist() == [8.0, 70.0]
    assert noted(kalos) == {"duration_differs": 2}
    assert kalos.gpus.tolist() == [64, 64]


def test_tiresias_counts_seconds_and_muri_milliseconds(shared_cluster_traces):
    tiresias = read(shared_cluster_traces / "tiresias_60_job.csv")
    assert len(tiresias) == 60
    assert (tiresias.submit_s[-1], tiresias.duration_s.sum()) == (1779.0, 10_705.0)
    assert dict(summary(tiresias).gpus) == {1: 30, 2: 10, 4: 10, 8: 10}
    assert summary(tiresias).named == 30
    assert tiresias.workload[3] == "vgg-16"
    assert (tiresias.workload[0], tiresias.model[0]) == ("", "vgg19")
    muri = read(shared_cluster_traces / "muri_cluster_trace_400jobs.csv")
    assert len(muri) == 400
    assert (muri.submit_s[1], muri.duration_s[0]) == (1534.0, 5095.0)
    assert (muri.submit_s[-1], muri.duration_s.sum()) == (2_344_695.0, 22_861_225.0)
    assert int(muri.gpus.sum()) == 3766
    assert summary(muri).named == 39 + 49 + 53  # bert, gpt2, vgg16
    assert len(read(shared_cluster_traces / "muri_header.txt")) == 0


def test_pollux_run_times_are_inferred_for_every_job(shared_cluster_traces):
    path = shared_cluster_traces / "pollux_workload-1.csv"
    found = read(path)
    assert len(found) == 160
    assert found.origin.startswith("107 s")
    assert noted(found) == {"duration_by_application": 160}
    # a small job, 1 min to 1 h of GPU time, on six GPUs
    assert found.duration_s[0] == pytest.approx((60 * 3600) ** 0.5 / 6, abs=1e-3)
    assumed = read(path, assumed_duration_s=600.0)
    assert set(assumed.duration_s) == {600.0}
    assert noted(assumed) == {"duration_assumed": 160}


def test_a_list_of_machines_is_told_from_a_trace(shared_cluster_traces):
    spec = shared_cluster_traces / "tiresias_n32g4.csv"
    with pytest.raises(BadInputError, match="count: 32, gpus: 4"):
        read(spec)
    both = read(shared_cluster_traces / "tiresias_60_job.csv", spec)
    assert (len(both), noted(both)) == (60, {"file_without_jobs": 1})


# made-up traces


def test_pai_adds_up_what_tasks_ask_for():
    paths = [TRACES / f"pai_{one}_table.csv" for one in ("task", "job", "group_tag")]
    found = read(*paths)
    assert columns(found) == [
        ("job_a", 0.0, 8, 680.0),  # the parameter servers ask for no GPU
        ("job_b", 100.0, 1, 790.0),  # two halves
        ("job_c", 200.0, 1, 90.0),  # a quarter
    ]
    assert found.workload == ("bert-base", "", "")
    assert reasons(found) == {
        "no_end": 1,
        "no_task": 1,
        "task_without_job": 1,
        "joined": 8,
        "no_gpu": 1,
    }
    assert read(*paths, fractional="drop").job_id == ("job_a",)
    assert read(*paths, status="pass").job_id == ("job_a", "job_b")


def test_pai_tables_are_known_by_their_rows_too(tmp_path):
    for name in ("job", "task"):
        text = (TRACES / f"pai_{name}_table.csv").read_text()
        (tmp_path / f"{name}.csv").write_text(text)
    assert read(tmp_path / "job.csv", tmp_path / "task.csv").job_id[0] == "job_a"


def test_pai_headers_in_and_beside_a_table_count(tmp_path):
    head, rows = "status,job_name,inst_id,user,start_time,end_time", ["Failed,j,i,u,5,9"]
    task = (TRACES / "pai_task_table.header").read_text()
    (tmp_path / "pai_job_table.header").write_text(head)
    (tmp_path / "pai_job_table.csv").write_text("\n".join([head, *rows]))
    (tmp_path / "pai_task_table.csv").write_text(task + "j,w,1,Failed,6,9,1,1,100,T4\n")
    both = tmp_path / "pai_job_table.csv", tmp_path / "pai_task_table.csv"
    assert columns(read(*both)) == [("j", 0.0, 1, 3.0)]
    (tmp_path / "pai_job_table.header").write_text("a,b\n")
    with pytest.raises(BadInputError, match="'a,b': it has no column job_name"):
        read(*both)


@pytest.mark.parametrize("given", ["job", "task"])
def test_pai_needs_both_tables(given):
    with pytest.raises(BadInputError, match="two tables"):
        read(TRACES / f"pai_{given}_table.csv")


def test_a_file_that_is_no_table_of_pai():
    with pytest.raises(BadInputError, match="no table of PAI"):
        read(TRACES / "sacct.txt", source="pai")


def test_openb_and_spot_round_parts_of_gpus_up_or_leave_them_out():
    found = read(TRACES / "openb_pod_list.csv")
    assert columns(found) == [
        ("pod-0000", 0.0, 8, 3600.0),
        ("pod-0001", 100.0, 1, 355.0),
        ("pod-0002", 200.0, 1, 298.0),
    ]
    assert noted(found) == {"gpus_rounded_up": 1}  # a third has no start
    dropped = read(TRACES / "openb_pod_list.csv", fractional="drop")
    assert reasons(dropped) == {"no_start": 1, "no_gpu": 1, "fraction": 1}
    spot = read(TRACES / "spot_job_info.csv")
    assert spot.gpus.tolist() == [1, 32, 1]
    assert noted(spot) == {"gpus_rounded_up": 1}
    assert reasons(read(TRACES / "spot_job_info.csv", fractional="drop")) == {"fraction": 1}


def test_gavel_needs_rates_and_reads_every_layout(tmp_path):
    rates = {("A", 2): 4.0}
    rows = (
        "A\tcmd\t-n\t100\t5\t2",
        "A\tcmd\t-n\t1\t100\t6.5\t2",
        "A\tcmd\t-n\t1\t100\t2\t1.0\t-1\t7",
        "A\tcmd\tdir\t-n\t1\t100\t2\t1.0\t-1\t8",
        "A\tcmd\t-n\t1\t100\t9\t3",
        "A\tcmd",
    )
    (tmp_path / "x.trace").write_text("\n".join(rows))
    found = read(tmp_path / "x.trace", rates=rates)
    assert columns(found) == [(f"{n}", at, 2, 25.0) for n, at in enumerate((0, 1.5, 2, 3))]
    assert reasons(found) == {"no_throughput": 1, "columns": 1}
    assert len(read(tmp_path / "x.trace", assumed_duration_s=60.0)) == 5
    with pytest.raises(BadInputError, match="no tab"):
        read(TRACES / "sacct.txt", source="gavel")


@pytest.mark.parametrize(
    ("each", "workers", "gpus", "note"),
    [
        ("0.5", "4", 2, "gpus_added_up"),
        ("0.1", "10", 1, "gpus_added_up"),
        ("0.3", "4", 2, "gpus_rounded_up"),
        ("2", "4", 8, None),
    ],
)
def test_parts_that_add_up_are_not_rounded(tmp_path, each, workers, gpus, note):
    path = tmp_path / "x.csv"
    head = "job_name,gpu_request,worker_num,submit_time,duration"
    path.write_text(f"{head}\na,{each},{workers},0,60\n")
    found = read(path)
    assert (found.gpus.tolist(), list(noted(found))) == ([gpus], [note] if note else [])


@pytest.mark.parametrize("milli", ["0", "1500"])
def test_a_part_of_a_gpu_is_more_than_none_and_no_more_than_one(tmp_path, milli):
    head, row, *_ = (TRACES / "openb_pod_list.csv").read_text().splitlines()
    for gpus in ("1", "8"):
        (tmp_path / "x.csv").write_text(
            f"{head}\n{row.replace(',8,1000,', f',{gpus},{milli},')}"
        )
        assert reasons(read(tmp_path / "x.csv")) == {"number": 1}


def test_run_times_are_to_the_microsecond(tmp_path):
    text = (TRACES / "acme_seren.csv").read_text()
    text = text.replace("00:01:00+08:00", "00:01:00.123456+08:00")
    (tmp_path / "x.csv").write_text(text)
    assert read(tmp_path / "x.csv").duration_s[0] == 7199.876544
    attempts = (
        ("2017-10-07 01:10:00.1", "2017-10-07 01:20:00.3"),
        ("2017-10-07 02:10:00.1",) * 2,
    )
    (tmp_path / "log").write_text(json.dumps([philly_job(*attempts)]))
    assert read(tmp_path / "log").duration_s[0] == 600.2
    assert read(tmp_path / "log", attempts="span").duration_s[0] == 3600.0


def test_nothing_is_noted_of_rows_that_become_no_job(tmp_path):
    lines = (TRACES / "pollux_workload.csv").read_text().splitlines()
    path = tmp_path / "x.csv"
    path.write_text("\n".join([*lines, lines[1], lines[1].replace(",60,", ",-60,")]))
    assert noted(read(path)) == {"duration_by_application": 3}
    assert noted(read(path, assumed_duration_s=1e12)) == {}


def rates(path, *keys: str, rate: str = "2.5", gpu: str = "v100"):
    """Write rates of jobs as Gavel does."""
    told = ", ".join(f'"{key}": {{"null": {rate}}}' for key in keys)
    path.write_text(f'{{"{gpu}": {{{told}}}}}')
    return path


@pytest.mark.parametrize("rate", ["9" * 400, "0", "-1", "1e300", "null", '"2"'])
def test_rates_that_cannot_be_are_none(tmp_path, rate):
    keys = "('A', 1)", f"('B', {'9' * 5000})", "C"
    assert read_throughputs(rates(tmp_path / "r.json", *keys, rate=rate), "v100") == {}


def test_rates_are_by_model_and_gpus(tmp_path):
    path = rates(tmp_path / "r.json", "('A', 1)", "('A', 22)")
    assert read_throughputs(path, "v100") == {("A", 1): 2.5, ("A", 22): 2.5}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("9" * 5000, "a number is too large"),
        ("[1, 2]", "a list, expected an object"),
        ('{"v100": 5}', "a number, expected an object"),
        ('{"v100": ', "it ends in the middle"),
        ('{"v100": {"a": {"null": ' + "[" * 9000, "lists in lists, too many"),
        ('{"v100": {}}' + " " * 300, "more than 300 bytes"),
    ],
)
def test_what_is_no_file_of_rates_is_said(tmp_path, monkeypatch, text, says):
    if "more" in says:
        monkeypatch.setattr("synctax.cluster.convert.gavel.MOST_BYTES", 300)
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(BadInputError, match=says):
        read_throughputs(tmp_path / "r.json", "v100")


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        ("compute_s", "1"),
        ("compute_s,network_s,network_bytes", "1,1,-1"),
        ("compute_s,network_s,network_bytes", "0,0,0"),
        ("compute_s,network_s,network_bytes", "1,0,1e9"),
        ("counting", "foo"),
        ("barriers", "-1"),
        ("servers", "0:99;x"),
        ("servers", "0:4"),
    ],
)
def test_what_simulate_would_refuse_is_no_job(tmp_path, columns, values):
    path = tmp_path / "jobs.csv"
    path.write_text(f"job_id,submit_s,gpus,duration_s,{columns}\na,0,8,1,{values}\n")
    assert reasons(read(path)) == {"profile": 1}


def test_a_workload_that_the_pool_has_not_is_noted(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(
        "job_id,submit_s,gpus,duration_s,workload,compute_s,network_s,network_bytes\n"
        "a,0,8,1,VGG16,,,\nb,0,8,1,mine,,,\nc,0,8,1,mine,1,1,1e9\n"
        "d,0,8,1,bert,,,\n"
    )
    found = read(path)
    assert (found.workload, noted(found)) == (
        ("VGG16", "mine", "mine", "bert"),
        {"workload_unknown": 1},
    )


def test_a_csv_of_jobs_keeps_what_only_it_has(tmp_path):
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_s,gpus,duration_s,workload,compute_s,network_s,network_bytes,servers"
        '\nb,20,8,60,,0.5,0.1,1e9,"0:4;1:4"\n'
        "a,10,8,60,bert-base,,,,\n"
    )
    found = read(tmp_path / "jobs.csv")
    assert columns(found) == [("a", 0.0, 8, 60.0), ("b", 10.0, 8, 60.0)]
    assert found.workload == ("bert-base", "")
    assert found.more["compute_s"] == {1: 0.5}
    assert found.more["servers"] == {1: "0:4;1:4"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,10,8,60", "job_id_repeated"),
        (",10,8,60", "no_job_id"),
        ("b,,8,60", "no_submit"),
        ("b,10,,60", "no_gpus"),
        ("b,10,8,", "no_duration"),
        ("b,10,-1,60", "number"),
        ("b,10,1e12,60", "number"),
        ("b,1_0,8,60", "number"),
        ("b,inf,8,60", "number"),
        ("b,10,8,-1", "negative_duration"),
        ("b,-10,8,60", "out_of_range"),
        ("b,10,8,1e10", "out_of_range"),
        ("b,10,8", "columns"),
        ('b,10,8,"60', "quotes"),
        ("b,10,0,60", "no_gpu"),
    ],
)
def test_a_row_that_is_no_job_has_its_reason_and_its_line(tmp_path, row, reason):
    path = tmp_path / "jobs.csv"
    path.write_text(f"job_id,submit_s,gpus,duration_s\na,5,1,1\n\n{row}\nz,9,1,1\n")
    found = read(path)
    assert found.job_id == ("a", "z")
    assert reasons(found) == {reason: 1}
    assert f"{path} line 4" in found.left[0].note.where


def test_a_job_that_starts_before_it_is_submitted_is_kept_with_a_note(tmp_path):
    path = tmp_path / "jobs.csv"
    rows = "a,5,1,1,4,5\nb,9,1,1,7,8\nc,9,1,1,7,10\n"
    path.write_text("job_id,submit_s,gpus,duration_s,start_s,end_s\n" + rows)
    found = read(path)
    assert noted(found) == {"start_before_submit": 3, "measured_before_submit": 2}
    # simulate takes no time below 0, and nothing that ends before it was submitted
    assert_array_equal(found.start_s, [np.nan, np.nan, 2.0])
    assert_array_equal(found.end_s, [np.nan, np.nan, 5.0])
