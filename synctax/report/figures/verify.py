"""On which NVLink domains the groups of a job sit, as a map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.arrays import F64
from synctax.errors import SynctaxError
from synctax.planning.verify.job import Verification
from synctax.planning.verify.observed import ObservedGroup
from synctax.planning.verify.place_checks import flattened
from synctax.report.figures.axes import legend_above
from synctax.report.figures.lettering import width_em
from synctax.report.figures.style import (
    COLORS,
    HEAT,
    NAME_EM,
    caption,
    listed,
    named,
    new_figure,
    styled,
)
from synctax.texts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_GROUPS: Final = 1_000
"""Of a role; lines of more would be thinner than a pixel."""

MOST_LINES: Final = 60
"""Groups between which there is room for a line."""

MOST_NAMES: Final = 24
"""Domains that have room for their names."""

_MAP_EM: Final = 30.0
"""Width of the map, in em of the names of domains below it."""

_NOBODY: Final = "no rank of the group"


def groups(found: Verification) -> "Figure":
    """Draw how many ranks of each process group are on each domain.

    A group that breaks a rule, or a warning, is marked on the right.

    Parameters
    ----------
    found : Verification

    Returns
    -------
    Figure

    Raises
    ------
    SynctaxError
        If no group of several ranks is known, or no domain is.
    """
    observed = found.observed
    roles = {role: observed.of(role)[:MOST_GROUPS] for role in found.roles}
    roles = {role: some for role, some in roles.items() if some}
    domains = observed.places.domains
    if not roles or not domains:
        what = "process group of more than one rank" if not roles else "NVLink domain"
        raise SynctaxError(
            f"no {what} is known, so there is no map to draw; --hosts FILE tells where "
            "ranks are"
        )
    members = [one for some in roles.values() for one in some]
    ranks = ranks_by_domain(found, members)
    tall_in = min(max(2.2, 0.2 * len(members)), 6.5)
    with styled():
        from matplotlib.ticker import MaxNLocator

        from synctax.report.figures.ticks import EvenNumbers

        figure, (axes,) = new_figure(height_in=tall_in + 1.5)
        image = axes.imshow(
            np.ma.masked_equal(ranks, 0),
            aspect="auto",
            interpolation="nearest",
            cmap=f"{HEAT}_r",
            vmin=1,
            vmax=max(2.0, float(ranks.max())),
        )
        figure.colorbar(
            image,
            ax=axes,
            label="ranks on a domain",
            ticks=MaxNLocator(integer=True, steps=[1, 2, 5, 10]),
            format=EvenNumbers(),
        )
        _roles(axes, roles)
        if len(domains) <= MOST_NAMES:
            _name_domains(axes, domains)
        axes.set(xlabel="NVLink domain", ylabel="process groups by role")
        axes.grid(visible=False)
        wrong = faulty(found, members)
        if wrong.size:
            axes.plot(
                np.full(wrong.size, len(domains) - 0.5),
                wrong,
                linestyle="none",
                marker="<",
                color=COLORS[1],
                clip_on=False,
                label="breaks a rule or a warning",
            )
        if (ranks == 0).any():
            # white has no place in the scale, which begins with one rank
            axes.fill_between([], [], color="white", edgecolor="black", label=_NOBODY)
        legend_above(figure, [axes], 2, loc="outside upper left")
        caption(figure, _of_what(found, members, int(wrong.size)))
    return figure


def ranks_by_domain(found: Verification, members: list[ObservedGroup]) -> F64:
    """Count the ranks of g groups on d domains, (g, d) float64."""
    places = found.observed.places
    number, code = flattened(found.observed, members, places.domain)
    ranks = np.zeros((len(members), len(places.domains)))
    np.add.at(ranks, (number[code >= 0], code[code >= 0]), 1)
    return ranks


def faulty(found: Verification, members: list[ObservedGroup]) -> "np.ndarray":
    """List the rows of groups that break a rule or a warning."""
    wrong = {(one["group"], tuple(one["ranks"])) for one in found.broken()}
    return np.array(
        [at for at, one in enumerate(members) if (one.role, one.ranks) in wrong], np.int64
    )


def _roles(axes: "Axes", roles: "dict[str, list[ObservedGroup]]") -> None:
    """Name the roles, with lines between them."""
    ends = np.cumsum([len(some) for some in roles.values()])
    middles = ends - np.array([len(some) for some in roles.values()]) / 2 - 0.5
    told = [f"{named(role)} ({len(some):,})" for role, some in roles.items()]
    axes.set_yticks(middles, told)
    axes.tick_params(axis="y", length=0)
    if ends[-1] <= MOST_LINES:
        for group in range(1, ends[-1]):
            axes.axhline(group - 0.5, color="white", linewidth=0.6)
    for end in ends[:-1]:
        axes.axhline(end - 0.5, color="black", linewidth=0.8)


def _of_what(found: Verification, members: list[ObservedGroup], wrong: int) -> str:
    observed = found.observed
    every = sum(len(observed.of(role)) for role in found.roles)
    more = every - len(members)
    left_out = f", the first {MOST_GROUPS:,} of each role" if more else ""
    where = counted(len(observed.places.domains), "domain")
    unknown = int((observed.places.domain < 0).sum())
    silent = f"; the domain of {counted(unknown, 'rank')} is not known" if unknown else ""
    return (
        f"n = {counted(len(members), 'group')}{left_out} on {where} "
        f"({observed.places.domain_known_by}); {wrong or 'none':{',' if wrong else ''}} of "
        f"them {'break' if wrong > 1 else 'breaks'} a rule or a warning"
        f"{_elsewhere(found, members)}{silent}"
    )


def _elsewhere(found: Verification, members: list[ObservedGroup]) -> str:
    """Tell what is broken and has no row: checks of the whole job, groups left out."""
    drawn = {(one.role, one.ranks) for one in members}
    beside = [
        one for one in found.broken() if (one["group"], tuple(one["ranks"])) not in drawn
    ]
    of_job = dict.fromkeys(one["check"] for one in beside if one["group"] is None)
    groups = {(one["group"], tuple(one["ranks"])) for one in beside if one["group"]}
    text = f"; of the whole job broken: {listed(of_job)}" if of_job else ""
    return text + (f"; of those not drawn {len(groups):,}" if groups else "")


def _name_domains(axes: "Axes", domains: Sequence[str]) -> None:
    """Write names below their columns: upright where they are wider than these."""
    column_em = _MAP_EM / len(domains)
    upright = len(domains) > 1 and max(map(width_em, domains)) > column_em
    most_em = NAME_EM if upright else column_em
    axes.set_xticks(range(len(domains)), [named(one, most_em) for one in domains])
    axes.tick_params(axis="x", rotation=90 if upright else 0)
