"""A simulated cluster as pictures: times of its jobs, and what ran where when."""

from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.arrays import F64
from synctax.cluster.metrics import times
from synctax.cluster.simulation import Simulation
from synctax.errors import SynctaxError
from synctax.report.figures.axes import cumulated, legend_above
from synctax.report.figures.durations import log_times
from synctax.report.figures.style import COLORS, LINES, caption, new_figure, short, styled
from synctax.texts import counted, percent, seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS: Final = 2_000
"""Of a curve; of more jobs every so manyth is drawn, the first and the last in any case."""

_LEAST_SPAN: Final = 10.0
"""Of the time axis, so that it has ticks."""

CURVES: Final = (
    ("jct_s", "JCT", 2.0),
    ("wait_s", "queueing", 1.4),
    ("training_s", "training", 1.4),
    ("solo_s", "training alone", 1.4),
)
"""Times of jobs that are drawn, what they are called, and how thick."""


def jct(simulation: Simulation) -> "Figure":
    """Draw how completion times of jobs are distributed, and those of their parts.

    Jobs of no time, such as those that do not wait, are where a curve begins on the left.

    Parameters
    ----------
    simulation : Simulation

    Returns
    -------
    Figure

    Raises
    ------
    SynctaxError
        If no job takes any time.

    References
    ----------
    MoSim paper (arXiv 2609.23278), section V: JCT of jobs, and its parts.
    """
    found = times(simulation)
    if not found.jct_s.any():
        raise SynctaxError(
            f"{counted(len(simulation.jobs), 'job')} of no length leave nothing to draw; "
            "give jobs a duration_s above 0"
        )
    curves = {name: getattr(found, name) for name, _, _ in CURVES}
    if not found.wait_s.any():
        del curves["wait_s"]
    known_s = np.concatenate(list(curves.values()))
    ends_s = 0.8 * float(known_s[known_s > 0].min()), 1.2 * float(known_s.max())
    left_s = min(ends_s[0], ends_s[1] / _LEAST_SPAN)
    with styled():
        figure, (axes,) = new_figure(height_in=4.2)
        for at, (name, label, width) in enumerate(CURVES):
            if name not in curves:
                continue
            times_s = curves[name]
            values_s, share = cumulated(
                times_s, float(times_s.min()), ends_s[1], most=MOST_POINTS
            )
            axes.plot(
                np.maximum(values_s, left_s),
                100 * share,
                drawstyle="steps-post",
                color=(*COLORS[:2], COLORS[2], COLORS[6])[at],
                linestyle=LINES[at],
                linewidth=width,
                label=f"{label}{_median(times_s)}",
            )
        axes.set_xscale("log")
        log_times(axes.xaxis, left_s, ends_s[1])
        axes.set(
            xlabel="time of a job (ms to d, logarithmic)",
            ylabel="jobs that take no longer (%)",
            xlim=(left_s, ends_s[1]),
            ylim=(0, 102),
        )
        legend_above(figure, [axes], 2, loc="outside upper left")
        caption(figure, f"{of_what(simulation)}; {_waiting(found.wait_s)}")
    return figure


def _median(values_s: F64) -> str:
    return f" (median {seconds(float(np.median(values_s)))})"


def _waiting(wait_s: F64) -> str:
    never = float((wait_s == 0).mean())
    return "no job waits" if never == 1 else f"{percent(never)} of jobs do not wait"


def of_what(simulation: Simulation) -> str:
    """Say how many jobs ran on what, and by which rules."""
    cluster = simulation.cluster
    name = f" of {short(cluster.name)}" if cluster.name else ""
    return (
        f"n = {counted(len(simulation.jobs), 'job')} on "
        f"{counted(cluster.total_gpus, 'GPU')}{name} "
        f"({counted(cluster.servers, 'server')}), {simulation.policy}, {simulation.queue}"
    )
