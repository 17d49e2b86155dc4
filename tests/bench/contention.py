"""How far each model of contention is from fluids that share a link: docs/contention.md.

    python -m tests.bench.contention

Everything is drawn with seeds: the tables are the same every time.
"""

import sys
from collections.abc import Iterator

from tests.cluster.populations import (
    MODELS,
    Population,
    drawn,
    errors,
    intervals,
    modelled,
    pairs,
    reference,
)

PHASES = 32
ITERATIONS = 100

ORDER = (
    ("pollux, time", "tiresias"),
    ("mosim, iteration", "pollux, time"),
    ("mosim, overlap", "pollux, time"),
    ("mosim, overlap", "mosim, iteration"),
)
"""Models, the better one first; the differences of their errors are paired."""


def populations() -> dict[str, Population]:
    """Name the sets of the tables."""
    two = pairs()
    return {
        "2 jobs": two,
        "2 jobs, ΣD ≤ C": two.where(two.demand <= 1),
        "2 jobs, ΣD > C": two.where(two.demand > 1),
        "2 jobs, drawn": drawn(2, duty=(0.1, 0.9), sets=300),
        "2 jobs at 60 %": pairs(0.6),
        "3 jobs": drawn(3, duty=(0.1, 0.9)),
        "8 jobs": drawn(8, duty=(0.1, 0.9)),
        "8 jobs, light": drawn(8, duty=(0.02, 0.2)),
    }


def rows(name: str, these: Population) -> Iterator[tuple[str, str]]:
    """Write a population's row of each of the two tables."""
    true, doubt = reference(these, phases=PHASES, iterations=ITERATIONS)
    told = {model: modelled(these, how) for model, how in MODELS.items()}
    off = {model: errors(values, true) for model, values in told.items()}
    cells = []
    for model, values in told.items():
        mean, low, high = (100 * value for value in intervals(off[model]))
        worst = 100 * abs(values / true - 1).max()
        cells.append(f"{mean:.1f} [{low:.1f}, {high:.1f}], {worst:.0f}")
    said = f"{len(true)} | {these.demand.mean():.2f} | {true.mean():.2f}, {true.max():.2f}"
    differences = []
    for better, worse in ORDER:
        mean, low, high = (100 * v for v in intervals(off[worse] - off[better]))
        differences.append(f"{mean:.1f} [{low:.1f}, {high:.1f}]")
    sys.stderr.write(f"{name}: standard errors up to {100 * doubt.max():.2f} %\n")
    yield f"| {name} | {said} |", f"| {name} | {' | '.join(differences)} |"
    yield f"| {name} | {' | '.join(cells)} |", ""


def main() -> None:
    """Print the tables."""
    whole = [list(rows(name, these)) for name, these in populations().items()]
    for head, lines in (
        (
            ("sets", "n", "mean ΣD / C", "mean, largest iteration change"),
            [one[0][0] for one in whole],
        ),
        (("sets", *MODELS), [one[1][0] for one in whole]),
        (
            ("sets", *(f"{worse} − {better}" for better, worse in ORDER)),
            [one[0][1] for one in whole],
        ),
    ):
        sys.stdout.write(f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n")
        sys.stdout.write("".join(f"{line}\n" for line in lines) + "\n")


if __name__ == "__main__":
    main()
