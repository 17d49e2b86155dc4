"""Numbers in sentences."""


def percent(share: float) -> str:
    """Write a share.

    Parameters
    ----------
    share : float

    Examples
    --------
    >>> percent(0.0028), percent(0.9), percent(float("nan"))
    ('0.3 %', '90 %', 'an unknown share')
    """
    if share != share:
        return "an unknown share"
    value = 100 * share
    return f"{value:.1f} %" if 0 < abs(value) < 9.95 else f"{value:.0f} %"


def signed(share: float) -> str:
    """Write a share with its sign.

    Parameters
    ----------
    share : float

    Examples
    --------
    >>> signed(0.123), signed(-0.0512), signed(0.0)
    ('+12 %', '−5.1 %', '0 %')
    """
    if not share:
        return "0 %"
    return ("+" if share > 0 else "−") + percent(abs(share))


def time_us(value_us: float) -> str:
    """Write a time in the unit that reads best.

    Parameters
    ----------
    value_us : float

    Examples
    --------
    >>> time_us(0.64), time_us(325.4), time_us(2668.5), time_us(1_250_000)
    ('0.64 µs', '325 µs', '2.67 ms', '1.25 s')
    """
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if abs(value_us) >= 0.9995 * factor:
            return f"{_digits(value_us / factor)} {unit}"
    return f"{_digits(value_us)} µs"


def _digits(value: float) -> str:
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def times(factor: float) -> str:
    """Write how many times.

    Parameters
    ----------
    factor : float

    Examples
    --------
    >>> times(1024.0), times(2.25)
    ('1,024', '2.2')
    """
    return (
        f"{factor:,.0f}" if factor >= 9.95 or factor == round(factor) else f"{factor:.1f}"
    )


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    Parameters
    ----------
    number : int
    noun : str

    Examples
    --------
    >>> counted(1, "block"), counted(1200, "block")
    ('1 block', '1,200 blocks')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
