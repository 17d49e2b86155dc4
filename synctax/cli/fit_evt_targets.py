"""Where `synctax fit-evt` may write: over nothing that it reads, and no strange file."""

from pathlib import Path

import click

from synctax.cli import targets
from synctax.files import is_special


def check_targets(output: Path | None, tax_file: Path | None, plot: Path | None) -> None:
    """Refuse targets before anything is fitted.

    Parameters
    ----------
    output, tax_file, plot : Path, optional
        What `-o`, `--tax` and `--plot` name.

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
    targets.check_targets({"out": output, "tax_file": tax_file, "plot": plot})
    if tax_file is not None and tax_file.exists() and not is_special(tax_file):
        _check_tax(tax_file)


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
