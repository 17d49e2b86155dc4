"""How streams wait for each other, as the trace of a rank shows it: calls and records."""

from dataclasses import dataclass

from synctax.synth.events import runtime_event, sync_event
from synctax.synth.frame import Face
from synctax.synth.groups import COMPUTE_STREAM, SIDE_STREAM
from synctax.synth.job import SynthJob
from synctax.synth.program import Comm, Program
from synctax.synth.time_text import TimeText

Lane = tuple[int, int]

_CBID_RECORD, _CBID_WAIT, _CBID_SYNC = 135, 147, 131
_RECORD_NS = 900
_WAIT_NS = 700
WAIT_SPACE_NS = 900
"""What a wait for a collective takes of the CPU time of the launch after it."""
_INSIDE_NS = 100
"""A record of a call begins and ends this much inside the call."""
_LAUNCH, _RECORD_BEFORE, _WAIT_BEFORE, _RECORD_AFTER, _FIRST_WAIT = range(5)
"""Correlation ids of a slot: its launch, the calls around a collective, the waits."""
_STEP_IDS = 2
"""Correlation ids after those of a step's slots: its event, and the wait for one."""


@dataclass(frozen=True, slots=True)
class SyncText:
    """Writes the calls by which streams and the CPU wait, and the profiler's records.

    Parameters
    ----------
    job, program
        What is written.
    who : Face
        The rank.
    times : TimeText
        Writes its times.
    per_slot : int
        Correlation ids of a slot.
    """

    job: SynthJob
    program: Program
    who: Face
    times: TimeText
    per_slot: int

    def launch_correlation(self, step: int, slot: int) -> int:
        """Number the launching call of a slot."""
        return self._correlation(step, slot, _LAUNCH)

    def waits(self, step: int, number: int, lane: Lane, start_ns: int) -> list[str]:
        """Let the compute stream wait for collectives, at the beginning of a slot.

        Parameters
        ----------
        step, number : int
            The step and the slot.
        lane : (pid, tid)
            Thread of the slot.
        start_ns : int
            Its beginning.

        Returns
        -------
        list of str
            Events.
        """
        found: list[str] = []
        for place, position in enumerate(self.program.slots[number].waits):
            launch = self.program.launches[position]
            assert launch.comm is not None  # noqa: S101 - waits are for collectives
            correlation = self._correlation(step, number, _FIRST_WAIT + place)
            source = self._correlation(step, launch.slot, _RECORD_AFTER)
            at = start_ns + place * WAIT_SPACE_NS
            calls = (0, _CBID_WAIT, correlation)
            span = (at, at + _WAIT_NS)
            found.append(self._call("cudaStreamWaitEvent", lane, span, calls))
            waited = (self._comm_stream(launch.comm), source, 2 * launch.slot + 2)
            record = (COMPUTE_STREAM, correlation)
            found += self._record("Stream Wait Event", span, record, waited)
        return found

    def around(
        self,
        where: tuple[int, int, Lane],
        comm: Comm,
        call: tuple[int, int],
        external: int,
    ) -> list[str]:
        """Order the stream of a collective after the compute stream, and mark its end.

        A collective that waits for no computation follows a stream of its own, on which
        nothing runs: a framework that prefetches parameters does so.

        Parameters
        ----------
        where : (step, slot, (pid, tid))
            Where it is launched.
        comm : Comm
            The collective.
        call : (int, int)
            Start and end of the launching call, in ns.
        external : int
            Operator of all three calls.

        Returns
        -------
        list of str
            Events.
        """
        step, number, lane = where
        record, wait, after = (
            self._correlation(step, number, kind)
            for kind in (_RECORD_BEFORE, _WAIT_BEFORE, _RECORD_AFTER)
        )
        begin, waiting, end = call[0] - 9_000, call[0] - 7_000, call[1] + 1_500
        waiting_span = (waiting, waiting + _WAIT_NS)
        found = [
            self._call(
                "cudaEventRecord",
                lane,
                (begin, begin + _RECORD_NS),
                (external, _CBID_RECORD, record),
            ),
            self._call(
                "cudaStreamWaitEvent", lane, waiting_span, (external, _CBID_WAIT, wait)
            ),
            self._call(
                "cudaEventRecord",
                lane,
                (end, end + _RECORD_NS),
                (external, _CBID_RECORD, after),
            ),
        ]
        source = COMPUTE_STREAM if comm.fenced else SIDE_STREAM
        waited = (source, record, 2 * number + 1)
        stream = self._comm_stream(comm)
        return found + self._record(
            "Stream Wait Event", waiting_span, (stream, wait), waited
        )

    def step_end(self, step: int, spans: tuple[int, int, int]) -> list[str]:
        """End a step: mark it on the compute stream, and wait for an earlier one.

        Parameters
        ----------
        step : int
            Number of the step.
        spans : (int, int, int)
            End of the last operator, start and end of the waiting call, in ns.

        Returns
        -------
        list of str
            Events.
        """
        lane = (self.who.pid, self.who.pid)
        last, sync, end = spans
        record, wait = self._step_correlations(step)
        span = (last + 1_000, last + 1_000 + _RECORD_NS)
        found = [
            self._call("cudaEventRecord", lane, span, (0, _CBID_RECORD, record)),
            self._call("cudaEventSynchronize", lane, (sync, end), (0, _CBID_SYNC, wait)),
        ]
        earlier = step - self.job.run_ahead_steps
        event = 2 * len(self.program.slots) + 1 + earlier % (self.job.run_ahead_steps + 1)
        # What was recorded before the window has no call in it.
        waited = (
            (COMPUTE_STREAM, self._step_correlations(earlier)[0], event)
            if earlier >= 0
            else (None, -1, event)
        )
        return found + self._record("Event Sync", (sync, end), (None, wait), waited)

    def _correlation(self, step: int, slot: int, kind: int) -> int:
        return 1 + step * self._per_step() + slot * self.per_slot + kind

    def _step_correlations(self, step: int) -> tuple[int, int]:
        end = (step + 1) * self._per_step()
        return end - 1, end

    def _per_step(self) -> int:
        return len(self.program.slots) * self.per_slot + _STEP_IDS

    def _comm_stream(self, comm: Comm) -> int:
        return self.program.dimensions[comm.dimension].stream

    def _call(
        self, name: str, lane: Lane, span: tuple[int, int], ids: tuple[int, int, int]
    ) -> str:
        return runtime_event(name, lane, self.times.span(*span), ids)

    def _record(
        self,
        kind: str,
        call: tuple[int, int],
        waiting: tuple[int | None, int],
        waited: tuple[int | None, int, int],
    ) -> list[str]:
        if self.job.sync_records == "none":
            return []
        source = (self._stream(waited[0]), waited[1], waited[2])
        if self.job.sync_records == "unresolved":
            source = (-1, -1, -1)
        lane = (self.who.device, self._stream(waiting[0]))
        span = self.times.span(call[0] + _INSIDE_NS, call[1] - _INSIDE_NS)
        return [sync_event(kind, lane, span, waiting[1], source)]

    def _stream(self, first: int | None) -> int:
        return -1 if first is None else stream_of(self.job, self.who, first)


def stream_of(job: SynthJob, who: Face, first: int) -> int:
    """Shift a stream of rank 0 to that of another rank."""
    return first + job.stream_step * who.rank


def sync_text(job: SynthJob, program: Program, who: Face) -> SyncText:
    """Prepare the synchronisation of one rank."""
    waits = max(len(slot.waits) for slot in program.slots)
    return SyncText(job, program, who, TimeText(job), _FIRST_WAIT + waits)
