"""The known answers of a synthetic job, as an object and as JSON."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import orjson

from synctax.arrays import I64, NS_PER_US
from synctax.synth.blocks import block_laws
from synctax.synth.delay import Delay
from synctax.synth.job import SynthJob
from synctax.synth.lateness import Lateness
from synctax.synth.lookup import delayed, launched_name
from synctax.synth.program import (
    ITEM_BYTES,
    Comm,
    Program,
    in_out_elements,
)
from synctax.synth.window import Edges, place

SCHEMA = "synctax.synth-truth/1"

_LATER = {
    *("jitter_scope", "common_jitter", "rank_jitter"),
    *("cp", "microbatches", "cp_payload_bytes", "fsdp_grad_payload_bytes"),
}
"""Options that the truth names where they are used, so that older jobs keep their bytes."""

Place = tuple[int, int, int]
"""A collective of a job: step from 0, number among those of the step, group."""


@dataclass(frozen=True, slots=True)
class CollectiveTruth:
    """One collective of one group, as the files hold it.

    Parameters
    ----------
    group, group_name, group_ranks
        Role, name in the trace and global ranks.
    op : str
        `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all` or `broadcast`.
    index : int
        Position among those collectives of the group that any rank recorded, from 0.
    step : int
        Number of the `ProfilerStep` that launched it.
    seq : int or None
        `Seq`, where the trace has it.
    dtype : str
        As torch writes it.
    payload_bytes : int
        max(in, out) of the recording ranks: the full buffer.
    duration_ns : dict of rank to int
        As written, of the ranks that recorded it.
    tax_max_us, tax_median_us, tax_mean_us : float
        Largest, median and mean duration less the shortest.
    straggler_rank, fastest_rank : int or None
        Rank of the shortest and of the longest duration; None on a tie.
    status : str
        `head` (index 0), `partial` (ranks are missing), `invalid` (ranks do not leave
        together) or `ok`; the first that holds.
    lateness : Lateness or None
        Why the straggler was late, with `SynthJob.truth_paths`; None without a fence (an
        earlier collective of the group that all its ranks recorded and leave together),
        where ranks are missing or do not leave together, and on a tie.
    """

    group: str
    group_name: str
    group_ranks: tuple[int, ...]
    op: str
    index: int
    step: int
    seq: int | None
    dtype: str
    payload_bytes: int
    n_ranks: int
    duration_ns: dict[int, int]
    tax_max_us: float
    tax_median_us: float
    tax_mean_us: float
    straggler_rank: int | None
    fastest_rank: int | None
    status: str
    lateness: Lateness | None = None


@dataclass(frozen=True, slots=True)
class RankTruth:
    """One rank's file: where it is, its clock, and how many events it holds."""

    rank: int
    host: str
    file: str
    clock_offset_ns: int
    clock_drift_ppm: float
    n_events: int
    n_kernels: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class InjectedTruth:
    """An injected delay and the collective it reaches.

    The latest arrival at that collective moves by max(0, `delay_us` − `slack_us`); where
    the delayed rank is not the group's earliest, so does `tax_max`. The collective is
    the delayed one (`kernel_index` is None then), or the next one that waits for compute
    kernels; None, like `slack_us`, where none follows. `index` is its position as in
    `CollectiveTruth`, None where nobody recorded it.
    """

    rank: int
    step: int
    kernel: str
    kernel_index: int | None
    side: str
    delay_us: float
    slack_us: float | None = None
    group: str | None = None
    group_ranks: tuple[int, ...] | None = None
    op: str | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that is known about the written traces.

    Parameters
    ----------
    job : SynthJob
        With `steps` and `layers` as they were chosen.
    program : Program
        One step.
    edges : Edges
        What the ranks lose.
    written_ns : (steps, collectives per step, world) int64
        Durations as written, -1 where a rank has no record.
    ranks, injected
        Files and delays.
    lateness : mapping of Place to Lateness
        Why ranks were late; empty without `SynthJob.truth_paths`.
    """

    job: SynthJob
    program: Program
    edges: Edges
    written_ns: I64
    ranks: tuple[RankTruth, ...]
    injected: tuple[InjectedTruth, ...]
    lateness: Mapping[Place, Lateness] = field(default_factory=dict)

    def collectives(self) -> Iterator[CollectiveTruth]:
        """Yield every collective that any rank recorded, by step and order of launch."""
        for _, collective in self.rows():
            yield collective

    def rows(self) -> Iterator[tuple[Place, CollectiveTruth]]:
        """Yield the same, each with its place in the job."""
        recorded: Counter[tuple[int, int]] = Counter()
        for step in range(self.job.steps):
            for number, position in enumerate(self.program.comms):
                comm = self.program.launches[position].comm
                assert comm is not None  # noqa: S101 - `comms` lists collectives
                written_ns = self.written_ns[step, number]
                for group in range(len(self.program.dimensions[comm.dimension].members)):
                    key = (comm.dimension, group)
                    which = (comm, group, step, recorded[key])
                    found = self._collective(which, written_ns)
                    if found is not None:
                        recorded[key] += 1
                        place = (step, number, group)
                        why = self.lateness.get(place)
                        if why is not None:
                            found = dataclasses.replace(found, lateness=why)
                        yield place, found

    def _collective(
        self, which: tuple[Comm, int, int, int], written_ns: I64
    ) -> CollectiveTruth | None:
        comm, group, step, index = which
        dimension = self.program.dimensions[comm.dimension]
        members = dimension.members[group]
        duration_ns = {
            rank: int(written_ns[rank])
            for rank in members.tolist()
            if written_ns[rank] >= 0
        }
        if not duration_ns:
            return None
        times = np.array(list(duration_ns.values()))
        waits_ns = times - times.min()
        partial = len(duration_ns) < dimension.size
        return CollectiveTruth(
            group=dimension.role,
            group_name=dimension.names[group],
            group_ranks=tuple(members.tolist()),
            op=comm.op,
            index=index,
            step=self.job.first_step + step,
            seq=sequence(self.program, comm, step) if self._has_seq() else None,
            dtype=comm.dtype,
            payload_bytes=_payload_bytes(comm, members.tolist(), duration_ns),
            n_ranks=len(duration_ns),
            duration_ns=duration_ns,
            tax_max_us=int(waits_ns.max()) / NS_PER_US,
            tax_median_us=float(np.median(waits_ns)) / NS_PER_US,
            tax_mean_us=float(waits_ns.mean()) / NS_PER_US,
            straggler_rank=_only(duration_ns, int(times.min())),
            fastest_rank=_only(duration_ns, int(times.max())),
            status=_status(comm, index, partial=partial),
        )

    def _has_seq(self) -> bool:
        return self.job.seq and self.job.metadata == "full"

    def to_json(self) -> Iterator[bytes]:
        """Yield the truth file piece by piece, one collective a line."""
        parameters = dataclasses.asdict(self.job)
        for name in _LATER & _defaults(self.job):
            del parameters[name]
        yield b'{"schema": "%s",\n"parameters": %s,\n"collectives": [' % (
            SCHEMA.encode(),
            _dumps(parameters),
        )
        for number, collective in enumerate(self.collectives()):
            yield (b",\n" if number else b"\n") + _dumps(_row(collective))
        if self.job.jitter_scope == "block":
            laws = block_laws(self.job, self.program)
            yield b'\n],\n"blocks": %s' % _dumps(laws)
        else:
            yield b"\n]"
        yield b',\n"ranks": %s,\n"injected": %s}\n' % (
            _dumps(self.ranks),
            _dumps(self.injected),
        )


def sequence(program: Program, comm: Comm, step: int) -> int:
    """Count the calls of a group: the `Seq` of a collective, from 1."""
    return 1 + step * program.seq_per_step[comm.dimension] + comm.seq_ordinal


def position_in_group(program: Program, comm: Comm, step: int) -> int:
    """Count the kernels of a group before this one, recorded or not."""
    return step * program.per_step[comm.dimension] + comm.ordinal


def injected_truth(
    truth: tuple[SynthJob, Program, Edges],
    delay: Delay,
    reached: tuple[int, int, int] | None,
) -> InjectedTruth:
    """Describe a delay; `reached` is what `simulate.slack_ns` found."""
    job, program, edges = truth
    alone = InjectedTruth(
        rank=delay.rank,
        step=job.first_step + delay.step,
        kernel=launched_name(job, program, delayed(program, delay)),
        kernel_index=delay.kernel,
        side=delay.side,
        delay_us=delay.delay_us,
    )
    if reached is None:
        return alone
    step, position, slack_ns = reached
    comm = program.launches[position].comm
    assert comm is not None  # noqa: S101 - delays reach collectives
    dimension = program.dimensions[comm.dimension]
    group = int(dimension.group_of[delay.rank])
    spans = edges.spans(job, program, comm.dimension, group)
    return dataclasses.replace(
        alone,
        slack_us=slack_ns / NS_PER_US,
        group=dimension.role,
        group_ranks=tuple(dimension.members[group].tolist()),
        op=comm.op,
        index=place(spans, position_in_group(program, comm, step)),
    )


def _payload_bytes(comm: Comm, members: list[int], recorded: dict[int, int]) -> int:
    if not comm.uneven:
        return comm.payload_bytes
    return ITEM_BYTES[comm.dtype] * max(
        max(in_out_elements(comm, len(members), position))
        for position, rank in enumerate(members)
        if rank in recorded
    )


def _only(duration_ns: dict[int, int], value: int) -> int | None:
    holders = [rank for rank, duration in duration_ns.items() if duration == value]
    return holders[0] if len(holders) == 1 and len(duration_ns) > 1 else None


def _status(comm: Comm, index: int, *, partial: bool) -> str:
    if index == 0:
        return "head"
    if partial:
        return "partial"
    return "ok" if comm.symmetric else "invalid"


def _row(collective: CollectiveTruth) -> dict[str, object]:
    """List the columns; `lateness` only where it is known."""
    names = (column.name for column in dataclasses.fields(collective))
    row = {name: getattr(collective, name) for name in names}
    why = row.pop("lateness")
    return row if why is None else row | {"lateness": why.to_json()}


def _defaults(job: SynthJob) -> set[str]:
    """Name the options that are at their default."""
    return {
        option.name
        for option in dataclasses.fields(job)
        if getattr(job, option.name) == option.default
    }


def _dumps(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
