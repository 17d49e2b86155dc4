"""Who of those that wait may start."""

from dataclasses import replace
from heapq import heapify
from itertools import islice
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.cluster.choices import QUEUES
from synctax.cluster.engine import simulate
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import uniform
from synctax.cluster.queues.ascending import ascending
from synctax.cluster.queues.easy import Easy
from synctax.cluster.queues.lane import Lane
from synctax.cluster.queues.lookup import queue
from synctax.cluster.queues.reservation import reserve
from synctax.cluster.settings import Contention
from synctax.planning.possible import ImpossibleError
from tests.cluster.desks import (
    Day,
    EveryoneAsked,
    EveryoneAskedButPromised,
    Row,
    promised,
)
from tests.cluster.engine_cases import drawn
from tests.laws import examples

S = 1_000_000_000

clusters = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@st.composite
def days(draw, pinned: bool = False):
    """A cluster that is short of GPUs, and jobs in order of submission."""
    servers = draw(clusters)
    rows, now = [], 0
    for _ in range(draw(st.integers(1, 40))):
        now += draw(st.integers(0, 3))
        gpus = draw(st.integers(1, sum(servers)))
        where = None
        if pinned and draw(st.integers(0, 2)) == 0:
            server = draw(st.integers(0, len(servers) - 1))
            gpus = draw(st.integers(1, servers[server]))
            where = ((server, gpus),)
        rows.append(Row(now, gpus, draw(st.integers(0, 20)), where))
    return rows, servers


@given(days(pinned=True))
@settings(max_examples=examples(300))
def test_backfill_starts_the_same_jobs_at_the_same_times_as_asking_all_that_wait(made):
    found, naive = Day(*made), Day(*made)
    found.run(queue("backfill"))
    naive.run(EveryoneAsked())
    assert (found.order, found.starts) == (naive.order, naive.starts)


@given(days(pinned=True))
@settings(max_examples=examples(300))
def test_easy_starts_the_same_jobs_at_the_same_times_as_asking_all_that_wait(made):
    found, naive = Day(*made), Day(*made)
    found.run(queue("easy"))
    naive.run(EveryoneAskedButPromised())
    assert (found.order, found.starts) == (naive.order, naive.starts)


@given(days(pinned=True))
@settings(max_examples=examples(100))
def test_fifo_starts_jobs_in_order_of_arrival_and_none_while_the_first_could(made):
    def first_cannot(day: Day, waiting) -> None:
        head = len(day.starts)
        if len(waiting):
            row = day.rows[head]
            fits = day.free_gpus >= row.gpus
            assert not (day.free.fits(row.pinned) if row.pinned else fits)

    day = Day(*made)
    day.run(queue("fifo"), first_cannot)
    assert day.order == sorted(day.order)


@given(days())
@settings(max_examples=examples(200))
def test_easy_lets_no_job_start_later_than_was_promised_when_it_came_first(made):
    promises: dict[int, int] = {}

    def promise(day: Day, waiting) -> None:
        if len(waiting):
            head = min(set(range(len(day.rows))) - set(day.starts))
            promises.setdefault(head, promised(day, head)[0])

    starts = Day(*made).run(queue("easy"), promise)
    assert all(starts[job] <= latest for job, latest in promises.items())


@given(days())
@settings(max_examples=examples(100))
def test_after_backfill_no_job_waits_for_which_enough_gpus_are_free(made):
    def none_fits(day: Day, waiting) -> None:
        came = [job for job, row in enumerate(day.rows) if row.submit <= day.now_ns]
        left = [day.rows[job].gpus for job in came if job not in day.starts]
        assert all(gpus > day.free_gpus for gpus in left)

    Day(*made).run(queue("backfill"), none_fits)


@given(days(), st.sampled_from(QUEUES))
@settings(max_examples=examples(100))
def test_jobs_that_never_wait_start_when_they_come_whatever_the_queue(made, name):
    rows, servers = made
    large = [sum(row.gpus for row in rows), *servers]
    assert Day(rows, large).run(queue(name)) == [row.submit for row in rows]


THREE = [Row(0, 6, 100 * S), Row(1 * S, 4, 50 * S), Row(2 * S, 2, 30 * S)]
"""On one server of 8 GPUs."""


@pytest.mark.parametrize(
    ("name", "ends"),
    [("backfill", [100, 150, 32]), ("fifo", [100, 150, 130]), ("easy", [100, 150, 32])],
)
def test_three_jobs_on_one_server_end_as_by_hand(name, ends):
    starts = Day(THREE, [8]).run(queue(name))
    assert starts == [ends[at] * S - row.duration for at, row in enumerate(THREE)]


