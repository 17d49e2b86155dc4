"""Where `synctax fit-evt` may write: over nothing that it reads, and no strange file."""

from collections.abc import Iterator
from pathlib import Path

import click

from synctax.cli import targets
from synctax.cli.fit_evt_stages import Selection
from synctax.report.files import is_special


def check_targets(
    chosen: Selection, maxima: Path | None, output: Path | None, tax_file: Path | None
) -> None:
    """Refuse targets before anything is fitted.

    Parameters
    ----------
    chosen : Selection
        What is read.
    maxima : Path, optional
        The CSV that is read instead.
    output, tax_file : Path, optional
        What `-o` and `--tax` name.

    Raises
    ------
    click.UsageError
        If a target is an input or both are one file; if the folder of the tax is none; if
        something else than a tax model is there.
    BadInputError
        If a target is there already, and traces that it might be one of cannot be found.
    """
    if tax_file is not None and not tax_file.parent.is_dir():
        raise click.UsageError(f"--tax {tax_file}: {tax_file.parent} is no folder")
    targets.check_targets({"out": output, "tax_file": tax_file})
    there = {
        name: path
        for name, path in (("-o", output), ("--tax", tax_file))
        if path is not None and path.exists() and not is_special(path)
    }
    if not there:
        return
    read = {path.resolve() for path in _inputs(chosen, maxima)}
    for name, path in there.items():
        if path.resolve() in read:
            raise click.UsageError(
                f"{name} {path} would overwrite what is read; give another file"
            )
    if "--tax" in there:
        _check_tax(there["--tax"])


def _inputs(chosen: Selection, maxima: Path | None) -> Iterator[Path]:
    """List the files that are named, and the traces in what is named."""
    own = chosen.sources
    yield from chosen.block_times
    yield from (path for path in (maxima, own.manifest) if path is not None)
    named = (*own.traces, *chosen.also)
    if named or own.manifest:
        from synctax.trace.discover import discover

        manifest = None if own.manifest is None else str(own.manifest)
        yield from (Path(name) for name in named)
        yield from (Path(one.path) for one in discover(named, manifest=manifest).files)


def _check_tax(path: Path) -> None:
    """Refuse to write over what is no tax model; an empty file is nothing."""
    from synctax.errors import BadInputError
    from synctax.evt.tax_file import from_json

    text = path.read_bytes()
    try:
        if text:
            from_json(text, name=str(path))
    except BadInputError as error:
        raise click.UsageError(
            f"--tax would overwrite {path}, which is no tax model of this version "
            f"({error}); give another file, or remove it"
        ) from error
