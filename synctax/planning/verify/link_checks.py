"""Whether the links of a job's groups are as fast as they should be, net of the wait.

A rank that comes late makes a collective long for all others. Its own kernel lasts only as
long as the transfer, so bandwidth over that time tells the link from the straggler.
"""

from collections.abc import Callable, Iterator, Sequence
from math import log

import numpy as np

from synctax.arrays import BYTES_PER_US, F64, I64, Bool
from synctax.bandwidth.nccl_tests import Measured
from synctax.collectives.model import Op
from synctax.collectives.wait import busbw_factor
from synctax.planning.verify.check import Broken, Check, broken
from synctax.planning.verify.observed import Observed
from synctax.planning.verify.speeds import LEAST_PAYLOAD_BYTES, Links, Speeds
from synctax.planning.verify.traffic import Collectives
from synctax.texts import counted, percent, rate_gb_per_s, size_bytes
from synctax.trace.oddities import rank_text


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
    wrong = tuple(_slow(observed, found, links, slow_share))
    because = ""
    if not known.any():
        least = size_bytes(LEAST_PAYLOAD_BYTES)
        because = f"no collective of {least} or more whose wait is known"
    elif not compared.any():
        because = "one group, and no peak to compare with: --hardware NAME tells it"
    elif (found.net_gb_per_s > _TOO_FAST * found.peak_gb_per_s).any():
        because = (
            "faster than its link can be: hosts, domains or hardware are not what they "
            "are said to be"
        )
    return Check(
        "busbw",
        role,
        "warning",
        _expected(found, slow_share),
        _spoken(found, known),
        checked=int(compared.sum()),
        unknown=int((~compared).sum()),
        broken=wrong,
        because=because,
    )


_TOO_FAST = 1.25
"""Times its link; reductions in the switch let bus bandwidth rise a little above it."""


def _slow(
    observed: Observed, found: Speeds, links: Links, slow_share: float
) -> Iterator[Broken]:
    with np.errstate(invalid="ignore"):
        behind = found.of_siblings < slow_share
    for at in np.flatnonzero(behind | found.nic_level).tolist():
        rate = rate_gb_per_s(found.net_gb_per_s[at])
        parts = [f"{rate} net of the wait"]
        if behind[at]:
            parts.append(f"{percent(found.of_siblings[at])} of its siblings'")
        if found.nic_level[at]:
            parts.append(
                f"no more than a NIC carries ({rate_gb_per_s(links.nic_gb_per_s)}), and "
                f"NVLink carries {rate_gb_per_s(links.nvlink_gb_per_s)}"
            )
        text = f"{', '.join(parts)}: its links or its placement, not a straggler"
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
    moved: Collectives,
    role: str,
    slow_share: float,
) -> Check:
    """Say which groups only look slow because a rank comes late.

    Parameters
    ----------
    observed : Observed
    found : Speeds
    moved : Collectives
    role : str
    slow_share : float
        A group looks slow where waits leave less than this share of its time.
    """
    with np.errstate(invalid="ignore"):
        waits = found.waited > 1 - slow_share
        slow = (found.of_siblings < slow_share) | found.nic_level
    measured = ~np.isnan(found.waited)
    late = np.flatnonzero(waits & ~slow)
    every = counted(int(measured.sum()), "group")
    text = f"none of {every}"
    if late.size:
        worst = int(late[np.argmax(found.waited[late])])
        text = f"{late.size:,} of {every}, most {_who(observed, found, moved, worst)}"
    return Check(
        "straggler",
        role,
        "remark",
        "transfers last longer than waits",
        text,
        checked=int(measured.sum()),
        unknown=int((~measured).sum()),
        because="late ranks, not links: see `synctax attribute`" if late.size else "",
    )


def _who(observed: Observed, found: Speeds, moved: Collectives, at: int) -> str:
    group = found.groups[at]
    mine = moved.group == observed.groups.index(group)
    wire = moved.net_gb_per_s[mine] * moved.shortest_us[mine]
    gross = rate_gb_per_s(float(wire.sum() / moved.longest_us[mine].sum()))
    net = rate_gb_per_s(float(wire.sum() / moved.shortest_us[mine].sum()))
    text = (
        f"{rank_text(group.ranks)}: {percent(float(found.waited[at]))} waiting "
        f"({gross} with it, {net} net)"
    )
    last = moved.last[mine & (moved.last >= 0)]
    if last.size:
        ranks, times = np.unique(last, return_counts=True)
        most = int(ranks[times.argmax()])
        host = observed.places.host_names((most,))
        on = f" ({host[0]})" if host else ""
        text += f", rank {most}{on} last in {percent(times.max() / last.size)}"
    return text


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
