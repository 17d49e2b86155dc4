"""Whether the links of a job's groups are as fast as they should be, net of the wait.

A rank that comes late makes a collective long for all others. Its own kernel lasts only as
long as the transfer, so bandwidth over that time tells the link from the straggler.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np

from synctax.arrays import BYTES_PER_US, F64, I64, Bool
from synctax.bandwidth.nccl_tests import Measured
from synctax.collectives.model import Op
from synctax.collectives.wait import busbw_factor
from synctax.planning.verify.check import Broken, Check, broken
from synctax.planning.verify.observed import Observed, ObservedGroup
from synctax.planning.verify.speeds import LEAST_PAYLOAD_BYTES, Links, Speeds
from synctax.planning.verify.traffic import Collectives, Traffic
from synctax.texts import counted, percent, rate_gb_per_s, size_bytes
from synctax.trace.oddities import rank_text

_WITHOUT_PEAK: Final = "one group, and no peak to compare with: --hardware NAME tells it"
_UNPLACED: Final = (
    "one group, and whether its ranks share NVLink is not known: --hosts FILE tells it"
)


def bandwidths(
    observed: Observed, found: Speeds, role: str, links: Links, slow_share: float
) -> Check:
    """Check that no group is far slower than its siblings, or as slow as a NIC on NVLink.

    Parameters
    ----------
    observed : Observed
    found : Speeds
    role : str
    links : Links
    slow_share : float
        Below this share of its siblings' bandwidth a group is slow.
    """
    known = ~np.isnan(found.net_gb_per_s)
    compared = known & (~np.isnan(found.of_siblings) | ~np.isnan(found.peak_gb_per_s))
    slow = tuple(_slow(observed, found, links, slow_share))
    because = "" if slow else _too_fast(found)
    if not known.any():
        least = size_bytes(LEAST_PAYLOAD_BYTES)
        because = f"no collective of {least} or more whose wait is known"
        because = _UNREAD if found.unread.any() else because
    elif not compared.any():
        because = _WITHOUT_PEAK if links.nvlink_gb_per_s is None else _UNPLACED
    return Check(
        "busbw",
        role,
        "warning",
        _expected(found, slow_share),
        _spoken(found, known),
        checked=int(compared.sum()),
        unknown=int((~compared).sum()),
        broken=slow,
        because=because,
    )


_UNREAD = (
    "ranks of each group were not read, and the last to arrive may be one of them: give "
    "the traces of whole groups"
)

_TOO_FAST = 1.25
"""Times its link; reductions in the switch let bus bandwidth rise a little above it."""


def _too_fast(found: Speeds) -> str:
    """Say so where links do not carry what was measured: something told of them is wrong.

    A remark only, as switches that reduce, and messages that stay in a domain, make
    bus bandwidth of healthy groups more than their NICs'.
    """
    with np.errstate(invalid="ignore"):
        over = found.net_gb_per_s / found.peak_gb_per_s
        fast = np.flatnonzero(over > _TOO_FAST)
    if not fast.size:
        return ""
    most = int(fast[over[fast].argmax()])
    return (
        f"faster than its link can be in {counted(int(fast.size), 'group')}, "
        f"{rate_gb_per_s(found.net_gb_per_s[most])} over "
        f"{rate_gb_per_s(found.peak_gb_per_s[most])}: hosts, domains or hardware are not "
        "what they are said to be"
    )


def _slow(
    observed: Observed, found: Speeds, links: Links, slow_share: float
) -> Iterator[Broken]:
    with np.errstate(invalid="ignore"):
        behind = found.of_siblings < slow_share
    slow = behind | found.nic_level | found.slow_nvlink
    for at in np.flatnonzero(slow).tolist():
        rate = rate_gb_per_s(found.net_gb_per_s[at])
        parts = [f"{rate} net of the wait"]
        if behind[at]:
            parts.append(f"{percent(found.of_siblings[at])} of its siblings'")
        line = rate_gb_per_s(links.nvlink_gb_per_s)
        if found.nic_level[at]:
            parts.append(
                f"no more than a NIC carries ({rate_gb_per_s(links.nic_gb_per_s)}), and "
                f"NVLink carries {line}"
            )
        elif found.slow_nvlink[at]:
            parts.append(f"and NVLink carries {line}")
        text = f"{', '.join(parts)}: its links or its placement"
        if found.waited[at] > 1 - slow_share:
            text += f", and late ranks too ({percent(found.waited[at])} waiting)"
        else:
            text += ", not a straggler"
        yield broken(observed, found.groups[at], text)


def _expected(found: Speeds, slow_share: float) -> str:
    peak = found.peak_gb_per_s[~np.isnan(found.peak_gb_per_s)]
    parts = []
    if peak.size:
        low, high = rate_gb_per_s(float(peak.min())), rate_gb_per_s(float(peak.max()))
        parts.append(f"link {high}" if low == high else f"links {low} to {high}")
    if (~np.isnan(found.of_siblings)).any():
        parts.append(f"{percent(slow_share)} of its siblings' or more")
    return ", ".join(parts) or "as fast as its link"


def _spoken(found: Speeds, known: Bool) -> str:
    if not known.any():
        return ""
    net = np.where(known, found.net_gb_per_s, np.inf)
    middle = float(np.median(net[known]))
    text = f"median {rate_gb_per_s(middle)}"
    peak = found.peak_gb_per_s[known]
    if not np.isnan(peak).all():
        share = float(np.nanmedian(net[known] / peak))
        text += f" ({percent(share)} of the link)"
    worst = int(net.argmin())
    if rate_gb_per_s(float(net[worst])) != rate_gb_per_s(middle):
        text += (
            f", worst {rate_gb_per_s(float(net[worst]))} "
            f"({rank_text(found.groups[worst].ranks)})"
        )
    return text


def stragglers(
    observed: Observed,
    found: Speeds,
    moved: Traffic,
    role: str,
    slow_share: float,
) -> Check:
    """Say which groups look slow because a rank comes late.

    Parameters
    ----------
    observed : Observed
    found : Speeds
    moved : Traffic
    role : str
    slow_share : float
        A group looks slow where waits leave less than this share of its time.
    """
    with np.errstate(invalid="ignore"):
        waits = found.waited > 1 - slow_share
    measured = ~np.isnan(found.waited)
    late = [
        _Late.of(observed, found, moved, at, slow_share=slow_share)
        for at in np.flatnonzero(waits).tolist()
    ]
    every = counted(int(measured.sum()), "group")
    text = f"none of {every}" if measured.any() else ""
    because = ""
    if late:
        # who makes others late waits least; the one that it made late waits itself
        late.sort(key=lambda one: (one.rank is None, one.own_us, -one.waited))
        text = f"{len(late):,} of {every}, most {late[0].text}"
        because = "late ranks: `synctax attribute` tells what made them so"
        if found.unread.any():
            because += "; ranks that were not read may be later"
    elif not measured.any():
        because = _UNREAD if found.unread.any() else "no collective's wait is known"
    return Check(
        "straggler",
        role,
        "remark",
        f"at least {percent(slow_share)} of the time is transfer",
        text,
        checked=int(measured.sum()),
        unknown=int((~measured).sum()),
        broken=tuple(broken(observed, one.group, one.text) for one in late),
        because=because,
    )


@dataclass(frozen=True, slots=True)
class _Late:
    """A group that waits, and the rank that most of it is for.

    `rank` is None where no rank alone is; `own_us` is how long that one waits itself, in
    any group.
    """

    group: ObservedGroup
    waited: float
    rank: int | None
    own_us: float
    text: str

    @classmethod
    def of(
        cls,
        observed: Observed,
        found: Speeds,
        moved: Traffic,
        at: int,
        *,
        slow_share: float,
    ) -> "_Late":
        """Look at one of the groups of a role."""
        one, group = moved.collectives, found.groups[at]
        mine = (one.group == observed.groups.index(group)) & one.whole
        waited = float(found.waited[at])
        text = f"{rank_text(group.ranks)}: {percent(waited)} waiting{_rates(one, mine)}"
        # one long wait at the start of a window is not who is late
        long = mine & (one.shortest_us < slow_share * one.longest_us)
        ranks, times = np.unique(one.last[long], return_counts=True)
        ranks, times = ranks[ranks >= 0], times[ranks >= 0]
        if not ranks.size or times.max() < _MOST_OF_THEM * long.sum():
            more = f", for {ranks.size:,} ranks in turn" if ranks.size > 1 else ""
            return cls(group, waited, None, float("inf"), text + more)
        rank = int(ranks[times.argmax()])
        host = observed.places.host_names((rank,))
        on = f" ({host[0]})" if host else ""
        share = percent(float(times.max() / long.sum()))
        text += f", rank {rank}{on} last in {share} of the long ones"
        return cls(group, waited, rank, moved.waited_us.get(rank, 0.0), text)


_MOST_OF_THEM = 0.5
"""Of the long waits of a group: a rank that so many are for is named."""


def _rates(moved: Collectives, mine: Bool) -> str:
    """Tell the bandwidth with the wait and without, where bytes are known."""
    wire = moved.net_gb_per_s[mine] * moved.shortest_us[mine]
    known = ~np.isnan(wire)
    if not known.any():
        return ""
    gross = float(wire[known].sum() / moved.longest_us[mine][known].sum())
    net = float(wire[known].sum() / moved.shortest_us[mine][known].sum())
    return f" ({rate_gb_per_s(gross)} with it, {rate_gb_per_s(net)} net)"


def against_benchmarks(
    observed: Observed,
    moved: Collectives,
    role: str,
    measured: Sequence[Measured],
    slow_share: float,
) -> Check:
    """Compare the groups of a role with what nccl-tests measured of as many ranks.

    Parameters
    ----------
    observed : Observed
    moved : Collectives
    role : str
    measured : sequence of Measured
        On ranks that are placed as these groups are.
    slow_share : float
        Below this share of what was measured a group is slow.
    """
    curves = _curves(measured)
    ratios: list[F64] = []
    lacking: set[str] = set()
    groups = [
        (number, group)
        for number, group in enumerate(observed.groups)
        if group.role == role and group.size > 1 and group.communicates
    ]
    for number, group in groups:
        mine = (moved.group == number) & (moved.payload_bytes >= LEAST_PAYLOAD_BYTES)
        mine &= moved.whole
        parts = []
        for op in np.unique(moved.op[mine]).tolist():
            chosen = mine & (moved.op == op)
            label = Op(op).label
            reach = curves.get((label, group.size))
            if reach is None:
                lacking.add(f"{label} on {group.size:,} ranks")
                continue
            parts.append(moved.net_gb_per_s[chosen] / reach(moved.payload_bytes[chosen]))
        ratios.append(np.concatenate([np.empty(0), *parts]))
    middle = np.array([_median_of(part) for part in ratios])
    known = ~np.isnan(middle)
    wrong = tuple(
        broken(
            observed,
            group,
            f"{percent(float(share))} of what nccl-tests measured, net of the wait",
        )
        for (_, group), share in zip(groups, middle, strict=True)
        if share < slow_share
    )
    found = ""
    if known.any():
        found = f"median {percent(float(np.median(middle[known])))}"
        found += f", worst {percent(float(middle[known].min()))}" if known.sum() > 1 else ""
    because = ""
    if lacking:
        because = f"no size within reach was measured: {', '.join(sorted(lacking))}"
    return Check(
        "nccl-tests",
        role,
        "warning",
        f"{percent(slow_share)} of nccl-tests or more",
        found,
        checked=int(known.sum()),
        unknown=int((~known).sum()),
        broken=wrong,
        because=because,
    )


def _median_of(values: F64) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")


_Curve = Callable[[I64], F64]


def _curves(measured: Sequence[Measured]) -> dict[tuple[str, int], _Curve]:
    """Make a curve of bus bandwidth over payload of each operation and number of ranks."""
    points: dict[tuple[str, int], dict[int, list[float]]] = {}
    for one in measured:
        factor = busbw_factor(Op[one.op.upper()], one.n)
        rate = one.payload_bytes * factor / one.time_us / BYTES_PER_US
        sizes = points.setdefault((one.op, one.n), {})
        sizes.setdefault(one.payload_bytes, []).append(rate)
    return {key: _curve(sizes) for key, sizes in points.items()}


def _curve(sizes: dict[int, list[float]]) -> _Curve:
    """Interpolate over the logarithm of the size; NaN beyond what was measured.

    Above the largest size the link is full, so its rate stands up to a few times that.
    """
    at = sorted(sizes)
    x = np.log(np.array(at, np.float64))
    y = np.array([np.median(sizes[size]) for size in at])
    top = x[-1] + log(_BEYOND)

    def reach(payload_bytes: I64) -> F64:
        asked = np.log(payload_bytes.astype(np.float64))
        rate: F64 = np.interp(asked, x, y)
        return np.where((asked >= x[0]) & (asked <= top), rate, np.nan)

    return reach


_BEYOND = 4.0
"""How much larger than the largest size that was measured a collective may be."""
