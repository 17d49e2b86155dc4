"""Clocks of ranks, told by ends of collectives, against what was put in."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import synctax
from synctax.collectives.job_clocks import RankClock, job_clocks
from synctax.synth import SynthJob, write

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


@given(one=clocks, after_ns=st.lists(st.integers(-(10**10), 10**10)))
def test_lags_of_times_are_those_of_each(one: RankClock, after_ns: list[int]) -> None:
    at = np.array([one.origin_ns + after for after in after_ns], np.int64)
    assert one.lags_ns(at).tolist() == [one.lag_ns(int(each)) for each in at]


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
