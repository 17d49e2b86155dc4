"""Timelines of clusters, as a viewer of Chrome's trace events would take them."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.cluster.engine import simulate
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import SwitchTier, uniform
from synctax.cluster.settings import Contention, Rates
from synctax.cluster.timeline import chrome_trace, slices, workers
from tests.cluster.simulations import ran

HALVES = ((0, 4), (1, 4))


def events(simulation, **options):
    """The events of a timeline, by their phase."""
    found: dict[str, list[dict]] = {"M": [], "X": [], "C": []}
    document = json.loads(b"".join(chrome_trace(simulation, **options)))
    for event in document["traceEvents"]:
        found[event["ph"]].append(event)
    return found


def counter(found, name, pid=1):
    """A counter's values by time in s."""
    mine = [e for e in found["C"] if e["name"] == name and e["pid"] == pid]
    return {e["ts"] / 1e6: next(iter(e["args"].values())) for e in mine}


def two(**options):
    """Two jobs of eight GPUs on two servers, whose NICs carry 5 of the 8 demanded."""
    jobs = simple_jobs(
        [(0, 8, 1000), (0, 8, 400)],
        compute_s=[0.5, 0.3],
        network_s=0.5,
        network_bytes=[12, 16],
        pinned=[HALVES, HALVES],
    )
    return simulate(jobs, uniform(2, 8, 5.0, gpu_type="v100"), **options)


jobs = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 20)),
    min_size=1,
    max_size=15,
)


@given(jobs, st.sampled_from(["bin-packing", "load-balancing"]))
def test_every_worker_has_a_gpu_of_its_own_on_the_server_of_its_job(rows, policy):
    found = simulate(simple_jobs(rows), uniform(3, 4, 1.0), policy=policy)
    placed = workers(found)
    assert slices(found) == placed.job.size == found.jobs.gpus.sum()
    for job, where in enumerate(found.placements):
        mine = placed.server[placed.job == job]
        assert where == tuple(zip(*np.unique(mine, return_counts=True), strict=True))
    assert placed.gpu.max() < 4
    start, end = found.start_ns[placed.job], found.end_ns[placed.job]
    for server in range(3):
        for gpu in range(4):
            at = np.flatnonzero((placed.server == server) & (placed.gpu == gpu))
            # instants take no time of a GPU
            at = at[start[at] < end[at]]
            order = at[np.argsort(start[at])]
            assert np.all(end[order][:-1] <= start[order][1:])


@given(jobs, st.integers(0, 999))
def test_slices_of_a_row_follow_each_other_in_whole_microseconds(rows, late_ns):
    # a third of a second is no whole number of them
    late = [(a + late_ns / 1e9, gpus, took / 3) for a, gpus, took in rows]
    drawn = events(simulate(simple_jobs(late), uniform(3, 4, 1.0)))
    rows = {}
    for one in sorted(drawn["X"], key=lambda one: one["ts"]):
        assert isinstance(one["ts"], int)
        assert isinstance(one["dur"], int)
        rows.setdefault(one["tid"], []).append((one["ts"], one["ts"] + one["dur"]))
    for spans in rows.values():
        real = [span for span in spans if span[0] < span[1]]
        assert all(a[1] <= b[0] for a, b in pairwise(real))


@given(jobs)
def test_counters_tell_what_the_cluster_counted(rows):
    found = simulate(simple_jobs(rows), uniform(3, 4, 1.0))
    drawn = events(found)
    waiting, free = counter(drawn, "jobs"), counter(drawn, "GPUs")
    # jobs that arrive as others end wait for no time
    assert max(waiting.values()) <= found.use.queue_max
    lasted_s = (found.end_ns.max() - found.jobs.submit_ns.min()) / 1e9
    ends = [*list(waiting)[1:], lasted_s]
    waited = sum(
        many * (end - at) for (at, many), end in zip(waiting.items(), ends, strict=True)
    )
    assert waited == pytest.approx(found.use.queue_mean * lasted_s)
    assert all(0 <= many <= 12 for many in free.values())
    assert list(free.values())[-1] == 12


