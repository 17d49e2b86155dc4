"""From what the scanner in C holds to the columns that the reader in Python makes.

The scanner keeps texts and values as they stand in the file, and numbers them. What they
mean is decided here, once for each that is different.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from synctax.arrays import ABSENT, I32, I64
from synctax.trace.columns import Codes, Columns
from synctax.trace.kineto_codes import Geometry
from synctax.trace.kineto_columns import (
    COMM_JSON,
    COMM_NUMBERS,
    COMM_TEXTS,
    WAITS,
    Collector,
    take_out_of_range,
    text_of,
)
from synctax.trace.tally import Tally

if TYPE_CHECKING:
    from synctax.trace import _scan

_LAYOUT: dict[str, dict[str, Any]] = {
    "events": {
        "kind": np.int8, "name": np.int32, "start_ns": np.int64, "duration_ns": np.int64,
        "lane": np.int32, "device": np.int32, "stream": np.int32,
        "correlation": np.int64, "external_id": np.int64,
    },
    "kernels": {"event": np.int64, "geometry": np.int32, "graph_node": np.int64},
    "syncs": {"event": np.int64, **dict.fromkeys(WAITS, np.int64)},
    "comms": {
        "event": np.int64,
        **dict.fromkeys(COMM_TEXTS + COMM_JSON, np.int32),
        **dict.fromkeys(COMM_NUMBERS, np.int64),
        "comms_id": np.uint64,
    },
}  # fmt: skip
"""The scanner's columns, in its order."""

Table = dict[str, Any]


class Joiner:
    """Joins the scanner's rows and those of events that it refused, in order of the file.

    Parameters
    ----------
    scanner : Scanner
        Loses its rows, once in the end or some at a time.
    out : Collector
        As if every event had been added to it.
    tally : Tally
        Told of numbers that cannot be.
    """

    def __init__(self, scanner: "_scan.Scanner", out: Collector, tally: Tally) -> None:
        self._scanner, self._out, self._tally = scanner, out, tally
        self._known: dict[str, list[Any]] = {}

    def take_all(self, refused: Collector) -> None:
        """Take all rows there will be.

        Parameters
        ----------
        refused : Collector
            Loses its columns. Its events hold `place`: how many rows the scanner had
            before.
        """
        out = self._out
        whole = self._joined(refused)
        out.events, out.kernels, out.syncs, out.comms = (
            Columns.of(**whole[table]) for table in _LAYOUT
        )
        self._close()

    def take_some(self, refused: Collector) -> None:
        """Append the rows that there are by now; the scanner goes on with none."""
        first = self._out.events.size
        for table, columns in self._joined(refused).items():
            if table != "events":
                columns["event"] = columns["event"] + first
            getattr(self._out, table).append(**columns)
        self._scanner.go_on()

    def take_rest(self, refused: Collector) -> None:
        """Append the rows after `take_some`."""
        self.take_some(refused)
        self._close()

    def _joined(self, refused: Collector) -> dict[str, Table]:
        mine = {
            table: {
                name: np.frombuffer(memoryview(self._scanner.take(table, number)), dtype)
                for number, (name, dtype) in enumerate(layout.items())
            }
            for table, layout in _LAYOUT.items()
        }
        for key, limit in COMM_NUMBERS.items():
            beyond = take_out_of_range(mine["comms"][key], limit)
            if beyond:
                self._tally.add("integer_out_of_range", count=beyond)
        rest = {table: getattr(refused, table).take_all() for table in _LAYOUT}
        dictionaries = self._dictionaries(refused, rest["events"])
        whole = _mixed(mine, rest, dictionaries)
        for (table, column), dictionary in dictionaries.items():
            whole[table][column] = dictionary.numbered(whole[table][column])
        self._add_rest(refused)
        return whole

    def _dictionaries(
        self, refused: Collector, rest: Table
    ) -> dict[tuple[str, str], "_Dictionary"]:
        """What numbers of either part stand for, by table and column.

        `rest` are the events of the reader in Python; devices and streams, which are no
        numbers of a dictionary there, become such.
        """
        out = self._out
        values = self._read("values", msgspec.json.decode)
        lanes = self._read("lanes", lambda raw: _lane(raw, values))
        code, lane = out.names.__getitem__, out.lanes.__getitem__
        names = self._read("names", _text)
        found = {
            ("events", "name"): _Dictionary(names, code, tuple(refused.names), code),
            ("events", "lane"): _Dictionary(lanes, lane, refused.lanes.first, lane),
        }
        for column, handles, others in (
            ("device", out.devices, refused.devices),
            ("stream", out.streams, refused.streams),
        ):
            different, rest[column] = np.unique(rest[column], return_inverse=True)
            pointers = {number: key for key, number in others.items()}
            known = [pointers.get(number, number) for number in different.tolist()]
            found["events", column] = _Dictionary(
                values, handles.place, known, handles.place
            )
        shapes = self._read("geometries", lambda raw: tuple(raw.split(b"\0", 1)))
        geometry, shape = Geometry(out.texts["geometry"]), out.texts["geometry"].__getitem__
        found["kernels", "geometry"] = _Dictionary(
            shapes, geometry.__getitem__, tuple(refused.texts["geometry"]), shape
        )
        texts = self._read("texts", bytes)
        for key in (*COMM_TEXTS, *COMM_JSON):
            codes, said = out.texts[key], _json if key in COMM_JSON else _any_text
            found["comms", key] = _Dictionary(
                texts,
                partial(_code, codes, said),
                tuple(refused.texts[key]),
                codes.__getitem__,
            )
        return found

    def _read(self, dictionary: str, meaning: Callable[[bytes], Any]) -> list[Any]:
        """What all numbers of the scanner mean; each text is looked at once."""
        known = self._known.setdefault(dictionary, [])
        known += map(meaning, self._scanner.texts(dictionary, len(known)))
        return known

    def _add_rest(self, refused: Collector) -> None:
        """Take over what is no row: counts, labels, marks."""
        out = self._out
        for key, number in refused.classes.items():
            out.classes.count[out.classes[key]] += refused.classes.count[number]
        out.labels |= refused.labels
        out.start_marks_ns += refused.start_marks_ns
        out.end_marks_ns += refused.end_marks_ns

    def _close(self) -> None:
        """Take over what the scanner counted."""
        classes = self._out.classes
        for phase, category, count in self._scanner.counted():
            classes.count[classes[phase, category.decode()]] += count


