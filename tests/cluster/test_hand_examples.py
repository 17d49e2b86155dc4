"""Examples that can be worked out by hand: two jobs on two servers, and a queue."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax.cluster.choices import QUEUES
from synctax.cluster.engine import simulate
from synctax.cluster.jobs import Jobs, simple_jobs
from synctax.cluster.machines import uniform
from synctax.cluster.settings import Contention, Rates

A = {"gpus": 8, "network_bytes": 12.0, "compute_s": 0.5, "network_s": 0.5, "run_s": 1000}
B = {"gpus": 8, "network_bytes": 16.0, "compute_s": 0.3, "network_s": 0.5, "run_s": 400}
P = {"gpus": 2, "network_bytes": 4.0, "compute_s": 1.0, "network_s": 1.0, "run_s": 1000}
L = {"gpus": 2, "network_bytes": 100.0, "compute_s": 0.5, "network_s": 0.5, "run_s": 300}

HALVES = ((0, 4), (1, 4))
ONE_EACH = ((0, 1), (1, 1))


def at_once(*jobs: dict, where: list) -> Jobs:
    names = ("compute_s", "network_s", "network_bytes")
    return simple_jobs(
        [(0, job["gpus"], job["run_s"]) for job in jobs],
        **{name: [job[name] for job in jobs] for name in names},
        pinned=where,
    )


def injected(jobs: Jobs) -> Rates:
    """Take demands for rates, as if bytes an iteration were bytes a second."""
    return Rates(jobs.nic_bytes, jobs.nic_bytes)


E1 = at_once(A, B, where=[HALVES, HALVES])


def test_e1_demands_are_twice_the_bytes_of_a_worker():
    assert E1.nic_bytes.tolist() == [3.0, 4.0]


def test_e1_both_jobs_slow_down_by_seven_fifths():
    found = simulate(E1, uniform(2, 8, 5.0), rates=injected(E1))
    assert found.end_ns.tolist() == [1_083_333_333_333, 500_000_000_000]
    assert_allclose(found.factor[1], 1.4, rtol=1e-15)
    # 1.4 for 500 s, then nothing
    assert_allclose(found.factor[0], (1.4 * 500 + 583 + 1 / 3) / (1083 + 1 / 3))
    assert_allclose(found.end_ns.mean() / 1e9, 791.6667, atol=5e-5)


def test_e1_enough_bandwidth_slows_nobody():
    found = simulate(E1, uniform(2, 8, 10.0), rates=injected(E1))
    assert found.end_ns.tolist() == [1000 * 10**9, 400 * 10**9]
    assert found.factor.tolist() == [1, 1]


def test_e1_with_average_rates():
    # 3 bytes in 1 s and 4 in 0.8 s: 8 bytes/s where 5 are carried
    found = simulate(E1, uniform(2, 8, 5.0))
    assert_allclose(found.factor[1], 1.6, rtol=1e-15)
    assert found.end_ns[1] == 550 * 10**9
    assert_allclose(found.end_ns[0] / 1e9, 1126.92, atol=5e-3)


def test_e1_with_rates_while_sending():
    # 6 and 8 bytes/s; 14/5 of the network time: B takes 1.7 s for 0.8 s
    found = simulate(E1, uniform(2, 8, 5.0), contention=Contention(basis="network"))
    assert found.end_ns[1] == 850 * 10**9
    # then A has S = 6/5, alone: its profile is of a faster network
    done = 850 / 1.9
    assert_allclose(found.end_ns[0] / 1e9, 850 + (1000 - done) * 1.1, rtol=1e-12)
    assert [(one.reason, one.count) for one in found.notes] == [("profile_exceeds_nic", 2)]


def test_e1_with_expected_overlap():
    # A: 6 + 4/0.8 of 5; B: 8 + 3 of 5
    found = simulate(E1, uniform(2, 8, 5.0), contention=Contention(basis="overlap"))
    assert found.end_ns[1] == 700 * 10**9
    done = 700 / 1.6
    assert_allclose(found.end_ns[0] / 1e9, 700 + (1000 - done) * 1.1, rtol=1e-12)


E2 = at_once(A, P, where=[HALVES, ONE_EACH])


def test_e2_a_ring_of_two_counts_once():
    assert E2.nic_bytes.tolist() == [3.0, 2.0]


@pytest.mark.parametrize(("carried", "factor"), [(5.0, 1.0), (4.0, 1.25)])
def test_e2_demand_that_just_fits_slows_nobody(carried, factor):
    found = simulate(E2, uniform(2, 8, carried), rates=injected(E2))
    assert found.factor.tolist() == [factor, factor]
    assert found.end_ns.tolist() == [round(500e9 + 500e9 * factor)] * 2


def test_e2_average_rates_fit():
    found = simulate(E2, uniform(2, 8, 4.0))
    assert found.factor.tolist() == [1, 1]


def test_e3_a_job_on_one_server_has_no_part_in_it():
    jobs = at_once(A, B, L, where=[HALVES, HALVES, ((0, 2),)])
    found = simulate(jobs, uniform(2, 10, 5.0), rates=injected(jobs))
    assert found.end_ns.tolist() == [1_083_333_333_333, 500 * 10**9, 300 * 10**9]
    assert found.factor[2] == 1
    assert_allclose(found.factor[1], 1.4, rtol=1e-15)


E7 = simple_jobs([(0, 6, 100), (1, 4, 50), (2, 2, 30)])


@pytest.mark.parametrize(
    ("queue", "ends_s"), [("backfill", [100, 150, 32]), ("fifo", [100, 150, 130])]
)
def test_e7_small_jobs_go_past_large_ones_or_not(queue, ends_s):
    found = simulate(E7, uniform(1, 8, 1.0), queue=queue)
    assert (found.end_ns / 1e9).tolist() == ends_s


@pytest.mark.parametrize("queue", QUEUES)
def test_e7_who_comes_when_another_ends_does_not_wait(queue):
    jobs = simple_jobs([(0, 8, 100), (100, 8, 50)])
    found = simulate(jobs, uniform(1, 8, 1.0), queue=queue)
    assert found.start_ns.tolist() == [0, 100 * 10**9]


@pytest.mark.parametrize(
    ("contention", "ends_s"),
    [
        (Contention("tiresias"), (1000, 400)),
        (Contention("pollux"), (1040, 440)),
        (Contention("pollux", static_scope="network"), (1020.2381, 425)),
    ],
)
def test_e9_baselines(contention, ends_s):
    found = simulate(E1, uniform(2, 8, 5.0), contention=contention)
    assert_allclose(found.end_ns / 1e9, ends_s, atol=5e-5)


@pytest.mark.parametrize("model", ["mosim", "pollux"])
def test_a_tax_is_not_stretched_by_contention(model):
    # both iterations are 1.5 s long, 0.5 s of it network
    jobs = replace(at_once(A, A, where=[HALVES, HALVES]), tax_s=np.full(2, 0.5))
    contention = Contention(model, static_factor=1.2, static_scope="network")
    asked = np.array([3.0, 3.0])
    found = simulate(
        jobs, uniform(2, 8, 5.0), contention=contention, rates=Rates(asked, asked)
    )
    assert found.end_ns.tolist() == [round(1000e9 * 1.6 / 1.5)] * 2
