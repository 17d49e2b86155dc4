"""How figures look, and how they are written: the same in print, on screens, in grey.

The library's state is never touched: figures are made without `pyplot`, and settings hold
within `styled` only.
"""

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synctax.errors import SynctaxError
from synctax.files import replacing
from synctax.report.figures.lettering import choose_fonts, cut, width_em, wrap
from synctax.report.streams import visible
from synctax.texts import counted

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
    mpl = _matplotlib()
    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(_SETTINGS)
        yield


def _matplotlib() -> Any:
    """Import the library; a backend that there is not is no matter of these figures.

    They are drawn on canvases of their own. What the variable says is for windows: where
    there is such a backend, it is chosen as the library itself would do.
    """
    if "matplotlib" in sys.modules:
        return _imported()
    backend = os.environ.pop("MPLBACKEND", None)
    try:
        mpl = _imported()
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    if backend:
        with contextlib.suppress(ValueError):
            mpl.rcParams["backend"] = backend
    return mpl


def _imported() -> Any:
    try:
        return importlib.import_module("matplotlib")
    except ImportError as error:
        raise SynctaxError(NO_MATPLOTLIB) from error
    except ValueError as error:
        raise SynctaxError(
            f"matplotlib cannot be set up: {error}; mend or remove its file of settings "
            "(matplotlibrc, in the current folder or where MATPLOTLIBRC tells)"
        ) from error


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

    Numbers of axes are written as those of tables.

    Parameters
    ----------
    rows, columns : int
        Of axes.
    width_in, height_in : float
        In inches.
    row_heights : (rows,) sequence of float, optional
        Of rows against each other; else all are equal.
    """
    from synctax.report.figures.axes import numbered
    from synctax.report.figures.canvas import ShownFigure

    figure = ShownFigure(figsize=(width_in, height_in), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, height_ratios=row_heights)
    every = [axes for row in grid for axes in row]
    for axes in every:
        numbered(axes)
    return figure, every


def caption(figure: "Figure", text: str) -> None:
    """Write below the axes what is shown, of how many: the n belongs to every figure.

    Called last: texts that need other fonts get them, and signs that no font has are told.

    Parameters
    ----------
    figure : Figure
    text : str
        As many lines of it as `CAPTION_LINES` are shown.
    """
    _write_caption(figure, text)
    boxes = choose_fonts(figure)
    if boxes:
        _write_caption(figure, f"{text.rstrip('.')}. {_told_boxes(boxes)}")
        choose_fonts(figure)


def _write_caption(figure: "Figure", text: str) -> None:
    kept = _TOGETHER.sub("\N{NO-BREAK SPACE}", " ".join(visible(text).split()))
    most_em = _CAPTION_SHARE * figure.get_figwidth() * _PT_PER_IN / _CAPTION_PT
    lines = _even(kept, most_em)
    if len(lines) > CAPTION_LINES:
        rest = " ".join(lines[CAPTION_LINES - 1 :])
        lines = [*lines[: CAPTION_LINES - 1], cut(rest, most_em)]
    shown = "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
    figure.supxlabel(plain(shown), fontsize=_CAPTION_PT, x=0.01, ha="left")


def _even(text: str, most_em: float) -> list[str]:
    """Break text into as few lines as there can be, of which the last is no single word."""
    lines = wrap(text, most_em)
    for share in _NARROWER:
        narrower = wrap(text, share * most_em)
        if len(narrower) > len(lines) or 2 * width_em(lines[-1]) > most_em:
            break
        lines = narrower
    return lines


_NARROWER: Final = (0.97, 0.94, 0.91, 0.88, 0.85, 0.82)
"""Of the width of a line."""


def _told_boxes(signs: Sequence[str]) -> str:
    codes = ", ".join(f"U+{ord(one):04X}" for one in signs[:_BOXES_TOLD])
    more = ", …" if len(signs) > _BOXES_TOLD else ""
    return f"Boxes stand for {counted(len(signs), 'sign')} of no font here: {codes}{more}"


CAPTION_LINES: Final = 9
"""Of a caption: names of any length leave room for the picture."""

_CAPTION_PT: Final = 8.33
_CAPTION_SHARE: Final = 0.97
"""Of the figure's width."""

_PT_PER_IN: Final = 72

_TOGETHER: Final = re.compile(r"(?<=\bn) (?== )|(?<=\bn =) |(?<=\d) (?=%|[µmn]?s\b|GB/s)")
"""Blanks at which no line ends: a number stays with its n and its unit."""

_BOXES_TOLD: Final = 5

NAME_EM: Final = 15.0
"""Width of a name from a trace that figures show, in em: some 27 letters."""


def named(text: str, most_em: float = NAME_EM) -> str:
    r"""Write a name from a trace or a file as figures show it.

    Parameters
    ----------
    text : str
    most_em : float
        Cut what is wider, in em: a name as long as a page would leave no room.

    Returns
    -------
    str
        For matplotlib, as `plain` returns it.

    Examples
    --------
    >>> named("gemm$_x$"), named("all\tgather"), named("reduce_scatter", 5.0)
    ('gemm\\$_x\\$', 'all\\tgather', 'reduce_…')
    """
    return plain(short(text, most_em))


def short(text: str, most_em: float = NAME_EM) -> str:
    """Write a name as `named` does, for captions, which call `plain` themselves.

    Parameters
    ----------
    text : str
    most_em : float
    """
    return cut(visible(text), most_em)


def listed(texts: Iterable[str]) -> str:
    """List some names in a caption; of many the first, and how many more there are.

    Parameters
    ----------
    texts : iterable of str

    Examples
    --------
    >>> listed(["tp", "dp"]), listed(map(str, range(8)))
    ('tp, dp', '0, 1, 2, 3, 4, and 3 more')
    """
    every = list(texts)
    more = len(every) - MOST_NAMES
    shown = [short(one) for one in every[:MOST_NAMES]]
    return ", ".join([*shown, *([f"and {more:,} more"] if more > 0 else [])])


MOST_NAMES: Final = 5
"""That a caption lists."""


def plain(text: str) -> str:
    r"""Return text for matplotlib as it stands: it is no formula and controls nothing.

    Line breaks stay. Names from traces go through `named`.

    Examples
    --------
    >>> plain("gemm$_x$"), plain("a\tb")
    ('gemm\\$_x\\$', 'a\\tb')
    """
    return "\n".join(map(visible, text.split("\n"))).replace("$", r"\$")


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
    try:
        with styled(), replacing(path) as file:
            figure.savefig(file, format=suffix[1:], dpi=DPI, metadata=dates.get(suffix, {}))
    except OSError as error:
        # what fails while it is written does not know its file
        error.filename = error.filename or str(path)
        raise
