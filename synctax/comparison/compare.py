"""Compare two runs, or two groups of runs of one setup."""

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations

import numpy as np

from synctax.attribution.attribute import Attribution
from synctax.attribution.blocks import FoundBlocks
from synctax.collectives.tax import Tax
from synctax.comparison.comparison import Comparison
from synctax.comparison.culprits import compare_culprits, not_compared
from synctax.comparison.fits import compare_fits
from synctax.comparison.given import check_blocks, check_kernels
from synctax.comparison.kernels import RankKernels, SideKernels
from synctax.comparison.likeness import unlike
from synctax.comparison.options import Options
from synctax.comparison.resample import LEAST_WINDOWS
from synctax.comparison.rows import compare_rows
from synctax.comparison.units import Run, Side, run_of, side_of
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.texts import counted

UNEQUAL = 3
"""Sides of which one is so many times as long as the other are said to be unequal."""

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
        If a run has no collective that counts, or is given twice on a side.
    TypeError, ValueError
        If what is given are no runs, or blocks or kernels of others.

    References
    ----------
    Synchronization-tax paper, section 4.4, compares runs with pinned and default clocks.
    """
    asked = options or Options()
    sides = [_side(runs, asked, number) for number, runs in enumerate((a, b))]
    one, two = sides
    shared = _in_both(one, two)
    caused = None
    if all(run.found is not None for side in sides for run in side.runs):
        caused = tuple(compare_culprits(one, two, asked.level))
    fits = None
    if blocks is not None:
        before, after = (_listed(of) for of in blocks)
        check_blocks(sides, (before, after))
        fits = compare_fits(before, after, level=asked.level, seed=asked.seed)
    timed = None
    if kernels is not None:
        check_kernels(sides, kernels)
        a_timed, b_timed = (SideKernels(tuple(tuple(run) for run in of)) for of in kernels)
        timed = (a_timed, b_timed)
    return Comparison(
        one,
        two,
        asked,
        tuple(compare_rows(one, two, asked.level)),
        caused,
        fits,
        timed,
        (*unlike(one, two), *not_compared(one, two), *_what_is_drawn(one, two), *shared),
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


def _content(tax: Tax) -> set[Hashable]:
    """Tell each trace of a run from those of all other runs, wherever the file lies."""
    return {
        (one.rank, one.host, one.window_start_ns, one.start_ns.tobytes())
        for one in tax.matches.ranks
        if len(one)
    }


def _in_both(a: Side, b: Side) -> tuple[Note, ...]:
    """Refuse a run that is on one side twice; say which are on both."""
    contents = [[_content(run.tax) for run in side.runs] for side in (a, b)]
    for traces, name in zip(contents, "AB", strict=True):
        for one, two in combinations(range(len(traces)), 2):
            if traces[one] & traces[two]:
                raise SynctaxError(
                    f"runs {one + 1} and {two + 1} of {name} hold the same traces: as if "
                    "they were more data, intervals would be narrower than they are; leave "
                    "one out"
                )
    both = sum(any(one & two for two in contents[1]) for one in contents[0])
    if not both:
        return ()
    text = (
        f"{counted(both, 'run')} with the same traces in A and B: the sides are not "
        "independent, and a difference is made smaller"
    )
    return (Note("run_in_both", both, text),)


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
    return (*said, *_unequal(a, b))


def _unequal(a: Side, b: Side) -> tuple[Note, ...]:
    """Say that intervals of sides of very unequal length may be too narrow.

    Both are counted in what both have: runs or windows where whole ones are drawn on both.
    """
    counts = ([(size(side), what) for side in (a, b)] for what, size in _SIZES)
    one, two = next(both for both in counts if all(size for size, _ in both))
    if max(one, two)[0] < UNEQUAL * min(one, two)[0]:
        return ()
    text = (
        f"A has {counted(*one)} and B has {counted(*two)}: where the shorter side varies "
        "more, intervals are too narrow; record as many of both"
    )
    return (Note("unequal", 1, text),)


def _runs(side: Side) -> int:
    return len(side.runs) if len(side.runs) > 1 else 0


def _whole_windows(side: Side) -> int:
    series = [run.series for run in side.runs]
    return len(series[0].windows) if len(series) == 1 and series[0].whole else 0


def _steps(side: Side) -> int:
    stepped = all(run.stepped for run in side.runs)
    return sum(run.steps for run in side.runs) if stepped else 0


def _collectives(side: Side) -> int:
    return sum(int((run.unit >= 0).sum()) for run in side.runs)


_SIZES: tuple[tuple[str, Callable[[Side], int]], ...] = (
    ("run", _runs),
    ("window", _whole_windows),
    ("profiler step", _steps),
    ("collective", _collectives),
)
"""What the length of a side is counted in, and how; 0 where it has none of that."""


def drawn_text(side: Side) -> str:
    """Say what was drawn anew of a side.

    Parameters
    ----------
    side : Side
    """
    if len(side.runs) > 1:
        return f"{len(side.runs)} runs, drawn whole"
    run = side.runs[0]
    windows = run.series.windows
    if run.series.whole:
        return f"{len(windows)} windows, drawn whole"
    if len(windows) > 1:
        return _within_windows(run, side.draws.blocks)
    units = len(run)
    if run.stepped:
        length = round(run.series.block_length * run.steps / units)
        how = f", drawn in blocks of {length}" if length > 1 else ", drawn one by one"
        few = "" if side.draws.blocks > 1 else ": too few to say what is chance"
        return f"{run.steps} profiler steps{how}{few}"
    used = int((run.unit >= 0).sum())
    each = max(round(run.series.block_length * used / units), 1)
    what = f"blocks of {each} neighbouring ones" if each > 1 else "single ones"
    one = np.unique(run.tax.matches.step[run.unit >= 0])
    why = "a single step" if (one >= 0).any() else "no steps to draw"
    return f"{why}: of {used} collectives, {what} are drawn"


def _within_windows(run: Run, drawn: float) -> str:
    """Say what the draws of a run with a few windows hold."""
    count = len(run.series.windows)
    parts = (
        f"{run.steps} profiler steps"
        if run.stepped
        else f"{len(run)} pieces of neighbouring collectives"
    )
    if not drawn:
        return (
            f"{count} windows, one of them with a single step: too few to say what is "
            f"chance; record {LEAST_WINDOWS} windows or more, or more steps in each"
        )
    return (
        f"{parts}, drawn within each of {count} windows: what windows differ by "
        f"is in no interval (it is with {LEAST_WINDOWS} windows)"
    )
