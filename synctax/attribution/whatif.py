"""What step time and tax would be if some durations were different."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import ABSENT, F64, I64, NS_PER_US, Bool
from synctax.attribution.apply import apply
from synctax.attribution.changes import Change, Replace, parse_change
from synctax.attribution.moments import when
from synctax.attribution.replay import Barriers, Replayed, Schedule, replay, schedule
from synctax.attribution.rounds import OnProgress, OnRound
from synctax.attribution.world import World, read_world
from synctax.collectives.load import Cache
from synctax.collectives.tax import Tax
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema.html import Shown
from synctax.trace.on_scheduler import on_scheduler
from synctax.trace.pool import Workers

if TYPE_CHECKING:
    import pandas as pd

OnReplay = Callable[[int, int], None]

ALL_TOGETHER = "all together"
"""How the scenario of several changes at once is called."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How long everything takes.

    Parameters
    ----------
    total_ns : (r,) int64
        Of each rank, in each profiler window of several: from its first event to the end
        of its last.
    step : (s,) int64
        Numbers of the profiler steps that were asked for; one -1 for the whole window
        where none is marked.
    step_ns : (s,) float64
        Length of each step (`step_ends`; of ranks without work on a GPU, between the
        host's marks): mean over the ranks and profiler windows in which it is.
    tax_ns : (m,) int64
        Of each collective of the tax's matches: longest less shortest duration.
    """

    total_ns: I64
    step: I64
    step_ns: F64
    tax_ns: I64

    @property
    def mean_step_us(self) -> float:
        """Mean over the steps of `step_ns`, in µs."""
        return float(self.step_ns.mean()) / NS_PER_US

    @property
    def mean_total_us(self) -> float:
        """Mean of `total_ns`: over the ranks, and the windows of each, in µs."""
        return float(self.total_ns.mean()) / NS_PER_US


@dataclass(frozen=True, slots=True)
class Scenario:
    """One or more changes, and what comes of them.

    `nodes` is how many durations they changed.
    """

    text: str
    changes: tuple[Change | Replace, ...]
    outcome: Outcome
    nodes: int


@dataclass(frozen=True, repr=False, eq=False)
class WhatIf(Shown):
    """What `whatif` found.

    Parameters
    ----------
    tax : Tax
    recorded : Outcome
        As recorded.
    unchanged : Outcome
        Of a replay in which nothing is changed.
    error_ns : int
        Largest difference of such a replay from what was recorded, over starts and ends
        of all nodes.
    scenarios : tuple of Scenario
        A change each, then all together where there are several.
    counted : (m,) bool
        Collectives that enter sums of the tax: those that count in `tax` and are replayed.
    nodes : int
        Nodes of all graphs.
    by_marks : bool
        Whether steps of some rank, or all, are those between the host's marks.
    notes : tuple of Note
        Those of `tax`, then what was left out of graphs and replays.
    """

    tax: Tax
    recorded: Outcome
    unchanged: Outcome
    error_ns: int
    scenarios: tuple[Scenario, ...]
    counted: Bool
    nodes: int
    by_marks: bool
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        return f"<WhatIf: {len(self.scenarios)} scenarios, {self.nodes:,} nodes>"

    @cached_property
    def parts(self) -> tuple[tuple[str, int, I64], ...]:
        """Group role, operation (`Op`) and the collectives that count, in that order."""
        matches = self.tax.matches
        slots = np.flatnonzero(self.counted)
        own: dict[tuple[str, int], list[int]] = {}
        for slot in slots.tolist():
            key = matches.groups[matches.group[slot]].role, int(matches.op[slot])
            own.setdefault(key, []).append(slot)
        return tuple((*key, np.array(own[key], np.int64)) for key in sorted(own))

    def counted_tax_us(self, outcome: Outcome) -> float:
        """Sum the tax of the collectives that count, in µs."""
        return float(outcome.tax_ns[self.counted].sum()) / NS_PER_US

    def to_frame(self) -> "pd.DataFrame":
        """One row a change (`schema.WHATIF`)."""
        from synctax.attribution.whatif_summary import per_change

        return per_change(self)

    def per_op(self) -> "pd.DataFrame":
        """One row a change, group role and operation (`schema.WHATIF_OPS`)."""
        from synctax.attribution.whatif_summary import per_op

        return per_op(self)

    def per_step(self) -> "pd.DataFrame":
        """One row a change and step (`schema.WHATIF_STEPS`)."""
        from synctax.attribution.whatif_summary import per_step

        return per_step(self)

    def excluded(self) -> tuple[Note, ...]:
        """Collectives that do not count, by reason; then `notes`."""
        own = (note for note in self.notes if note not in self.tax.notes)
        return (*self.tax.excluded(), *own)

    def verdict(self) -> tuple[str, ...]:
        """Say in a sentence what each change would be worth."""
        from synctax.attribution.whatif_verdict import sentences

        return sentences(self)


def whatif(  # noqa: PLR0913 - each choice is one of its own
    tax: Tax,
    *changes: str | Change | Replace,
    workers: Workers = None,
    scheduler: str | None = None,
    cache: Cache | None = None,
    on_progress: OnProgress | None = None,
    on_round: OnRound | None = None,
    on_replay: OnReplay | None = None,
) -> WhatIf:
    """Replay a job with other durations: what step time and tax would be.

    Parameters
    ----------
    tax : Tax
        What `synctax.measure` found. The files of its ranks are read again for their
        graphs, and all of their windows is replayed; of its selection of groups,
        operations and steps the results tell.
    *changes : str, Change or Replace
        Texts are parsed by `parse_change`: `"class=gemm:median"`. Each change is tried
        alone; several are tried together as well.
    workers, scheduler, cache
        As for `synctax.load`.
    on_progress, on_round
        As for `synctax.attribute`.
    on_replay : callable, optional
        Called with how many replays are done and how many there are.

    Returns
    -------
    WhatIf

    Raises
    ------
    SynctaxError
        If a change names what is not there, a file can no longer be read, or memory runs
        out.
    ValueError
        If a text is no change, or a replacement cannot be.
    TypeError
        If `tax` is not what `measure` returns.

    Notes
    -----
    Collectives that are matched on all ranks read and whose ranks leave together are
    barriers; the others keep their durations. `tax=0` asks what if nobody ever waited:
    every rank leaves a collective one transfer after its own arrival, however late others
    are, so that each runs at its own pace. Its time is then that of the mean rank, not of
    the slowest.

    References
    ----------
    Synchronization-tax paper, sections 3.2 and 4.1.

    Examples
    --------
    >>> job = synctax.load("traces/")  # doctest: +SKIP
    >>> found = whatif(synctax.measure(job), "cpu:median", "tax=0")  # doctest: +SKIP
    >>> found.verdict()  # doctest: +SKIP
    """
    if not isinstance(tax, Tax):
        raise TypeError("whatif wants the tax that synctax.measure(job) returns")
    asked = [parse_change(one) if isinstance(one, str) else one for one in changes]
    try:
        with on_scheduler(workers, scheduler) as crew:
            world = read_world(
                tax, workers=crew, cache=cache, on_progress=on_progress, on_round=on_round
            )
        return explore(world, asked, on_replay=on_replay)
    except MemoryError as error:
        raise SynctaxError(
            f"memory ran out: a replay holds the graphs of all {len(tax.matches.ranks)} "
            "ranks at once; choose some of them (--ranks), or profile fewer steps"
        ) from error


def explore(
    world: World,
    changes: Sequence[Change | Replace],
    *,
    on_replay: OnReplay | None = None,
) -> WhatIf:
    """Replay a job that was read before, as `whatif` does.

    Parameters
    ----------
    world : World
        As `world.read_world` returns it; it may be used again.
    changes : sequence of Change or Replace
    on_replay : callable, optional
        As for `whatif`.
    """
    network = world.network
    tried: list[tuple[str, tuple[Change | Replace, ...]]]
    tried = [(change.text, (change,)) for change in changes]
    if len(changes) > 1:
        tried.append((ALL_TOGETHER, tuple(changes)))
    told = on_replay or _silent
    told(0, len(tried) + 1)
    barriers, _ = world.barriers()
    plan = schedule(network, barriers)
    notes = [*dict.fromkeys((*world.tax.notes, *world.notes)), *_unmarked(world)]
    if plan.separated:
        detail = "collectives in a circle of what follows what: left by each rank alone"
        notes.append(Note("replay_circular", plan.separated, detail))
    same = replay(plan, network.duration_ns)
    late = np.abs(same.start_ns - network.start_ns).max()
    error = max(int(late), int(np.abs(same.end_ns - network.end_ns).max()))
    told(1, len(tried) + 1)
    scenarios: list[Scenario] = []
    for text, several in tried:
        scenario, said = _scenario(world, plan, text, several)
        scenarios.append(scenario)
        told(1 + len(scenarios), len(tried) + 1)
        notes += [note for note in said if note not in notes]
    return WhatIf(
        tax=world.tax,
        recorded=_outcome(world, Replayed(network.start_ns, network.end_ns)),
        unchanged=_outcome(world, same),
        error_ns=error,
        scenarios=tuple(scenarios),
        counted=world.tax.used & world.joint,
        nodes=len(network),
        by_marks=bool(_in(world.tax.steps, world.marks.number).any()),
        notes=tuple(notes),
    )


def _silent(done: int, total: int) -> None:
    """Progress that nobody asked for."""


def _scenario(
    world: World, plan: Schedule, text: str, changes: tuple[Change | Replace, ...]
) -> tuple[Scenario, tuple[Note, ...]]:
    applied = apply(world, changes)
    if not applied.together.all():
        plan = _freed(world, plan, applied.together)
    done = replay(plan, applied.duration_ns)
    return Scenario(text, changes, _outcome(world, done), applied.nodes), applied.notes


def _freed(world: World, plan: Schedule, together: Bool) -> Schedule:
    """Order the computation anew without some of the barriers."""
    _, slot = world.barriers()
    free = ~together[slot]
    own = plan.barriers.slot.copy()
    own[free] = slot.size + np.arange(int(free.sum()))
    number = np.unique(own, return_inverse=True)[1]
    return schedule(world.network, Barriers(plan.barriers.node, number))


def _outcome(world: World, done: Replayed) -> Outcome:
    network = world.network
    begin = network.base[:-1]
    total = np.maximum.reduceat(done.end_ns, begin) - network.start_ns[begin]
    number, length = _steps(world, done)
    wanted = _in(world.tax.steps, number)
    if wanted.any():
        step, of = np.unique(number[wanted], return_inverse=True)
        length_ns = np.bincount(of, length[wanted]) / np.bincount(of)
    else:
        step, length_ns = np.array([ABSENT]), np.array([total.mean()])
    return Outcome(total, step, length_ns, _tax_ns(world, done))


def _steps(world: World, done: Replayed) -> tuple[I64, I64]:
    """Number and length of each step of each rank."""
    marks = world.marks
    number, length = world.ends.lengths_ns(done.end_ns)
    end = when(world.network, done, marks.end_node, marks.end_ns)
    begin = when(world.network, done, marks.begin_node, marks.begin_ns)
    return np.append(number, marks.number), np.append(length, end - begin)


def _unmarked(world: World) -> list[Note]:
    """Say it where no step that is wanted is marked on any rank."""
    number = np.append(world.ends.number, world.marks.number)
    if (_in(world.tax.steps, number) & (number >= 0)).any():
        return []
    which = "profiler step" if world.tax.steps is None else "profiler step asked for"
    detail = f"times taken of whole windows: no {which} is marked on any rank"
    return [Note("whatif_no_step", len(world.tax.matches.ranks), detail)]


def _in(steps: range | None, number: I64) -> Bool:
    if steps is None:
        return np.ones(number.size, np.bool_)
    return (number >= steps.start) & (number < steps.stop)


def _tax_ns(world: World, done: Replayed) -> I64:
    matches = world.tax.matches
    duration = matches.table.duration_ns[matches.row].copy()
    slot = np.repeat(np.arange(len(matches)), np.diff(matches.first))
    joint = world.joint[slot]
    duration[joint] = done.duration_ns[world.node[joint]]
    first = matches.first[:-1]
    spread: I64 = np.maximum.reduceat(duration, first) - np.minimum.reduceat(
        duration, first
    )
    return spread
