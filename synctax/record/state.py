"""What became of each rank's recording, in a file that whoever started the job can read."""

import json
import os
import socket
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from synctax.errors import BadInputError, SynctaxError
from synctax.record.names import STATE_FILES, STATE_SCHEMA, STATES, part_path, state_path
from synctax.record.proc import ran_at

Phase = Literal["waiting", "recording", "written", "cut", "nothing"]


@dataclass(frozen=True, slots=True)
class RankState:
    """How far the recording of one rank is, or how it ended.

    Parameters
    ----------
    rank, world_size : int
        Global rank, and how many there are.
    host : str
    pid : int
    backend : str
        Of the default process group; empty without one.
    torch : str
        Its version.
    state : str
        `waiting` for the window, `recording`, `written`; `cut`: a trace was written, but
        of a window that ended early; `nothing`: no trace was written.
    reason : str
        Why the window was cut, nothing was written, or ranks did not meet; may be empty.
    steps_seen : int
        Steps that had ended when this was written.
    first_step, end_step : int
        Steps of the window: from the first up to but not including the other. Where the
        window has not begun, as planned.
    trace, delays : str
        Paths below the folder; empty where there is none.
    met : bool or int
        Whether all ranks met before the window; else how many did, this one among them,
        or False if it did not try or nobody came.
    """

    rank: int
    world_size: int
    host: str
    pid: int
    backend: str = ""
    torch: str = ""
    state: Phase = "waiting"
    reason: str = ""
    steps_seen: int = 0
    first_step: int = 0
    end_step: int = 0
    trace: str = ""
    delays: str = ""
    met: bool | int = False


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears whole under its name or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_path(path, os.getpid())
    part.unlink(missing_ok=True)  # of a process that was killed
    try:
        # a new file: not what a link of this name leads to
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_state(folder: Path, state: RankState) -> None:
    """Write the state of a rank, instead of the one before."""
    keys = {"schema": STATE_SCHEMA} | asdict(state)
    write_whole(state_path(folder, state.rank), json.dumps(keys) + "\n")


def read_state(path: Path) -> RankState:
    """Read what `write_state` wrote.

    Raises
    ------
    BadInputError
        If the file is something else.
    """
    try:
        keys = json.loads(path.read_text(encoding="utf-8"))
        return _state(keys)
    except (OSError, TypeError, ValueError, LookupError) as error:
        raise BadInputError(
            f"{path} is not the state of a recorded rank ({STATE_SCHEMA}): {error}"
        ) from error


def state_before(folder: Path, rank: int) -> RankState | None:
    """Read the state that a rank left in a folder; None if there is none."""
    path = state_path(folder, rank)
    try:
        return read_state(path) if path.exists() else None
    except (BadInputError, OSError):
        return None  # it will be written anew


def check_alone(folder: Path, rank: int) -> None:
    """See that no other process of this host records a rank, or did and still runs.

    Raises
    ------
    SynctaxError
        If one does: this is its child, which has its environment, or a job beside it.
    """
    other = _other(folder, rank)
    if other:
        raise SynctaxError(f"process {other} of this host is rank {rank} already")


def write_own_state(folder: Path, state: RankState) -> None:
    """Write the state of a rank, unless the rank is another process."""
    if not _other(folder, state.rank):
        write_state(folder, state)


def _other(folder: Path, rank: int) -> int:
    state = state_before(folder, rank)
    if state is None or state.state not in ("recording", "written", "cut"):
        return 0
    mine = state.pid == os.getpid() or state.host != socket.gethostname()
    changed_s = state_path(folder, rank).stat().st_mtime
    return 0 if mine or not ran_at(state.pid, changed_s) else state.pid


def read_states(folder: Path) -> list[RankState]:
    """Read the states of all ranks that recorded into a folder, by rank.

    Raises
    ------
    BadInputError
        If a file is not the state of a rank.
    """
    paths = (folder / STATES).glob(STATE_FILES)
    return sorted(map(read_state, paths), key=lambda state: state.rank)


def _state(keys: Any) -> RankState:
    found = keys["schema"]
    if found != STATE_SCHEMA:
        raise ValueError(f"the schema is {found!r}")
    # a later version may know more
    return RankState(**{f.name: keys[f.name] for f in fields(RankState) if f.name in keys})
