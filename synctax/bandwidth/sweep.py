"""Best bandwidths over topologies, elasticities and sizes, as one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.bandwidth.choices import Op
from synctax.bandwidth.elasticity import optimum_gb_per_s, reduction
from synctax.bandwidth.flops import READINGS, Grown, Reading, grow
from synctax.bandwidth.hockney import Parts, transfer_us
from synctax.bandwidth.topology import Cost, Layout, cost, nic_us
from synctax.schema import BANDWIDTH, BANDWIDTH_FLOPS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Wait:
    """The tax at k sizes, as some model predicts it.

    Parameters
    ----------
    n : (k,) float64
        Ranks.
    tau_us, lo_us, hi_us : (k,) float64
        Mean wait of a rank and its interval, in µs; NaN where there is no interval.
    n_fit : int or None
        Ranks of the fit; None without a tax.
    """

    n: F64
    tau_us: F64
    lo_us: F64
    hi_us: F64
    n_fit: int | None = None

    @classmethod
    def none(cls, n: F64) -> "Wait":
        """No tax: Hockney's model."""
        zero, absent = np.zeros(len(n)), np.full(len(n), np.nan)
        return cls(np.asarray(n, np.float64), zero, absent, absent)


@dataclass(frozen=True, slots=True)
class Link:
    """What is sent, over which links.

    Parameters
    ----------
    layout : Layout
    op : Op
    payload_bytes : int
        S: the larger of a rank's input and output.
    alpha_us : float
        Latency of a message, in µs.
    gb_per_s : float or None
        Today's link in GB/s (10^9 bytes a second) per direction.
    """

    layout: Layout
    op: Op
    payload_bytes: int
    alpha_us: float
    gb_per_s: float | None = None

    def cost(self, n: F64) -> Cost:
        """Steps and volume at sizes n."""
        return cost(self.layout, self.op, n)

    def today(self, wait: Wait, *, compute_us: float = 0.0) -> Parts:
        """Take the time with today's link apart; NaN where no link is given."""
        counted = self.cost(wait.n)
        rate = np.nan if self.gb_per_s is None else self.gb_per_s
        return Parts(
            transfer_us(counted.q, self.payload_bytes, rate),
            counted.p * self.alpha_us,
            nic_us(self.layout, counted, self.payload_bytes),
            wait.tau_us,
            compute_us,
        )


def sweep(
    links: Sequence[Link],
    elasticities: Sequence[float],
    wait: Wait,
    *,
    price_per_gb_per_s: float | None = None,
) -> "pd.DataFrame":
    """Solve for the best bandwidth of every link, elasticity and size.

    Parameters
    ----------
    links : sequence of Link
    elasticities : sequence of float
        Each between -1 and 0.
    wait : Wait
        Sizes, and the tax there.
    price_per_gb_per_s : float, optional
        Price of 1 GB/s per GPU, in any unit.

    Returns
    -------
    DataFrame
        `schema.BANDWIDTH`: by link, elasticity, size.

    Raises
    ------
    SynctaxError
        As `cost` and `optimum_gb_per_s`.

    Examples
    --------
    What a switch of 512 should give Llama-3 70B, with the wait and without:

    >>> import synctax
    >>> n = np.array([8.0, 512.0])
    >>> tau = synctax.read_tax("llama3-70b-h200").tau_us(n)
    >>> wait = synctax.Wait(n, tau.tau_us, tau.lo_us, tau.hi_us)
    >>> link = synctax.Link(synctax.Layout("switched"), "all_reduce", 2**28, 5.0)
    >>> rows = synctax.best_bandwidth([link], [-0.5], wait)
    >>> rows[["n", "gb_per_s", "hockney_gb_per_s", "reduction"]].round(3)
         n  gb_per_s  hockney_gb_per_s  reduction
    0    8  1169.116         46976.205      0.975
    1  512   566.708         53582.234      0.989
    """
    parts = [
        _rows(link, elasticity, wait, price_per_gb_per_s)
        for link in links
        for elasticity in elasticities
    ]
    return BANDWIDTH.to_frame(_joined(parts))


