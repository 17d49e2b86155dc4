"""Order of events, ties, and links of several kinds."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.cluster.choices import POLICIES, QUEUES
from synctax.cluster.engine import simulate
from synctax.cluster.engine.floor import STALE_FEW, STALE_SHARE
from synctax.cluster.engine.simulate import Options, set_up
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import SwitchTier, uniform
from synctax.cluster.settings import Contention
from tests.cluster.engine_cases import (
    HALVES,
    S,
    asking,
    drawn,
    two_beside,
)

seeds = st.integers(0, 2**32 - 1)


@given(
    seeds,
    st.sampled_from(POLICIES),
    st.sampled_from(QUEUES),
    st.sampled_from(["mosim", "pollux"]),
    st.booleans(),
)
def test_no_gpu_has_two_jobs_and_nobody_starts_early(seed, policy, queue, model, ties):
    jobs, cluster = drawn(seed, mixed=True, ties=ties)
    found = simulate(
        jobs, cluster, contention=Contention(model), policy=policy, queue=queue
    )
    assert np.all(found.start_ns >= jobs.submit_ns)
    assert np.all(found.end_ns >= found.start_ns)
    for start_ns in found.start_ns[jobs.duration_ns > 0]:
        taken = np.zeros(cluster.servers, np.int64)
        runs = (found.start_ns <= start_ns) & (start_ns < found.end_ns)
        for job in np.flatnonzero(runs):
            for server, workers in found.placements[job]:
                taken[server] += workers
        assert np.all(taken <= cluster.gpus)
    for job, where in enumerate(found.placements):
        assert sum(workers for _, workers in where) == jobs.gpus[job]


@given(seeds, st.booleans())
def test_strict_order_starts_in_order_of_arrival(seed, ties):
    jobs, cluster = drawn(seed, ties=ties)
    assert np.all(np.diff(simulate(jobs, cluster, queue="fifo").start_ns) >= 0)


@given(seeds, st.booleans())
def test_nobody_who_fits_waits_when_any_may_go_first(seed, ties):
    jobs, cluster = drawn(seed, ties=ties)
    found = simulate(jobs, cluster, queue="backfill")
    for now_ns in np.union1d(found.start_ns, found.end_ns):
        runs = (found.start_ns <= now_ns) & (now_ns < found.end_ns)
        free = cluster.total_gpus - jobs.gpus[runs].sum()
        waits = (jobs.submit_ns <= now_ns) & (now_ns < found.start_ns)
        assert np.all(jobs.gpus[waits] > free)


def test_jobs_that_end_together_make_room_together():
    jobs = simple_jobs([(0, 4, 10), (0, 4, 10), (10, 8, 5)])
    assert simulate(jobs, uniform(1, 8, 1.0)).start_ns.tolist() == [0, 0, 10 * S]


def test_of_jobs_that_come_together_the_earlier_row_is_first():
    jobs = simple_jobs([(5, 8, 10), (5, 8, 1), (0, 8, 5)])
    found = simulate(jobs, uniform(1, 8, 1.0), queue="fifo")
    assert jobs.job_id == ("2", "0", "1")
    assert found.start_ns.tolist() == [0, 5 * S, 15 * S]


@pytest.mark.parametrize("queue", QUEUES)
def test_jobs_of_no_length_end_where_they_start(queue):
    jobs = simple_jobs([(0, 8, 3), *[(1, 8, 0)] * 3, (1, 8, 2)])
    found = simulate(jobs, uniform(1, 8, 1.0), queue=queue)
    assert found.start_ns.tolist() == [0, 3 * S, 3 * S, 3 * S, 3 * S]
    assert found.end_ns.tolist() == [3 * S, 3 * S, 3 * S, 3 * S, 5 * S]
    assert found.factor.tolist() == [1] * 5
    assert found.use.queue_max == 4


def test_nobody_waits_for_jobs_of_no_length():
    use = simulate(simple_jobs([(0, 8, 0), (0, 8, 5)]), uniform(1, 8, 1.0)).use
    assert (use.queue_max, use.queue_mean) == (0, 0)


def test_times_of_years_are_exact_to_the_nanosecond():
    jobs = replace(simple_jobs([(0, 8, 1)]), duration_ns=np.array([2**53 + 1]))
    assert simulate(jobs, uniform(1, 8, 1.0)).end_ns.tolist() == [2**53 + 1]


def test_jobs_of_no_length_slow_nobody():
    jobs = two_beside((100, 0), submit_s=50)
    found = simulate(jobs, uniform(2, 8, 1.0), rates=asking(1, 1))
    assert found.end_ns.tolist() == [100 * S, 50 * S]


def test_an_end_that_moves_out_and_in_again_is_met_once():
    # beside the other from 10 s to 30 s, S = 2: 20 s for 40/3 s
    jobs = two_beside((100, 40 / 3), submit_s=10)
    found = simulate(jobs, uniform(2, 8, 1.0), rates=asking(1, 1))
    assert found.end_ns.tolist() == [round((100 + 20 / 3) * S), 30 * S]


def test_ends_that_moved_are_forgotten():
    # 200 jobs, one after the other, slow one down, which has another end 400 times
    many, start_ns = 200, (np.arange(200) * 2 + 1) * S
    rows = [(0, 8, 5000), *((at / S, 8, 0.75) for at in start_ns)]
    jobs = simple_jobs(rows, compute_s=0.5, network_s=0.5, pinned=[HALVES] * (many + 1))
    cluster, rates = uniform(2, 16, 1.0), asking(*[1.0] * (many + 1))
    found = simulate(jobs, cluster, rates=rates)
    # 1.125 s for 0.75 s, in which the first gets as much done
    assert_array_equal(found.end_ns[1:] - start_ns, round(1.125 * S))
    assert found.end_ns[0] == round((5000 + many * 0.375) * S)
    floor = set_up(jobs, cluster, Options(rates=rates))
    floor.start(0, HALVES)
    for job, now_ns in enumerate(start_ns.tolist(), 1):
        floor.begin(now_ns)
        floor.start(job, HALVES)
        floor.settle()
        floor.begin(floor.next_end_ns())
        floor.complete()
        floor.settle()
        assert len(floor._ends) <= STALE_SHARE * 2 + STALE_FEW
    assert floor.done == many


# links


def test_jobs_of_different_servers_meet_on_an_uplink():
    cluster = uniform(4, 8, 4.0, tiers=(SwitchTier(2, 2.0),))
    # uplinks carry 4; two jobs of 3 go over both
    jobs = simple_jobs(
        [(0, 2, 100)] * 3,
        compute_s=0.5,
        network_s=0.5,
        pinned=[((0, 1), (2, 1)), ((1, 1), (3, 1)), ((0, 1), (1, 1))],
    )
    found = simulate(jobs, cluster, rates=asking(3, 3, 1))
    assert found.end_ns.tolist() == [125 * S, 125 * S, 100 * S]
    assert_allclose(found.factor, [1.5, 1.5, 1])
    assert found.use.oversubscribed_s.tolist() == [0, 0, 0, 0, 125, 125]
    assert found.use.busy_s.tolist() == [125, 125, 125, 125, 125, 125]


def test_a_job_of_one_block_is_not_on_its_uplink():
    cluster = uniform(4, 8, 4.0, tiers=(SwitchTier(2, 1.0),))
    jobs = simple_jobs([(0, 2, 100)], pinned=[((2, 1), (3, 1))])
    found = simulate(jobs, cluster, rates=asking(1))
    assert found.use.busy_s.tolist() == [0, 0, 100, 100, 0, 0]


def test_a_static_factor_is_for_nics_only():
    cluster = uniform(4, 8, 4.0, tiers=(SwitchTier(2, 2.0),))
    jobs = simple_jobs([(0, 2, 100)] * 2, pinned=[((0, 1), (2, 1)), ((1, 1), (3, 1))])
    found = simulate(jobs, cluster, contention=Contention("pollux"), rates=asking(3, 3))
    assert found.end_ns.tolist() == [100 * S] * 2


def test_a_static_factor_is_not_for_jobs_that_send_nothing():
    jobs = two_beside(network_bytes=[8, 0])
    found = simulate(jobs, uniform(2, 8, 1.0), contention=Contention("pollux"))
    assert found.end_ns.tolist() == [100 * S] * 2


def test_the_slowest_server_sets_the_pace():
    cluster = replace(uniform(2, 8, 100.0), speed=np.array([2.0, 0.5]))
    jobs = simple_jobs(
        [(0, 8, 100)] * 2,
        compute_s=0.6,
        network_s=0.4,
        pinned=[HALVES, ((0, 4), (1, 4))],
    )
    one = simple_jobs([(0, 4, 100)], compute_s=0.6, network_s=0.4, pinned=[((0, 4),)])
    assert simulate(jobs, cluster).end_ns.tolist() == [160 * S] * 2
    assert simulate(one, cluster).end_ns.tolist() == [70 * S]


def test_averages_are_over_the_iteration_on_these_servers():
    # 2 bytes in 1 s, in 1.6 s on the slow servers: two jobs ask 2.5 of 3
    jobs = two_beside(compute_s=0.6, network_s=0.4, network_bytes=8)
    cluster = uniform(2, 8, 3.0)
    slow = replace(cluster, speed=np.full(2, 0.5))
    assert_allclose(simulate(jobs, cluster).factor, 4 / 3)
    assert simulate(jobs, slow).factor.tolist() == [1, 1]
    # given rates are as they are
    assert_allclose(simulate(jobs, slow, rates=asking(2, 2)).factor, 4 / 3)


def test_network_time_of_one_server_where_it_is_known_and_wanted():
    jobs = replace(
        simple_jobs([(0, 4, 100)] * 3, compute_s=0.5, network_s=0.5),
        local_network_s=np.array([0.25, nan, nan]),
    )
    cluster = uniform(3, 4, 1.0)
    assert simulate(jobs, cluster).end_ns.tolist() == [100 * S] * 3
    found = simulate(jobs, cluster, contention=Contention(placement_aware=True))
    assert found.end_ns.tolist() == [75 * S, 100 * S, 100 * S]
    assert found.solo_ns.tolist() == [75 * S, 100 * S, 100 * S]
    assert [(one.reason, one.count, one.where) for one in found.notes] == [
        ("local_network_s_unknown", 2, "job 1")
    ]


def test_least_bandwidth_bounds_the_slowdown():
    jobs = two_beside((100, 100))
    rates = asking(0.5, 99.5)
    # x/C = 100, but the small job keeps 2 % of 1
    contention = Contention(min_bandwidth_share=0.02)
    found = simulate(jobs, uniform(2, 8, 1.0), rates=rates, contention=contention)
    assert found.end_ns[0] == round((50 + 50 * 25) * S)


def test_least_bandwidth_makes_nobody_faster():
    # D is less than MIN_BW
    jobs = two_beside((100, 100))
    contention = Contention(min_bandwidth_share=0.5)
    found = simulate(jobs, uniform(2, 8, 1.0), rates=asking(0.1, 1), contention=contention)
    assert found.end_ns[0] == 100 * S
    assert found.factor[0] == 1
