"""How often intervals of extreme value fits cover what the samples were drawn from.

Samples of a Gumbel (ξ = 0) and a GEV distribution (ξ = 0.15) are fitted with both where
both are right; 95 % intervals of the shape and of the expected maximum over k groups, by
profile likelihood and by the delta method (Wald), are compared with the truth.

    python -m tests.bench.evt_coverage --simulations 2000      a few minutes on two cores
    python -m tests.bench.evt_coverage --simulations 200 -o coverage.csv

Each row of the table: distribution fitted, N, ξ, quantity, share of the intervals that
cover the truth, its standard error, the same of Wald's, share of infinite upper bounds,
samples that carried no fit. The last line says whether all profiles covered 93 to 97 %.
"""

import argparse
import csv
import math
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synctax.errors import FitError
from synctax.evt.gev import GevFit, fit_gev
from synctax.evt.gumbel import GumbelFit, fit_gumbel
from synctax.evt.profile import profile_mean, profile_shape

LOC, SCALE = 0.7, 0.6
SIZES = (200, 2_000)
SHAPES = (0.0, 0.15)
GROUPS = (1, 4, 128)
WALD_ERRORS = 1.959963984540054
CHUNK = 50
COVERED = (0.93, 0.97)
HEAD = [
    *("law", "n", "shape", "quantity"),
    *("profile", "profile_se", "wald", "infinite", "refused"),
]


@dataclass(frozen=True, slots=True)
class Cell:
    """What is simulated: the fitted law, the size of a sample, the true shape."""

    law: str
    n: int
    shape: float


@dataclass(frozen=True, slots=True)
class Trial:
    """An interval of each kind of one quantity of one sample."""

    quantity: str
    truth: float
    lo: float
    hi: float
    estimate: float
    error: float

    @property
    def counts(self) -> tuple[bool, bool, bool]:
        """Whether the profile covers, Wald's interval covers, the profile has no end."""
        wald = abs(self.estimate - self.truth) <= WALD_ERRORS * self.error
        return self.lo <= self.truth <= self.hi, wald, math.isinf(self.hi)


def cells() -> list[Cell]:
    """Both laws where both are right, the GEV alone elsewhere."""
    return [
        Cell(law, n, shape)
        for law in ("gumbel", "gev")
        for n in SIZES
        for shape in SHAPES
        if law == "gev" or shape == 0
    ]


def trials(cell: Cell, z: np.ndarray) -> Iterator[Trial]:
    """Fit one sample and bound every quantity."""
    truth = GevFit(LOC, SCALE, cell.shape, None, math.nan, cell.n)
    fit: GumbelFit | GevFit
    if cell.law == "gev":
        fit = gev = fit_gev(z)
        bounds = profile_shape(z, gev)
        yield Trial("shape", cell.shape, *bounds, gev.shape, gev.shape_se)
    else:
        fit = fit_gumbel(z)
    for k in GROUPS:
        bounds = profile_mean(z, fit, k)
        yield Trial(f"mean k={k}", truth.mean_z(k), *bounds, fit.mean_z(k), fit.mean_se(k))


def chunk(task: tuple[Cell, np.random.SeedSequence, int]) -> tuple[dict, int]:
    """Simulate some samples of one cell: sums of the counts, and how many were refused."""
    cell, seed, count = task
    rng = np.random.default_rng(seed)
    law = GevFit(LOC, SCALE, cell.shape, None, math.nan, cell.n)
    sums: dict[str, np.ndarray] = {}
    refused = 0
    for _ in range(count):
        z = law.ppf(rng.random(cell.n))
        try:
            found = list(trials(cell, z))
        except FitError:
            refused += 1
            continue
        for trial in found:
            sums[trial.quantity] = sums.get(trial.quantity, 0) + np.array(
                (1, *trial.counts)
            )
    return sums, refused


def rows(cell: Cell, results: list[tuple[dict, int]]) -> Iterator[list]:
    """Turn the sums of a cell into rows of the table."""
    refused = sum(one for _, one in results)
    for quantity in results[0][0]:
        n, profile, wald, infinite = sum(sums[quantity] for sums, _ in results).tolist()
        share = profile / n
        error = math.sqrt(share * (1 - share) / n)
        shares = (round(x, 4) for x in (share, error, wald / n, infinite / n))
        yield [cell.law, cell.n, cell.shape, quantity, *shares, refused]


def tell(row: list) -> None:
    """Print a row at once."""
    sys.stdout.write(("{:>11}" * len(row)).format(*row) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run all cells and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20250)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    begun, table = time.perf_counter(), []
    tell(HEAD)
    with ProcessPoolExecutor(options.processes) as pool:
        for number, cell in enumerate(cells()):
            seeds = np.random.SeedSequence((options.seed, number)).spawn(
                math.ceil(options.simulations / CHUNK)
            )
            counts = [CHUNK] * len(seeds)
            counts[-1] = options.simulations - CHUNK * (len(seeds) - 1)
            tasks = zip([cell] * len(seeds), seeds, counts, strict=True)
            for row in rows(cell, list(pool.map(chunk, tasks))):
                table.append(row)
                tell(row)
    if options.output:
        with options.output.open("w", newline="") as file:
            csv.writer(file).writerows([HEAD, *table])
    outside = [row for row in table if not COVERED[0] <= row[4] <= COVERED[1]]
    seconds = time.perf_counter() - begun
    counted = f"{len(outside)} of {len(table)} profiles outside of 93-97 %"
    sys.stdout.write(f"{counted}; {seconds:.0f} s\n")
    sys.exit(bool(outside))


if __name__ == "__main__":
    main()
