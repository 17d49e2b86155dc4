"""How much longer each item of the slow path took than its counterpart on the fast rank."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I64, Bool
from synctax.attribution.model import Items


@dataclass(frozen=True, slots=True)
class Counterparts:
    """What the fastest rank did in place of each item; (i,) arrays.

    `found` bool; `start_ns`, `end_ns` int64 on the fastest rank's clock (of any value
    where there is none); `kin_count` and `kin_ns` int64 are as in `Items`, there.
    """

    found: Bool
    start_ns: I64
    end_ns: I64
    kin_count: I64
    kin_ns: I64

    @classmethod
    def none(cls, count: int) -> "Counterparts":
        """Begin with no counterpart for any of so many items."""
        return cls(
            np.zeros(count, np.bool_), *(np.zeros(count, np.int64) for _ in range(4))
        )

    def take(self, index: "I64 | Bool") -> "Counterparts":
        """Take counterparts by number."""
        return Counterparts(*(getattr(self, name)[index] for name in _COLUMNS))


_COLUMNS = Counterparts.__slots__


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
    within = np.maximum(twins.end_ns - np.maximum(twins.start_ns, begin_ns), 0)
    excess = np.maximum(duration - within, 0)
    longer = items.stop_ns - items.full_start_ns - taken
    slower = np.where(missing, 0, np.clip(longer, 0, excess))
    carried = np.where(missing, 0, excess - slower)
    most = most_ns(items, twins)
    return Variation(
        np.minimum(slower, most), carried, np.minimum(np.where(missing, duration, 0), most)
    )


def slipped(items: Items, twins: Counterparts) -> Bool:
    """Tell of which items the ranks did not do the same number, (i,) bool.

    Which occurrence of a name is which counterpart is then not certain.
    """
    differs: Bool = (items.kin_count != twins.kin_count) & (twins.kin_count > 0)
    return differs


def most_ns(items: Items, twins: Counterparts) -> I64:
    """Most that an item can have been longer than its counterpart, (i,) int64.

    Where a name occurs more often on one rank than on the other, no single occurrence owes
    more than all of them differ by.
    """
    no_limit = np.iinfo(np.int64).max
    apart = np.maximum(items.kin_ns - twins.kin_ns, 0)
    return np.where(slipped(items, twins), apart, no_limit)


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
    # by name and index on the paths: how often the name occurs elsewhere is no matter
    none = np.zeros(at.size, np.int64)
    return Counterparts(at >= 0, start[at], stop[at], none, none)


def _names_and_indices(items: Items, path: I64) -> list[tuple[int, int, int, int]]:
    seen: dict[tuple[int, int, int], int] = {}
    keys = []
    for triple in zip(path.tolist(), items.kind.tolist(), items.name.tolist(), strict=True):
        index = seen.get(triple, 0)
        seen[triple] = index + 1
        keys.append((*triple, index))
    return keys
