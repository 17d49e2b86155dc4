"""The figure of `whatif`: step times recorded, replayed, and with each change."""

from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.report.figures.style import (
    COLORS,
    HATCHES,
    caption,
    named,
    new_figure,
    styled,
)
from synctax.texts import counted, is_absent, signed, time_us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synctax.attribution.whatif import WhatIf

US_PER_MS: Final = 1_000.0

MOST_CHANGES: Final = 20
"""More rows are too many for a page."""

CHANGE_EM: Final = 20.0
"""Width of a change that is written, in em."""


def steps(found: "WhatIf") -> "Figure":
    """Draw the mean step as recorded, as replayed, and with each change.

    Small circles are single steps. Where no step is marked, the whole window is drawn.

    Raises
    ------
    SynctaxError
        If matplotlib is missing.
    """
    frame = found.to_frame().head(MOST_CHANGES)
    single = found.per_step()
    first = frame.iloc[0]
    names = ["recorded", "replayed", *frame["change"]]
    mean_ms = np.array([first.step_us, first.step_replayed_us, *frame["step_changed_us"]])
    mean_ms /= US_PER_MS
    shares = [None, None, *frame["step_change_share"]]
    of_first = single[single["change"] == first.change]
    each = [of_first["step_us"], of_first["step_replayed_us"]]
    each += [
        single["step_changed_us"][single["change"] == change] for change in frame["change"]
    ]
    count = 0 if is_absent(first.steps) else int(first.steps)
    with styled():
        figure, (axis,) = new_figure(height_in=1.3 + 0.34 * len(names))
        y = np.arange(len(names))
        axis.barh(
            y,
            mean_ms,
            height=0.66,
            color=["#bbbbbb", "white", *[COLORS[5]] * len(frame)],
            hatch=["", HATCHES[1], *[""] * len(frame)],
            edgecolor="black",
            linewidth=0.6,
        )
        for row, values in enumerate(each):
            if count > 1:
                axis.plot(
                    values / US_PER_MS,
                    np.full(len(values), row),
                    linestyle="none",
                    marker="o",
                    markersize=3,
                    markerfacecolor="none",
                    markeredgewidth=0.7,
                    color=COLORS[6],
                )
        most = max(float(np.max(values)) / US_PER_MS for values in each)
        for row, (mean, share) in enumerate(zip(mean_ms, shares, strict=True)):
            text = time_us(mean * US_PER_MS)
            axis.annotate(
                text if share is None else f"{text} ({signed(share)})",
                (max(most, float(mean_ms.max())), row),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
            )
        axis.set_yticks(y, [named(one, CHANGE_EM) for one in names])
        axis.invert_yaxis()
        axis.grid(visible=False, axis="y")
        axis.set_xlim(0, 1.3 * max(most, float(mean_ms.max())))
        axis.set_xlabel("step time (ms)" if count else "time of the whole window (ms)")
        of = f"n = {counted(count, 'step')}" if count else "n = 1 window"
        of += " (circles)" if count > 1 else ""
        left_out = len(found.scenarios) - len(frame)
        caption(
            figure,
            f"Mean over the ranks and {of}; in brackets the change against the replay"
            + (f"; {counted(left_out, 'change')} left out for room" if left_out else ""),
        )
    return figure
