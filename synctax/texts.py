"""Numbers in words: units that read well, thousands apart, a sign that stands for none."""

import math
from collections.abc import Callable, Iterable

ABSENT = "–"
"""What stands where there is no value."""

BYTES_PER_GB = 1e9
"""As NVIDIA, NICs and all tables here count: 10^9, not 2^30."""

NOTHING = 0.0005
"""A share below this is written as 0 %."""

_NEARLY = 99.95
"""Percent from which on one digit after the point would say 100."""

LEAST_P = 0.001
"""A p-value below this is said to be below it."""

_FEW_DIGITS_FROM = 0.0995
_US_PER_S = 1e6
_S_PER_H = 3600.0
_LEAST_H = 0.01


def is_absent(value: object) -> bool:
    """Whether a value is None, not a number, or pandas' NA.

    Examples
    --------
    >>> import pandas as pd
    >>> is_absent(None), is_absent(float("nan")), is_absent(pd.NA), is_absent(0)
    (True, True, True, False)
    """
    # by name: pandas would have to be imported to write a number of bytes
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def number(value: float | None, *, digits: int = 3) -> str:
    """Write a number with thousands separators.

    Whole numbers in full, others to `digits` significant digits of the fraction.

    Examples
    --------
    >>> number(1234567), number(2668.0), number(0.123456), number(98765.4321)
    ('1,234,567', '2,668', '0.123', '98,765')
    >>> number(None), number(float("nan")), number(1.5)
    ('–', '–', '1.5')
    """
    if value is None or is_absent(value):
        return ABSENT
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if float(value).is_integer():
        return f"{int(value):,}"
    whole = 0 if abs(value) < 1 else math.floor(math.log10(abs(value))) + 1
    if abs(value) < 10**-digits:
        return f"{value:.{digits - 1}e}"
    places = max(0, digits - whole)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def time_us(value_us: float | None) -> str:
    """Write a time in the unit that reads best, from µs to hours.

    Examples
    --------
    >>> time_us(0.64), time_us(582), time_us(2668.5), time_us(1_250_000)
    ('0.64 µs', '582 µs', '2.67 ms', '1.25 s')
    >>> time_us(7.2e9), time_us(0), time_us(-2500.0), time_us(None)
    ('2 h', '0 µs', '−2.5 ms', '–')
    """
    if value_us is None or is_absent(value_us):
        return ABSENT
    if value_us < 0:
        return f"−{time_us(-value_us)}"
    for factor, unit in ((3.6e9, "h"), (1e6, "s"), (1e3, "ms")):
        # 999.7 µs would read as 1,000 µs
        if value_us >= 0.9995 * factor:
            return f"{number(value_us / factor)} {unit}"
    return f"{number(value_us)} µs"


def seconds(value_s: float | None) -> str:
    """Write a time that is given in seconds, from µs to hours; none is 0 s.

    Examples
    --------
    >>> seconds(0.0), seconds(93.25), seconds(14_614), seconds(0.000582), seconds(None)
    ('0 s', '93.2 s', '4.06 h', '582 µs', '–')
    """
    if value_s == 0:
        return "0 s"
    return time_us(None if value_s is None else _US_PER_S * value_s)


def alike(values_s: Iterable[float | None]) -> Callable[[float | None], str]:
    """Choose how times of one table, in seconds, are written, so that they compare.

    Where one takes an hour or more all are in hours, but those too short to be read so.

    Examples
    --------
    >>> [alike([90.0, 9000.0])(value_s) for value_s in (9000.0, 3000.0, 90.0, 20.0, 0.0)]
    ['2.5 h', '0.833 h', '0.025 h', '20 s', '0 s']
    >>> [alike([90.0, 3000.0, None])(value_s) for value_s in (90.0, 3000.0, None)]
    ['90 s', '3,000 s', '–']
    """
    known_s = [value_s for value_s in values_s if value_s is not None]
    if max(known_s, default=0.0) < 0.9995 * _S_PER_H:
        return seconds

    def show(value_s: float | None) -> str:
        if value_s is None or not value_s >= _LEAST_H * _S_PER_H:
            return seconds(value_s)
        return f"{number(value_s / _S_PER_H)} h"

    return show


