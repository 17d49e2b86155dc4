"""How long each thing on the host usually takes on a rank: to tell what is far longer."""

import numpy as np

from synctax.arrays import I8, I32, I64, U64
from synctax.attribution.keys import combine, name_hashes
from synctax.attribution.model import HostUsual
from synctax.graph.model import Graph, NodeKind
from synctax.trace.model import RankTrace


def usual_host(trace: RankTrace, graph: Graph) -> HostUsual:
    """Take medians over all host pieces of one name.

    Parameters
    ----------
    trace : RankTrace
    graph : Graph

    Returns
    -------
    HostUsual
        Slices and gaps apart.
    """
    nodes = graph.nodes
    host = np.flatnonzero(
        (nodes.kind == NodeKind.SLICE) | ((nodes.kind == NodeKind.GAP) & (nodes.label >= 0))
    )
    what = what_hashes(
        name_hashes(trace), trace.events.name[nodes.label[host]], nodes.kind[host]
    )
    duration = nodes.end_ns[host] - nodes.start_ns[host]
    order = np.lexsort((duration, what))
    distinct, first, count = np.unique(what[order], return_index=True, return_counts=True)
    return HostUsual(distinct, duration[order][first + count // 2], count)


def what_hashes(hashes: U64, name: I32, kind: I8) -> U64:
    """Identify what host pieces are, on all ranks alike: name, and whether it is a gap.

    Parameters
    ----------
    hashes : (s,) uint64
        Of the strings that names code.
    name : (n,) int32
    kind : (n,) int8
        `NodeKind`.

    Returns
    -------
    (n,) uint64
    """
    return combine(hashes[name], (kind == NodeKind.GAP).astype(np.uint64))


def merge_usual(ranks: list[HostUsual]) -> tuple[U64, I64]:
    """Join the usual durations of ranks: the median over ranks of their medians.

    Returns
    -------
    (k,) uint64 ascending, (k,) int64
        What, and how long it usually takes.
    """
    what = np.concatenate([np.empty(0, np.uint64), *(rank.what for rank in ranks)])
    median = np.concatenate([np.empty(0, np.int64), *(rank.median_ns for rank in ranks)])
    order = np.lexsort((median, what))
    distinct, first, count = np.unique(what[order], return_index=True, return_counts=True)
    return distinct, median[order][first + count // 2]
