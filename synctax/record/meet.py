"""Ranks meet before the window: through the store of their group, without a collective.

A collective would take a sequence number, a stream and, with NCCL, a communicator; and it
would hang where a rank does not come.
"""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import torch.distributed

from synctax.record.ranks import Who, who
from synctax.record.trouble import TROUBLE, first_line

PREFIX = "synctax"
FIRST_PAUSE_S = 0.0005
SHORTEST_LONG_PAUSE_S, LONGEST_PAUSE_S = 0.05, 0.5
QUESTIONS_PER_S = 10_000
"""Between questions whether all have come, the pause doubles until all ranks together ask
the store so often."""
GO_TIMEOUT_S = 5.0
"""All have come, so that the last to notice sets off all within a pause, unless it dies."""
GO_SLICE_S = 1.0
"""Nothing interrupts a wait inside the store; after so long one looks whether to go on."""
REACH_S = 1.0
"""A store whose server does not answer within this is not asked."""

Stop = Callable[[], bool]
"""Tells whether this rank is to end, and not to wait any longer."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Who came.

    Parameters
    ----------
    came, expected : int
        Ranks that came in time, this one among them, of so many.
    busy : int
        Those of them that cannot begin now.
    trouble : str
        What the store said, where ranks could not meet.
    """

    came: int
    expected: int
    busy: int
    trouble: str = ""

    @property
    def complete(self) -> bool:
        """Whether all ranks came."""
        return self.came >= self.expected

    @property
    def met(self) -> bool | int:
        """Whether all came, else how many did; False if that is this rank alone."""
        return self.complete or (self.came if self.came > 1 else False)

    def words(self) -> str:
        """Say who did not come; empty if all did."""
        if self.complete:
            return ""
        if self.trouble:
            return f"ranks did not meet before the window: {self.trouble}"
        return f"{self.came} of {self.expected} ranks met before the window"


class Meetings:
    """Where a rank meets others, at most once, or lets them not wait for it.

    Parameters
    ----------
    timeout_s : float
        How long to wait for others, in seconds; 0: not at all.
    once : bool
        Whether a rank that was busy begins later, whenever it can, without others.
    """

    def __init__(self, timeout_s: float, *, once: bool) -> None:
        self._timeout_s = timeout_s
        self._once = once
        self._last: Meeting | None = None
        self._step = -1

    def meet(self, told: Who, step: int, *, ready: bool, stop: "Stop") -> Meeting:
        """Meet at a step, as `gather`."""
        last, self._step = self._last, step
        if last is None or (last.complete and not self._once):
            self._last = gather(
                told, step, ready=ready, timeout_s=self._timeout_s, stop=stop
            )
            return self._last
        # whom others did not wait for does not wait for them again
        came = 1 if self._once else last.came
        return replace(last, came=came, busy=int(not ready))

    def leave(self, step: int) -> bool:
        """Stay away from the meeting at a step; tell whether it is over, or this helped."""
        if self._step == step:
            return True
        told = who()
        if told.has_group:
            self._step = step
            stay_away(told, step)
        return told.has_group


def go_on() -> bool:
    """Let a rank wait."""
    return False


def gather(
    told: Who, step: int, *, ready: bool, timeout_s: float, stop: Stop = go_on
) -> Meeting:
    """Meet all other ranks, if there are any and they can be met.

    Parameters
    ----------
    told : Who
        This rank.
    step : int
        At which they meet; all ranks count alike.
    ready : bool
        Whether it can begin.
    timeout_s : float
        How long to wait for the others, in seconds; 0: meet nobody.
    stop : callable
        Asked again and again whether to wait no longer.
    """
    alone = Meeting(1, told.world_size, int(not ready))
    if told.world_size == 1:
        return alone
    if not told.has_group:
        return replace(alone, trouble="there is no process group")
    if timeout_s == 0:
        return replace(alone, trouble="not asked to")
    try:
        room = Room(default_store(), told.rank, step)
        return meet(room, told.world_size, ready=ready, timeout_s=timeout_s, stop=stop)
    except TROUBLE as error:
        # stores of other makers know less, and a store dies with its host
        return replace(alone, trouble=first_line(error))


