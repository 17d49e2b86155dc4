"""Philly's log: attempts, times, and what is written wrongly."""

import json

import pytest

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
