"""Numbers along axes, written as tables write them: thousands apart, with a true minus."""

from typing import Any

from matplotlib import rcParams
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import FuncFormatter, MaxNLocator


class Numbers(FuncFormatter):
    """Write a number in full.

    Parameters
    ----------
    times : float
        What numbers are multiplied by: 100 for shares in per cent.

    Examples
    --------
    >>> Numbers()(-1234.5), Numbers()(0.1)
    ('−1,234.5', '0.1')
    """

    def __init__(self, *, times: float = 1.0) -> None:
        self.times = times
        super().__init__(lambda value, _at: _written(f"{times * value:,.10g}"))


class EvenNumbers(Numbers):
    """Write the numbers of one linear axis with as many decimals each.

    Examples
    --------
    >>> EvenNumbers().format_ticks([0.0, 2.5, 1000.0]), EvenNumbers().format_ticks([0, 5])
    (['0.0', '2.5', '1,000.0'], ['0', '5'])
    """

    def format_ticks(self, values: Any) -> list[str]:
        """Write the ticks of an axis."""
        apart = [self(value) for value in values]
        if any("e" in one for one in apart):
            return apart
        places = max((len(one.partition(".")[2]) for one in apart), default=0)
        return [_written(f"{self.times * value:,.{places}f}") for value in values]


class RoomyTicks(MaxNLocator):
    """Ticks of a horizontal linear axis, no more than their numbers have room for.

    matplotlib's own takes every number for three signs wide.
    """

    def __init__(self) -> None:
        super().__init__("auto", steps=[1, 2, 2.5, 5, 10])

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Choose ticks between two values."""
        self.set_params(nbins="auto")
        ticks = super().tick_values(vmin, vmax)
        for bins in range(len(ticks), 1, -1):
            if self._fit(ticks, vmin, vmax):
                break
            self.set_params(nbins=bins - 1)
            ticks = super().tick_values(vmin, vmax)
        return ticks

    def _fit(self, ticks: Any, vmin: float, vmax: float) -> bool:
        axis: Any = self.axis
        shown = [one for one in ticks if min(vmin, vmax) <= one <= max(vmin, vmax)]
        texts = axis.get_major_formatter().format_ticks(shown)
        size = FontProperties(size=rcParams["xtick.labelsize"]).get_size_in_points()
        wide = sum((len(text) + 2) * _SIGN * size for text in texts)
        figure = axis.get_figure()
        room: float = axis.axes.get_window_extent().width * 72.0 / figure.dpi
        return bool(wide <= room)


_SIGN = 0.55
"""How wide a digit is, in sizes of the letters."""


def _written(number: str) -> str:
    return number.replace("-", "−")
