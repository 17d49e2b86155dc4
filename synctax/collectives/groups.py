"""Which process group a collective belongs to: name, ranks and role from scattered facts.

A group is told apart by name *and* ranks: sibling groups (the tensor-parallel groups of
different hosts, say) may share a name. Ranks stand on the kernel as text that torch cuts
after 30; the full list is then in the trace's `pg_config`, or follows from first rank and
stride on the CPU operator. The `Rank` of a record is of no use: it is a group rank, a root
or a peer, as the operation has it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from synctax.collectives.model import UNLABELLED, Group, Origin
from synctax.trace import names
from synctax.trace.model import GroupConfig, TraceMeta
from synctax.trace.numbers import MAX_RANK, bounded


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What a trace says of a collective's group: -1 and empty where it is silent."""

    name: str
    ranks: str
    description: str
    size: int
    rank_start: int
    rank_stride: int


@dataclass(frozen=True, slots=True)
class VisibleRanks:
    """Ranks that a text shows, in its order, and whether it shows all."""

    ranks: tuple[int, ...]
    complete: bool


MAX_GROUP = 2**17
"""More ranks than one group has: a list of so many is not made from two numbers."""


def visible_ranks(text: str) -> VisibleRanks:
    """Read `[0, 1]`, `[0, 8, 16, (27 more), ...]`, `[0, 1, ..., ...]`.

    Examples
    --------
    >>> visible_ranks("[0, 8, (30 more), ...]")
    VisibleRanks(ranks=(0, 8), complete=False)
    """
    inner = text.strip().strip("\"'").strip()
    closed = inner.startswith("[") and inner.endswith("]")
    parts = [part for part in inner.strip("[]").split(",") if part.strip()]
    ranks: list[int] = []
    for part in parts:
        rank = bounded(part.strip(), MAX_RANK)
        if rank is None:
            break
        ranks.append(rank)
    return VisibleRanks(tuple(ranks), closed and bool(ranks) and len(ranks) == len(parts))


def resolve(facts: GroupFacts, meta: TraceMeta) -> Group:
    """Build the group that a collective's facts describe.

    Parameters
    ----------
    facts : GroupFacts
        From the kernel, else from the CPU operator that launched it.
    meta : TraceMeta
        Declared groups and, if known, this trace's own rank.

    Returns
    -------
    Group
        `ranks` is None where no source has all of them.
    """
    visible = visible_ranks(facts.ranks)
    declared = _declared(facts, visible, meta)
    description = facts.description or (declared[0].description if declared else "")
    size = facts.size if facts.size > 0 else None
    ranks, origin = _ranks(facts, visible, declared)
    if size is None:
        size = len(ranks) if ranks else _agreed_size(declared)
    return Group(
        name=facts.name,
        ranks=ranks,
        role=names.role(description, facts.name),
        size=size,
        origin=origin,
    )


def _ranks(
    facts: GroupFacts, visible: VisibleRanks, declared: tuple[GroupConfig, ...]
) -> tuple[tuple[int, ...] | None, Origin]:
    # A list shorter than the group was cut without a mark.
    if visible.complete and len(visible.ranks) >= facts.size:
        return tuple(sorted(visible.ranks)), Origin.KERNEL
    full = {config.ranks for config in declared if config.ranks is not None}
    if len(full) == 1:
        (ranks,) = full
        return tuple(sorted(ranks)), Origin.PG_CONFIG
    strided = _strided(facts, visible)
    return (strided, Origin.STRIDE) if strided is not None else (None, Origin.KERNEL)


def _declared(
    facts: GroupFacts, visible: VisibleRanks, meta: TraceMeta
) -> tuple[GroupConfig, ...]:
    """Declared groups of this name that agree with everything else known of the group.

    A trace declares groups its rank is not in, under the same name.
    """
    found = [config for config in meta.groups if config.name == facts.name]
    if facts.size > 0:
        found = [c for c in found if c.size in (None, facts.size)]
    if visible.ranks:
        found = [c for c in found if _begins(c.ranks, visible.ranks)]
    own = [c for c in found if c.ranks is not None and meta.rank in c.ranks]
    # Traces made on demand state a rank that need not be theirs: it may choose among
    # groups, not rule out the only one.
    return tuple(own or found)


def _begins(ranks: tuple[int, ...] | None, prefix: tuple[int, ...]) -> bool:
    if ranks is None:
        return True
    return ranks[: len(prefix)] == prefix or tuple(sorted(ranks))[: len(prefix)] == prefix


def _strided(facts: GroupFacts, visible: VisibleRanks) -> tuple[int, ...] | None:
    if facts.rank_start < 0 or facts.size < 1:
        return None
    if facts.rank_stride < 1 and facts.size > 1:
        return None
    stride = max(facts.rank_stride, 1)
    last = facts.rank_start + (facts.size - 1) * stride
    if facts.size > MAX_GROUP or last > MAX_RANK:
        return None
    ranks = tuple(range(facts.rank_start, last + 1, stride))
    return ranks if ranks[: len(visible.ranks)] == visible.ranks else None


def _agreed_size(declared: Iterable[GroupConfig]) -> int | None:
    sizes = {config.size for config in declared if config.size is not None}
    return sizes.pop() if len(sizes) == 1 else None


def unlabelled(ordinal: int) -> Group:
    """Build the group that stands for a stream without any metadata."""
    return Group(
        name="",
        ranks=None,
        role=UNLABELLED,
        size=None,
        origin=Origin.INFERRED,
        stream=ordinal,
    )


def own_groups(meta: TraceMeta) -> tuple[GroupConfig, ...]:
    """List the declared groups that this rank is in, as far as ranks are known."""
    own = [
        config
        for config in meta.groups
        if config.ranks is None or meta.rank is None or meta.rank in config.ranks
    ]
    return tuple({(config.name, config.ranks): config for config in own}.values())


def from_config(config: GroupConfig) -> Group:
    """Build the group that the trace's metadata declares."""
    ranks = None if config.ranks is None else tuple(sorted(config.ranks))
    return Group(
        name=config.name,
        ranks=ranks,
        role=names.role(config.description, config.name),
        size=config.size if config.size is not None else (len(ranks) if ranks else None),
        origin=Origin.PG_CONFIG,
    )
