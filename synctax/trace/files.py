"""Files as they are now: what identifies one, and small things done to them."""

import hashlib
import os
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synctax.arrays import NS_PER_S
from synctax.trace.errand import located
from synctax.trace.remote import LOOKS_AT_A_TIME, state_of

SETTLED_S: Final = 60
"""A file of a store that tells no more than a time is taken for settled after that."""

_NAME_DIGITS: Final = 32

_SECRET: Final = re.compile(r"^[^:]+://[^/?#]*@|^https?://[^?]*\?", re.IGNORECASE)
"""Names in front of a host, and what follows the path of a web address."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A trace file as it was.

    Parameters
    ----------
    path : str
        Absolute path, or URL.
    size_bytes : int
    mtime_ns : int
        Time of the last change; 0 where a store tells none.
    tag : str
        What a store tells of the content, such as an ETag; empty where it tells nothing.
    """

    path: str
    size_bytes: int
    mtime_ns: int
    tag: str = ""

    @classmethod
    def of(cls, path: str) -> "SourceFile":
        """Look at a file, or ask its store about it.

        Raises
        ------
        OSError
            If there is no such file, or its store cannot be asked.
        """
        if "://" in path:
            return cls(path, *state_of(path))
        place = located(path)
        status = Path(place).stat()
        return cls(os.path.abspath(place), status.st_size, status.st_mtime_ns)  # noqa: PTH100 - links stay as named

    @property
    def remote(self) -> bool:
        """Whether it lies in a store, and not on a disk."""
        return "://" in self.path

    @property
    def state(self) -> str:
        """What differs when the file does."""
        return f"{self.size_bytes} {self.mtime_ns} {self.tag}".rstrip()

    @property
    def not_kept(self) -> str:
        """Why nothing of it may be kept, in words; empty where it may.

        Times of stores are often whole seconds: a file that was written just now may be
        written again, and look the same.
        """
        if not self.remote:
            return ""
        if _SECRET.search(self.path):
            return "its URL may hold a password or a signature"
        if self.tag:
            return ""
        if not self.mtime_ns:
            return "its store tells neither a checksum nor when it was changed"
        if time.time() - self.mtime_ns / NS_PER_S < SETTLED_S:
            return f"its store tells no checksum, and it changed in the last {SETTLED_S} s"
        return ""

    @property
    def unchanged(self) -> bool:
        """Whether the file is there and still in this state."""
        try:
            return SourceFile.of(self.path) == self
        except OSError:
            return False


def look(path: str) -> SourceFile | None:
    """Look at a file; None where there is none."""
    try:
        return SourceFile.of(path)
    except OSError:
        return None


def looks(paths: Sequence[str]) -> list[SourceFile | None]:
    """Look at files of a store, many at a time: an answer takes its time."""
    if not paths:
        return []
    with ThreadPoolExecutor(LOOKS_AT_A_TIME) as threads:
        return list(threads.map(look, paths))


def starts_with(path: Path, start: bytes) -> bool:
    """Whether a file is there and begins with these bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


def size_of(path: Path) -> int:
    """Return the bytes of a file; 0 where there is none."""
    source = look(str(path))
    return 0 if source is None else source.size_bytes


def age_s(path: Path) -> float:
    """Return the seconds since a file changed; 0 where there is none."""
    source = look(str(path))
    return 0.0 if source is None else time.time() - source.mtime_ns / NS_PER_S


def absolute(target: str) -> str:
    """Write a path or glob from the root, links as named; a URL stays."""
    return target if "://" in target else os.path.abspath(target)  # noqa: PTH100


def digest(text: str) -> str:
    """Make a name for a file of a text."""
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:_NAME_DIGITS]


def remove(path: Path) -> bool:
    """Remove a file that another process may be removing too; say whether it went."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


def touch(path: Path) -> None:
    """Note that a file was of use, where that can be noted."""
    with suppress(OSError):
        os.utime(path)
