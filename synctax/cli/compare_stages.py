"""What `synctax compare` goes through: runs of both sides, read, attributed, fitted."""

import glob
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from synctax.cli.recall import Sources
from synctax.errors import BadInputError, SynctaxError
from synctax.report.output import NoteLike, Output

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution
    from synctax.attribution.blocks import FoundBlocks
    from synctax.collectives.tax import Tax
    from synctax.comparison.comparison import Comparison
    from synctax.comparison.kernels import RankKernels
    from synctax.comparison.options import Options
    from synctax.trace.pool import Workers
    from synctax.workspace import Workspace

T = TypeVar("T")
Sides = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is read of both sides, and how; as the options of the command.

    `fitted` and `timed` say whether blocks are fitted and kernels timed.
    """

    group: str | None
    op: str | None
    steps: range | None
    ranks: frozenset[int] | None
    end_tolerance_us: float | None
    fitted: bool
    timed: bool
    options: "Options"
    space: "Workspace | None"
    workers: "Workers"
    out: Output

    def parameters(self) -> dict[str, Any]:
        """Tell what was asked, by the names of options."""
        steps = self.steps
        return {
            "group": self.group,
            "op": self.op,
            "steps": None if steps is None else [steps.start, steps.stop],
            "ranks": None if self.ranks is None else sorted(self.ranks),
            "end_tolerance_us": self.end_tolerance_us,
            "fit": self.fitted,
            "level": self.options.level,
            "resamples": self.options.resamples,
            "seed": self.options.seed,
        }


@dataclass(frozen=True, slots=True)
class ReadRun:
    """One run: `found`, `blocks` and `kernels` are None where not asked for or unknown."""

    tax: "Tax"
    found: "Attribution | None"
    blocks: "FoundBlocks | None"
    kernels: "tuple[RankKernels, ...] | None"


def runs_of(paths: Iterable[str]) -> tuple[str, ...]:
    """List the runs of a side: a pattern that matches several folders is as many.

    Parameters
    ----------
    paths : iterable of str
    """
    runs: list[str] = []
    for path in paths:
        matching = _matching(path) if glob.has_magic(path) else []
        several = len(matching) > 1 and all(Path(one).is_dir() for one in matching)
        runs += matching if several and not Path(path).exists() else [path]
    return tuple(runs)


def _matching(pattern: str) -> list[str]:
    return sorted(glob.glob(pattern))  # noqa: PTH207 - may be absolute


def check_paths(sides: Sides) -> None:
    """Refuse a run that is given twice on one side: it would pass for two.

    Parameters
    ----------
    sides : (tuple of str, tuple of str)

    Raises
    ------
    UsageError
        If one is.
    """
    for runs, name in zip(sides, "AB", strict=True):
        met: set[Path] = set()
        for run in runs:
            where = Path(run).resolve()
            if where in met:
                raise click.UsageError(
                    f"{run} is given twice as a run of {name}: as if it were more data, "
                    "intervals would be narrower than they are"
                )
            met.add(where)


def read_sides(sides: Sides, asked: Asked) -> "tuple[Comparison, list[NoteLike | str]]":
    """Read all runs and compare.

    Parameters
    ----------
    sides : (tuple of str, tuple of str)
    asked : Asked

    Returns
    -------
    Comparison, list
        And what is to be said on stderr.
    """
    from synctax.comparison.compare import compare

    said: list[NoteLike | str] = []
    read = tuple([_read(path, asked, said) for path in runs] for runs in sides)
    every = [run for runs in read for run in runs]
    attributed = all(run.found is not None for run in every)
    fitted = asked.fitted and all(run.blocks is not None for run in every)
    one, two = ([run.found if attributed else run.tax for run in runs] for runs in read)
    blocks = tuple([run.blocks for run in runs] for runs in read) if fitted else None
    kernels = tuple([run.kernels for run in runs] for runs in read) if asked.timed else None
    found = compare(one, two, blocks=blocks, kernels=kernels, options=asked.options)  # type: ignore[arg-type]
    return found, said


def _read(path: str, asked: Asked, said: "list[NoteLike | str]") -> ReadRun:
    """Read, measure and attribute one run; where something cannot be known, say why."""
    from synctax.attribution.attribute import attribute
    from synctax.attribution.blocks import block_times
    from synctax.cli.progress import RoundsOfFiles
    from synctax.cli.reading import measure_again
    from synctax.comparison.kernels import kernels_of
    from synctax.comparison.units import run_of

    sources = Sources((path,), None, asked.ranks, asked.steps, asked.end_tolerance_us)
    tax, unwritable = measure_again(
        sources,
        asked.space,
        asked.out,
        asked.workers,
        group=asked.group,
        op=asked.op,
        remember=False,
    )
    if unwritable is not None and unwritable not in said:
        said.append(unwritable)
    if not tax.used.any():
        raise SynctaxError(
            f"{path}: none of {int(tax.shown.sum())} collectives can be measured; "
            f"synctax measure {path} --per-collective lists each with its reason"
        )
    with RoundsOfFiles(verbosity=asked.out.verbosity) as rounds:

        def on_files(stage: Callable[..., T], of: object) -> T:
            return stage(
                of,
                workers=asked.workers,
                cache=asked.space,
                on_progress=rounds.on_progress,
                on_round=rounds.on_round,
            )

        found = _known(
            lambda: on_files(attribute, tax), f"{path}: culprits are not compared", said
        )
        blocks = None
        if asked.fitted:
            blocks = _known(
                lambda: on_files(block_times, tax), f"{path}: nothing is fitted", said
            )
        kernels = on_files(kernels_of, run_of(tax)) if asked.timed else None
    return ReadRun(tax, found, blocks, kernels)


def _known(stage: Callable[[], T], what: str, said: "list[NoteLike | str]") -> T | None:
    """Run a stage whose result is one part of many; say so where it has none."""
    try:
        return stage()
    except BadInputError:
        raise
    except SynctaxError as error:
        said.append(f"{what}: {error}")
        return None
