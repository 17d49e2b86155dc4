"""Numbers along axes, written as tables write them: thousands apart, with a true minus."""

from typing import Any

from matplotlib.ticker import FuncFormatter


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


def _written(number: str) -> str:
    return number.replace("-", "−")
