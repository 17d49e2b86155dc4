"""How often intervals of `compare` hold the truth, where steps depend on each other.

Every step is late by a share of its own (log-normal, autocorrelated over steps as AR(1)),
and so is every collective in it. The standard deviations of both are those of logarithms.
First two sides of the same law and length, then others: steps that differ by as much as
collectives do, sides of unequal length and spread, runs of several windows.

    python tests/bench/compare_coverage.py --plot docs/pictures/compare-coverage.png
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synctax.arrays import F64
from synctax.comparison.resample import Series, block_length, draw, freedom, strata
from synctax.comparison.stats import Draws, Estimate, difference
from synctax.report.figures.style import (
    COLORS,
    LINES,
    MARKERS,
    caption,
    new_figure,
    save,
    styled,
)

STEPS = (5, 10, 50)
MEMORIES = (0.0, 0.3, 0.6)
NAMES = ("mean", "median", "p90")
COLLECTIVES = 20
LEVEL = 0.95
RESAMPLES = 400
TYPICAL_US = 50.0
Z90 = 1.2815515655446004
"""Of the standard normal law."""


@dataclass(frozen=True, slots=True)
class Law:
    """What one side is made up by.

    `late`, `own` and `apart` are standard deviations of the logarithm: of steps, of the
    collectives in them, and of windows (of runs where these have one). Every run has as
    many windows.
    """

    steps: int
    memory: float = 0.0
    late: float = 0.5
    own: float = 0.7
    windows: int = 1
    apart: float = 0.0
    runs: int = 1

    @property
    def truth(self) -> F64:
        """Return the mean, median and 90 % quantile of its taxes, in µs."""
        variance = self.late**2 + self.own**2 + self.apart**2
        logarithms = [variance / 2, 0.0, Z90 * np.sqrt(variance)]
        found: F64 = TYPICAL_US * np.exp(logarithms)
        return found


OTHERS: tuple[tuple[str, Law, Law], ...] = (
    ("50 steps, memory 0.6, late 0.7", Law(50, 0.6, 0.7), Law(50, 0.6, 0.7)),
    ("3 steps and 10", Law(3), Law(10)),
    ("3 steps and 50", Law(3), Law(50)),
    ("5 steps and 50", Law(5), Law(50)),
    ("10 steps and 50", Law(10), Law(50)),
    ("3 steps, late 0.8, and 50", Law(3, late=0.8), Law(50)),
    ("5 steps, late 0.8, and 50", Law(5, late=0.8), Law(50)),
    ("10 steps, late 0.8, and 50", Law(10, late=0.8), Law(50)),
    ("3 steps, late 0.2, and 50", Law(3, late=0.2), Law(50)),
    ("5 steps and 50, memory 0.6", Law(5, 0.6), Law(50, 0.6)),
    ("2 runs and 10 of 10 steps", Law(10, runs=2), Law(10, runs=10)),
    (
        "2 runs of 1,000, 20 of 10, apart 0.5",
        Law(1000, runs=2, apart=0.5),
        Law(10, runs=20, apart=0.5),
    ),
    (
        "3 runs of 10, 12 of 1,000, apart 0.5",
        Law(10, runs=3, apart=0.5),
        Law(1000, runs=12, apart=0.5),
    ),
    ("2 windows of 2", Law(2, windows=2), Law(2, windows=2)),
    ("4 windows of 10", Law(10, windows=4), Law(10, windows=4)),
    (
        "4 windows of 10, apart 0.25",
        Law(10, windows=4, apart=0.25),
        Law(10, windows=4, apart=0.25),
    ),
    ("5 windows of 1", Law(1, windows=5), Law(1, windows=5)),
    ("10 windows of 1", Law(1, windows=10), Law(1, windows=10)),
    ("5 windows of 2", Law(2, windows=5), Law(2, windows=5)),
    ("10 windows of 2", Law(2, windows=10), Law(2, windows=10)),
    (
        "5 windows of 10, apart 0.25",
        Law(10, windows=5, apart=0.25),
        Law(10, windows=5, apart=0.25),
    ),
)


def window(law: Law, random: np.random.Generator) -> F64:
    """Make up the taxes of one window, (steps, collectives) in µs."""
    late = np.empty(law.steps)
    late[0] = random.normal()
    for step in range(1, law.steps):
        new = np.sqrt(1 - law.memory**2) * random.normal()
        late[step] = law.memory * late[step - 1] + new
    own = random.normal(size=(law.steps, COLLECTIVES))
    apart = law.apart * random.normal() if law.apart else 0.0
    spread = law.late * late[:, None] + law.own * own + apart
    found: F64 = TYPICAL_US * np.exp(spread)
    return found


def side(law: Law, random: np.random.Generator) -> list[Estimate]:
    """Make up the taxes of one side, and estimate."""
    windows = [window(law, random) for _ in range(law.windows * law.runs)]
    tax_us = np.concatenate(windows).ravel()
    sizes = (law.steps,) * law.windows
    unit = np.repeat(np.arange(sum(sizes) * law.runs), COLLECTIVES)
    each = (np.bincount(unit, tax_us) / COLLECTIVES).reshape(law.runs, -1)
    series = [Series(sizes, block_length(one, sizes)) for one in each]
    drawn = draw(series, RESAMPLES, random)
    draws = Draws(drawn, freedom(series), strata(series))
    return [draws.mean(unit, tax_us), *draws.quantile(unit, tax_us, (0.5, 0.9))]


def coverage(laws: tuple[Law, Law], pairs: int, seed: int) -> F64:
    """Share of intervals that hold the true difference, of each of `NAMES`."""
    truth = (laws[1].truth - laws[0].truth).tolist()
    random = np.random.default_rng([seed, laws[0].steps, int(100 * laws[0].memory)])
    hits = np.zeros(len(NAMES))
    for _ in range(pairs):
        both = zip(side(laws[0], random), side(laws[1], random), strict=True)
        found = [difference(a, b, LEVEL) for a, b in both]
        pairs_of = zip(found, truth, strict=True)
        hits += [one.low <= true <= one.high for one, true in pairs_of]
    return hits / pairs


def picture(covered: dict[float, list[F64]], pairs: int, path: Path) -> None:
    """Draw coverage over steps, a panel a quantity."""
    with styled():
        figure, axes = new_figure(1, len(NAMES), width_in=8.4, height_in=3.4)
        for at, (axis, name) in enumerate(zip(axes, NAMES, strict=True)):
            for number, (memory, rows) in enumerate(covered.items()):
                axis.plot(
                    STEPS,
                    [row[at] for row in rows],
                    color=COLORS[number],
                    linestyle=LINES[number],
                    marker=MARKERS[number],
                    label=f"autocorrelation {memory:g}",
                )
            axis.axhline(LEVEL, color="black", linewidth=0.8)
            axis.set_xscale("log")
            axis.set_xticks(STEPS, [str(n) for n in STEPS])
            axis.minorticks_off()
            axis.set_ylim(0.7, 1.0)
            axis.set_xlabel(f"{name} tax: steps a side")
            axis.set_ylabel("intervals that hold the truth")
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper right", ncols=3)
        caption(
            figure,
            f"Nominal {LEVEL:.0%} (line) and actual, n = {pairs} made-up pairs of sides a "
            f"point, {COLLECTIVES} collectives a step.",
        )
    save(figure, path)


def main() -> None:
    """Simulate, print, draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    covered: dict[float, list[F64]] = {}
    sys.stdout.write(f"memory  steps  {'  '.join(f'{n:>6}' for n in NAMES)}\n")
    for memory in MEMORIES:
        for steps in STEPS:
            law = Law(steps, memory)
            row = coverage((law, law), asked.pairs, asked.seed)
            covered.setdefault(memory, []).append(row)
            cells = "  ".join(f"{one:6.3f}" for one in row)
            sys.stdout.write(f"{memory:6.1f}  {steps:5d}  {cells}\n")
            sys.stdout.flush()
    for name, one, two in OTHERS:
        row = coverage((one, two), asked.pairs, asked.seed)
        sys.stdout.write(f"{name:36}  {'  '.join(f'{x:6.3f}' for x in row)}\n")
        sys.stdout.flush()
    if asked.plot:
        picture(covered, asked.pairs, asked.plot)


if __name__ == "__main__":
    main()
