"""Which servers a job gets from the policies that are built in."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.cluster.choices import ALIASES, POLICIES
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.policies.ask import ask
from synctax.cluster.policies.built_in import BUILT_IN, built_in
from synctax.cluster.policies.free import FreeGpus, lowest
from synctax.cluster.policies.policy import JobView, placement_of
from tests.laws import examples

MIXED = [3, 8, 5]
"""Free GPUs of three servers."""

small_clusters = st.lists(st.integers(0, 6), min_size=1, max_size=7)
clusters = st.one_of(
    small_clusters,
    st.lists(st.sampled_from([0, 1, 2, 3, 4, 7, 8, 72]), min_size=1, max_size=60),
    # many that are equal: jobs that take some of them whole and leave others
    st.lists(st.sampled_from([2, 4]), min_size=2, max_size=9),
)


def placed(name: str, free: list[int], gpus: int) -> dict[int, int] | None:
    return BUILT_IN[name].place(FreeGpus(np.array(free)), gpus)


def emptiest_for_each_worker(free: list[int], gpus: int) -> dict[int, int]:
    return worker_by_worker(free, gpus, lambda left, server: (-left[server], server))


def fullest_for_each_worker(free: list[int], gpus: int) -> dict[int, int]:
    return worker_by_worker(free, gpus, lambda left, server: (left[server], server))


def rounds_over_servers(free: list[int], gpus: int) -> dict[int, int]:
    def rank(left: list[int], server: int) -> tuple[int, int, int]:
        return free[server] - left[server], -free[server], server

    return worker_by_worker(free, gpus, rank)


def worker_by_worker(free, gpus, rank) -> dict[int, int]:
    left = list(free)
    for _ in range(gpus):
        has = [server for server in range(len(left)) if left[server]]
        left[min(has, key=lambda server: rank(left, server))] -= 1
    taken = {at: was - now for at, (was, now) in enumerate(zip(free, left, strict=True))}
    return {server: workers for server, workers in taken.items() if workers}


def server_by_server(free: list[int], gpus: int) -> dict[int, int]:
    """Bin-packing, word for word."""
    left, taken = list(free), {}
    while gpus:
        holds = [server for server in range(len(left)) if left[server] >= gpus]
        if holds:
            best = min(holds, key=lambda server: (left[server], server))
        else:
            best = max(range(len(left)), key=lambda server: (left[server], -server))
        taken[best] = min(gpus, left[best])
        gpus -= taken[best]
        left[best] = 0
    return taken


WORD_FOR_WORD = {
    "bin-packing": server_by_server,
    "most-allocated": fullest_for_each_worker,
    "load-balancing": emptiest_for_each_worker,
    "spread": rounds_over_servers,
}


@pytest.mark.parametrize("name", POLICIES)
@given(free=clusters, data=st.data())
@settings(max_examples=examples(200))
def test_a_job_is_placed_word_for_word_as_its_policy_says(name, free, data):
    gpus = data.draw(st.integers(1, max(1, sum(free))))
    found = placed(name, free, gpus)
    if gpus > sum(free):
        assert found is None
        return
    assert found == WORD_FOR_WORD[name](free, gpus)
    assert sum(found.values()) == gpus
    assert all(0 < workers <= free[server] for server, workers in found.items())


@given(small_clusters, st.data())
def test_bin_packing_uses_the_fewest_servers_and_spread_the_most(free, data):
    gpus = data.draw(st.integers(1, max(1, sum(free))))
    if gpus > sum(free):
        return

    def holds(many: int) -> bool:
        return any(sum(some) >= gpus for some in combinations(free, many))

    fewest = next(many for many in range(1, len(free) + 1) if holds(many))
    assert len(placed("bin-packing", free, gpus)) == fewest
    assert len(placed("spread", free, gpus)) == min(gpus, sum(one > 0 for one in free))


@given(small_clusters, st.data())
def test_no_server_of_a_spread_job_has_two_workers_more_than_one_with_a_free_gpu(
    free, data
):
    gpus = data.draw(st.integers(1, max(1, sum(free))))
    found = placed("spread", free, gpus) or {}
    most = max(found.values(), default=0)
    spare = [found.get(at, 0) for at, many in enumerate(free) if found.get(at, 0) < many]
    assert most - min(spare, default=most) <= 1


@pytest.mark.parametrize(
    ("name", "gpus", "expected"),
    [
        ("bin-packing", 4, {2: 4}),
        ("bin-packing", 8, {1: 8}),
        ("bin-packing", 10, {1: 8, 0: 2}),
        ("bin-packing", 12, {1: 8, 2: 4}),
        ("bin-packing", 14, {1: 8, 2: 5, 0: 1}),
        ("most-allocated", 8, {0: 3, 2: 5}),
        ("least-allocated", 4, {1: 4}),
        ("least-allocated", 8, {1: 5, 2: 2, 0: 1}),
        ("load-balancing", 8, {1: 5, 2: 2, 0: 1}),
        ("spread", 4, {1: 2, 2: 1, 0: 1}),
    ],
)
def test_jobs_on_three_servers_with_3_8_and_5_free_gpus(name, gpus, expected):
    assert built_in(name).place(FreeGpus(np.array(MIXED)), gpus) == expected


@pytest.mark.parametrize("name", ["load-balancing", "spread"])
def test_a_job_on_two_empty_servers_of_8_is_halved_by_both_that_spread(name):
    assert placed(name, [8, 8], 8) == {0: 4, 1: 4}


@pytest.mark.parametrize("name", POLICIES)
def test_of_equal_servers_the_first_is_taken(name):
    assert placed(name, [0, 4, 4, 4], 1) == {1: 1}


@pytest.mark.parametrize("name", ["bin-packing", "most-allocated"])
def test_servers_that_a_job_fills_leave_no_worker_to_the_next(name):
    assert placed(name, [0, 4, 4, 4], 8) == {1: 4, 2: 4}


@pytest.mark.parametrize("name", [*POLICIES, *ALIASES])
def test_a_policy_places_the_same_whether_asked_by_array_or_by_what_a_simulation_keeps(
    name,
):
    policy, free = built_in(name), FreeGpus(np.array(MIXED))
    job = JobView(simple_jobs([(0, 9, 1)]), 0)
    asked = ask(policy, name, free, job, state=None)
    assert asked == placement_of(policy(np.array(MIXED), job))
    assert asked == tuple(sorted(policy.place(free, 9).items()))


@pytest.mark.parametrize("name", POLICIES)
def test_a_job_that_wants_more_than_is_free_waits(name):
    job = JobView(simple_jobs([(0, 17, 1)]), 0)
    assert ask(built_in(name), name, FreeGpus(np.array(MIXED)), job, None) is None


@given(clusters, st.data())
@settings(max_examples=examples(60))
def test_free_gpus_after_jobs_came_and_went_are_as_if_counted_anew(gpus, data):
    kept, left, running = FreeGpus(np.array(gpus)), np.array(gpus), []
    for _ in range(data.draw(st.integers(1, 12))):
        if running and data.draw(st.booleans()):
            placement = running.pop(data.draw(st.integers(0, len(running) - 1)))
            kept.release(placement)
            change = 1
        elif left.sum():
            many = data.draw(st.integers(1, int(left.sum())))
            policy = data.draw(st.sampled_from(POLICIES))
            placement = placement_of(BUILT_IN[policy].place(kept, many))
            kept.take(placement)
            running.append(placement)
            change = -1
        else:
            continue
        for server, workers in placement:
            left[server] += change * workers
        anew = FreeGpus(left)
        assert kept.gpus.tolist() == left.tolist()
        assert (kept.total, kept.levels) == (left.sum(), anew.levels)
        assert [kept.servers(one) for one in kept.levels] == [
            anew.servers(one) for one in anew.levels
        ]


@given(st.sets(st.integers(0, 300)), st.integers(0, 60))
def test_the_lowest_servers_of_a_set_are_its_first_in_order(servers, count):
    bits = sum(1 << server for server in servers)
    assert lowest(bits, count) == sorted(servers)[:count]


def test_more_gpus_than_are_free_cannot_be_taken_and_nothing_is():
    free = FreeGpus(np.array(MIXED))
    with pytest.raises(ValueError, match="more GPUs than are free"):
        free.take(((1, 2), (2, 6)))
    assert free.gpus.tolist() == MIXED


def test_what_a_policy_is_shown_of_free_gpus_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        FreeGpus(np.array(MIXED)).gpus[0] = 8


def test_a_policy_sees_a_job_in_seconds_bytes_a_second_and_by_its_own_name():
    jobs = simple_jobs(
        [(5, 4, 100)], compute_s=0.5, network_s=0.3, network_bytes=8e9, counting="sent"
    )
    job = JobView(jobs, 0)
    assert (job.job_id, job.gpus, job.workload) == ("0", 4, "")
    assert (job.submit_s, job.duration_s) == (5, 100)
    assert (job.compute_s, job.network_s, job.iteration_s) == (0.5, 0.3, 0.8)
    assert job.bytes_per_s == 2e9 / 0.8
