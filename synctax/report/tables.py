"""Tables and numbers for people: columns that fit the screen, units that read well."""

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from synctax.report.output import Result
from synctax.report.streams import broken, columns_of, encoding_of, spelled, visible
from synctax.schema import Rows
from synctax.texts import ABSENT, is_absent, number

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, RenderableType

_UNBOUNDED = 10_000
"""Width of what is piped: a line is as long as its content."""

_GAP = 3
"""Signs between two columns."""


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a printed table.

    Parameters
    ----------
    title : str
    cells : n strings
    right : bool
        Flush right, for numbers.
    rank : int
        Columns of higher rank leave first where the terminal is too narrow.
    least : int
        Before one leaves, cells are cut down to so many signs; 0 to cut none.
    mark : str
        What a cut cell ends in.
    """

    title: str
    cells: Sequence[str]
    right: bool = True
    rank: int = 0
    least: int = 0
    mark: str = "…"

    @property
    def width(self) -> int:
        """Signs of the widest cell, the title among them."""
        from rich.cells import cell_len

        return max(map(cell_len, (self.title, *self.cells)))

    def cut(self, width: int) -> "Field":
        """Return the column with cells that are no wider."""
        from rich.cells import cell_len, set_cell_size

        def fit(cell: str) -> str:
            if cell_len(cell) <= width:
                return cell
            return set_cell_size(cell, width - len(self.mark)).rstrip() + self.mark

        return replace(self, title=fit(self.title), cells=[fit(one) for one in self.cells])


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words that are indented where they go on in the next line.

    Parameters
    ----------
    text : str
        With the blanks that its first line begins with.
    indent : int, optional
        Blanks at the beginning of all other lines; two more than the first has.
    """

    text: str
    indent: int | None = None

    def __rich__(self) -> "RenderableType":
        """Show the text in one, where it stands within something else of rich."""
        return visible(self.text)


