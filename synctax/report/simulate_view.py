"""A simulated cluster for people to read: sentences, times, who was slowed and by whom."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import I64
from synctax.cluster.fidelity import Fidelity
from synctax.cluster.jobs import Placement, placement_text
from synctax.cluster.metrics import Times, by_width, makespan, spreads, times
from synctax.cluster.simulation import Simulation
from synctax.report import simulate_words as words
from synctax.report.tables import Field, Sentence, table
from synctax.texts import BYTES_PER_GB, alike, number, percent, rate_gb_per_s

if TYPE_CHECKING:
    from rich.console import RenderableType

TOP = 10
"""Jobs of the table, where nothing else is asked for."""

FEW = 5
"""Lines of the tables below it."""


def parts(
    simulation: Simulation,
    *,
    top: int = TOP,
    fidelity: Fidelity | None = None,
    pool: str = "",
) -> "list[RenderableType]":
    """Lay out a simulation.

    Parameters
    ----------
    simulation : Simulation
    top : int
        Jobs that are listed.
    fidelity : Fidelity, optional
        How near it is to measured times.
    pool : str
        Name of what profiles are from.
    """
    found = times(simulation)
    said = [Sentence(text) for text in words.verdict(simulation)]
    laid: list[RenderableType] = [*said, "", _spread(found)]
    if fidelity is not None:
        from synctax.report import simulate_fidelity_view as view

        laid += ["", *view.parts(fidelity)]
    laid += ["", *_jobs(simulation, found, top)]
    for more in (_widths(simulation), _pairs(simulation), _links(simulation)):
        if more is not None:
            laid += ["", more]
    return [*laid, "", *(Sentence(text) for text in words.assumed(simulation, pool))]


def _spread(found: Times) -> "RenderableType":
    """Lay out how times are spread over jobs."""
    by_name = spreads(found)
    show_s = alike([by_name["jct_s"].max])
    rows: list[tuple[str, str, Callable[[float], str]]] = [
        ("JCT", "jct_s", show_s),
        ("  waiting", "wait_s", show_s),
        ("  training", "training_s", show_s),
        ("    alone", "solo_s", show_s),
        ("slowdown", "slowdown", number),
    ]
    ends = (
        ("mean", "mean", 0),
        ("median", "median", 2),
        ("p90", "P90", 3),
        ("p99", "P99", 1),
        ("max", "most", 0),
    )
    return table(
        [
            Field("", [title for title, _, _ in rows], right=False),
            *(
                Field(
                    title,
                    [show(getattr(by_name[name], end)) for _, name, show in rows],
                    rank=rank,
                )
                for end, title, rank in ends
            ),
        ]
    )


def most_slowed(found: Times, top: int) -> I64:
    """List jobs, most slowed first; of equal ones that which took longest.

    Parameters
    ----------
    found : Times
    top : int
        At most so many.
    """
    order = np.lexsort((-found.jct_s, -np.round(found.slowdown, 6)))
    return order[:top]


def _jobs(simulation: Simulation, found: Times, top: int) -> "Iterator[RenderableType]":
    jobs, at = simulation.jobs, most_slowed(found, top).tolist()
    named = any(jobs.workload[one] for one in at)
    workload = Field("workload", [jobs.workload[one] for one in at], right=False, rank=1)
    show_s = alike([*found.wait_s[at], *found.training_s[at], *found.solo_s[at]])
    yield table(
        [
            Field("job", [jobs.job_id[one] for one in at], right=False, least=8),
            Field("GPUs", [f"{jobs.gpus[one]:,}" for one in at]),
            Field(
                "on servers",
                [_place(simulation.placements[one]) for one in at],
                right=False,
                rank=2,
                least=10,
            ),
            Field("waits", [show_s(found.wait_s[one]) for one in at]),
            Field("trains", [show_s(found.training_s[one]) for one in at]),
            Field("alone", [show_s(found.solo_s[one]) for one in at], rank=3),
            Field("slower", [f"{number(found.slowdown[one])} ×" for one in at]),
            Field("S", [number(simulation.factor[one]) for one in at], rank=4),
            *([workload] if named else []),
        ]
    )
    more = len(jobs) - len(at)
    if more:
        yield (
            f"  {more:,} more, slowed no more than these: --top shows them, --format csv "
            "holds all"
        )


MOST_SERVERS = 4
"""Of a job, that the table lists."""


def _place(placement: Placement) -> str:
    many = len(placement)
    return placement_text(placement) if many <= MOST_SERVERS else f"{many:,} servers"


def _widths(simulation: Simulation) -> "RenderableType | None":
    """Lay out how long jobs wait by their GPUs, where any waits."""
    widths = by_width(simulation)
    if not widths.wait_max_s.any():
        return None
    longest = np.argsort(-widths.wait_max_s, kind="stable")[: 2 * FEW]
    at = np.sort(longest).tolist()
    show_s = alike(widths.wait_max_s[at])
    return table(
        [
            Field("GPUs", [f"{widths.gpus[one]:,}" for one in at]),
            Field("jobs", [f"{widths.jobs[one]:,}" for one in at]),
            Field("wait on average", [show_s(widths.wait_mean_s[one]) for one in at]),
            Field("at most", [show_s(widths.wait_max_s[one]) for one in at]),
            Field("slower", [f"{number(widths.slowdown_mean[one])} ×" for one in at]),
        ]
    )


def _pairs(simulation: Simulation) -> "RenderableType | None":
    """Lay out who slowed whom most."""
    pairs = simulation.interference
    if pairs is None or not pairs.job.size:
        return None
    most = range(min(FEW, pairs.job.size))
    show_s = alike(pairs.shared_s[: len(most)])

    def name(job: int) -> str:
        return words.job_name(simulation.jobs, job)

    return table(
        [
            Field("slowed", [name(pairs.job[one]) for one in most], right=False, least=10),
            Field("by", [name(pairs.by[one]) for one in most], right=False, least=10),
            Field("loses", [show_s(pairs.lost_s[one]) for one in most]),
            Field("while sharing", [show_s(pairs.shared_s[one]) for one in most]),
        ]
    )


def _links(simulation: Simulation) -> "RenderableType | None":
    """Lay out what was oversubscribed longest, where anything was."""
    use, links = simulation.use, simulation.cluster.links
    order = np.argsort(-use.oversubscribed_s, kind="stable")[:FEW]
    at = [one for one in order.tolist() if use.oversubscribed_s[one] > 0]
    if not at:
        return None
    whole_s = makespan(simulation)
    show_s = alike(use.busy_s[at])
    rates = [rate_gb_per_s(links.bytes_per_s[one] / BYTES_PER_GB) for one in at]
    title = "oversubscribed NIC" if not simulation.cluster.tiers else "oversubscribed link"
    return table(
        [
            Field(title, [links.name[one] for one in at], right=False),
            Field("carries", rates, rank=1),
            Field("for", [show_s(use.oversubscribed_s[one]) for one in at]),
            Field(
                "of all time", [percent(use.oversubscribed_s[one] / whole_s) for one in at]
            ),
            Field("busy", [show_s(use.busy_s[one]) for one in at], rank=2),
        ]
    )
