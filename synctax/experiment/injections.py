"""Delays that were put into a job on purpose, as those who put them in tell of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from synctax.arrays import I8, I32, I64
from synctax.record.plan import DelayRule


class Longer(IntEnum):
    """What a delay makes longer, of the things that a critical path is made of."""

    SLICE = 0
    """A range on the host, by its name."""
    KERNEL = 1
    """A kernel, by its name."""
    SPIN = 2
    """A kernel that did nothing but spin, put before those of the operator."""
    CALL = 3
    """A call of the runtime that launches a kernel."""
    GAP = 4
    """Host time that nobody logged."""


@dataclass(frozen=True, slots=True)
class Target:
    """The collective that a delay of a made-up job reaches.

    Parameters
    ----------
    group : str
        Role.
    group_ranks : tuple of int
        Global ranks.
    index : int
        Place among the group's collectives, as in `Matches`; -1 where nobody recorded it.
    slack_ns : int
        How much of the delay is hidden: the latest arrival moves by what exceeds it.
    """

    group: str
    group_ranks: tuple[int, ...]
    index: int
    slack_ns: int


@dataclass(frozen=True, slots=True)
class Injections:
    """Delays of a job; (d,) arrays, one entry a delay.

    Parameters
    ----------
    rank : (d,) int64
        Global rank that was delayed.
    step : (d,) int64
        As the job counts its steps.
    operator : (d,) int32
        Code into `operators`: what was delayed, as a trace writes it.
    longer : (d,) int8
        `Longer`.
    asked_ns, slept_ns : (d,) int64
        What was asked for, and what it came to. A delay of 0 is a control.
    start_ns, end_ns : (d,) int64
        When, on the clock of the rank's trace; -1 in a made-up job.
    source : (d,) int32
        Code into `sources`: the file that tells of it.
    operators, sources : tuple of str
    targets : tuple of (Target or None), or None
        Of a made-up job: what each delay reaches, None where nothing follows it. None
        for a recorded one, where the trace has to tell.
    told : frozenset of int
        Ranks that say what was done to them.
    meant : frozenset of int, or None
        Ranks that rules are for; None: all.
    rules : tuple of DelayRule
        Of a recorded job: what was to be delayed, each once.
    """

    rank: I64
    step: I64
    operator: I32
    longer: I8
    asked_ns: I64
    slept_ns: I64
    start_ns: I64
    end_ns: I64
    source: I32
    operators: tuple[str, ...]
    sources: tuple[str, ...]
    targets: tuple[Target | None, ...] | None
    told: frozenset[int]
    meant: frozenset[int] | None
    rules: tuple[DelayRule, ...] = ()

    def __len__(self) -> int:
        return int(self.rank.size)


@dataclass(frozen=True, slots=True)
class One:
    """One delay, on the way into `Injections`; fields as there."""

    rank: int
    step: int
    operator: str
    longer: Longer
    asked_ns: int
    slept_ns: int
    start_ns: int
    end_ns: int
    source: str
    target: Target | None = None


def collect(
    ones: list[One],
    *,
    made_up: bool,
    told: frozenset[int],
    meant: frozenset[int] | None,
    rules: tuple[DelayRule, ...] = (),
) -> Injections:
    """Put delays together, in order of rank, then time (of a made-up job: as given)."""
    ones = sorted(ones, key=lambda one: (one.rank, one.start_ns))
    operators = {
        name: code for code, name in enumerate(_distinct(o.operator for o in ones))
    }
    sources = {name: code for code, name in enumerate(_distinct(o.source for o in ones))}

    def column(name: str) -> I64:
        return np.array([getattr(one, name) for one in ones], np.int64)

    return Injections(
        rank=column("rank"),
        step=column("step"),
        operator=np.array([operators[one.operator] for one in ones], np.int32),
        longer=column("longer").astype(np.int8),
        asked_ns=column("asked_ns"),
        slept_ns=column("slept_ns"),
        start_ns=column("start_ns"),
        end_ns=column("end_ns"),
        source=np.array([sources[one.source] for one in ones], np.int32),
        operators=tuple(operators),
        sources=tuple(sources),
        targets=tuple(one.target for one in ones) if made_up else None,
        told=told,
        meant=meant,
        rules=rules,
    )


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
