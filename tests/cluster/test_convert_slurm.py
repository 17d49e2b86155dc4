"""What `sacct` prints, as jobs."""

import csv
import json

import pytest

from synctax.errors import BadInputError
from tests.cluster.converting import (
    TRACES,
    columns,
    noted,
    philly_job,
    read,
    reasons,
)


def test_slurm_counts_gpus_of_all_types_once_and_no_steps():
    found = read(TRACES / "sacct.txt")
    assert columns(found) == [
        ("501", 0.0, 8, 7200.0),
        ("502_1", 300.0, 2, 90_000.0),  # typed only, more than a day
        ("504", 900.0, 4, 60.0),
    ]
    assert reasons(found) == {"no_start": 2, "no_end": 1, "step": 2, "no_gpu": 1}
    assert read(TRACES / "sacct.txt", status="pass").job_id == ("501",)


def sacct(tmp_path, *rows: str, head="JobIDRaw|Submit|Start|End|ReqTRES|ElapsedRaw"):
    (tmp_path / "sacct.txt").write_text("\n".join([head, *rows]) + "\n")
    return tmp_path / "sacct.txt"


def test_slurm_times_since_1970_and_other_columns(tmp_path):
    path = sacct(
        tmp_path,
        "7|1767225600|1767225610|1767229210|gres/gpu=1|3500",
        "8|1767225600|1767225610|1767229210||3600",
        "9|1767225600|1767225610|1767229210|gres/gpu=1|",
    )
    found = read(path)
    assert columns(found) == [("7", 0.0, 1, 3500.0), ("9", 0.0, 1, 3600.0)]
    assert reasons(found) == {"no_allocation": 1}
    assert noted(found) == {"elapsed_differs": 1, "gpus_requested": 2}


@pytest.mark.parametrize("elapsed", ["soon", "1-2", "00:00:-1"])
def test_slurm_run_times_that_are_none_are_said(tmp_path, elapsed):
    head = "JobID|Submit|Start|End|AllocTRES|Elapsed"
    row = f"7|1767225600|1767225610|1767229210|gres/gpu=1|{elapsed}"
    found = read(sacct(tmp_path, row, head=head))
    assert reasons(found) == {"time": 1}


def test_slurm_in_a_zone_knows_its_changes_of_the_clock(tmp_path):
    row = "1|2026-10-25T00:00:00|2026-10-25T01:00:00|2026-10-25T05:00:00|gres/gpu=1|"
    assert read(sacct(tmp_path, row)).duration_s.tolist() == [4 * 3600.0]
    found = read(sacct(tmp_path, row), timezone="Europe/Paris")
    assert found.duration_s.tolist() == [5 * 3600.0]
    assert found.origin == "2026-10-25 00:00:00 (Europe/Paris)"


SACCT = "JobID|Submit|Start|End|AllocTRES|State"


def sacct_row(job_id: str, *times: str, tres="gres/gpu=4", state="COMPLETED") -> str:
    """A row of `SACCT`; times of 2 February 2026."""
    return "|".join((job_id, *(f"2026-02-02T{one}:00" for one in times), tres, state))


@pytest.mark.parametrize("separator", [*"^;~\t:", "@@", "|"])
def test_slurm_columns_may_be_separated_by_anything(tmp_path, separator):
    text = (TRACES / "sacct.txt").read_text()
    if separator == ":":
        text = f"{SACCT}\n1|1770000000|1770000060|1770003660|gres/gpu=2|FAILED"
    (tmp_path / "sacct.txt").write_text(text)
    plain = columns(read(tmp_path / "sacct.txt"))
    (tmp_path / "sacct.txt").write_text(text.replace("|", separator))
    assert columns(read(tmp_path / "sacct.txt")) == plain != []


def test_slurm_columns_are_not_separated_by_what_cells_hold(tmp_path):
    text = (TRACES / "sacct.txt").read_text().replace("|", ",")
    (tmp_path / "sacct.txt").write_text(text)
    with pytest.raises(BadInputError, match=r"prints all .*, without --delimiter"):
        read(tmp_path / "sacct.txt")
    rows = csv.reader((TRACES / "sacct.txt").read_text().splitlines(), delimiter="|")
    with (tmp_path / "sacct.txt").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert columns(read(tmp_path / "sacct.txt")) == columns(read(TRACES / "sacct.txt"))


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_job_that_was_requeued_the_last_run_counts(tmp_path, order):
    runs = [
        sacct_row("7", "09:00", "09:10", "09:30", state="NODE_FAIL"),
        sacct_row("7", "09:30", "09:40", "10:00", state="PREEMPTED"),
        sacct_row("7", "10:00", "11:00", "12:00", tres="gres/gpu=8"),
    ]
    other = sacct_row("8", "08:00", "08:00", "08:30")
    found = read(sacct(tmp_path, other, *runs[::order], head=SACCT))
    assert columns(found) == [("8", 0.0, 4, 1800.0), ("7", 7200.0, 8, 3600.0)]
    assert (found.start_s[1], found.end_s[1]) == (10_800.0, 14_400.0)
    assert reasons(found) == {"requeued": 2}
    same = read(sacct(tmp_path, runs[0], runs[0], head=SACCT))
    assert reasons(same) == {"job_id_repeated": 1}


