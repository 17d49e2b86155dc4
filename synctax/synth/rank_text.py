"""The events of one rank and step as text."""

from dataclasses import dataclass, field

import numpy as np

from synctax.arrays import I64, Bool
from synctax.synth import events as text
from synctax.synth.comm_text import CommText
from synctax.synth.frame import Face
from synctax.synth.groups import COMPUTE_STREAM
from synctax.synth.job import SynthJob
from synctax.synth.kernels import COMM_GEOMETRY, Kernel
from synctax.synth.lookup import call_name
from synctax.synth.program import Program, Slot
from synctax.synth.simulate import StepTimes
from synctax.synth.sync_text import WAIT_SPACE_NS, SyncText, stream_of
from synctax.synth.window import local_ns

Lane = tuple[int, int]

_FILLER_OPERATORS = ("aten::to", "aten::_to_copy", "aten::view", "aten::reshape", "aten::t")
_PYTHON = (
    "torch/nn/modules/module.py(1773): _call_impl",
    "torch/nn/modules/module.py(1762): _wrapped_call_impl",
    "model/transformer.py(212): forward",
    "torch/utils/checkpoint.py(489): checkpoint",
    "torch/nn/modules/linear.py(125): forward",
    "nn.Module: TransformerBlock_0",
)
_OPERATOR_ARGS = (
    '"Record function id": 0, "Concrete Inputs": ["", ""], '
    '"Input type": ["c10::BFloat16", "c10::BFloat16"], '
    '"Input Strides": [[4096, 1], [1, 4096]], "Input Dims": [[8192, 4096], [4096, 4096]]'
)
_LAUNCH_CBIDS = {
    "cudaLaunchKernel": 211,
    "cudaLaunchKernelExC": 430,
    "cudaGraphLaunch": 311,
}
_NEST_NS = 4_000
"""Time from the beginning of a slot in which ranges nest, before the call."""


