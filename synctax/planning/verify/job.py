"""A job held against a layout, or against what every layout has in common."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.bandwidth.nccl_tests import Measured
from synctax.collectives.tax import Tax
from synctax.notes import Note
from synctax.planning.nccl.machine import Topology
from synctax.planning.nccl.model import NcclLog
from synctax.planning.training import DIMENSIONS, Order
from synctax.planning.verify.byte_checks import microbatches, sent
from synctax.planning.verify.check import Check, Level
from synctax.planning.verify.checks import coverage, group_sizes, members, world
from synctax.planning.verify.hosts_file import MOST_RANKS
from synctax.planning.verify.limits import DEFAULT_BYTES_TOLERANCE, DEFAULT_SLOW_SHARE
from synctax.planning.verify.link_checks import against_benchmarks, bandwidths, stragglers
from synctax.planning.verify.nccl_checks import nccl_checks
from synctax.planning.verify.observed import Observed, taken_for, unnamed
from synctax.planning.verify.place_checks import domains, near, rails, spread
from synctax.planning.verify.plan_file import PlanRow
from synctax.planning.verify.planned import DENSE_ROLES, EXPERT_ROLES, SPLIT_ROLES, Planned
from synctax.planning.verify.read_checks import hosts, runs, traced
from synctax.planning.verify.seen import Seen, seen_layout, usual
from synctax.planning.verify.speeds import Links, Speeds, speeds
from synctax.planning.verify.traffic import Traffic, traffic
from synctax.schema import VERIFY, VERIFY_GROUPS
from synctax.schema.html import Shown
from synctax.trace.oddities import rank_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Against:
    """What a job is held against.

    Parameters
    ----------
    planned : Planned or None
        The layout that it should have.
    row : PlanRow or None
        What a plan predicts of it.
    links : Links
    benchmarks : tuple of Measured
        What nccl-tests measured.
    slow_share : float
        Below this share of its siblings', or of a benchmark's, bandwidth a group is slow.
    bytes_tolerance : float
        By what share bytes and microbatches may differ from the plan's.
    topologies : tuple of Topology
        Machines as NCCL saw them.
    log : NcclLog or None
        What NCCL told of the job.
    role : str or None
        Only checks of these groups, and of the job.
    tp_across_domains : bool
        Whether the plan lets TP leave a domain.
    """

    planned: Planned | None = None
    row: PlanRow | None = None
    links: Links = field(default_factory=Links)
    benchmarks: tuple[Measured, ...] = ()
    slow_share: float = DEFAULT_SLOW_SHARE
    bytes_tolerance: float = DEFAULT_BYTES_TOLERANCE
    topologies: tuple[Topology, ...] = ()
    log: NcclLog | None = None
    role: str | None = None
    tp_across_domains: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class Verification(Shown):
    """What was found of a job.

    Parameters
    ----------
    observed : Observed
    against : Against
    seen : Seen
        The layout that its groups show.
    order : Order or None
        Of ranks, where there is a layout to tell it by.
    checks : tuple of Check
    speeds : dict of str to Speeds
        By role.
    notes : tuple of Note
    """

    observed: Observed
    against: Against
    seen: Seen
    order: Order | None
    checks: tuple[Check, ...]
    speeds: dict[str, Speeds]
    notes: tuple[Note, ...]

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles of the groups that were asked for."""
        only = self.against.role
        return self.observed.roles if only is None else (only,)

    def __repr__(self) -> str:
        counts = Counter(check.status for check in self.checks)
        told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        return f"<Verification: {told}>"

    def failed(self, *, strict: bool = False) -> tuple[Check, ...]:
        """List the checks that a job fails by: broken rules, with `strict` warnings too."""
        return tuple(check for check in self.checks if check.fails(strict=strict))

    def to_frame(self) -> "pd.DataFrame":
        """One row per check and role (`schema.VERIFY`)."""
        rows = [_row(check) for check in self.checks]
        return VERIFY.to_frame({name: [row[name] for row in rows] for name in VERIFY.names})

    def per_group(self) -> "pd.DataFrame":
        """One row per process group (`schema.VERIFY_GROUPS`)."""
        rows = list(_group_rows(self))
        names = VERIFY_GROUPS.names
        return VERIFY_GROUPS.to_frame({name: [row[name] for row in rows] for name in names})

    def broken(self) -> list[dict[str, Any]]:
        """List every group that breaks a rule, or a warning, with its ranks and hosts."""
        return [
            {
                "check": check.name,
                "group": check.role or None,
                "level": check.level,
                "ranks": list(one.ranks),
                "hosts": list(one.hosts),
                "fault": one.found,
            }
            for check in self.checks
            if check.level != "remark"
            for one in check.broken
        ]


