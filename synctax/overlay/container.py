"""The file around the events: what it says of itself, and what gives the traces back."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from synctax.collectives.job_clocks import RankClock
from synctax.collectives.model import RankCollectives
from synctax.overlay.moved import Moved
from synctax.overlay.rewrite import RankPiece
from synctax.urls import last_part

SCHEMA = "synctax.overlay/1"
"""Of the file: what its beginning tells."""

METADATA_KEY = "synctaxOverlay"
"""Key of the file, after the events, that holds what gives the traces back."""


def head(
    base_ns: int, clocks: tuple[RankClock, ...], pieces: tuple[RankPiece, ...]
) -> bytes:
    """Begin the file, up to its events."""
    about = {
        "synctax": SCHEMA,
        "base_ns": str(base_ns),
        "events": " ".join(str(piece.events) for piece in pieces),
        "offsets_ns": " ".join(str(clock.offset_ns) for clock in clocks),
    }
    return (
        b'{"displayTimeUnit":"ms","otherData":' + orjson.dumps(about)
    ) + b',"traceEvents":[\n'


def tail(
    drawn: Iterable[bytes],
    moved: Moved,
    ranks: tuple[RankCollectives, ...],
    clocks: tuple[RankClock, ...],
    pieces: tuple[RankPiece, ...],
) -> Iterator[bytes]:
    """Write what is drawn, and end the file with what was changed in each trace."""
    separator = b""
    for text in drawn:
        yield separator + text
        separator = b",\n"
    names = _names([one.path for one in ranks])
    yield b'\n],"' + METADATA_KEY.encode() + b'":{"schema":"' + SCHEMA.encode()
    yield b'","base_ns":"%d","ranks":[' % moved.base_ns
    separator = b""
    for position, (one, clock, piece) in enumerate(zip(ranks, clocks, pieces, strict=True)):
        about: dict[str, Any] = {
            "rank": one.rank,
            "host": one.host,
            "window": one.window,
            "file": names[position],
            "events": piece.events,
            "left_out": piece.left_out,
            "offset_ns": str(clock.offset_ns),
            "drift_ppm": clock.drift * 1e6,
            "residual_ns": clock.residual_ns,
            "collectives": clock.collectives,
            "linked": clock.linked,
            "shift_ns": str(moved.shift_ns[position] + moved.file_base_ns[position]),
            "pids": piece.pids,
            "tids": piece.tids,
            "ids": piece.ids,
            "labels": piece.labels,
            "head": piece.head,
            "tail": piece.tail,
        }
        yield separator + orjson.dumps(_held(about))
        separator = b",\n"
    yield b"]}}\n"


def _held(about: dict[str, Any]) -> dict[str, Any]:
    """Replace half surrogate pairs, which names of files may have."""
    return {
        key: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for key, value in about.items()
    }


def _names(paths: list[str]) -> list[str]:
    """Names of files below what they have in common."""
    if len(paths) < 2 or any("://" in path for path in paths):
        bare = [last_part(path) for path in paths]
        unique = len(set(bare)) == len(bare)
        return bare if unique else [f"{at}-{name}" for at, name in enumerate(bare)]
    whole = [os.path.abspath(path) for path in paths]  # noqa: PTH100 - links stay
    common = os.path.commonpath([os.path.dirname(path) for path in whole])  # noqa: PTH120
    return [os.path.relpath(path, common) for path in whole]
