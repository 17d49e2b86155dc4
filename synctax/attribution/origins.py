"""Where a wait came from that was passed on from another group."""

from dataclasses import replace

import numpy as np

from synctax.arrays import ABSENT
from synctax.attribution.results import Known, Results
from synctax.collectives.tax import Tax


def origins(results: Results, tax: Tax) -> Results:
    """Follow culprits that are waits for other groups to where they came from.

    A rank that was late because it waited in another group's collective is not to blame:
    whoever made that one wait is, and so on.

    Parameters
    ----------
    results : Results
    tax : Tax

    Returns
    -------
    Results
        With `origin` and `origin_rank`.
    """
    at = {slot: number for number, slot in enumerate(results.slot.tolist())}
    comm = results.comm_slot.tolist()
    origin = np.arange(len(results))
    rank = results.origin_rank.copy()
    for number in range(len(results)):
        here, seen = number, {number}
        while comm[here] >= 0:
            following = at.get(comm[here], ABSENT)
            rank[number] = tax.waits.straggler[comm[here]]
            if following in seen or following < 0:
                here = ABSENT
                break
            if results.known[following] != Known.OK:
                here = ABSENT
                break
            seen.add(following)
            here = following
            rank[number] = results.origin_rank[here]
        origin[number] = here
    return replace(results, origin=origin, origin_rank=rank)
