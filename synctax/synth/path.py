"""Why a rank arrived when it did: the walk back through the maxima of the simulation.

Every start in the simulation is the largest of a few sums, each the completion of
something earlier plus a latency. The walk goes from an arrival to the sum that won, to
what completed there, and on, down to the fence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from synctax.synth.job import SynthJob
from synctax.synth.lookup import call_name, launched_name, operator_name
from synctax.synth.maxima import Maxima, Source
from synctax.synth.program import Program
from synctax.synth.simulate import CALL_NS, START_LATENCY_NS, StepTimes

Kind = Literal[
    "kernel", "comm", "cpu", "call", "return", "gap", "sync", "launch", "stream", "cross"
]
LATENCIES: tuple[Kind, ...] = ("launch", "stream", "cross")
"""Kinds of items in which nothing happens."""


@dataclass(frozen=True, slots=True)
class PathItem:
    """One stretch of a critical path.

    Parameters
    ----------
    kind : str
        `kernel` and `comm`: a kernel ran, a collective (its wait included). On the CPU:
        `cpu`: the operators of a launch until they launch; `call`: the launching call;
        `return`: the operators after it; `gap`: nothing is logged; `sync`:
        `cudaEventSynchronize`, from when what it waited for had ended. Latencies:
        `launch`: from the call to its kernel; `stream`: from kernel to kernel of a
        stream; `cross`: from one stream to another.
    name : str
        Of the kernel, call or innermost operator; empty where nothing is logged. Of a
        latency: what follows it.
    step, position : int
        The step from 0, and where in it: the launch of `kernel`, `comm` and latencies,
        else the slot; for `gap` the slot after it. What follows the last slot has the
        number of slots.
    start_ns, end_ns : int
        True time since the start of the job, clipped at the fence.
    """

    kind: Kind
    name: str
    step: int
    position: int
    start_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        """How long it lasts."""
        return self.end_ns - self.start_ns

    @property
    def key(self) -> tuple[Kind, int, int]:
        """The same on every rank: kind, step and position."""
        return self.kind, self.step, self.position


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """What decided when a rank arrived at a collective.

    Parameters
    ----------
    rank : int
        Whose path.
    items : tuple of PathItem
        From the fence to the arrival, each beginning where the one before ends.
    margin_ns : int or None
        The least by which what decided completed later than anything else that the same
        start waited for; negative where a shorter latency let the earlier one win; None
        where nothing had an alternative.
    """

    rank: int
    items: tuple[PathItem, ...]
    margin_ns: int | None

    @property
    def window_ns(self) -> int:
        """From the fence to the arrival."""
        return sum(item.duration_ns for item in self.items)


@dataclass(frozen=True, slots=True)
class _Argument:
    """One argument of a maximum: completion, latency, and the item that completed."""

    kind: Kind
    completion_ns: int
    latency_ns: int
    step: int
    position: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Some consecutive steps of a job, and what decided in them.

    Parameters
    ----------
    job, program
        The job and its step.
    rules : Maxima
        Of the program.
    steps : mapping of int to StepTimes
        Steps by number, from 0; at least those that the paths asked for reach.
    """

    job: SynthJob
    program: Program
    rules: Maxima
    steps: Mapping[int, StepTimes]

    def path(self, rank: int, step: int, position: int, *, fence_ns: int) -> CriticalPath:
        """Walk from the arrival at a collective back to the fence.

        Parameters
        ----------
        rank, step, position : int
            Who arrived where: step and launch of the collective.
        fence_ns : int
            True time at which the walk ends.

        Returns
        -------
        CriticalPath
            Its items tile the time from the fence to the arrival.
        """
        walk = _Walk(self, rank, fence_ns)
        walk.run(step, position)
        return CriticalPath(rank, tuple(reversed(walk.items)), walk.margin_ns)

    def span(self, rank: int, key: tuple[Kind, int, int]) -> tuple[int, int]:
        """Find where something lies on a rank, whatever its path; no latencies.

        Parameters
        ----------
        rank : int
            Whose.
        key : (kind, step, position)
            As of a `PathItem`.

        Returns
        -------
        (int, int)
            Start and end, in ns of true time.
        """
        kind, step, position = key
        times = self.steps[step]
        if kind in ("kernel", "comm"):
            start_ns = times.start_ns[rank, position]
            return int(start_ns), int(start_ns + times.duration_ns[rank, position])
        if kind == "sync":
            return self.sync(rank, step).completion_ns, int(times.end_ns[rank])
        if kind == "gap":
            return self._gap(rank, step, position)
        edges = (times.slot_ns, times.call_ns, times.call_end_ns, times.slot_end_ns)
        first = ("cpu", "call", "return").index(kind)
        return int(edges[first][rank, position]), int(edges[first + 1][rank, position])

    def _gap(self, rank: int, step: int, position: int) -> tuple[int, int]:
        times = self.steps[step]
        if position == len(self.program.slots):
            return int(times.slot_end_ns[rank, -1]), int(times.sync_ns[rank])
        end_ns = int(times.slot_ns[rank, position])
        if position:
            return int(times.slot_end_ns[rank, position - 1]), end_ns
        return int(self.steps[step - 1].end_ns[rank]), end_ns

    def arguments(self, rank: int, step: int, position: int) -> list[_Argument]:
        """List what the start of a kernel is the maximum of."""
        slot = self.program.launches[position].slot
        launched_ns = int(self.steps[step].call_end_ns[rank, slot])
        found = [_Argument("launch", launched_ns, START_LATENCY_NS, step, slot)]
        return found + self._sources(rank, step, self.rules.starts[position])

    def sync(self, rank: int, step: int) -> _Argument:
        """Find what let the synchronisation at the end of a step return."""
        return max(self.sync_arguments(rank, step), key=_sum)

    def sync_arguments(self, rank: int, step: int) -> list[_Argument]:
        """List what the end of a step on the CPU is the maximum of."""
        sync_ns = int(self.steps[step].sync_ns[rank])
        found = [_Argument("sync", sync_ns, CALL_NS, step, len(self.program.slots))]
        earlier = step - self.job.run_ahead_steps
        for one in self._sources(rank, earlier, self.rules.step_end):
            latency_ns = one.latency_ns + CALL_NS
            found.append(
                _Argument(one.kind, one.completion_ns, latency_ns, one.step, one.position)
            )
        return found

    def _sources(
        self, rank: int, step: int, sources: tuple[Source, ...]
    ) -> list[_Argument]:
        found = []
        for source in sources:
            times = self.steps.get(step - source.back)
            if times is not None:
                end_ns = times.start_ns[rank, source.position]
                end_ns = end_ns + times.duration_ns[rank, source.position]
                where = (step - source.back, source.position)
                found.append(_Argument(source.kind, int(end_ns), source.latency_ns, *where))
        return found

    def name(self, kind: Kind, position: int) -> str:
        """Name what the trace shows of an item."""
        if kind == "gap":
            return ""
        if kind == "sync":
            return "cudaEventSynchronize"
        if kind == "call":
            return call_name(self.job, self.program, position)
        if kind in ("cpu", "return"):
            return operator_name(self.job, self.program, position)
        return launched_name(self.job, self.program, position)


