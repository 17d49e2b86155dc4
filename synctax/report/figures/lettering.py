"""How wide text is drawn, and in which fonts: names from traces may be of any script.

Widths are in em, the size of the font; they are those of matplotlib's own font, which every
installation has.
"""

import contextlib
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font
    from matplotlib.text import Text

OWN: Final = "DejaVu Sans"
"""The font of all pictures, which comes with matplotlib."""

_FOREIGN_EM: Final = 1.0
"""Width of a sign of another font: that of an ideograph, the widest there are."""

_PER_EM: Final = 64
"""Pixels of an em at which widths are read, without hints."""

_STAND_INS: Final = "Last Resort"
"""Begins the name of fonts that have a box for each sign."""

_REGULAR: Final = (400, "normal", "regular", "book", "roman")


def width_em(text: str) -> float:
    """Tell how wide text is drawn: as wide as its widest line.

    Parameters
    ----------
    text : str
        As it is seen: a `$` counts once.

    Returns
    -------
    float
        In em.
    """
    return max(sum(map(_advance_em, line)) for line in text.split("\n"))


def cut(text: str, most_em: float) -> str:
    """Cut what is wider than a width, and let `…` stand for the rest.

    Parameters
    ----------
    text : str
    most_em : float
        In em, of text and `…` together.

    Examples
    --------
    >>> cut("reduce_scatter", 5.0), cut("WWWWWWWW", 5.0), cut("tp", 5.0)
    ('reduce_…', 'WWWW…', 'tp')
    """
    if width_em(text) <= most_em:
        return text
    room = most_em - width_em("…")
    for at, sign in enumerate(text):
        room -= _advance_em(sign)
        if room < 0:
            return f"{text[:at]}…"
    return text


def wrap(text: str, most_em: float) -> list[str]:
    """Break text into lines at blanks; what is wider than a line, anywhere.

    Parameters
    ----------
    text : str
        Words that are apart by one blank; no-break spaces hold others together.
    most_em : float
        Width of a line, in em.

    Examples
    --------
    >>> wrap("share of the time", 5.0), wrap("WWWWWWWW", 5.0)
    (['share of', 'the time'], ['WWWWW', 'WWW'])
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width_em(longer) <= most_em:
            lines[-1] = longer
            continue
        pieces = list(_pieces(word, most_em))
        lines = [*lines, *pieces] if lines[-1] else pieces
    return lines


def _pieces(word: str, most_em: float) -> Iterator[str]:
    piece, room = "", most_em
    for sign in word:
        room -= _advance_em(sign)
        if room < 0 and piece:
            yield piece
            piece, room = "", most_em - _advance_em(sign)
        piece += sign
    yield piece


def choose_fonts(figure: "Figure") -> list[str]:
    """Let texts that matplotlib's own font has not all signs of fall back to other fonts.

    Parameters
    ----------
    figure : Figure
        With all its texts.

    Returns
    -------
    list of str
        Signs that no installed font has, each once; they will be drawn as boxes.
    """
    lacking: set[str] = set()
    for text in _texts(figure):
        foreign = {one for one in text.get_text() if not _draws(_own(), one)}
        if not foreign:
            continue
        families = {one: _family(one) for one in foreign}
        lacking |= {one for one, family in families.items() if family is None}
        found = sorted({family for family in families.values() if family is not None})
        text.set_fontfamily([OWN, *found])
    return sorted(lacking)


def borrows(figure: "Figure") -> bool:
    """Whether texts fall back to other fonts, which may be of any kind.

    Parameters
    ----------
    figure : Figure
        After `choose_fonts`.
    """
    return any(len(text.get_fontfamily()) > 1 for text in _texts(figure))


def _texts(figure: "Figure") -> "Iterable[Text]":
    from matplotlib.text import Text

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_ticklabels()  # which are written no earlier than here
    return figure.findobj(Text)


@lru_cache(maxsize=4_096)
def _advance_em(sign: str) -> float:
    from matplotlib.ft2font import LoadFlags

    if not sign.isprintable():
        return 0.0
    if not _draws(_own(), sign):
        # marks stand above or below the letter before them
        return 0.0 if unicodedata.combining(sign) else _FOREIGN_EM
    glyph = _own().load_char(ord(sign), flags=LoadFlags.NO_HINTING)
    return float(glyph.linearHoriAdvance) / 2**16 / _PER_EM


def _draws(font: "FT2Font", sign: str) -> bool:
    """Whether a font has a sign; line ends and the like need none."""
    return not sign.isprintable() or font.get_char_index(ord(sign)) != 0


@lru_cache(maxsize=1)
def _own() -> "FT2Font":
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    font = FT2Font(str(findfont(FontProperties(family=[OWN]))))
    font.set_size(_PER_EM, 72)  # points of 1/72 inch: a pixel each
    return font


@lru_cache(maxsize=4_096)
def _family(sign: str) -> str | None:
    """Name an installed font that has a sign."""
    from matplotlib.ft2font import FT2Font

    for name, path in _installed():
        # the list is kept between runs: files may be gone, or be damaged
        with contextlib.suppress(OSError, RuntimeError):
            if _draws(FT2Font(path), sign):
                return name
    return None


@lru_cache(maxsize=1)
def _installed() -> tuple[tuple[str, str], ...]:
    """List a regular font of each family that is installed, those without serifs first."""
    from matplotlib.font_manager import fontManager

    paths = {
        one.name: one.fname
        for one in fontManager.ttflist
        if one.style == "normal"
        and one.weight in _REGULAR
        and one.name != OWN
        and not one.name.startswith(_STAND_INS)
    }
    names = sorted(paths, key=lambda name: ("Sans" not in name, "Mono" in name, name))
    return tuple((name, paths[name]) for name in names)
