"""How often each method finds what was made late: `python -m tests.bench.attribution`.

Draws made-up jobs with one delay each (any kernel, rank, side and size that shows, with
and without sync records, threads, graphs, hosts) and judges every method on all of them.
"""

import tempfile
from collections import Counter
from pathlib import Path

import click

from synctax.attribution.attribute import attribute
from synctax.attribution.options import Options
from synctax.synth import write
from tests.attribution.examples import measured
from tests.attribution.injected import draw, judge

METHODS = {
    "critical path (default)": Options(),
    "critical path, counterparts on the path": Options(match="path"),
    "longest kernel": Options(method="longest"),
    "last kernel": Options(method="last-kernel"),
}


@click.command()
@click.option("--cases", default=500, show_default=True, help="Delays to draw.")
@click.option("--first", default=1000, show_default=True, help="First seed.")
def main(cases: int, first: int) -> None:
    """Print the share of delays that each method finds, by side of the delay."""
    right: Counter[tuple[str, str]] = Counter()
    exact: Counter[tuple[str, str]] = Counter()
    drawn: Counter[str] = Counter()
    hidden = 0
    for seed in range(first, first + cases):
        case = draw(seed)
        with tempfile.TemporaryDirectory() as directory:
            known = write(case.job, Path(directory))
            tax = measured(Path(directory))
            verdicts = {
                name: judge(case, attribute(tax, options=options, workers=1), known)
                for name, options in METHODS.items()
            }
        if any(verdict.what == "hidden" for verdict in verdicts.values()):
            hidden += 1
            continue
        side = "gpu" if case.delay.side == "gpu" else "cpu"
        drawn[side] += 1
        for name, verdict in verdicts.items():
            wrong = set(verdict.what.split())
            right[name, side] += not wrong & {"rank", "side", "culprit", "not"}
            exact[name, side] += verdict.what == "ok"
        if verdicts["critical path (default)"].what != "ok":
            default = verdicts["critical path (default)"]
            click.echo(f"seed {seed}: {default.what}: {default.detail}")
    click.echo(f"{sum(drawn.values())} delays that show, {hidden} that do not")
    for name in METHODS:
        shares = [
            f"{side}: culprit {right[name, side] / count:.1%}, "
            f"and amount {exact[name, side] / count:.1%} of {count}"
            for side, count in sorted(drawn.items())
        ]
        click.echo(f"{name:42} {'; '.join(shares)}")


if __name__ == "__main__":
    main()