def verify(observed: Observed, tax: Tax | None, against: Against) -> Verification:
    """Check groups, places and traffic of a job.

    Parameters
    ----------
    observed : Observed
        Its groups and where they sit.
    tax : Tax or None
        Its collectives; None where none was recorded.
    against : Against

    Returns
    -------
    Verification
        What the traces cannot tell is `unknown`, with the reason.
    """
    observed = _named(observed, against.planned)
    seen = seen_layout(observed)
    planned = against.planned
    notes = (*observed.notes, *(() if tax is None else tax.notes))
    held: list[Check] = []
    way: Planned | None = None
    if planned is not None:
        held, way = members(observed, planned)
    elif seen.layout is not None:
        _, way = members(observed, Planned(seen.layout))
    checks = [
        traced(observed),
        *runs(notes),
        *hosts(observed),
        world(observed, seen, planned),
        *group_sizes(observed, planned if planned is None else way or planned),
        *coverage(observed),
        *held,
    ]
    kept = () if planned is None or way is None else tuple(_planned_inside(observed, way))
    inside = kept if against.tp_across_domains else tuple(dict.fromkeys(("tp", *kept)))
    always = ("tp",) if "tp" in inside else ()
    checks += domains(observed, always)
    # where only a layout is told, nobody planned that other groups share a domain
    level: Level = "warning" if against.row is None else "rule"
    checks += domains(observed, [role for role in inside if role != "tp"], level)
    checks += near(
        observed,
        seen.layout if planned is None else planned.layout,
        inside,
        expert_tp=way is None or bool(way.expert_tp),
    )
    checks += rails(observed)
    moved = None if tax is None else traffic(tax, observed)
    fast, more = _links(observed, moved, against, inside)
    checks += more
    if against.row is not None and moved is not None:
        checks += sent(moved, against.row, against.bytes_tolerance)
        checks.append(microbatches(moved, against.row, against.bytes_tolerance))
    checks += nccl_checks(against.topologies, against.log)
    return Verification(
        observed=observed,
        against=against,
        seen=seen,
        order=None if way is None else way.order,
        checks=tuple(
            check for check in checks if check.role in ("", against.role or check.role)
        ),
        speeds=fast,
        notes=notes,
    )


def _named(observed: Observed, planned: Planned | None) -> Observed:
    """Take groups whose role is not told for the one planned dimension of their size."""
    nameless = unnamed(observed)
    if planned is None or not nameless or len({group.size for group in nameless}) > 1:
        return observed
    fitting = [
        name
        for name in DIMENSIONS
        if getattr(planned.layout, name) == nameless[0].size
        and not any(
            (usual(observed, role) or 1) > 1
            for role in (SPLIT_ROLES if name == "dp" else (name,))
        )
    ]
    return taken_for(observed, fitting[0]) if len(fitting) == 1 else observed


