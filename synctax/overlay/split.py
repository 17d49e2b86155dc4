"""Give the traces back that an overlay was made of."""

import contextlib
import errno
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from synctax.errors import BadInputError
from synctax.files import folder_beside
from synctax.overlay.container import METADATA_KEY, SCHEMA
from synctax.overlay.events import Event, Reading, key_text
from synctax.overlay.pieces import join
from synctax.overlay.rewrite import CHANGED, ID_BITS, ID_LIMIT, time_text
from synctax.trace.source import Damage, open_file, plain_blocks
from synctax.trace.times import parse_us

_START = b'"' + METADATA_KEY.encode() + b'":'
_COMPRESSED = (".zst", ".zstd")
"""Endings of compressed files; those that come back are gzip."""

_HEAD = f'{{"displayTimeUnit":"ms","otherData":{{"synctax":"{SCHEMA}"'.encode()


class _Rank(msgspec.Struct):
    """What an overlay holds of a rank; as in `overlay.rewrite.RankPiece`."""

    file: str
    events: int
    shift_ns: str
    pids: list[tuple[int, str]]
    tids: list[tuple[int, int, str]]
    ids: list[str]
    labels: list[tuple[str, int, int, str]]
    head: str
    tail: str


class _About(msgspec.Struct):
    schema: str
    ranks: list[_Rank]


@dataclass(frozen=True, slots=True)
class _Back:
    """What identifiers of a rank were before."""

    pid: dict[int, str]
    tid: dict[int, str]
    ids: list[str]
    shift_ns: int