def _sum(argument: _Argument) -> int:
    return argument.completion_ns + argument.latency_ns


_Place = tuple[Literal["gpu", "cpu", "sync"], int, int]
"""Where a walk stands: before the start of a launch, in a slot's call, at a step's end."""


@dataclass(slots=True)
class _Walk:
    """One walk; `items` are in order from the arrival back."""

    timeline: Timeline
    rank: int
    fence_ns: int
    items: list[PathItem] = field(default_factory=list)
    margin_ns: int | None = None

    def run(self, step: int, position: int) -> None:
        place: _Place | None = ("gpu", step, position)
        while place is not None:
            where, step, position = place
            if where == "gpu":
                place = self.start(step, position)
            elif where == "cpu":
                place = self.launch(step, position)
            else:
                place = self.step_end(step)

    def start(self, step: int, position: int) -> _Place | None:
        """Go from the start of a kernel to what it waited for."""
        won = self.decide(self.timeline.arguments(self.rank, step, position))
        if not self.add((won.kind, step, position), (won.completion_ns, _sum(won))):
            return None
        return ("cpu", step, won.position) if won.kind == "launch" else self.kernel(won)

    def kernel(self, won: _Argument) -> _Place | None:
        comm = self.timeline.program.launches[won.position].comm
        kind: Kind = "kernel" if comm is None else "comm"
        going = self.add_span((kind, won.step, won.position))
        return ("gpu", won.step, won.position) if going else None

    def launch(self, step: int, slot: int) -> _Place | None:
        """Go from a launching call down the CPU to the step before."""
        if not self.add_span(("call", step, slot)):
            return None
        if not self.add_span(("cpu", step, slot)):
            return None
        return self.slots(step, slot)

    def slots(self, step: int, before: int) -> _Place | None:
        """Go down the slots before one."""
        kinds: tuple[Kind, ...] = ("return", "call", "cpu")
        if not self.add_span(("gap", step, before)):
            return None
        for slot in range(before - 1, -1, -1):
            for kind in kinds:
                if not self.add_span((kind, step, slot)):
                    return None
            if not self.add_span(("gap", step, slot)):
                return None
        return "sync", step - 1, 0

    def step_end(self, step: int) -> _Place | None:
        """Go from the end of a step on the CPU to what it waited for."""
        won = self.decide(self.timeline.sync_arguments(self.rank, step))
        slots = len(self.timeline.program.slots)
        if not self.add(("sync", step, slots), (won.completion_ns, _sum(won))):
            return None
        return self.slots(step, slots) if won.kind == "sync" else self.kernel(won)

    def decide(self, arguments: list[_Argument]) -> _Argument:
        won = max(arguments, key=_sum)
        others_ns = [one.completion_ns for one in arguments if one is not won]
        # What completed before the fence is cut there: it does not matter which of them.
        if others_ns and max(won.completion_ns, *others_ns) > self.fence_ns:
            margin_ns = won.completion_ns - max(others_ns)
            if self.margin_ns is None or margin_ns < self.margin_ns:
                self.margin_ns = margin_ns
        return won

    def add_span(self, key: tuple[Kind, int, int]) -> bool:
        return self.add(key, self.timeline.span(self.rank, key))

    def add(self, key: tuple[Kind, int, int], span: tuple[int, int]) -> bool:
        """Take an item, cut at the fence; say whether the walk goes on before it."""
        kind, step, position = key
        start_ns = max(span[0], self.fence_ns)
        if span[1] > start_ns:
            name = self.timeline.name(kind, position)
            self.items.append(PathItem(kind, name, step, position, start_ns, span[1]))
        return span[0] > self.fence_ns
