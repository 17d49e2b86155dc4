"""A sweep for people to read: a line for each setting, means over seeds."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synctax.cluster.inputs.read_jobs import JobsRead
from synctax.cluster.machines import Cluster
from synctax.cluster.settings import Contention
from synctax.cluster.sweep import Combination, Sweep, rate_text
from synctax.cluster.sweep_lines import SETTINGS, Interval, Line
from synctax.report.simulate_words import least_share, links, of_jobs, where
from synctax.report.tables import Field, Sentence, table
from synctax.texts import (
    ABSENT,
    counted,
    is_absent,
    number,
    percent,
    rate_gb_per_s,
    seconds,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

TITLES = {"nic_gb_per_s": "NIC", "demand_basis": "basis"}


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """What all simulations of a sweep share.

    Parameters
    ----------
    cluster : Cluster
    read : JobsRead
        Jobs of the first of them.
    contention : Contention
        What lines do not differ in.
    """

    cluster: Cluster
    read: JobsRead
    contention: Contention


def parts(
    found: Sweep, lines: Sequence[Line], shared: Shared
) -> "Iterator[RenderableType | str]":
    """Lay out a sweep: the table, what all lines share, what went wrong."""
    varied = [name for name in SETTINGS if len({one.setting[name] for one in lines}) > 1]
    yield table([*_settings(lines, varied), *_numbers(lines)])
    yield ""
    yield from map(Sentence, words(found, lines, varied))
    yield from map(Sentence, assumed(lines, shared))
    yield from map(Sentence, failures(found))


def failures(found: Sweep) -> Iterator[str]:
    """Say what went wrong: each reason once, with the first combination that has it."""
    alike: dict[str, list[Combination]] = {}
    for one, error in found.failed:
        alike.setdefault(
            str(error).removeprefix(f"{one}: ").replace(str(one), "it"), []
        ).append(one)
    for reason, some in alike.items():
        more = f" (and {len(some) - 1:,} more)" if len(some) > 1 else ""
        yield f"failed: {some[0]}{more}: {reason}"


def _settings(lines: Sequence[Line], varied: Sequence[str]) -> Iterator[Field]:
    for name in varied or SETTINGS[:1]:
        values = [one.setting[name] for one in lines]
        cells = [setting_text(name, value) for value in values]
        if len(set(cells)) < len(set(values)):  # rates that differ in later digits
            cells = [setting_text(name, value, in_full=True) for value in values]
        yield Field(TITLES.get(name, name), cells, right=name == "nic_gb_per_s")


def setting_text(name: str, value: Any, *, in_full: bool = False) -> str:
    """Write a setting."""
    if value is None:
        return "as it is" if name == "nic_gb_per_s" else ABSENT
    if name != "nic_gb_per_s":
        return str(value)
    return f"{rate_text(value)} GB/s" if in_full else rate_gb_per_s(value)


def _numbers(lines: Sequence[Line]) -> Iterator[Field]:
    if any(one.failed for one in lines):
        ran = [f"{len(one.seeds) - one.failed} of {len(one.seeds)}" for one in lines]
        yield Field("seeds", ran)
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
    values = [one.means[name] for one in lines]
    most_s = max((one.mean for one in values if not is_absent(one.mean)), default=0.0)
    return Field(title, [time_text(one, most_s) for one in values], rank=rank)


def time_text(value: Interval, most_s: float) -> str:
    """Write a time in seconds with its interval, in the unit of the largest beside it.

    Examples
    --------
    >>> time_text(Interval(5400.0, 360.0), 5400.0), time_text(Interval(90.0, 5.0), 5400.0)
    ('1.50 ± 0.10 h', '0.0250 ± 0.0014 h')
    >>> time_text(Interval(90.0, float("nan")), 90.0), time_text(Interval(1e-3, 1e-4), 9.0)
    ('90 s', '1 ms')
    >>> time_text(Interval(float("nan"), float("nan")), 0.0)
    '–'
    """
    if is_absent(value.mean):
        return ABSENT
    for factor, unit in ((3600.0, "h"), (1.0, "s")):
        if most_s >= factor and value.mean >= _LEAST * factor:
            return f"{with_half(value.mean / factor, value.half / factor)} {unit}"
    return seconds(value.mean)


def with_half(mean: float, half: float) -> str:
    """Write a mean and half its interval, of which two digits are kept, in as many places.

    Examples
    --------
    >>> with_half(1.0823, 0.0437), with_half(31.41, 5.02), with_half(2.5, float("nan"))
    ('1.082 ± 0.044', '31.4 ± 5.0', '2.5')
    """
    if is_absent(half) or half < _NO_SPREAD * abs(mean):
        return number(mean)
    places = min(max(0, 1 - math.floor(math.log10(half))), _MOST_PLACES)
    return f"{mean:,.{places}f} ± {half:,.{places}f}"


_NO_SPREAD = 1e-9
_LEAST = 0.01
_MOST_PLACES = 4


def _ratio(title: str, name: str, lines: Sequence[Line], rank: int = 0) -> Field:
    values = [one.over_first[name] for one in lines]
    return Field(title, [_or_absent(one) for one in values], rank=rank)


def _or_absent(value: Interval) -> str:
    return ABSENT if is_absent(value.mean) else with_half(value.mean, value.half)


def _plain(
    title: str,
    name: str,
    show: Callable[[float], str],
    lines: Sequence[Line],
    rank: int = 0,
) -> Field:
    means = [one.means[name].mean for one in lines]
    cells = [ABSENT if is_absent(value) else show(value) for value in means]
    return Field(title, cells, rank=rank)


def words(found: Sweep, lines: Sequence[Line], varied: Sequence[str]) -> Iterator[str]:
    """Say what all lines share and what the numbers are."""
    setting = lines[0].setting
    shared = [
        f"{TITLES.get(name, name)} {setting_text(name, value)}"
        for name, value in setting.items()
        if name not in varied and value is not None
    ]
    if shared:
        yield f"all lines: {', '.join(shared)}"
    seeds = len(lines[0].seeds)
    jobs = {row["jobs"] for row in found.records()} - {None}
    of = f" of {' or '.join(counted(one, 'job') for one in sorted(jobs))}" if jobs else ""
    first = "the first line" if lines[0].failed < seeds else "the first line that ran"
    ratios = f"; × first: over {first}" if len(lines) > 1 else ""
    if seeds > 1:
        ratios += ", seed by seed" if ratios else ""
        yield (
            f"means over {counted(seeds, 'seed')}{of}, ± half the 95 % interval (Student's "
            f"t){ratios}"
        )
    else:
        yield f"one seed{of}, so no intervals; --seeds 0:10 has them{ratios}"


def assumed(lines: Sequence[Line], shared: Shared) -> Iterator[str]:
    """Say what was simulated on, and by which assumptions beside those of lines."""
    on = where(shared.cluster)
    if any(one.setting["nic_gb_per_s"] is None for one in lines):
        on += f"; {links(shared.cluster)}"
    models, how = {one.setting["model"] for one in lines}, shared.contention
    if "mosim" in models:
        solo = "; factors over those alone" if how.normalise_solo else ""
        on += f"; mosim: {least_share(how)}{solo}"
    if "pollux" in models:
        scope = "iterations" if how.static_scope == "time" else "network time"
        on += f"; pollux: {scope} × {number(how.static_factor)}"
    if how.placement_aware:
        on += "; NVLink within servers"
    yield on
    said = of_jobs(shared.read.jobs, shared.read.pool)
    if said:
        yield said
