"""What a story holds: events of two paths, as values and as a table."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synctax.arrays import NS_PER_US
from synctax.schema import ATTRIBUTE_STORY
from synctax.schema.html import Shown
from synctax.texts import time_us

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Event:
    """One item of a path; times in ns, columns as in `schema.ATTRIBUTE_STORY`.

    `twin_ns` is -1 where it has no counterpart; `pair` is -1 where that is not on the
    other path.
    """

    offset_ns: int
    duration_ns: int
    kind: str
    thread: str
    name: str
    gap_ns: int
    gap_kind: str
    provenance: str
    twin_ns: int = -1
    variation_ns: int = 0
    carried_ns: int = 0
    why: str = ""
    culprit: bool = False
    pair: int = -1


@dataclass(frozen=True, slots=True)
class Side:
    """The path of one rank.

    The first gap, the events, and the gap after each add up to `window_ns`. `tied` tells
    whether other ranks arrived with it, as far as the trace resolves.
    """

    rank: int
    host: str
    gpu: str
    window_ns: int
    head_gap_ns: int
    head_gap_kind: str
    events: tuple[Event, ...]
    tied: bool = False

    @property
    def items_ns(self) -> int:
        """Time of all events."""
        return sum(event.duration_ns for event in self.events)

    @property
    def gaps_ns(self) -> dict[str, int]:
        """Idle time by kind, without the kinds there are none of."""
        sums = {self.head_gap_kind: self.head_gap_ns}
        for event in self.events:
            sums[event.gap_kind] = sums.get(event.gap_kind, 0) + event.gap_ns
        return {kind: total for kind, total in sums.items() if total}


@dataclass(frozen=True, slots=True)
class Story(Shown):
    """Why one collective made ranks wait.

    Parameters
    ----------
    name : str
        As `tp all_reduce #12`.
    group, group_ranks, op, index, step
        Which collective it is; `step` is None where none is marked.
    fence : str
        The collective whose end begins the window.
    tax_ns, path_variation_ns, carried_ns, propagated_ns : int
        As in `Results`.
    slow, fast : Side
        Of the straggler and of the fastest rank.
    culprit : str
        `diffuse` where there is none.
    culprit_ns : int
    before : Event or None
        The culprit, where it lies before the window.
    origin : str
        Who made the straggler wait in another group; empty where it did not.
    """

    name: str
    group: str
    group_ranks: str
    op: str
    index: int
    step: int | None
    fence: str
    tax_ns: int
    path_variation_ns: int
    carried_ns: int
    propagated_ns: int
    slow: Side
    fast: Side
    culprit: str
    culprit_ns: int
    before: Event | None
    origin: str

    def __repr__(self) -> str:
        ranks = f"rank {self.slow.rank} against rank {self.fast.rank}"
        return f"<Story: {self.name}, tax {time_us(self.tax_ns / NS_PER_US)}, {ranks}>"

    def to_frame(self) -> "pd.DataFrame":
        """Build the table `schema.ATTRIBUTE_STORY`: events of both paths."""
        rows = [] if self.before is None else [_row("slow", self.slow.rank, self.before)]
        for side, of_rank in (("slow", self.slow), ("fast", self.fast)):
            rows.append(_row(side, of_rank.rank, _head(of_rank)))
            rows += [_row(side, of_rank.rank, event) for event in of_rank.events]
        return ATTRIBUTE_STORY.to_frame(
            {name: [row[name] for row in rows] for name in ATTRIBUTE_STORY.names}
        )

    def envelope(self) -> dict[str, Any]:
        """Collect what JSON holds beside the events."""
        return {
            "collective": self.name,
            "group": self.group,
            "group_ranks": self.group_ranks,
            "op": self.op,
            "index": self.index,
            "step": self.step,
            "fence": self.fence,
            "tax_max_us": self.tax_ns / NS_PER_US,
            "path_variation_us": self.path_variation_ns / NS_PER_US,
            "residual_us": (self.tax_ns - self.path_variation_ns) / NS_PER_US,
            "carried_us": self.carried_ns / NS_PER_US,
            "propagated_us": self.propagated_ns / NS_PER_US,
            "culprit": self.culprit,
            "culprit_variation_us": self.culprit_ns / NS_PER_US,
            "origin": self.origin or None,
            "slow": _sums(self.slow),
            "fast": _sums(self.fast),
        }


def _sums(side: Side) -> dict[str, Any]:
    return {
        "rank": side.rank,
        "tied": side.tied,
        "host": side.host or None,
        "gpu": side.gpu or None,
        "window_us": side.window_ns / NS_PER_US,
        "items_us": side.items_ns / NS_PER_US,
        "gaps_us": {kind: gap / NS_PER_US for kind, gap in side.gaps_ns.items()},
    }


def _head(side: Side) -> Event:
    """The idle time before the first event, as a row of its own."""
    return Event(0, 0, "idle", "", "", side.head_gap_ns, side.head_gap_kind, "recorded")


def _row(side: str, rank: int, event: Event) -> dict[str, Any]:
    slow, known = side == "slow" and event.kind != "idle", event.twin_ns >= 0
    return {
        "side": side,
        "rank": rank,
        "offset_us": event.offset_ns / NS_PER_US,
        "duration_us": event.duration_ns / NS_PER_US,
        "kind": event.kind,
        "thread": event.thread or None,
        "name": event.name or None,
        "gap_us": event.gap_ns / NS_PER_US,
        "gap_kind": event.gap_kind,
        "provenance": event.provenance,
        "counterpart_us": event.twin_ns / NS_PER_US if known else None,
        "variation_us": event.variation_ns / NS_PER_US if slow else None,
        "carried_us": event.carried_ns / NS_PER_US if slow else None,
        "why": event.why or None,
        "culprit": event.culprit if slow else None,
        "pair": event.pair if event.pair >= 0 else None,
    }
