"""What went wrong in somebody's own code, in one line."""

import importlib
from pathlib import Path
from traceback import extract_tb
from typing import Final

_OURS: Final = (Path(__file__).parents[2], Path(importlib.__file__).parent)
"""Folders of code that calls that of others."""


def described(error: BaseException) -> str:
    """Say what an exception says, and the line of somebody's own code that it comes from.

    Examples
    --------
    >>> described(KeyError("rack"))
    "KeyError: 'rack'"
    """
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    # a syntax error names its place itself
    frames = [] if isinstance(error, SyntaxError) else extract_tb(error.__traceback__)
    for frame in reversed(frames):
        path = Path(frame.filename)
        if not frame.filename.startswith("<") and not _ours(path):
            return f"{said} ({path.name}, line {frame.lineno})"
    return said


def _ours(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _OURS)
