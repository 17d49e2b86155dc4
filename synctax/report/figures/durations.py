"""Axes of times from milliseconds to months, in units that people read."""

from typing import TYPE_CHECKING, Final

from synctax.texts import number

if TYPE_CHECKING:
    from matplotlib.axis import Axis

UNITS_S: Final = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

_TICKS_S: Final = tuple(
    many * UNITS_S[unit]
    for unit, manies in {
        "ms": (1e-3, 1e-2, 0.1, 1, 10, 100),
        "s": (1, 10),
        "min": (1, 10),
        "h": (1,),
        "d": (1, 10, 100, 1000, 10_000, 100_000),
    }.items()
    for many in manies
)

_FINE_S: Final = tuple(
    many * UNITS_S[unit]
    for unit, manies in {
        "ms": tuple(m * 10.0**e for e in range(-3, 3) for m in (1, 2, 5)),
        "s": (1, 2, 5, 10, 20, 30),
        "min": (1, 2, 5, 10, 20, 30),
        "h": (1, 2, 5, 10),
        "d": tuple(m * 10.0**e for e in range(6) for m in (1, 2, 5)),
    }.items()
    for many in manies
)

_FEW_TICKS: Final = 4
"""Where an axis has fewer, it gets the fine ones."""

_AT_LEAST: Final = 2.0
"""Of a unit an axis has so many, or the next smaller unit is taken."""


def unit_of(longest_s: float) -> tuple[str, float]:
    """Choose the unit of a linear axis: its name, and how many seconds it has.

    Parameters
    ----------
    longest_s : float
        The end of the axis.

    Examples
    --------
    >>> unit_of(0.5), unit_of(5400.0), unit_of(1e6)
    (('ms', 0.001), ('min', 60.0), ('d', 86400.0))
    """
    fits = [name for name, s in UNITS_S.items() if longest_s >= _AT_LEAST * s]
    name = fits[-1] if fits else "ms"
    return name, UNITS_S[name]


def log_times(axis: "Axis", low_s: float, high_s: float) -> None:
    """Let ticks of a logarithmic axis of seconds say `1 min`, `10 min`, `1 h`.

    Parameters
    ----------
    axis : Axis
        Of values in s.
    low_s, high_s : float
        Its ends.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    coarse = sum(low_s <= tick <= high_s for tick in _TICKS_S)
    ticks = _TICKS_S if coarse >= _FEW_TICKS else _FINE_S
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value_s, _at: time_text(value_s)))


def time_text(value_s: float) -> str:
    """Write a time in the largest unit of which it has one or more.

    Examples
    --------
    >>> time_text(600.0), time_text(0.01), time_text(1e-5), time_text(864000.0)
    ('10 min', '10 ms', '0.01 ms', '10 d')
    """
    fits = [name for name, s in UNITS_S.items() if value_s >= 0.999 * s]
    name = fits[-1] if fits else "ms"
    return f"{number(value_s / UNITS_S[name])} {name}"
