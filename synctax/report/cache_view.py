"""What became of files whose columns were to be kept: rows, and sentences for people."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synctax.fill import Filled, Outcome
from synctax.report.output import Result
from synctax.schema import MEASURE_CACHE
from synctax.texts import size_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType


def result(files: Sequence[Filled], parameters: dict[str, Any]) -> Result:
    """Make the public table of files.

    Parameters
    ----------
    files : n outcomes
    parameters : dict
        What was asked.
    """
    rows = MEASURE_CACHE.rows(
        {
            "file": [one.path for one in files],
            "size_bytes": [one.size_bytes for one in files],
            "outcome": [one.outcome.value for one in files],
            "reason": [one.reason or None for one in files],
        }
    )
    count = Counter(one.outcome for one in files)
    extra = {f"files_{outcome.value}": count[outcome] for outcome in Outcome}
    return Result(MEASURE_CACHE, rows, parameters, extra=extra)


def parts(files: Sequence[Filled], workspace: Path) -> "Iterator[RenderableType]":
    """Say how many files were read, kept and there already, and what is wrong with others.

    Parameters
    ----------
    files : n outcomes
    workspace : Path
    """
    of = {one: [f for f in files if f.outcome is one] for one in Outcome}
    read = of[Outcome.KEPT] + of[Outcome.NOT_KEPT]
    total = size_bytes(sum(one.size_bytes for one in read))
    yield (
        f"{len(files):,} files: {len(read):,} read ({total}), "
        f"{len(of[Outcome.KEPT]):,} kept in {workspace}, "
        f"{len(of[Outcome.THERE]):,} there already"
    )
    for one in of[Outcome.UNREADABLE]:
        yield f"unreadable: {one.reason}"
