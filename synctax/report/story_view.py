"""Why one collective made ranks wait, for people to read: its two paths side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from synctax.arrays import NS_PER_US
from synctax.attribution.labels import short_name
from synctax.report import tables
from synctax.report.tables import Field, Sentence
from synctax.texts import percent, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.attribution.story_model import Event, Side, Story

SMALL_OF_TAX = 0.02
SMALL_OF_WINDOW = 0.01
"""An event is small if neither its variation, nor the idle time after it, nor (without a
counterpart on the other path) the event is as long as one of these shares."""

APART_SHARE = 0.1
APART_US = 1.0
"""Windows tell when ranks arrived unless they differ by something else than the tax: by
more than this share of it, and by more than this."""

FOLD = 2
"""So many small events in a row become one line."""

NAME_WIDTH = 40
NAME_LEAST = 34
"""On a narrow terminal."""

_HIDDEN_GAPS = ("chain", "root")
"""Idle time of these kinds needs no name."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What stands in one line: an event of either path, or two that are counterparts."""

    slow: "Event | None"
    fast: "Event | None"


def parts(story: "Story", *, every_event: bool = False) -> "list[RenderableType]":
    """Lay out a story: what happened in words, both paths, and what they add up to.

    Parameters
    ----------
    story : Story
    every_event : bool
        Fold no small events.
    """
    lines = list(pairs(story))
    groups = [[line] for line in lines] if every_event else _folded(story, lines)
    head, sums = map(Sentence, _head(story)), map(Sentence, _sums(story))
    return [*head, "", _table(story, groups), "", *sums]


def _head(story: "Story") -> list[str]:
    """Say in words what happened."""
    slow, fast, step = story.slow, story.fast, story.step
    where = f"ranks {story.group_ranks}" + ("" if step is None else f", step {step}")
    arrived = f"rank {slow.rank} arrived {_us(story.tax_ns)} after rank {fast.rank}"
    text = [f"{story.name} ({where}): {arrived}", _windows(story), _culprit(story)]
    for side, when in ((slow, "last"), (fast, "first")):
        if side.tied:
            text.append(f"others arrived {when} with rank {side.rank}: they are tied")
    if story.origin:
        text.append(story.origin)
    if story.carried_ns > 0:
        share = percent(story.carried_ns / story.tax_ns)
        text.append(
            f"late already when it left {story.fence}: {_us(story.carried_ns)} ({share})"
        )
    if story.propagated_ns > 0:
        text.append(f"waited longer for other groups by {_us(story.propagated_ns)}")
    return text


def _windows(story: "Story") -> str:
    """Say how long the windows are, and whether they tell when ranks arrived."""
    return (
        windows_apart(story) or f"both left {story.fence} together; then {_needed(story)}"
    )


def windows_apart(story: "Story") -> str:
    """Say why windows differ by something else than the tax.

    Parameters
    ----------
    story : Story

    Returns
    -------
    str
        Empty where they tell when ranks arrived.
    """
    longer_ns = story.slow.window_ns - story.fast.window_ns
    far_ns = max(APART_SHARE * story.tax_ns, APART_US * NS_PER_US)
    if abs(longer_ns - story.tax_ns) <= far_ns:
        return ""
    return (
        f"after {story.fence} {_needed(story)}: windows differ by {_us(longer_ns)}, "
        f"arrivals by {_us(story.tax_ns)}; the rest is how far apart they left that "
        "collective, or the ends of this one lie"
    )


def _needed(story: "Story") -> str:
    slow, fast = story.slow, story.fast
    return (
        f"rank {slow.rank} needed {_us(slow.window_ns)}, "
        f"rank {fast.rank} {_us(fast.window_ns)}"
    )


def _culprit(story: "Story") -> str:
    if story.culprit_ns == 0:
        return "no single event explains half of that"
    events = [story.before, *story.slow.events]
    one = next(event for event in events if event is not None and event.culprit)
    share = percent(story.culprit_ns / story.tax_ns)
    took = f"{_us(one.duration_ns)} on {one.thread}"
    if story.before is not None:
        when = f"{_us(-one.offset_ns)} before that"
        how = f"{took}, {when}; it made the rank late by {_us(one.variation_ns)}"
    elif one.twin_ns < 0 or one.why == "no counterpart":
        how = f"{took}; it has no counterpart on rank {story.fast.rank}"
    else:
        how = f"{took}, on rank {story.fast.rank} {_us(one.twin_ns)}"
    return f"culprit: {short_name(story.culprit)}: {how}; {share} of the tax"


def pairs(story: "Story") -> Iterator[Pair]:
    """Put events and their counterparts in one line, the others in order of time."""
    fast = list(story.fast.events)
    at = 0
    place = {event.pair: number for number, event in enumerate(fast) if event.pair >= 0}
    slow: list[Event] = []
    for event in story.slow.events:
        if event.pair < 0:
            slow.append(event)
            continue
        partner = place[event.pair]
        yield from _in_order(slow, fast[at:partner])
        yield Pair(event, fast[partner])
        slow, at = [], partner + 1
    yield from _in_order(slow, fast[at:])


def _in_order(slow: "Sequence[Event]", fast: "Sequence[Event]") -> Iterator[Pair]:
    lines = [Pair(event, None) for event in slow] + [Pair(None, event) for event in fast]
    yield from sorted(lines, key=lambda line: _either(line).offset_ns)


def _either(line: Pair) -> "Event":
    event = line.slow or line.fast
    assert event is not None  # noqa: S101 - for mypy: a line has one of them
    return event


