"""Read the traces that a command was given, with a progress bar."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synctax.cli.progress import reading_files

if TYPE_CHECKING:
    from synctax.collectives.load import Job
    from synctax.workspace import Workspace


def read_job(
    traces: Sequence[str],
    *,
    manifest: Path | None,
    workers: int | None,
    verbosity: int,
    ranks: frozenset[int] | None = None,
    space: "Workspace | None" = None,
) -> "Job":
    """Find, read and place the traces; the job may have problems (`load.require`).

    Parameters are as for `load.load`; `space` keeps the columns, `verbosity` is as for
    `progress.reading`.
    """
    from synctax.collectives.load import survey
    from synctax.trace.discover import discover

    found = discover(traces, manifest=None if manifest is None else str(manifest))
    sizes = {file.path: file.size_bytes for file in found.files}
    with reading_files(sizes, verbosity=verbosity) as on_progress:
        return survey(
            found, ranks=ranks, workers=workers, cache=space, on_progress=on_progress
        )