class _Dictionary:
    """What the numbers of a column stand for, and what they are numbered in the end.

    Parameters
    ----------
    mine, others : sequences
        By the scanner's number, and by that of the reader in Python.
    mine_number, others_number : callables
        The number of one in the end.
    """

    def __init__(
        self,
        mine: Sequence[Any],
        mine_number: Callable[[Any], int],
        others: Sequence[Any],
        others_number: Callable[[Any], int],
    ) -> None:
        self._mine, self._others = mine, others
        self._mine_number, self._others_number = mine_number, others_number

    def shifted(self, others: I32) -> I32:
        """Move numbers of the reader in Python behind those of the scanner."""
        return np.where(others < 0, others, others + np.int32(len(self._mine)))

    def numbered(self, column: I32) -> I32:
        """Number anew, in order of first appearance."""
        count = len(self._mine) + len(self._others)
        meaning = np.full(count + 1, ABSENT, np.int32)  # the last is that of -1
        for at in _first_seen(column, count):
            own = at < len(self._mine)
            meaning[at] = (
                self._mine_number(self._mine[at])
                if own
                else self._others_number(self._others[at - len(self._mine)])
            )
        if np.array_equal(meaning[:-1], np.arange(count)):
            return column
        found: I32 = meaning[column]
        return found


def _first_seen(column: I32, count: int) -> list[int]:
    """List the numbers in a column in order of first appearance, -1 aside."""
    first = np.full(count + 1, ABSENT)
    first[column[::-1]] = np.arange(column.size)[::-1]  # the last that is written stays
    seen = np.flatnonzero(first[:-1] >= 0)
    listed: list[int] = seen[np.argsort(first[seen])].tolist()
    return listed


def _lane(raw: bytes, values: Sequence[Any]) -> tuple[Any, Any]:
    one, other = np.frombuffer(raw, np.int32).tolist()
    return values[one], values[other]


def _code(codes: Codes, said: Callable[[bytes], str], raw: bytes) -> int:
    return codes[said(raw)]


def _text(raw: bytes) -> str:
    """Decode what stood between quotes."""
    if b"\\" not in raw:
        return raw.decode()
    return msgspec.json.decode(b'"' + raw + b'"', type=str)


def _any_text(raw: bytes) -> str:
    text = text_of(msgspec.json.decode(raw))
    assert text is not None  # noqa: S101 (the scanner takes no integer that is too big)
    return text


def _json(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _mixed(
    mine: dict[str, Table],
    rest: dict[str, Table],
    dictionaries: dict[tuple[str, str], _Dictionary],
) -> dict[str, Table]:
    """Put the rows of both together, in order of the file."""
    place = rest["events"].pop("place")
    if not place.size:
        return mine
    for (table, column), dictionary in dictionaries.items():
        rest[table][column] = dictionary.shifted(rest[table][column])
    of_rest = place + np.arange(place.size)
    among = np.ones(mine["events"]["kind"].size + place.size, np.bool_)
    among[of_rest] = False
    of_mine = np.flatnonzero(among)
    whole = {"events": _spread(mine["events"], of_mine, rest["events"], of_rest)}
    for table in ("kernels", "syncs", "comms"):
        one, other = mine[table], rest[table]
        one["event"], other["event"] = of_mine[one["event"]], of_rest[other["event"]]
        rows = _ranks(one["event"], other["event"])
        whole[table] = _spread(one, rows[0], other, rows[1])
    return whole


def _spread(one: Table, of_one: I64, other: Table, of_other: I64) -> Table:
    """Put each column's rows where they belong."""
    whole = {}
    for name in tuple(one):
        column = np.empty(of_one.size + of_other.size, one[name].dtype)
        column[of_one] = one.pop(name)
        column[of_other] = other.pop(name)
        whole[name] = column
    return whole


def _ranks(one: I64, other: I64) -> tuple[I64, I64]:
    """Where each entry of two ascending lists without common entries is in both."""
    return (
        np.arange(one.size) + np.searchsorted(other, one),
        np.arange(other.size) + np.searchsorted(one, other),
    )
