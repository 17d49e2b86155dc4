"""Curves over logarithmic axes, drawn with characters: arrays in, text out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.report.tables import number

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
    cells = [[" "] * width for _ in range(height)]
    for one, (x, y) in reversed(list(zip(curves, known, strict=True))):
        if not len(x):
            continue
        drawn = np.interp(at, x, y, np.nan, np.nan)
        rows = (drawn - low) / (high - low) * (height - 1) if high > low else drawn * 0
        for column, row in enumerate(rows):
            if not math.isnan(row):
                cells[height - 1 - round(row)][column] = one.mark if blocks else one.ascii
    upright, corner, dash = ("│", "└", "─") if blocks else ("|", "+", "-")
    labels = {0: number(10**high), height - 1: number(10**low)}
    margin = max(9, *map(len, labels.values()))
    lines = [
        f"{labels.get(i, ''):>{margin}} {upright}{''.join(row)}".rstrip()
        for i, row in enumerate(cells)
    ]
    first, last = number(10**left), number(10**right)
    pad = " " * (margin + 2)
    named = [f"{one.mark if blocks else one.ascii} {one.name}" for one in curves]
    return [
        *lines,
        f"{'':>{margin}} {corner}{dash * width}",
        f"{pad}{first}{last:>{max(width - len(first), len(last) + 1)}}",
        f"{pad}{'   '.join(named)}",
    ]


def _points(curve: Curve) -> tuple[F64, F64]:
    """Return the logarithms of the points that there are."""
    known = np.isfinite(curve.x) & np.isfinite(curve.y) & (curve.x > 0) & (curve.y > 0)
    return np.log10(curve.x[known]), np.log10(curve.y[known])


def _ends(values: Sequence[F64]) -> tuple[float, float]:
    whole = np.concatenate(values)
    return float(whole.min()), float(whole.max())
