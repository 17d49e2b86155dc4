"""How results show themselves in notebooks: a heading and the first rows, escaped."""

from typing import TYPE_CHECKING, Any, Protocol

from synctax.texts import counted, number

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 20
"""A notebook shows no more; the line below tells how many there are."""

LONGEST_CELL = 50
"""Signs of a text that are shown."""


class Tabular(Protocol):
    """A result that has a table."""

    def to_frame(self) -> "pd.DataFrame":
        """Return the table."""


class Shown:
    """Gives a result with `to_frame` and a short `repr` its look in notebooks."""

    __slots__ = ()

    def _repr_html_(self: Tabular) -> str:
        return table_html(repr(self).strip("<>"), self.to_frame())


def table_html(heading: str, frame: "pd.DataFrame") -> str:
    """Write a heading and the first rows of a table; names from traces are only text.

    Parameters
    ----------
    heading : str
        One line.
    frame : DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> text = table_html("two <b>", pd.DataFrame({"name": ["<script>", "b"]}))
    >>> "<script>" in text, "two &lt;b&gt;" in text
    (False, True)
    """
    shown = frame.head(MOST_ROWS)
    table = shown.apply(_text).to_html(
        index=False, border=0, escape=True, na_rep="", float_format=number
    )
    more = len(frame) - len(shown)
    rest = f"<p>… and {counted(more, 'row')} more: to_frame()</p>" if more else ""
    from html import escape  # with its entities 2 ms of a start that writes no page

    return f"<p>{escape(heading)}</p>{table}{rest}"


def _text(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Shorten texts; numbers stay as they are."""
    return column if column.dtype.kind in "iufb" else column.map(_short)


def _short(value: object) -> object:
    if isinstance(value, str) and len(value) > LONGEST_CELL:
        return value[: LONGEST_CELL - 1] + "…"
    return value
