"""What is odd about the files of a job, in words."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from synctax.trace.discover import TraceFile
from synctax.trace.model import Note
from synctax.trace.windows import Claim, Labelled, fingerprint, overlaps, repeated

NAMED = 3
"""How many files or ranks a message names before it counts the rest."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why files cannot be compared, and what to do; `bad_input` if they are at fault."""

    message: str
    bad_input: bool


def name_some(names: Iterable[object]) -> str:
    """List the first few, and count the rest."""
    every = [str(name) for name in names]
    rest = len(every) - NAMED
    return ", ".join(every[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def rank_text(ranks: Iterable[int]) -> str:
    """Write ranks as people do.

    >>> rank_text([0, 1, 2, 5])
    '0-2,5'
    """
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ",".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs)


def manifest_hint(paths: Sequence[str]) -> str:
    """Say how to give ranks, with the files at hand."""
    names = [PurePath(path).name for path in paths[:2]]
    lines = " / ".join(f"{name},{rank},host-a" for rank, name in enumerate(names))
    return (
        "say which file is which rank with --manifest FILE, a CSV beside them such as "
        f"file,rank,host / {lines}"
    )


def unplaced(unknown: list[TraceFile], *, n_files: int) -> Problem | Note | None:
    """Say what files without a rank mean: one alone is no matter, all are a problem."""
    if not unknown or n_files == 1:
        return None
    named = name_some(file.path for file in unknown)
    if len(unknown) < n_files:
        return Note(
            "rank_unknown",
            len(unknown),
            f"neither content nor name tells the rank of {named}: left out; "
            f"{manifest_hint([file.path for file in unknown])}",
        )
    hint = ""
    if any(file.place for file in unknown):
        hint = "; the names hold coordinates such as TP ranks, which are no global ranks"
    return Problem(
        f"no file tells its rank, in content (distributedInfo) or name: {named}{hint}; "
        f"{manifest_hint([file.path for file in unknown])}",
        bad_input=False,
    )


def problems_with(windows: Labelled) -> list[Problem]:
    """List why the files cannot be compared: repeated ranks, different jobs."""
    return _job_problems(windows) or [
        problem for label, inside in windows.items() for problem in _clashes(label, inside)
    ]


def notes_on(
    windows: Labelled,
    *,
    copies: dict[str, str],
    moved: list[Claim],
    world_size: int | None,
) -> list[Note]:
    """Say what was odd about the ranks, windows, GPUs and completeness of the files.

    Parameters
    ----------
    windows : dict of window label to claims
    copies : dict
        Files left out, and those they repeat.
    moved : list of Claim
        Files placed by their name because their content's rank is taken.
    world_size : int or None
    """
    claims = [claim for inside in windows.values() for claim in inside]
    notes = [*_contradictions(claims), *_placed(claims, copies, moved)]
    if _job_problems(windows):
        return notes
    notes += _on_windows(windows, world_size)
    models = sorted({d.name for c in claims for d in c.facts.devices} - {""})
    if len(models) > 1:
        notes.append(
            Note(
                "gpu_models", len(models), f"ranks ran on unlike GPUs: {name_some(models)}"
            )
        )
    return notes


def _on_windows(windows: Labelled, world_size: int | None) -> list[Note]:
    notes = _missing(windows, world_size)
    if len(windows) > 1:
        notes.append(
            Note(
                "windows",
                len(windows),
                f"ranks have {len(windows)} windows "
                f"({name_some(label or 'unnamed' for label in windows)}); "
                "each is matched for itself",
            )
        )
        notes += _other_processes(windows)
    for label, inside in windows.items():
        notes += _apart_in_time(label, inside)
        notes += _same_content(inside)
    return notes


def _contradictions(claims: list[Claim]) -> list[Note]:
    notes = []
    given = [
        c
        for c in claims
        if c.source == "manifest" and c.facts.meta.rank not in (None, c.rank)
    ]
    if given:
        notes.append(
            Note(
                "rank_given_differs",
                len(given),
                "the manifest gives another rank than the content "
                f"({_ranks_told(given)}); the manifest was followed",
            )
        )
    named = [
        c
        for c in claims
        if c.source == "content" and c.file.rank_from_name not in (None, c.rank)
    ]
    if named:
        told = name_some(f"{c.file.path} holds rank {c.rank}" for c in named)
        notes.append(
            Note(
                "rank_in_name_differs",
                len(named),
                f"the content is another rank's than the file name says ({told}); "
                "the content was followed",
            )
        )
    return notes


def _ranks_told(claims: list[Claim]) -> str:
    return name_some(
        f"{c.file.path}: {c.rank}, content {c.facts.meta.rank}" for c in claims
    )


def _placed(claims: list[Claim], copies: dict[str, str], moved: list[Claim]) -> list[Note]:
    notes = []
    if copies:
        told = name_some(f"{copy} is {original}" for copy, original in copies.items())
        notes.append(
            Note("file_copy", len(copies), f"the same trace twice ({told}): one was kept")
        )
    if moved:
        said = rank_text(c.facts.meta.rank for c in moved if c.facts.meta.rank is not None)
        notes.append(
            Note(
                "rank_repeated",
                len(moved),
                f"several files say that they are rank {said}; "
                f"{name_some(c.file.path for c in moved)} were placed by their names",
            )
        )
    by_tp = [claim for claim in claims if claim.source == "tp"]
    if by_tp:
        notes.append(
            Note(
                "rank_from_tp",
                len(by_tp),
                "the names give tensor-parallel ranks and no other coordinate: "
                "they were taken as global ranks",
            )
        )
    return notes


def _clashes(label: str, inside: list[Claim]) -> list[Problem]:
    problems = []
    for rank in repeated(inside):
        claims = [c for c in inside if c.rank == rank]
        told = name_some(f"{c.file.path} ({_written_by(c)})" for c in claims)
        where = f" of {label}" if label else ""
        problems.append(
            Problem(
                f"{len(claims)} files claim to be rank {rank}{where}: {told}; several "
                "ranks may have written under one rank, or runs are mixed: leave one file "
                f"out, or {manifest_hint([c.file.path for c in claims])}",
                bad_input=True,
            )
        )
    return problems


def _written_by(claim: Claim) -> str:
    host = claim.facts.meta.host or claim.file.host_from_name
    process = (
        claim.facts.processes[0] if claim.facts.processes else claim.file.pid_from_name
    )
    parts = [f"rank from {claim.source}"]
    parts += [f"host {host}"] if host else []
    parts += [f"process {process}"] if process is not None else []
    return ", ".join(parts)


def _job_problems(windows: Labelled) -> list[Problem]:
    claims = [claim for inside in windows.values() for claim in inside]
    for jobs in (_by_world_size(claims), *map(_by_job, windows.values()), _by_gpu(claims)):
        if len(jobs) > 1:
            told = (f"{key}: {name_some(jobs[key])}" for key in sorted(jobs))
            return [
                Problem(
                    f"these are files of different jobs: {'; '.join(told)}; give the files "
                    "of one job at a time",
                    bad_input=True,
                )
            ]
    return []


Jobs = Mapping[str, list[str]]
"""Files by what tells jobs apart."""


def _by_world_size(claims: list[Claim]) -> Jobs:
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    for claim in claims:
        if claim.facts.meta.world_size:
            jobs[f"{claim.facts.meta.world_size} ranks"].append(claim.file.path)
    return jobs


def _by_job(inside: list[Claim]) -> Jobs:
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    for claim in inside:
        if claim.facts.meta.job:
            jobs[claim.facts.meta.job].append(claim.file.path)
    # An id that every file has for itself names the process, not the job.
    return {} if all(len(paths) == 1 for paths in jobs.values()) else jobs


def _by_gpu(claims: list[Claim]) -> Jobs:
    """Tell jobs apart by GPU: a rank does not change its model from window to window."""
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    of_rank: defaultdict[int, set[str]] = defaultdict(set)
    for claim in claims:
        for model in {device.name for device in claim.facts.devices} - {""}:
            jobs[model].append(claim.file.path)
            of_rank[claim.rank].add(model)
    changed = any(len(models) > 1 for models in of_rank.values())
    return jobs if changed else {}


def _other_processes(windows: Labelled) -> list[Note]:
    """Say that windows may be of different runs: no rank kept its process."""
    of_rank: defaultdict[int, list[int]] = defaultdict(list)
    for inside in windows.values():
        for claim in inside:
            of_rank[claim.rank] += claim.facts.processes[:1]
    several = [pids for pids in of_rank.values() if len(pids) > 1]
    if not several or any(len(set(pids)) < len(pids) for pids in several):
        return []
    return [
        Note(
            "windows_of_other_processes",
            len(windows),
            "no rank has the same process in two windows: they are separate runs, or the "
            "job was restarted between them",
        )
    ]


def _apart_in_time(label: str, inside: list[Claim]) -> list[Note]:
    with_events = [claim for claim in inside if claim.facts.events]
    apart = [
        claim
        for claim in with_events
        if not any(
            overlaps(claim.facts, other.facts)
            for other in with_events
            if other is not claim
        )
    ]
    if len(with_events) <= 1 or not apart:
        return []
    return [
        Note(
            "apart_in_time",
            len(apart),
            f"rank {rank_text(c.rank for c in apart)}{f' of {label}' if label else ''} "
            "was recorded when no other rank was: its collectives have no partner",
        )
    ]


def _same_content(inside: list[Claim]) -> list[Note]:
    same: defaultdict[object, list[Claim]] = defaultdict(list)
    for claim in inside:
        if claim.facts.events:
            same[fingerprint(claim)].append(claim)
    return [
        Note(
            "same_content",
            len(claims),
            f"{name_some(c.file.path for c in claims)} hold the same trace under different "
            "ranks: one was copied over the other",
        )
        for claims in same.values()
        if len(claims) > 1
    ]


def _missing(windows: Labelled, world_size: int | None) -> list[Note]:
    present = {claim.rank for inside in windows.values() for claim in inside}
    notes = []
    if world_size and present:
        lacking = set(range(world_size)) - present
        beyond = {rank for rank in present if rank >= world_size}
        if lacking:
            notes.append(
                Note(
                    "ranks_missing",
                    len(lacking),
                    f"the job has {world_size} ranks, no file is of rank "
                    f"{rank_text(lacking)}: waits are measured among those there are",
                )
            )
        if beyond:
            notes.append(
                Note(
                    "ranks_beyond",
                    len(beyond),
                    f"rank {rank_text(beyond)} cannot be: the job has {world_size} ranks",
                )
            )
    for label, inside in windows.items():
        gone = present - {claim.rank for claim in inside}
        if gone:
            notes.append(
                Note(
                    "window_incomplete",
                    len(gone),
                    f"{label} has no file of rank {rank_text(gone)}",
                )
            )
    return notes
