"""Curves over logarithmic axes, drawn with characters: arrays in, text out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.report.text_plots import Layer, plot
from synctax.texts import number

_MIN_POINTS = 2


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve: its name, the sign it is drawn with, and its points.

    Parameters
    ----------
    name : str
    mark : str
        One character, and `ascii` the one that every terminal has.
    ascii : str
    x, y : (k,) float64
        Above 0, `x` ascending; NaN are left out. Between points the curve is straight on
        logarithmic axes.
    """

    name: str
    mark: str
    ascii: str
    x: F64
    y: F64


def log_log(
    curves: Sequence[Curve], *, width: int = 48, height: int = 10, blocks: bool = True
) -> list[str]:
    r"""Draw curves over common logarithmic axes.

    Parameters
    ----------
    curves : sequence of Curve
        Where two meet, the first one is seen.
    width, height : int
        Characters of the drawing, without its labels.
    blocks : bool
        False draws with ASCII.

    Returns
    -------
    list of str
        `height` lines, the axis, its ends, and what the signs mean; empty where there are
        not two points of one curve.

    Examples
    --------
    >>> x = np.array([1.0, 10.0, 100.0])
    >>> rising = Curve("y", "●", "*", x, x)
    >>> print("\n".join(log_log([rising], width=5, height=3)))
    100 │   ●●
        │  ●
      1 │●●
        └─────
         1 100
         ● y
    """
    known = [_points(one) for one in curves]
    if not any(len(x) >= _MIN_POINTS for x, _ in known):
        return []
    left, right = _ends([x for x, _ in known])
    low, high = _ends([y for _, y in known])
    at = np.linspace(left, right, width)
    marks = [one.mark if blocks else one.ascii for one in curves]
    layers = [
        Layer(at, np.interp(at, x, y, np.nan, np.nan), mark)
        for mark, (x, y) in zip(marks, known, strict=True)
        if len(x)
    ]
    ends = [number(10**end) for end in (left, right, low, high)]
    drawn = plot(
        layers[::-1],
        labels=(ends[0], ends[1], ends[2], ends[3]),
        width=width,
        height=height,
        blocks=blocks,
    )
    margin = " " * (max(map(len, ends[2:])) + 2)
    named = (f"{mark} {one.name}" for mark, one in zip(marks, curves, strict=True))
    return [*drawn, margin + "   ".join(named)]


def _points(curve: Curve) -> tuple[F64, F64]:
    """Return the logarithms of the points that there are."""
    known = np.isfinite(curve.x) & np.isfinite(curve.y) & (curve.x > 0) & (curve.y > 0)
    return np.log10(curve.x[known]), np.log10(curve.y[known])


def _ends(values: Sequence[F64]) -> tuple[float, float]:
    whole = np.concatenate(values)
    return float(whole.min()), float(whole.max())
