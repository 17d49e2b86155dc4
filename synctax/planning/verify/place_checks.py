"""Whether the groups of a job sit where they should: domains of NVLink, and rails."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import I64, Bool
from synctax.planning.layout import Layout
from synctax.planning.verify.check import Check, Level, broken
from synctax.planning.verify.host_names import host_text
from synctax.planning.verify.observed import Observed, ObservedGroup
from synctax.planning.verify.places import Places
from synctax.planning.verify.seen import usual
from synctax.texts import counted
from synctax.trace.oddities import rank_text

NEAR: Final = ("tp", "cp", "ep")
"""Roles that should reach over as few domains as they can, TP where it may leave one."""

RAILS: Final = ("pp", "dp", "fsdp", "dp_cp", "dp_replicate", "cp", "ep", "edp")
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


def domains(
    observed: Observed, inside: Sequence[str], level: Level = "rule"
) -> list[Check]:
    """Check that every group of some roles lies in one domain.

    Parameters
    ----------
    observed : Observed
    inside : sequence of str
        Roles that should: `tp`, and what else is planned on NVLink.
    level : Level
        Of what is broken.
    """
    checks = []
    for role in inside:
        groups = observed.of(role)
        if groups:
            checks.append(_reach(observed, role, groups, _Limit("domain", 1, level)))
    return checks


def near(
    observed: Observed,
    layout: Layout | None,
    skip: Sequence[str],
    *,
    expert_tp: bool = True,
) -> list[Check]:
    """Check that groups reach over no more domains than they have to.

    Parameters
    ----------
    observed : Observed
    layout : Layout or None
        Whose TP lies inside them: of 8, CP 2 cannot but take two domains of 8 GPUs.
    skip : sequence of str
        Roles that are checked for one domain.
    expert_tp : bool
        Whether TP lies inside the groups of EP too.
    """
    size = _domain_gpus(observed)
    checks = []
    for role in NEAR:
        groups = observed.of(role)
        if not groups or role in skip or not size:
            continue
        tp = (usual(observed, "tp") or 1) if layout is None else layout.tp
        split = 1 if role == "tp" or (role == "ep" and not expert_tp) else tp
        least = -(-split * groups[0].size // size)
        checks.append(_reach(observed, role, groups, _Limit("near", least, "warning")))
    return checks


@dataclass(frozen=True, slots=True)
class _Limit:
    """Over how many domains groups may reach, and how bad more are."""

    name: str
    most: int
    level: Level


def _domain_gpus(observed: Observed) -> int:
    """GPUs of a domain: as asked for, else as many ranks as are in the fullest."""
    code = observed.places.domain
    return observed.places.domain_size or int(np.bincount(code + 1)[1:].max(initial=0))


def _reach(
    observed: Observed,
    role: str,
    groups: list[ObservedGroup],
    limit: _Limit,
) -> Check:
    """Check that groups reach over at most so many domains."""
    most, level = limit.most, limit.level
    over = spread(observed, groups)
    far = over.domains > most
    bad = far & _sure(observed, groups)
    judged = bad | (over.whole & ~far)
    wrong = tuple(
        broken(observed, groups[at], where(observed, groups[at], int(over.domains[at])))
        for at in np.flatnonzero(bad).tolist()
    )
    one = "in one domain" if most == 1 else f"in {most} domains, the fewest it fits into"
    unknown = int((~judged).sum())
    because = ""
    if unknown:
        told = (
            observed.places.unknown_because,
            _open(observed) if (far & ~bad).any() else "",
        )
        because = "; ".join(filter(None, told))
    if wrong and not _beyond_racks(observed, groups).any() and level == "rule":
        level = _as_guessed(observed)
        if level != limit.level:
            because = "; ".join(filter(None, (_GUESSED, because)))
    if wrong and observed.places.guess == "hosts" and limit.name == "domain":
        because = "; ".join(filter(None, (_EACH_HOST, because)))
    if wrong and (hint := _round_robin(observed)):
        because = "; ".join(filter(None, (hint, because)))
    return Check(
        limit.name,
        role,
        level,
        one,
        _found(over, bad, judged),
        checked=int(judged.sum()),
        unknown=unknown,
        broken=wrong,
        because=because,
    )


def _sure(observed: Observed, groups: Sequence[ObservedGroup]) -> Bool:
    """Tell which groups leave a domain wherever they are on several hosts.

    Where each host was only taken for a domain, NVLink may join them: unless GPUs are
    known to have none between hosts, or one host would hold the group.
    """
    places = observed.places
    size = np.array([group.size for group in groups], np.int64)
    if places.guess != "hosts" or places.joined is False:
        return np.ones(size.shape, np.bool_)
    return np.asarray((size <= places.gpus_per_host) & (places.joined is None))


def _open(observed: Observed) -> str:
    """Say why groups on several hosts may still be in one domain."""
    places = observed.places
    return places.open_because or (
        f"groups of more ranks than the {places.gpus_per_host:,} GPUs of a host: if NVLink "
        f"joins hosts, --domain N tells how many GPUs, else --domain {places.gpus_per_host}"
    )


def _beyond_racks(observed: Observed, groups: Sequence[ObservedGroup]) -> Bool:
    """Tell which groups are on more hosts than a domain holds, whichever these are."""
    places = observed.places
    number, code = flattened(observed, groups, places.host)
    pairs = np.unique(np.stack([number, code])[:, code >= 0], axis=1)
    hosts = np.bincount(pairs[0], minlength=len(groups))
    held = (places.domain_size or 1) // max(places.gpus_per_host, 1)
    return np.asarray(hosts > max(held, 1))


_EACH_HOST: Final = "each host taken for one domain, --domain N or --hardware tells another"
_GUESSED: Final = (
    "consecutive hosts were taken for a domain: --hosts with a column domain tells which "
    "hosts are one"
)


def _as_guessed(observed: Observed) -> Level:
    """A rule is broken only in domains that are known."""
    return "warning" if observed.places.guess == "racks" else "rule"


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
    over = counted(domains_, "domain")
    return f"over {over}: {counted(len(hosts), 'host')} ({host_text(hosts)})"


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
    """Check that members of a group have the same local indices in each of its domains.

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
    """Keep the groups that leave a domain, as far as is known."""
    over = spread(observed, groups)
    return [group for group, n in zip(groups, over.domains, strict=True) if n > 1]


