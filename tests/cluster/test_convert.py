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
    philly_jobs,
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


def test_phillys_quirks():
    found = read(TRACES / "philly_cluster_job_log.json")
    assert reasons(found) == {"no_attempt": 1, "no_end": 1, "no_start": 1}
    assert [one[2:] for one in columns(found)] == [
        (4, 5400.0),
        (8, 480.0 + 10_800.0),
        (1, 1800.0),
        (16, 7 * 3600.0),  # over the night that the clock was set back
        (2, 3600.0),
        (1, 2400.0),  # from 01:30 to the second 01:10
    ]
    assert noted(found) == {"attempts_incomplete": 1, "hour_twice": 2}


def test_wall_clock_times_differ_where_the_clock_was_set_back():
    found = read(TRACES / "philly_cluster_job_log.json", timezone="none")
    assert reasons(found)["negative_duration"] == 1
    assert 6 * 3600.0 in found.duration_s


def test_an_attempt_that_ended_before_it_started_is_not_hidden_by_others(tmp_path):
    attempts = [
        ("2017-10-07 01:10:00", "2017-10-07 01:00:00"),
        ("2017-10-07 01:10:00", "2017-10-07 02:10:00"),
    ]
    (tmp_path / "log").write_text(json.dumps([philly_job(*attempts)]))
    assert reasons(read(tmp_path / "log")) == {"negative_duration": 1}


@pytest.mark.parametrize(
    ("attempts", "sum_s", "span_s", "inferred"),
    [
        # 16565 of the real log: no attempt is whole, so that their span is all there is
        ([("01:10", "None"), ("None", "02:10")], 3600, 3600, True),
        ([("01:10", ""), ("01:30", "02:00")], 1800, 3000, True),
        ([("01:10", "01:20"), ("01:30", "02:00")], 2400, 3000, False),
        ([(None, "01:20"), ("01:30", "02:00")], 1800, 1800, True),
    ],
)
def test_run_times_of_several_attempts(tmp_path, attempts, sum_s, span_s, inferred):
    def when(text):
        return f"2017-10-07 {text}:00" if text and ":" in text else text

    job = philly_job(*[(when(begin), when(end)) for begin, end in attempts])
    (tmp_path / "log").write_text(json.dumps([job]))
    found = read(tmp_path / "log")
    assert found.duration_s.tolist() == [sum_s]
    assert ("attempts_incomplete" in noted(found)) == inferred
    assert read(tmp_path / "log", attempts="span").duration_s.tolist() == [span_s]


def test_gpus_are_those_of_the_first_attempt(tmp_path):
    job = philly_job(
        ("2017-10-07 01:10:00", "2017-10-07 01:20:00"),
        ("2017-10-07 01:30:00", "2017-10-07 01:40:00"),
    )
    job["attempts"][1]["detail"] = [{"ip": "m2", "gpus": ["gpu0"]}]
    (tmp_path / "log").write_text(json.dumps([job]))
    found = read(tmp_path / "log")
    assert (found.gpus.tolist(), noted(found)) == ([2], {"attempts_differ": 1})


def test_philly_jobs_with_other_keys_first_or_broken_are_each_counted(tmp_path):
    good = json.dumps(philly_job(("2017-10-07 01:10:00", "2017-10-07 01:20:00")))
    odd = good.replace("application_1", "b").replace('{"status"', '{"x": 1, "status"', 1)
    wrong = good.replace('"2017-10-07 01:10:00"', "17", 1)
    broken = good.replace("application_1", 'c"', 1)
    (tmp_path / "log").write_text(f"[{good},\n{odd},\n{wrong},\n{broken},\n{good[:-40]}")
    found = read(tmp_path / "log")
    assert found.job_id == ("application_1", "b")
    assert (found.read, reasons(found)) == (5, {"malformed": 3})
    assert noted(found) == {"list_not_closed": 1}
    assert "line 3" in found.left[0].note.where


def test_jobs_of_a_log_may_be_lines(tmp_path):
    jobs = philly_jobs()
    (tmp_path / "log").write_text("\n".join(map(json.dumps, jobs)))
    found, listed = read(tmp_path / "log"), read(TRACES / "philly_cluster_job_log.json")
    assert columns(found) == columns(listed)
    assert noted(found) == noted(listed)
    (tmp_path / "log").write_text(json.dumps(jobs[0]))
    assert (len(read(tmp_path / "log")), noted(read(tmp_path / "log"))) == (1, {})


@pytest.mark.parametrize("detail", [None, [], [{"ip": "m1"}], [{"ip": "m1", "gpus": None}]])
def test_an_attempt_that_does_not_tell_its_gpus_is_said(tmp_path, detail):
    times = "2017-10-07 01:10:00", "2017-10-07 01:20:00"
    untold, second = philly_job(times), philly_job(times, times, jobid="b")
    untold["attempts"][0]["detail"] = second["attempts"][1]["detail"] = detail
    (tmp_path / "log").write_text(json.dumps([untold, second]))
    found = read(tmp_path / "log")
    assert (found.job_id, reasons(found), noted(found)) == (("b",), {"no_gpus": 1}, {})
    second["attempts"][0]["detail"] = [{"ip": "m1", "gpus": []}]
    (tmp_path / "log").write_text(json.dumps([second]))
    assert reasons(read(tmp_path / "log")) == {"no_gpu": 1}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            '["gpu0", "gpu1"]',
            "5",
            "attempts[0].detail[0].gpus is a number, expected",
        ),
        ('"Pass"', "7", "status is a number, expected a text or nothing"),
        ('"Pass"', "x", 'no JSON from "x'),
        ('"0a1b2c"', "[" * 9000 + "]" * 9000, "lists in lists, too many"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said_in_words(tmp_path, old, new, says):
    good = json.dumps(philly_job(("2017-10-07 01:10:00", "2017-10-07 01:20:00")))
    (tmp_path / "log").write_text(f"[{good.replace(old, new, 1)}]")
    found = read(tmp_path / "log")
    assert reasons(found) == {"malformed": 1}
    assert says in found.left[0].note.where


def test_a_log_without_a_job_or_of_another_kind(tmp_path):
    (tmp_path / "log").write_text("[]\n")
    assert read(tmp_path / "log", source="philly").read == 0
    with pytest.raises(BadInputError, match="list in JSON"):
        read(TRACES / "sacct.txt", source="philly")


def test_a_job_of_philly_that_never_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("synctax.cluster.convert.philly.MOST_BYTES", 100)
    with pytest.raises(BadInputError, match="more than 100 bytes"):
        read(TRACES / "philly_cluster_job_log.json")


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
    with pytest.raises(BadInputError, match="has no columns job_name"):
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
    assert noted(found) == {"gpus_rounded_up": 1}
    dropped = read(TRACES / "openb_pod_list.csv", fractional="drop")
    assert reasons(dropped) == {"no_start": 1, "no_gpu": 1, "fraction": 1}
    spot = read(TRACES / "spot_job_info.csv")
    assert spot.gpus.tolist() == [1, 32, 1]
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
    )
    found = read(path)
    assert (found.workload, noted(found)) == (
        ("VGG16", "mine", "mine"),
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
    rows = "a,5,1,1,4,5\nb,9,1,1,7,8\n"
    path.write_text("job_id,submit_s,gpus,duration_s,start_s,end_s\n" + rows)
    found = read(path)
    assert noted(found) == {"start_before_submit": 2, "measured_before_zero": 1}
    # a time before the first submission would be below 0, which no CSV of jobs may have
    assert_array_equal(found.start_s, [np.nan, 2.0])
    assert_array_equal(found.end_s, [np.nan, 3.0])