@pytest.mark.parametrize(
    "tres",
    [
        "gres/gpu=-1",
        "gres/gpu=2K",
        "gres/gpu:a100:2",
        "cpu=8,gres:gpu:2",
        "gpu:4",
        "gres/gpu",
    ],
)
def test_gpus_that_slurm_does_not_count_so_are_said(tmp_path, tres):
    found = read(
        sacct(tmp_path, sacct_row("7", "09:00", "09:10", "09:30", tres=tres), head=SACCT)
    )
    assert reasons(found) == {"number": 1}
    assert tres.split(",")[-1] in found.left[0].note.where


def test_resources_that_are_no_gpus_are_none(tmp_path):
    row = sacct_row("7", "09:00", "09:10", "09:30", tres="cpu=8,gres/gpumem=40G,gres/nic=1")
    assert reasons(read(sacct(tmp_path, row, head=SACCT))) == {"no_gpu": 1}


@pytest.mark.parametrize(
    ("time", "timezone", "origin"),
    [
        ("2026-02-02T09:00:00+0100", None, "2026-02-02 08:00:00 (UTC)"),
        ("2026-02-02T09:00:00Z", None, "2026-02-02 09:00:00 (UTC)"),
        ("1770000000", None, "2026-02-02 02:40:00 (UTC)"),
        ("1770000000", "Asia/Tokyo", "2026-02-02 11:40:00 (Asia/Tokyo)"),
        ("2026-02-02T09:00:00", None, "2026-02-02 09:00:00 (as the trace writes it)"),
        ("2026-02-02T09:00:00", "none", "2026-02-02 09:00:00 (as the trace writes it)"),
        ("2026-02-02T09:00:00", "UTC", "2026-02-02 09:00:00 (UTC)"),
    ],
)
def test_what_time_0_is_says_whose_clock_that_is(tmp_path, time, timezone, origin):
    row = f"7|{time}|{time}|{time}|gres/gpu=1|COMPLETED"
    found = read(sacct(tmp_path, row, head=SACCT), timezone=timezone)
    assert (found.origin, noted(found)) == (origin, {})


def test_times_with_and_without_zones_are_noted(tmp_path):
    zoned = "8|1770000000|1770000000|1770000060|gres/gpu=1|COMPLETED"
    path = sacct(tmp_path, sacct_row("7", "09:00", "09:10", "09:30"), zoned, head=SACCT)
    assert noted(read(path)) == {"zones_mixed": 1}
    assert noted(read(path, timezone="Europe/Paris")) == {}


def test_only_what_is_known_to_have_ended_well_passed(tmp_path):
    times = ("09:00", "09:10", "09:30")
    states = "COMPLETED", "", "FAILED"
    rows = [sacct_row(f"of {one}", *times, state=one) for one in states]
    path = sacct(tmp_path, *rows, head=SACCT)
    assert reasons(read(path, status="pass")) == {"not_passed": 2}
    assert len(read(path)) == 3
    jobs = [
        philly_job(
            ("2017-10-07 01:10:00", "2017-10-07 01:20:00"), status=one, jobid=f"{one}"
        )
        for one in ("Pass", None)
    ]
    (tmp_path / "log").write_text(json.dumps(jobs))
    assert read(tmp_path / "log", status="pass").job_id == ("Pass",)


def test_where_a_trace_tells_no_status_that_is_noted(tmp_path):
    stateless = sacct(
        tmp_path, "7|1770000000|1770000000|1770000060|gres/gpu=1", head=SACCT[:-6]
    )
    for path in (stateless, TRACES / "tiresias_jobs.csv"):
        found = read(path, status="pass")
        assert (noted(found)["status_unknown"], reasons(found)) == (len(found), {})
        assert "status_unknown" not in noted(read(path))
