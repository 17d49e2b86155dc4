"""The truth that lies beside traces: delays of a recorded or of a made-up job."""

import os
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from synctax.arrays import NS_PER_US
from synctax.errors import BadInputError
from synctax.experiment.injections import Injections, Longer, One, collect
from synctax.experiment.made_up import MADE_UP_SCHEMA, MADE_UP_TRUTH, made_up

SCHEMA = "synctax.delays/1"
PATTERN = "rank*_delays.json"
"""Names of the files in which ranks of a recorded job tell what was done to them."""

MAX_NUMBER = 2**31 - 1
"""No rank or step has a higher number."""

MAX_US = 1e12
"""No delay lasts longer than eleven days."""

_Loaded = TypeVar("_Loaded")


class _Head(msgspec.Struct):
    schema: str


class _Rule(msgspec.Struct):
    operator: str
    rank: int | None = None


class _Delay(msgspec.Struct):
    step: int
    operator: str
    asked_us: float
    start_ns: int
    end_ns: int
    side: Literal["host", "gpu"] = "host"


class _Truth(msgspec.Struct):
    rank: int
    rules: list[_Rule]
    delays: list[_Delay]


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
    recorded = sorted(root.rglob(PATTERN))
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
            f"{root} does not tell what was delayed: there is neither {PATTERN} nor "
            f"{MADE_UP_TRUTH}; record with synctax inject -- COMMAND, or make traces with "
            "synctax synth --delay"
        )
    return _recorded(recorded)


def _recorded(paths: list[Path]) -> Injections:
    """Put the truths of all ranks together."""
    truths = [(path, _decode(path, SCHEMA, _Truth)) for path in paths]
    ones = []
    for path, truth in truths:
        _check_number(path, "rank", truth.rank)
        ones += [_one(path, truth.rank, number, d) for number, d in enumerate(truth.delays)]
    rules = [rule for _, truth in truths for rule in truth.rules]
    ranks = {rule.rank for rule in rules}
    everyone = None in ranks
    return collect(
        ones,
        made_up=False,
        told=frozenset(truth.rank for _, truth in truths),
        meant=None if everyone else frozenset(rank for rank in ranks if rank is not None),
        patterns=tuple(dict.fromkeys(rule.operator for rule in rules)),
    )


def _one(path: Path, rank: int, number: int, delay: _Delay) -> One:
    _check_number(path, f"step of delay {number}", delay.step)
    if not 0 <= delay.asked_us <= MAX_US or delay.end_ns < delay.start_ns:
        raise BadInputError(
            f"{path}: delay {number} of {delay.asked_us} µs, from {delay.start_ns} to "
            f"{delay.end_ns} ns, is none; the file is damaged, record anew"
        )
    on_host = delay.side == "host"
    # on a GPU the spin is asked for in µs, and the host does not see how long it takes
    slept_ns = delay.end_ns - delay.start_ns
    asked_ns = round(delay.asked_us * NS_PER_US)
    return One(
        rank=rank,
        step=delay.step,
        operator=delay.operator,
        longer=Longer.SLICE if on_host else Longer.SPIN,
        asked_ns=asked_ns,
        slept_ns=slept_ns if on_host else asked_ns,
        start_ns=delay.start_ns,
        end_ns=delay.end_ns,
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
