"""Which collective is meant by an index."""

from typing import TYPE_CHECKING

import numpy as np

from synctax.attribution.labels import collective_text
from synctax.attribution.results import Known
from synctax.attribution.summary import status_of
from synctax.collectives.summary import ranks_text
from synctax.errors import SynctaxError

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

LISTED = 8
"""So many collectives are listed where one has to be chosen."""


def find(found: "Attribution", index: int, *, group_ranks: str | None = None) -> int:
    """Find the result of the one collective of an index among those shown.

    Parameters
    ----------
    found : Attribution
    index : int
        As `--per-collective` shows it.
    group_ranks : str, optional
        Only of the group of these ranks, written as there (`0-3`).

    Returns
    -------
    int
        Its number in `found.results`.

    Raises
    ------
    SynctaxError
        If there is none, or several, or it was not attributed, or nobody waited.
    """
    tax = found.tax
    shown = np.flatnonzero(tax.shown)
    ranks = [ranks_text(group.ranks) for group in tax.matches.groups]
    if group_ranks is not None:
        mine = np.array([own == group_ranks for own in ranks], np.bool_)
        if not mine[tax.matches.group[shown]].any():
            groups = np.unique(tax.matches.group[shown]).tolist()
            there = ", ".join(dict.fromkeys(ranks[number] for number in groups))
            raise SynctaxError(f"no group of ranks {group_ranks}; there are {there}")
        shown = shown[mine[tax.matches.group[shown]]]
    hit = shown[tax.matches.index[shown] == index]
    if not hit.size:
        most = int(tax.matches.index[shown].max())
        raise SynctaxError(f"no collective has index {index}; the last one has {most}")
    if hit.size > 1:
        raise SynctaxError(_several(found, index, hit.tolist()))
    return _number(found, int(hit[0]))


def _several(found: "Attribution", index: int, slots: list[int]) -> str:
    tax, matches = found.tax, found.tax.matches
    groups = [matches.groups[matches.group[slot]] for slot in slots]
    listed = ", ".join(
        f"{collective_text(tax, slot)} of ranks {ranks_text(group.ranks)}"
        + (f" in {group.window}" if group.window else "")
        for slot, group in list(zip(slots, groups, strict=True))[:LISTED]
    )
    more = f" and {len(slots) - LISTED} more" if len(slots) > LISTED else ""
    texts = {ranks_text(group.ranks) for group in groups}
    if len({group.role for group in groups}) > 1:
        advice = "give --group"
    elif len(texts) == len(groups):
        advice = f"give the ranks, such as --explain {index}@{ranks_text(groups[0].ranks)}"
    else:
        advice = "name the traces of one profiler window"
    return f"{len(slots)} collectives have index {index}: {listed}{more}; {advice}"


def _number(found: "Attribution", slot: int) -> int:
    name = collective_text(found.tax, slot)
    if found.known[slot] != Known.OK:
        status, reason = status_of(found, slot)
        raise SynctaxError(f"{name} was not attributed ({status}): {reason}")
    number = int(np.flatnonzero(found.results.slot == slot)[0])
    if found.results.tax_ns[number] == 0:
        raise SynctaxError(f"nobody waited in {name}: there is nothing to explain")
    return number
