"""Whether the groups of a job are those of a layout: how many, of which size, of whom."""

from collections.abc import Iterator, Sequence

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.planning.training import DIMENSIONS
from synctax.planning.verify.check import Broken, Check, broken, tally
from synctax.planning.verify.observed import Observed, ObservedGroup
from synctax.planning.verify.planned import SPLIT_ROLES, Planned
from synctax.planning.verify.seen import (
    CORE_ROLES,
    SPREADING,
    Seen,
    families,
    memberships,
    sizes,
    usual,
    whole_sizes,
)
from synctax.texts import counted
from synctax.trace.oddities import rank_text


def world(observed: Observed, seen: Seen, planned: Planned | None) -> Check:
    """Check that the sizes of groups multiply to the ranks of the job, and to the plan's.

    Parameters
    ----------
    observed : Observed
    seen : Seen
    planned : Planned or None
    """
    expected = "tp·pp·dp·cp = ranks of the job"
    if planned is not None and observed.world is not None:
        n = planned.layout.gpus
        expected = f"{n:,} ranks, as {planned.layout} has"
        if n != observed.world:
            found = f"{observed.world:,} ranks"
            return Check(
                "world", "", "rule", expected, found, 1, broken=(Broken((), (), found),)
            )
    if seen.layout is not None:
        found = f"{seen.layout} = {seen.layout.gpus:,}"
        return Check("world", "", "rule", expected, found, checked=1)
    found = str(seen) or "no degree"
    if seen.because or seen.world is None:
        return Check("world", "", "rule", expected, found, 0, 1, because=seen.because)
    data = " or ".join(f"{one:,}" for one in seen.data)
    found = f"{found or 'tp1'} and dp·cp of {data}, for {seen.world:,} ranks"
    return Check("world", "", "rule", expected, found, 1, broken=(Broken((), (), found),))


def group_sizes(observed: Observed, planned: Planned | None) -> list[Check]:
    """Check that the groups of each role have the size that is planned, else one size.

    Parameters
    ----------
    observed : Observed
    planned : Planned or None

    Returns
    -------
    list of Check
        One a role whose groups a layout tells. Roles that are planned and missing are
        among them.
    """
    data = data_sizes(observed)
    checks = []
    for role in CORE_ROLES:
        groups = [group for group in observed.groups if group.role == role]
        own = whole_sizes(observed, role) if role == "edp" else data
        allowed = () if planned is None else planned.sizes(role, own)
        if not allowed:
            allowed = tuple(dict.fromkeys(whole_sizes(observed, role)))
            expected = "groups of one size"
            if len(allowed) > 1:
                expected = "one size, or shards and replicas of all ranks"
        else:
            most = " or ".join(f"{size:,}" for size in allowed[:2])
            expected = f"{most} {'rank' if most == '1' else 'ranks'}"
        if not groups or max(*allowed, *(group.size for group in groups)) == 1:
            continue
        wrong = tuple(
            broken(observed, group, f"{group.size:,} ranks")
            for group in groups
            if group.size not in allowed
        )
        found = tally([group.size for group in groups])
        checks.append(
            Check("size", role, "rule", expected, found, len(groups), broken=wrong)
        )
    return [*checks, *_missing(observed, planned)]


def data_sizes(observed: Observed) -> tuple[int, ...]:
    """List the sizes that the groups of data parallelism have in the job.

    A size stands there as often as a rank is in a group of it.
    """
    return tuple(size for role in SPLIT_ROLES for size in whole_sizes(observed, role))


def _missing(observed: Observed, planned: Planned | None) -> Iterator[Check]:
    """Say which dimensions are planned and have no group in the job."""
    if planned is None:
        return
    for dimension in DIMENSIONS:
        size = getattr(planned.layout, dimension)
        roles = SPLIT_ROLES if dimension == "dp" else (dimension,)
        if size == 1 or any(sizes(observed, role) for role in roles):
            continue
        found = f"no group of {dimension}"
        certain = observed.telling.size > 0
        yield Check(
            "size",
            dimension,
            "rule",
            f"{size:,} ranks",
            found,
            checked=int(certain),
            unknown=int(not certain),
            broken=(Broken((), (), found),) if certain else (),
            because="" if certain else "the traces do not declare their process groups",
        )


def coverage(observed: Observed) -> list[Check]:
    """Check that each rank is in one group of a role, neither in none nor in several.

    Parameters
    ----------
    observed : Observed

    Returns
    -------
    list of Check
        One a role that spreads over all ranks, and that has a group of several.
    """
    checks = []
    for role in SPREADING:
        groups = observed.of(role)
        if not groups:
            continue
        size = usual(observed, role)
        alike = [group for group in groups if group.size == size]
        every = [group for group in observed.groups if group.role == role]
        wrong = [*_twice(observed, alike, role, size), *_left_out(observed, every, role)]
        ranks = {rank for group in every for rank in group.ranks}
        of = "" if observed.world is None else f" of {observed.world:,}"
        unseen = 0 if observed.world is None else max(observed.world - len(ranks), 0)
        because = ""
        if unseen and not observed.whole:
            because = f"{counted(unseen, 'rank')} in no group of those that were read"
        checks.append(
            Check(
                "coverage",
                role,
                "rule",
                "every rank in one group",
                f"{len(ranks):,}{of} ranks in {counted(len(every), 'group')}",
                checked=len(every),
                broken=tuple(wrong),
                because=because,
            )
        )
    return checks


