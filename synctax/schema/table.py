"""What a public table is: its columns, their types, units and meanings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

DType = Literal["int", "float", "str", "bool"]


@dataclass(frozen=True, slots=True)
class Column:
    """One public column: `unit` is empty for names, counts and shares."""

    name: str
    dtype: DType
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A public table; `schema` is the name programs check (`synctax.measure/1`)."""

    schema: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def rows(self, data: "Mapping[str, Sequence[Any] | npt.NDArray[Any]]") -> "Rows":
        """Hold the columns of a table, of which no pandas frame is made yet.

        Parameters
        ----------
        data : mapping of column name to n values, a sequence or array
            None (or NaN in float columns) stands for absent. Arrays are taken as they are.

        Raises
        ------
        ValueError
            If the columns are not exactly those declared.
        """
        if set(data) != set(self.names):
            raise ValueError(
                f"{self.schema} wants columns {sorted(self.names)}, got {sorted(data)}"
            )
        return Rows(self, data)

    def to_frame(
        self, data: "Mapping[str, Sequence[Any] | npt.NDArray[Any]]"
    ) -> "pd.DataFrame":
        """Build the pandas table; absent values are null, never a number.

        Parameters and errors are those of `rows`.
        """
        return self.rows(data).to_frame()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """The rows of a public table as columns; pandas is imported by `to_frame` only.

    Parameters
    ----------
    table : Table
    columns : mapping of column name to n values
    """

    table: Table
    columns: "Mapping[str, Sequence[Any] | npt.NDArray[Any]]"

    def __len__(self) -> int:
        return len(self.columns[self.table.names[0]])

    @property
    def empty(self) -> bool:
        """Whether there is no row."""
        return not len(self)

    def column(self, name: str) -> list[Any]:
        """Return the values of a column as Python's own, None where absent."""
        kind = next(one.dtype for one in self.table.columns if one.name == name)
        own = _PYTHON[kind]
        return [None if v is None or v != v else own(v) for v in self.columns[name]]

    def records(self) -> list[dict[str, Any]]:
        """Return each row as a mapping of column name to value, None where absent."""
        names = self.table.names
        columns = [self.column(name) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_frame(self) -> "pd.DataFrame":
        """Build the pandas table; absent values are null, never a number."""
        import pandas as pd

        return pd.DataFrame(
            {
                column.name: pd.Series(
                    _values(self.columns[column.name]), dtype=_PANDAS_DTYPE[column.dtype]
                )
                for column in self.table.columns
            }
        )


def _values(values: "Sequence[Any] | npt.NDArray[Any]") -> Any:
    # a list of an array's numbers costs a Python object each
    return values if hasattr(values, "dtype") else list(values)


_PANDAS_DTYPE: dict[DType, Literal["Int64", "float64", "object", "boolean"]] = {
    "int": "Int64",
    "float": "float64",
    "str": "object",
    "bool": "boolean",
}

_PYTHON: dict[DType, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
}
