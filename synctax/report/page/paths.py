"""The two critical paths of the collectives with the largest taxes, within a budget."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import ABSENT, I64, NS_PER_US
from synctax.attribution.story import story
from synctax.report.page.columns import Codes, Columns, result_of
from synctax.report.page.markup import Texts, script_json
from synctax.report.page_choices import DEFAULT_PATHS
from synctax.report.story_view import windows_apart

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution
    from synctax.attribution.story_model import Event, Side, Story


PATHS_BYTES = 2_000_000
"""Bytes that all paths of a page may take, where nobody asks for more of them."""


def room_bytes(most: int) -> int:
    """Give room for as many paths as are asked for, if they are as long as usual.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> room_bytes(10), room_bytes(1_000)
    (2000000, 4000000)
    """
    return PATHS_BYTES * max(most, DEFAULT_PATHS) // DEFAULT_PATHS


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths of some collectives.

    Parameters
    ----------
    of : (k,) int64
        Number of the path of each collective of the page, -1 for none.
    told : list of mapping
        The paths, largest tax first.
    strings : list of str
        What numbers in them stand for.
    note : str
        Which collectives have paths, and why others have none.
    """

    of: I64
    told: list[dict[str, Any]]
    strings: list[str]
    note: str


def paths(
    found: "Attribution",
    columns: Columns,
    texts: Texts,
    *,
    most: int = DEFAULT_PATHS,
    limit_bytes: int = PATHS_BYTES,
) -> Paths:
    """Tell the collectives with the largest taxes event by event.

    Parameters
    ----------
    found : Attribution
        Made with `method="path"`.
    columns : Columns
        The collectives of the page.
    texts : Texts
    most : int
        So many collectives at most.
    limit_bytes : int
        So many bytes at most; what is too long for the rest of them is left out.
    """
    codes = Codes.empty(texts)
    number = result_of(found)[columns.slots]
    waited = (number >= 0) & (found.results.tax_ns[np.maximum(number, 0)] > 0)
    rows = np.flatnonzero(waited)
    order = rows[np.argsort(-found.results.tax_ns[number[rows]], kind="stable")][:most]
    of = np.full(columns.slots.size, ABSENT, np.int64)
    told: list[dict[str, Any]] = []
    left_bytes, named = limit_bytes, 0
    for row in order.tolist():
        one = _path(story(found, int(number[row])), row, codes)
        size = len(script_json(one)) + sum(map(len, codes.shown_from(named)))
        if size > left_bytes:
            codes.forget(named)
            continue
        left_bytes, named = left_bytes - size, len(codes)
        of[row] = len(told)
        told.append(one)
    return Paths(of, told, codes.shown, _note(len(told), order.size, rows.size))


def _note(told: int, asked: int, waited: int) -> str:
    if told == waited:
        return f"paths of all {waited:,} collectives in which somebody waited"
    text = f"paths of {told:,} of {waited:,} collectives, those with the largest taxes"
    if told < asked:
        text += f"; there was no room for those of {asked - told:,} more"
    return text


def _path(told: "Story", row: int, codes: Codes) -> dict[str, Any]:
    number = codes.number
    return {
        "row": row,
        "name": codes.texts.plain(told.name),
        "fence": codes.texts.plain(f"all ranks left {told.fence}"),
        "apart": codes.texts.sentence(windows_apart(told)),
        "culprit": number(told.culprit),
        "culprit_us": _us(told.culprit_ns),
        "origin": number(told.origin or None),
        "before": None if told.before is None else _event(told.before, codes),
        "slow": _side(told.slow, codes),
        "fast": _side(told.fast, codes),
    }


def _side(side: "Side", codes: Codes) -> dict[str, Any]:
    return {
        "rank": side.rank,
        "tied": int(side.tied),
        "window_us": _us(side.window_ns),
        "gap_us": _us(side.head_gap_ns),
        "gap_kind": codes.number(side.head_gap_kind),
        "ev": _events(side.events, codes),
    }


def _events(events: "Iterable[Event]", codes: Codes) -> list[list[Any]]:
    return [_event(event, codes) for event in events]


def _event(event: "Event", codes: Codes) -> list[Any]:
    number = codes.number
    return [
        _us(event.offset_ns),
        _us(event.duration_ns),
        number(event.kind),
        number(event.thread),
        number(event.name),
        _us(event.gap_ns),
        number(event.gap_kind),
        event.pair,
        _us(event.variation_ns),
        int(event.culprit),
    ]


def _us(value_ns: int) -> float:
    return value_ns / NS_PER_US
