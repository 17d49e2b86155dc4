"""What workloads do to each other, two by two, as a map."""

from typing import TYPE_CHECKING, Final

import numpy as np

from synctax.cluster.pairs import Pairs
from synctax.report.figures.lettering import width_em
from synctax.report.figures.style import HEAT, caption, named, new_figure, styled
from synctax.report.pairs_view import model_name
from synctax.texts import BYTES_PER_GB, counted, number, rate_gb_per_s

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NUMBERS: Final = 16
"""Workloads whose cells have room for their numbers."""

MOST_NAMES: Final = 60
"""Workloads that have room for their names."""

ROOMY: Final = 36
"""Workloads whose names have room in letters of the usual size."""

LEAST_IN: Final = 3.0
"""Height of the map at least: beside it stands what its scale is of."""

_PT, _PT_PER_IN = 10, 72
"""Size of these letters."""


def pairs(found: Pairs) -> "Figure":
    """Draw how much longer an iteration of each workload takes beside each other.

    Parameters
    ----------
    found : Pairs

    Returns
    -------
    Figure

    References
    ----------
    MoSim paper (arXiv 2609.23278), section III-C.
    """
    change = found.iteration_change
    many = len(found.profiles)
    side_in = min(max(LEAST_IN, 0.45 * many), 7.0)
    with styled():
        from synctax.report.figures.ticks import EvenNumbers

        names = [named(one.workload) for one in found.profiles]
        names_in = max(map(width_em, names)) * _PT / _PT_PER_IN if many <= MOST_NAMES else 0
        figure, (axes,) = new_figure(
            width_in=side_in + 1.6 + names_in, height_in=side_in + 1.0 + names_in
        )
        image = axes.imshow(change, cmap=HEAT, vmin=1, vmax=max(1.1, float(change.max())))
        axes.grid(visible=False)
        if many <= MOST_NAMES:
            axes.tick_params(labelsize="medium" if many <= ROOMY else "x-small")
            axes.set_xticks(range(many), names, rotation=90)
            axes.set_yticks(range(many), names)
        axes.set(xlabel="beside workload", ylabel="workload")
        figure.colorbar(
            image,
            ax=axes,
            label="time of an iteration over that alone (×)",
            format=EvenNumbers(),
        )
        if many <= MOST_NUMBERS:
            light = np.asarray(image.norm(change))
            for row, column in np.ndindex(change.shape):
                axes.text(
                    column,
                    row,
                    f"{change[row, column]:.2f}",
                    ha="center",
                    va="center",
                    fontsize="x-small",
                    color="white" if light[row, column] < 0.5 else "black",
                )
        half = found.gpus // 2
        told = found.summary()
        caption(
            figure,
            f"n = {counted(change.size, 'pair')} of jobs of {found.gpus:,} GPUs, "
            f"{half:,} + {half:,} on two servers with "
            f"{rate_gb_per_s(found.nic_bytes_per_s / BYTES_PER_GB)} of NIC each; "
            f"{model_name(told)}; mean {number(told.iteration_change_mean)} ×",
        )
    return figure
