"""The truth that lies beside traces: delays of a recorded or of a made-up job."""

import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from synctax.arrays import NS_PER_US
from synctax.errors import BadInputError
from synctax.experiment.injections import Injections, Longer, One, collect
from synctax.experiment.made_up import MADE_UP_SCHEMA, MADE_UP_TRUTH, made_up
from synctax.record.names import DELAY_FILES, DELAYS_SCHEMA, delays_file
from synctax.record.truth import Made, Truth

MAX_NUMBER = 2**31 - 1
"""No rank or step has a higher number."""

MAX_US = 1e12
"""No delay lasts longer than eleven days."""

MAX_NS = 2**62
"""No time is later than in the year 2116."""

_Loaded = TypeVar("_Loaded")


class _Head(msgspec.Struct):
    schema: str


def read_injections(folder: str | os.PathLike[str]) -> Injections:
    """Read what was delayed in the job whose traces are in a folder.

    Parameters
    ----------
    folder : path
        Searched with its subfolders for `rankR_delays.json` of a recorded job; else it
        holds the `truth.json` of a made-up one.

    Returns
    -------
    Injections

    Raises
    ------
    BadInputError
        If there is no truth, or both kinds, or a file is broken or of another kind.
    """
    root = Path(folder)
    if not root.is_dir():
        raise BadInputError(
            f"{root} is no folder; give the folder that holds traces and the truth on them"
        )
    recorded = sorted(root.rglob(DELAY_FILES))
    alone = root / MADE_UP_TRUTH
    if recorded and alone.is_file():
        raise BadInputError(
            f"{root} holds the truth of a made-up job ({MADE_UP_TRUTH}) and of a recorded "
            f"one ({recorded[0].relative_to(root)}); keep them in folders of their own"
        )
    if alone.is_file():
        return made_up(_decode(alone, MADE_UP_SCHEMA, dict[str, Any]), alone)
    if not recorded:
        raise BadInputError(
            f"{root} does not tell what was delayed: there is neither {DELAY_FILES} nor "
            f"{MADE_UP_TRUTH}; record with synctax inject -- COMMAND, or make traces with "
            "synctax synth --delay"
        )
    return _recorded(recorded)


def read_truth(path: Path) -> Truth:
    """Read what one rank of a recorded job tells of its delays.

    Parameters
    ----------
    path : Path

    Raises
    ------
    BadInputError
        If the file is broken, of another kind, or tells of what cannot be.
    """
    truth = _decode(path, DELAYS_SCHEMA, Truth)
    _check_number(path, "rank", truth.rank)
    if path.name != delays_file(truth.rank):
        raise BadInputError(
            f"{path} tells of rank {truth.rank}, whose file is {delays_file(truth.rank)}; "
            "it is damaged, or was renamed"
        )
    for number, made in enumerate(truth.delays):
        _check_number(path, f"step of delay {number}", made.step)
        in_time = 0 <= made.start_ns <= made.end_ns <= MAX_NS
        if not (in_time and 0 <= made.asked_us <= MAX_US):
            raise BadInputError(
                f"{path}: delay {number} of {made.asked_us} µs, from {made.start_ns} to "
                f"{made.end_ns} ns, is none; the file is damaged, record anew"
            )
    return truth


def _recorded(paths: list[Path]) -> Injections:
    """Put the truths of all ranks together."""
    truths = [(path, read_truth(path)) for path in paths]
    _check_once(truths)
    rules = tuple(dict.fromkeys(rule for _, truth in truths for rule in truth.rules))
    ranks = {rule.rank for rule in rules}
    return collect(
        [_one(path, truth.rank, made) for path, truth in truths for made in truth.delays],
        made_up=False,
        told=frozenset(truth.rank for _, truth in truths),
        meant=None
        if None in ranks
        else frozenset(rank for rank in ranks if rank is not None),
        rules=rules,
    )


def _check_once(truths: list[tuple[Path, Truth]]) -> None:
    """Refuse a delay that is told twice: a thread makes one at a time."""
    told: dict[tuple[str, int, int, int], Path] = {}
    for path, truth in truths:
        for made in truth.delays:
            key = (truth.host, truth.rank, made.thread, made.start_ns)
            if key in told:
                raise BadInputError(
                    f"{path} tells of a delay of rank {truth.rank}, at {made.start_ns} ns, "
                    f"that {told[key]} tells of as well; keep each window's folder once"
                )
            told[key] = path


def _one(path: Path, rank: int, made: Made) -> One:
    on_host = made.side == "host"
    # on a GPU the spin is asked for in µs, and the host does not see how long it takes
    slept_ns = made.end_ns - made.start_ns
    asked_ns = round(made.asked_us * NS_PER_US)
    return One(
        rank=rank,
        step=made.step,
        operator=made.operator,
        longer=Longer.SLICE if on_host else Longer.SPIN,
        asked_ns=asked_ns,
        slept_ns=slept_ns if on_host else asked_ns,
        start_ns=made.start_ns,
        end_ns=made.end_ns,
        source=str(path),
    )


def _check_number(path: Path, what: str, value: int) -> None:
    if not 0 <= value <= MAX_NUMBER:
        raise BadInputError(f"{path}: the {what} is {value}; the file is damaged")


def _decode(path: Path, schema: str, kind: type[_Loaded]) -> _Loaded:
    """Read JSON of a kind.

    Raises
    ------
    BadInputError
        If it is broken, or something else.
    """
    try:
        text = path.read_bytes()
        found = msgspec.json.decode(text, type=_Head).schema
        if found != schema:
            raise BadInputError(
                f"{path} is of the kind {found!r}, and {schema!r} is read; record anew, or "
                "use the version of synctax that wrote it"
            )
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise BadInputError(
            f"{path} is not the truth of injected delays ({schema}): {error}; it is "
            "damaged, or something else has its name"
        ) from error
