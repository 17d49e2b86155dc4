"""What made the last rank of a collective later than the first, item by item."""

from collections.abc import Iterator
from dataclasses import dataclass

from synctax.arrays import I64, NS_PER_US
from synctax.synth.path import LATENCIES, CriticalPath, PathItem, Timeline


@dataclass(frozen=True, slots=True)
class Variation:
    """How much longer an item of the slowest rank's path took than on the fastest rank.

    Parameters
    ----------
    item : PathItem
        Of the slowest rank.
    variation_ns : int
        Its duration less that of the same kernel, call, operator or gap of the fastest
        rank, wherever that one lies. Where the fence cuts both, what follows it counts.
    carried : bool
        On the fastest rank it had ended at the fence: the slowest was late before.
    """

    item: PathItem
    variation_ns: int
    carried: bool


@dataclass(frozen=True, slots=True)
class Lateness:
    """Why the last rank arrived later at a collective than the first.

    Parameters
    ----------
    fence_index : int
        `index` of the fence: the collective of the same group before that all its ranks
        recorded and leave together.
    fence_ns : int
        When they left it, true time since the start of the job.
    slow, fast : CriticalPath
        Of the collective's straggler and of its first rank, from the fence on.
    variations : tuple of Variation
        Of the items of `slow` that are no latencies, in their order.
    propagated_ns : int
        What the path of the slowest rank holds of waits in collectives of other groups,
        less what that of the fastest holds. A rank waits for what a collective lasts
        longer on it than on the rank where it is shortest.
    """

    fence_index: int
    fence_ns: int
    slow: CriticalPath
    fast: CriticalPath
    variations: tuple[Variation, ...]
    propagated_ns: int

    @property
    def cause(self) -> Variation | None:
        """The largest variation, the earlier one on a tie; None without items."""
        return max(self.variations, key=lambda one: one.variation_ns, default=None)

    @property
    def margin_ns(self) -> int | None:
        """The smaller margin of the two paths; None where neither has one."""
        margins = (self.slow.margin_ns, self.fast.margin_ns)
        return min((one for one in margins if one is not None), default=None)

    def to_json(self) -> dict[str, object]:
        """Shorten it for the truth file: without latencies, in µs."""
        cause, margin_ns = self.cause, self.margin_ns
        return {
            "fence_index": self.fence_index,
            "window_us": self.slow.window_ns / NS_PER_US,
            "margin_us": None if margin_ns is None else margin_ns / NS_PER_US,
            "propagated_us": self.propagated_ns / NS_PER_US,
            "cause": None if cause is None else _listed(cause.item, cause.variation_ns),
            "items": [_listed(one.item, one.item.duration_ns) for one in self.variations],
        }


def _listed(item: PathItem, ns: int) -> list[object]:
    return [item.kind, item.name, item.step, item.position, ns / NS_PER_US]


def lateness(
    timeline: Timeline,
    arrival: tuple[int, int],
    ranks: tuple[int, int],
    fence: tuple[int, int],
) -> Lateness:
    """Compare the paths of the last and of the first rank to a collective.

    Parameters
    ----------
    timeline : Timeline
        The steps between fence and arrival.
    arrival : (step, position)
        The collective: its step and launch.
    ranks : (int, int)
        Its last and its first rank.
    fence : (index, ns)
        `Lateness.fence_index` and `fence_ns`.

    Returns
    -------
    Lateness
        The comparison.
    """
    index, fence_ns = fence
    slow, fast = (timeline.path(rank, *arrival, fence_ns=fence_ns) for rank in ranks)
    own = _dimension(timeline, arrival[1])
    propagated_ns = sum(_waits_ns(timeline, slow, own)) - sum(
        _waits_ns(timeline, fast, own)
    )
    items = (item for item in slow.items if item.kind not in LATENCIES)
    variations = tuple(_variation(timeline, item, ranks, fence_ns) for item in items)
    return Lateness(index, fence_ns, slow, fast, variations, propagated_ns)


def _variation(
    timeline: Timeline, item: PathItem, ranks: tuple[int, int], fence_ns: int
) -> Variation:
    whole_ns, _ = timeline.span(ranks[0], item.key)
    start_ns, end_ns = timeline.span(ranks[1], item.key)
    carried = end_ns <= fence_ns
    if whole_ns < fence_ns and not carried:
        start_ns = max(start_ns, fence_ns)
    return Variation(item, item.duration_ns - (end_ns - start_ns), carried)


def _waits_ns(timeline: Timeline, path: CriticalPath, own: int) -> Iterator[int]:
    """Yield what the rank waits in each collective of another group, after the fence."""
    for item in path.items:
        dimension = _dimension(timeline, item.position) if item.kind == "comm" else own
        if dimension != own:
            durations_ns = _durations_ns(timeline, item, path.rank, dimension)
            transfer_ns = item.end_ns - int(durations_ns.min())
            yield max(0, transfer_ns - item.start_ns)


def _durations_ns(timeline: Timeline, item: PathItem, rank: int, dimension: int) -> I64:
    groups = timeline.program.dimensions[dimension]
    members = groups.members[groups.group_of[rank]]
    found: I64 = timeline.steps[item.step].duration_ns[members, item.position]
    return found


def _dimension(timeline: Timeline, position: int) -> int:
    comm = timeline.program.launches[position].comm
    assert comm is not None  # noqa: S101 - asked of collectives only
    return comm.dimension
