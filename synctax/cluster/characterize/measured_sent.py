"""What ranks sent and where they met, out of the collectives of a measured job."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.collectives.model import IS_SYMMETRIC, Op
from synctax.collectives.tax import Tax
from synctax.planning.verify.traffic import wire_factors


@dataclass(frozen=True, slots=True, eq=False)
class Sent:
    """Bytes and barriers of the r windows of ranks of a job.

    Parameters
    ----------
    bytes : (r,) float64
        On the wire, by nccl-tests' factors of bus bandwidth; of messages from rank to rank
        half, for both sides have them.
    barriers : (r,) int64
        Collectives that no rank leaves before all have entered.
    known : int
        Participations whose payload the traces tell.
    unknown : int
        Others that move bytes: left out of `bytes`.
    by_part : dict of str to float
        Sum of `bytes` by role and operation.
    within : float
        Of that sum, what was sent in groups that ran within one of several hosts.
    """

    bytes: F64
    barriers: I64
    known: int
    unknown: int
    by_part: dict[str, float]
    within: float


def sent(tax: Tax, chosen: Bool) -> Sent:
    """Count what ranks sent.

    Parameters
    ----------
    tax : Tax
    chosen : (n,) bool
        Participations that count, of those that are selected.

    References
    ----------
    nccl-tests, doc/PERFORMANCE.md.
    """
    found = tax.matches
    table, groups, ranks = found.table, found.groups, len(found.ranks)
    shown = np.zeros(table.rank.size, np.bool_)
    shown[found.row] = np.repeat(tax.shown, np.diff(found.first))
    size = np.array([group.size for group in groups], np.int64)[table.group]
    moves = chosen & shown & (size > 1)
    moves &= ~np.isin(table.op, (Op.BARRIER, Op.UNKNOWN))
    known = moves & (table.payload_bytes >= 0)
    wire = np.zeros(table.rank.size)
    wire[known] = table.payload_bytes[known] * wire_factors(table.op[known], size[known])
    meets = chosen & shown & (size > 1)
    meets &= IS_SYMMETRIC[table.op]
    return Sent(
        bytes=np.bincount(table.rank, wire, minlength=ranks).astype(np.float64),
        barriers=np.bincount(table.rank[meets], minlength=ranks),
        known=int(known.sum()),
        unknown=int((moves & ~known).sum()),
        by_part=_by_part(tax, wire),
        within=float(wire[_within(tax)[table.group]].sum()),
    )


def _within(tax: Tax) -> Bool:
    """Groups all of whose ranks ran on one of several hosts, (g,) bool."""
    ranks = tax.matches.ranks
    several = len({rank.host for rank in ranks}) > 1
    hosts = [
        {ranks[member].host for member in group.members} for group in tax.matches.groups
    ]
    return np.array([several and len(of) == 1 and "" not in of for of in hosts], np.bool_)


def _by_part(tax: Tax, wire: F64) -> dict[str, float]:
    table, groups = tax.matches.table, tax.matches.groups
    roles = list(dict.fromkeys(group.role for group in groups))
    role = np.array([roles.index(group.role) for group in groups], np.int64)[table.group]
    total: dict[str, float] = {}
    for code in np.unique(table.op[wire > 0]).tolist():
        here = np.bincount(role, np.where(table.op == code, wire, 0.0), len(roles))
        for name, value in zip(roles, here.tolist(), strict=True):
            if value:
                total[f"{name} {Op(code).label}"] = value
    return total