def test_a_job_is_a_slice_on_each_of_its_gpus():
    drawn = events(two())
    assert len(drawn["X"]) == 16
    first = drawn["X"][0]
    assert (first["name"], first["ts"]) == ("0 a", 0)
    assert first["dur"] == pytest.approx(1126.923077e6)
    assert first["args"] == {
        "job_id": "0",
        "workload": "",
        "gpus": 8,
        "servers": "0:4;1:4",
        "contention": pytest.approx(1.2928, abs=1e-4),
        "slowdown": pytest.approx(1.126923077),
        "wait_s": 0,
        "training_s": pytest.approx(1126.923077),
        "solo_s": 1000,
    }
    # each row is one GPU, and each GPU one row
    assert len({(one["pid"], one["tid"]) for one in drawn["X"]}) == 16


def test_rows_have_names_and_no_thread_the_number_of_a_process():
    drawn = events(two())
    names = {
        (e["pid"], e.get("tid")): e["args"]["name"]
        for e in drawn["M"]
        if e["name"] in ("process_name", "thread_name")
    }
    assert names[(1, None)] == "cluster"
    assert names[(3, None)] == "server 1 (v100)"
    threads = [tid for _, tid in names if tid is not None]
    assert len(set(threads)) == len(threads) == 16
    assert not set(threads) & {pid for pid, _ in names}
    assert {name for (_, tid), name in names.items() if tid} == {
        f"GPU {gpu}" for gpu in range(8)
    }
    for one in drawn["X"]:
        assert (one["pid"], one["tid"]) in names


def test_what_is_demanded_of_a_nic_changes_when_a_job_ends():
    for pid in (2, 3):
        found = counter(events(two()), "NIC", pid)
        assert list(found) == pytest.approx([0, 550, 1126.923077])
        assert list(found.values()) == pytest.approx([1.6, 0.6, 0])


def test_demands_that_were_given_are_drawn():
    rates = Rates(np.array([3.0, 4.0]), np.array([3.0, 4.0]))
    found = counter(events(two(rates=rates), rates=rates), "NIC", 2)
    assert list(found.values()) == pytest.approx([1.4, 0.6, 0])


@pytest.mark.parametrize("model", ["tiresias", "pollux"])
def test_models_without_demands_draw_none(model):
    assert not counter(events(two(contention=Contention(model=model))), "NIC", 2)


def test_uplinks_belong_to_the_cluster_and_links_without_limit_are_not_drawn():
    rows = simple_jobs(
        [(5, 8, 100)],
        network_s=1.0,
        network_bytes=[16],
        pinned=[((0, 4), (2, 4))],
    )
    tiers = (SwitchTier(2, 2.0),)
    drawn = events(simulate(rows, uniform(4, 8, 5.0, tiers=tiers)))
    names = {(one["name"], one["pid"]) for one in drawn["C"]}
    assert names == {
        *(("GPUs", 1), ("jobs", 1), ("NIC", 2), ("NIC", 4)),
        *(("tier 0 block 0", 1), ("tier 0 block 1", 1)),
    }
    # time is counted from the first submission
    assert list(counter(drawn, "GPUs")) == [0, 100]
    endless = events(simulate(rows, uniform(4, 8, float("inf"))))
    assert {one["name"] for one in endless["C"]} == {"GPUs", "jobs"}


def test_some_servers_are_drawn_as_they_are_among_all():
    every, some = events(two()), events(two(), servers=frozenset({1}))
    assert some["X"] == [one for one in every["X"] if one["pid"] == 3]
    assert {one["pid"] for one in some["C"]} == {1, 3}
    assert {one["pid"] for one in some["M"]} == {1, 3}
    assert slices(two(), frozenset({1})) == 8


def test_jobs_differ_by_letters_for_viewers_pass_over_digits():
    rows = [(0, at, at + 1, ((0, 1),)) for at in range(60)]
    names = {one["name"].rstrip("0123456789") for one in events(ran(rows))["X"]}
    assert (
        len({name.translate(str.maketrans("", "", "0123456789")) for name in names}) == 60
    )
