"""How fast the groups of a job are, beside their siblings and beside their links."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64, I32, I64, Bool
from synctax.planning.verify.observed import Observed, ObservedGroup
from synctax.planning.verify.place_checks import flattened, spread
from synctax.planning.verify.traffic import Collectives, class_of

LEAST_PAYLOAD_BYTES: Final = 1_000_000
"""Smaller collectives tell latency."""

PEAK_PAYLOAD_BYTES: Final = 16_000_000
"""From here on collectives on NVLink are above the rate of a NIC: nccl-tests of 8 H100 show
some 200 GB/s at 16 MB."""

NVLINK_LEAST_SHARE: Final = 0.1
"""Of NVLink's rate: below it large collectives run on something else. Healthy ones of 16 MB
reach a third and more."""

_APART: Final = 2.0
"""Links are told apart where NVLink has at least this times the rate of a NIC."""


@dataclass(frozen=True, slots=True)
class Links:
    """What links carry in one direction, in 10^9 bytes a second; None where not known.

    Parameters
    ----------
    nvlink_gb_per_s, nic_gb_per_s : float or None
        Of one GPU.
    """

    nvlink_gb_per_s: float | None = None
    nic_gb_per_s: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Speeds:
    """How fast the groups of a role are; an entry a group.

    Parameters
    ----------
    groups : tuple of ObservedGroup
    net_gb_per_s : (g,) float64
        Median over the collectives that are large enough; NaN where none is.
    of_siblings : (g,) float64
        The same over that of its siblings, collective by collective of a kind; NaN alone.
    peak_gb_per_s : (g,) float64
        What its links carry; NaN where that is not known.
    nic_level : (g,) bool
        Whether it should be on NVLink, and large collectives are no faster than a NIC.
    waited : (g,) float64
        Share of the longest durations that is waiting, over all collectives.
    slow_nvlink : (g,) bool
        Whether it should be on NVLink, and large collectives reach next to nothing of it.
    unread : (g,) bool
        Whether collectives of it were left out as ranks of it were not read.
    """

    groups: tuple[ObservedGroup, ...]
    net_gb_per_s: F64
    of_siblings: F64
    peak_gb_per_s: F64
    nic_level: Bool
    waited: F64
    slow_nvlink: Bool
    unread: Bool


def speeds(
    observed: Observed, moved: Collectives, role: str, links: Links, *, on_nvlink: bool
) -> Speeds:
    """Measure the groups of a role.

    Parameters
    ----------
    observed : Observed
    moved : Collectives
    role : str
    links : Links
    on_nvlink : bool
        Whether groups whose domains are not known are planned inside one.
    """
    at = np.array(
        [
            number
            for number, group in enumerate(observed.groups)
            if group.role == role and group.size > 1 and group.communicates
        ],
        np.int64,
    )
    groups = tuple(observed.groups[number] for number in at.tolist())
    place = np.full(len(observed.groups) + 1, -1, np.int64)
    place[at] = np.arange(at.size)
    # the last to arrive may be a rank that was not read
    mine = (place[moved.group] >= 0) & moved.whole
    group = place[moved.group[mine]]
    net, payload = moved.net_gb_per_s[mine], moved.payload_bytes[mine]
    large = (payload >= LEAST_PAYLOAD_BYTES) & ~np.isnan(net)
    kind = class_of(moved)[mine]
    lone = medians(group[large], net[large], len(groups))
    ratio = _over_siblings(group[large], kind[large], net[large], len(groups))
    peak, nvlink = _peaks(observed, groups, links, on_nvlink=on_nvlink)
    full = large & (payload >= PEAK_PAYLOAD_BYTES)
    at_peak = medians(group[full], net[full], len(groups))
    nic, line = links.nic_gb_per_s or 0.0, links.nvlink_gb_per_s or 0.0
    shortest = np.bincount(group, moved.shortest_us[mine], minlength=len(groups))
    longest = np.bincount(group, moved.longest_us[mine], minlength=len(groups))
    with np.errstate(invalid="ignore"):
        waited = 1 - shortest / longest
    left_out = place[moved.group[~moved.whole]]
    unread = np.bincount(left_out[left_out >= 0], minlength=len(groups)) > 0
    return Speeds(
        groups,
        lone,
        ratio,
        peak,
        nvlink & (at_peak <= nic) & (line >= _APART * nic),
        waited,
        nvlink & (at_peak < NVLINK_LEAST_SHARE * line),
        unread,
    )


def medians(group: I64, values: F64, count: int) -> F64:
    """Take the median of each group's values.

    Parameters
    ----------
    group : (n,) int64
        Number of the group of each value.
    values : (n,) float64
    count : int
        Groups.

    Returns
    -------
    (count,) float64
        NaN for a group without values.

    Examples
    --------
    >>> medians(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    array([1.5, nan, 5. ])
    """
    order = np.lexsort((values, group))
    ranked, numbers = values[order], group[order]
    low = np.searchsorted(numbers, np.arange(count))
    many = np.searchsorted(numbers, np.arange(count), side="right") - low
    result = np.full(count, np.nan)
    some = many > 0
    first, last = (low + (many - 1) // 2)[some], (low + many // 2)[some]
    result[some] = (ranked[first] + ranked[last]) / 2
    return result


def _over_siblings(group: I64, kind: I32, net: F64, count: int) -> F64:
    """Compare each group with its siblings, within collectives of a kind."""
    ratios, owners = [], []
    for one in np.unique(kind).tolist():
        chosen = kind == one
        middle = medians(group[chosen], net[chosen], count)
        known = np.flatnonzero(~np.isnan(middle))
        if known.size < _PAIR:
            continue
        # of two the faster is the measure
        usual = np.sort(middle[known])[known.size // 2]
        weight = np.bincount(group[chosen], minlength=count)[known]
        ratios.append(np.repeat(middle[known] / usual, weight))
        owners.append(np.repeat(known, weight))
    if not ratios:
        return np.full(count, np.nan)
    return medians(np.concatenate(owners), np.concatenate(ratios), count)


_PAIR = 2


def _peaks(
    observed: Observed,
    groups: tuple[ObservedGroup, ...],
    links: Links,
    *,
    on_nvlink: bool,
) -> tuple[F64, Bool]:
    """Tell what the links of groups carry, and which groups should be on NVLink.

    A ring through several domains leaves each by as many NICs as it has members there.
    """
    over = spread(observed, groups)
    nan = float("nan")
    nvlink = links.nvlink_gb_per_s or nan
    nic = links.nic_gb_per_s or nan
    number, code = flattened(observed, groups, observed.places.domain)
    fewest = np.ones(len(groups))
    for at in np.flatnonzero(over.domains > 1).tolist():
        mine = code[(number == at) & (code >= 0)]
        fewest[at] = np.bincount(mine)[np.unique(mine)].min()
    inside = over.whole & (over.domains == 1)
    on = inside | ((over.domains <= 1) & on_nvlink)
    across = over.domains > 1
    # where NICs are not known, nothing is known of what they carry
    nics = np.where(np.isnan(nic), nan, np.fmin(nvlink, nic * fewest))
    peak = np.where(on, nvlink, np.where(across, nics, nan))
    return peak, on
