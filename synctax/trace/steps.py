"""The profiler steps of a rank, and which step a moment belongs to.

A step is marked twice: `ProfilerStep#N` on the CPU (when the program ran the step) and,
where Kineto copies annotations to the GPU, on the stream (when the step's kernels ran).
GPU work runs behind the CPU, so the last kernels of step N lie in the CPU window of step
N+1. What a kernel belongs to is decided by the call that launched it; only a kernel
without such a call is placed by its own start, in the GPU's window where there is one.
"""

import re
from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.trace.model import EventKind, RankTrace
from synctax.trace.names import by_name
from synctax.trace.numbers import MAX_COUNT, bounded

_STEP = re.compile(r"ProfilerStep#([0-9]+)$")


@dataclass(frozen=True, slots=True)
class Steps:
    """Windows of steps, in order of start: `number`, `start_ns`, `end_ns` (s,) int64."""

    number: I64
    start_ns: I64
    end_ns: I64

    def __len__(self) -> int:
        return int(self.number.size)

    def at(self, time_ns: I64) -> I64:
        """Find the step whose window holds each moment.

        Parameters
        ----------
        time_ns : (n,) int64
            Moments, in ns.

        Returns
        -------
        (n,) int64
            Step numbers, -1 outside of every window. An end belongs to the next step.
        """
        if not len(self):
            return np.full(time_ns.size, ABSENT, np.int64)
        slot = np.searchsorted(self.start_ns, time_ns, side="right") - 1
        held = (slot >= 0) & (time_ns < self.end_ns[slot])
        return np.where(held, self.number[slot], ABSENT)


def cpu_steps(trace: RankTrace) -> Steps:
    """Read the steps as the program ran them; the GPU's where the CPU has none."""
    steps = _steps(trace, EventKind.ANNOTATION)
    return steps if len(steps) else gpu_steps(trace)


def gpu_steps(trace: RankTrace) -> Steps:
    """Read the steps as the GPU ran them; empty where Kineto wrote none."""
    return _steps(trace, EventKind.GPU_ANNOTATION)


def _steps(trace: RankTrace, kind: EventKind) -> Steps:
    events = trace.events
    rows = np.flatnonzero(events.kind == kind)
    number = by_name(trace.strings, events.name[rows], _number, np.int64) - 1
    rows, number = rows[number >= 0], number[number >= 0]
    # One window a step: several threads or streams may repeat it.
    number, owner = np.unique(number, return_inverse=True)
    start = np.full(number.size, np.iinfo(np.int64).max)
    end = np.full(number.size, np.iinfo(np.int64).min)
    np.minimum.at(start, owner, events.start_ns[rows])
    np.maximum.at(end, owner, events.start_ns[rows] + events.duration_ns[rows])
    order = np.argsort(start, kind="stable")
    return Steps(number[order], start[order], end[order])


def step_number(name: str) -> int | None:
    """Number of the step that a name marks; None where it marks none, or a damaged one.

    >>> step_number("ProfilerStep#7"), step_number("ProfilerStep#" + "9" * 99)
    (7, None)
    """
    found = _STEP.match(name)
    return bounded(found[1], MAX_COUNT) if found else None


def _number(name: str) -> int:
    """Number of the step, plus 1; 0 where there is none."""
    number = step_number(name)
    return 0 if number is None else number + 1