def _rows(link: Link, elasticity: float, wait: Wait, price: float | None) -> dict[str, Any]:
    counted, today = link.cost(wait.n), link.today(wait)
    bare = today.floor_us - today.tau_us
    # a wait is never negative, whatever an interval says
    low = np.where(wait.lo_us < 0, 0.0, wait.lo_us)

    def best(floor_us: F64) -> F64:
        return optimum_gb_per_s(counted.q, link.payload_bytes, floor_us, elasticity)

    found = best(bare + wait.tau_us)
    hockney = best(_above_zero(bare))
    rate = np.nan if link.gb_per_s is None else link.gb_per_s
    whole = np.nan if price is None else price * wait.n
    shares = {
        "link_transfer_share": today.transfer_us / today.time_us,
        "link_latency_share": (today.latency_us + today.nic_us) / today.time_us,
        "link_tax_share": today.tau_us / today.time_us,
    }
    return {
        **_steps(link, counted, wait),
        "elasticity": elasticity,
        "tau_us": wait.tau_us,
        "gb_per_s": found,
        "gb_per_s_lo": best(bare + wait.hi_us),
        "gb_per_s_hi": best(_above_zero(bare + low)),
        "hockney_gb_per_s": hockney,
        "reduction": reduction(wait.tau_us, bare),
        "tau_lo_us": low,
        "tau_hi_us": wait.hi_us,
        "nic_us": today.nic_us,
        "link_gb_per_s": rate,
        "link_transfer_us": today.transfer_us,
        "link_time_us": today.time_us,
        "link_elasticity": today.elasticity,
        **shares,
        "link_ratio": rate / found,
        "reach": wait.n / (np.nan if wait.n_fit is None else wait.n_fit),
        "cost": whole * found,
        "hockney_cost": whole * hockney,
    }


def sweep_flops(
    links: Sequence[Link],
    flops_growths: Sequence[float],
    wait: Wait,
    *,
    compute_us: float,
    asked: Reading = READINGS[0],
) -> "pd.DataFrame":
    """Solve for the bandwidth that grown FLOPS ask for, in every reading of the model.

    Parameters
    ----------
    links : sequence of Link
        Each with today's rate.
    flops_growths : sequence of float
        Above 0.
    wait : Wait
    compute_us : float
        Computation before the collective today, in µs.
    asked : Reading
        Which of the readings comes first.

    Returns
    -------
    DataFrame
        `schema.BANDWIDTH_FLOPS`: by link, growth, size, reading.
    """
    readings = sorted(READINGS, key=lambda one: one != asked)
    parts = [
        _flops_rows(link, growth, wait, compute_us, reading)
        | {"asked": np.full(len(wait.n), reading == asked)}
        for link in links
        for growth in flops_growths
        for reading in readings
    ]
    return BANDWIDTH_FLOPS.to_frame(_joined(parts))


def _flops_rows(
    link: Link, growth: float, wait: Wait, compute_us: float, reading: Reading
) -> dict[str, Any]:
    rate = np.nan if link.gb_per_s is None else link.gb_per_s

    def grown(tau_us: F64) -> Grown:
        at = Wait(wait.n, tau_us, wait.lo_us, wait.hi_us)
        today = link.today(at, compute_us=compute_us)
        return grow(today, rate, growth, reading=reading)

    found = grown(wait.tau_us)
    ends = np.stack(
        [grown(np.where(t < 0, 0.0, t)).gb_per_s for t in (wait.lo_us, wait.hi_us)]
    )
    return {
        **_steps(link, link.cost(wait.n), wait),
        "compute_us": compute_us,
        "flops_growth": growth,
        "tau_with_flops": reading.tau_with_flops,
        "grounding": reading.grounding,
        "elasticity": found.elasticity,
        "hockney_elasticity": found.hockney_elasticity,
        "tau_us": found.tau_us,
        "link_gb_per_s": rate,
        "gb_per_s": found.gb_per_s,
        "gb_per_s_lo": ends.min(axis=0),
        "gb_per_s_hi": ends.max(axis=0),
        "hockney_gb_per_s": found.hockney_gb_per_s,
        "growth": found.gb_per_s / rate,
        "hockney_growth": found.hockney_gb_per_s / rate,
        "reduction": found.reduction,
    }


def _above_zero(floor_us: F64) -> F64:
    """Leave a floor of 0 out: then no bandwidth is enough, and none is best."""
    return np.where(floor_us > 0, floor_us, np.nan)


def _steps(link: Link, counted: Cost, wait: Wait) -> dict[str, Any]:
    return {
        "topology": link.layout.topology,
        "op": link.op,
        "n": wait.n.astype(np.int64),
        "p": counted.p,
        "q": counted.q,
        "alpha_us": link.alpha_us,
        "payload_bytes": link.payload_bytes,
    }


def _joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put the columns of all parts below each other; single values go to every row."""
    return {
        name: np.concatenate(
            [np.broadcast_to(np.asarray(one[name]), len(one["n"])) for one in parts]
        )
        for name in parts[0]
    }
