"""The truth of a made-up job: which delays there were, and what each reaches."""

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import msgspec

from synctax.arrays import ABSENT, NS_PER_US
from synctax.errors import BadInputError, SynctaxError
from synctax.experiment.injections import Injections, Longer, One, Target, collect
from synctax.synth import TRUTH_FILE as MADE_UP_TRUTH
from synctax.synth import Delay, SynthJob
from synctax.synth.answers import SCHEMA as MADE_UP_SCHEMA
from synctax.synth.lookup import delayed, launched_name, operator_name
from synctax.synth.program import build

__all__ = ["MADE_UP_SCHEMA", "MADE_UP_TRUTH", "made_up"]

_LONGER = {"gpu": Longer.KERNEL, "gap": Longer.GAP, "call": Longer.CALL}
"""What a delay of each side makes longer; the others: an operator."""

_NO_PART = {
    "delays", "lost_head", "lost_tail", "rank_clock_offset_us", "rank_clock_drift_ppm",
    "write_ranks", "size_mb",
}  # fmt: skip
"""Options that change nothing in the program of a step."""


class _Injected(msgspec.Struct):
    rank: int
    step: int
    kernel: str
    kernel_index: int | None
    side: Literal["gpu", "cpu", "op", "gap", "call"]
    delay_us: float
    slack_us: float | None
    group: str | None
    group_ranks: tuple[int, ...] | None
    index: int | None


def made_up(truth: dict[str, Any], path: Path) -> Injections:
    """Read the delays of a made-up job from its truth.

    Parameters
    ----------
    truth : dict
        What `synth` wrote beside the traces.
    path : Path
        Where.

    Raises
    ------
    BadInputError
        If its delays are none.
    """
    try:
        injected = msgspec.convert(truth["injected"], list[_Injected])
        delays = msgspec.convert(truth["parameters"]["delays"], list[dict[str, Any]])
        operators = _operators(truth["parameters"], delays)
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, SynctaxError) as error:
        raise BadInputError(
            f"{path} does not tell what was delayed ({error}); make the traces anew with "
            "synctax synth"
        ) from error
    return collect(
        [_one(path, one, operators) for one in injected],
        made_up=True,
        told=frozenset(one.rank for one in injected),
        meant=frozenset(one.rank for one in injected),
    )


def _operators(parameters: dict[str, Any], delays: list[dict[str, Any]]) -> dict[str, str]:
    """Name the innermost operator around the launch of each kernel that is delayed."""
    known = {field.name for field in fields(SynthJob)} - _NO_PART
    job = SynthJob(**{name: parameters[name] for name in known & parameters.keys()})
    program = build(job)
    named = {}
    for keys in delays:
        position = delayed(program, Delay(**keys))
        slot = program.launches[position].slot
        named[launched_name(job, program, position)] = operator_name(job, program, slot)
    return named


def _one(path: Path, one: _Injected, operators: dict[str, str]) -> One:
    longer = _LONGER.get(one.side, Longer.SLICE)
    name = one.kernel
    if longer is Longer.SLICE:
        name = operators.get(one.kernel, "")
        if not name:
            # without ranges around launches a trace shows nothing in that time
            longer, name = Longer.GAP, one.kernel
    delay_ns = round(one.delay_us * NS_PER_US)
    return One(
        rank=one.rank,
        step=one.step,
        operator=name,
        longer=longer,
        asked_ns=delay_ns,
        slept_ns=delay_ns,
        start_ns=ABSENT,
        end_ns=ABSENT,
        source=str(path),
        target=_target(one),
    )


def _target(one: _Injected) -> Target | None:
    if one.group is None or one.group_ranks is None or one.slack_us is None:
        return None
    index = ABSENT if one.index is None else one.index
    return Target(one.group, one.group_ranks, index, round(one.slack_us * NS_PER_US))
