"""Mean completion times of a sweep: bars by setting, or curves over the NIC's rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synctax.arrays import F64
from synctax.cluster.sweep import Sweep
from synctax.cluster.sweep_lines import SETTINGS, Line, lines
from synctax.errors import SynctaxError
from synctax.report.figures.axes import legend_above
from synctax.report.figures.durations import unit_of
from synctax.report.figures.style import (
    COLORS,
    HATCHES,
    LINES,
    MARKERS,
    caption,
    named,
    new_figure,
    styled,
)
from synctax.report.sweep_view import TITLES, setting_text
from synctax.texts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS: Final = 60
"""Settings of one picture; names of more could not be read."""

MOST_CURVES: Final = len(COLORS) - 1
"""Over NIC rates; of more settings bars are drawn."""

LEAST_RATES: Final = 3
"""Of NICs that make a curve."""

_DRAWN: Final = "jct_mean_s"


SETTINGS_DRAWN: Final = ("policy", "queue", "nic_gb_per_s", "model")
"""By which bars differ; what a model counts by goes with the model."""


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Mean completion times of some settings, in s.

    Parameters
    ----------
    lines : tuple of Line
        Those that ran.
    texts : tuple of mapping of str to str
        Their settings, by `SETTINGS_DRAWN`.
    seeds_s : tuple of (s,) float64
        Of each seed of a line that ran.
    varied : tuple of str
        Settings in which lines differ.
    """

    lines: tuple[Line, ...]
    texts: tuple[dict[str, str], ...]
    seeds_s: tuple[F64, ...]
    varied: tuple[str, ...]

    @property
    def unit(self) -> tuple[str, float]:
        """The unit of the axis, and how many seconds it has."""
        return unit_of(max(float(values.max()) for values in self.seeds_s))

    def named(self, at: int, names: Sequence[str]) -> str:
        """Write some settings of a line; its policy where none is asked for."""
        return ", ".join(self.texts[at][name] for name in names or ("policy",))


def means(found: Sweep) -> Means:
    """Put mean completion times of seeds beside the lines that they are of.

    Parameters
    ----------
    found : Sweep

    Raises
    ------
    SynctaxError
        If nothing ran.
    """
    told = [one for one in lines(found) if one.failed < len(one.seeds)]
    if not told:
        raise SynctaxError("no combination ran, so there is nothing to draw")
    by_setting: dict[tuple[Any, ...], list[float]] = {}
    for row in found.records():
        if row[_DRAWN] is not None:
            setting = tuple(row[one] for one in SETTINGS)
            by_setting.setdefault(setting, []).append(row[_DRAWN])
    bases = {one.setting["demand_basis"] for one in told} - {None}
    texts = [_texts(one, with_basis=len(bases) > 1) for one in told]
    return Means(
        tuple(told),
        tuple(texts),
        tuple(np.array(by_setting[tuple(one.setting.values())]) for one in told),
        tuple(name for name in SETTINGS_DRAWN if len({one[name] for one in texts}) > 1),
    )


def _texts(one: Line, *, with_basis: bool) -> dict[str, str]:
    told = {
        key: named(setting_text(key, one.setting[key], in_full=True))
        for key in SETTINGS_DRAWN
    }
    basis = one.setting["demand_basis"]
    if with_basis and basis is not None:
        told["model"] = f"{told['model']} ({basis})"
    return told


def jct(found: Sweep) -> "Figure":
    """Draw the mean completion time of jobs under each setting, and of each seed.

    Bars; curves over the rate of NICs where that has `LEAST_RATES` values or more.

    Parameters
    ----------
    found : Sweep

    Returns
    -------
    Figure

    Raises
    ------
    SynctaxError
        If nothing ran.

    References
    ----------
    MoSim paper (arXiv 2609.23278), section V.
    """
    told = means(found)
    rates = {one.setting["nic_gb_per_s"] for one in told.lines}
    others = tuple(name for name in told.varied if name != "nic_gb_per_s")
    curves: dict[str, list[int]] = {}
    for at in range(len(told.lines)):
        curves.setdefault(told.named(at, others), []).append(at)
    if len(rates) >= LEAST_RATES and len(curves) <= MOST_CURVES:
        return _over_rates(found, told, curves)
    return _bars(found, told)


def _over_rates(found: Sweep, told: Means, curves: "dict[str, list[int]]") -> "Figure":
    """Draw a curve of each setting over the rate of NICs."""
    unit, seconds = told.unit
    with styled():
        figure, (axes,) = new_figure()
        for look, (name, rows) in enumerate(curves.items()):
            rows.sort(key=lambda at: told.lines[at].setting["nic_gb_per_s"])
            rates = np.array([told.lines[at].setting["nic_gb_per_s"] for at in rows])
            # whiskers of curves stand side by side
            rates *= 1 + _ASIDE * (look - (len(curves) - 1) / 2)
            mean, half = _intervals(told, rows, seconds)
            axes.errorbar(
                rates,
                mean,
                yerr=half,
                color=COLORS[look],
                linestyle=LINES[look],
                marker=MARKERS[look],
                capsize=3,
                label=name,
            )
            for rate, at in zip(rates, rows, strict=True):
                seeds = told.seeds_s[at] / seconds
                _dots(axes, np.full(seeds.size, rate), seeds, COLORS[look])
        axes.set_xscale("log")
        _ticks_at(axes, sorted({one.setting["nic_gb_per_s"] for one in told.lines}))
        axes.set(xlabel="rate of a NIC (GB/s)", ylabel=f"mean JCT ({unit})")
        axes.set_ylim(0, None)
        if len(curves) > 1:
            legend_above(figure, [axes], 2, loc="outside upper left")
        caption(figure, _of_what(found, told, len(told.lines)))
    return figure


