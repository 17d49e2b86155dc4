"""One collective, event by event: the two paths since all ranks left the fence."""

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from synctax.attribution.labels import (
    WHY,
    collective_text,
    culprit_items,
    culprit_text,
    item_text,
    short_name,
    thread_text,
)
from synctax.attribution.model import Items
from synctax.attribution.pool import PathSet
from synctax.attribution.results import Why
from synctax.attribution.story_model import Event, Side, Story
from synctax.collectives.summary import ranks_text
from synctax.graph.model import EdgeKind, NodeKind, Provenance
from synctax.trace.model import EventKind

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

GAP_KIND = {
    EdgeKind.ROOT: "root",
    EdgeKind.STREAM: "queue",
    EdgeKind.CROSS: "cross",
    EdgeKind.LAUNCH: "launch",
    EdgeKind.SYNC: "sync",
    EdgeKind.CHAIN: "chain",
    EdgeKind.HANDOVER: "handover",
}
"""What idle time behind an edge is called."""

_KIND = {
    NodeKind.COLLECTIVE: "collective",
    NodeKind.SLICE: "slice",
    NodeKind.GAP: "gap",
    NodeKind.WAIT: "wait",
}


def story(found: "Attribution", number: int) -> Story:
    """Tell one collective event by event.

    Parameters
    ----------
    found : Attribution
        Made with `method="path"`: other methods keep no paths.
    number : int
        Of the result, from `find`.

    Raises
    ------
    ValueError
        If the attribution was made with another method.
    """
    if found.options.method != "path":
        raise ValueError(f"method {found.options.method!r} keeps no paths to tell of")
    results, matches = found.results, found.tax.matches
    slot = int(results.slot[number])
    group = matches.groups[matches.group[slot]]
    waits = found.tax.waits
    slow, fast = _side(found, found.slow, number), _side(found, found.fast, number)
    slow = replace(slow, tied=bool(waits.straggler[slot] < 0))
    fast = replace(fast, tied=bool(waits.fastest[slot] < 0))
    slow = _compared(found, slow, number)
    slow, fast = _paired(found, slow, fast, number)
    name = collective_text(found.tax, slot)
    step = int(matches.step[slot])
    return Story(
        name=name,
        group=group.role,
        group_ranks=ranks_text(group.ranks),
        op=name.split(" ")[-2],
        index=int(matches.index[slot]),
        step=step if step >= 0 else None,
        fence=collective_text(found.tax, int(found.fence[slot])),
        tax_ns=int(results.tax_ns[number]),
        path_variation_ns=int(results.path_variation_ns[number]),
        carried_ns=int(results.carried_ns[number]),
        propagated_ns=int(results.propagated_ns[number]),
        slow=slow,
        fast=fast,
        culprit=str(culprit_text(found, number)),
        culprit_ns=int(results.culprit_ns[number]),
        before=_before(found, number),
        origin=_origin(found, number),
    )


def _side(found: "Attribution", paths: PathSet, number: int) -> Side:
    rank = int(paths.rank[number])
    one = found.tax.matches.ranks[rank]
    rows = range(int(paths.first[number]), int(paths.first[number + 1]))
    begin, end = int(paths.begin_ns[number]), int(paths.end_ns[number])
    begin = min(begin, end)
    return Side(
        rank=one.rank,
        host=one.host,
        gpu=one.gpu,
        window_ns=end - begin,
        head_gap_ns=int(paths.head_gap_ns[number]),
        head_gap_kind=GAP_KIND[EdgeKind(int(paths.head_edge[number]))],
        events=tuple(_event(found, paths.items, row, rank, begin) for row in rows),
    )


def _event(found: "Attribution", items: Items, row: int, rank: int, begin_ns: int) -> Event:
    return Event(
        offset_ns=int(items.start_ns[row]) - begin_ns,
        duration_ns=int(items.stop_ns[row] - items.start_ns[row]),
        kind=_kind(items, row),
        thread=thread_text(found.lanes[rank], items, row),
        name=item_text(found.tax, found.texts, items, row),
        gap_ns=int(items.gap_ns[row]),
        gap_kind=GAP_KIND[EdgeKind(int(items.edge[row]))],
        provenance=Provenance(int(items.provenance[row])).name.lower(),
    )


