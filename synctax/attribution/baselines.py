"""What simple heuristics blame: the largest, or the last, kernel before a collective."""

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.attribution.items import Palette
from synctax.attribution.keys import Named
from synctax.attribution.model import Items
from synctax.graph.critical_path import Paths
from synctax.graph.model import Graph, NodeKind
from synctax.trace.model import EventKind


def longest_and_last(
    graph: Graph, palette: Palette, paths: Paths, named: Named
) -> tuple[Items, Items]:
    """Find the largest and the last kernel that ended before each collective.

    Parameters
    ----------
    graph : Graph
    palette : Palette
        Of the graph.
    paths : Paths
        p paths: their windows count, not their items.
    named : Named
        Of all nodes.

    Returns
    -------
    Items, Items
        p items each; `kind` is -1 where no kernel ended within the window.

    References
    ----------
    Synchronization-tax paper, appendix B: what profilers and earlier work suggest.
    """
    kernel = np.flatnonzero(
        (graph.nodes.kind == NodeKind.GPU) & (palette.source == EventKind.KERNEL)
    )
    kernel = kernel[np.argsort(graph.nodes.end_ns[kernel], kind="stable")]
    end = graph.nodes.end_ns[kernel]
    duration = end - graph.nodes.start_ns[kernel]
    low = np.searchsorted(end, paths.begin_ns, side="right")
    high = np.searchsorted(end, paths.end_ns, side="right")
    longest = np.full(len(paths), ABSENT, np.int64)
    for number, (begin, stop) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if stop > begin:
            longest[number] = kernel[begin + int(duration[begin:stop].argmax())]
    last = np.where(high > low, np.append(kernel, 0)[high - 1], ABSENT)
    return (
        _items(graph, palette, paths, named, longest),
        _items(graph, palette, paths, named, last),
    )


def _items(graph: Graph, palette: Palette, paths: Paths, named: Named, node: I64) -> Items:
    none = np.zeros(node.size, np.int64)
    edge = none.astype(np.int8)
    start = np.maximum(graph.nodes.start_ns[node], paths.begin_ns)
    items = palette.describe(
        node,
        (start, graph.nodes.end_ns[node], none),
        (edge, edge),
        named,
        np.full(len(graph), ABSENT, np.int64),
        none.astype(np.bool_),
    )
    items.kind[node < 0] = ABSENT
    return items


def no_kernels(
    graph: Graph, palette: Palette, paths: Paths, named: Named
) -> tuple[Items, Items]:
    """Return for each path that there is no such kernel; see `longest_and_last`."""
    none = np.full(len(paths), ABSENT, np.int64)
    items = _items(graph, palette, paths, named, none)
    return items, items