_ASIDE: Final = 0.03
"""Of the rate."""


def _ticks_at(axes: "Axes", rates: Sequence[float]) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xticks(rates, [f"{rate:,.10g}" for rate in rates])
    axes.xaxis.set_minor_locator(NullLocator())


def _bars(found: Sweep, told: Means) -> "Figure":
    """Draw a bar of each setting; those that differ in the last one only stand together."""
    unit, seconds = told.unit
    mean_s = [one.means[_DRAWN].mean for one in told.lines]
    drawn = np.sort(np.argsort(mean_s, kind="stable")[:MOST_BARS]).tolist()
    last = told.varied[-1] if len(told.varied) > 1 else ""
    looks = list(dict.fromkeys(told.texts[at].get(last, "") for at in drawn))
    if len(looks) > len(HATCHES):
        last, looks = "", [""]
    names = tuple(name for name in told.varied if name != last)
    mean, half = _intervals(told, drawn, seconds)
    labels = [told.named(at, names) for at in drawn]
    new = np.array([True, *(a != b for a, b in pairwise(labels))])
    # groups stand apart
    y = np.arange(len(drawn)) + _GAP * (np.cumsum(new) - 1) * bool(last)
    with styled():
        figure, (axes,) = new_figure(height_in=1.4 + 0.26 * (float(y[-1]) + 1))
        for row, at in enumerate(drawn):
            text = told.texts[at].get(last, "")
            look = looks.index(text)
            axes.barh(
                y[row],
                mean[row],
                height=0.84,
                color=COLORS[_COLOR_OF[look]],
                hatch=HATCHES[look],
                edgecolor="white",
                linewidth=0.4,
                label=_once(axes, text),
            )
            seeds = told.seeds_s[at] / seconds
            _dots(axes, seeds, np.full(seeds.size, y[row]), "black")
        axes.errorbar(mean, y, xerr=half, color="black", linestyle="none", capsize=3)
        first = np.flatnonzero(new)
        middles = [float(part.mean()) for part in np.split(y, first[1:])]
        axes.set_yticks(middles, [labels[at] for at in first])
        axes.set_ylim(y[-1] + 0.7, -0.7)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"mean JCT ({unit})")
        if last:
            title = TITLES.get(last, last)
            legend_above(figure, [axes], 4, loc="outside upper left", title=title)
        caption(figure, _of_what(found, told, len(drawn)))
    return figure


_GAP: Final = 0.5
"""Between groups of bars, in bars."""

_COLOR_OF: Final = (5, 4, 2, 3, 0, 7, 1, 6)
"""Light ones first: dots and intervals are black."""


def _once(axes: "Axes", text: str) -> str:
    """Name what a bar is in the legend, but once; names that begin with _ are not there."""
    return "_" if text in axes.get_legend_handles_labels()[1] else text


def _intervals(told: Means, rows: Sequence[int], seconds: float) -> tuple[F64, F64]:
    """Tell means and half their intervals; NaN, which is not drawn, where none is known."""
    found = [told.lines[at].means[_DRAWN] for at in rows]
    mean = np.array([one.mean for one in found]) / seconds
    return mean, np.array([one.half for one in found]) / seconds


def _dots(axes: "Axes", x: F64, y: F64, color: str) -> None:
    """Draw seeds, where there are several."""
    if x.size > 1:
        axes.plot(
            x,
            y,
            linestyle="none",
            marker="o",
            markersize=3,
            markerfacecolor="none",
            markeredgecolor=color,
            markeredgewidth=0.6,
            zorder=3,
        )


def _of_what(found: Sweep, told: Means, drawn: int) -> str:
    seeds = max(values.size for values in told.seeds_s)
    jobs = sorted({row["jobs"] for row in found.records()} - {None})
    many = " or ".join(counted(one, "job") for one in jobs)
    left_out = len(told.lines) - drawn
    which = f"; the {drawn:,} shortest of {len(told.lines):,} settings" if left_out else ""
    shared = [
        f"{TITLES.get(name, name)} {text}"
        for name, text in told.texts[0].items()
        if name not in told.varied and told.lines[0].setting[name] is not None
    ]
    alike = f"; {', '.join(shared)}" if shared else ""
    bars = "; dots: seeds, whiskers: 95 % intervals of the mean" if seeds > 1 else ""
    failed = len(found.failed)
    wrong = f"; {failed:,} of {len(found.combinations):,} failed" if failed else ""
    return f"n = {counted(seeds, 'seed')} of {many}{bars}{which}{alike}{wrong}"
