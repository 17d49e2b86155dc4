"""Every file of a folder, whatever links lead to."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from synctax.errors import BadInputError


def walk(folder: str) -> Iterator[Path]:
    """Yield the files of a folder and of all its subfolders, hidden ones excepted.

    Links to folders are followed once what is really inside has been searched, so a link
    adds only what is not reached without it. One that leads to a folder above, or to one
    that was searched already, leads nowhere: circles end.

    Raises
    ------
    BadInputError
        If a folder cannot be read.
    """
    seen = {_identity(above) for above in Path(folder).resolve().parents}
    waiting = [Path(folder)]
    for start in waiting:  # grows by the links that are met
        if _identity(start) in seen:
            continue
        for root, folders, names in os.walk(start, onerror=_refuse):
            seen.add(_identity(Path(root)))
            inside = [Path(root, name) for name in sorted(folders) if name[0] != "."]
            links = {path.name for path in inside if path.is_symlink()}
            waiting += [path for path in inside if path.name in links]
            folders[:] = [
                path.name
                for path in inside
                if path.name not in links and _identity(path) not in seen
            ]
            yield from (Path(root, name) for name in names if name[0] != ".")


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        _refuse(error)
    return status.st_dev, status.st_ino


def _refuse(error: OSError) -> NoReturn:
    raise BadInputError(
        f"{error.filename} cannot be read ({error.strerror}); "
        "check its permissions, or give only folders that can be read"
    )
