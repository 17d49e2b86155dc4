"""Whether the groups of a job sit where they should: domains of NVLink, and rails."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import I64, Bool
from synctax.planning.layout import Layout
from synctax.planning.verify.check import Check, Level, broken
from synctax.planning.verify.observed import Observed, ObservedGroup
from synctax.texts import counted

NEAR: Final = ("cp", "ep")
"""Roles that should reach over as few domains as they can."""

RAILS: Final = ("pp", "dp", "fsdp", "dp_cp", "dp_replicate", "cp", "edp")
"""Roles whose neighbours in other domains should sit behind NICs of one number."""

HOSTS_SHOWN: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Over how many domains each of g groups reaches.

    Parameters
    ----------
    known : (g,) int64
        Members whose domain is known.
    domains : (g,) int64
        Different ones among these.
    whole : (g,) bool
        Whether the domain of every member is known.
    """

    known: I64
    domains: I64
    whole: Bool


def spread(observed: Observed, groups: Sequence[ObservedGroup]) -> Spread:
    """Count the domains that groups reach over.

    Parameters
    ----------
    observed : Observed
    groups : sequence of ObservedGroup
    """
    number, code = flattened(observed, groups, observed.places.domain)
    known = np.bincount(number[code >= 0], minlength=len(groups))
    pairs = np.unique(np.stack([number, code])[:, code >= 0], axis=1)
    domains = np.bincount(pairs[0], minlength=len(groups))
    size = np.array([group.size for group in groups], np.int64)
    return Spread(known, domains, known == size)


def flattened(
    observed: Observed, groups: Sequence[ObservedGroup], column: I64
) -> tuple[I64, I64]:
    """List the members of groups one after the other.

    Returns
    -------
    number, value : (n,) int64
        Number of the group, and the member's entry of a column of `Places`.
    """
    count = np.array([len(group.ranks) for group in groups], np.int64)
    ranks = np.array([rank for group in groups for rank in group.ranks], np.int64)
    return np.repeat(np.arange(len(groups)), count), observed.places.of(column, ranks)


def domains(observed: Observed, inside: Sequence[str]) -> list[Check]:
    """Check that every group of some roles lies in one domain.

    Parameters
    ----------
    observed : Observed
    inside : sequence of str
        Roles that should: `tp`, and what else is planned on NVLink.
    """
    checks = []
    for role in inside:
        groups = observed.of(role)
        if groups:
            checks.append(_reach(observed, role, groups, 1, "rule"))
    return checks


