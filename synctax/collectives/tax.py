"""The synchronization tax of a job: waits of all collectives, and which of them count."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import F64, I64, NS_PER_S, NS_PER_US, Bool, distinct, median
from synctax.collectives.load import Job
from synctax.collectives.match import default_end_tolerance_us, match
from synctax.collectives.matches import Matches, Status
from synctax.collectives.model import UNLABELLED, Op, RankCollectives
from synctax.collectives.wait import Waits, busbw_factor, busbw_gb_per_s, exposed_ns, waits
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema.html import Shown
from synctax.trace.names import known_roles

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False)
class Tax(Shown):
    """What `measure` found. Slots and participations are those of `matches`.

    Parameters
    ----------
    matches : Matches
        Collectives and who took part in them.
    waits : Waits
        Their waits.
    exposed_ns : (p,) int64
        Part of each wait during which the GPU computed nothing.
    shown : (m,) bool
        Selected by group, operation and step.
    used : (m,) bool
        Shown, and its tax may be believed: these enter the summary.
    status : (m,) int8
        `Status` under the options (the head counts where it was asked for).
    notes : tuple of Note
        What was inferred, repaired or left out, from the files up to here.
    end_tolerance_us : float
        How far apart the ends of one collective were allowed to lie.
    steps : range or None
        The profiler steps that were selected.
    """

    matches: Matches
    waits: Waits
    exposed_ns: I64
    shown: Bool
    used: Bool
    status: np.ndarray
    notes: tuple[Note, ...]
    end_tolerance_us: float
    steps: range | None

    def __repr__(self) -> str:
        used, shown = int(self.used.sum()), int(self.shown.sum())
        ranks = len({rank.rank for rank in self.matches.ranks})
        return f"<Tax: {used} of {shown} collectives count, {ranks} ranks>"

    @cached_property
    def busbw_gb_per_s(self) -> F64:
        """Bus bandwidth of each collective net of the wait, (m,) float64; NaN unknown."""
        sizes = [group.size for group in self.matches.groups]
        table = np.array([[busbw_factor(op, size) for op in Op] for size in sizes])
        factor = table.reshape(-1, len(Op))[self.matches.group, self.matches.op]
        return busbw_gb_per_s(self.matches.payload_bytes, factor, self.waits.shortest_ns)

    @property
    def gpu_hours_waited(self) -> float:
        """Waits of all ranks in the collectives that count, in GPU hours."""
        return float(self.waits.wait_ns[self._used_rows].sum()) / NS_PER_S / 3600

    @property
    def gpu_hours_waited_exposed(self) -> float:
        """The part of it during which the GPU computed nothing, in GPU hours."""
        return float(self.exposed_ns[self._used_rows].sum()) / NS_PER_S / 3600

    @cached_property
    def _used_rows(self) -> Bool:
        return np.repeat(self.used, np.diff(self.matches.first))

    @cached_property
    def start_disagreement_us(self) -> tuple[float, float] | None:
        """How far the wait told by starts differs from the one told by durations.

        Latest less earliest start, against largest less smallest duration: two
        estimates of one thing, which agree as well as the clocks and the ends do.

        Returns
        -------
        (float, float) or None
            Median and 90 % quantile of the absolute difference over the collectives that
            count, in µs; None where clocks cannot be compared.
        """
        used = self.used & ~np.isnan(self.matches.start_spread_ns)
        if not used.any():
            return None
        tax_ns = (self.waits.longest_ns - self.waits.shortest_ns)[used]
        apart = np.abs(self.matches.start_spread_ns[used] - tax_ns) / NS_PER_US
        return median(apart), float(np.quantile(apart, 0.9))

    def to_frame(self) -> "pd.DataFrame":
        """One row per group role and operation (`schema.MEASURE`)."""
        from synctax.collectives.summary import summary

        return summary(self).to_frame()

    def per_collective(self) -> "pd.DataFrame":
        """One row per collective (`schema.MEASURE_COLLECTIVES`)."""
        from synctax.collectives.summary import per_collective

        return per_collective(self).to_frame()

    def per_rank(self) -> "pd.DataFrame":
        """One row per group role, operation and rank (`schema.MEASURE_RANKS`)."""
        from synctax.collectives.summary import per_rank

        return per_rank(self).to_frame()

    def excluded(self) -> tuple[Note, ...]:
        """What did not enter the summary: collectives by reason, then `notes`."""
        counts: dict[tuple[str, str], int] = {}
        labels = {Status.HEAD: "first collective of its group in the window"}
        for slot in np.flatnonzero(self.shown & ~self.used):
            status = Status(int(self.status[slot]))
            group = self.matches.groups[self.matches.group[slot]]
            code = int(self.matches.reason[slot])
            text = self.matches.reasons[code] if code >= 0 else ""
            what = f"{group.role} {Op(int(self.matches.op[slot])).label}"
            detail = f"{what}: {labels.get(status, text)}"
            key = (status.name.lower(), detail)
            counts[key] = counts.get(key, 0) + 1
        left_out = tuple(Note(key[0], count, key[1]) for key, count in counts.items())
        return (*left_out, *self.notes)


def measure(
    job: Job | Sequence[RankCollectives],
    *,
    group: str | None = None,
    op: str | None = None,
    steps: range | None = None,
    include_head: bool = False,
    end_tolerance_us: float | None = None,
) -> Tax:
    """Measure how long ranks waited for each other at every collective.

    Parameters
    ----------
    job : Job or sequence of RankCollectives
        As `load` returns it.
    group : str, optional
        Only groups of this role (`tp`), or with this name. A lone unlabelled group
        answers any role.
    op : str, optional
        Only this operation, `all_reduce` say.
    steps : range, optional
        Only collectives of these profiler steps.
    include_head : bool
        Count the first collective of each group and window, in which ranks still wait
        for each other's profiler to start.
    end_tolerance_us : float, optional
        Ends of one collective may lie this far apart, in µs. Default: 200, or 10,000
        where collectives run on CPUs.

    Returns
    -------
    Tax

    Raises
    ------
    SynctaxError
        If there is no such group, operation or step, or nothing to compare.
    TypeError, ValueError
        If `job` is not what `load` returns, `steps` no range, or the tolerance no length
        of time.

    References
    ----------
    Synchronization-tax paper, section 3.2.
    """
    read, notes = (job.ranks, job.notes) if isinstance(job, Job) else (tuple(job), ())
    _check_call(read, steps, end_tolerance_us)
    notes += tuple(_merged([note for rank in read for note in rank.notes]))
    if end_tolerance_us is None:
        end_tolerance_us = default_end_tolerance_us(read)
    found = match(read, end_tolerance_us=end_tolerance_us)
    if not len(found):
        raise SynctaxError(
            f"no communication kernel on any of {len(read)} ranks; "
            "profile a window in which collectives run, with CUDA activity recorded"
        )
    shown, said = _select(found, group, op, steps)
    status = found.own_status if include_head else found.status
    used = shown & (status == Status.OK)
    table = found.table
    measured = waits(
        found.first,
        table.rank[found.row],
        table.duration_ns[found.row],
        resolution_ns=_resolution_ns(table.start_ns, table.duration_ns),
    )
    exposed = exposed_ns(
        found.ranks,
        table.rank[found.row],
        table.start_ns[found.row],
        measured.wait_ns,
    )
    return Tax(
        matches=found,
        waits=measured,
        exposed_ns=exposed,
        shown=shown,
        used=used,
        status=status,
        notes=(*found.notes, *_incomplete(found, shown), *said, *notes),
        end_tolerance_us=end_tolerance_us,
        steps=steps,
    )


def _check_call(
    read: Sequence[object], steps: object, end_tolerance_us: float | None
) -> None:
    if not all(isinstance(rank, RankCollectives) for rank in read):
        raise TypeError("measure wants the job that synctax.load(paths) returns, not paths")
    if steps is not None and not isinstance(steps, range):
        raise TypeError(f"steps must be a range such as range(3, 10), not {steps!r}")
    if end_tolerance_us is not None and not 0 <= end_tolerance_us < float("inf"):
        raise ValueError(f"end_tolerance_us must be 0 or more, not {end_tolerance_us}")


def _resolution_ns(start_ns: I64, duration_ns: I64) -> int:
    """1,000 where the trace tells whole µs, else 0: durations in ns are what they are."""
    whole_us = (start_ns % NS_PER_US == 0).all() and (duration_ns % NS_PER_US == 0).all()
    return NS_PER_US if whole_us else 0


def _incomplete(found: Matches, shown: Bool) -> list[Note]:
    """Say of which groups ranks were not read: the last to arrive may be among them."""
    numbers = distinct(found.group[shown])
    counts: dict[tuple[str, int, int], int] = {}
    for group in (found.groups[number] for number in numbers):
        if 1 < len(group.members) < group.size:
            key = (group.role, len(group.members), group.size)
            counts[key] = counts.get(key, 0) + 1
    return [
        Note(
            "group_incomplete",
            count,
            f"{role} group with {read} of {size} ranks read: waits are among those, and "
            "less than the whole group's",
        )
        for (role, read, size), count in counts.items()
    ]


def _merged(notes: list[Note]) -> list[Note]:
    """One note a reason, over all ranks."""
    merged: dict[tuple[str, str], Note] = {}
    for note in notes:
        key = (note.reason, note.detail)
        old = merged.get(key)
        where = old.where if old else note.where
        count = note.count + (old.count if old else 0)
        merged[key] = Note(note.reason, count, note.detail, where)
    return list(merged.values())


def _select(
    found: Matches, group: str | None, op: str | None, steps: range | None
) -> tuple[Bool, tuple[Note, ...]]:
    shown = np.ones(len(found), np.bool_)
    said: tuple[Note, ...] = ()
    if group is not None:
        wanted, said = _groups_of(found, group)
        shown &= np.isin(found.group, wanted)
    if op is not None:
        known = {Op(int(code)).label for code in distinct(found.op[shown])}
        if op not in known:
            raise SynctaxError(f"no {op} among the collectives; there are {_some(known)}")
        shown &= found.op == Op[op.upper()]
    if steps is not None:
        inside = (found.step >= steps.start) & (found.step < steps.stop)
        if not (shown & inside).any():
            known_steps = {str(step) for step in distinct(found.step[shown]) if step >= 0}
            there = (
                f"there are {_some(known_steps)}" if known_steps else "no step is marked"
            )
            raise SynctaxError(f"no collective in the steps asked for; {there}")
        shown &= inside
    return shown, said


def _groups_of(found: Matches, wanted: str) -> tuple[list[int], tuple[Note, ...]]:
    hit = [i for i, g in enumerate(found.groups) if wanted in (g.role, g.name)]
    if hit:
        return hit, ()
    roles = {g.role for g in found.groups}
    if roles == {UNLABELLED} and wanted in known_roles():
        note = Note(
            "unlabelled_group",
            len(found.groups),
            f"the trace names no group: all are taken for {wanted}",
        )
        return list(range(len(found.groups))), (note,)
    raise SynctaxError(f"no group {wanted}; there are {_some(roles)}")


def _some(names: Collection[object]) -> str:
    texts = sorted(map(str, names), key=lambda text: (len(text), text))
    shown = ", ".join(texts[:12])
    return shown if len(texts) <= 12 else f"{shown} and {len(texts) - 12} more"