def _planned_inside(observed: Observed, way: Planned) -> Iterator[str]:
    """List the roles whose groups a layout keeps in a domain, ranks in order on GPUs."""
    size = observed.places.domain_size
    if size is None or way.layout.gpus > MOST_RANKS:
        return
    for role in (*DENSE_ROLES, *EXPERT_ROLES):
        usual_size = next(iter(way.sizes(role)), 1)
        if usual_size == 1:
            continue
        for groups in way.members(role, usual_size, way.orders[0])[:1]:
            at = groups // size
            if (at.min(axis=1) == at.max(axis=1)).all():
                yield role


def _links(
    observed: Observed, moved: Traffic | None, against: Against, inside: Sequence[str]
) -> tuple[dict[str, Speeds], list[Check]]:
    """Check how fast the groups are, role by role."""
    if moved is None:
        return {}, []
    found: dict[str, Speeds] = {}
    checks: list[Check] = []
    one = moved.collectives
    measured = {observed.groups[at].role for at in np.unique(one.group).tolist()}
    for role in (role for role in observed.roles if role in measured):
        fast = speeds(observed, one, role, against.links, on_nvlink=role in inside)
        found[role] = fast
        share = against.slow_share
        checks.append(bandwidths(observed, fast, role, against.links, share))
        checks.append(stragglers(observed, fast, moved, role, share))
        if against.benchmarks:
            checks.append(
                against_benchmarks(observed, one, role, against.benchmarks, share)
            )
    order = ("busbw", "straggler", "nccl-tests")
    return found, sorted(checks, key=lambda check: order.index(check.name))


def _row(check: Check) -> dict[str, Any]:
    first = check.broken[0] if check.broken else None
    return {
        "check": check.name,
        "group": check.role or None,
        "level": check.level,
        "expected": check.expected,
        "found": check.found or None,
        "groups_checked": check.checked,
        "groups_unknown": check.unknown,
        "groups_broken": len(check.broken),
        "status": check.status,
        "ranks": rank_text(first.ranks) if first and first.ranks else None,
        "hosts": ", ".join(first.hosts) or None if first else None,
        "fault": first.found if first else None,
        "reason": check.because or None,
    }


def _group_rows(found: Verification) -> Iterator[dict[str, Any]]:
    observed, places = found.observed, found.observed.places
    faults: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for check in found.checks:
        for one in check.broken:
            faults.setdefault((check.role, one.ranks), []).append(check.name)
    over = spread(observed, observed.groups)
    fast = {
        (role, group.ranks): (speed, at)
        for role, speed in found.speeds.items()
        for at, group in enumerate(speed.groups)
    }
    for at, group in enumerate(observed.groups):
        if group.role != (found.against.role or group.role):
            continue
        key = (group.role, group.ranks)
        hosts = places.host_names(group.ranks)
        codes = places.of(places.domain, np.array(group.ranks, np.int64))
        names = [places.domains[code] for code in dict.fromkeys(codes[codes >= 0].tolist())]
        yield {
            "group": group.role,
            "name": group.name or None,
            "ranks": rank_text(group.ranks),
            "n_ranks": group.size,
            "n_ranks_known": len(group.ranks),
            "n_hosts": len(hosts) or None,
            "hosts": ", ".join(hosts) or None,
            "n_domains": int(over.domains[at]) or None,
            "domains": ", ".join(names) or None,
            "origin": str(group.origin),
            "communicates": group.communicates,
            **_speed_of(*fast.get(key, (None, 0))),
            "faults": ", ".join(faults.get(key, [])) or None,
        }


def _speed_of(found: Speeds | None, at: int) -> dict[str, float | None]:
    if found is None:
        names = VERIFY_GROUPS.names
        return dict.fromkeys(names[names.index("communicates") + 1 : names.index("faults")])
    return {
        "busbw_gb_per_s_median": float(found.net_gb_per_s[at]),
        "busbw_of_siblings": float(found.of_siblings[at]),
        "link_gb_per_s": float(found.peak_gb_per_s[at]),
        "waited_share": float(found.waited[at]),
    }
