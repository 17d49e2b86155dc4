"""The paper's alignment: the lowest common ancestor of the paths of all ranks."""

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.attribution.rounds import Rounds
from synctax.attribution.windows import Wanted, Windows
from synctax.collectives.matches import Matches


def common_ancestors(found: Matches, seen: Windows, rounds: Rounds) -> I64:
    """Find the latest collective of the group that the paths of all ranks go through.

    Parameters
    ----------
    found : Matches
    seen : Windows
    rounds : Rounds

    Returns
    -------
    (m,) int64
        Slot for each collective, -1 where the paths have only the root in common.

    References
    ----------
    Synchronization-tax paper, section 4.2, alignment.
    """
    # a window of no length: only the ancestors are asked for
    slot = np.repeat(np.arange(len(found)), np.diff(found.first))
    nothing = np.zeros(found.row.size, np.int64)
    every = seen.usable[slot]
    paths = rounds.walk(Wanted(seen.start_ns, every, nothing, nothing > 0))
    ancestor = np.full(found.row.size, ABSENT, np.int64)
    at = paths.find(slot, seen.rank)
    ancestor[at >= 0] = paths.ancestor[at[at >= 0]]
    common = np.full(len(found), ABSENT, np.int64)
    first = found.first.tolist()
    for one in np.flatnonzero(seen.usable).tolist():
        common[one] = _meet(ancestor, seen, first, one)
    return common


def _meet(ancestor: I64, seen: Windows, first: list[int], slot: int) -> int:
    """Follow the ancestors of all ranks upwards until they are the same."""
    own = slice(first[slot], first[slot + 1])
    ranks = seen.rank[own]
    at = ancestor[own].copy()
    while (at != at[0]).any():
        latest = int(at.max())
        if at.min() < 0:
            return ABSENT
        rows = slice(first[latest], first[latest + 1])
        if not np.array_equal(seen.rank[rows], ranks):
            return ABSENT
        up = ancestor[rows]
        at = np.where(at == latest, up, at)
    found = int(at[0])
    if found < 0 or not seen.usable[found]:
        return ABSENT
    same = np.array_equal(seen.rank[first[found] : first[found + 1]], ranks)
    return found if same else ABSENT
