"""How much longer each item of the slow path took than its counterpart on the fast rank."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I64, Bool
from synctax.attribution.model import Items


@dataclass(frozen=True, slots=True)
class Counterparts:
    """What the fastest rank did in place of each item; (i,) arrays.

    `found` bool; `start_ns`, `end_ns` int64 on the fastest rank's clock (of any value
    where there is none).
    """

    found: Bool
    start_ns: I64
    end_ns: I64


@dataclass(frozen=True, slots=True)
class Variation:
    """Why the slow rank's path is longer, item by item; (i,) int64, ns, none negative.

    Parameters
    ----------
    slower_ns
        The item took this much longer than its counterpart.
    carried_ns
        The counterpart had done this much of it before the window began: the rank was
        late already.
    alone_ns
        It has no counterpart, or one that the fastest rank did only after it arrived.
    """

    slower_ns: I64
    carried_ns: I64
    alone_ns: I64

    @property
    def own_ns(self) -> I64:
        """What came up within the window: slower or without counterpart."""
        own: I64 = self.slower_ns + self.alone_ns
        return own


def variation(items: Items, twins: Counterparts, begin_ns: I64, end_ns: I64) -> Variation:
    """Compare the items of the slow path with their counterparts.

    Parameters
    ----------
    items : Items
        Of the slow paths, clipped to their windows.
    twins : Counterparts
        On the whole of the fastest rank, not only on its path.
    begin_ns, end_ns : (i,) int64
        The fastest rank's window, for each item.

    Returns
    -------
    Variation
        The three parts of an item add up to at most its duration.

    References
    ----------
    Synchronization-tax paper, section 4.2, attribution. The paper compares with the
    fastest rank's path; where the paths run through different things that blames what
    happens to be on one of them only.
    """
    duration = items.duration_ns
    taken = twins.end_ns - twins.start_ns
    missing = ~twins.found | (twins.start_ns >= end_ns)
    slower = np.where(missing, 0, np.maximum(duration - taken, 0))
    common = np.minimum(duration, taken)
    within = np.maximum(twins.end_ns - np.maximum(twins.start_ns, begin_ns), 0)
    carried = np.where(missing, 0, np.maximum(common - within, 0))
    return Variation(slower, carried, np.where(missing, duration, 0))


def path_variation(
    slow: Items, slow_path: I64, fast: Items, fast_path: I64
) -> Counterparts:
    """Find counterparts as the paper does: by name and index on the fastest rank's path.

    Parameters
    ----------
    slow, fast : Items
        Of all paths; names coded alike.
    slow_path, fast_path : (i,), (j,) int64
        Path each item belongs to.

    Returns
    -------
    Counterparts
        Of the slow items.
    """
    of_fast = {key: row for row, key in enumerate(_names_and_indices(fast, fast_path))}
    at = np.array(
        [of_fast.get(key, -1) for key in _names_and_indices(slow, slow_path)], np.int64
    )
    start = np.append(fast.start_ns, 0)
    stop = np.append(fast.stop_ns, 0)
    return Counterparts(at >= 0, start[at], stop[at])


def _names_and_indices(items: Items, path: I64) -> list[tuple[int, int, int, int]]:
    seen: dict[tuple[int, int, int], int] = {}
    keys = []
    for triple in zip(path.tolist(), items.kind.tolist(), items.name.tolist(), strict=True):
        index = seen.get(triple, 0)
        seen[triple] = index + 1
        keys.append((*triple, index))
    return keys
