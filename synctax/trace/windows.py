"""Which files were recorded together, where a rank has more than one.

A profiler that repeats writes one file a rank and window. Paths may name the window, the
profiler steps or the times may tell windows apart; what none of them separates is two
files that claim to be the same rank.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from synctax.trace.discover import TraceFile, natural_key
from synctax.trace.facts import FileFacts

TWO = 2


@dataclass(frozen=True, slots=True)
class Claim:
    """A file, its facts, and the rank it claims with the source of the claim."""

    file: TraceFile
    facts: FileFacts
    rank: int
    source: str


Labelled = dict[str, list[Claim]]


def split_windows(claims: Sequence[Claim]) -> Labelled:
    """Sort the files of known ranks into windows.

    Parameters
    ----------
    claims : sequence of Claim

    Returns
    -------
    dict of window label to claims
        One window is labelled with the empty string. Within a window a rank occurs twice
        only where nothing tells its files apart.
    """
    named: Labelled = defaultdict(list)
    for claim in claims:
        named[claim.file.window].append(claim)
    if not repeated(claims) and _recorded_together(claims):
        named = {"": list(claims)}
    windows: Labelled = {}
    for label in sorted(named, key=natural_key):
        for part, inside in _separate(named[label]).items():
            windows["/".join(filter(None, (label, part)))] = inside
    return {"": next(iter(windows.values()))} if len(windows) == 1 else windows


def repeated(claims: Sequence[Claim]) -> list[int]:
    """List the ranks that more than one file claims, ascending."""
    count = Counter(claim.rank for claim in claims)
    return sorted(rank for rank, n in count.items() if n > 1)


def fingerprint(claim: Claim) -> Hashable:
    """Tell whether two files hold the same trace, compressed or not."""
    facts = claim.facts
    return (
        facts.start_ns,
        facts.end_ns,
        facts.kinds,
        facts.streams,
        facts.steps,
        facts.processes,
        facts.bytes_read,
        facts.meta.rank,
        facts.meta.host,
    )


def overlaps(one: FileFacts, other: FileFacts) -> bool:
    """Tell whether two traces share any time; empty traces share none."""
    one_ns, other_ns = span_ns(one), span_ns(other)
    if one_ns is None or other_ns is None:
        return False
    return one_ns[0] <= other_ns[1] and other_ns[0] <= one_ns[1]


def span_ns(facts: FileFacts) -> tuple[int, int] | None:
    """Return the first start and the last end; None of an empty trace."""
    if facts.start_ns is None or facts.end_ns is None:
        return None
    return facts.start_ns, facts.end_ns


def _separate(claims: list[Claim]) -> Labelled:
    """Take the first rule that leaves every rank once in every part."""
    if not repeated(claims):
        return {"": claims}
    for rule in (_by_folder, _by_steps, _by_time):
        parts = rule(claims)
        if len(parts) > 1 and not any(repeated(part) for part in parts.values()):
            return parts
    return {"": claims}


def _by_folder(claims: list[Claim]) -> Labelled:
    folders = sorted({PurePath(claim.file.path).parent for claim in claims})
    labels = dict(
        zip(folders, _distinct([folder.parts for folder in folders]), strict=True)
    )
    parts: Labelled = defaultdict(list)
    for claim in claims:
        parts[labels[PurePath(claim.file.path).parent]].append(claim)
    if not any(len(part) >= TWO for part in parts.values()):
        return {}
    if all(claim.source in ("content", "manifest") for claim in claims):
        return dict(parts)
    # Names alone may be local ranks: node0/rank0 and node1/rank0 are no two windows.
    return dict(parts) if len(_by_time(claims)) >= len(parts) else {}


def _distinct(paths: list[tuple[str, ...]]) -> list[str]:
    """Cut what all paths begin and end with.

    >>> _distinct([("a", "run1", "traces"), ("a", "run2", "traces")])
    ['run1', 'run2']
    """
    shortest = min(map(len, paths))
    head = next(
        (i for i in range(shortest) if len({path[i] for path in paths}) > 1), shortest
    )
    tail = next(
        (i for i in range(shortest - head) if len({path[-1 - i] for path in paths}) > 1),
        shortest - head,
    )
    return ["/".join(path[head : len(path) - tail]) for path in paths]


def _by_steps(claims: list[Claim]) -> Labelled:
    if not all(claim.facts.steps for claim in claims):
        return {}
    clusters = _clusters(
        sorted(claims, key=lambda c: c.facts.steps[0]),
        lambda c: (c.facts.steps[0], c.facts.steps[-1]),
    )
    return {_steps_label(cluster): cluster for cluster in clusters}


def _steps_label(cluster: list[Claim]) -> str:
    first = min(claim.facts.steps[0] for claim in cluster)
    last = max(claim.facts.steps[-1] for claim in cluster)
    return f"step_{first}" if first == last else f"steps_{first}-{last}"


def _by_time(claims: list[Claim]) -> Labelled:
    def span(claim: Claim) -> tuple[int, int]:
        return span_ns(claim.facts) or (0, 0)

    clusters = _clusters(sorted(claims, key=span), span)
    return {f"window_{i}": cluster for i, cluster in enumerate(clusters, start=1)}


def _clusters(
    claims: list[Claim], span: Callable[[Claim], tuple[int, int]]
) -> list[list[Claim]]:
    """Unite claims, in order of their start, whose spans touch."""
    clusters: list[list[Claim]] = []
    reach = 0
    for claim in claims:
        start, end = span(claim)
        if clusters and start <= reach:
            clusters[-1].append(claim)
            reach = max(reach, end)
        else:
            clusters.append([claim])
            reach = end
    return clusters


def _recorded_together(claims: Sequence[Claim]) -> bool:
    ordered = [claim for claim in claims if claim.facts.events]
    return len(_by_time(ordered)) <= 1


def without_copies(claims: Sequence[Claim]) -> tuple[list[Claim], dict[str, str]]:
    """Keep one of the files that hold the same trace of the same rank.

    Returns
    -------
    claims
        Those kept: the one nearest the top, then the first in natural order.
    copies : dict
        Path of each file left out, and of the one it repeats.
    """
    first: dict[Hashable, Claim] = {}
    copies: dict[str, str] = {}
    for claim in sorted(
        claims, key=lambda c: (c.file.path.count("/"), natural_key(c.file.path))
    ):
        key = (claim.rank, claim.file.window, fingerprint(claim))
        same = first.setdefault(key, claim) if claim.facts.events else claim
        if same is not claim:
            copies[claim.file.path] = same.file.path
    return [claim for claim in claims if claim.file.path not in copies], copies


def placed_by_name(windows: Labelled) -> tuple[Labelled, list[Claim]]:
    """Give files whose contents claim one rank the ranks of their names.

    Only where the names of all of them are ranks, all different and not taken: some
    profilers copy one rank into every file.

    Returns
    -------
    dict of window label to claims
    claims
        Those whose rank changed.
    """
    result: Labelled = {}
    moved: list[Claim] = []
    for label, inside in windows.items():
        claimed = [c for c in clashing(inside) if c.source == "content"]
        rest = [c for c in inside if c not in claimed]
        names = [c.file.rank_from_name for c in claimed]
        free = len({*names, *(c.rank for c in rest)}) == len(inside)
        if not free or None in names:
            result[label] = inside
            continue
        named = [
            replace(c, rank=rank, source="name")
            for c, rank in zip(claimed, names, strict=True)
            if rank is not None
        ]
        moved += [c for c in named if c.rank != c.facts.meta.rank]
        result[label] = rest + named
    return result, moved


def clashing(inside: Sequence[Claim]) -> list[Claim]:
    """List the claims to a rank that another file of the window claims too."""
    twice = set(repeated(inside))
    return [claim for claim in inside if claim.rank in twice]
