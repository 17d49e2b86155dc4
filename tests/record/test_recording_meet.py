"""Ranks meet before a window: all that can come, and nobody waits for who cannot."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs the extra torch")

import torch

from synctax.record import meet as meeting
from synctax.record.meet import Meeting, Room, be_absent, gather, meet, stay_away
from synctax.record.ranks import Who, gloo_threads, who

pytestmark = pytest.mark.torch

WHO = Who(
    rank=0, world_size=2, backend="gloo", has_group=True, host="h", pid=1, torch="2.13"
)


def together(ranks, act):
    with ThreadPoolExecutor(ranks) as pool:
        return list(pool.map(act, range(ranks)))


@pytest.fixture
def store():
    return torch.distributed.HashStore()


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.sampled_from("rba"), min_size=n, max_size=n)
    )
)
def test_all_that_come_agree_on_who_came_and_who_is_busy(kinds):
    store, ranks = torch.distributed.HashStore(), len(kinds)

    def act(rank):
        room = Room(store, rank, 3)
        if kinds[rank] == "a":
            return be_absent(room)
        return meet(room, ranks, ready=kinds[rank] == "r", timeout_s=20)

    found = {found for found in together(ranks, act) if found is not None}
    expected = Meeting(ranks - kinds.count("a"), ranks, kinds.count("b"))
    assert found in ({expected}, set())
    assert expected.complete == ("a" not in kinds)


def test_a_rank_that_never_comes_is_waited_for_and_no_longer(store):
    found = together(
        2, lambda rank: meet(Room(store, rank, 0), 3, ready=True, timeout_s=0.05)
    )
    assert found == [Meeting(2, 3, 0)] * 2
    assert found[0].words() == "2 of 3 ranks met before the window"
    assert found[0].met == 2


def test_who_comes_late_goes_on_at_once(store):
    assert meet(Room(store, 0, 0), 2, ready=True, timeout_s=0.01) == Meeting(1, 2, 0)
    assert meet(Room(store, 1, 0), 2, ready=True, timeout_s=60) == Meeting(1, 2, 0)


def test_meetings_at_one_step_are_told_apart(store):
    for _ in range(3):
        found = together(
            2, lambda rank: meet(Room(store, rank, 7), 2, ready=True, timeout_s=20)
        )
        assert found == [Meeting(2, 2, 0)] * 2


def test_a_missed_meeting_spoils_none_at_another_step(store):
    meet(Room(store, 0, 1), 2, ready=True, timeout_s=0.01)
    found = together(
        2, lambda rank: meet(Room(store, rank, 2), 2, ready=True, timeout_s=20)
    )
    assert found == [Meeting(2, 2, 0)] * 2


def test_a_rank_alone_meets_itself_without_a_store():
    alone = replace(WHO, world_size=1, has_group=False)
    found = gather(alone, 0, ready=True, timeout_s=60)
    assert (found.met, found.words(), found.busy) == (True, "", 0)
    assert gather(alone, 0, ready=False, timeout_s=60).busy == 1


def test_ranks_without_a_group_cannot_meet_and_it_is_said():
    found = gather(replace(WHO, has_group=False), 0, ready=True, timeout_s=60)
    assert found.met is False
    assert (
        found.words() == "ranks did not meet before the window: there is no process group"
    )


def test_no_time_to_wait_is_no_meeting(monkeypatch):
    monkeypatch.setattr(meeting, "default_store", lambda: pytest.fail("asked the store"))
    assert gather(WHO, 0, ready=True, timeout_s=0).met is False


@pytest.mark.parametrize(
    "store",
    [
        SimpleNamespace(),
        None,
        SimpleNamespace(
            add=lambda *_: (_ for _ in ()).throw(NotImplementedError("no add"))
        ),
        SimpleNamespace(add=lambda *_: (_ for _ in ()).throw(OSError("connection reset"))),
        SimpleNamespace(add=lambda *_: "many"),
    ],
)
def test_a_store_that_cannot_is_no_reason_to_fail(monkeypatch, store):
    monkeypatch.setattr(meeting, "default_store", lambda: store)
    found = gather(WHO, 0, ready=True, timeout_s=60)
    assert (found.came, found.met) == (1, False)
    assert found.words().startswith("ranks did not meet before the window: ")
    stay_away(WHO, 0)


def test_where_all_others_stay_away_one_goes_on(monkeypatch, store):
    monkeypatch.setattr(meeting, "default_store", lambda: store)
    stay_away(replace(WHO, rank=1), 5)
    stay_away(replace(WHO, rank=1, has_group=False), 5)  # not a second time
    found = gather(WHO, 5, ready=True, timeout_s=60)
    assert (found, found.met) == (Meeting(1, 2, 0), False)


def test_who_dies_on_the_way_out_is_not_waited_for(monkeypatch, store):
    monkeypatch.setattr(meeting, "GO_TIMEOUT_S", 0.01)
    room = Room(store, 1, 0)
    room.add("came")  # and no further
    monkeypatch.setattr(meeting, "default_store", lambda: store)
    found = gather(WHO, 0, ready=True, timeout_s=60)
    assert found.came == 1
    assert "RuntimeError" in found.words() or "DistStoreError" in found.words()


def test_who_is_to_end_waits_no_longer_and_the_others_know_it(store):
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 2

    room = Room(store, 0, 0)
    assert meet(room, 2, ready=True, timeout_s=60, stop=stop) == Meeting(1, 2, 0)
    assert meet(Room(store, 1, 0), 2, ready=True, timeout_s=60) == Meeting(1, 2, 0)


def test_who_is_to_end_is_not_set_off(monkeypatch, store):
    monkeypatch.setattr(meeting, "GO_SLICE_S", 0.01)
    other = Room(store, 1, 0)
    other.add("came")  # and no further
    asked = iter([False, True])  # once before it waits to be set off, and then
    room = Room(store, 0, 0)
    found = meet(room, 2, ready=True, timeout_s=60, stop=lambda: next(asked))
    assert found == Meeting(2, 2, 0)
    assert next(asked, None) is None


def test_a_wait_to_be_set_off_goes_on_where_nobody_is_to_end(monkeypatch, store):
    monkeypatch.setattr(meeting, "GO_SLICE_S", 0.01)
    room = Room(store, 0, 0)
    timer = threading.Timer(0.1, Room.go, [room])
    timer.start()
    room.wait_for_go(meeting.go_on)
    timer.join()
    assert not timer.is_alive()


@given(st.integers(2, 10**5))
def test_all_ranks_together_ask_the_store_no_more_often_than_it_bears(ranks):
    pause_s = meeting.longest_pause_s(ranks)
    assert 0.05 <= pause_s <= 0.5  # a signal is acted upon within a second
    asked_per_s = ranks / pause_s
    assert asked_per_s <= 1.001 * meeting.QUESTIONS_PER_S or pause_s == 0.5


@pytest.mark.parametrize("there", [True, False])
def test_a_store_whose_server_is_gone_is_not_asked(monkeypatch, there):
    asked = []
    with socket.create_server(("localhost", 0)) as server:
        inner = SimpleNamespace(host="localhost", port=server.getsockname()[1])
        store = SimpleNamespace(
            underlying_store=SimpleNamespace(underlying_store=inner),
            add=lambda key, count: asked.append(key) or 1,
        )
        monkeypatch.setattr(meeting, "default_store", lambda: store)
        if not there:
            server.close()
        stay_away(WHO, 0)
    assert bool(asked) is there


# ------------------------------------------------------------------ who


def test_rank_and_size_are_those_of_the_environment_without_a_group(monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    told = who()
    assert (told.rank, told.world_size, told.backend, told.has_group) == (2, 4, "", False)


@pytest.mark.parametrize(
    ("rank", "size", "expected"),
    [("", "", (0, 1)), ("x", "-3", (0, 1)), ("5", "2", (5, 6))],
)
def test_an_environment_without_sense_is_a_job_of_its_own(
    monkeypatch, rank, size, expected
):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", size)
    assert (who().rank, who().world_size) == expected


def test_threads_of_gloo_are_found_by_their_name_oldest_first(tmp_path):
    gloo, before = "pt_gloo_runloop", "S " + "0 " * 18
    for thread, name, began in ((30, gloo, 7), (4, gloo, 90), (31, gloo, 7), (5, "sh", 1)):
        (tmp_path / str(thread)).mkdir()
        (tmp_path / str(thread) / "comm").write_text(name + "\n")
        stat = f"{thread} (a (b) c) {before}{began} 0"
        (tmp_path / str(thread) / "stat").write_text(stat)
    (tmp_path / "32" / "comm").mkdir(parents=True)  # cannot be read, as of one that ended
    assert gloo_threads(tmp_path) == [30, 31, 4]
    assert gloo_threads(tmp_path / "none") == []
    assert threading.get_native_id() not in gloo_threads()