def percent(share: float | None) -> str:
    """Write a fraction as a percentage; what is nearly all is not called all.

    Examples
    --------
    >>> percent(0.8231), percent(0.004), percent(1.0), percent(12.345), percent(None)
    ('82 %', '0.4 %', '100 %', '1,234 %', '–')
    >>> percent(0.997), percent(0.9999)
    ('99.7 %', '> 99.9 %')
    """
    if share is None or is_absent(share):
        return ABSENT
    value = 100 * share
    if _NEARLY <= value < 100:
        return "> 99.9 %"
    near = 0 < abs(value) < 9.95 or 99 <= value < 100
    return f"{value:.1f} %" if near else f"{value:,.0f} %"


def signed(share: float | None) -> str:
    """Write a change as a percentage with its sign.

    Examples
    --------
    >>> signed(-0.031), signed(292.15), signed(0.0001), signed(None)
    ('−3.1 %', '+29,215 %', '0 %', '–')
    """
    if share is None or is_absent(share):
        return ABSENT
    return with_sign(0.0 if abs(share) < NOTHING else share, percent)


def signed_us(value_us: float | None) -> str:
    """Write a time in µs with its sign, in the unit that reads best.

    Examples
    --------
    >>> signed_us(-2500.0), signed_us(12.0), signed_us(0.0), signed_us(None)
    ('−2.5 ms', '+12 µs', '0 µs', '–')
    """
    return with_sign(value_us, time_us)


def with_sign(value: float | None, show: Callable[[float], str]) -> str:
    """Write a value with its sign before what `show` writes of its size; 0 has none.

    Examples
    --------
    >>> with_sign(-5e6, size_bytes), with_sign(3.0, number), with_sign(0.0, number)
    ('−5 MB', '+3', '0')
    """
    if value is None or is_absent(value):
        return ABSENT
    sign = "" if not value else "−" if value < 0 else "+"
    return sign + show(abs(value))


def p_value(p: float) -> str:
    """Write a p-value: no digits that resampling cannot tell, none below a thousandth.

    Examples
    --------
    >>> p_value(0.00001), p_value(0.0321), p_value(0.3456), p_value(1.0)
    ('< 0.001', '0.032', '0.35', '1.00')
    """
    if p < LEAST_P:
        return f"< {LEAST_P:g}"
    return f"{p:.3f}" if p < _FEW_DIGITS_FROM else f"{p:.2f}"


def p_equals(p: float) -> str:
    """Write a p-value with its letter.

    Examples
    --------
    >>> p_equals(0.00001), p_equals(0.0321)
    ('p < 0.001', 'p = 0.032')
    """
    return f"p {p_value(p)}" if p < LEAST_P else f"p = {p_value(p)}"


def decimals(value: float) -> str:
    """Write a number near 0 with two decimals; one that rounds to 0 has no sign.

    Examples
    --------
    >>> decimals(-0.081), decimals(-0.001), decimals(0.33)
    ('−0.08', '0', '0.33')
    """
    text = f"{abs(value):.2f}"
    if not float(text):
        return "0"
    return f"−{text}" if value < 0 else text


def size_bytes(value: float | None) -> str:
    """Write a number of bytes; GB is 10⁹.

    Examples
    --------
    >>> size_bytes(512), size_bytes(33_554_432), size_bytes(3.1e9), size_bytes(None)
    ('512 B', '33.6 MB', '3.1 GB', '–')
    """
    if value is None or is_absent(value):
        return ABSENT
    for factor, unit in ((1e12, "TB"), (BYTES_PER_GB, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= 0.9995 * factor:
            return f"{number(value / factor)} {unit}"
    return f"{number(value)} B"


def rate_gb_per_s(value: float | None) -> str:
    """Write a rate that is given in GB/s (10⁹ bytes).

    Examples
    --------
    >>> rate_gb_per_s(312.42), rate_gb_per_s(0.0412), rate_gb_per_s(None)
    ('312 GB/s', '41.2 MB/s', '–')
    """
    if value is None or is_absent(value):
        return ABSENT
    return f"{size_bytes(value * BYTES_PER_GB)}/s"


def counted(count: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "block"), counted(1200, "block")
    ('1 block', '1,200 blocks')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
