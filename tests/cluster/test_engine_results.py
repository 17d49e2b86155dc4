"""What a simulation tells: use of the cluster, who slowed whom, progress, names."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.cluster.choices import QUEUES
from synctax.cluster.engine import simulate
from synctax.cluster.engine.simulate import PROGRESS_STEPS
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import uniform
from synctax.cluster.settings import Contention
from synctax.cluster.simulation import Simulation
from tests.cluster.engine_cases import (
    HALVES,
    S,
    asking,
    drawn,
    first_fit,
    round_robin,
)

seeds = st.integers(0, 2**32 - 1)


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


def test_a_profile_that_is_bytes_over_the_nic_s_rate_does_not_exceed_it():
    sent = np.random.default_rng(0).uniform(1, 60, 50) * 1e6
    jobs = simple_jobs(
        [(1000 * at, 2, 10) for at in range(50)],
        network_s=(sent / 3e6).tolist(),
        network_bytes=(2 * sent).tolist(),
        counting="sent",
    )
    # some of these rates are one digit above
    assert np.any(jobs.nic_bytes / jobs.network_s > 3e6)
    how = Contention(basis="network")
    found = simulate(jobs, uniform(2, 8, 3e6), contention=how, policy=round_robin)
    assert found.notes == ()