def test_a_job_that_comes_when_another_ends_starts_at_once():
    rows = [Row(0, 8, 10 * S), Row(10 * S, 8, S)]
    for name in QUEUES:
        assert Day(rows, [8]).run(queue(name)) == [0, 10 * S]


NARROW_AND_WIDE = [
    Row(0, 4, 10),
    Row(1, 8, 5),
    *(Row(6 * at, 4, 10) for at in range(1, 40)),
]
"""Each narrow job comes before the one before it ends: 8 GPUs are never free at once."""


@pytest.mark.parametrize(("name", "starts"), [("fifo", 10), ("easy", 10)])
def test_a_wide_job_that_waits_for_all_narrow_ones_under_backfill_does_not(name, starts):
    assert Day(NARROW_AND_WIDE, [8]).run(queue(name))[1] == starts
    last = max(Day(NARROW_AND_WIDE, [8]).run(queue("backfill"))[2:])
    assert Day(NARROW_AND_WIDE, [8]).run(queue("backfill"))[1] > last


HEAD = [Row(0, 6, 100), Row(1, 6, 50)]
"""The second waits for the first to end at 100; 2 GPUs are free now, and 2 extra then."""


@pytest.mark.parametrize(
    ("others", "starts"),
    [
        ([Row(2, 2, 98)], [2]),
        ([Row(2, 2, 99)], [2]),
        ([Row(2, 1, 99), Row(3, 1, 1000)], [2, 3]),
        ([Row(2, 2, 1000), Row(3, 2, 1000)], [2, 150]),
    ],
)
def test_easy_lets_jobs_pass_that_end_in_time_or_use_gpus_that_are_to_spare(others, starts):
    assert Day(HEAD + others, [8]).run(queue("easy"))[2:] == starts


@pytest.mark.parametrize(("duration", "starts"), [(98, 2), (99, 150)])
def test_easy_lets_a_job_pass_that_ends_when_the_first_starts_and_not_one_ns_later(
    duration, starts
):
    rows = [Row(0, 6, 100), Row(1, 8, 50), Row(2, 2, duration)]
    assert Day(rows, [8]).run(queue("easy")) == [0, 100, starts]


def test_jobs_that_end_together_are_all_extra_gpus_of_a_reservation():
    # at 100 both end: the first that waits could start with the GPUs of one of them
    rows = [Row(0, 4, 100), Row(0, 3, 100), Row(1, 4, 10), Row(2, 1, 1000)]
    assert Day(rows, [8]).run(queue("easy")) == [0, 0, 100, 2]


def test_a_job_that_ends_in_time_leaves_the_extra_gpus_to_others():
    rows = [Row(0, 6, 100), Row(1, 7, 50), Row(2, 1, 98), Row(2, 1, 1000)]
    assert Day(rows, [8]).run(queue("easy")) == [0, 100, 2, 2]


def test_extra_gpus_are_given_away_once_whatever_the_widths_of_jobs():
    rows = [Row(0, 5, 100), Row(1, 6, 50), Row(2, 2, 1000), Row(2, 1, 1000)]
    assert Day(rows, [8]).run(queue("easy")) == [0, 100, 2, 150]


def test_jobs_started_at_the_same_instant_count_for_a_reservation():
    # the first that waits can start at 10, when the job ends that starts with it
    rows = [Row(0, 6, 10), Row(0, 4, 10), Row(0, 2, 10), Row(0, 2, 11)]
    assert Day(rows, [8]).run(queue("easy")) == [0, 10, 0, 10]


def test_nothing_passes_a_pinned_job_beyond_the_next_end():
    # it waits for server 0, and 4 GPUs of server 1 are free
    rows = [
        Row(0, 2, 40, ((0, 2),)),
        Row(0, 2, 30, ((1, 2),)),
        Row(1, 4, 10, ((0, 4),)),
        Row(2, 1, 28),
        Row(2, 1, 29),
    ]
    starts = Day(rows, [4, 6]).run(queue("easy"))
    assert starts[:4] == [0, 0, 40, 2]
    assert starts[4] > 2


def test_a_first_job_that_is_refused_on_an_idle_cluster_holds_nobody_up():
    class Closed(Day):
        def place(self, job: int) -> bool:
            return job > 0 and super().place(job)

    day, waiting = Closed([Row(0, 1, 5), Row(0, 1, 5)], [4]), queue("easy")
    for job in range(2):
        waiting.add(job)
    waiting.start(day)
    assert (day.order, len(waiting)) == ([1], 1)


