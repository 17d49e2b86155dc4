"""Which traces a later command reads: those it is given, or what was measured last."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from synctax.errors import SynctaxError

if TYPE_CHECKING:
    from synctax.evt.tax import TaxModel
    from synctax.workspace import LastMeasure, Workspace

_AGES = ((86_400, "day"), (3_600, "h"), (60, "min"))


@dataclass(frozen=True, slots=True)
class Sources:
    """What to read, and what of it.

    `recalled` tells whether that is what was measured last; `said` are then lines for
    stderr on where it is from.
    """

    traces: tuple[str, ...]
    manifest: Path | None
    ranks: frozenset[int] | None
    steps: range | None
    end_tolerance_us: float | None
    recalled: bool = False
    said: tuple[str, ...] = ()


def recall(given: Sources, workspace: Path) -> Sources:
    """Complete what was given by what was measured last, if no traces were named.

    Ranks, steps and the tolerance of the last `measure` hold too; what was given on this
    command line wins.

    Raises
    ------
    SynctaxError
        If no traces were named, and nothing was measured, or URLs of which a part is not
        kept.
    """
    if given.traces or given.manifest is not None:
        return given
    from synctax.workspace import Workspace

    last = Workspace(workspace).last_measure()
    _check_whole(last, workspace)
    ranks, steps, tolerance = given.ranks, given.steps, given.end_tolerance_us
    own = last.options
    if ranks is None and own.get("ranks") is not None:
        ranks = frozenset(own["ranks"])
    if steps is None and own.get("steps") is not None:
        steps = range(*own["steps"])
    if tolerance is None:
        tolerance = own.get("end_tolerance_us")
    kept = [
        f"--{name} {text}"
        for name, text, taken in (
            ("ranks", _ranks(own), given.ranks is None),
            ("steps", _steps(own), given.steps is None),
        )
        if text and taken
    ]
    manifest = None if last.manifest is None else Path(last.manifest)
    said = (_told(last, workspace, kept), *_changed(last))
    return Sources(
        last.targets, manifest, ranks, steps, tolerance, recalled=True, said=said
    )


def _check_whole(last: "LastMeasure", workspace: Path) -> None:
    from synctax.urls import is_cut

    cut = [url for url in (*last.targets, last.manifest or "") if is_cut(url)]
    if cut:
        raise SynctaxError(
            f"{cut[0]} was measured last, and {workspace} keeps no names, passwords or "
            "signatures of URLs; name the traces again (where a store finds credentials in "
            "the environment, they need not be in the URL, which is then kept)"
        )


def tax_told(model: "TaxModel", space: "Workspace") -> tuple[str, ...]:
    """Say whose tax a kept one is, how old, and whether another job was measured since.

    Parameters
    ----------
    model : TaxModel
        As `Workspace.tax` returned it.
    space : Workspace
    """
    group = f" ({model.group})" if model.group else ""
    names = ", ".join(map(near, model.source.names)) or "an unnamed source"
    age = "" if model.source.when is None else f", fitted {_age(model.source.when)}"
    told = f"using the tax of {names}{group}{age} ({space.directory})"
    try:
        since = space.measured_since(model)
    except SynctaxError as error:
        # the tax is whole without it
        return told, f"whether another job was measured since is not known: {error}"
    if not since:
        return (told,)
    other = ", ".join(map(near, since))
    advice = "run synctax fit-evt for that, or choose one with --tax"
    return told, f"{other} was measured since, and this is not its tax: {advice}"


def _told(last: "LastMeasure", workspace: Path, kept: Sequence[str]) -> str:
    names = [near(target) for target in last.targets] or [near(str(last.manifest))]
    options = f", {' '.join(kept)}" if kept else ""
    return f"using {', '.join(names)} as measured {_age(last.when)} ({workspace}){options}"


def _changed(last: "LastMeasure") -> tuple[str, ...]:
    stale = last.changed_files
    gone = [path for path in stale if not Path(path).exists()]
    changed = [path for path in stale if path not in set(gone)]
    return tuple(
        f"{len(paths)} {files[len(paths) > 1]} since, such as {near(paths[0])}"
        for paths, files in (
            (changed, ("file has changed", "files have changed")),
            (gone, ("file is gone", "files are gone")),
        )
        if paths
    )


def near(path: str) -> str:
    """Write a path from here, where it lies below the current directory."""
    here = os.path.relpath(path) if "://" not in path else path
    return path if here.startswith("..") else here


def _age(when: str) -> str:
    seconds = (datetime.now(UTC) - datetime.fromisoformat(when)).total_seconds()
    for length, unit in _AGES:
        count = int(seconds // length)
        if count >= 1:
            plural = "s" if unit == "day" and count > 1 else ""
            return f"{count} {unit}{plural} ago"
    return "just now"


def _ranks(options: dict[str, object]) -> str:
    from synctax.collectives.summary import ranks_text

    ranks = options.get("ranks")
    return ranks_text(tuple(ranks)) if isinstance(ranks, list) else ""


def _steps(options: dict[str, object]) -> str:
    from synctax.cli.options import MAX_NUMBER

    steps = options.get("steps")
    if not isinstance(steps, list):
        return ""
    low, high = steps
    return f"{low}:{high}" if high <= MAX_NUMBER else f"{low}:"
