"""stdout and stderr as they are found: closed, full, without µ; and names that play tricks.

Whatever people read goes through `visible`, so that a file, host, group or kernel whose
name holds control characters cannot move the cursor or begin a new line. JSON, CSV and
Parquet keep the names as they are, secrets of URLs aside.
"""

import os
import re
import sys
from textwrap import wrap
from typing import IO

from synctax.urls import without_secrets

CLOSED_STDOUT = "stdout is closed; leave it open, or write to a file with -o FILE"

_NARROWEST = 40
"""Columns that a terminal is taken to have at least."""

_UNKNOWN = 80
"""Columns of a terminal that does not tell."""

_UNIT = re.compile(
    r"(?<=\d) (?=(%|×|[nµm]?s|min|h|[kMGT]?B|[kMGT]?B/s|events?)([^\w/]|$))"
    r"|(?<=[<>=]) (?=[\d−])"
)
"""The blank between a number and its unit, and before one that is compared."""

_INSTEAD = str.maketrans(
    {
        "µ": "u",
        "×": "x",
        "–": "-",
        "—": "-",
        "…": "...",
        "²": "^2",
        "⁹": "^9",
        "∛": "cbrt ",
        "·": "*",
        "−": "-",
        "α": "alpha",
        "γ": "gamma",
        "ε": "eps",
        "μ": "mu",
        "ξ": "xi",
        "σ": "sigma",
        "τ": "tau",
        "χ": "chi",
        "é": "e",
        "≤": "<=",
        "≥": ">=",
        "±": "+-",
        "→": "->",
        "─": "-",
        "━": "-",
        "│": "|",
        "└": "+",
    }
)
"""What stands for a sign where the encoding does not know it."""


def visible(text: str) -> str:
    r"""Escape what does not print: control characters, marks of direction, lone surrogates.

    URLs lose what gives access (`synctax.urls`).

    Examples
    --------
    >>> print(visible("rank0\x1b[31m\n.json"))
    rank0\x1b[31m\n.json
    """
    text = without_secrets(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def spelled(text: str, encoding: str) -> str:
    r"""Replace what an encoding does not know by signs that it knows.

    Examples
    --------
    >>> spelled("4 × 2.5 µs – 你", "ascii"), spelled("4 × 2.5 µs", "latin-1")
    ('4 x 2.5 us - \\u4f60', '4 × 2.5 µs')
    """
    if text.isascii():
        return text
    missing = {ord(c) for c in set(text) if not _knows(encoding, c)}
    known = {
        code: _INSTEAD.get(code) or chr(code).encode("ascii", "backslashreplace").decode()
        for code in missing
    }
    return text.translate(known)


def _knows(encoding: str, sign: str) -> bool:
    return sign.encode(encoding, "ignore") != b""


def encoding_of(stream: IO[str]) -> str:
    """Name the encoding of a stream; one that names none holds anything."""
    return getattr(stream, "encoding", None) or "utf-8"


def broken(
    text: str, width: int, indent: int | None = None, *, whole_words: bool = False
) -> str:
    r"""Break lines that are wider than a terminal; a number and its unit stay together.

    Parameters
    ----------
    text : str
        One line or several.
    width : int
        Columns of the terminal.
    indent : int, optional
        Blanks before what goes on in the next line; two more than its line begins with.
    whole_words : bool
        Leave what has no blank, such as a path, to the terminal: it can then be copied.

    Examples
    --------
    >>> print(broken("note: 4 × first of its 9 groups took 3 ms\nnote: short", 40))
    note: 4 × first of its 9 groups took
      3 ms
    note: short
    """
    return "\n".join(
        one
        for line in text.split("\n")
        for one in _wrapped(line, width, indent, whole_words=whole_words)
    )


def _wrapped(line: str, width: int, indent: int | None, *, whole_words: bool) -> list[str]:
    if len(line) <= width:
        return [line]
    if indent is None:
        indent = len(line) - len(line.lstrip(" ")) + 2
    lines = wrap(
        _UNIT.sub("\N{NO-BREAK SPACE}", line),
        width,
        subsequent_indent=" " * indent,
        break_long_words=not whole_words,
        break_on_hyphens=False,
    )
    return [one.replace("\N{NO-BREAK SPACE}", " ") for one in lines]


def say(text: str) -> None:
    """Write lines to stderr; where it takes none, the work goes on without."""
    try:
        if sys.stderr.isatty():
            text = broken(text, columns_of(sys.stderr), whole_words=True)
        sys.stderr.write(spelled(text, encoding_of(sys.stderr)) + "\n")
        sys.stderr.flush()
    except OSError:  # nobody is left to be told
        discard(sys.stderr)


def columns_of(stream: IO[str]) -> int:
    """Columns of a terminal: as told by `COLUMNS`, else as the terminal says."""
    asked = os.environ.get("COLUMNS", "")
    columns = int(asked) if asked.isdecimal() else 0
    try:
        columns = columns or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # a stream that is none of the system's
        columns = 0
    return max(_NARROWEST, columns or _UNKNOWN)


def discard(stream: IO[str]) -> None:
    """Send the rest of a stream that takes no more to nowhere.

    What its buffer still holds would else fail once more when the interpreter ends, and
    change the exit code.
    """
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # a stream in memory has no descriptor to fail
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def mend() -> None:
    """Occupy standard descriptors that came closed.

    A trace would else be opened under the number of stderr, and be written to. What was
    to go to stderr is lost; writing to a stdout that was closed still fails (`EBADF`),
    because the descriptor in its place can only be read.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free: this one
    if sys.stdout is None:
        sys.stdout = _text(1)
    if sys.stderr is None:
        sys.stderr = _text(2)


def _text(number: int) -> IO[str]:
    return open(number, "w", encoding="utf-8", closefd=False)
