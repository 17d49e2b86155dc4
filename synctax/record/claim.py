"""Make a folder ready for a recording, without losing what somebody else has there."""

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from synctax.errors import BadInputError, SynctaxError
from synctax.record import names
from synctax.record.outcome import is_running, read_ranks
from synctax.record.state import RankState, read_state

NOTES = f"{names.STATES}/*.json"
"""Where a plan, states and words of processes are; each names its kind."""

KINDS = {names.PLAN_SCHEMA, names.STATE_SCHEMA, names.PROCESS_SCHEMA}

TRACES = ("**/*.json", "**/*.json.gz", "**/*.json.zst")
"""What a later command would take for a trace."""


class OccupiedFolderError(SynctaxError):
    """The folder holds a recording, or something else that is to stay."""

    exit_code = 2


def claim(folder: Path, *, overwrite: bool) -> None:
    """Make a folder ready for traces.

    Parameters
    ----------
    folder : Path
    overwrite : bool
        Remove what an earlier recording left there: notes that name their kind, and the
        files that states of ranks name.

    Raises
    ------
    OccupiedFolderError
        If there are such files and they are to stay, or there are others that a later
        command would take for traces, or a job is at it. Nothing has been removed then.
    """
    own = of_recording(folder)
    other = sorted({path for p in TRACES for path in folder.glob(p)} - own)
    if other:
        raise OccupiedFolderError(
            f"{folder} holds what no recording is known to have left, such as "
            f"{other[0].relative_to(folder)}; name a folder for the traces with -o DIR"
        )
    if own and not overwrite:
        raise OccupiedFolderError(
            f"{folder} holds a recording; --overwrite replaces it, -o DIR names another"
        )
    if any(map(is_running, read_ranks(folder)[0])):
        raise OccupiedFolderError(
            f"a job is recording into {folder}; wait for its end, or -o DIR names another"
        )
    for path in own:
        path.unlink()
    for path in {path.parent for path in own} - {folder}:
        if not any(path.iterdir()):
            path.rmdir()
    folder.mkdir(parents=True, exist_ok=True)


def of_recording(folder: Path) -> set[Path]:
    """Find what a recording left in a folder, by what its notes say.

    A trace without the state of its rank is not found: another tool may have written it.
    """
    found = set()
    for note in folder.glob(NOTES):
        kind = _kind(note)
        if kind in KINDS:
            found.add(note)
        if kind == names.STATE_SCHEMA:
            found.update(_of_rank(folder, note))
    return found


def _kind(path: Path) -> str:
    try:
        return str(json.loads(path.read_bytes())["schema"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _of_rank(folder: Path, note: Path) -> Iterator[Path]:
    """List the files of a rank that are there, unfinished ones included."""
    try:
        state = read_state(note)
        whole = [folder / path for path in _named(state)]
        planned = folder / names.trace_path(state.end_step, state.rank)
        parts = [names.part_path(path, state.pid) for path in [note, planned, *whole]]
    except (BadInputError, TypeError, ValueError):
        return  # it is ours, and tells of no other
    yield from filter(Path.is_file, whole + parts)


def _named(state: RankState) -> Iterator[PurePosixPath]:
    for path in map(PurePosixPath, (state.trace, state.delays)):
        inside = not path.is_absolute() and ".." not in path.parts
        if inside and (path.match(names.TRACE_FILES) or path.match(names.DELAY_FILES)):
            yield path
