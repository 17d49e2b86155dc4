"""GPU events as the search for what they waited for needs them, stream by stream."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synctax.arrays import ABSENT, I32, I64, Bool, distinct, ordered, runs
from synctax.graph.launches import NEVER_NS, Launches
from synctax.graph.lookup import search
from synctax.trace.model import RankTrace


@dataclass(frozen=True, slots=True)
class Gpu:
    """GPU events in the order of `Launches.event`, that is of start; (g,) arrays.

    Parameters
    ----------
    start_ns, end_ns : (g,) int64
    lane : (g,) int32
        Lane of the event's stream: one for each pair of device and stream.
    device, stream : (g,) int32
    call : (g,) int64
        The launching call, -1 where unknown.
    by_lane : (g,) int64
        Positions in order of lane, then start.
    previous : (g,) int64
        Position of the event before on the same stream, -1 if none.
    launched : (g,) int64
        Place of the launching call in the order of calls, -1 if unknown.
    ready_ns : (g,) int64
        When launch and stream were both ready, at most the start.
    inside : (g,) bool
        One of several events of a launch (a CUDA graph), and not the first of them.
    """

    start_ns: I64
    end_ns: I64
    lane: I32
    device: I32
    stream: I32
    call: I64
    by_lane: I64
    previous: I64
    launched: I64
    ready_ns: I64
    inside: Bool

    @classmethod
    def of(cls, trace: RankTrace, launch: Launches) -> "Gpu":
        """Collect the columns."""
        events = trace.events
        rows = launch.event
        start = events.start_ns[rows]
        end = start + events.duration_ns[rows]
        lane = _lanes(events.lane[rows], events.device[rows], events.stream[rows])
        by_lane = ordered(lane)
        previous = _previous(lane, by_lane)
        freed = np.where(previous >= 0, end[previous], NEVER_NS)
        call_end = events.start_ns[launch.call] + events.duration_ns[launch.call]
        launched = launch.call_turn
        complete = np.where(launched >= 0, call_end + launch.skew_ns, NEVER_NS)
        return cls(
            start_ns=start,
            end_ns=end,
            lane=lane,
            device=events.device[rows],
            stream=events.stream[rows],
            call=launch.call,
            by_lane=by_lane,
            previous=previous,
            launched=launched,
            ready_ns=np.minimum(np.maximum(freed, complete), start),
            inside=_inside(trace, launch),
        )


def _lanes(lane: I32, device: I32, stream: I32) -> I32:
    """Give all events of one device and stream the lane of the first of them."""
    key = (device.astype(np.int64) << 32) + stream
    first = np.empty(lane.max(initial=0) + 2, np.int64)
    first[lane[::-1]] = np.arange(lane.size - 1, -1, -1)  # the last write wins
    of_lane = key[first[distinct(lane)]]
    if distinct(of_lane).size == of_lane.size and (key == key[first[lane]]).all():
        return lane  # as a rule a lane is a stream already
    _, begin, line = np.unique(key, return_index=True, return_inverse=True)
    return np.where(stream >= 0, lane[begin][line], lane)


def _previous(lane: I32, by_lane: I64) -> I64:
    """Position of the event before on the same lane, -1 if none."""
    previous = np.full(lane.size, ABSENT, np.int64)
    previous[by_lane[1:]] = by_lane[:-1]
    previous[by_lane[runs(lane[by_lane])[:-1]]] = ABSENT
    return previous


def _inside(trace: RankTrace, launch: Launches) -> Bool:
    """Which events another one of the same graph launch comes before.

    A call that launched several events is a graph's, though ROCm numbers no graph nodes.
    """
    inside = np.zeros(launch.event.size, np.bool_)
    known = np.flatnonzero((launch.call >= 0) & (launch.by_call))
    seen = np.full(len(trace.events), ABSENT, np.int64)
    seen[launch.call[known[::-1]]] = known[::-1]
    inside[known] = seen[launch.call[known]] != known
    return inside


@dataclass(frozen=True, slots=True)
class Lines:
    """GPU events of each stream in order of start, which is their order of launch.

    Parameters
    ----------
    device, stream : (s,) int64
        Of each stream.
    bounds : (s + 1,) int64
        Where each stream begins in the columns below.
    position : (g,) int64
        Position in `Gpu` of each event.
    launched : (g,) int64
        By which place in the order of calls it was launched, and all before it on its
        stream. An event whose launch is unknown counts as launched with the one before.
    done_ns : (g,) int64
        When it and all before it on its stream had completed.
    last_done : (g,) int64
        Position in `Gpu` of the event that completed last of these.
    """

    device: I64
    stream: I64
    bounds: I64
    position: I64
    launched: I64
    done_ns: I64
    last_done: I64

    @classmethod
    def of(cls, gpu: Gpu) -> "Lines":
        """Sort the events by stream."""
        order = gpu.by_lane
        lane = gpu.lane[order]
        bounds = runs(lane)
        first = bounds[:-1]
        launched, done = gpu.launched[order], gpu.end_ns[order]
        for low, high in pairwise(bounds.tolist()):
            np.maximum.accumulate(launched[low:high], out=launched[low:high])
            np.maximum.accumulate(done[low:high], out=done[low:high])
        # of the events up to each, the one that ended last: the latest to reach `done`
        place = np.where(gpu.end_ns[order] == done, np.arange(order.size), 0)
        return cls(
            device=gpu.device[order[first]].astype(np.int64),
            stream=gpu.stream[order[first]].astype(np.int64),
            bounds=bounds,
            position=order,
            launched=launched,
            done_ns=done,
            last_done=order[np.maximum.accumulate(place)] if order.size else order,
        )

    def __len__(self) -> int:
        return int(self.stream.size)

    def number(self, device: I64, stream: I64) -> I64:
        """Find the number of each stream, -1 if it has no event.

        Where a device is not told (-1), the first that has such a stream is taken.
        """
        found = np.full(stream.size, ABSENT, np.int64)
        for line in range(len(self) - 1, -1, -1):
            same = (stream == self.stream[line]) & (stream >= 0)
            found[same & ((device == self.device[line]) | (device < 0))] = line
        return found

    def first_launched_after(self, line: I64, turn: I64) -> I64:
        """Position of the first event of each stream launched after a call, or -1."""
        at = search(self.launched, self.bounds, line, turn, side="right")
        found = np.full(line.size, ABSENT, np.int64)
        hit = (line >= 0) & (at < self.bounds[line + 1])
        found[hit] = self.position[at[hit]]
        return found

    def last_launched_before(self, line: I64, turn: I64) -> I64:
        """Position of the last event of each stream launched before a call, or -1."""
        at = search(self.launched, self.bounds, line, turn, side="left") - 1
        found = np.full(line.size, ABSENT, np.int64)
        hit = (line >= 0) & (at >= self.bounds[line])
        found[hit] = self.position[at[hit]]
        return found

    def last_done_by(self, line: int, turn: I64, stop_ns: I64) -> I64:
        """Position of the event of one stream that completed last up to a moment, or -1.

        It and all before it were launched before the call `turn` (q,) and completed by
        `stop_ns` (q,).
        """
        part = slice(int(self.bounds[line]), int(self.bounds[line + 1]))
        launched = np.searchsorted(self.launched[part], turn, side="left")
        done = np.searchsorted(self.done_ns[part], stop_ns, side="right")
        count = np.minimum(launched, done)
        found = self.last_done[part][np.maximum(count - 1, 0)]
        return np.where(count > 0, found, ABSENT)
