"""Traces that are tables with a header: a row a job, in any order of columns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.lines import Source, cells
from synctax.cluster.convert.reasons import COLUMNS, LeftOutError
from synctax.errors import BadInputError

Row = list[str]
Cell = Callable[[Row], str]
Make = Callable[[Row], Job]


@dataclass(frozen=True, slots=True)
class Header:
    """Names of columns, and where each is."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, line: str, delimiter: str) -> "Header":
        """Read a header; names in lower case, without blanks around them."""
        try:
            names = cells(line.lstrip("\ufeff"), delimiter)
        except LeftOutError:
            names = line.split(delimiter)
        return cls(tuple(one.strip().strip('"').lower() for one in names))

    def has(self, *names: str) -> bool:
        """Whether all of some columns are there."""
        return all(name.lower() in self.names for name in names)

    def cell(self, *names: str) -> Cell:
        """Tell how to take a column, the first of some that is there, out of a row."""
        for name in names:
            if name.lower() in self.names:
                at = self.names.index(name.lower())
                return lambda row: row[at]
        return lambda _row: ""


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format whose files are tables with a header.

    Parameters
    ----------
    name : str
        As `--from` has it.
    title : str
        What it is, for people.
    needed : tuple of str
        Columns that no file can do without.
    telling : tuple of str
        Columns that with these tell the format from others.
    start : callable
        Takes the header, what is asked and the tally; returns what makes a job of a row.
    delimiter : str
    either : tuple of tuple of str
        Of each of these one column is needed.
    clock : str or None
        Zone of times that name none; None: as they stand. Empty: times are numbers.
    """

    name: str
    title: str
    needed: tuple[str, ...]
    telling: tuple[str, ...]
    start: Callable[[Header, Options, Tally], Make]
    delimiter: str = ","
    either: tuple[tuple[str, ...], ...] = ()
    clock: str | None = ""

    def recognises(self, source: Source) -> bool:
        """Whether a file is of this format, from its header."""
        header = Header.of(source.first_line, self.delimiter)
        return header.has(*self.telling) and not self.lacks(header)

    def lacks(self, header: Header) -> list[str]:
        """Name needed columns that a header does not have."""
        lacking = [name for name in self.needed if not header.has(name)]
        return lacking + [
            " or ".join(names) for names in self.either if not any(map(header.has, names))
        ]

    def read(
        self, sources: Sequence[Source], options: Options, tally: Tally
    ) -> Iterator[Job]:
        """Read the jobs of files, one after the other.

        Raises
        ------
        BadInputError
            If a needed column is missing.
        """
        for source in sources:
            lines = source.lines(tally)
            header = Header.of(next(lines, ""), self.delimiter)
            if lacking := self.lacks(header):
                raise BadInputError(
                    f"{source.path} is no {self.title}: no column {', '.join(lacking)}; "
                    f"its first line is {source.first_line!r:.200}"
                )
            make = self.start(header, options, tally)
            yield from read_rows(lines, header, self.delimiter, make, tally)


def read_rows(
    lines: Iterator[str], header: Header, delimiter: str, make: Make, tally: Tally
) -> Iterator[Job]:
    """Make a job of every line of a table, or count why not."""
    width = len(header.names)
    for line in lines:
        tally.read += 1
        try:
            row = cells(line, delimiter)
            if len(row) != width:
                found = f"{len(row)} columns, the header has {width}"
                raise LeftOutError(COLUMNS, found)
            job = make(row)
        except LeftOutError as left:
            tally.leave(left.reason, left.found)
        else:
            yield job