def _twice(
    observed: Observed, groups: Sequence[ObservedGroup], role: str, size: int | None
) -> Iterator[Broken]:
    """Find groups of one role and size that share ranks."""
    times = 1 if size is None else families(observed, role, size)
    if times > 1:
        yield from _too_often(observed, groups, times)
        return
    first: dict[int, ObservedGroup] = {}
    for group in groups:
        shared = tuple(rank for rank in group.ranks if rank in first)
        if shared:
            other = first[shared[0]].ranks
            yield broken(
                observed,
                group,
                f"rank {rank_text(shared)} is in the group {rank_text(other)} too",
            )
        for rank in group.ranks:
            first.setdefault(rank, group)


def _too_often(
    observed: Observed, groups: Sequence[ObservedGroup], times: int
) -> Iterator[Broken]:
    """Find ranks that are in more groups than others, of shards and of replicas."""
    held = memberships(observed, groups)
    over = {rank for rank, count in held.items() if count > times}
    for group in groups:
        mine = over & set(group.ranks)
        if mine:
            yield broken(
                observed,
                group,
                f"rank {rank_text(mine)} is in more than {times:,} groups of {group.role}",
            )


def _left_out(
    observed: Observed, groups: Sequence[ObservedGroup], role: str
) -> Iterator[Broken]:
    """Find ranks whose trace declares groups, and none of this role."""
    members = {rank for group in groups for rank in group.ranks}
    left = tuple(rank for rank in observed.telling.tolist() if rank not in members)
    if left:
        hosts = observed.places.host_names(left)
        yield Broken(left, hosts, f"rank {rank_text(left)} is in no group of {role}")


def members(observed: Observed, planned: Planned) -> tuple[list[Check], Planned | None]:
    """Check that groups have the ranks that the layout gives them.

    Parameters
    ----------
    observed : Observed
    planned : Planned

    Returns
    -------
    list of Check, Planned or None
        One check a role; the way of numbering ranks that fits most groups, None where the
        job has other ranks than the layout.
    """
    layout = planned.layout
    roles = [role for role in CORE_ROLES if observed.of(role)]
    if observed.world not in (None, layout.gpus):
        because = f"{layout} has {layout.gpus:,} ranks, the job {observed.world:,}"
        return [_not_checked(role, observed, because) for role in roles], None
    best: tuple[int, list[Check], Planned] | None = None
    for way in planned.ways:
        checks = [_members(observed, way, role) for role in roles]
        wrong = sum(len(check.broken) + check.unknown for check in checks)
        if best is None or wrong < best[0]:
            best = wrong, checks, way
    return (best[1], best[2]) if best else ([], None)


def _not_checked(role: str, observed: Observed, because: str) -> Check:
    count = len(observed.of(role))
    return Check("members", role, "rule", "ranks as planned", "", 0, count, because=because)


def _members(observed: Observed, planned: Planned, role: str) -> Check:
    groups, order = observed.of(role), planned.orders[0]
    numbers = {
        size: [_numbers(ways, planned.layout.gpus) for ways in found]
        for size in {group.size for group in groups}
        if (found := planned.members(role, size, order))
    }
    wrong, unknown, some = [], 0, ""
    for group in groups:
        ways = numbers.get(group.size)
        if ways is None:
            unknown += 1
        elif not any(_together(number, group.ranks) for number in ways):
            wrong.append(broken(observed, group, "no group of the layout"))
    for size in sorted(numbers)[:1]:
        first = planned.members(role, size, order)[0]
        some = " | ".join(rank_text(ranks) for ranks in first[:2].tolist())
        some += " | ..." if len(first) > len(first[:2]) else ""
    checked = len(groups) - unknown
    because = "" if checked else "the layout has no groups of this size"
    return Check(
        "members",
        role,
        "rule",
        some or "ranks as planned",
        f"{checked - len(wrong):,} of {checked:,} as {order}" if checked else "",
        checked=checked,
        unknown=unknown,
        broken=tuple(wrong),
        because=because,
    )


def _numbers(groups: I64, ranks: int) -> I64:
    """Number the group of each rank, (ranks,) int64."""
    number = np.full(ranks, ABSENT, np.int64)
    number[groups] = np.arange(len(groups))[:, None]
    return number


def _together(number: I64, ranks: Sequence[int]) -> bool:
    """Whether some ranks are of one planned group."""
    if ranks[-1] >= number.size:
        return False
    mine = number[list(ranks)]
    return bool((mine == mine[0]).all()) and mine[0] >= 0
