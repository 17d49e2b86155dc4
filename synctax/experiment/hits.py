"""What became of the delays, one entry per collective that they reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synctax.arrays import ABSENT, F64, I64, Bool

MAX_LEVELS = 16
"""More different delays than these are told by the nearest of 1, 2, 5, 10, 20, ... µs."""

AMOUNT_APART = 0.5
"""How far, of the delay that must show, what is blamed may be from it."""

OK = "ok"
"""Status of a collective that can be judged; else it is as in `attribute`."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Collectives that delays reach; (c,) entries.

    Parameters
    ----------
    group, group_ranks, op : tuple of str
        Which collective: role, global ranks, operation.
    index, step : (c,) int64
        Its place in its group; the profiler step, -1 where none is marked.
    cluster : (c,) int64
        Step and window of the delays, numbered: what is drawn anew in resampling.
    rank : (c,) int64
        Global rank that was delayed (most).
    operator : tuple of str
        What was delayed on it.
    delays, positive : (c,) int64
        How many delays reach it, of all its ranks; how many of them are longer than 0.
    asked_us, delay_us : (c,) float64
        What was asked for and what was slept, in all: of the rank delayed most, less that
        of the rank delayed least.
    slack_us : (c,) float64
        What of it is hidden, NaN where that is unknown.
    expected_us : (c,) float64
        What of it must show: in a recorded job all; in a made-up one what exceeds the
        slack, NaN where that is unknown.
    tax_us : (c,) float64
        Longest less shortest duration, NaN where there is no tax to believe.
    judged : (c,) bool
        It was attributed.
    status, reason : tuple of str
        `ok`, or why it is not judged, as in `attribute`.
    straggler : (c,) int64
        Global rank that was last, -1 where ranks tie.
    culprit, origin_culprit : tuple of (str or None)
        What is blamed; and where that is a wait passed on, what lies at its origin.
    origin_rank : (c,) int64
        Rank at the origin, -1 where that is unknown.
    culprit_us, blamed_us : (c,) float64
        Variation of the culprit; of what is the delayed operator, here or at the origin of
        a wait passed on; NaN where there is none.
    rank_named, operator_named, passed_on : (c,) bool
        The delayed rank is blamed; the delayed operator on it is; at the origin of a wait
        that another group passed on, not at the collective itself.
    operator_share, host_share : (c,) float64
        Of the slow rank's critical path in the window: the time of the delayed operator,
        and of the host; NaN where there is no path.
    path_side : tuple of (str or None)
        `cpu` or `gpu`: what attribution says that path goes through.
    """

    group: tuple[str, ...]
    group_ranks: tuple[str, ...]
    op: tuple[str, ...]
    index: I64
    step: I64
    cluster: I64
    rank: I64
    operator: tuple[str, ...]
    delays: I64
    positive: I64
    asked_us: F64
    delay_us: F64
    slack_us: F64
    expected_us: F64
    tax_us: F64
    judged: Bool
    status: tuple[str, ...]
    reason: tuple[str | None, ...]
    straggler: I64
    culprit: tuple[str | None, ...]
    origin_culprit: tuple[str | None, ...]
    origin_rank: I64
    culprit_us: F64
    blamed_us: F64
    rank_named: Bool
    operator_named: Bool
    passed_on: Bool
    operator_share: F64
    host_share: F64
    path_side: tuple[str | None, ...]

    def __len__(self) -> int:
        return int(self.index.size)

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Hits":
        """Put rows together; None, or a field that is left out, stands for absent."""
        columns: dict[str, Any] = {}
        for name in cls.__slots__:
            values = [row.get(name) for row in rows]
            if name in _NUMBERS:
                values = [ABSENT if value is None else value for value in values]
                columns[name] = np.array(values, np.int64)
            elif name in _FLAGS:
                columns[name] = np.array([bool(value) for value in values], np.bool_)
            elif name in _TEXTS:
                columns[name] = tuple(values)
            else:
                columns[name] = np.array(values, np.float64)
        return cls(**columns)

    @property
    def alone(self) -> Bool:
        """One delay reaches it: of several, none need be the culprit; (c,) bool.

        Of all ranks; delays of 0 beside it change nothing, and do not count.
        """
        counted = np.where(self.is_control, self.delays, self.positive)
        alone: Bool = counted == 1
        return alone

    @property
    def is_control(self) -> Bool:
        """Only delays of 0 reach it, (c,) bool."""
        control: Bool = self.positive == 0
        return control

    @property
    def on_cpu(self) -> Bool:
        """The path goes through the CPU, (c,) bool."""
        return np.array([side == "cpu" for side in self.path_side], np.bool_)

    @property
    def recovered(self) -> Bool:
        """Rank and operator are named, (c,) bool."""
        both: Bool = self.judged & self.rank_named & self.operator_named
        return both

    @property
    def amount_named(self) -> Bool:
        """Rank and operator are named, and about the amount; (c,) bool."""
        apart_us = np.abs(self.blamed_us - self.expected_us)
        near: Bool = self.recovered & (apart_us <= AMOUNT_APART * self.expected_us)
        return near


_TEXTS = {
    "group", "group_ranks", "op", "operator", "status", "reason", "culprit",
    "origin_culprit", "path_side",
}  # fmt: skip
_NUMBERS = {
    "index", "step", "cluster", "rank", "delays", "positive", "straggler", "origin_rank",
}  # fmt: skip
_FLAGS = {"judged", "rank_named", "operator_named", "passed_on"}


@dataclass(frozen=True, slots=True)
class Dose:
    """The delays that reach one collective.

    `rank` is the position of the rank that was delayed most; `rows` are its delays.
    `count` are those of all ranks, `positive` of them are longer than 0.
    """

    slot: int
    rank: int
    rows: I64
    count: int
    positive: int
    asked_ns: int
    slept_ns: int
    slack_ns: int


def doses(
    slot: I64, position: I64, amounts: tuple[I64, I64], slack_ns: I64, members: list[I64]
) -> list[Dose]:
    """Add up the delays before each collective that is reached.

    Several delays of one rank add up. Where several ranks of a group were delayed, what
    shows is the difference between the one delayed most and the one delayed least.

    Parameters
    ----------
    slot, position : (d,) int64
        What each delay reaches, -1 for nothing; on which rank it was.
    amounts : pair of (d,) int64
        Asked for, and slept.
    slack_ns : (d,) int64
        What is hidden of each, -1 where unknown.
    members : list of (k,) int64
        Positions of the ranks of each slot.

    Returns
    -------
    list of Dose
        In order of slot. The slack of several delays together is not known; those of 0
        add nothing to it.

    Examples
    --------
    Rank 1 was delayed twice before collective 7, rank 0 once:

    >>> ns = np.array([5, 5, 2])
    >>> (one,) = doses(
    ...     np.array([7, 7, 7]), np.array([1, 1, 0]), (ns, ns), -np.ones(3, int),
    ...     [np.array([0, 1])] * 8,
    ... )
    >>> one.rank, one.slept_ns, one.rows, one.count
    (1, 8, array([0, 1]), 3)
    """
    found = []
    for one in np.unique(slot[slot >= 0]).tolist():
        mine = np.flatnonzero(slot == one)
        there = position[mine][:, None] == members[one]
        if not there.any(axis=1).all():
            raise ValueError(f"a delay reaches collective {one}, of which its rank is none")
        sums = np.array([each[mine] @ there for each in amounts])
        # a control of 0 ns counts for the rank that has it
        most = int(np.lexsort((there.sum(axis=0), sums[1]))[-1])
        least = np.delete(sums, most, axis=1).min(axis=1, initial=sums.max())
        asked_ns, slept_ns = sums[:, most] - (least if members[one].size > 1 else 0)
        positive = mine[amounts[0][mine] > 0]
        lone = positive if positive.size else mine
        found.append(
            Dose(
                slot=one,
                rank=int(members[one][most]),
                rows=mine[there[:, most]],
                count=mine.size,
                positive=positive.size,
                asked_ns=int(asked_ns),
                slept_ns=int(slept_ns),
                slack_ns=int(slack_ns[lone[0]]) if lone.size == 1 else ABSENT,
            )
        )
    return found


def levels_us(asked_us: F64) -> F64:
    """Group delays by size: as asked for, or if there are many sizes, the nearest of 1-2-5.

    Parameters
    ----------
    asked_us : (c,) float64

    Returns
    -------
    (c,) float64

    Examples
    --------
    >>> levels_us(np.array([0.0, 1000.0, 1000.0]))
    array([   0., 1000., 1000.])
    >>> levels_us(np.linspace(900, 2_100, 40))[[0, -1]]
    array([1000., 2000.])
    """
    exact = np.round(asked_us, 3)
    if np.unique(exact).size <= MAX_LEVELS:
        return exact
    near = np.full(exact.shape, 0.0)
    some = exact > 0
    whole = np.floor(np.log10(exact[some]))
    steps = np.array([1.0, 2.0, 5.0, 10.0])
    scaled = exact[some] / 10**whole
    place = np.abs(np.log(scaled[:, None]) - np.log(steps)).argmin(axis=1)
    near[some] = steps[place] * 10**whole
    return near
