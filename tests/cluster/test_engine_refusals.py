"""What a simulation refuses: jobs, rates, clusters and settings that cannot be."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from synctax.cluster.engine import simulate
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import Cluster, uniform
from synctax.cluster.settings import Contention, Rates
from synctax.errors import SynctaxError
from tests.cluster.engine_cases import (
    S,
    two_beside,
)


@pytest.mark.parametrize(
    ("rows", "where", "message"),
    [
        (
            [(0, 1, 1), (1, 20, 1), (2, 17, 1)],
            None,
            r"^2 jobs ask for more GPUs than the 16 .*: 1 \(20\), 2 \(17\);",
        ),
        ([(0, 17, 1)], None, r"^1 job asks for more GPUs than the 16 .*: 0 \(17\)"),
        (
            [(0, 4, 1)],
            ((0, 3),),
            "job 0 cannot be pinned to 0:3: these are 3 GPUs; expected 4",
        ),
        ([(0, 4, 1)], ((2, 4),), "2:4: there is no server 2; expected servers from 0 to 1"),
        ([(0, 9, 1)], ((0, 9),), "0:9: server 0 has 8 GPUs"),
        ([(0, 2, 1)], ((1, 1), (0, 1)), "out of order; expected the lowest first"),
        ([(0, 2, 1)], ((0, 2), (1, 0)), "1:0: server 1 has 8 GPUs; expected 1 to as many"),
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
        ("local_network_s", [nan, -0.5], "job 1 on one server .* local_network_s -0.5"),
        ("local_network_s", [inf, 0.5], "job 0 on one server .* local_network_s inf"),
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


def test_an_iteration_of_no_length_on_one_server_is_refused():
    jobs = replace(
        two_beside(compute_s=0.0), local_network_s=np.array([nan, 0.0]), pinned=(None,) * 2
    )
    how = Contention(placement_aware=True)
    with pytest.raises(ValueError, match=r"job 1 on one server .* compute_s is 0"):
        simulate(jobs, uniform(2, 8, 1.0), contention=how)


@pytest.mark.parametrize(
    ("args", "contention", "said"),
    [
        (("jobs.csv", uniform(2, 8, 1.0)), Contention(), "jobs is str; expected Jobs"),
        ((two_beside(), "mosim-4x8"), Contention(), "cluster is str; expected Cluster"),
        ((two_beside(), uniform(2, 8, 1.0)), "overlap", "contention is str; expected Cont"),
    ],
)
def test_what_is_something_else_is_told_with_what_is_expected(args, contention, said):
    with pytest.raises(TypeError, match=said):
        simulate(*args, contention=contention)


def test_jobs_and_results_are_written_in_a_line():
    jobs, cluster = two_beside(), uniform(2, 8, 1.0)
    assert repr(jobs) == "Jobs(2 jobs from 0 s to 0 s)"
    assert repr(cluster) == "Cluster(2 servers, 16 GPUs)"
    assert repr(simulate(jobs, cluster)) == (
        "Simulation(2 jobs on 16 GPUs, bin-packing, backfill)"
    )
