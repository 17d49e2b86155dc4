"""Distributions drawn with characters: arrays in, text out."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*#@"


def can_show_blocks() -> bool:
    """Whether stdout's encoding holds block characters."""
    try:
        _BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def sparkline(
    values: F64,
    *,
    low: float | None = None,
    high: float | None = None,
    bins: int = 20,
    blocks: bool = True,
) -> str:
    """Draw how values are distributed, one character a bin.

    Parameters
    ----------
    values : (n,) float64
        NaN are left out.
    low, high : float, optional
        Ends of the first and last bin; the extremes of `values` if absent. Values
        beyond them count in the outer bins.
    bins : int
        Number of characters.
    blocks : bool
        False draws with ASCII.

    Returns
    -------
    str
        The tallest bin is a full block, an empty one a blank; a bin that holds
        anything is never blank. Empty if there are no values.

    Examples
    --------
    >>> sparkline(np.array([0.1, 0.5, 0.5, 0.9]), low=0, high=1, bins=5)
    '▄ █ ▄'
    >>> sparkline(np.array([0.1, 0.5, 0.5, 0.9]), low=0, high=1, bins=5, blocks=False)
    '= @ ='
    >>> sparkline(np.array([]))
    ''
    """
    values = values[np.isfinite(values)]
    if values.size == 0:
        return ""
    counts = _counts(values, low, high, bins)
    marks = _BLOCKS if blocks else _ASCII
    heights = np.ceil(counts * (len(marks) - 1) / counts.max()).astype(int)
    return "".join(marks[height] for height in heights)


def _counts(values: F64, low: float | None, high: float | None, bins: int) -> F64:
    low = float(values.min()) if low is None else low
    high = float(values.max()) if high is None else high
    if high <= low:
        high = low + 1.0
    place = np.floor((values - low) / (high - low) * bins).astype(int)
    return np.bincount(np.clip(place, 0, bins - 1), minlength=bins).astype(np.float64)


def cdf(shares: F64, *, width: int = 40, height: int = 5, blocks: bool = True) -> list[str]:
    r"""Draw which part of the shares is at or below each point from 0 to 1.

    Parameters
    ----------
    shares : (n,) float64
        NaN are left out.
    width, height : int
        Characters of the drawing, without its labels.
    blocks : bool
        False draws with ASCII.

    Returns
    -------
    list of str
        `height` lines from 100 % down, the axis and its ends; empty if there are no
        values.

    Examples
    --------
    >>> print("\n".join(cdf(np.array([0.1, 0.4, 0.6, 0.6]), width=10, height=2)))
    100 % │      ████
          │ ▄▄▄██████
        0 └──────────
           0 %  100 %
    >>> print("\n".join(cdf(np.array([0.5]), width=9, height=2, blocks=False)))
    100 % |    @@@@@
          |    @@@@@
        0 +---------
           0 % 100 %
    """
    values = np.sort(shares[np.isfinite(shares)])
    if values.size == 0:
        return []
    marks = _BLOCKS if blocks else _ASCII
    upright, corner, dash = ("│", "└", "─") if blocks else ("|", "+", "-")
    ends = np.arange(1, width + 1) / width
    # values exactly on a border belong to the cell on its right, the last one apart
    ends[:-1] = np.nextafter(ends[:-1], -np.inf)
    below = np.searchsorted(values, ends, side="right") / values.size
    steps = len(marks) - 1
    filled = np.round(below * height * steps).astype(int)
    lines = []
    for row in range(height - 1, -1, -1):
        cells = np.clip(filled - row * steps, 0, steps)
        label = "100 %" if row == height - 1 else ""
        lines.append(f"{label:>5} {upright}{''.join(marks[c] for c in cells)}".rstrip())
    return [
        *lines,
        f"{'0':>5} {corner}{dash * width}",
        f"{'':>6} 0 %{'100 %':>{width - 3}}".rstrip(),
    ]


@dataclass(frozen=True, slots=True)
class Layer:
    """Points of a drawing: later layers lie on top.

    Parameters
    ----------
    x, y : (n,) float64
        Pairs that are not finite are left out.
    mark : str
        One character.
    filled : bool
        Whether the column below a point is filled too.
    """

    x: F64
    y: F64
    mark: str
    filled: bool = False


def plot(
    layers: Sequence[Layer],
    *,
    labels: tuple[str, str, str, str],
    width: int = 48,
    height: int = 6,
    blocks: bool = True,
) -> list[str]:
    r"""Draw points on two axes.

    Parameters
    ----------
    layers : sequence of Layer
    labels : four str
        What stands at the lowest and highest x, and at the lowest and highest y.
    width, height : int
        Characters of the drawing, without its labels.
    blocks : bool
        False draws with ASCII.

    Returns
    -------
    list of str
        `height` lines, the axis and its ends; empty if there is no point.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> rising = Layer(x, x, "o")
    >>> print("\n".join(plot([rising], labels=("0", "4", "0", "4"), width=9, height=3)))
    4 │      o o
      │    o
    0 │o o
      └─────────
       0       4
    """
    known = [np.isfinite(one.x) & np.isfinite(one.y) for one in layers]
    if not any(keep.any() for keep in known):
        return []
    x = np.concatenate([one.x[keep] for one, keep in zip(layers, known, strict=True)])
    y = np.concatenate([one.y[keep] for one, keep in zip(layers, known, strict=True)])
    cells = np.full((height, width), " ")
    for one, keep in zip(layers, known, strict=True):
        column = _place(one.x[keep], x, width)
        row = _place(one.y[keep], y, height)
        for at, top in zip(column, row, strict=True):
            cells[(0 if one.filled else top) : top + 1, at] = one.mark
    upright, corner, dash = ("│", "└", "─") if blocks else ("|", "+", "-")
    left, right, low, high = labels
    margin = max(len(low), len(high))
    ends = {0: low, height - 1: high}
    lines = [
        f"{ends.get(row, ''):>{margin}} {upright}{''.join(cells[row])}".rstrip()
        for row in range(height - 1, -1, -1)
    ]
    gap = max(width - len(left), len(right) + 1)
    return [
        *lines,
        f"{'':>{margin}} {corner}{dash * width}",
        f"{'':>{margin}}  {left}{right:>{gap}}".rstrip(),
    ]


def _place(values: F64, among: F64, cells: int) -> list[int]:
    """Which of some cells from the least to the largest of all each value is in."""
    low, high = float(among.min()), float(among.max())
    if high <= low:
        return [0] * values.size
    place = np.floor((values - low) / (high - low) * cells)
    return list(np.clip(place, 0, cells - 1).astype(int).tolist())
