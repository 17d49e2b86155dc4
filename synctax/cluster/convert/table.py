"""Traces that are tables with a header: a row a job, in any order of columns."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from synctax.cluster.convert.found import Job, Options, Tally, made
from synctax.cluster.convert.lines import SEPARATORS, Source, cells, shown
from synctax.cluster.convert.reasons import COLUMNS, LeftOutError
from synctax.errors import BadInputError

Row = list[str]
Cell = Callable[[Row], str]
Make = Callable[[Row], Job]

_ALIKE = 0.85
"""How alike names of columns are of which one may be meant by the other, of 1."""


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
        What usually separates columns; others are found.
    either : tuple of tuple of str
        Of each of these one column is needed.
    clock : str or None
        Zone of times that name none; None: as they stand. Empty: times are numbers.
    separator : callable, optional
        Finds what separates the columns of a header line, "" where it cannot tell.
    commas_in_cells : bool
        Whether commas separate columns only where cells with commas are quoted.
    advice : str
        How a file with all columns is made; empty where nobody can.
    """

    name: str
    title: str
    needed: tuple[str, ...]
    telling: tuple[str, ...]
    start: Callable[[Header, Options, Tally], Make]
    delimiter: str = ","
    either: tuple[tuple[str, ...], ...] = ()
    clock: str | None = ""
    separator: Callable[[str], str] | None = None
    commas_in_cells: bool = False
    advice: str = ""

    def recognises(self, source: Source) -> bool:
        """Whether a file is of this format, from its header."""
        header = self.header(source.first_line)[0]
        return header.has(*self.telling) and not self.lacks(header)

    def header(self, line: str) -> tuple[Header, str]:
        """Read a header, with the separator that leaves the fewest columns missing."""
        found = self.separator(line) if self.separator else ""
        ways = [self.delimiter, *filter(None, [found]), *SEPARATORS]
        headers = [(Header.of(line, one), one) for one in ways]
        return min(headers, key=lambda one: len(self.lacks(one[0])))

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
            header, delimiter = self.header(next(lines, ""))
            if lacking := self.lacks(header):
                raise BadInputError(
                    f"{source.path} begins {shown(source.first_line)}: it is no "
                    f"{self.title}, as it has {self.without(header, lacking)}"
                )
            self._check(source, header, delimiter)
            make = self.start(header, options, tally)
            yield from read_rows(lines, header, delimiter, make, tally)

    def without(self, header: Header, lacking: Sequence[str]) -> str:
        """Say that columns are missing, and what would help."""
        told = [
            f"{name} ({near[0]}?)"
            if (near := get_close_matches(name.lower(), header.names, 1, _ALIKE))
            else name
            for name in lacking
        ]
        text = f"no column {', '.join(told)}"
        return f"{text}; {self.advice}" if self.advice else text

    def lacks_to_be_known(self, header: Header) -> list[str]:
        """Name columns for want of which a file is not taken for this format."""
        lacking = self.lacks(header)
        others = dict.fromkeys(one for one in self.telling if one not in self.needed)
        return lacking + [name for name in others if not header.has(name)]

    def share(self, header: Header) -> float:
        """Tell which share of the columns that tell the format is there."""
        of = len({*self.needed, *self.telling}) + len(self.either)
        return 1 - len(self.lacks_to_be_known(header)) / of

    def _check(self, source: Source, header: Header, delimiter: str) -> None:
        if self.commas_in_cells and delimiter == "," and '"' not in source.head:
            raise BadInputError(
                f"{source.path} has commas between columns, and in cells, too; "
                f"{self.advice}, without --delimiter"
            )
        many = Counter(header.names)
        used = {*self.needed, *(name for names in self.either for name in names)}
        if twice := [name for name in sorted(used) if many[name.lower()] > 1]:
            raise BadInputError(
                f"{source.path} has the column {twice[0]} twice; leave one of them out"
            )


def read_rows(
    lines: Iterator[str], header: Header, delimiter: str, make: Make, tally: Tally
) -> Iterator[Job]:
    """Make a job of every line of a table, or count why not."""
    width = len(header.names)

    def job_of(line: str) -> Job:
        row = cells(line, delimiter)
        if len(row) != width:
            found = f"{len(row)} columns, the header has {width}"
            raise LeftOutError(COLUMNS, found)
        return make(row)

    return made(lines, job_of, tally)
