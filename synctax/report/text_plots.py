"""Distributions drawn with characters: arrays in, text out."""

import sys

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