def stay_away(told: Who, step: int) -> None:
    """Let the others not wait for this rank at a step."""
    if told.has_group and told.world_size > 1:
        # where the store does not work, they wait as long as they were told to
        with suppress(*TROUBLE):
            store = default_store()
            if is_there(store):
                be_absent(Room(store, told.rank, step))


def is_there(store: Any) -> bool:
    """Whether the server of a store answers, if it has one.

    Who ends last finds it gone; torch would write a stack of calls to stderr, or wait for
    a host that is gone for as long as it waits for collectives.
    """
    while (inner := getattr(store, "underlying_store", None)) is not None:
        store = inner
    place = (getattr(store, "host", ""), getattr(store, "port", 0))
    if not all(place):
        return True
    try:
        socket.create_connection(place, timeout=REACH_S).close()
    except OSError:
        return False
    return True


def default_store() -> Any:
    """Get the store of the default process group."""
    return torch.distributed.distributed_c10d._get_default_store()  # noqa: SLF001


def meet(
    room: "Room", world_size: int, *, ready: bool, timeout_s: float, stop: Stop = go_on
) -> Meeting:
    """Wait until all ranks have come, then go on together.

    The last one sets off all, so that they leave within a fraction of a millisecond.

    Parameters
    ----------
    room : Room
    world_size : int
    ready, timeout_s, stop
        As for `gather`.
    """
    if not ready:
        room.add("busy")
    came = _wait(room, world_size, timeout_s, stop)
    if came < world_size:
        room.add("left")
    # who comes late finds that others have left
    left, absent = room.read("left"), room.read("absent")
    late = left if came == world_size else 0
    meeting = Meeting(came - absent - late, world_size, room.read("busy"))
    if came == world_size and not left:
        if room.add("going") == world_size - absent:
            room.go()
        else:
            room.wait_for_go(stop)
    return meeting


def be_absent(room: "Room") -> None:
    """Count as having come, without waiting, as one that will not record."""
    room.add("absent")
    room.add("came")


class Room:
    """Counters of one meeting.

    Parameters
    ----------
    store : torch.distributed.Store
    rank : int
    step : int
        At which ranks meet. How often this rank has met at this step tells the meeting
        from those of windows before, which may have counted their steps from 0, too.
    """

    def __init__(self, store: Any, rank: int, step: int) -> None:
        self._store = store
        number = store.add(f"{PREFIX}/{step}/{rank}", 1)
        self._base = f"{PREFIX}/{step}/meeting{number}"

    def add(self, counter: str) -> int:
        """Count one more, and tell how many there are."""
        return int(self._store.add(f"{self._base}/{counter}", 1))

    def read(self, counter: str) -> int:
        """Tell how many there are."""
        return int(self._store.add(f"{self._base}/{counter}", 0))

    def go(self) -> None:
        """Set all off."""
        self._store.set(f"{self._base}/go", "1")

    def wait_for_go(self, stop: Stop) -> None:
        """Wait until the last one does.

        Raises
        ------
        RuntimeError
            If it does not.
        """
        until = time.monotonic() + GO_TIMEOUT_S
        while not stop():
            left_s = until - time.monotonic()
            try:
                slice_s = timedelta(seconds=max(min(left_s, GO_SLICE_S), 0.001))
                self._store.wait([f"{self._base}/go"], slice_s)
            except RuntimeError:
                if left_s <= GO_SLICE_S:
                    raise
            else:
                return


def longest_pause_s(world_size: int) -> float:
    """Tell how long a rank pauses at most between two questions, in seconds."""
    fair_s = world_size / QUESTIONS_PER_S
    return min(max(fair_s, SHORTEST_LONG_PAUSE_S), LONGEST_PAUSE_S)


def _wait(room: Room, world_size: int, timeout_s: float, stop: Stop) -> int:
    """Come, and ask again and again: a wait inside the store could not be interrupted."""
    until, pause_s = time.monotonic() + timeout_s, FIRST_PAUSE_S
    came, longest_s = room.add("came"), longest_pause_s(world_size)
    while came < world_size and (left_s := until - time.monotonic()) > 0 and not stop():
        time.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, longest_s)
        came = room.read("came")
    return came
