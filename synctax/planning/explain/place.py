"""Where the groups of a layout lie: how far apart, on which ranks, over which link."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from synctax.arrays import I64
from synctax.planning.costs import sent_bytes
from synctax.planning.domains import (
    DP_LAST,
    PP_LAST,
    dp_may_be_last,
    sizes,
    straddles,
    strides,
)
from synctax.planning.explain.terms import Row, Terms
from synctax.planning.training import DIMENSIONS, ORDERS, Order
from synctax.texts import number

_SECTION: Final = "placement"

SHOWN_RANKS: Final = 16
"""Ranks of a group that are named in full."""


def placement_rows(known: Terms) -> Iterator[Row]:
    """Explain the order of ranks, and every dimension that has more than one.

    Parameters
    ----------
    known : Terms

    Yields
    ------
    Row
    """
    plan, at = known.plan, known.at
    order = plan.order(at)
    yield Row(_SECTION, "order", words=f"{order}: {_why(known, order)}")
    where, degree = plan.costs.placement, sizes(known.layouts)[:, 0]
    far = strides(plan.setting.training, known.layouts, order)[:, 0]
    sent = sent_bytes(plan.costs.volumes)[:, at]
    for row, name in enumerate(DIMENSIONS):
        if degree[row] > 1:
            ranks = ranks_text(far[row] * np.arange(degree[row]))
            said = f"{degree[row]:,} ranks, {far[row]:,} apart: {ranks}"
            yield Row(_SECTION, f"{name}_stride", float(far[row]), words=said)
        if degree[row] > 1 or sent[row]:
            yield _block(known, row, int(where.span[row, at]))
            yield from _tiers(known, row)


def _why(known: Terms, order: Order) -> str:
    training = known.plan.setting.training
    if training.order is not None:
        return "as asked"
    if order == ORDERS[DP_LAST]:
        return f"less time on NICs than in order {ORDERS[PP_LAST]}"
    experts = known.plan.setting.model.experts is not None
    if not dp_may_be_last(training, known.layouts, experts=experts)[0]:
        return "the only one that Megatron-Core runs with these degrees"
    return f"Megatron-Core's default; {ORDERS[DP_LAST]} has no less time on NICs"


def ranks_text(ranks: I64) -> str:
    """Write ranks: runs as a range, many with the last one only.

    Examples
    --------
    >>> ranks_text(np.arange(8)), ranks_text(np.arange(0, 1024, 32))
    ('0–7', '0, 32, 64, …, 992')
    """
    if len(ranks) > 2 and (np.diff(ranks) == 1).all():
        return f"{ranks[0]}–{ranks[-1]}"
    if len(ranks) <= SHOWN_RANKS:
        return ", ".join(f"{one}" for one in ranks)
    return f"{ranks[0]}, {ranks[1]}, {ranks[2]}, …, {ranks[-1]}"


def _block(known: Terms, row: int, whole: int) -> Row:
    plan, at, name = known.plan, known.at, DIMENSIONS[row]
    domain = plan.setting.platform.domain
    inside = bool(plan.costs.placement.inside[row, at])
    known = known.with_symbols(block=whole)
    if inside and domain % whole:
        said = f"all {int(known.symbols['n']):,} GPUs are in one domain of {domain}: NVLink"
    elif inside:
        said = f"blocks of {whole:,} divide the domain of {domain}: NVLink"
    elif whole > domain:
        said = f"blocks of {whole:,} are larger than the domain of {domain}: NIC"
    else:
        first = straddles(domain, whole, int(known.symbols["n"]))
        said = (
            f"blocks of {whole:,} do not tile the domain of {domain}, that of rank {first} "
            "lies in two: NIC"
        )
    left = domain % whole
    formula = known.row(_SECTION, f"{name}_block", left, None, "{domain} mod {block}")
    return Row(
        _SECTION,
        f"{name}_block",
        float(whole),
        formula=formula.formula,
        filled=f"{formula.filled} = {left}",
        words=said,
    )


def _tiers(known: Terms, row: int) -> Iterator[Row]:
    """Tell how many flows share a NIC of the uplinks of a tier that is crossed."""
    crowd = float(known.plan.costs.placement.crowding[row, known.at])
    if crowd:
        slower = f"{number(crowd)} times slower" if crowd > 1 else "no slower"
        said = (
            f"groups lie in two blocks of a tier; {number(crowd)} flows leave a block for "
            f"each NIC that its uplinks carry: {slower}"
        )
        yield Row(_SECTION, f"{DIMENSIONS[row]}_crowding", crowd, words=said)
