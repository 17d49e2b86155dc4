"""Order of events, ties, links of several kinds, and what a simulation refuses."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.cluster.engine import simulate
from synctax.cluster.engine.floor import STALE_FEW, STALE_SHARE
from synctax.cluster.engine.simulate import PROGRESS_STEPS, Options, set_up
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import POLICIES, QUEUES, Cluster, SwitchTier, uniform
from synctax.cluster.settings import Contention, Rates
from synctax.cluster.simulation import Simulation
from synctax.errors import SynctaxError
from tests.cluster.engine_cases import drawn, first_fit, round_robin

seeds = st.integers(0, 2**32 - 1)
S = 10**9
"""ns"""

HALVES = ((0, 4), (1, 4))


def two_beside(run_s: tuple[float, float] = (100, 100), submit_s: float = 0, **columns):
    """Two jobs of 8 GPUs, half of each on each of two servers."""
    rows = [(0, 8, run_s[0]), (submit_s, 8, run_s[1])]
    columns = {"compute_s": 0.5, "network_s": 0.5, "pinned": [HALVES] * 2, **columns}
    return simple_jobs(rows, **columns)


def asking(*rates: float) -> Rates:
    return Rates(np.array(rates), np.array(rates))


# order of events


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


# what is told


@given(seeds, st.sampled_from(QUEUES), st.booleans())
def test_use_agrees_with_the_jobs(seed, queue, ties):
    jobs, cluster = drawn(seed, mixed=True, ties=ties)
    found = simulate(jobs, cluster, policy=round_robin, queue=queue)
    use, ran_s = found.use, (found.end_ns - found.start_ns) / S
    lasted_s = (found.end_ns.max() - jobs.submit_ns[0]) / S
    assert_allclose(use.gpu_s, jobs.gpus @ ran_s)
    # Little's law
    waited_s = (found.start_ns - jobs.submit_ns).sum() / S
    assert_allclose(use.queue_mean * lasted_s, waited_s, atol=1e-6)
    assert np.all(use.oversubscribed_s <= use.busy_s)
    assert np.all(use.busy_s <= lasted_s * (1 + 1e-12))
    assert use.busy_s.shape == cluster.links.bytes_per_s.shape
    assert np.isnan(use.fragmentation) or 0 <= use.fragmentation <= 1


def test_fragmentation_is_of_free_gpus():
    # 6 s: 5 free beside the job, 8 free on the other server; then 4 s: all taken
    jobs = simple_jobs([(0, 3, 6), (6, 16, 4)])
    found = simulate(jobs, uniform(2, 8, 1.0))
    assert_allclose(found.use.fragmentation, 5 / 13)
    assert found.use.queue_max == 0
    full = simulate(simple_jobs([(0, 8, 1)]), uniform(1, 8, 1.0))
    assert np.isnan(full.use.fragmentation)


def test_a_queue_that_waits():
    jobs = simple_jobs([(0, 8, 10), (2, 8, 10), (4, 8, 10)])
    use = simulate(jobs, uniform(1, 8, 1.0)).use
    assert (use.queue_max, use.queue_mean) == (2, pytest.approx((8 + 16) / 30))


def losses(found: Simulation):
    lost = np.zeros(len(found.jobs))
    np.add.at(lost, found.interference.job, found.interference.lost_s)
    return lost


@given(
    seeds,
    st.sampled_from(["iteration", "network", "overlap"]),
    st.sampled_from(["mosim", "pollux", "tiresias"]),
    st.booleans(),
    st.booleans(),
)
def test_others_answer_for_all_that_a_job_lost(seed, basis, model, mixed, normalise):
    jobs, cluster = drawn(seed, mixed=mixed)
    contention = Contention(model, basis, normalise_solo=normalise)
    found = simulate(
        jobs, cluster, contention=contention, policy=round_robin, interference=True
    )
    trained_ns = found.end_ns - found.start_ns
    assert_allclose(losses(found), (trained_ns - found.solo_ns) / S, atol=2e-9, rtol=1e-9)
    assert np.all(np.diff(found.interference.lost_s) <= 0)
    assert np.all(found.interference.job != found.interference.by)
    job, by = found.interference.job, found.interference.by
    both_end_ns = np.minimum(found.end_ns[job], found.end_ns[by])
    both_ns = both_end_ns - np.maximum(found.start_ns[job], found.start_ns[by])
    assert np.all(found.interference.shared_s <= both_ns / S * (1 + 1e-9))
    without = simulate(jobs, cluster, contention=contention, policy=round_robin)
    assert_array_equal(without.end_ns, found.end_ns)
    assert without.interference is None


def test_losses_are_shared_out_by_demand():
    jobs = simple_jobs(
        [(0, 8, 100), (0, 8, 300), (0, 8, 300)],
        compute_s=0.5,
        network_s=0.5,
        pinned=[HALVES] * 3,
    )
    rates = asking(1, 2, 6)
    found = simulate(jobs, uniform(2, 12, 3.0), rates=rates, interference=True)
    # S = 3: 200 s for 100 s
    of_first = found.interference.job == 0
    assert found.interference.by[of_first].tolist() == [2, 1]
    assert_allclose(found.interference.lost_s[of_first], [75, 25])
    assert_allclose(found.interference.shared_s[of_first], [200, 200])


def test_equally_bad_links_count_alike():
    jobs = simple_jobs(
        [(0, 2, 100), (0, 2, 500), (0, 2, 500)],
        compute_s=0.0,
        network_s=1.0,
        pinned=[((0, 1), (1, 1)), ((0, 1), (2, 1)), ((1, 1), (3, 1))],
    )
    found = simulate(jobs, uniform(4, 8, 1.0), rates=asking(1, 1, 1), interference=True)
    of_first = found.interference.job == 0
    assert_allclose(found.interference.lost_s[of_first], [50, 50])


def test_progress_is_told_now_and_then():
    jobs, told = simple_jobs([(at, 1, 5) for at in range(1000)]), []
    simulate(jobs, uniform(1, 8, 1.0), on_progress=lambda *one: told.append(one))
    done = [one for one, _ in told]
    assert done[-1] == 1000
    assert {many for _, many in told} == {1000}
    assert done == sorted(set(done))
    assert len(done) <= PROGRESS_STEPS + 1


def test_names_of_what_was_used():
    jobs, cluster = (
        simple_jobs([(0, 1, 1)]),
        replace(uniform(1, 8, 1.0), policy="spread", queue="easy"),
    )
    found = simulate(jobs, cluster)
    assert (found.policy, found.queue) == ("spread", "easy")
    found = simulate(jobs, cluster, policy=first_fit, queue="fifo")
    assert (found.policy, found.queue) == ("first_fit", "fifo")

    class Mine:
        def __call__(self, free, job, state):
            return {0: job.gpus}

    assert simulate(jobs, cluster, policy=Mine()).policy.endswith("Mine")


def test_no_jobs():
    found = simulate(simple_jobs([]), uniform(1, 8, 1.0), interference=True)
    assert found.end_ns.size == 0
    assert found.use.queue_mean == 0
    assert found.interference.lost_s.size == 0


def test_a_policy_sees_what_runs():
    seen = []

    def mine(free, job, state):
        seen.append(
            (
                state.now_ns,
                free.tolist(),
                dict(state.running),
                state.crossing.tolist(),
                state.demand_bytes_per_s.tolist(),
                state.job(0).gpus,
                state.cluster.servers,
            )
        )
        return {0: 4, 1: 4}

    simulate(
        simple_jobs([(1, 8, 5), (1, 8, 5)]),
        uniform(2, 8, 9.0),
        policy=mine,
        rates=asking(2, 3),
    )
    assert seen == [
        (S, [8, 8], {}, [0, 0], [0, 0], 8, 2),
        (S, [4, 4], {0: HALVES}, [1, 1], [2, 2], 8, 2),
    ]


def test_pinned_jobs_wait_for_their_servers():
    jobs = simple_jobs(
        [(0, 4, 10), (1, 8, 10), (2, 4, 5)], pinned=[((0, 4),), ((0, 8),), ((1, 4),)]
    )
    found = simulate(jobs, uniform(2, 8, 1.0), policy="spread")
    assert found.start_ns.tolist() == [0, 10 * S, 2 * S]


# what is refused


@pytest.mark.parametrize(
    ("rows", "where", "message"),
    [
        (
            [(0, 1, 1), (1, 20, 1), (2, 17, 1)],
            None,
            r"^2 jobs ask for more GPUs than the 16 .*: 1 \(20\), 2 \(17\);",
        ),
        ([(0, 17, 1)], None, r"^1 job asks for more GPUs than the 16 .*: 0 \(17\)"),
        ([(0, 4, 1)], ((0, 3),), "job 0 cannot be pinned to 0:3: 3 workers of a job of 4"),
        ([(0, 4, 1)], ((2, 4),), "2:4: the cluster has servers 0 to 1"),
        ([(0, 9, 1)], ((0, 9),), "0:9: server 0 has 8 GPUs"),
        ([(0, 2, 1)], ((1, 1), (0, 1)), "ascending order"),
        ([(0, 2, 1)], ((0, 2), (1, 0)), "1:0: 0 workers on server 1"),
        ([(9.2e9, 4, 9.2e9)], None, r"job 0 would end at 1.84e\+10 s"),
    ],
)
def test_jobs_that_cannot_run(rows, where, message):
    jobs = simple_jobs(rows, pinned=where and [where])
    with pytest.raises(SynctaxError, match=message):
        simulate(jobs, uniform(2, 8, 1.0))


def test_a_policy_that_leaves_jobs_waiting():
    def mine(free, job, state):
        return {0: job.gpus} if job.gpus < 3 else None

    jobs = simple_jobs([(at, 1 + at % 4, 1) for at in range(28)])
    with pytest.raises(SynctaxError) as told:
        simulate(jobs, uniform(2, 8, 1.0), policy=mine)
    assert "mine never placed 14 of 28 jobs" in str(told.value)
    assert str(told.value).endswith(": 2, 3, 6, 7, 10, ...")


def test_bytes_in_no_time():
    jobs = two_beside(network_s=[0.5, 0.0], network_bytes=8)
    found = simulate(jobs, uniform(2, 8, 5.0))
    assert found.end_ns[1] == 100 * S
    for basis in ("network", "overlap"):
        with pytest.raises(SynctaxError, match=f"first 1, .* demand basis {basis}"):
            simulate(jobs, uniform(2, 8, 5.0), contention=Contention(basis=basis))


@pytest.mark.parametrize(
    ("own", "among"),
    [([1, 1], [1]), ([1, -1], [1, 1]), ([inf, 1], [1, 1]), ([1, 0], [1, 1])],
)
def test_rates_that_are_none(own, among):
    rates = Rates(np.array(own, float), np.array(among, float))
    with pytest.raises(ValueError, match="rates"):
        simulate(two_beside(), uniform(2, 8, 1.0), rates=rates)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("submit_ns", [1, 0], "in order of submission"),
        ("duration_ns", [1, -1], "last 0 s or more"),
        ("gpus", [1, 0], "1 GPU or more"),
        ("compute_s", [1.0, -0.5], "job 1 takes 0.0 s"),
        ("compute_s", [inf, 1.0], "job 0 takes inf s"),
    ],
)
def test_columns_that_are_no_jobs(column, values, message):
    jobs = replace(two_beside(), **{column: np.array(values)})
    with pytest.raises(ValueError, match=message):
        simulate(jobs, uniform(2, 8, 1.0))


@pytest.mark.parametrize(
    "choice",
    [
        {"queue": "lifo"},
        {"policy": "best"},
        {"contention": Contention(static_factor=0.5)},
    ],
)
def test_settings_that_cannot_be(choice):
    with pytest.raises(SynctaxError):
        simulate(two_beside(), uniform(2, 8, 1.0), **choice)


def test_a_cluster_that_cannot_be():
    cluster: Cluster = replace(uniform(2, 8, 1.0), gpus=np.array([8, 0]))
    with pytest.raises(SynctaxError, match="gpus is 0"):
        simulate(two_beside(), cluster)