def test_a_job_of_no_length_lets_the_queue_start_again_at_the_same_instant():
    rows = [Row(0, 8, 0), Row(0, 8, 5)]
    for name in QUEUES:
        assert Day(rows, [8]).run(queue(name)) == [0, 0]


def test_no_queue_asks_for_jobs_that_cannot_start_however_many_wait():
    rows = [Row(0, 7, 10_000), *(Row(1, 8, 1) for _ in range(500))]
    rows += [Row(at, 1, 1) for at in range(2, 300)]
    for name in ("backfill", "easy"):
        day = Day(rows, [8])
        day.run(queue(name))
        assert day.asked <= len(rows) + 1


@given(
    st.lists(
        st.one_of(
            st.integers(0, 30),
            st.tuples(st.just("remove"), st.integers(0, 50)),
            st.tuples(st.just("find"), st.integers(0, 50), st.integers(0, 30)),
        ),
        max_size=120,
    )
)
@settings(max_examples=examples(200))
def test_a_lane_finds_what_going_through_it_finds(steps):
    lane, kept = Lane(), []

    def place_of(job: int) -> int:
        place = lane.first()
        while lane.job(place) != job:
            place = lane.find(place + 1, 100)
        return place

    for order, step in enumerate(steps):
        if isinstance(step, int):
            lane.add(order, step)
            kept.append((order, step))
        elif kept and step[0] == "remove":
            job, size = kept.pop(step[1] % len(kept))
            place = place_of(job)
            assert lane.size(place) == size
            lane.remove(place)
        elif kept:
            after = step[1] % len(kept)
            found = lane.find(place_of(kept[after][0]), step[2])
            small = [job for job, size in kept[after:] if size <= step[2]]
            assert (lane.job(found) if found >= 0 else None) == next(iter(small), None)
        assert len(lane) == len(kept)
        if kept:
            assert lane.job(lane.first()) == kept[0][0]
            assert lane.least == min(size for _, size in kept)


@given(st.lists(st.integers()), st.integers(0, 20))
def test_a_heap_is_gone_through_in_order_and_stays_as_it_is(values, many):
    heap = list(values)
    heapify(heap)
    before = list(heap)
    assert list(islice(ascending(heap), many)) == sorted(values)[:many]
    assert heap == before


def test_an_unknown_queue_is_refused_with_those_that_there_are():
    with pytest.raises(ImpossibleError, match="backfill or fifo or easy"):
        queue("sjf")


@given(st.integers(0, 2**32 - 1), st.sampled_from(["bin-packing", "spread"]), st.booleans())
def test_the_first_starts_by_its_promise_however_fast_servers_are(seed, policy, aware):
    jobs, cluster = drawn(seed, mixed=True)
    jobs = replace(jobs, submit_ns=jobs.submit_ns // 20)
    promises = []

    class Promising(Easy):
        def _backfill(self, desk, gpus):
            room = reserve(desk, gpus)
            promises.append((self._head, desk.now_ns + room.window_ns))
            super()._backfill(desk, gpus)

    how = Contention("tiresias", placement_aware=aware)
    with patch.dict("synctax.cluster.queues.lookup._QUEUES", easy=Promising):
        found = simulate(jobs, cluster, contention=how, policy=policy, queue="easy")
    assert all(found.start_ns[head] <= promised_ns for head, promised_ns in promises)


def test_who_would_run_too_long_on_a_slow_server_does_not_pass():
    cluster = replace(uniform(2, 8, 1.0), speed=np.array([1, 0.5]))
    jobs = simple_jobs([(0, 8, 100), (1, 16, 10), (2, 8, 90), (2, 8, 49)])
    found = simulate(jobs, cluster, policy="bin-packing", queue="easy")
    # 90 s are 180 s on the second server, 49 s are 98 s, and 100 s are left
    assert (found.start_ns / 1e9).tolist() == [0, 100, 120, 2]


def test_ends_are_foreseen_with_who_left_at_this_instant():
    pinned = [((0, 2), (1, 2))] * 2 + [None] * 2
    jobs = simple_jobs(
        [(0, 4, 200), (0, 4, 60), (1, 16, 10), (2, 12, 200)],
        compute_s=0.5,
        network_s=0.5,
        network_bytes=[20, 20, 0, 0],
        counting="sent",
        pinned=pinned,
    )
    found = simulate(jobs, uniform(2, 8, 5.0), policy="bin-packing", queue="easy")
    # S is 2 until the second ends at 90 s; the first has 140 of its 200 s left then
    assert (found.end_ns[:2] / 1e9).tolist() == [230, 90]
    assert (found.start_ns[2:] / 1e9).tolist() == [230, 240]
