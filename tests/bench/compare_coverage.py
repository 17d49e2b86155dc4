"""How often intervals of `compare` hold the truth, where steps depend on each other.

Two sides of the same law, so the true difference is 0: every step is late by a share of its
own (log-normal, autocorrelated over steps as AR(1)), and so is every collective in it.

    python tests/bench/compare_coverage.py --plot docs/pictures/compare-coverage.png
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from synctax.arrays import F64
from synctax.comparison.resample import Series, block_length, freedom, weights
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


def side(steps: int, memory: float, random: np.random.Generator) -> list[Estimate]:
    """Make up the taxes of one side, and estimate."""
    late = np.empty(steps)
    late[0] = random.normal()
    for step in range(1, steps):
        new = np.sqrt(1 - memory**2) * random.normal()
        late[step] = memory * late[step - 1] + new
    own = random.normal(size=(steps, COLLECTIVES))
    tax_us: F64 = np.exp(0.5 * late[:, None] + 0.7 * own).ravel() * 50
    unit = np.repeat(np.arange(steps), COLLECTIVES)
    length = block_length(np.bincount(unit, tax_us) / COLLECTIVES, [steps])
    series = [Series((steps,), length)]
    draws = Draws(weights(series, RESAMPLES, random), freedom(series))
    return [draws.mean(unit, tax_us), *draws.quantile(unit, tax_us, (0.5, 0.9))]


def coverage(steps: int, memory: float, pairs: int, seed: int) -> F64:
    """Share of intervals that hold 0, of each of `NAMES`."""
    random = np.random.default_rng([seed, steps, int(100 * memory)])
    hits = np.zeros(len(NAMES))
    for _ in range(pairs):
        both = zip(side(steps, memory, random), side(steps, memory, random), strict=True)
        found = [difference(a, b, LEVEL) for a, b in both]
        hits += [one.low <= 0 <= one.high for one in found]
    return hits / pairs


def draw(covered: dict[float, list[F64]], pairs: int, path: Path) -> None:
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
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    covered: dict[float, list[F64]] = {}
    sys.stdout.write(f"memory  steps  {'  '.join(f'{n:>6}' for n in NAMES)}\n")
    for memory in MEMORIES:
        for steps in STEPS:
            row = coverage(steps, memory, asked.pairs, asked.seed)
            covered.setdefault(memory, []).append(row)
            cells = "  ".join(f"{one:6.3f}" for one in row)
            sys.stdout.write(f"{memory:6.1f}  {steps:5d}  {cells}\n")
            sys.stdout.flush()
    if asked.plot:
        draw(covered, asked.pairs, asked.plot)


if __name__ == "__main__":
    main()
