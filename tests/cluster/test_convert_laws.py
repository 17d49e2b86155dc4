"""What holds for every trace, however its rows are spoilt."""

import itertools
import json
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synctax.cluster.convert.found import Tally
from synctax.cluster.convert.philly import TIMEZONE
from synctax.cluster.convert.reasons import LeftOutError
from synctax.cluster.convert.values import Clock
from synctax.cluster.inputs.faults import Faults
from synctax.cluster.inputs.job_rows import job_rows
from synctax.cluster.inputs.job_table import job_table
from synctax.cluster.inputs.named import read_cluster
from synctax.errors import BadInputError
from synctax.planning.possible import LARGEST_COUNT
from tests.cluster.converting import OF_LINES, philly_job, philly_jobs, read
from tests.laws import examples

local = datetime.fromisoformat

# files are written anew by every example
ANEW = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60)
)

cells = st.one_of(
    st.sampled_from(
        ["", "None", "nan", "-1", "1e400", "0", "0.5", '"', "x", "2017-13-01", "9999-12-31"]
    ),
    st.text(st.characters(exclude_characters="\n"), max_size=6),
)


@st.composite
def spoilt(draw, lines: list[str], delimiters: str = ",|\t") -> str:
    """A row of a trace with cells that are something else, or another text."""
    line = draw(st.sampled_from(lines))
    delimiter = next((one for one in delimiters[::-1] if one in line), ",")
    row = line.split(delimiter)
    for _ in range(draw(st.integers(1, 3))):
        row[draw(st.integers(0, len(row) - 1))] = draw(cells)
    keep = draw(st.integers(0, len(row)))
    return draw(st.sampled_from([delimiter.join(row), delimiter.join(row[:keep])]))


@pytest.mark.parametrize("one", OF_LINES, ids=lambda one: f"{one.files[0]}-{one.spoilt}")
@given(data=st.data())
@ANEW
def test_every_row_is_kept_or_counted_and_bad_ones_harm_no_others(one, tmp_path, data):
    lines = one.lines()
    others = one.write(tmp_path, lines)
    before = read(*others, source=one.name)
    added = data.draw(st.lists(spoilt(lines[one.head :]), min_size=1, max_size=4))
    found = read(*one.write(tmp_path, lines + added), source=one.name)
    rows = [line for line in added if line and not line.isspace()]
    assert found.read == before.read + len(rows)
    if one.spoilt == 0:  # a task more is more of a job that was kept
        assert set(before.job_id) <= set(found.job_id)


huge = ("9" * 310, "9" * 5000, "1e308", "1.8e308", "1e-320", "-1e308", "inf", "1e19", "0")


@pytest.mark.parametrize("one", OF_LINES, ids=lambda one: f"{one.files[0]}-{one.spoilt}")
def test_numbers_of_any_size_stop_nothing(one, tmp_path):
    lines = one.lines()
    delimiter = next(mark for mark in "|\t," if mark in lines[one.head])
    row = lines[one.head].split(delimiter)
    added = []
    # products of two columns have no bound, where each has
    for at, by in itertools.combinations_with_replacement(range(len(row)), 2):
        for text in huge:
            cells = list(row)
            cells[at] = cells[by] = f"gres/gpu={text}" if "gres" in cells[at] else text
            added.append(delimiter.join(cells))
    before = read(*one.write(tmp_path, lines), source=one.name)
    found = read(*one.write(tmp_path, lines + added), source=one.name)
    assert found.read == before.read + len(added)
    if one.spoilt == 0:
        assert set(before.job_id) <= set(found.job_id)
    assert np.isfinite(found.duration_s).all()
    assert (found.gpus > 0).all()


def rarely(right: list[str], *wrong: str) -> st.SearchStrategy[str]:
    """One of some texts, and now and then one of others."""
    return st.sampled_from([*right * (1 + 15 * len(wrong) // len(right)), *wrong])


texts = st.fixed_dictionaries(
    {
        "submit_s": rarely(["0", "5", "17.25", "9.2e9"], "", "9.3e9", "-1", "x", "1e400"),
        "gpus": rarely(["8"], "1", "0", "-8", "", "2147483648"),
        "duration_s": rarely(["0", "5", "17.25", "9.2e9"], "", "9.3e9", "-1", "x"),
        "start_s": rarely(["", "", "4"], "9.3e9", "-1", "x"),
        "end_s": rarely(["", "", "6"], "0", "9.3e9", "-1", "x"),
        "compute_s": rarely(["0.5"], "", "0", "-1"),
        "network_s": rarely(["0.5"], "", "0", "1e10"),
        "network_bytes": rarely(["1e9", "0"], "", "-1", "1e25"),
        "local_network_s": rarely(["", "0.1", "0"], "-0.1"),
        "counting": rarely(["", "sent", "Sent"], "foo"),
        "barriers": rarely(["", "2", "0"], "-1", "1e10"),
        "servers": rarely(["", "0:8", "0:4;1:4;"], "0:4;0:4", "0:8;1:0", "0;1"),
    }
)


def taken(columns: dict[str, list]) -> list[bool]:
    """Which rows of a CSV of jobs `simulate` takes, on a cluster that is large enough."""
    cluster = replace(
        read_cluster("mosim-2x8"), gpus=np.array([LARGEST_COUNT, LARGEST_COUNT])
    )
    right = []
    for at in range(len(columns["job_id"])):
        row = {name: [values[at]] for name, values in columns.items()}
        table = job_table(row, name="jobs")
        faults = Faults(table)
        job_rows(table, cluster, faults)
        try:
            faults.check()
        except BadInputError:
            right.append(False)
        else:
            right.append(True)
    return right


@given(st.lists(texts, min_size=1, max_size=6))
@ANEW
def test_rows_of_jobs_are_kept_that_simulate_takes_and_no_others(tmp_path, rows):
    names = list(rows[0])
    lines = [f"{n}," + ",".join(row[name] for name in names) for n, row in enumerate(rows)]
    (tmp_path / "x.csv").write_text("\n".join([f"job_id,{','.join(names)}", *lines]))
    found = read(tmp_path / "x.csv", source="csv")
    given_rows = {name: [row[name] for row in rows] for name in names}
    told = taken({"job_id": [str(n) for n in range(len(rows))], **given_rows})
    assert set(found.job_id) == {str(n) for n, right in enumerate(told) if right}
    made = {
        "job_id": found.job_id,
        "submit_s": found.submit_s.tolist(),
        "gpus": found.gpus.tolist(),
        "duration_s": found.duration_s.tolist(),
        "start_s": found.start_s.tolist(),
        "end_s": found.end_s.tolist(),
    }
    for name, values in found.more.items():
        made[name] = [values.get(at) for at in range(len(found))]
    assert all(taken(made))
    # what is compared with measured times ended after it was submitted
    assert not (found.end_s < found.submit_s).any()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | cells,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["jobid", "attempts", "submitted_time", "status", "user"]),
            values,
            min_size=1,
        ),
        max_size=5,
    ),
    st.sampled_from([None, 1]),
)
@ANEW
def test_every_entry_of_a_log_is_kept_or_counted(tmp_path, others, indent):
    jobs = philly_jobs()
    mixed = [{**jobs[0], **one} for one in others] + others + jobs[1:]
    (tmp_path / "log").write_text(json.dumps(mixed, indent=indent), encoding="utf-8")
    found = read(tmp_path / "log", source="philly")
    assert found.read == len(mixed)
    assert {job["jobid"] for job in jobs[1:3]} <= set(found.job_id)


