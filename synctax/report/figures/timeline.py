"""What ran on a cluster when: jobs on GPUs, or how busy many servers are; who waits."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synctax.arrays import F64
from synctax.cluster.metrics import makespan, times
from synctax.cluster.over_time import (
    Boxes,
    boxes,
    busy_share,
    over_time,
    since_s,
    slowdown_over_time,
)
from synctax.cluster.simulation import Simulation
from synctax.cluster.timeline import slices
from synctax.errors import SynctaxError
from synctax.report.figures.axes import whole
from synctax.report.figures.durations import unit_of
from synctax.report.figures.lettering import width_em
from synctax.report.figures.simulate import of_what
from synctax.report.figures.style import COLORS, HEAT, caption, new_figure, plain, styled
from synctax.texts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_GPUS: Final = 64
"""Rows of single GPUs; of more servers it is drawn how busy they are."""

MOST_SLICES: Final = 4_000
"""Of jobs on GPUs; more could not be told apart."""

MOST_ROWS: Final = 100
"""Of servers; of more, neighbours share one."""

INTERVALS: Final = 400
"""Of the whole time; what is counted over time is the mean of each."""

_LABEL_PT: Final = 6.5
_SPARE: Final = 1.1
"""Room for a name, over its width."""
_OF_FIGURE: Final = (0.75, 0.6)
"""What the jobs take of its width and height, about."""
_PT_PER_IN: Final = 72


def timeline(simulation: Simulation) -> "Figure":
    """Draw what ran where when.

    Of few servers: jobs on GPUs, coloured by how much each was slowed. Of many: how many
    of their GPUs are in use, and how much the jobs that run are slowed. Below, jobs that
    wait, where any does.

    Parameters
    ----------
    simulation : Simulation

    Returns
    -------
    Figure

    Raises
    ------
    SynctaxError
        If all jobs end as the first one comes.
    """
    whole_s = makespan(simulation)
    if not whole_s:
        raise SynctaxError(
            "all jobs end at one instant, so there is no time to draw; give jobs a "
            "duration_s above 0"
        )
    unit, seconds = unit_of(whole_s)
    edges_s = np.linspace(0, whole_s, INTERVALS + 1)
    few = simulation.cluster.total_gpus <= MOST_GPUS and slices(simulation) <= MOST_SLICES
    found = times(simulation)
    below = [_slowdown] if found.slowed.any() and not few else []
    below += [_waiting] if found.wait_s.any() else []
    rows = simulation.cluster.total_gpus if few else MOST_ROWS
    tall = min(max(1.2, 0.11 * rows), 4.2)
    with styled():
        figure, axes = new_figure(
            1 + len(below), width_in=7.2, height_in=tall + 1.1 + 1.15 * len(below)
        )
        axes[0].get_gridspec().set_height_ratios(  # type: ignore[union-attr]
            [tall, *([0.95] * len(below))]
        )
        main = _jobs if few else _busy
        said = main(axes[0], simulation, edges_s / seconds, seconds)
        for one, draw in zip(axes[1:], below, strict=True):
            draw(one, simulation, edges_s / seconds, seconds)
        for one in axes:
            one.set_xlim(0, whole_s / seconds)
            one.tick_params(labelbottom=one is axes[-1])
        axes[-1].set_xlabel(f"time since the first submission ({unit})")
        figure.align_ylabels(axes)
        told = [of_what(simulation), said]
        told += [] if found.wait_s.any() else ["no job waits"]
        told += [] if found.slowed.any() else ["no job is slowed by others"]
        caption(figure, "; ".join(told))
    return figure


def _jobs(axes: "Axes", simulation: Simulation, edges: F64, seconds: float) -> str:
    """Draw jobs on GPUs."""
    from matplotlib.collections import PolyCollection

    found = boxes(simulation)
    slowdown = times(simulation).slowdown[found.job]
    start = since_s(simulation, simulation.start_ns[found.job]) / seconds
    end = since_s(simulation, simulation.end_ns[found.job]) / seconds
    low, high = found.first, found.first + found.many
    corners = [[start, low], [end, low], [end, high], [start, high]]
    drawn = PolyCollection(
        np.moveaxis(np.array(corners), 2, 0),  # type: ignore[arg-type]
        array=slowdown,
        cmap=HEAT,
        edgecolors="white",
        linewidths=0.5,
    )
    drawn.set_clim(1, max(1.1, float(slowdown.max(initial=1.0))))
    axes.add_collection(drawn)
    axes.figure.colorbar(drawn, ax=axes, label="slowdown of a job (×)", pad=0.01)
    cluster = simulation.cluster
    after = np.cumsum(cluster.gpus)
    axes.hlines(after[:-1], edges[0], edges[-1], "black", linewidth=0.8)
    axes.set_yticks(
        after - cluster.gpus / 2, [f"server {at}" for at in range(cluster.servers)]
    )
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(cluster.total_gpus, 0)
    axes.set_ylabel("GPUs by server")
    _names(axes, simulation, found, (start, end), drawn)
    instant = int((simulation.end_ns == simulation.start_ns).sum())
    left_out = f" ({counted(instant, 'job')} of no length not drawn)" if instant else ""
    return f"a box is a job on neighbouring GPUs{left_out}"


def _names(
    axes: "Axes", simulation: Simulation, found: Boxes, ends: tuple[F64, F64], drawn: Any
) -> None:
    """Name the jobs whose boxes have room for it, in black or white."""
    start, end = ends
    in_dots = np.array(axes.figure.bbox.size)
    wide_pt, tall_pt = in_dots / axes.figure.dpi * _PT_PER_IN * _OF_FIGURE
    wide_pt = wide_pt * (end - start) / float(end.max(initial=0.0))
    tall_pt = tall_pt * found.many / simulation.cluster.total_gpus
    light = drawn.norm(drawn.get_array())
    for at, job in enumerate(found.job.tolist()):
        if tall_pt[at] <= _LABEL_PT:
            continue
        name = plain(simulation.jobs.job_id[job])
        if _SPARE * width_em(name) * _LABEL_PT < wide_pt[at]:
            axes.text(
                (start[at] + end[at]) / 2,
                found.first[at] + found.many[at] / 2,
                name,
                size=_LABEL_PT,
                ha="center",
                va="center_baseline",
                color="white" if light[at] < 0.5 else "black",
            )


def _busy(axes: "Axes", simulation: Simulation, edges: F64, seconds: float) -> str:
    """Draw which share of the GPUs of servers is in use."""
    servers = simulation.cluster.servers
    block = -(-servers // MOST_ROWS)
    image = axes.imshow(
        100 * busy_share(simulation, block, edges * seconds),
        aspect="auto",
        interpolation="nearest",
        cmap=HEAT,
        vmin=0,
        vmax=100,
        extent=(0, edges[-1], servers - 0.5, -0.5),
    )
    axes.grid(visible=False)
    axes.figure.colorbar(image, ax=axes, label="GPUs in use (%)", pad=0.01)
    whole(axes, "y")
    axes.set_ylabel("server")
    rows = f"a row is {counted(block, 'server')}, " if block > 1 else ""
    return f"{rows}a column 1/{INTERVALS} of the time"


def _waiting(axes: "Axes", simulation: Simulation, edges: F64, seconds: float) -> None:
    ends = (simulation.jobs.submit_ns, simulation.start_ns)
    value = over_time(simulation, ends, np.ones(len(simulation.jobs)), edges * seconds)
    axes.stairs(np.maximum(value, 0), edges, fill=True, color=COLORS[5])
    axes.stairs(np.maximum(value, 0), edges, color="black", linewidth=0.8)
    axes.set_ylim(0, None)
    axes.set_ylabel("jobs\nwaiting")
    whole(axes, "y")


def _slowdown(axes: "Axes", simulation: Simulation, edges: F64, seconds: float) -> None:
    axes.stairs(
        slowdown_over_time(simulation, edges * seconds),
        edges,
        baseline=None,
        color=COLORS[1],
        linewidth=1.2,
    )
    axes.set_ylabel("slowdown\n(×)")
