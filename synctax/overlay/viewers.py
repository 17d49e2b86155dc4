"""Where Perfetto sees slices: it reads times as floats of µs and cuts them off to ns.

Start and duration are read apart, so that slices which touch may overlap by 1 ns when they
are seen; of two that overlap, one is dropped.
"""

from collections.abc import Iterable

from synctax.arrays import NS_PER_US

Times = tuple[int, int]
"""Start and duration, in ns on the clock of the overlay."""


def seen(time_ns: int) -> int:
    """Tell which time is read, in ns: the time itself or 1 ns less.

    It is never less than that of an earlier time.

    Examples
    --------
    >>> seen(1_000), seen(1_001), seen(1_002)
    (1000, 1000, 1002)
    """
    return int(time_ns / NS_PER_US * NS_PER_US)


def end_seen(times: Times) -> int:
    """Tell where a slice is seen to end, in ns."""
    return seen(times[0]) + seen(times[1])


def apart(times: Times, after_ns: int) -> Times:
    """Shorten a slice by what is seen of it in the one that begins after it."""
    start, lasts = times
    while end_seen((start, lasts)) > seen(after_ns):
        lasts -= 1
    return start, lasts


def around(begin_ns: int, slices: Iterable[Times]) -> Times:
    """Make a slice that is seen around others, and is around them."""
    last = max(max(sum(times), end_seen(times)) for times in slices)
    lasts = last - begin_ns
    while end_seen((begin_ns, lasts)) < last:
        lasts += 1
    return begin_ns, lasts
