"""Compare two runs, or two groups of runs of one setup."""

from collections.abc import Sequence

import numpy as np

from synctax.attribution.attribute import Attribution
from synctax.attribution.blocks import FoundBlocks
from synctax.collectives.tax import Tax
from synctax.comparison.comparison import Comparison
from synctax.comparison.culprits import compare_culprits
from synctax.comparison.fits import compare_fits
from synctax.comparison.kernels import RankKernels, SideKernels
from synctax.comparison.likeness import unlike
from synctax.comparison.options import Options
from synctax.comparison.rows import compare_rows
from synctax.comparison.units import Side, run_of, side_of
from synctax.errors import SynctaxError
from synctax.notes import Note

Runs = Tax | Attribution | Sequence[Tax] | Sequence[Attribution]
Blocks = FoundBlocks | Sequence[FoundBlocks]
Kernels = tuple[Sequence[Sequence[RankKernels]], Sequence[Sequence[RankKernels]]]


def compare(
    a: Runs,
    b: Runs,
    *,
    blocks: tuple[Blocks, Blocks] | None = None,
    kernels: Kernels | None = None,
    options: Options | None = None,
) -> Comparison:
    """Compare two runs, or two groups of runs of one setup.

    Parameters
    ----------
    a, b : Tax, Attribution, or sequence of either
        Before and after; several are several runs. Culprits are compared of attributions.
    blocks : (FoundBlocks, FoundBlocks) or sequences of them, optional
        Of the same runs (`block_times`): how waits grow is then fitted on both sides.
    kernels : two sequences with what `kernels_of` returns of each run, optional
        Durations of kernels are then compared.
    options : Options, optional

    Returns
    -------
    Comparison

    Raises
    ------
    SynctaxError
        If a run has no collective that counts.
    TypeError, ValueError
        If what is given are no runs.

    References
    ----------
    Synchronization-tax paper, section 4.4, compares runs with pinned and default clocks.
    """
    asked = options or Options()
    sides = [_side(runs, asked, number) for number, runs in enumerate((a, b))]
    one, two = sides
    caused = None
    if all(run.found is not None for side in sides for run in side.runs):
        caused = tuple(compare_culprits(one, two, asked.level))
    fits = None
    if blocks is not None:
        fits = compare_fits(
            *(_listed(of) for of in blocks), level=asked.level, seed=asked.seed
        )
    timed = None
    if kernels is not None:
        before, after = (SideKernels(tuple(tuple(run) for run in of)) for of in kernels)
        timed = (before, after)
    return Comparison(
        one,
        two,
        asked,
        tuple(compare_rows(one, two, asked.level)),
        caused,
        fits,
        timed,
        (*unlike(one, two), *_what_is_drawn(one, two)),
    )


def _listed(blocks: Blocks) -> Sequence[FoundBlocks]:
    return [blocks] if isinstance(blocks, FoundBlocks) else blocks


def _side(runs: Runs, asked: Options, number: int) -> Side:
    each = [runs] if isinstance(runs, (Tax, Attribution)) else list(runs)
    if not each:
        raise ValueError("compare wants at least one run a side")
    found = []
    for one in each:
        if not isinstance(one, (Tax, Attribution)):
            raise TypeError(
                "compare wants taxes or attributions, as synctax.measure returns"
            )
        tax = one.tax if isinstance(one, Attribution) else one
        if not tax.used.any():
            raise SynctaxError(
                f"none of {int(tax.shown.sum())} collectives of a run can be measured; see "
                "synctax measure --per-collective for the reasons"
            )
        found.append(run_of(tax, one if isinstance(one, Attribution) else None))
    # each side has draws of its own, or a set compared with itself would have none
    random = np.random.default_rng([asked.seed, number])
    return side_of(tuple(found), asked.resamples, random)


def _what_is_drawn(a: Side, b: Side) -> tuple[Note, ...]:
    """Say what intervals hold and what they cannot."""
    said = []
    for side, name in ((a, "A"), (b, "B")):
        said.append(Note("resampled", len(side.runs), f"{name}: {drawn_text(side)}"))
    if min(len(a.runs), len(b.runs)) == 1:
        text = (
            "one run a side cannot tell how runs of one setup differ from each other: "
            "intervals hold for these runs"
        )
        said.append(Note("one_run", 1, text))
    return tuple(said)


def drawn_text(side: Side) -> str:
    """Say what was drawn anew of a side.

    Parameters
    ----------
    side : Side
    """
    if len(side.runs) > 1:
        return f"{len(side.runs)} runs, drawn whole"
    run = side.runs[0]
    units = len(run)
    if run.stepped:
        length = run.series.block_length
        how = f", drawn in blocks of {length}" if length > 1 else ", drawn one by one"
        few = "" if side.draws.blocks > 1 else ": too few to say what is chance"
        return f"{units} profiler steps{how}{few}"
    used = int((run.unit >= 0).sum())
    each = max(round(run.series.block_length * used / units), 1)
    what = f"blocks of {each} neighbouring ones" if each > 1 else "single ones"
    return f"no steps to draw: of {used} collectives, {what} are drawn"
