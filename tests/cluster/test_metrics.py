"""What a simulation comes to in numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.cluster.columns import network_share, simulate_columns
from synctax.cluster.machines import uniform
from synctax.cluster.metrics import by_width, culprits, makespan, summary, times
from synctax.cluster.settings import Contention
from synctax.cluster.simulation import Interference
from synctax.schema.simulate import SIMULATE
from tests.cluster.simulations import ran

HALVES = ((0, 4), (1, 4))

E1 = ran(
    [(0, 0, 1083.333333333, HALVES), (0, 0, 500, HALVES)],
    solo_s=[1000, 400],
    factor=[1.4 * 500 / 1083.333333333 + 583.333333333 / 1083.333333333, 1.4],
    compute_s=[0.5, 0.3],
    network_s=[0.5, 0.5],
)
"""Two jobs of eight GPUs on two servers, whose NICs carry 5 of the 7 that they demand."""

spans = st.lists(
    st.tuples(*(st.integers(0, 10_000) for _ in range(3)), st.integers(1, 8)),
    min_size=1,
    max_size=12,
)


def written(rows):
    """Make a simulation of (submission, wait, training, workers), sorted."""
    return ran(
        [(a, a + wait, a + wait + took, ((0, n),)) for a, wait, took, n in sorted(rows)]
    )


@given(spans)
def test_completion_is_waiting_and_training_on_average_too(rows):
    found = summary(written(rows))
    assert found.jct_mean_s == pytest.approx(found.wait_mean_s + found.training_mean_s)
    assert found.jct_median_s <= found.jct_p90_s <= found.jct_p99_s <= found.makespan_s
    assert found.wait_max_s >= found.wait_p99_s
    assert found.jobs_slowed == 0
    assert found.lost_mean_s == 0


@given(spans)
def test_widths_hold_every_job_and_its_wait(rows):
    simulation = written(rows)
    widths, found = by_width(simulation), times(simulation)
    assert widths.jobs.sum() == len(rows)
    assert widths.wait_mean_s @ widths.jobs == pytest.approx(found.wait_s.sum())
    assert widths.wait_max_s.max() == found.wait_s.max()
    assert np.all(np.diff(widths.gpus) > 0)


def test_the_two_jobs_of_the_hand_example():
    found = E1.summary()
    assert found.jct_mean_s == pytest.approx(791.6667, abs=1e-4)
    assert found.makespan_s == makespan(E1) == pytest.approx(1083.3333, abs=1e-4)
    assert found.utilisation == pytest.approx(1583.3333 / 2166.6667, abs=1e-6)
    assert found.lost_share == pytest.approx(183.3333 / 1400, abs=1e-6)
    assert found.gpu_lost_s == pytest.approx(8 * 183.3333, abs=1e-2)
    assert found.slowdown_max == pytest.approx(1.25)
    assert found.jobs_slowed == 2
    # S over all job-time: 1.4 while both run, 1 after
    assert found.contention_mean == pytest.approx((2 * 500 * 1.4 + 583.3333) / 1583.3333)


def test_a_published_percentile_is_interpolated_straight():
    rows = [(0, 0, end, ((0, 1),)) for end in (100, 200, 300, 400)]
    assert summary(ran(rows)).jct_p99_s == pytest.approx(397.0)


def test_a_nanosecond_of_rounding_slows_no_job():
    found = times(ran([(0, 0, 1000.000000001, HALVES)], solo_s=[1000]))
    assert found.lost_s.tolist() == [0.0]
    assert found.slowdown.tolist() == [1.0]
    assert not found.slowed.any()


def test_jobs_of_no_length_are_not_slowed_and_use_nothing():
    found = summary(ran([(5, 5, 5, ((0, 1),))]))
    assert (found.slowdown_max, found.contention_mean, found.jct_mean_s) == (1, 1, 0)
    assert np.isnan(found.utilisation)
    assert np.isnan(found.lost_share)


def test_a_simulation_without_jobs_has_no_summary():
    with pytest.raises(ValueError, match="without jobs"):
        summary(ran([]))


def test_culprits_are_summed_over_whom_they_slowed():
    pairs = Interference(
        job=np.array([0, 2, 1], np.int32),
        by=np.array([1, 1, 0], np.int32),
        shared_s=np.array([5.0, 5.0, 5.0]),
        lost_s=np.array([10.0, 4.0, 20.0]),
    )
    found = culprits(pairs)
    assert found.job.tolist() == [0, 1]
    assert found.victims.tolist() == [1, 2]
    assert found.lost_s.tolist() == [20.0, 14.0]


def test_the_table_has_the_columns_that_are_declared():
    frame = E1.to_frame()
    assert tuple(frame) == SIMULATE.names
    assert frame["servers"].tolist() == ["0:4;1:4", "0:4;1:4"]
    assert frame["workload"].isna().all()
    assert frame["iterations"].tolist() == pytest.approx([1000, 500])
    assert frame["measured_jct_s"].isna().all()
    known = simulate_columns(E1, measured_jct_s=np.array([1.0, np.nan]))
    assert known["measured_jct_s"][0] == 1.0


@pytest.mark.parametrize(
    ("contention", "share"),
    [
        (Contention(), 0.7 / 1.0),
        (Contention(model="pollux", static_scope="network"), 0.7 / 1.0),
        (Contention(model="pollux"), 0.5 / 0.8),
    ],
)
def test_network_time_is_stretched_in_its_share_of_the_training(contention, share):
    simulation = ran(
        [(0, 0, 500, HALVES)],
        solo_s=[400],
        factor=[1.4],
        compute_s=0.3,
        network_s=0.5,
        contention=contention,
    )
    assert network_share(simulation).tolist() == pytest.approx([share])


def test_slow_gpus_and_nvlink_make_the_share_of_the_network_smaller():
    cluster = uniform(2, 8, 5.0)
    cluster.speed[1] = 0.5
    simulation = ran(
        [(0, 0, 8, ((0, 4),)), (0, 0, 8, ((1, 4),))],
        cluster=cluster,
        compute_s=1.0,
        network_s=1.0,
        contention=Contention(placement_aware=True),
    )
    assert network_share(simulation).tolist() == pytest.approx([1 / 2, 1 / 3])
    simulation.jobs.local_network_s[0] = 0.25
    assert network_share(simulation).tolist() == pytest.approx([0.2, 1 / 3])