def to_text(
    parts: "Iterable[RenderableType]",
    *,
    to_file: bool = False,
    stream: IO[str] | None = None,
) -> str:
    """Render in order; colours and wrapping only for a terminal.

    What is piped or filed has no control sequences, and no line broken to fit unless
    `COLUMNS` is set for a pipe. What does not print is escaped, and what the encoding does
    not know is replaced.

    Parameters
    ----------
    parts : iterable
        Rich tables and plain strings.
    to_file : bool
        Lines without end, in UTF-8.
    stream : text stream, optional
        Where the text goes, if not to stdout.
    """
    from rich.console import Console

    stream = stream or sys.stdout
    terminal = stream.isatty() and not to_file
    encoding = "utf-8" if to_file else encoding_of(stream)
    width = _UNBOUNDED if to_file else _width(stream, terminal=terminal)
    console = Console(
        file=io.StringIO(),
        force_terminal=terminal,
        # NO_COLOR and TERM=dumb are rich's to obey
        color_system="auto" if terminal else None,
        width=width,
        height=_UNBOUNDED,  # else rich takes a dumb terminal to be 80 wide
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        if isinstance(part, Fitted):
            part.readable(encoding).print_on(console)
        elif isinstance(part, str | Sentence):
            said = Sentence(part) if isinstance(part, str) else part
            text = spelled(visible(said.text), encoding)
            console.print(broken(text, width, said.indent), soft_wrap=True)
        else:
            console.print(part)
    text = spelled(console.file.getvalue(), encoding)  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _width(stream: IO[str], *, terminal: bool) -> int:
    asked = os.environ.get("COLUMNS", "")
    told = asked.isdecimal() and int(asked) > 0
    return columns_of(stream) if terminal or told else _UNBOUNDED


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that leaves out the columns of highest rank until the rest fits.

    A caption says how many are missing. Where a line has no end, all of them are there.
    Columns of rank 0 stay, and are folded where even they do not fit.
    """

    fields: Sequence[Field]
    title: str = ""

    def readable(self, encoding: str) -> "Fitted":
        """Return the table with cells that print, in the signs of an encoding."""

        def show(text: str) -> str:
            return spelled(visible(text), encoding)

        fields = [
            replace(
                one,
                title=show(one.title),
                cells=[show(cell) for cell in one.cells],
                mark=show(one.mark),
            )
            for one in self.fields
        ]
        return Fitted(fields, show(self.title))

    def __rich__(self) -> "RenderableType":
        """Lay out all columns, where the table stands within something else of rich."""
        return _folded(self.fields)

    def print_on(self, console: "Console") -> None:
        """Choose columns for the width at hand and lay them out."""
        from rich.text import Text

        shown, fits = _fitting(self.fields, console.width)
        missing = len(self.fields) - len(shown)
        if self.title:
            console.print(Text(self.title, "italic"))
        if fits:
            head, *rows = _lines(shown)
            console.print(Text(head.rstrip(), "bold"))
            # rich takes a millisecond a row
            console.file.writelines(f"{row}\n" for row in rows)
        else:
            console.print(_folded(shown))
        if missing:
            columns = "column" if missing == 1 else "columns"
            console.print(Text(f"+ {missing} {columns} on a wider terminal", "dim italic"))


def _lines(fields: Sequence[Field]) -> Iterator[str]:
    """Lay out a table whose lines fit: titles, a rule, the rows."""
    from rich.cells import cell_len

    columns = []
    for one in fields:
        cells = (one.title, *one.cells)
        lengths = [len(cell) if cell.isascii() else cell_len(cell) for cell in cells]
        widest = max(lengths)
        blanks = [" " * (widest - length) for length in lengths]
        pairs = zip(cells, blanks, strict=True)
        columns.append([b + c if one.right else c + b for c, b in pairs])
    lines = map((" " * _GAP).join, zip(*columns, strict=True))
    head = next(lines)
    yield head
    yield "─" * cell_len(head)
    yield from lines


def _folded(fields: Sequence[Field]) -> "RenderableType":
    """Lay out a table that is too wide: long cells take several lines."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for one in fields:
        grid.add_column(
            one.title, justify="right" if one.right else "left", overflow="fold"
        )
    for cells in zip(*(one.cells for one in fields), strict=True):
        grid.add_row(*cells)
    return grid


def table(fields: Sequence[Field], *, title: str = "") -> Fitted:
    """Lay out columns; those of highest `rank` leave where the terminal is narrow."""
    return Fitted(fields, title)


def plain(result: Result) -> "list[RenderableType]":
    """Show every column of every row: what a command without its own table prints."""
    if result.empty:
        return ["nothing to show: the table has no rows"]
    return [
        table(
            [
                Field(
                    column.name,
                    [_cell(value) for value in result.column(column.name)],
                    right=column.dtype in ("int", "float"),
                    rank=order,
                )
                for order, column in enumerate(result.table.columns)
            ]
        )
    ]


def records(frame: "pd.DataFrame | Rows") -> list[dict[str, Any]]:
    """Return the rows of a result as mappings of column to value, null as None or NaN."""
    if isinstance(frame, Rows):
        return frame.records()
    rows = frame.astype(object).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def column(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    title: str,
    show: Callable[[Any], str] = number,
    *,
    rank: int = 0,
) -> Field:
    """Make a printed column of a column of the result.

    Parameters
    ----------
    rows : sequence of mapping
    name : str
        Of the column.
    title : str
    show : callable
        Writes a value that is known; what it writes is flush right if the values are
        numbers.
    rank : int
        As for `Field`.
    """
    values = [row[name] for row in rows]
    cells = [ABSENT if is_absent(value) else show(value) for value in values]
    texts = any(isinstance(value, str) for value in values) or show is str
    return Field(title, cells, right=not texts, rank=rank)


def _fitting(fields: Sequence[Field], width: int) -> tuple[list[Field], bool]:
    """Choose the columns that fit, cut if need be; False if even those of rank 0 do not."""
    need = {id(one): one.width for one in fields}
    least = {id(f): min(need[id(f)], f.least or need[id(f)]) for f in fields}
    shown = list(fields)
    while (used := sum(least[id(f)] + _GAP for f in shown) - _GAP) > width:
        worst = max(range(len(shown)), key=lambda i: (shown[i].rank, i))
        if shown[worst].rank == 0:
            return shown, False
        del shown[worst]
    spare = width - used
    for place, one in enumerate(shown):
        room = need[id(one)] - least[id(one)]
        if room > spare:
            shown[place] = one.cut(least[id(one)] + spare)
        spare -= min(room, spare)
    return shown, True


def _cell(value: object) -> str:
    if is_absent(value):
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, (int, float)) else str(value)
