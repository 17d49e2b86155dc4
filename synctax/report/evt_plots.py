"""Diagnostic plots of a fit, drawn with characters."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report.text_plots import Layer, can_show_blocks, plot

if TYPE_CHECKING:
    from synctax.evt.results import EvtFit

WIDTH = 48
HEIGHT = 8
"""Lines of a plot of quantiles, which wants room for its bend."""


def drawn(fit: "EvtFit", kind: str) -> list[str]:
    """Draw one of the diagnostic plots with characters.

    Parameters
    ----------
    fit : EvtFit
    kind : {"pdf", "qq", "return-level"}
    """
    frame = fit.points(kind)
    return _DRAW[kind](frame) if len(frame) else []


def _draw_pdf(frame: Any) -> list[str]:
    blocks = can_show_blocks()
    edges = np.append(frame["z_lo"].to_numpy(), frame["z_hi"].to_numpy()[-1])
    # a character each, however wide the bins are
    z = np.linspace(edges[0], edges[-1], WIDTH)
    place = np.clip(np.searchsorted(edges, z, side="right") - 1, 0, len(frame) - 1)
    bars = frame["density"].to_numpy()[place]
    law = np.interp(z, frame["z"].to_numpy(), frame["gumbel_density"].to_numpy())
    mark = "█" if blocks else "#"
    drawing = plot(
        [Layer(z, bars, mark, filled=True), Layer(z, law, "o")],
        labels=(
            f"z = {z[0]:.1f}",
            f"{z[-1]:.1f}",
            "0",
            f"{float(max(bars.max(), law.max())):.2f}",
        ),
        width=WIDTH,
        blocks=blocks,
    )
    return [f"density of the maxima z ({mark}) and of the Gumbel law (o):", *drawing]


def _draw_qq(frame: Any) -> list[str]:
    blocks = can_show_blocks()
    x, y = frame["gumbel_z"].to_numpy(), frame["z"].to_numpy()
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    line = np.linspace(float(x.min()), float(x.max()), WIDTH)
    dot = "·" if blocks else "."
    drawing = plot(
        [Layer(line, line, dot), Layer(x, y, "o")],
        width=WIDTH,
        height=HEIGHT,
        labels=(f"law: z = {x.min():.1f}", f"{x.max():.1f}", f"{low:.1f}", f"{high:.1f}"),
        blocks=blocks,
    )
    said = f"quantiles of the maxima z (o) against the Gumbel law's ({dot})"
    return [f"{said}; above it the tail is heavier:", *drawing]


def _draw_levels(frame: Any) -> list[str]:
    blocks = can_show_blocks()
    x = np.log(frame["period"].to_numpy())
    seen, law = frame["z"].to_numpy(), frame["gumbel_z"].to_numpy()
    gev = frame["gev_z"].to_numpy()
    dot = "·" if blocks else "."
    every = np.concatenate([seen, law, gev])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    periods = frame["period"].to_numpy()
    drawing = plot(
        [Layer(x, law, dot), Layer(x, gev, "+"), Layer(x, seen, "o")],
        labels=(
            f"once in {periods.min():.1f}",
            f"{periods.max():,.0f} instances",
            f"{low:.1f}",
            f"{high:.1f}",
        ),
        blocks=blocks,
    )
    return [f"z that is exceeded: seen (o), Gumbel ({dot}), GEV (+):", *drawing]


_DRAW: dict[str, Callable[[Any], list[str]]] = {
    "pdf": _draw_pdf,
    "qq": _draw_qq,
    "return-level": _draw_levels,
}
