"""Logarithmic axes that read as plain numbers (100, 1,000), and legends above all axes."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from synctax.arrays import F64
from synctax.report.figures.lettering import width_em, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Which: TypeAlias = Literal["x", "y"]

SPAN_OF_LOG: Final = 10
"""Axes are logarithmic where the largest value is so many times the smallest."""

FEW_DECADES: Final = 2
"""Over fewer, an axis has ticks at 1, 2 and 5 of each."""

EDGE: Final = 1.15
"""Axes of sizes go beyond the ends of what is drawn by this factor."""

TICK_IN: Final = 0.5
"""Inches that a number of ranks takes below an axis, with its distance to the next."""

_WITHOUT_MARGINS: Final = 0.8
"""Share of its column of the figure that an axis is wide."""


def cumulated(
    values: F64, start: float, end: float, *, most: int | None = None
) -> tuple[F64, F64]:
    """Cumulate the shares of values, as steps up that go from 0 to 1.

    Parameters
    ----------
    values : (n,) float64
        One or more.
    start : float
        Where the share of 0 is drawn.
    end : float
        Up to where the share of 1 is drawn: curves of one picture end together.
    most : int, optional
        Of more values every so manyth is drawn, the first and the last in any case.

    Returns
    -------
    values, shares : (m + 2,) float64
        `start`, then the values ascending, each with the share that is no larger, then
        `end`; m is n, and `most` at most.

    Examples
    --------
    >>> x, y = cumulated(np.array([3.0, 1.0]), start=0.0, end=4.0)
    >>> x.tolist(), y.tolist()
    ([0.0, 1.0, 3.0, 4.0], [0.0, 0.5, 1.0, 1.0])
    """
    ordered = np.sort(values)
    many = values.size if most is None else min(values.size, most)
    at = np.round(np.linspace(0, values.size - 1, many)).astype(np.int64)
    x = np.concatenate([[start], ordered[at], [end]])
    return x, np.concatenate([[0], (at + 1) / values.size, [1]])


def known(values: Any) -> F64:
    """Return the values above 0 that an axis has room for, flat.

    Parameters
    ----------
    values : array_like of float
        NaN, infinite and what is not above 0 is left out.
    """
    flat = np.asarray(values, np.float64).ravel()
    return flat[np.isfinite(flat) & (flat > 0)]


def is_wide(values: Any) -> bool:
    """Whether values call for a logarithmic axis.

    Parameters
    ----------
    values : array_like of float

    Examples
    --------
    >>> is_wide([1.0, 9.0]), is_wide([1.0, 90.0]), is_wide([0.0, 90.0])
    (False, True, False)
    """
    flat = np.asarray(values, np.float64).ravel()
    flat = flat[np.isfinite(flat)]
    return bool(flat.size and flat.min() > 0 and flat.max() > SPAN_OF_LOG * flat.min())


def logarithmic(axes: "Axes", which: Which, low: float, high: float) -> None:
    """Make an axis logarithmic from one value to another.

    Parameters
    ----------
    axes : Axes
    which : {"x", "y"}
    low, high : float
        Ends, above 0.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    from synctax.report.figures.ticks import Numbers

    axis = _axis(axes, which)
    _set(axes, which, low, high, base=10)
    decades = math.log10(high / low)
    axis.set_major_locator(LogLocator(10, (1,) if decades >= FEW_DECADES else (1, 2, 5)))
    axis.set_major_formatter(Numbers())
    axis.set_minor_formatter(NullFormatter())


def whole(axes: "Axes", which: Which) -> None:
    """Let ticks of a linear axis be whole numbers: of steps, of places, of things.

    Parameters
    ----------
    axes : Axes
    which : {"x", "y"}
    """
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1)
    _axis(axes, which).set_major_locator(ticks)


def numbered(axes: "Axes") -> None:
    """Write the numbers of linear axes as those of logarithmic ones, and of tables.

    Parameters
    ----------
    axes : Axes
    """
    from synctax.report.figures.ticks import EvenNumbers

    axes.xaxis.set_major_formatter(EvenNumbers())
    axes.yaxis.set_major_formatter(EvenNumbers())


def in_percent(axes: "Axes", which: Which) -> None:
    """Write shares as numbers of per cent; the label of the axis has the sign.

    Parameters
    ----------
    axes : Axes
    which : {"x", "y"}
    """
    from synctax.report.figures.ticks import EvenNumbers

    _axis(axes, which).set_major_formatter(EvenNumbers(times=100.0))


