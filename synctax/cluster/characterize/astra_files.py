"""Whole files that other simulators wrote, plain or compressed, of bounded size."""

import os
from stat import S_ISDIR, S_ISREG
from typing import Final

from synctax.errors import BadInputError
from synctax.trace.source import Damage, open_file, plain_blocks

LARGEST_FILE_BYTES: Final = 2**30
"""Of plain text or plain messages; what is larger is cut into parts first."""


def whole(
    path: str | os.PathLike[str], kind: str, *, most: int = LARGEST_FILE_BYTES
) -> bytes:
    """Read a file as it is; gzip and zstd are undone.

    Parameters
    ----------
    path : str or path
    kind : str
        What it should be (`a log of ASTRA-sim`), for messages.
    most : int
        Bytes that it may have when it is plain.

    Raises
    ------
    BadInputError
        If it cannot be read, is no regular file, is empty or too large, or its compressed
        stream is damaged.
    """
    name = os.fspath(path)
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 - a text may hold any byte
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise BadInputError(f"{name}: expected {kind}: {reason}") from error
    if not S_ISREG(mode):
        found = "a folder" if S_ISDIR(mode) else "a pipe or a device"
        raise BadInputError(f"{name}: expected {kind}, found {found}")
    damage, parts, size = Damage(), list[bytes](), 0
    with open_file(name) as file:
        for block in plain_blocks(file, damage):
            parts.append(block)
            size += len(block)
            if size > most:
                raise BadInputError(
                    f"{name}: expected {kind}, found more than {most // 2**20:,} MiB"
                )
    if damage.reason:
        raise BadInputError(
            f"{name}: expected {kind}, found a damaged compressed stream: {damage.detail}"
        )
    if not size:
        raise BadInputError(f"{name}: expected {kind}, found an empty file")
    return b"".join(parts)
