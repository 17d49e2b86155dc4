"""Whole files of bounded size, plain or compressed."""

import os
from io import BytesIO
from stat import S_ISDIR, S_ISFIFO, S_ISREG
from typing import Final

from synctax.errors import BadInputError
from synctax.trace.source import Damage, open_file, plain_blocks

LARGEST_FILE_BYTES: Final = 2**30
"""Of plain text or plain messages; what is larger is cut into parts first."""


def whole(
    path: str | os.PathLike[str],
    kind: str,
    *,
    most: int = LARGEST_FILE_BYTES,
    pipes: bool = False,
) -> bytes:
    """Read a file as it is; gzip and zstd are undone.

    No more than `most` and one block more is ever held, whatever a compressed file
    unpacks to.

    Parameters
    ----------
    path : str or path
        A local file, or an fsspec URL.
    kind : str
        What it should be (`a log of ASTRA-sim`), for messages.
    most : int
        Bytes that it may have when it is plain.
    pipes : bool
        Read pipes, too, such as those of a shell's `<(command)`.

    Raises
    ------
    BadInputError
        If it cannot be read, is no regular file, is empty or too large, or its compressed
        stream is damaged.
    SynctaxError
        If it is a URL and fsspec (extra `cloud`) is not installed.
    """
    name = os.fspath(path)
    if "://" not in name:
        _check_local(name, kind, pipes=pipes)
    damage, data = Damage(), BytesIO()
    with open_file(name) as file:
        for block in plain_blocks(file, damage):
            data.write(block)
            if data.tell() > most:
                raise BadInputError(
                    f"{name}: expected {kind}, found more than {most // 2**20:,} MiB"
                )
    if damage.reason:
        raise BadInputError(
            f"{name}: expected {kind}, found a damaged compressed stream: {damage.detail}"
        )
    if not data.tell():
        raise BadInputError(f"{name}: expected {kind}, found an empty file")
    return data.getvalue()


def _check_local(name: str, kind: str, *, pipes: bool) -> None:
    """Refuse what is no file before it is opened: that of a pipe waits for its writer."""
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 - a text may hold any byte
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise BadInputError(f"{name}: expected {kind}: {reason}") from error
    if not (S_ISREG(mode) or (pipes and S_ISFIFO(mode))):
        found = "a folder" if S_ISDIR(mode) else "a pipe or a device"
        raise BadInputError(f"{name}: expected {kind}, found {found}")