def empty(axes: "Axes", sentence: str) -> None:
    """Say in the middle of a panel why there is nothing to see in it.

    Parameters
    ----------
    axes : Axes
    sentence : str
    """
    axes.annotate(
        sentence,
        (0.5, 0.5),
        xycoords="axes fraction",
        ha="center",
        va="center",
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.9},
    )


def doubling(axes: "Axes", sizes: Iterable[float]) -> None:
    """Make the axis of x logarithmic, for sizes, with ticks at powers of two.

    Parameters
    ----------
    axes : Axes
    sizes : iterable of float
        What is drawn, above 0.
    """
    from matplotlib.ticker import FixedLocator, NullLocator

    from synctax.report.figures.ticks import Numbers

    drawn = sorted(sizes)
    _set(axes, "x", drawn[0] / EDGE, drawn[-1] * EDGE, base=2)
    room = int(_width_in(axes) / TICK_IN)
    axis = axes.xaxis
    axis.set_major_locator(FixedLocator(size_ticks(drawn[0], drawn[-1], room)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(Numbers())


def size_ticks(least: float, most: float, room: int) -> list[float]:
    """Choose powers of two, evenly; where there are not two of them, both ends.

    Parameters
    ----------
    least, most : float
        Sizes that are drawn, above 0.
    room : int
        How many ticks there may be, or two.

    Examples
    --------
    >>> size_ticks(8, 4096, 4), size_ticks(5, 7, 4), size_ticks(6, 6, 4)
    ([8.0, 64.0, 512.0, 4096.0], [5, 7], [6])
    """
    powers = range(math.ceil(math.log2(least)), math.floor(math.log2(most)) + 1)
    if len(powers) < 2:
        return sorted({least, most})
    step = math.ceil(len(powers) / max(room, 2))
    return [2.0**power for power in powers[::step]]


def legend_above(
    figure: "Figure",
    panels: "Sequence[Axes]",
    columns: int,
    *,
    last: str = "",
    **options: Any,
) -> None:
    """Put one legend above all axes, where it covers no data; each entry once.

    Parameters
    ----------
    figure : Figure
    panels : sequence of Axes
        Whose labels are told.
    columns : int
        At most; fewer where entries are too wide for so many.
    last : str, optional
        The entry that stands last.
    options
        Of `Figure.legend`.
    """
    entries: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            entries.setdefault(str(label), handle)
    if last in entries:
        entries[last] = entries.pop(last)
    if not entries:
        return
    entry_em = max(map(width_em, entries)) + _HANDLE_EM
    fit = int(_PT_PER_IN * figure.get_figwidth() / _SMALL_PT / entry_em)
    figure.legend(
        list(entries.values()),
        list(entries),
        ncols=max(1, min(len(entries), columns, fit)),
        **({"loc": "outside upper center"} | options),
    )


def in_lines(axes: "Axes", text: str) -> str:
    """Break a title or label into lines that axes are wide.

    Parameters
    ----------
    axes : Axes
    text : str
        With names as `named` writes them.
    """
    return "\n".join(wrap(text, _width_in(axes) * _PT_PER_IN / _LABEL_PT))


_SMALL_PT: Final = 8.33
_LABEL_PT: Final = 10.0
"""Sizes of the fonts of legends, and of labels and titles."""

_HANDLE_EM: Final = 5.0
"""What a legend takes beside the text of an entry."""

_PT_PER_IN: Final = 72


def _width_in(axes: "Axes") -> float:
    """Tell about how wide axes are, in inches, before they are laid out."""
    spec = axes.get_subplotspec()
    columns = 1 if spec is None else spec.get_gridspec().ncols
    figure = axes.figure
    return float(_WITHOUT_MARGINS * figure.bbox.width / figure.dpi / columns)


def _axis(axes: "Axes", which: Which) -> "Axis":
    return axes.xaxis if which == "x" else axes.yaxis


def _set(axes: "Axes", which: Which, low: float, high: float, *, base: int) -> None:
    if which == "x":
        axes.set_xscale("log", base=base)
        axes.set_xlim(low, high)
    else:
        axes.set_yscale("log", base=base)
        axes.set_ylim(low, high)
