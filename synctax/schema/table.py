"""What a public table is: its columns, their types, units and meanings."""

from collections.abc import Mapping, Sequence
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

    def to_frame(
        self, data: "Mapping[str, Sequence[Any] | npt.NDArray[Any]]"
    ) -> "pd.DataFrame":
        """Build the pandas table; absent values are null, never a number.

        Parameters
        ----------
        data : mapping of column name to n values, a sequence or array
            None (or NaN in float columns) stands for absent. Arrays are taken as they are.

        Raises
        ------
        ValueError
            If the columns are not exactly those declared.
        """
        import pandas as pd

        if set(data) != set(self.names):
            raise ValueError(
                f"{self.schema} wants columns {sorted(self.names)}, got {sorted(data)}"
            )
        return pd.DataFrame(
            {
                column.name: pd.Series(
                    _values(data[column.name]), dtype=_PANDAS_DTYPE[column.dtype]
                )
                for column in self.columns
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