def split(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write the traces that an overlay was made of, a file a rank.

    Events have the times, durations and arguments that they had, and are in their order;
    spelling may differ (times have the digits they need), and names of processes come
    last. What `--steps` and `--keep` left out, and what could not be shown, is gone.
    The files are there all or none of them.

    Parameters
    ----------
    path : path
        As `synctax overlay` writes it.
    folder : path
        Where the files go, by the names they had; it is made if need be. Those that were
        compressed are gzip, and end in `.gz` now.

    Returns
    -------
    tuple of Path
        By rank, as in the overlay.

    Raises
    ------
    BadInputError
        If the file is no overlay, or not a whole one, or names a file outside the folder.
    FileExistsError, NotADirectoryError
        If a file is there already, or one is where a folder must go.
    OSError
        If a file cannot be written.

    Examples
    --------
    >>> import synctax
    >>> synctax.split_overlay("job.json.gz", "traces-again")  # doctest: +SKIP
    """
    name, whole = os.fspath(path), Path(folder)
    about = _about(name)
    places = _places(about.ranks, name)
    _check_places(whole, places)
    events = _single(name)
    with _undone() as made:
        _make_folder(whole.parent, made)
        with folder_beside(whole / "split" if whole.exists() else whole) as parts:
            for rank, place in zip(about.ranks, places, strict=True):
                part = parts / place
                part.parent.mkdir(parents=True, exist_ok=True)
                with part.open("wb") as file:
                    texts = _texts(rank, events, name)
                    join(file, texts, (), (), compressed=place.suffix == ".gz")
            for place in places:
                _make_folder((whole / place).parent, made)
            for place in places:
                (parts / place).replace(whole / place)
                made.append(whole / place)
    return tuple(whole / place for place in places)


def _check_places(whole: Path, places: list[Path]) -> None:
    """Check that nothing stands where files and their folders go."""
    for place in places:
        for folder in (whole, *(whole / one for one in place.parents)):
            if folder.exists() and not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "is no folder", str(folder))
        if os.path.lexists(whole / place):
            raise FileExistsError(errno.EEXIST, "is there already", str(whole / place))


@contextlib.contextmanager
def _undone() -> Iterator[list[Path]]:
    """Gather what is made, outer before inner; an error takes it away again."""
    made: list[Path] = []
    try:
        yield made
    except BaseException:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise


def _make_folder(folder: Path, made: list[Path]) -> None:
    for one in reversed((folder, *folder.parents)):
        if not one.exists():
            one.mkdir()
            made.append(one)


def _about(path: str) -> _About:
    """Read what stands after the events."""
    end, found = b"", False
    first = b""
    with open_file(path) as file:
        damage = Damage()
        for block in plain_blocks(file, damage):
            first = first or block[: len(_HEAD)]
            end += block
            at = end.rfind(_START)
            found = found or at >= 0
            end = end[at:] if at >= 0 else end if found else end[-len(_START) :]
    if not first.startswith(_HEAD[: len(first)]) or not first:
        raise BadInputError(f"{path}: no overlay; one is written by synctax overlay")
    text = end.removeprefix(_START).rstrip().removesuffix(b"}")
    try:
        about = msgspec.json.decode(text, type=_About)
    except msgspec.MsgspecError as error:
        raise BadInputError(
            f"{path}: the overlay ends early or is damaged ({damage.detail or error}); "
            "write it again"
        ) from error
    return about


def _places(ranks: list[_Rank], path: str) -> list[Path]:
    """Where the file of each rank goes in the folder; no two go to one place."""
    places = [_inside(rank.file, path) for rank in ranks]
    as_gzip = [
        place.with_suffix(".gz") if place.suffix.lower() in _COMPRESSED else place
        for place in places
    ]
    count = Counter(as_gzip)
    found = [
        # two traces may differ in how they are compressed and else be called the same
        place.with_name(f"{place.name}.gz") if place != new and count[new] > 1 else new
        for place, new in zip(places, as_gzip, strict=True)
    ]
    twice = next((place for place, many in Counter(found).items() if many > 1), None)
    if twice is not None:
        raise BadInputError(f"{path}: names the file {str(twice)!r} twice")
    return found


def _inside(name: str, path: str) -> Path:
    place = Path(name)
    if place.is_absolute() or ".." in place.parts or not place.name or "\0" in name:
        raise BadInputError(
            f"{path}: names the file {name!r}, which is no place in a folder"
        )
    return place


def _single(path: str) -> Iterator[Event]:
    for events in Reading(path):
        yield from events


def _texts(rank: _Rank, events: Iterator[Event], path: str) -> Iterator[bytes]:
    """Write a trace around the next events of the overlay."""
    tids = {number: text for number, _, text in rank.tids}
    back = _Back(dict(rank.pids), tids, rank.ids, int(rank.shift_ns))
    # a bare list has no text around it
    bare = not rank.head.strip()
    yield b"[\n" if bare else rank.head.encode() + b'"traceEvents":[\n'
    separator = b""
    for _ in range(rank.events):
        event = next(events, None)
        try:
            text = _event(event or {}, back)
        except (LookupError, ValueError) as error:
            raise BadInputError(
                f"{path}: the overlay does not hold the events of {rank.file} that it "
                "says it does; write it again"
            ) from error
        yield separator + text
        separator = b",\n"
    for name, pid, tid, args in rank.labels:
        yield separator + _label(name, (pid, tid), args, back)
        separator = b",\n"
    yield b"\n]" if bare else b"\n]" + rank.tail.encode()


def _event(event: Event, back: _Back) -> bytes:
    ns, _ = parse_us([bytes(event["ts"])])
    parts = [b'{"ph":', bytes(event["ph"]), *_place(event, back)]
    parts += [b',"ts":', time_text(int(ns[0]) - back.shift_ns)]
    if "dur" in event:
        parts += [b',"dur":', bytes(event["dur"])]
    for key in ("id", "bind_id"):
        if key in event:
            parts.append(f',"{key}":{_id(int(bytes(event[key])), back)}'.encode())
    if "synctax" in event:  # coloured: the colour that it had
        event["cname"] = event["synctax"]
    for key, value in event.items():
        if key not in CHANGED and not (key == "cname" and bytes(value) == b"null"):
            parts += [b",", key_text(key), bytes(value)]
    return b"".join(parts) + b"}"


def _place(event: Event, back: _Back) -> Iterator[bytes]:
    for key, known in (("pid", back.pid), ("tid", back.tid)):
        text = known[int(bytes(event[key]))]
        if text:
            yield f',"{key}":{text}'.encode()


def _id(number: int, back: _Back) -> str:
    own = number & (2**ID_BITS - 1)
    return str(own) if own < ID_LIMIT else back.ids[own - ID_LIMIT]


def _label(name: str, place: tuple[int, int], args: str, back: _Back) -> bytes:
    event: dict[str, Any] = {"ph": "M", "name": name}
    text = json.dumps(event)[:-1]
    for key, own in (("pid", back.pid[place[0]]), ("tid", back.tid[place[1]])):
        if own:
            text += f',"{key}":{own}'
    return f'{text},"args":{args}}}'.encode()
