"""Clocks of ranks, told by ends of collectives, against what was put in."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import synctax
from synctax.collectives import job_clocks as job_clocks_module
from synctax.collectives.job_clocks import RankClock, job_clocks, lags_ns
from synctax.synth import SynthJob, write
from tests.compare.windows import windows

SINCE_1970_NS = 1_774_224_000_000_000_000

clocks = st.builds(
    RankClock,
    offset_ns=st.integers(-(10**15), 10**15),
    drift=st.floats(-2e-4, 2e-4),
    origin_ns=st.integers(SINCE_1970_NS, SINCE_1970_NS + 10**10),
    residual_ns=st.just(0.0),
    collectives=st.just(3),
    linked=st.just("rank 0 by tp"),
)


@given(one=clocks, other=clocks, after_ns=st.integers(-(10**10), 10**10))
def test_a_chain_of_clocks_is_one_clock(
    one: RankClock, other: RankClock, after_ns: int
) -> None:
    at = one.origin_ns + after_ns
    middle = at - one.lag_ns(at)
    by_steps = middle - other.lag_ns(middle)
    joined = one.over(other)
    # roundings, and what a float drift does over the distance of the two origins
    assert abs(at - joined.lag_ns(at) - by_steps) <= 3 + 1e-15 * 1e15


@given(several=st.lists(clocks, min_size=1, max_size=4), data=st.data())
def test_lags_of_times_are_those_of_each(
    several: list[RankClock], data: st.DataObject
) -> None:
    after = st.tuples(st.integers(0, len(several) - 1), st.integers(-(10**10), 10**10))
    times = [
        (whose, several[whose].origin_ns + after_ns)
        for whose, after_ns in data.draw(st.lists(after))
    ]
    position, at = np.array(times, np.int64).reshape(-1, 2).T
    assert lags_ns(several, position, at).tolist() == [
        several[whose].lag_ns(time_ns) for whose, time_ns in times
    ]


def lines_run(windows_: int) -> int:
    """How many lines of the module run for so many windows of two ranks."""
    delays = [np.array([[5.0, 0.0]] * 3)] * windows_
    matches = synctax.measure(windows(delays)).matches
    count = 0

    def on_line(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != job_clocks_module.__file__:
            return None
        count += event == "line"
        return on_line

    before = sys.gettrace()
    sys.settrace(on_line)
    try:
        found = job_clocks(matches)
    finally:
        sys.settrace(before)
    assert len(found) == 2 * windows_
    assert len({clock.root for clock in found}) == 1
    return count


def test_many_windows_take_as_many_lines_each_as_few() -> None:
    few, many = lines_run(20), lines_run(80)
    assert many < 4.2 * few


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("skewed")
    job = SynthJob(
        tp=2, fsdp=2, layers=1, steps=9, hosts=2, seed=5,
        clock_offset_us=1234.567, clock_drift_ppm=40.0,
        rank_clock_offset_us={1: -75.25},
    )  # fmt: skip
    write(job, folder)
    return folder


def test_known_offsets_of_hosts_and_ranks_come_back(skewed: Path) -> None:
    matches = synctax.measure(synctax.load([str(skewed)], workers=1)).matches
    found = job_clocks(matches)
    assert [one.host for one in matches.ranks] == ["node-0", "node-0", "node-1", "node-1"]
    middle = [(one.window_start_ns + one.window_end_ns) // 2 for one in matches.ranks]
    lag_us = np.array([c.lag_ns(at) / 1000 for c, at in zip(found, middle, strict=True)])
    # against rank 0, whichever rank is the reference; drifts add some tenths of a µs
    assert lag_us - lag_us[0] == pytest.approx([0, -75.25, 1234.567, 1234.567], abs=1.5)
    drift_ppm = np.array([c.drift * 1e6 for c in found])
    assert drift_ppm - drift_ppm[0] == pytest.approx([0, 0, 40, 40], abs=2)
    assert [c.linked for c in found].count("reference") == 1
    assert {c.root for c in found} == {[c.linked for c in found].index("reference")}
    assert all(c.residual_ns < 1000 for c in found)
    # no rank is reached over more collectives than there are
    assert all(c.collectives > 10 for c in found if c.linked != "reference")


def test_ranks_that_share_no_collective_keep_their_own_clock(skewed: Path) -> None:
    job = synctax.load([str(skewed)], ranks=[0, 3], workers=1)
    first, second = job_clocks(synctax.measure(job).matches)
    assert (first.linked, second.linked) == ("reference", "none")
    assert (first.root, second.root) == (0, 1)
    assert second.offset_ns == 0


def test_ranks_of_one_host_that_share_no_collective_have_its_clock(tmp_path: Path) -> None:
    write(SynthJob(tp=2, fsdp=2, layers=1, steps=2), tmp_path)
    job = synctax.load([str(tmp_path)], ranks=[0, 3], workers=1)
    found = job_clocks(synctax.measure(job).matches)
    assert [one.linked for one in found] == ["reference", "same host"]
    assert [one.offset_ns for one in found] == [0, 0]
    assert [one.root for one in found] == [0, 0]
