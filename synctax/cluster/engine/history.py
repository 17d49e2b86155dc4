"""How a job fared while it ran: on which links it was slowed, how much, and from when."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64

LONGEST = 512
"""Changes that are kept of a job; more are charged to others and forgotten."""

_State = tuple[tuple[int, ...], tuple[float, ...]]
"""Links on which a job is slowed, and what it loses on each of every ns, for a byte a
second that others demand there."""


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Rates that are constant from change to change, r of them over s times.

    Parameters
    ----------
    begin_ns : (s + 1,) int64
        Of each time, and the end of the last.
    rate : (r, s) float64
    """

    begin_ns: I64
    rate: F64

    def between(self, row: I64, begin_ns: I64, end_ns: I64) -> F64:
        """Add up what a rate comes to between two times, for each of k.

        Parameters
        ----------
        row, begin_ns, end_ns : (k,) int64

        Returns
        -------
        (k,) float64
        """
        total = np.zeros((self.rate.shape[0], self.begin_ns.size))
        np.cumsum(self.rate * np.diff(self.begin_ns), axis=1, out=total[:, 1:])
        until = self._until(row, end_ns, total)
        until -= self._until(row, begin_ns, total)
        return until

    def _until(self, row: I64, time_ns: I64, total: F64) -> F64:
        begin_ns = self.begin_ns
        time_ns = np.minimum(np.maximum(time_ns, begin_ns[0]), begin_ns[-1])
        at = np.searchsorted(begin_ns[1:-1], time_ns, side="right")
        inside = time_ns - begin_ns[at]
        found: F64 = total[row, at] + inside * self.rate[row, at]
        return found


class History:
    """What slowed a job, from change to change.

    Parameters
    ----------
    now_ns : int
        When it begins.
    left : mapping of int to int
        For each link of the job, how many jobs had left it when the history began.
    """

    __slots__ = ("_begin_ns", "_states", "left")

    def __init__(self, now_ns: int, left: Mapping[int, int]) -> None:
        self.left = left
        self._begin_ns = [now_ns]
        self._states: list[_State] = [((), ())]

    def __len__(self) -> int:
        """Count changes."""
        return len(self._states)

    def add(self, now_ns: int, worst: tuple[int, ...], lost: tuple[float, ...]) -> None:
        """Take notice of how a job is slowed from now on.

        Parameters
        ----------
        now_ns : int
        worst : tuple of int
            Links on which it is; none where it is not.
        lost : tuple of float
            On each of every ns, for a byte a second that others demand there.
        """
        state = worst, lost
        if state != self._states[-1]:
            self._begin_ns.append(now_ns)
            self._states.append(state)

    def renew(self, left: Mapping[int, int], now_ns: int) -> None:
        """Forget everything but how the job is slowed now."""
        self.left = left
        self._begin_ns, self._states = [now_ns], self._states[-1:]

    def read(self, now_ns: int) -> tuple[list[tuple[int, ...]], list[int], Rates]:
        """Tell what there was until now.

        Returns
        -------
        list of tuple of int
            Sets of links that were the worst: the first rates are 1 while they were.
        list of int
            Links among these: the other rates are what was lost on each of them.
        Rates
        """
        states = self._states
        times: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for at, (worst, _) in enumerate(states):
            times[worst].append(at)
        times.pop((), None)
        links = list(dict.fromkeys(link for worst in times for link in worst))
        row_of = {link: row for row, link in enumerate(links, len(times))}
        rate = np.zeros((len(times) + len(links), len(states)))
        for row, (worst, places) in enumerate(times.items()):
            rate[row, places] = 1.0
            for of, link in enumerate(worst):
                rate[row_of[link], places] = [states[at][1][of] for at in places]
        begin_ns = np.array([*self._begin_ns, now_ns], np.int64)
        return list(times), links, Rates(begin_ns, rate)
