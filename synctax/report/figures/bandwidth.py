"""Figures of `bandwidth`: what is worth having over ranks and over FLOPS; algorithms."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from synctax.bandwidth.basis import PER_DIRECTION, elasticity_text
from synctax.errors import SynctaxError
from synctax.evt.checks import MAX_REACH
from synctax.report.figures.axes import doubling, known, legend_above, logarithmic
from synctax.report.figures.style import (
    COLORS,
    LINES,
    MARKERS,
    caption,
    new_figure,
    styled,
)
from synctax.texts import number, rate_gb_per_s, size_bytes, time_us

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CURVES: Final = 4
"""Elasticities, or sizes, that one panel shows with and without the tax."""

PANELS_A_ROW: Final = 3

TOPOLOGY_NAMES: Final = {
    "ring": "ring",
    "torus3d": "3-D torus",
    "switched": "switched",
    "tree": "tree",
    "in_switch": "in-switch",
    "hierarchical": "hierarchical",
}


def best_bandwidth(rows: "pd.DataFrame", *, tax: str = "") -> "Figure":
    """Draw the best bandwidth over ranks, with the tax and without.

    Parameters
    ----------
    rows : DataFrame
        `schema.BANDWIDTH`.
    tax : str, optional
        Which tax it is of, in words.

    Returns
    -------
    Figure
        A panel a topology. For each elasticity `gb_per_s` with its interval, and
        `hockney_gb_per_s` dashed; `link_gb_per_s` dotted, where it is known.

    Raises
    ------
    SynctaxError
        If there is one number of ranks only, or too many elasticities; if matplotlib is
        not installed.

    References
    ----------
    Synchronization-tax paper, figure 12.
    """
    _check_sizes(rows)
    elasticities = list(dict.fromkeys(rows["elasticity"]))
    if len(elasticities) > MOST_CURVES:
        raise SynctaxError(
            f"{len(elasticities)} elasticities are too many to tell apart in a picture; "
            f"give up to {MOST_CURVES}, as in --elasticity -0.5,-0.1"
        )
    taxed = _taxed(rows)
    with styled():
        figure, panels = _panels(rows)
        for axes, (_, of) in zip(panels, _by_topology(rows), strict=True):
            for at, elasticity in enumerate(elasticities):
                own = of[of["elasticity"] == elasticity]
                label = f"ε = {elasticity_text(elasticity)}"
                _with_and_without(axes, own, "n", at, label, taxed=taxed)
            for rate in dict.fromkeys(of["link_gb_per_s"].dropna()):
                today = f"today's link: {rate_gb_per_s(rate)}"
                axes.axhline(rate, color="#666666", linestyle=":", label=today)
            doubling(axes, dict.fromkeys(rows["n"]))
            axes.set_xlabel("ranks n")
        _rates(panels, rows, [*known(rows["link_gb_per_s"])])
        legend_above(figure, panels, _columns(figure))
        n = dict.fromkeys(rows["n"])
        caption(
            figure,
            f"n = {_range(n)} ranks. At B* 1 % more bandwidth saves −ε % of the time. "
            f"{_of(rows)}. {_tax(tax, rows)}{_reach(rows)}",
        )
    return figure


def flops(rows: "pd.DataFrame", *, tax: str = "") -> "Figure":
    """Draw the best bandwidth over the growth of FLOPS, with the tax and without.

    Parameters
    ----------
    rows : DataFrame
        `schema.BANDWIDTH_FLOPS`.
    tax : str, optional
        Which tax it is of, in words.

    Returns
    -------
    Figure
        A panel a topology, of the reading that was asked for. For each number of ranks
        `gb_per_s` with its interval, and `hockney_gb_per_s` dashed; a thin line where
        bandwidth grows as FLOPS do.

    Raises
    ------
    SynctaxError
        If there is one growth only; if matplotlib is not installed.

    References
    ----------
    Synchronization-tax paper, figure 13.
    """
    asked = rows[rows["asked"]].sort_values("flops_growth", kind="stable")
    growths = list(dict.fromkeys(asked["flops_growth"]))
    if len(growths) < 2:
        raise SynctaxError(
            "one growth of FLOPS is no curve; give several, as in --flops-growth 1,2,4,8"
        )
    every = sorted(dict.fromkeys(asked["n"].tolist()))
    sizes = _spread(every, MOST_CURVES)
    shown = asked[asked["n"].isin(sizes)]
    taxed = _taxed(rows)
    with styled():
        figure, panels = _panels(shown)
        in_step = []
        for axes, (_, of) in zip(panels, _by_topology(shown), strict=True):
            for at, n in enumerate(sizes):
                own = of[of["n"] == n]
                _with_and_without(axes, own, "flops_growth", at, f"n = {n:,}", taxed=taxed)
            rate = float(of["link_gb_per_s"].iloc[0])
            line = [rate * one for one in growths]
            axes.plot(
                growths, line, color="#666666", linewidth=0.8, linestyle=":",
                label="in step with FLOPS",
            )  # fmt: skip
            in_step += line
            doubling(axes, growths)
            axes.set_xlabel("FLOPS, times today's")
        _rates(panels, shown, in_step)
        legend_above(figure, panels, _columns(figure))
        few = (
            f", {len(sizes)} of {len(every):,} asked for" if len(sizes) < len(every) else ""
        )
        first = shown.iloc[0]
        whose = "each its own" if first["grounding"] == "own" else "both that with the tax"
        today = rate_gb_per_s(float(first["link_gb_per_s"]))
        caption(
            figure,
            f"n = {_list(sizes)} ranks{few}. End to end, with "
            f"{time_us(float(first['compute_us']))} of computation before each collective "
            f"today; the tax {first['tau_with_flops']}; elasticity as of today's {today}, "
            f"{whose}. {_of(rows)}. {_tax(tax, shown)}",
        )
    return figure


def algorithms(rows: "pd.DataFrame") -> "Figure":
    """Draw what algorithms cost over ranks: messages one after another, and volume.

    Parameters
    ----------
    rows : DataFrame
        `schema.BANDWIDTH`, or `schema.BANDWIDTH_FLOPS`.

    Returns
    -------
    Figure
        p and q of each topology over n.

    Raises
    ------
    SynctaxError
        If there is one number of ranks only; if matplotlib is not installed.

    References
    ----------
    Synchronization-tax paper, section 6.2.
    """
    _check_sizes(rows)
    with styled():
        figure, (left, right) = new_figure(1, 2, width_in=7.6, height_in=3.6)
        for at, (topology, of) in enumerate(_by_topology(rows)):
            one = of.drop_duplicates("n")
            for axes, column in ((left, "p"), (right, "q")):
                axes.plot(
                    one["n"],
                    one[column],
                    color=COLORS[at],
                    linestyle=LINES[at],
                    marker=MARKERS[at],
                    markersize=5,
                    # curves may lie on each other: outlines let the lower one through
                    markerfacecolor="none",
                    label=TOPOLOGY_NAMES.get(topology, topology),
                )
        for axes in (left, right):
            doubling(axes, dict.fromkeys(rows["n"]))
            axes.set_xlabel("ranks n")
        steps = known(rows["p"])
        logarithmic(left, "y", steps.min() / 1.4, steps.max() * 1.4)
        right.set_ylim(0, 1.15 * float(rows["q"].max()))
        left.set_ylabel("p (messages one after another)")
        right.set_ylabel("q (payloads over a link)")
        legend_above(figure, [left], _columns(figure))
        op = " and ".join(dict.fromkeys(rows["op"]))
        n = dict.fromkeys(rows["n"])
        caption(
            figure,
            f"n = {_range(n)} ranks. {op} takes p·α + q·S/B + τ: latency, transfer of S "
            "bytes at B, tax.",
        )
    return figure


def _with_and_without(
    axes: "Axes", rows: "pd.DataFrame", x: str, at: int, label: str, *, taxed: bool
) -> None:
    """Draw B* with the tax, its interval, and B* without."""
    color, marker = COLORS[at], MARKERS[at]
    shared: dict[str, Any] = {"color": color, "marker": marker, "markersize": 5}
    if taxed:
        axes.plot(rows[x], _finite(rows["gb_per_s"]), **shared, label=f"{label}, with tax")
        axes.fill_between(
            rows[x],
            _finite(rows["gb_per_s_lo"]),
            _finite(rows["gb_per_s_hi"]),
            color=color,
            alpha=0.2,
            linewidth=0,
        )
    axes.plot(
        rows[x],
        _finite(rows["hockney_gb_per_s"]),
        **shared,
        linestyle="--",
        markerfacecolor="white",
        label=f"{label}, without",
    )


def _finite(column: "pd.Series[Any]") -> Any:
    """Leave out what no axis has room for: without latency and tax B* has no end."""
    values = column.to_numpy(np.float64)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _panels(rows: "pd.DataFrame") -> "tuple[Figure, list[Axes]]":
    """Make a panel a topology, and write its name above."""
    topologies = list(dict.fromkeys(rows["topology"]))
    across = min(len(topologies), PANELS_A_ROW)
    down = -(-len(topologies) // across)
    figure, panels = new_figure(
        down, across, width_in=max(2.9 * across, 5.6), height_in=2.4 * down + 1.4
    )
    for unused in panels[len(topologies) :]:
        unused.remove()
    for axes, topology in zip(panels, topologies, strict=False):
        axes.set_title(TOPOLOGY_NAMES.get(topology, topology))
    return figure, panels[: len(topologies)]


def _by_topology(rows: "pd.DataFrame") -> "list[tuple[str, pd.DataFrame]]":
    return [
        (name, rows[rows["topology"] == name]) for name in dict.fromkeys(rows["topology"])
    ]


def _rates(panels: "Sequence[Axes]", rows: "pd.DataFrame", also: Sequence[float]) -> None:
    """Give all panels one logarithmic axis of rates, named at the first of each row."""
    columns = ["gb_per_s", "gb_per_s_lo", "gb_per_s_hi", "hockney_gb_per_s"]
    seen = known([*rows[columns].to_numpy(np.float64).ravel(), *also])
    for at, axes in enumerate(panels):
        logarithmic(axes, "y", seen.min() / 1.4, seen.max() * 1.4)
        if at % PANELS_A_ROW:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel("best bandwidth B* (GB/s)")


def _columns(figure: "Figure") -> int:
    """How many entries of a legend stand side by side."""
    return max(2, round(0.55 * figure.get_figwidth()))


def _check_sizes(rows: "pd.DataFrame") -> None:
    if rows["n"].nunique() < 2:
        raise SynctaxError(
            "one number of ranks is no curve; give several, as in --n 8:4096"
        )


def _spread(values: list[int], most: int) -> list[int]:
    """Choose so many of some values, evenly from the first to the last."""
    if len(values) <= most:
        return values
    return [values[at] for at in np.linspace(0, len(values) - 1, most).round().astype(int)]


def _of(rows: "pd.DataFrame") -> str:
    """Say what is sent, over what."""
    latencies = " or ".join(f"{number(one)} µs" for one in dict.fromkeys(rows["alpha_us"]))
    op = " and ".join(dict.fromkeys(rows["op"]))
    payload = size_bytes(int(rows["payload_bytes"].iloc[0]))
    return f"{op} of {payload}, α = {latencies}; {PER_DIRECTION}"


def _tax(words: str, rows: "pd.DataFrame") -> str:
    if not _taxed(rows):
        return "No tax: Hockney's model."
    shaded = " Shaded: for its interval." if rows["gb_per_s_lo"].notna().any() else ""
    return f"Tax: {words or 'as given'}.{shaded}"


def _reach(rows: "pd.DataFrame") -> str:
    """Say how far beyond its data the tax is asked, where that is far."""
    reach, n = float(rows["reach"].max()), int(rows["n"].max())
    if not (_taxed(rows) and reach > MAX_REACH):
        return ""
    return f" {n:,} ranks are {number(reach)} times those of the fit."


def _taxed(rows: "pd.DataFrame") -> bool:
    return bool((rows["tau_us"] > 0).any())


def _range(values: "Sequence[int] | dict[Any, None]") -> str:
    every = sorted(values)
    return f"{every[0]:,} to {every[-1]:,} ({len(every)} sizes)"


def _list(values: Sequence[int]) -> str:
    return ", ".join(f"{value:,}" for value in values)