gaps = st.lists(st.integers(0, 10**6), min_size=2, max_size=8).filter(
    lambda gaps: len(gaps) % 2 == 0
)


@given(gaps, st.integers(0, 10**7))
@ANEW
def test_attempts_together_last_no_longer_than_from_first_to_last(tmp_path, gaps, at):
    when, times = local("2017-08-07") + timedelta(seconds=at), []
    for gap in gaps:
        when += timedelta(seconds=gap)
        times.append(str(when))
    job = philly_job(
        *zip(times[::2], times[1::2], strict=True), submitted_time="2017-08-01 00:00:00"
    )
    (tmp_path / "log").write_text(json.dumps([job]))
    # on a clock that is never set back, so that times are in order
    told = {
        one: read(tmp_path / "log", attempts=one, timezone="UTC").duration_s[0]
        for one in ("sum", "span")
    }
    assert told["sum"] == sum(gaps[1::2]) <= told["span"] == sum(gaps[1:])


@given(
    st.lists(
        st.datetimes(local("2017-03-11"), local("2017-11-06")).map(
            lambda when: when.replace(microsecond=0)
        )
        | st.integers(0, 7200).map(
            lambda s: local("2017-11-05 00:30") + timedelta(seconds=s)
        )
        | st.integers(0, 7200).map(
            lambda s: local("2017-03-12 01:30") + timedelta(seconds=s)
        ),
        max_size=8,
    ),
    st.sampled_from([" ", "T"]),
)
def test_times_are_those_of_their_zone_in_whatever_order_they_come(times, separator):
    clock, zone = Clock(TIMEZONE, Tally()), ZoneInfo(TIMEZONE)
    for when in times:
        told = clock.seconds(when.isoformat(separator), "start")
        both = {when.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1)}
        # the first of two; of one that does not exist, what clocks showed before
        assert told == min(both)
        assert clock.text(told)[:10] == str(when)[:10]


def test_a_time_that_a_zone_has_twice_is_the_first_in_order():
    tally = Tally()
    clock = Clock(TIMEZONE, tally)
    first = clock.seconds("2017-11-05 01:30:00", "start")
    assert clock.seconds("2017-11-05 01:10:00", "end", first) == first + 2400
    assert clock.seconds("2017-11-05 01:40:00", "end", first) == first + 600
    before = clock.seconds("2017-03-12 01:59:00", "start")
    assert abs(clock.seconds("2017-03-12 02:30:00", "start") - before) <= 3600
    tally.keep()
    assert {note.reason: note.count for note in tally.notes} == {
        "hour_twice": 3,
        "hour_skipped": 1,
    }


@pytest.mark.parametrize("text", ["yesterday", "2017-02-30 00:00:00", "12:00:00", "5"])
def test_what_is_no_time_is_said(text):
    with pytest.raises(LeftOutError):
        Clock(None, Tally()).seconds(text, "start")


def test_times_that_name_their_zone_are_of_it():
    clock = Clock("America/Los_Angeles", Tally())
    assert clock.seconds("1970-01-01 08:00:00+08:00", "start") == 0.0
    assert clock.seconds("1970-01-01T00:00:01Z", "start") == 1.0
    assert clock.seconds("1970W02", "start") == 4 * 86_400 + 8 * 3600
    assert Clock("none", Tally()).seconds("1970-01-01 00:00:00", "start") == 0.0


@pytest.mark.parametrize("text", ["0001-01-01 00:00:00", "9999-12-31T23:59:59"])
@pytest.mark.parametrize("zone", [None, "America/Los_Angeles"])
def test_times_of_other_centuries_are_said(text, zone):
    with pytest.raises(LeftOutError) as left:
        Clock(zone, Tally()).seconds(text, "start")
    assert left.value.reason.name == "out_of_range"
