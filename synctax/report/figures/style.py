"""How figures look, and how they are written: the same in print, on screens, in grey.

The library's state is never touched: figures are made without `pyplot`, and settings hold
within `styled` only.
"""

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synctax.errors import SynctaxError
from synctax.report.files import replacing
from synctax.report.streams import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS: Final = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#F0E442",
)
"""Okabe and Ito's palette, which people with colour blindness tell apart."""

LINES: Final = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
"""Each curve has its own, so that grey prints tell them apart as well."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")

HATCHES: Final = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---")
"""Of bars, for the same reason."""

HEAT: Final = "cividis"
"""Of heat maps: lightness grows evenly, for every kind of colour vision."""

SUFFIXES: Final = (".png", ".svg", ".pdf")

DPI: Final = 150
"""Of PNG: a figure 6.4 inches wide is 960 pixels wide."""

_SETTINGS: Final[dict[str, Any]] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.dpi": DPI,
    "font.size": 10,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "synctax",
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Let the settings of this module hold for what is drawn within.

    Raises
    ------
    SynctaxError
        If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise SynctaxError(NO_MATPLOTLIB) from error
    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(_SETTINGS)
        yield


NO_MATPLOTLIB: Final = (
    "pictures are drawn by matplotlib, which is not installed; pip install 'synctax[plot]'"
)


def new_figure(
    rows: int = 1,
    columns: int = 1,
    *,
    width_in: float = 6.4,
    height_in: float = 4.0,
    row_heights: Sequence[float] | None = None,
) -> "tuple[Figure, list[Axes]]":
    """Make a figure with its axes, row by row; call it within `styled`.

    Parameters
    ----------
    rows, columns : int
        Of axes.
    width_in, height_in : float
        In inches.
    row_heights : (rows,) sequence of float, optional
        Of rows against each other; else all are equal.
    """
    from synctax.report.figures.canvas import ShownFigure

    figure = ShownFigure(figsize=(width_in, height_in), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, height_ratios=row_heights)
    return figure, [axis for row in axes for axis in row]


def caption(figure: "Figure", text: str) -> None:
    """Write below the axes what is shown, of how many: the n belongs to every figure."""
    import textwrap

    per_inch = 16
    width = int(figure.get_figwidth() * per_inch)
    # textwrap breaks no line at no-break spaces: n stays with its number
    kept = plain(" ".join(text.split()), width=CAPTION_WIDTH).replace(
        "n = ", "n\u00a0=\u00a0"
    )
    lines = "\n".join(textwrap.wrap(kept, width)).replace("n\u00a0=\u00a0", "n = ")
    figure.supxlabel(lines, fontsize="small", x=0.01, ha="left")


CAPTION_WIDTH: Final = 900
"""Characters of a caption: names of any length leave room for the picture."""

NAME_WIDTH: Final = 30
"""Characters of a name from a trace that figures show."""


def plain(text: str, *, width: int | None = None) -> str:
    r"""Return text as it stands: names from traces are no formulas and control nothing.

    Line breaks stay.

    Parameters
    ----------
    text : str
    width : int, optional
        Cut what has more characters: a name as long as a page would leave no room.

    Examples
    --------
    >>> plain("gemm$_x$"), plain("a\tb"), plain("reduce_scatter", width=8)
    ('gemm\\$_x\\$', 'a\\tb', 'reduce_…')
    """
    shown = "\n".join(map(visible, text.split("\n")))
    if width is not None and len(shown) > width:
        shown = f"{shown[: width - 1]}…"
    return shown.replace("$", r"\$")


def save(figure: "Figure", path: Path) -> None:
    """Write a figure whole or not at all; the suffix tells the format.

    The same figure gives the same bytes: no time of writing is kept.

    Raises
    ------
    SynctaxError
        If the suffix is none of `SUFFIXES`.
    OSError
        If the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SynctaxError(
            f"the name {path.name!r} tells no format; end it in {', '.join(SUFFIXES)}"
        )
    dates: dict[str, dict[str, Any]] = {
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    with styled(), replacing(path) as file, warnings.catch_warnings():
        # a sign that no font has is drawn as a box: names from traces may hold any
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # where texts leave no room the picture is still whole
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        figure.savefig(file, format=suffix[1:], dpi=DPI, metadata=dates.get(suffix, {}))