def _folded(story: "Story", lines: Sequence[Pair]) -> list[list[Pair]]:
    """Put runs of small events into one group, all else alone.

    Where no event is the culprit, that which owes most is not small.
    """
    window_ns = max(story.slow.window_ns, story.fast.window_ns)
    limit_ns = max(SMALL_OF_TAX * story.tax_ns, SMALL_OF_WINDOW * window_ns)
    most_ns = 0 if story.culprit_ns else max(map(_variation_ns, lines), default=0)
    groups: list[list[Pair]] = []

    def folds(line: Pair) -> bool:
        return _small(line, limit_ns) and not 0 < most_ns == _variation_ns(line)

    for small, run in groupby(lines, key=folds):
        members = list(run)
        fold = small and len(members) >= FOLD
        groups += [members] if fold else [[line] for line in members]
    return groups


def _variation_ns(line: Pair) -> int:
    return line.slow.variation_ns if line.slow else 0


def _small(line: Pair, limit_ns: float) -> bool:
    events = [event for event in (line.slow, line.fast) if event is not None]
    # what is slower matters, and what is on one path only; long but equal does not
    apart = [event.duration_ns for event in events if event.pair < 0]
    own = [max(event.gap_ns, event.variation_ns, event.carried_ns) for event in events]
    return max(own + apart) < limit_ns and not any(event.culprit for event in events)


def _table(story: "Story", groups: Sequence[Sequence[Pair]]) -> "RenderableType":
    before = [] if story.before is None else [[Pair(story.before, None)]]
    rows = [_row(group) for group in [*before, *groups]]
    slow = f"rank {story.slow.rank} (last{_tied(story.slow)})"
    fast = f"rank {story.fast.rank} (first{_tied(story.fast)})"
    titles = (
        *("", "at", slow, "on", "took", "then idle"),
        *("at ", fast, "took ", "then idle ", "longer", "why"),
    )
    ranks = (0, 0, 0, 4, 0, 3, 5, 2, 0, 3, 0, 1)  # which columns leave first
    names = {slow, fast}
    left = {"", slow, fast, "on", "why", "then idle", "then idle "}
    return tables.table(
        [
            Field(
                title,
                [row[number] for row in rows],
                right=title not in left,
                rank=rank,
                least=NAME_LEAST if title in names else 0,
            )
            for number, (title, rank) in enumerate(zip(titles, ranks, strict=True))
        ]
    )


def _tied(side: "Side") -> str:
    return ", tied" if side.tied else ""


def _row(group: Sequence[Pair]) -> tuple[str, ...]:
    slow = [line.slow for line in group if line.slow is not None]
    fast = [line.fast for line in group if line.fast is not None]
    one = slow[0] if len(slow) == 1 else None
    mark = ">" if one is not None and one.culprit else ""
    cells: tuple[str, ...] = (
        mark,
        *_cells(slow, with_thread=True),
        *_cells(fast, with_thread=False),
    )
    if one is not None and not fast and one.twin_ns >= 0:
        cells = (*cells[:7], "(not on its path)", _us(one.twin_ns), "")
    if one is not None and one.why == "carried":
        longer_ns = one.variation_ns if one.twin_ns < 0 else one.carried_ns
    else:
        longer_ns = sum(event.variation_ns for event in slow)
    why = one.why if one is not None and longer_ns else ""
    return (*cells, _us(longer_ns) if longer_ns else "", why)


def _cells(events: "Sequence[Event]", *, with_thread: bool) -> tuple[str, ...]:
    """Offset, name, perhaps thread, duration, and idle time after it."""
    if not events:
        return ("",) * (5 if with_thread else 4)
    threads = {event.thread for event in events}
    thread = (next(iter(threads)) if len(threads) == 1 else "…",) if with_thread else ()
    name = short_name(events[0].name, width=NAME_WIDTH)
    gaps = ""
    if len(events) == 1:
        gaps = _gap(events[0])
    else:
        name = f"… {len(events)} events"
        idle = sum(event.gap_ns for event in events)
        gaps = _us(idle) if idle else ""
    took = _us(sum(event.duration_ns for event in events))
    return (_us(events[0].offset_ns), name, *thread, took, gaps)


def _gap(event: "Event") -> str:
    """Say how long it was idle then and why, and how the edge is known if not recorded."""
    known = "" if event.provenance == "recorded" else f" ({event.provenance})"
    if not event.gap_ns:
        return known.strip()
    kind = "" if event.gap_kind in _HIDDEN_GAPS else f" {event.gap_kind}"
    return f"{_us(event.gap_ns)}{kind}{known}"


def _sums(story: "Story") -> list[str]:
    """Show that the events and the idle time between them fill the window."""
    apart_ns = story.tax_ns - story.path_variation_ns
    events, arrivals = _exact(story.path_variation_ns), _exact(story.tax_ns)
    check = f"equation 2: events differ by {events}, arrivals by {arrivals}"
    if apart_ns:
        check += f"; the rest, {_exact(apart_ns)}, is idle time or ends that differ"
    return [*(_sum(side) for side in (story.slow, story.fast)), check]


def _sum(side: "Side") -> str:
    gaps = "".join(f" + {kind} {_exact(gap)}" for kind, gap in side.gaps_ns.items())
    return (
        f"rank {side.rank}: {len(side.events)} events {_exact(side.items_ns)}{gaps} = "
        f"{_exact(side.window_ns)}"
    )


def _exact(value_ns: int) -> str:
    return f"{value_ns / NS_PER_US:,.3f} µs"


def _us(value_ns: int) -> str:
    return time_us(value_ns / NS_PER_US)