def near(observed: Observed, layout: Layout | None, skip: Sequence[str]) -> list[Check]:
    """Check that groups of CP and EP reach over no more domains than they have to.

    Parameters
    ----------
    observed : Observed
    layout : Layout or None
        Whose TP lies inside them: of 8, CP 2 cannot but take two domains of 8 GPUs.
    skip : sequence of str
        Roles that are checked for one domain.
    """
    size = _domain_gpus(observed)
    checks = []
    for role in NEAR:
        groups = observed.of(role)
        if not groups or role in skip or not size:
            continue
        tp = 1 if layout is None else layout.tp
        least = -(-tp * groups[0].size // size)
        checks.append(_reach(observed, role, groups, least, "warning"))
    return checks


def _domain_gpus(observed: Observed) -> int:
    """GPUs of a domain: as asked for, else as many ranks as are in the fullest."""
    code = observed.places.domain
    return observed.places.domain_size or int(np.bincount(code + 1)[1:].max(initial=0))


def _reach(
    observed: Observed,
    role: str,
    groups: list[ObservedGroup],
    most: int,
    level: Level,
) -> Check:
    """Check that groups reach over at most so many domains."""
    over = spread(observed, groups)
    bad = over.domains > most
    judged = bad | over.whole
    wrong = tuple(
        broken(observed, groups[at], where(observed, groups[at], int(over.domains[at])))
        for at in np.flatnonzero(bad).tolist()
    )
    name = "domain" if level == "rule" else "near"
    one = "in one domain" if most == 1 else f"in {most} domains, the fewest it fits into"
    unknown = int((~judged).sum())
    because = observed.places.unknown_because if unknown else ""
    if wrong and (hint := _round_robin(observed)):
        because = "; ".join(filter(None, (hint, because)))
    return Check(
        name,
        role,
        level,
        one,
        _found(over, bad, judged),
        checked=int(judged.sum()),
        unknown=unknown,
        broken=wrong,
        because=because,
    )


def _found(over: Spread, bad: Bool, judged: Bool) -> str:
    if not judged.any():
        return ""
    if not bad.any():
        return f"all {int(judged.sum()):,}" if judged.sum() > 1 else "it is"
    low, high = int(over.domains[bad].min()), int(over.domains[bad].max())
    many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{int(bad.sum()):,} of {int(judged.sum()):,} over {many} domains"


def where(observed: Observed, group: ObservedGroup, domains_: int) -> str:
    """Say over which domains and hosts a group reaches."""
    hosts = observed.places.host_names(group.ranks)
    shown = ", ".join(hosts[:HOSTS_SHOWN]) + (", ..." if len(hosts) > HOSTS_SHOWN else "")
    over = counted(domains_, "domain")
    return f"over {over}: {counted(len(hosts), 'host')} ({shown})"


def _round_robin(observed: Observed) -> str:
    """Say so where ranks were dealt out to hosts one by one."""
    places = observed.places
    hosts = len(places.hosts)
    if hosts < _SEVERAL or (places.host < 0).any():
        return ""
    if places.rank.size <= hosts or not (places.host == places.rank % hosts).all():
        return ""
    return (
        f"ranks go round the hosts (rank r on host r mod {hosts:,}): launch consecutive "
        "ranks on one host (srun --distribution=block, mpirun --map-by slot)"
    )


_SEVERAL = 2


def rails(observed: Observed) -> list[Check]:
    """Check that members of a group in several domains have the same local indices there.

    A flow that leaves by NIC i and arrives by NIC j crosses the spine of a fabric that is
    wired in rails.

    Parameters
    ----------
    observed : Observed
    """
    return [
        _rails(observed, role, groups)
        for role in RAILS
        if (groups := _across(observed, observed.of(role)))
    ]


def _across(observed: Observed, groups: list[ObservedGroup]) -> list[ObservedGroup]:
    """Keep the groups that are known to leave a domain."""
    over = spread(observed, groups)
    return [group for group, n in zip(groups, over.domains, strict=True) if n > 1]


def _rails(observed: Observed, role: str, groups: list[ObservedGroup]) -> Check:
    places = observed.places
    wrong, unknown = [], 0
    for group in groups:
        ranks = np.array(group.ranks, np.int64)
        host, local = places.of(places.host, ranks), places.of(places.local, ranks)
        if (local < 0).any() or (host < 0).any() or not group.complete:
            unknown += 1
            continue
        on = {int(h): tuple(sorted(local[host == h].tolist())) for h in np.unique(host)}
        if len(set(on.values())) > 1:
            wrong.append(broken(observed, group, _indices(observed, on)))
    checked = len(groups) - unknown
    found = f"{checked - len(wrong):,} of {checked:,}" if checked else ""
    because = (
        "the local index of some ranks is not known: give --hosts FILE with the columns "
        "rank,host,gpu"
        if unknown
        else ""
    )
    return Check(
        "rails",
        role,
        "warning",
        "one local index across hosts",
        found,
        checked=checked,
        unknown=unknown,
        broken=tuple(wrong),
        because=because,
    )


def _indices(observed: Observed, on: dict[int, tuple[int, ...]]) -> str:
    shown = [
        f"GPU {','.join(map(str, local))} of {observed.places.hosts[host]}"
        for host, local in list(on.items())[:HOSTS_SHOWN]
    ]
    return ", ".join(shown) + (", ..." if len(on) > HOSTS_SHOWN else "")
