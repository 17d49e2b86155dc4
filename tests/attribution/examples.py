"""Attributions that several tests look at, each made once, in this process."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import synctax
from synctax.attribution.attribute import Attribution, attribute
from synctax.attribution.options import Options
from synctax.collectives.tax import Tax
from synctax.trace.kineto import read_rank
from synctax.trace.model import RankTrace
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"


class Kept:
    """Columns of files, kept in memory: every file is read once."""

    def __init__(self) -> None:
        self.traces: dict[str, RankTrace] = {}

    def read(self, path: str, read: Callable[[], RankTrace]) -> RankTrace:
        """Return what is kept of a file, else read it."""
        if path not in self.traces:
            self.traces[path] = read()
        return self.traces[path]


@cache
def kept(folder: Path) -> Kept:
    """Keep the files of a folder."""
    return Kept()


def read(path: Path) -> RankTrace:
    """Read a file, once."""
    return kept(path.parent).read(str(path), lambda: read_rank(path))


@cache
def measured(folder: Path, *, group: str | None = None) -> Tax:
    """Measure the traces of a folder."""
    job = synctax.load([str(folder)], workers=1, cache=kept(folder))
    return synctax.measure(job, group=group)


@cache
def attributed(
    folder: Path = EXAMPLE, *, group: str | None = None, **options: str
) -> Attribution:
    """Attribute the traces of a folder, with `Options` by name."""
    return attribute(
        measured(folder, group=group),
        options=Options(**options),
        workers=1,
        cache=kept(folder),
    )
