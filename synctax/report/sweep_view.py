"""A sweep for people to read: a line for each setting, means over seeds."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.cluster.sweep import Interval, Sweep, interval
from synctax.report.tables import Field, Sentence, table
from synctax.texts import ABSENT, counted, number, percent, rate_gb_per_s, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = dict[str, Any]

SETTINGS = ("policy", "queue", "nic_gb_per_s", "model", "basis")
"""What lines differ in, beside the seed."""

TITLES = {"nic_gb_per_s": "NIC"}


@dataclass(frozen=True, slots=True)
class Line:
    """A setting, and its rows by seed."""

    setting: tuple[Any, ...]
    rows: tuple[Row, ...]

    def values(self, name: str) -> F64:
        """Return a column, one value a seed; NaN where there is none."""
        return np.array([_known(row[name]) for row in self.rows])


def parts(found: Sweep) -> "Iterator[RenderableType | str]":
    """Lay out a sweep: the table, what all lines share, what went wrong."""
    lines = list(group(found.records()))
    varied = [
        at for at in range(len(SETTINGS)) if len({one.setting[at] for one in lines}) > 1
    ]
    yield table([*_settings(lines, varied), *_numbers(lines)])
    yield ""
    yield from map(Sentence, words(lines, varied))
    for one, error in found.failed:
        yield Sentence(f"failed: {error}" if str(one) in str(error) else f"{one}: {error}")


def group(rows: Iterator[Row]) -> Iterator[Line]:
    """Put the rows of a setting together, in the order in which settings appear."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in SETTINGS), []).append(row)
    for setting, some in found.items():
        yield Line(setting, tuple(some))


def _settings(lines: Sequence[Line], varied: Sequence[int]) -> Iterator[Field]:
    for at in varied or [0]:
        name = SETTINGS[at]
        cells = [setting_text(name, one.setting[at]) for one in lines]
        yield Field(TITLES.get(name, name), cells, right=name == "nic_gb_per_s")


def setting_text(name: str, value: Any) -> str:
    """Write a setting."""
    if value is None:
        return "as it is" if name == "nic_gb_per_s" else ABSENT
    return rate_gb_per_s(value) if name == "nic_gb_per_s" else str(value)


def _numbers(lines: Sequence[Line]) -> Iterator[Field]:
    yield _times("JCT", "jct_mean_s", lines)
    if len(lines) > 1:
        yield _ratio("× first", "jct_mean_s", lines)
    yield _times("P99", "jct_p99_s", lines, rank=2)
    yield _times("training", "training_mean_s", lines, rank=4)
    if len(lines) > 1:
        yield _ratio("× first", "training_mean_s", lines, rank=4)
    yield _times("makespan", "makespan_s", lines, rank=3)
    yield _plain("used", "utilisation", percent, lines, rank=5)
    yield _plain("S", "contention_mean", lambda v: f"{v:.2f}", lines, rank=1)
    yield _plain("slowed", "jobs_slowed", number, lines, rank=6)


def _times(title: str, name: str, lines: Sequence[Line], rank: int = 0) -> Field:
    return Field(title, [time_text(interval(o.values(name))) for o in lines], rank=rank)


def time_text(value: Interval) -> str:
    """Write a time in seconds with its interval, in one unit.

    Examples
    --------
    >>> time_text(Interval(5400.0, 360.0)), time_text(Interval(90.0, float("nan")))
    ('1.50 ± 0.10 h', '90 s')
    >>> time_text(Interval(0.25, 0.01)), time_text(Interval(float("nan"), float("nan")))
    ('250 ms', '–')
    """
    if np.isnan(value.mean):
        return ABSENT
    for factor, unit in ((3600.0, "h"), (1.0, "s")):
        if value.mean >= factor:
            return f"{with_half(value.mean / factor, value.half / factor)} {unit}"
    return time_us(1e6 * value.mean)


def with_half(mean: float, half: float) -> str:
    """Write a mean and half its interval, of which two digits are kept, in as many places.

    Examples
    --------
    >>> with_half(1.0823, 0.0437), with_half(31.41, 5.02), with_half(2.5, float("nan"))
    ('1.082 ± 0.044', '31.4 ± 5.0', '2.5')
    """
    if np.isnan(half) or half < _NO_SPREAD * abs(mean):
        return number(mean)
    places = min(max(0, 1 - math.floor(math.log10(half))), _MOST_PLACES)
    return f"{mean:,.{places}f} ± {half:,.{places}f}"


_NO_SPREAD = 1e-9
_MOST_PLACES = 4


def _ratio(title: str, name: str, lines: Sequence[Line], rank: int = 0) -> Field:
    """Tell a mean over that of the first line: seeds are alike, so ratios vary less."""
    first = lines[0]
    cells = []
    for one in lines:
        value = interval(one.values(name) / first.values(name))
        known = not np.isnan(value.mean)
        cells.append(with_half(value.mean, value.half) if known else ABSENT)
    return Field(title, cells, rank=rank)


def _plain(
    title: str,
    name: str,
    show: Callable[[float], str],
    lines: Sequence[Line],
    rank: int = 0,
) -> Field:
    means = [interval(one.values(name)).mean for one in lines]
    cells = [ABSENT if np.isnan(value) else show(value) for value in means]
    return Field(title, cells, rank=rank)


def words(lines: Sequence[Line], varied: Sequence[int]) -> Iterator[str]:
    """Say what all lines share and what the numbers are."""
    setting = lines[0].setting
    shared = [
        f"{TITLES.get(name, name)} {setting_text(name, setting[at])}"
        for at, name in enumerate(SETTINGS)
        if at not in varied and setting[at] is not None
    ]
    if shared:
        yield f"all lines: {', '.join(shared)}"
    seeds = max(len(one.rows) for one in lines)
    jobs = {row["jobs"] for one in lines for row in one.rows if row["jobs"] is not None}
    of = f" of {' or '.join(counted(one, 'job') for one in sorted(jobs))}" if jobs else ""
    if seeds > 1:
        ratios = "; × first: over the first line, seed by seed" if len(lines) > 1 else ""
        yield (
            f"means over {counted(seeds, 'seed')}{of}, ± half the 95 % interval (Student's "
            f"t){ratios}"
        )
    else:
        yield f"one seed{of}, so no intervals; --seeds 0:10 has them"


def _known(value: Any) -> float:
    return float("nan") if value is None else float(value)
