"""What `synctax fit-evt` goes through: read, pool, fit, keep, choose a table."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synctax.cli.recall import Sources
from synctax.errors import FitError
from synctax.report.output import Output, Render, Result

SENTENCES = ("group_chosen", "hold_out_", "no_goodness_", "no_tail", "set_without_blocks")
"""How reasons begin of notes on a choice, or on something that there was none of."""

MANY_RESAMPLES = 0.05
"""Share of the resamples that say something where they lack a fit."""

if TYPE_CHECKING:
    from synctax.evt.inputs import Found
    from synctax.evt.options import Options
    from synctax.evt.results import EvtFit
    from synctax.notes import Note
    from synctax.report.output import NoteLike
    from synctax.trace.pool import Workers
    from synctax.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Selection:
    """Which data were chosen on the command line, and how paths through them run."""

    sources: Sources
    also: tuple[str, ...]
    block_times: tuple[Path, ...]
    group: str | None
    op: str | None
    tolerance_us: float


@dataclass(frozen=True, slots=True)
class Maxima:
    """Normalised maxima, and what brings them back to µs."""

    path: Path
    fit_n: int
    a_us: float
    r: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A fit, and what is known of the traces it is from.

    `targets` are the traces as a workspace knows them, `end_tolerances_us` what they were
    measured with, `unwritable` why nothing can be kept.
    """

    fit: "EvtFit"
    targets: tuple[str, ...] = ()
    sources: Sources | None = None
    end_tolerances_us: tuple[float, ...] = ()
    unwritable: "Note | None" = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How traces are read: into which workspace, by how many, and how it is told."""

    path: Path
    space: "Workspace | None"
    workers: "Workers"
    out: Output


def check_maxima(
    path: Path | None,
    numbers: tuple[int | None, float | None, float | None],
    chosen: Selection,
    table: str,
) -> Maxima | None:
    """Check that what belongs to maxima comes together and alone."""
    fit_n, a_us, r = numbers
    named = dict(zip(("--fit-n", "--a-us", "--r"), numbers, strict=True))
    if path is None:
        stray = [name for name, value in named.items() if value is not None]
        if stray:
            are = "is" if len(stray) == 1 else "are"
            raise click.UsageError(f"{' and '.join(stray)} {are} for --maxima only")
        return None
    if (
        chosen.sources.traces
        or chosen.sources.manifest
        or chosen.also
        or chosen.block_times
    ):
        raise click.UsageError(
            "--maxima stands alone: maxima and block times cannot be pooled"
        )
    if table in ("--per-block", "--segments", "--holdout", "--per-instance"):
        raise click.UsageError(f"{table} is of block times, and --maxima has none")
    if fit_n is None or not a_us or not r:
        missing = [name for name, value in named.items() if not value]
        raise click.UsageError(
            f"--maxima also needs {', '.join(missing)}: the ranks of each maximum, and a "
            "and b/a above 0, which bring z = (maximum - a)/b back to µs"
        )
    if r > 1:
        raise click.UsageError(
            f"--r is the spread b over the mean a, and {r:g} is above 1; expected a share, "
            "such as 0.02 for 2 %"
        )
    return Maxima(path, fit_n, a_us, r)


def check_selection(chosen: Selection, maxima: Path | None, fit_ranks: int | None) -> None:
    """Refuse data named twice, and options that would select from traces of none."""
    own = chosen.sources
    _check_apart((*own.traces, *chosen.also, *map(str, chosen.block_times)))
    if maxima is not None and fit_ranks is not None:
        raise click.UsageError("--fit-ranks cuts groups, and --maxima has none")
    if own.traces or own.manifest or chosen.also or not (maxima or chosen.block_times):
        return
    stray = [
        name
        for name, value in (
            ("--group", chosen.group),
            ("--op", chosen.op),
            ("--steps", own.steps),
            ("--ranks", own.ranks),
            ("--end-tolerance-us", own.end_tolerance_us),
        )
        if value is not None
    ]
    if stray:
        raise click.UsageError(f"{' and '.join(stray)}: of traces only, and none are named")


def _check_apart(names: tuple[str, ...]) -> None:
    """Refuse a file or folder that is named twice, by whatever path."""
    met: dict[Path, str] = {}
    for name in names:
        where = Path(name).resolve()
        if where in met:
            same = "" if met[where] == name else f", which is {met[where]},"
            raise click.UsageError(
                f"{name}{same} is given twice: as if it were more data, intervals would be "
                "narrower than they are"
            )
        met[where] = name


def fit_maxima(given: Maxima, options: "Options") -> "EvtFit":
    """Read normalised maxima and fit."""
    from synctax.evt.fit import fit_evt_maxima
    from synctax.evt.read_csv import read_maxima
    from synctax.evt.tax import Origin

    return fit_evt_maxima(
        read_maxima(given.path),
        n_fit=given.fit_n,
        a_us=given.a_us,
        r=given.r,
        options=options,
        source=Origin("maxima", (str(given.path),)),
    )


def fit_times_of(chosen: Selection, options: "Options", reading: Reading) -> Outcome:
    """Read what there is, pool it, and fit."""
    from synctax.cli.progress import counting_up
    from synctax.cli.recall import near, recall
    from synctax.evt.fit import fit_evt as fit_times
    from synctax.evt.inputs import Given
    from synctax.evt.read_csv import read_block_time_sets
    from synctax.evt.tax import Origin
    from synctax.report.output import notes

    found: list[Found] = []
    targets: tuple[str, ...] = ()
    names: list[str] = []
    tolerances_us: list[float] = []
    sources, unwritable = None, None
    own = chosen.sources
    if own.traces or own.manifest is not None or not chosen.block_times:
        sources = recall(own, reading.path)
        notes(sources.said, reading.out)
        one, tolerance_us, unwritable = _blocks(chosen, sources, reading)
        found.append(one)
        tolerances_us.append(tolerance_us)
        targets = sources.traces or (str(sources.manifest),)
        names += [near(target) for target in targets]
    for more in chosen.also:
        also = replace(own, traces=(more,), manifest=None)
        # what was measured last stays the first job
        one, tolerance_us, _ = _blocks(chosen, also, reading, remember=False)
        found.append(one)
        tolerances_us.append(tolerance_us)
        names.append(more)
    for path in chosen.block_times:
        sets, told = read_block_time_sets(path)
        found += [Given(one, notes=() if at else told) for at, one in enumerate(sets)]
        names.append(str(path))
    kind = "traces" if len(names) > len(chosen.block_times) else "block_times"
    origin = Origin(kind, tuple(names))
    try:
        with counting_up(
            what="resamples",
            verbosity=reading.out.verbosity,
            doing="fitting",
        ) as told_of:
            fit = fit_times(*found, options=options, source=origin, on_resample=told_of)
    except FitError:
        notes(_left_before(reading), reading.out)
        raise
    return Outcome(fit, targets, sources, tuple(dict.fromkeys(tolerances_us)), unwritable)


def _blocks(
    chosen: Selection, sources: Sources, reading: Reading, *, remember: bool = True
) -> "tuple[Found, float, Note | None]":
    """Read traces and time their compute blocks.

    Returns
    -------
    Found, float, Note or None
        The blocks, the tolerance of ends they were measured with, and why nothing can be
        kept in the workspace, if so.
    """
    from synctax.attribution.blocks import block_times
    from synctax.attribution.options import Options as AttributionOptions
    from synctax.cli.progress import RoundsOfFiles
    from synctax.cli.reading import measure_again

    tax, unwritable = measure_again(
        sources,
        reading.space,
        reading.out,
        reading.workers,
        group=chosen.group,
        op=chosen.op,
        remember=remember,
    )
    with RoundsOfFiles(verbosity=reading.out.verbosity) as rounds:
        found = block_times(
            tax,
            options=AttributionOptions(tolerance_us=chosen.tolerance_us),
            workers=reading.workers,
            cache=reading.space,
            on_progress=rounds.on_progress,
            on_round=rounds.on_round,
        )
    return found, tax.end_tolerance_us, unwritable


def _left_before(reading: Reading) -> Iterator[str]:
    """Say that a tax of before stays where `bandwidth` finds it."""
    if reading.space is not None and reading.space.tax_file.is_file():
        yield (
            f"{reading.space.tax_file} still holds the tax that was fitted before; "
            "bandwidth would use it, and says whose it is"
        )


def keep(
    fitted: Outcome, space: "Workspace | None", tax_file: Path | None
) -> "list[Note | str]":
    """Keep the tax model, and write it where it was asked for."""
    from synctax.evt.tax_file import to_json
    from synctax.report.output import write

    model = fitted.fit.tax_model()
    said: list[Note | str] = []
    unwritable = fitted.unwritable
    if space is not None and unwritable is None:
        # without traces nobody has looked yet whether the directory is one of ours
        unwritable = (None if fitted.sources else space.prepare()) or space.keep_tax(
            model, targets=fitted.targets
        )
    if unwritable is not None:
        said.append(unwritable)
    elif space is not None:
        said.append(f"the tax is kept in {space.tax_file} for synctax bandwidth")
    if tax_file is not None:
        write(to_json(model), tax_file)
    return said


def worth_saying(
    found: "Iterable[NoteLike]", resamples: int, verbosity: int
) -> "list[NoteLike]":
    """Choose the notes for stderr: without `-v`, none of a few resamples without a fit."""
    from synctax.cli import reading

    least = 1 if verbosity > 0 else MANY_RESAMPLES * resamples
    return [
        note
        for note in reading.worth_saying(found, verbosity)
        if not note.reason.startswith("resample_without_") or note.count >= least
    ]


def told(note: "NoteLike") -> "NoteLike | str":
    """Leave out the count where it says nothing and the rest is a sentence."""
    return note.detail if note.reason.startswith(SENTENCES) else note


def parameters(
    chosen: Selection, normalised: Maxima | None, options: "Options", fitted: Outcome
) -> dict[str, Any]:
    """Tell what was asked, by the names of options, and what stood in for the rest."""
    sources = fitted.sources or chosen.sources
    steps, tolerances_us = sources.steps, fitted.end_tolerances_us
    return {
        "traces": sources.traces,
        "manifest": sources.manifest,
        "also": chosen.also,
        "block_times": chosen.block_times,
        "maxima": None if normalised is None else normalised.path,
        "fit_n": None if normalised is None else normalised.fit_n,
        "a_us": None if normalised is None else normalised.a_us,
        "r": None if normalised is None else normalised.r,
        "group": chosen.group,
        "op": chosen.op,
        "steps": None if steps is None else [steps.start, steps.stop],
        "ranks": None if sources.ranks is None else sorted(sources.ranks),
        "fit_ranks": fitted.fit.m if normalised is None else None,
        "n": fitted.fit.n.astype(int).tolist(),
        "level": options.level,
        "resamples": options.resamples,
        "seed": options.seed,
        "tolerance_us": chosen.tolerance_us,
        # of jobs that were measured with several, all of them
        "end_tolerance_us": tolerances_us[0]
        if len(tolerances_us) == 1
        else list(tolerances_us) or None,
    }


def shown_as(
    fit: "EvtFit",
    asked: dict[str, Any],
    table: str,
    points: str | None,
    out: Output,
) -> tuple[Result, Render]:
    """Make the table that was asked for, and what people read of it."""
    from synctax import schema
    from synctax.evt.envelope import envelope
    from synctax.report import evt_view

    left_out = fit.notes
    if points is not None:
        result = Result(
            schema.FIT_EVT_POINTS[points],
            fit.points(points),
            {**asked, "points": points},
            left_out,
            envelope(fit),
        )
        return result, lambda shown: evt_view.points(fit, shown, points)
    tables: dict[str, tuple[schema.Table, Callable[[], Any]]] = {
        "": (schema.FIT_EVT, fit.to_frame),
        "--per-block": (schema.FIT_EVT_BLOCKS, fit.per_block),
        "--segments": (schema.FIT_EVT_SEGMENTS, fit.per_segment),
        "--holdout": (schema.FIT_EVT_HOLDOUT, fit.holdout),
        "--checks": (schema.FIT_EVT_CHECKS, fit.checks),
        "--per-instance": (schema.FIT_EVT_INSTANCES, fit.per_instance),
    }
    declared, frame = tables[table]
    result = Result(declared, frame(), asked, left_out, envelope(fit, declared))
    if not table:
        return result, lambda shown: evt_view.parts(fit, shown, every=out.verbosity > 0)
    return result, lambda shown: evt_view.table(fit, shown)
