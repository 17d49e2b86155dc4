"""Simulate a job and write the traces of its ranks, with the truth beside them."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from synctax.errors import SynctaxError
from synctax.synth.answers import InjectedTruth, RankTruth, Truth, injected_truth
from synctax.synth.comm_text import CommText
from synctax.synth.explain import explain
from synctax.synth.frame import Face, closing_events, face, footer, header
from synctax.synth.job import SynthJob
from synctax.synth.layout import ByteSink, compressed, temporary, trace_file, twin_file
from synctax.synth.lookup import delayed
from synctax.synth.program import Program, build
from synctax.synth.rank_text import RankText
from synctax.synth.simulate import initial_state, simulate_step, slack_ns
from synctax.synth.sync_text import sync_text
from synctax.synth.window import edges, local_ns, written_ns

TRUTH_FILE = "truth.json"
"""Name of the truth below the output directory; it has no `traceEvents`."""

RANKS_AT_ONCE = 64
"""Files open at a time; more ranks take another run of the simulation."""

MAX_STEP_KERNELS = 100_000_000
"""Kernels of all ranks in a step: a step of all ranks is in memory."""

MAX_DURATIONS = 1_000_000_000
"""Durations of communication kernels: the truth is in memory until it is written."""

MAX_SPAN_US = 1e15
"""Longest job; the 64 bits of its times in ns hold some ten times that."""

_BYTES_PER_MB = 1_000_000

Progress = Callable[[int, int], None]
"""Called with rank-steps done and in all."""


def write(
    job: SynthJob,
    directory: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Truth:
    """Write the traces of a job, and `truth.json`, into a directory.

    Every file appears under its name only when it is complete. Memory is bounded by one
    step of all ranks, whatever the size of the files; with `truth_paths`, by all paths and
    as many steps as the CPU may be ahead.

    Parameters
    ----------
    job : SynthJob
        What to simulate. With `size_mb`, `steps` and `layers` are chosen.
    directory : Path
        Made if absent.
    overwrite : bool
        Write into a directory that holds something; the files that an earlier
        `truth.json` there names are removed first.
    progress : callable, optional
        Told how many rank-steps are done, and of how many.

    Returns
    -------
    Truth
        What is known about the files.

    Raises
    ------
    SynctaxError
        If the directory is not empty and `overwrite` is false, or is a file, if a delay
        names a kernel or a step that the job does not have, or if the job is too large.
    """
    job, program = prepare(job)
    directory = Path(directory)
    with _made_anew(directory):
        _claim(directory, overwrite=overwrite)
        return _write(job, program, directory, progress)


def _write(
    job: SynthJob, program: Program, directory: Path, progress: Progress | None
) -> Truth:
    partial: list[Path] = []
    try:
        known = _run(job, program, _Files(directory, partial), progress)
        path = directory / TRUTH_FILE
        partial.append(temporary(path))
        with partial[-1].open("wb") as file:
            file.writelines(known.to_json())
        for path in partial:
            path.replace(path.with_name(path.name[1:].removesuffix(".partial")))
    finally:
        for path in partial:
            path.unlink(missing_ok=True)
    return known


def truth(job: SynthJob) -> Truth:
    """Find the known answers of a job without writing files.

    Parameters
    ----------
    job : SynthJob
        What to simulate.

    Returns
    -------
    Truth
        As `write` returns it.

    Raises
    ------
    SynctaxError
        If a delay names a kernel or a step that the job does not have.

    Examples
    --------
    Without jitter nobody waits, once the window's first collectives are over:

    >>> known = truth(SynthJob(fsdp=1, steps=1, layers=1, jitter_law="none"))
    >>> {row.tax_max_us for row in known.collectives()}
    {0.0}
    """
    job, program = prepare(job)
    return _run(job, program, None, None)


def prepare(job: SynthJob) -> tuple[SynthJob, Program]:
    """Choose steps and layers for the wanted size, and lay out the step.

    Parameters
    ----------
    job : SynthJob
        As the user asked for it.

    Returns
    -------
    SynthJob, Program
        The job with `steps` and `layers` chosen, and one step of it.

    Raises
    ------
    SynctaxError
        If a delay names a kernel or a step that the job does not have, or if the job
        is too large.
    """
    program = build(job)
    if job.size_mb is not None:
        _check_size(replace(job, delays=(), steps=1), program)
        job = _fit(job, job.size_mb * _BYTES_PER_MB)
        program = build(job)
    _check_size(job, program)
    for delay in job.delays:
        delayed(program, delay)
        if delay.step >= job.steps:
            raise SynctaxError(
                f"a delay names step {delay.step}, the job has {job.steps} steps"
            )
    return job, program


def _check_size(job: SynthJob, program: Program) -> None:
    """Refuse a job that would fill memory or leave the range of its times."""
    n_comms = len(program.comms)
    kernels = job.world * (n_comms + len(program.compute))
    if kernels > MAX_STEP_KERNELS:
        raise SynctaxError(
            f"a step has {kernels:,} kernels on {job.world:,} ranks, at most "
            f"{MAX_STEP_KERNELS:,} can be simulated; ask for fewer ranks or layers"
        )
    durations = job.world * n_comms * job.steps
    if durations > MAX_DURATIONS:
        raise SynctaxError(
            f"the job has {durations:,} communication kernels, at most {MAX_DURATIONS:,} "
            "can be simulated; ask for fewer ranks, layers or steps"
        )
    span_us = job.steps * n_comms * job.longest_transfer_us
    if span_us > MAX_SPAN_US:
        raise SynctaxError(
            f"the transfers of the job take up to {span_us:.2g} us, at most "
            f"{MAX_SPAN_US:g} can be simulated; ask for fewer steps or smaller payloads"
        )


def _fit(job: SynthJob, size_bytes: float) -> SynthJob:
    plain = replace(job, delays=(), size_mb=None, steps=1, write_ranks=job.written[:1])
    plain = replace(plain, truth_paths=False)
    one_bytes = _run(plain, build(plain), None, None).ranks[0].n_bytes
    if one_bytes > size_bytes and job.layers > 1:
        layers = max(1, int(job.layers * size_bytes / one_bytes))
        plain = replace(plain, layers=layers)
        one_bytes = _run(plain, build(plain), None, None).ranks[0].n_bytes
    two = replace(plain, steps=2)
    step_bytes = _run(two, build(two), None, None).ranks[0].n_bytes - one_bytes
    steps = 1 + max(0, round((size_bytes - one_bytes) / step_bytes))
    return replace(job, layers=plain.layers, steps=steps)


@contextmanager
def _made_anew(directory: Path) -> Iterator[None]:
    """Remove the empty folders that were made, if what the block does fails."""
    before = {path for path in directory.rglob("*") if path.is_dir()}
    before |= {path for path in (directory, *directory.parents) if path.exists()}
    try:
        yield
    except BaseException:
        now = [path for path in directory.rglob("*") if path.is_dir()]
        made = {*now, directory, *directory.parents} - before
        for path in sorted(made, key=lambda path: len(path.parts), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        raise


def _claim(directory: Path, *, overwrite: bool) -> None:
    if directory.exists() and not directory.is_dir():
        raise SynctaxError(f"{directory} is a file, traces need a directory")
    if any(path.is_file() for path in directory.rglob("*")):
        if not overwrite:
            raise SynctaxError(
                f"{directory} is not empty; name a new directory, or use --force "
                "to write into it"
            )
        _remove_earlier(directory)
    directory.mkdir(parents=True, exist_ok=True)


def _remove_earlier(directory: Path) -> None:
    path = directory / TRUTH_FILE
    if not path.exists():
        return
    try:
        earlier = [rank["file"] for rank in json.loads(path.read_bytes())["ranks"]]
    except (ValueError, KeyError, TypeError) as error:
        raise SynctaxError(
            f"{path} is not a truth file of an earlier run ({error}); remove it first"
        ) from error
    for name in earlier:
        file = (directory / name).resolve()
        if file.is_relative_to(directory.resolve()):
            file.unlink(missing_ok=True)
    path.unlink()


@dataclass(frozen=True, slots=True)
class _Files:
    """Opens the files of ranks and remembers them in `partial`."""

    directory: Path
    partial: list[Path]

    def open(self, job: SynthJob, who: Face, stack: ExitStack) -> ByteSink:
        twin = twin_file(job, who)
        if twin is not None:
            with ExitStack() as own:
                self._open(job, twin[0], own).write(twin[1])
        return self._open(job, trace_file(job, who), stack)

    def _open(self, job: SynthJob, name: str, stack: ExitStack) -> ByteSink:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.partial.append(temporary(path))
        file = stack.enter_context(self.partial[-1].open("wb"))
        return stack.enter_context(compressed(file, job.compress))


@dataclass(slots=True)
class _RankFile:
    text: RankText
    sink: ByteSink | None
    n_bytes: int = 0

    def put(self, text: str) -> None:
        data = text.encode()
        self.n_bytes += len(data)
        if self.sink is not None:
            self.sink.write(data)

    def close(self, job: SynthJob, name: str) -> RankTruth:
        who, text = self.text.who, self.text
        first, last = text.first_ns or 0, text.last_ns
        span = (*text.span(first, last), text.ts(last))
        events = closing_events(who, text.streams(), span)
        self.put(",\n" + ",\n".join(events) + footer(job, Path(name).name))
        return RankTruth(
            rank=who.rank,
            host=who.host_name,
            file=name,
            clock_offset_ns=job.clock_offset_ns(who.rank),
            clock_drift_ppm=job.drift_ppm(who.rank),
            n_events=text.n_events + len(events),
            n_kernels=text.n_kernels,
            n_bytes=self.n_bytes,
        )


def _run(
    job: SynthJob, program: Program, files: _Files | None, progress: Progress | None
) -> Truth:
    durations = np.full((job.steps, len(program.comms), job.world), -1, np.int64)
    window = edges(job, program)
    known = Truth(job, program, window, durations, (), ())
    ranks: list[RankTruth] = []
    injected: list[InjectedTruth] = []
    written = job.written
    for first in range(0, len(written), RANKS_AT_ONCE):
        batch = written[first : first + RANKS_AT_ONCE]
        with ExitStack() as stack:
            opened = [_start(job, program, rank, files, stack) for rank in batch]
            for step in _steps(known, opened, injected if first == 0 else []):
                if progress is not None:
                    progress(first * job.steps + (step + 1) * len(batch), _total(job))
            ranks += [file.close(job, trace_file(job, file.text.who)) for file in opened]
    known = replace(known, ranks=tuple(ranks), injected=tuple(injected))
    return explain(known) if job.truth_paths else known


def _total(job: SynthJob) -> int:
    return job.steps * len(job.written)


def _start(
    job: SynthJob, program: Program, rank: int, files: _Files | None, stack: ExitStack
) -> _RankFile:
    who = face(job, rank)
    sink = None if files is None else files.open(job, who, stack)
    comms, syncs = CommText(job, program, who), sync_text(job, program, who)
    file = _RankFile(RankText(job, program, who, comms, syncs), sink)
    file.put(header(job, program, who))
    return file


def _steps(
    known: Truth, opened: list[_RankFile], injected: list[InjectedTruth]
) -> Iterator[int]:
    """Simulate step after step, write it, and fill in `known.written_ns`."""
    job, program, window = known.job, known.program, known.edges
    state = initial_state(job, program)
    comms = list(program.comms)
    for step in range(job.steps):
        for delay in job.delays:
            if delay.step == step:
                reached = slack_ns(job, program, state, delay)
                injected.append(injected_truth((job, program, window), delay, reached))
        times, state = simulate_step(job, program, state, step, delays=job.delays)
        recorded = window.recorded(job, program, step)
        for file in opened:
            rank = file.text.who.rank
            text = ",\n".join(file.text.step(step, times, recorded))
            file.put(f",\n{text}" if step else text)
            starts = times.start_ns[rank, comms]
            ends = starts + times.duration_ns[rank, comms]
            start_ns, end_ns = (
                written_ns(job, local_ns(job, rank, true_ns)) for true_ns in (starts, ends)
            )
            known.written_ns[step, :, rank] = np.where(
                recorded[rank, comms], end_ns - start_ns, -1
            )
        yield step
