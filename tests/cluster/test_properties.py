"""Laws that shares of links obey, whatever the jobs and the cluster."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.cluster.choices import BASES, POLICIES, QUEUES
from synctax.cluster.engine import simulate
from synctax.cluster.engine.simulate import Options, set_up
from synctax.cluster.jobs import Jobs, simple_jobs
from synctax.cluster.machines import Cluster, uniform
from synctax.cluster.settings import Contention, rates
from tests.cluster.engine_cases import deal, drawn, sorted_placement

seeds = st.integers(0, 2**32 - 1)
bases = st.sampled_from(BASES)


def beside(seed: int, *, mixed: bool = False) -> tuple[Jobs, Cluster]:
    """Draw jobs that are all pinned, one worker after another, with room for all."""
    jobs, cluster = drawn(seed, mixed=mixed)
    cluster = replace(cluster, gpus=np.full(cluster.servers, int(jobs.gpus.sum())))
    draw, pinned = np.random.default_rng(seed), []
    for gpus in jobs.gpus.tolist():
        room = draw.integers(0, 3, cluster.servers)
        room[draw.integers(cluster.servers)] += 1
        pinned.append(sorted_placement(deal((room * gpus).tolist(), gpus)))
    return replace(jobs, pinned=tuple(pinned)), cluster


def factors(jobs: Jobs, cluster: Cluster, contention: Contention, many: int = 99):
    """S of the first few jobs while all of these run."""
    floor = set_up(jobs, cluster, Options(contention))
    for job in range(min(len(jobs), many)):
        floor.start(job, jobs.pinned[job])
    floor.settle()
    return np.array([one.factor for one in floor.running.values()])


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=8), st.floats(0.05, 0.99))
def test_a_one_full_nic_slows_all_alike(demands, share):
    demands = np.array(demands)
    carried = demands.sum() * share
    assume(carried >= demands.max())
    n = demands.size
    cluster = replace(
        uniform(n + 1, n, inf), nic_bytes_per_s=np.array([carried] + [inf] * n)
    )
    jobs = simple_jobs(
        [(0, 2, 100)] * n,
        network_bytes=demands * 2,
        compute_s=0.5,
        network_s=0.5,
        pinned=[((0, 1), (one + 1, 1)) for one in range(n)],
    )
    found = factors(jobs, cluster, Contention(min_bandwidth_share=0))
    assert_allclose(found, demands.sum() / carried, rtol=1e-14)
    assert len(set(found)) == 1


@given(seeds, st.sampled_from(["iteration", "network"]))
def test_b_no_link_carries_more_than_its_rate(seed, basis):
    jobs, cluster = beside(seed)
    contention = Contention(basis=basis, min_bandwidth_share=0)
    allocated = rates(jobs, basis).own / factors(jobs, cluster, contention)
    for server in range(cluster.servers):
        crossing = [len(where) > 1 and server in dict(where) for where in jobs.pinned]
        carried = allocated[np.array(crossing)].sum()
        assert carried <= cluster.nic_bytes_per_s[server] * (1 + 1e-12)


@given(seeds, bases, st.sampled_from([0.0, 0.01, 0.5]), st.booleans())
def test_c_others_and_slower_nics_make_nobody_faster(seed, basis, least, mixed):
    jobs, cluster = beside(seed, mixed=mixed)
    contention = Contention(basis=basis, min_bandwidth_share=least)
    all_of_them = factors(jobs, cluster, contention)
    before = factors(jobs, cluster, contention, len(jobs) - 1)
    assert np.all(before <= all_of_them[:-1] * (1 + 1e-12))
    slower = replace(cluster, nic_bytes_per_s=cluster.nic_bytes_per_s / 1.7)
    assert np.all(all_of_them <= factors(jobs, slower, contention) * (1 + 1e-12))


@given(seeds, bases)
def test_d_a_job_on_one_server_neither_suffers_nor_makes_others_suffer(seed, basis):
    jobs, cluster = beside(seed)
    contention = Contention(basis=basis)
    local = ((0, int(jobs.gpus[0])),)
    alone_there = replace(jobs, pinned=(local, *jobs.pinned[1:]))
    found = simulate(alone_there, cluster, contention=contention)
    assert found.end_ns[0] - found.start_ns[0] == jobs.duration_ns[0]
    silent = replace(alone_there, nic_bytes=np.append(0.0, jobs.nic_bytes[1:]))
    without = simulate(silent, cluster, contention=contention)
    assert_array_equal(found.end_ns, without.end_ns)


@given(seeds, bases, st.floats(1e-3, 1e9))
def test_e_only_bytes_over_rates_count(seed, basis, scale):
    jobs, cluster = drawn(seed, mixed=True)
    contention = Contention(basis=basis)
    found = simulate(jobs, cluster, contention=contention, policy="load-balancing")
    scaled = simulate(
        replace(jobs, nic_bytes=jobs.nic_bytes * scale),
        replace(cluster, nic_bytes_per_s=cluster.nic_bytes_per_s * scale),
        contention=contention,
        policy="load-balancing",
    )
    assert_allclose(scaled.end_ns, found.end_ns, rtol=1e-9)


@given(seeds, bases)
def test_f_names_of_servers_do_not_matter(seed, basis):
    jobs, cluster = beside(seed)
    contention = Contention(basis=basis)
    order = np.random.default_rng(seed).permutation(cluster.servers)
    new_number = np.argsort(order)
    renamed = simulate(
        replace(
            jobs,
            pinned=tuple(
                tuple(sorted((int(new_number[server]), n) for server, n in where))
                for where in jobs.pinned
            ),
        ),
        replace(cluster, nic_bytes_per_s=cluster.nic_bytes_per_s[order]),
        contention=contention,
    )
    found = simulate(jobs, cluster, contention=contention)
    assert_array_equal(found.end_ns, renamed.end_ns)
    assert_array_equal(found.factor, renamed.factor)


@given(seeds, bases)
def test_f_order_of_jobs_that_come_together_does_not_matter(seed, basis):
    jobs, cluster = beside(seed)
    contention = Contention(basis=basis)
    jobs = replace(jobs, submit_ns=np.zeros_like(jobs.submit_ns))
    order = np.random.default_rng(seed).permutation(len(jobs))
    other = {}
    for name in Jobs.__slots__:
        column = getattr(jobs, name)
        other[name] = (
            tuple(column[at] for at in order)
            if isinstance(column, tuple)
            else column[order]
        )
    found = simulate(jobs, cluster, contention=contention)
    reordered = simulate(Jobs(**other), cluster, contention=contention)
    assert_array_equal(reordered.end_ns, found.end_ns[order])


@pytest.mark.parametrize("model", ["mosim", "pollux"])
@given(
    seeds,
    bases,
    st.sampled_from(POLICIES),
    st.sampled_from(QUEUES),
    st.sampled_from([0.0, 0.01, 1.0]),
    st.booleans(),
)
def test_g_nics_without_limit_are_no_contention(
    model, seed, basis, policy, queue, least, ties
):
    jobs, cluster = drawn(seed, mixed=True, ties=ties)
    endless = replace(cluster, nic_bytes_per_s=np.full(cluster.servers, inf))
    contention = Contention(model, basis, min_bandwidth_share=least)
    found = simulate(jobs, endless, contention=contention, policy=policy, queue=queue)
    none = Contention("tiresias")
    other = simulate(jobs, cluster, contention=none, policy=policy, queue=queue)
    assert_array_equal(found.start_ns, other.start_ns)
    assert_array_equal(found.end_ns, other.end_ns)
    assert_array_equal(found.solo_ns, other.solo_ns)
    assert found.placements == other.placements
    assert np.all(found.factor == 1)


@given(
    seeds,
    bases,
    st.integers(0, 2**62),
    st.sampled_from(["mosim", "pollux", "tiresias"]),
)
def test_h_a_job_alone_takes_its_own_time(seed, basis, duration_ns, model):
    jobs, cluster = beside(seed)
    one = replace(
        jobs,
        submit_ns=np.arange(len(jobs)) * 2**59 // len(jobs),
        duration_ns=np.where(np.arange(len(jobs)) == 0, duration_ns % 2**59, 0),
        nic_bytes=np.where(np.arange(len(jobs)) == 0, jobs.nic_bytes, 0.0),
    )
    fast = replace(
        cluster, nic_bytes_per_s=cluster.nic_bytes_per_s + rates(jobs, basis).own[0]
    )
    found = simulate(one, fast, contention=Contention(model, basis))
    assert_array_equal(found.end_ns - found.start_ns, one.duration_ns)
    assert found.factor[0] == 1
    assert not found.notes


@given(seeds, bases)
def test_h_a_profile_of_a_faster_network_is_told_and_can_be_made_good(seed, basis):
    jobs, cluster = beside(seed)
    one = replace(jobs, nic_bytes=np.where(np.arange(len(jobs)) == 0, jobs.nic_bytes, 0.0))
    asked = rates(one, basis).own[0]
    where = one.pinned[0]
    rate = min(cluster.nic_bytes_per_s[server] for server, _ in where)
    assume(len(where) > 1 and asked > rate * 1.001)
    found = simulate(one, cluster, contention=Contention(basis=basis))
    assert_allclose(found.factor[0], asked / rate)
    assert_allclose(found.solo_ns[0], found.end_ns[0] - found.start_ns[0], atol=1)
    assert [(note.reason, note.count, note.where) for note in found.notes] == [
        ("profile_exceeds_nic", 1, f"job {one.job_id[0]}")
    ]
    good = simulate(one, cluster, contention=Contention(basis=basis, normalise_solo=True))
    assert good.end_ns[0] - good.start_ns[0] == one.duration_ns[0] == good.solo_ns[0]
    assert good.factor[0] == 1
    assert "divided" in good.notes[0].detail