@dataclass(slots=True)
class RankText:
    """Writes one rank, step after step, and counts what it wrote.

    Parameters
    ----------
    job, program
        What is written.
    who : Face
        The rank.
    comms : CommText
        Arguments of its collectives.
    syncs : SyncText
        Its synchronisation.
    n_events, n_kernels : int
        Events written so far, and of them kernels.
    first_ns, last_ns : int
        Window so far, on the rank's clock.
    """

    job: SynthJob
    program: Program
    who: Face
    comms: CommText
    syncs: SyncText
    n_events: int = 0
    n_kernels: int = 0
    first_ns: int | None = None
    last_ns: int = 0
    _out: list[str] = field(default_factory=list)

    def ts(self, ns: int) -> str:
        """Write a time in µs."""
        return self.syncs.times.ts(ns)

    def span(self, start_ns: int, end_ns: int) -> tuple[str, str]:
        """Write start and duration in µs."""
        return self.syncs.times.span(start_ns, end_ns)

    def stream(self, first: int) -> int:
        """Shift a stream id to this rank's."""
        return stream_of(self.job, self.who, first)

    def streams(self) -> list[int]:
        """List the streams of the rank."""
        comm = [self.stream(dimension.stream) for dimension in self.program.dimensions]
        return [self.stream(COMPUTE_STREAM), *comm]

    def step(self, step: int, times: StepTimes, recorded: Bool) -> list[str]:
        """Write the events of one step.

        Parameters
        ----------
        step : int
            Number of the step, from 0.
        times : StepTimes
            The step of all ranks.
        recorded : (world, launches) bool
            Which kernels the files hold.

        Returns
        -------
        list of str
            Events, without commas between them.
        """
        rank = self.who.rank
        self._out = []
        begin, sync, end = self._local(
            np.array([times.begin_ns[rank], times.sync_ns[rank], times.end_ns[rank]])
        )
        starts = self._local(times.start_ns[rank])
        ends = self._local(times.start_ns[rank] + times.duration_ns[rank])
        kept = recorded[rank].tolist()
        self._step_range(step, begin, end)
        slots = zip(
            self.program.slots,
            self._local(times.slot_ns[rank]),
            self._local(times.call_ns[rank]),
            self._local(times.call_end_ns[rank]),
            self._local(times.slot_end_ns[rank]),
            strict=True,
        )
        per_slot = 3 + self.job.cpu_ops_per_kernel + self.job.python_functions
        for number, (slot, *cpu) in enumerate(slots):
            serial = step * len(self.program.slots) + number
            correlation = self.syncs.launch_correlation(step, number)
            ids = (1 + serial * per_slot, correlation)
            self._slot(step, slot, cpu, ids)
            external = ids[0] + per_slot - 1
            for position in range(slot.first, slot.last):
                if kept[position]:
                    span = (starts[position], ends[position])
                    self._gpu(step, slot, position, span, (external, correlation))
        self._out += self.syncs.step_end(step, (cpu[-1], sync, end))
        self._gpu_step_range(step, starts, ends, kept)
        if self.first_ns is None:
            self.first_ns = begin
        self.last_ns = max(self.last_ns, end, *ends)
        self.n_events += len(self._out)
        return self._out

    def _local(self, true_ns: I64) -> list[int]:
        found: list[int] = local_ns(self.job, self.who.rank, true_ns).tolist()
        return found

    def _step_range(self, step: int, begin: int, end: int) -> None:
        name = f"ProfilerStep#{self.job.first_step + step}"
        lane = (self.who.pid, self.who.pid)
        args = f'"External id": 0,"Record function id": 0, "Ev Idx": {step}'
        span = self.span(begin, end)
        self._out.append(text.cpu_event("user_annotation", name, lane, span, args))

    def _gpu_step_range(
        self, step: int, starts: list[int], ends: list[int], kept: list[bool]
    ) -> None:
        inside = [i for i in self.program.compute if kept[i]]
        if inside:
            name = f"ProfilerStep#{self.job.first_step + step}"
            lane = (self.who.device, self.stream(COMPUTE_STREAM))
            span = self.span(starts[inside[0]], ends[inside[-1]])
            args = '"External id": 0'
            self._out.append(text.cpu_event("gpu_user_annotation", name, lane, span, args))

    def _slot(self, step: int, slot: Slot, cpu: list[int], ids: tuple[int, int]) -> None:
        launch = self.program.launches[slot.first]
        tid = self.who.autograd_tid if launch.backward else self.who.pid
        lane = (self.who.pid, tid)
        first, correlation = ids
        external = first + 2 + self.job.cpu_ops_per_kernel + self.job.python_functions
        begin, call, call_end, end = cpu
        where = (step, launch.slot, lane)
        self._out += self.syncs.waits(*where, begin)
        waited = WAIT_SPACE_NS * len(slot.waits)
        inside = (begin + waited, end)
        margin = self._margin_ns(_NEST_NS - waited)
        self._nest_python(lane, inside, first, margin)
        if launch.comm is not None:
            ranges = self.comms.cpu_ranges(launch.comm, step, external)
            for level, (kind, name, args) in enumerate(ranges):
                span = self.span(begin + 5_000 + 1_000 * level, end - 1_000 - 500 * level)
                self._out.append(text.cpu_event(kind, name, lane, span, args))
            self._out += self.syncs.around(where, launch.comm, (call, call_end), external)
        else:
            assert launch.kernel is not None  # noqa: S101 - one of the two is set
            inside = (inside[0] + margin * self.job.python_functions, end)
            start = first + self.job.python_functions
            self._operators(launch.kernel, lane, inside, start, margin)
        name = call_name(self.job, self.program, launch.slot)
        cbid = _LAUNCH_CBIDS[name]
        span = self.span(call, call_end)
        self._out.append(
            text.runtime_event(name, lane, span, (external, cbid, correlation))
        )
        self._out.append(text.flow_start(correlation, lane, span[0]))

    def _margin_ns(self, room_ns: int) -> int:
        levels = self.job.cpu_ops_per_kernel + self.job.python_functions + 1
        return min(400, max(0, room_ns) // levels)

    def _nest_python(
        self, lane: Lane, inside: tuple[int, int], first: int, margin: int
    ) -> None:
        for level in range(self.job.python_functions):
            span = self.span(inside[0] + level * margin, inside[1])
            name = _PYTHON[(first + level) % len(_PYTHON)]
            args = f'"Python id": {first + level}, "Python parent id": {first + level - 1}'
            args += f', "Ev Idx": {first + level}'
            self._out.append(text.cpu_event("python_function", name, lane, span, args))

    def _operators(
        self, kernel: Kernel, lane: Lane, inside: tuple[int, int], first: int, margin: int
    ) -> None:
        count = self.job.cpu_ops_per_kernel
        for level in range(count):
            names = kernel.operators
            depth = count - level
            name = (
                names[-depth]
                if depth <= len(names)
                else _FILLER_OPERATORS[depth % len(_FILLER_OPERATORS)]
            )
            number = first + level + 3 if level + 1 == count else first + level
            args = f'"External id": {number},{_OPERATOR_ARGS}, "Ev Idx": {number - 1}'
            span = self.span(inside[0] + level * margin, inside[1])
            self._out.append(text.cpu_event("cpu_op", name, lane, span, args))

    def _gpu(
        self,
        step: int,
        slot: Slot,
        position: int,
        span: tuple[int, int],
        ids: tuple[int, int],
    ) -> None:
        launch = self.program.launches[position]
        written = self.span(*span)
        if launch.comm is None:
            assert launch.kernel is not None  # noqa: S101 - one of the two is set
            name, args, stream = launch.kernel.name, launch.kernel.geometry, COMPUTE_STREAM
            if self.job.cuda_graphs:
                args += f', "graph id": {slot.first + 1}, "graph node id": {position + 1}'
        else:
            name, about = self.comms.kernel(launch.comm, step)
            args = COMM_GEOMETRY + about
            stream = self.program.dimensions[launch.comm.dimension].stream
        lane = (self.who.device, self.stream(stream))
        self._out.append(text.kernel_event(name, lane, written, ids, args))
        self._out.append(text.flow_end(ids[1], lane, written[0]))
        self.n_kernels += 1
        if launch.comm is not None:
            # Kineto widens annotations on the GPU by 1 ns at both ends.
            around = self.span(span[0] - 1, span[1] + 1)
            around = written if self.job.whole_us else around
            self._out.append(
                text.cpu_event(
                    "gpu_user_annotation",
                    self.comms.annotation(launch.comm),
                    lane,
                    around,
                    f'"External id": {ids[0] - 1}',
                )
            )
