"""Files that are there whole or not at all, and what no file can replace."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

NAME_BYTES: Final = 100
"""So much of the name of a file is in those of its parts."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the block ends well.

    An error or interruption removes it and leaves what was at `path`. Something that is
    no regular file (`/dev/null`, `/dev/stdout`, a pipe) is written to directly.
    """
    straight = _straight(path)
    if straight is not None:
        with _naming(path), straight as file:
            yield file
        return
    target = path.resolve()
    half = target.with_name(f"{hidden(target.name)}{os.urandom(6).hex()}.part")
    try:
        file = half.open("xb")
    except OSError as error:
        error.filename = str(path)  # of the other name nobody knows
        raise
    try:
        with _naming(path), file:
            yield file
        if target.exists():
            half.chmod(target.stat().st_mode & 0o7777)
        half.replace(target)
    finally:
        half.unlink(missing_ok=True)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say for which file there is no room: what fails to write does not know."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _NO_ROOM:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Make a folder for parts of a file, on the disk where it will be.

    It is gone when the block ends, however that is. Parts of what is no regular file are
    where the system keeps temporary files.
    """
    import shutil  # with tempfile 5 ms of a start that seldom needs them
    import tempfile

    parent: Any = None if is_special(path) else path.resolve().parent
    try:
        folder = Path(tempfile.mkdtemp(prefix=hidden(path.name), dir=parent))
    except OSError as error:
        error.filename = str(path)  # of the other name nobody knows
        raise
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hidden(name: str) -> str:
    """Begin a hidden name that tells for which file it is, and leaves room for more.

    Examples
    --------
    >>> hidden("tax.csv"), len(hidden("漢" * 85).encode()) <= NAME_BYTES + 2
    ('.tax.csv.', True)
    """
    # names are limited in bytes, and a sign may have four
    cut = os.fsencode(name)[:NAME_BYTES].decode("utf-8", "ignore")
    return f".{cut}."


def is_special(path: Path) -> bool:
    """Whether a path is a device, a pipe, or the name of an open descriptor."""
    if _descriptor(path) is not None:
        return True
    # not of the resolved path: what a link to a pipe resolves to does not exist
    return path.exists() and not path.is_file()


def is_same(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one file, which need not be there; a link is its target.

    Examples
    --------
    >>> is_same("traces/../rank0.json", "rank0.json"), is_same("a.json", "b.json")
    (True, False)
    """
    first, second = Path(one), Path(other)
    try:
        return first.resolve() == second.resolve() or first.samefile(second)
    except (OSError, ValueError, RuntimeError):
        return False  # one is not there, or no name that a file can have


def _straight(path: Path) -> BinaryIO | None:
    """Open what cannot be replaced by a file; None for what can."""
    number = _descriptor(path)
    if number is not None:
        # to open the name anew would cut off a file that is appended to
        try:
            return os.fdopen(os.dup(number), "wb")
        except OSError as error:
            error.filename = str(path)
            raise
    return path.open("wb") if is_special(path) else None


def _descriptor(path: Path) -> int | None:
    """Tell which open descriptor of this process a path names."""
    name = os.fspath(path)
    if name in _STANDARD:
        return _STANDARD[name]
    head, _, last = name.rpartition("/")
    return int(last) if head in ("/dev/fd", "/proc/self/fd") and last.isdecimal() else None


_STANDARD: Final = {"/dev/stdout": 1, "/dev/stderr": 2}
