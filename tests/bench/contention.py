"""How far each model of contention is from fluids that share a link: docs/contention.md.

    python -m tests.bench.contention

Everything is drawn with seeds: the tables are the same every time. It fails where the page
lacks a line of them.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

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
from tests.conftest import ROOT

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


@dataclass(frozen=True, slots=True)
class Row:
    """A population in each of the three tables.

    Parameters
    ----------
    sets, errors, differences : str
        Lines of Markdown.
    doubt : float
        Largest standard error of the reference, over the iteration of a job.
    """

    sets: str
    errors: str
    differences: str
    doubt: float


def row(name: str, these: Population) -> Row:
    """Write a population's line of each of the tables."""
    true, doubt = reference(these, phases=PHASES, iterations=ITERATIONS)
    told = {model: modelled(these, how) for model, how in MODELS.items()}
    off = {model: errors(values, true) for model, values in told.items()}
    cells = []
    for model, values in told.items():
        mean, low, high = (100 * value for value in intervals(off[model]))
        worst = 100 * abs(values / true - 1).max()
        cells.append(f"{mean:.1f} [{low:.1f}, {high:.1f}], {worst:.0f}")
    differences = []
    for better, worse in ORDER:
        mean, low, high = (100 * v for v in intervals(off[worse] - off[better]))
        differences.append(f"{mean:.1f} [{low:.1f}, {high:.1f}]")
    said = f"{len(true)} | {these.demand.mean():.2f} | {true.mean():.2f}, {true.max():.2f}"
    return Row(
        f"| {name} | {said} |",
        f"| {name} | {' | '.join(cells)} |",
        f"| {name} | {' | '.join(differences)} |",
        float((doubt / true).max()),
    )


def lines() -> Iterator[str]:
    """Write what the page has: three tables, and how sure the reference is."""
    whole = {name: row(name, these) for name, these in populations().items()}
    for head, some in (
        (
            ("sets", "n", "mean ΣD / C", "mean, largest iteration change"),
            [one.sets for one in whole.values()],
        ),
        (("sets", *MODELS), [one.errors for one in whole.values()]),
        (
            ("sets", *(f"{worse} − {better}" for better, worse in ORDER)),
            [one.differences for one in whole.values()],
        ),
    ):
        yield f"| {' | '.join(head)} |"
        yield f"|{'---|' * len(head)}"
        yield from some
        yield ""
    most = 100 * max(one.doubt for one in whole.values())
    yield (
        f"The standard error of the reference is {most:.1f} % at most for a job, and "
        f"{100 * whole['2 jobs'].doubt:.2f} % in `2 jobs`."
    )


def main() -> int:
    """Print the tables; 1 where the page lacks a line of them, else 0."""
    page = (ROOT / "docs" / "contention.md").read_text(encoding="utf-8").splitlines()
    missing = 0
    for line in lines():
        sys.stdout.write(f"{line}\n")
        if line not in page:
            sys.stderr.write(f"not in docs/contention.md: {line}\n")
            missing += 1
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
