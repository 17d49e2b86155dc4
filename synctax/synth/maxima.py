"""What the simulation takes maxima of: which kernels each start of a step waits for."""

from dataclasses import dataclass
from typing import Literal

from synctax.synth.program import Program
from synctax.synth.simulate import STREAM_GAP_NS


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel that a start waits for.

    Parameters
    ----------
    kind : {"stream", "cross"}
        Whether it is the one before on the stream, or on another stream.
    position, back : int
        Its launch, and how many steps before.
    latency_ns : int
        From its end to the earliest start.
    """

    kind: Literal["stream", "cross"]
    position: int
    back: int
    latency_ns: int


@dataclass(frozen=True, slots=True)
class Maxima:
    """What the starts of a step wait for.

    Parameters
    ----------
    starts : tuple of tuples
        For each launch, the kernels that it waits for.
    step_end : tuple
        What has to end for the step to have ended on the GPU.
    """

    starts: tuple[tuple[Source, ...], ...]
    step_end: tuple[Source, ...]


def maxima(program: Program) -> Maxima:
    """Collect the arguments of the simulation's maxima.

    Parameters
    ----------
    program : Program
        One step.

    Returns
    -------
    Maxima
        The same for all ranks and steps.
    """
    first = _Collector([()] * len(program.launches), (), {})
    first.run(program)
    compute = tuple(_earlier(source) for source in first.compute)
    streams = {key: _earlier(source) for key, source in first.streams.items()}
    second = _Collector([()] * len(program.launches), compute, streams)
    second.run(program)
    return Maxima(tuple(second.starts), second.compute)


def _earlier(source: Source) -> Source:
    return Source(source.kind, source.position, source.back + 1, source.latency_ns)


@dataclass(slots=True)
class _Collector:
    starts: list[tuple[Source, ...]]
    compute: tuple[Source, ...]
    streams: dict[int, Source]

    def run(self, program: Program) -> None:
        for item in program.walk:
            if item.kind == "compute":
                for position in range(item.first, item.last):
                    self.starts[position] = self.compute
                    self.compute = (Source("stream", position, 0, STREAM_GAP_NS),)
            elif item.kind == "wait":
                self.compute += (Source("cross", item.first, 0, STREAM_GAP_NS),)
            else:
                self.comm(program, item.first)

    def comm(self, program: Program, position: int) -> None:
        comm = program.launches[position].comm
        assert comm is not None  # noqa: S101 - the walk names collectives only
        found = [self.streams[comm.dimension]] if comm.dimension in self.streams else []
        if comm.fenced:
            found += [
                Source("cross", one.position, one.back, one.latency_ns + STREAM_GAP_NS)
                for one in self.compute
            ]
        self.starts[position] = tuple(found)
        self.streams[comm.dimension] = Source("stream", position, 0, STREAM_GAP_NS)
