"""Who slowed whom: what a job loses is laid on the others of its worst link."""

import numpy as np

from synctax.arrays import F64, I64, NS_PER_S
from synctax.cluster.engine.history import LONGEST, History
from synctax.cluster.engine.rules import Rule
from synctax.cluster.engine.running import Running
from synctax.cluster.engine.traffic import Traffic
from synctax.cluster.simulation import Interference

_NEVER_NS = np.iinfo(np.int64).max


class Blame:
    """Keeps, for each job that is slowed, on which links and since when.

    What a job loses to another in a time is the other's demand times what is lost in that
    time for each byte a second that others demand. The latter is added up once for all of
    them, while the job runs, and each of them is charged what came to it between its start
    and its end, when the job has ended: so the cost grows with the changes that a job sees
    and with the pairs that there are, and not with their product.

    Parameters
    ----------
    jobs : int
        How many there are in all.
    rule : Rule
    traffic : Traffic
    """

    def __init__(self, jobs: int, rule: Rule, traffic: Traffic) -> None:
        self._rule, self._traffic, self._on = rule, traffic, traffic.on
        self._slowed: dict[int, History] = {}
        # jobs that have left each link, as long as any is on it that was beside them
        self._left: list[list[int]] = [[] for _ in traffic.on]
        self._start_ns = np.zeros(jobs, np.int64)
        self._end_ns = np.full(jobs, _NEVER_NS)
        self._among = np.zeros(jobs)
        self._found: list[tuple[int, I64, F64, F64]] = []

    def join(self, one: Running) -> None:
        """Take notice of a job that starts."""
        if one.links:
            self._start_ns[one.job] = one.start_ns
            self._among[one.job] = one.among

    def look(self, one: Running, now_ns: int) -> None:
        """See who slows a job from now on."""
        slowed = one.stretch > one.alone_stretch
        history = self._slowed.get(one.job)
        if history is None:
            if not slowed:
                return
            history = self._slowed[one.job] = History(now_ns, self._gone(one))
        if slowed:
            worst, others = self._rule.worst(one), self._traffic.others
            # equally bad links count alike
            each = (1 - one.alone_stretch / one.stretch) / len(worst)
            lost = [each / demand if (demand := others(at, one)) else 0.0 for at in worst]
            history.add(now_ns, worst, tuple(lost))
        else:
            history.add(now_ns, (), ())
        if len(history) >= LONGEST:
            self._charge(one, history, now_ns)
            history.renew(self._gone(one), now_ns)

    def close(self, one: Running, now_ns: int) -> None:
        """Lay on others what a job lost that has left its links."""
        if not one.links:
            return
        self._end_ns[one.job] = now_ns
        history = self._slowed.pop(one.job, None)
        if history is not None:
            self._charge(one, history, now_ns)
        for link in one.links:
            if self._on[link]:
                self._left[link].append(one.job)
            else:
                self._left[link].clear()

    def _gone(self, one: Running) -> dict[int, int]:
        """Count, for each link of a job, those that have left it."""
        return {link: len(self._left[link]) for link in one.links}

    def _charge(self, one: Running, history: History, now_ns: int) -> None:
        sets, links, rates = history.read(now_ns)
        if not sets:
            return
        beside = {link: self._beside(one, link, history.left[link]) for link in links}
        groups = [_union([beside[link] for link in worst]) for worst in sets]
        groups += [beside[link] for link in links]
        by = np.concatenate(groups)
        row = np.repeat(np.arange(len(groups)), [jobs.size for jobs in groups])
        found = rates.between(row, self._start_ns[by], self._end_ns[by])
        shared_ns = np.where(row < len(sets), found, 0.0)
        lost_ns = (found - shared_ns) * self._among[by]
        self._found.append((one.job, *_added_up(by, shared_ns, lost_ns)))

    def _beside(self, one: Running, link: int, gone: int) -> I64:
        """List jobs that were on a link of a job since so many had left it."""
        now, left = self._on[link], self._left[link][gone:]
        found: I64 = np.array([*now, *left], np.int64)
        return np.asarray(found[found != one.job])

    def read(self) -> Interference:
        """Write down the pairs, largest loss first."""
        many = [by.size for _, by, _, _ in self._found]
        job = np.repeat(np.array([one[0] for one in self._found], np.int64), many)
        by = np.concatenate([np.empty(0, np.int64), *(one[1] for one in self._found)])
        shared_ns, lost_ns = (
            np.concatenate([np.empty(0), *(one[at] for one in self._found)])
            for at in (2, 3)
        )
        self._found.clear()
        # a long history was charged in parts
        jobs = self._among.size
        pairs, shared_ns, lost_ns = _added_up(job * jobs + by, shared_ns, lost_ns)
        job, by = np.divmod(pairs, max(1, jobs))
        order = np.lexsort((by, job, -lost_ns))
        return Interference(
            job=job[order].astype(np.int32),
            by=by[order].astype(np.int32),
            shared_s=shared_ns[order] / NS_PER_S,
            lost_s=lost_ns[order] / NS_PER_S,
        )


def _union(jobs: list[I64]) -> I64:
    return jobs[0] if len(jobs) == 1 else np.unique(np.concatenate(jobs))


def _added_up(of: I64, shared_ns: F64, lost_ns: F64) -> tuple[I64, F64, F64]:
    """Add up what is of one number, and leave out those that shared no time."""
    found, at = np.unique(of, return_inverse=True)
    together: F64 = np.bincount(at, shared_ns, found.size).astype(np.float64)
    lost: F64 = np.bincount(at, lost_ns, found.size).astype(np.float64)
    there = together > 0
    return found[there], together[there], lost[there]
