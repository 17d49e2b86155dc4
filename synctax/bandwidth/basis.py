"""What a result of bandwidth was computed for, in words: assumptions, links, reach."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.texts import number, percent, size_bytes

if TYPE_CHECKING:
    from synctax.bandwidth.calibrate import Calibration
    from synctax.bandwidth.crossing import Crossing

LATENCY_SEEN = 0.5
"""A smaller share of the shortest time than this is too little to see a latency by."""

PER_DIRECTION = "GB/s are 10⁹ bytes a second, per GPU and direction"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a result was computed for, in words and numbers.

    Parameters
    ----------
    tax : str
        Which tax was used.
    link : str
        Which link is today's; "" without one.
    crossings : mapping
        By topology, from how many ranks on the tax outweighs the transfer.
    largest_n : int
        Up to how many ranks that was looked for.
    fits : tuple of Calibration
        Links fitted to nccl-tests.
    torus : tuple of int
        Dimensions, if they were given.
    n_fit : int or None
        Ranks that the tax was fitted on; None without a tax.
    far : float
        From so many times these ranks on, a prediction is far from its data.
    elsewhere : str
        On which other hardware than is asked about the tax was measured; "" on none.
    levels : str
        How domains are joined, where links are hierarchical.
    domain : int or None
        Ranks that today's link joins; None where that is not known.
    """

    tax: str
    link: str
    crossings: "dict[str, Crossing]"
    largest_n: int
    fits: "tuple[Calibration, ...]" = ()
    torus: tuple[int, ...] = ()
    n_fit: int | None = None
    far: float = float("inf")
    elsewhere: str = ""
    levels: str = ""
    domain: int | None = None


def below(share: float) -> str:
    """Write by how much a bandwidth is lower, with two digits after the point.

    Examples
    --------
    >>> below(0.372613), below(-0.0001), below(-0.000001), below(0.999999)
    ('37.26 %', '−0.01 %', '0.00 %', '> 99.99 %')
    """
    text = f"{100 * share:.2f} %"
    if share < 1 and text == "100.00 %":
        return "> 99.99 %"
    return text.removeprefix("-") if float(text[:-2]) == 0 else text.replace("-", "−")


def below_or_above(share: float) -> str:
    """Write by how much a bandwidth is lower, or higher.

    Examples
    --------
    >>> below_or_above(0.372613), below_or_above(-0.0548)
    ('37.26 % below', '5.48 % above')
    """
    text = below(share)
    return f"{text[1:]} above" if text.startswith("−") else f"{text} below"


def elasticity_text(value: float) -> str:
    """Write an elasticity with a real minus sign.

    Examples
    --------
    >>> elasticity_text(-0.5), elasticity_text(-0.16455)
    ('−0.5', '−0.165')
    """
    return f"−{number(-value)}"


def basis(rows: Sequence[Row], setting: Setting) -> Iterator[str]:
    """Say what was assumed, and how far it reaches.

    Parameters
    ----------
    rows : sequence of mapping
        Of `schema.BANDWIDTH` or `schema.BANDWIDTH_FLOPS`.
    setting : Setting

    Yields
    ------
    str
    """
    first = rows[0]
    alphas = dict.fromkeys(number(row["alpha_us"]) for row in rows)
    yield (
        f"{first['op']} of {size_bytes(first['payload_bytes'])}, "
        f"α = {' or '.join(alphas)} µs, {PER_DIRECTION}"
    )
    yield f"tax: {setting.tax}"
    if setting.elsewhere:
        yield setting.elsewhere
    yield (
        f"today's link: {setting.link}"
        if setting.link
        else "today's link: not known; --link-gb-per-s or --hardware compares it with B*"
    )
    flat = dict.fromkeys(
        row["topology"]
        for row in rows
        if setting.domain is not None
        and row["n"] > setting.domain
        and row["topology"] != "hierarchical"
    )
    if flat:
        yield (
            f"{', '.join(flat)}: today's link joins {number(setting.domain)} ranks, and is "
            f"taken to join up to {number(max(row['n'] for row in rows))}; --topology "
            f"hierarchical --domain {setting.domain} --nic-gb-per-s RATE has other links "
            "between domains"
        )
    if setting.levels:
        yield f"hierarchical: {setting.levels}"
    odd = [r["n"] for r in rows if r["topology"] == "torus3d" and not _is_cube(r["n"])]
    if odd and not setting.torus:
        yield (
            f"torus3d: ∛n is taken as a real number where n is no cube ({number(odd[0])}); "
            "--torus 8x8x4 gives dimensions"
        )
    largest = max(row["n"] for row in rows)
    if setting.n_fit is not None and largest > setting.far * setting.n_fit:
        yield (
            f"n = {number(largest)} is {number(largest / setting.n_fit)} times the "
            f"{setting.n_fit} ranks of the fit: far beyond what it has seen"
        )


def _is_cube(n: int) -> bool:
    return int(round(float(n) ** (1 / 3)) ** 3) == n


def fits(setting: Setting) -> Iterator[str]:
    """Say of every fitted link what was found, and how well.

    Parameters
    ----------
    setting : Setting

    Yields
    ------
    str
    """
    for fit in setting.fits:
        yield fit_text(fit)
    if len(setting.fits) > 1:
        yield "a benchmark ran one algorithm: believe the fit of the one it used"


def fit_text(fit: "Calibration") -> str:
    """Say what a fit of nccl-tests found, and how well.

    Parameters
    ----------
    fit : Calibration
    """
    worst = int(np.abs(fit.residual).argmax())
    size = size_bytes(fit.measured[worst].payload_bytes)
    signed = f"{100 * fit.residual[worst]:+.1f} %".replace("-", "−")
    extrapolated = ""
    if fit.alpha_us_se and fit.latency_share < LATENCY_SEEN:
        extrapolated = (
            f"; α is extrapolated: latency is {percent(fit.latency_share)} of the "
            "shortest time"
        )
    alpha = (
        f"α = {number(fit.alpha_us)} ± {number(fit.alpha_us_se)} µs"
        if fit.alpha_us_se
        else f"α = {number(fit.alpha_us)} µs as given"
    )
    return (
        f"{fit.layout.topology}: nccl-tests ({len(fit.measured)} lines) give {alpha}, "
        f"B = {number(fit.gb_per_s)} ± {number(fit.gb_per_s_se)} GB/s, R² {fit.r2:.4f}; "
        f"largest residual {signed} at {size}{extrapolated}"
    )