def _kind(items: Items, row: int) -> str:
    on_gpu = "kernel" if items.source[row] == EventKind.KERNEL else "copy"
    return _KIND.get(NodeKind(int(items.kind[row])), on_gpu)


def _compared(found: "Attribution", side: Side, number: int) -> Side:
    """Say of each event of the slow path what its counterpart took."""
    first, results = int(found.slow.first[number]), found.results
    inside = results.why[number] != Why.CARRIED
    culprit = int(results.culprit[number]) - first if inside else -1
    events = []
    for place, event in enumerate(side.events):
        row = first + place
        parts = {
            Why.SLOWER: int(found.variation.slower_ns[row]),
            Why.ALONE: int(found.variation.alone_ns[row]),
            Why.CARRIED: int(found.variation.carried_ns[row]),
        }
        why = max(parts, key=lambda one: parts[one])
        twin = int(found.twins.end_ns[row] - found.twins.start_ns[row])
        events.append(
            replace(
                event,
                twin_ns=twin if found.twins.found[row] else -1,
                variation_ns=parts[Why.SLOWER] + parts[Why.ALONE],
                carried_ns=parts[Why.CARRIED],
                why=WHY[why] if parts[why] > 0 else "",
                culprit=place == culprit,
            )
        )
    return replace(side, events=tuple(events))


def _paired(found: "Attribution", slow: Side, fast: Side, number: int) -> tuple[Side, Side]:
    """Number the events that are each other's counterparts, in order on both paths."""
    own = _keys(found.slow, number)
    other = {key: place for place, key in enumerate(_keys(found.fast, number)) if key}
    common = [(place, other[key]) for place, key in enumerate(own) if key in other]
    kept = _increasing([place for _, place in common])
    slow_events, fast_events = list(slow.events), list(fast.events)
    for pair, at in enumerate(kept):
        one, two = common[at]
        slow_events[one] = replace(slow_events[one], pair=pair)
        fast_events[two] = replace(fast_events[two], pair=pair)
    return replace(slow, events=tuple(slow_events)), replace(
        fast, events=tuple(fast_events)
    )


def _keys(paths: PathSet, number: int) -> list[int]:
    own = slice(int(paths.first[number]), int(paths.first[number + 1]))
    keys: list[int] = paths.items.key[own].tolist()
    return keys


def _increasing(values: list[int]) -> list[int]:
    """Places of a longest strictly increasing subsequence.

    Examples
    --------
    >>> _increasing([3, 0, 1, 5, 2, 4])
    [1, 2, 4, 5]
    """
    ends: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values):
        at = bisect_left(ends, value)
        before.append(places[at - 1] if at else -1)
        if at == len(ends):
            ends.append(value)
            places.append(place)
        else:
            ends[at], places[at] = value, place
    kept, place = [], places[-1] if places else -1
    while place >= 0:
        kept.append(place)
        place = before[place]
    return kept[::-1]


def _before(found: "Attribution", number: int) -> Event | None:
    """The culprit where it lies before the window."""
    results = found.results
    if results.why[number] != Why.CARRIED:
        return None
    items, row = culprit_items(found, number), int(results.culprit[number])
    rank, begin = int(found.slow.rank[number]), int(found.slow.begin_ns[number])
    event = _event(found, items, row, rank, begin)
    return replace(
        event,
        variation_ns=int(results.culprit_ns[number]),
        why=WHY[Why.CARRIED],
        culprit=True,
    )


def _origin(found: "Attribution", number: int) -> str:
    """Say who made the straggler wait in another group, and what did."""
    results, matches = found.results, found.tax.matches
    comm = int(results.comm_slot[number])
    if comm < 0:
        return ""
    straggler = int(found.slow.rank[number])
    text = (
        f"rank {matches.ranks[straggler].rank} waited in {collective_text(found.tax, comm)}"
    )
    origin, rank = int(results.origin[number]), int(results.origin_rank[number])
    who = f"rank {matches.ranks[rank].rank}" if rank >= 0 else "a rank that is not known"
    if origin < 0:
        return f"{text} for {who}; why that was late is not known"
    at = collective_text(found.tax, int(results.slot[origin]))
    why = culprit_text(found, origin) or "nobody waited there"
    began = "" if results.slot[origin] == comm else f", which began in {at}"
    return f"{text} for {who}{began}: {short_name(why)}"