def _rails(observed: Observed, role: str, groups: list[ObservedGroup]) -> Check:
    places = observed.places
    home, names = _homes(places)
    wrong, unknown = [], 0
    for group in groups:
        ranks = np.array(group.ranks, np.int64)
        at, local = places.of(home, ranks), places.of(places.local, ranks)
        if (local < 0).any() or (at < 0).any() or not group.complete or places.open_because:
            unknown += 1
            continue
        on = {int(one): set(local[at == one].tolist()) for one in np.unique(at)}
        # where one has fewer members, some cannot but change rails
        most = max(on.values(), key=len)
        if not all(found <= most for found in on.values()):
            wrong.append(broken(observed, group, _indices(names, on)))
    checked = len(groups) - unknown
    found = f"{checked - len(wrong):,} of {checked:,}" if checked else ""
    because = ""
    if unknown:
        because = places.open_because or (
            "the local index of some ranks is not known: give --hosts FILE with the "
            "columns rank,host,gpu"
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


def _homes(places: Places) -> tuple[I64, tuple[str, ...]]:
    """Take what a rank leaves by its NIC: its domain, or its host if that holds several."""
    pairs = np.unique(np.stack([places.host, places.domain]), axis=1)
    hosts = pairs[0][pairs[0] >= 0]
    if hosts.size > np.unique(hosts).size:
        return places.host, places.hosts
    return places.domain, places.domains


def _indices(names: Sequence[str], on: dict[int, set[int]]) -> str:
    shown = [
        f"GPU {rank_text(local)} of {names[home]}"
        for home, local in list(on.items())[:HOSTS_SHOWN]
    ]
    return ", ".join(shown) + (", ..." if len(on) > HOSTS_SHOWN else "")
