"""Which item owes a collective's wait, and what class of thing it is."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I64, NS_PER_US, U64, Bool
from synctax.attribution.keys import text_hash
from synctax.attribution.model import Items
from synctax.attribution.usual import what_hashes
from synctax.attribution.variation import Counterparts
from synctax.collectives.matches import Status
from synctax.collectives.tax import Tax
from synctax.graph.model import NodeKind
from synctax.trace import names
from synctax.trace.model import EventKind
from synctax.trace.names import by_name

STALL_FACTOR = 10
"""A host item this many times as long as usual is a stall, whatever its name."""

STALL_LEAST_NS = 100 * NS_PER_US
"""Shorter ones are not called stalls."""

CLASSES = (
    "gemm", "attention", "norm", "elementwise", "reduction", "copy", "other",
    "communication", "cpu_launch", "cpu_op", "python_gap", "host_stall", "carried",
    "diffuse", "transfer",
)  # fmt: skip
"""Classes of culprits, in the order in which they are numbered."""

SIDES = ("gpu", "cpu", "comm")

_NUMBER = {name: number for number, name in enumerate(CLASSES)}
CARRIED, DIFFUSE = _NUMBER["carried"], _NUMBER["diffuse"]
COMMUNICATION = _NUMBER["communication"]


@dataclass(frozen=True, slots=True)
class Usual:
    """Usual durations of host items over all ranks: `what` (k,) uint64 ascending, ns."""

    what: U64
    median_ns: I64


@dataclass(frozen=True, slots=True)
class Named:
    """What is known of the things that items are: texts, usual durations, the tax."""

    texts: tuple[str, ...]
    usual: Usual
    tax: Tax

    def classes(self, items: Items, twins: Counterparts) -> I8:
        """Class of each item, (i,) int8: index into `CLASSES`.

        Kernels by name; a collective is communication if what it lasts is mostly a wait
        (or unknown), else transfer; host items are calls into the runtime (`cpu_launch`),
        operators, or gaps, unless they are far longer than usual.
        """
        of_kernel = by_name(self.texts, items.name, _kernel_class, np.int8)
        found = np.where(items.source == EventKind.KERNEL, of_kernel, _NUMBER["copy"])
        host = is_host(items)
        found[host] = _NUMBER["cpu_op"]
        found[host & (items.source == EventKind.RUNTIME)] = _NUMBER["cpu_launch"]
        found[items.kind == NodeKind.GAP] = _NUMBER["python_gap"]
        found[self.stalls(items, twins)] = _NUMBER["host_stall"]
        collective = items.kind == NodeKind.COLLECTIVE
        found[collective] = COMMUNICATION
        told = collective & has_tax(items, self.tax)
        found[told & ~self.waited(items)] = _NUMBER["transfer"]
        return found.astype(np.int8)

    def waited(self, items: Items) -> Bool:
        """Tell which items are collectives that were mostly a wait for others, (i,)."""
        waited: Bool = has_tax(items, self.tax) & (items.duration_ns > 0)
        waited &= 2 * wait_ns(items, self.tax) >= items.duration_ns
        return waited

    def of_others(self, slot: I64, of: I64) -> I64:
        """Keep the collectives of other groups than those they are asked for, else -1.

        Parameters
        ----------
        slot, of : (s,) int64
            Collectives, -1 for none; the collectives in whose windows they lie.
        """
        group = self.tax.matches.group
        return np.where((slot >= 0) & (group[slot] != group[of]), slot, ABSENT)

    def stalls(self, items: Items, twins: Counterparts) -> Bool:
        """Tell which host items took far longer than usual, (i,) bool.

        Longer than the name usually takes, over ranks and occurrences, and than the
        counterpart did.
        """
        host = is_host(items)
        hashes = np.array([text_hash(text) for text in self.texts] + [0], np.uint64)
        what = what_hashes(hashes, items.name, items.kind)
        usual = self.usual
        if not usual.what.size:
            return np.zeros(len(items), np.bool_)
        at = np.minimum(np.searchsorted(usual.what, what), usual.what.size - 1)
        known = usual.what[at] == what
        took = items.full_end_ns - items.full_start_ns
        twin = np.where(twins.found, twins.end_ns - twins.start_ns, 0)
        least = np.maximum(usual.median_ns[at], twin)
        limit = np.maximum(STALL_FACTOR * least, STALL_LEAST_NS)
        found: Bool = host & known & (took >= limit)
        return found


def has_tax(items: Items, tax: Tax) -> Bool:
    """Tell which items are collectives whose tax can be believed, (i,) bool."""
    known: Bool = items.slot >= 0
    known &= tax.matches.own_status[items.slot] == Status.OK
    return known


def wait_ns(items: Items, tax: Tax) -> I64:
    """How long each item was a wait for the last rank of a collective, (i,) int64.

    The transfer comes last, and takes what the shortest kernel does: what lies before it
    is the wait. 0 for other items, and where no wait is known.
    """
    transfer_ns = items.full_end_ns - tax.waits.shortest_ns[items.slot]
    within = np.clip(transfer_ns - items.start_ns, 0, items.duration_ns)
    return np.where(has_tax(items, tax), within, 0)


def _kernel_class(name: str) -> int:
    return _NUMBER.get(names.kernel(name).kind, _NUMBER["other"])


def is_host(items: Items) -> Bool:
    """Tell which items are on the host, (i,) bool."""
    host: Bool = np.isin(items.kind, (NodeKind.SLICE, NodeKind.GAP, NodeKind.WAIT))
    return host


def sides(items: Items) -> I8:
    """Side of each item, (i,) int8: index into `SIDES`."""
    side = np.where(is_host(items), 1, 0)
    side[items.kind == NodeKind.COLLECTIVE] = 2
    return side.astype(np.int8)


def largest(values: I64, first: I64) -> I64:
    """Row of the largest value of each path, the first of equals; -1 for empty paths.

    Parameters
    ----------
    values : (i,) int64
    first : (p + 1,) int64

    Returns
    -------
    (p,) int64

    Examples
    --------
    >>> largest(np.array([1, 5, 5, 2]), np.array([0, 3, 3, 4]))
    array([ 1, -1,  3])
    """
    count = np.diff(first)
    path = np.repeat(np.arange(count.size), count)
    order = np.lexsort((-np.arange(values.size), values, path))
    return np.where(count > 0, np.append(order, ABSENT)[first[1:] - 1], ABSENT)
