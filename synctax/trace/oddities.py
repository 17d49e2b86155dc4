"""What is odd about the files of a job, in words."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from synctax.notes import Note
from synctax.trace.discover import TraceFile
from synctax.trace.jobs import different_jobs
from synctax.trace.numbers import MAX_RANK
from synctax.trace.windows import Claim, Labelled, fingerprint, overlaps, repeated
from synctax.urls import last_part

NAMED = 3
"""How many files or ranks a message names before it counts the rest."""


def valid(rank: int) -> bool:
    """Tell whether a number can be a rank."""
    return 0 <= rank <= MAX_RANK


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
    names = [last_part(path) for path in paths[:2]]
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
    invalid = [
        c for c in claims if not (c.facts.meta.rank is None or valid(c.facts.meta.rank))
    ]
    if invalid:
        told = name_some(f"{c.file.path}: {c.facts.meta.rank}" for c in invalid)
        notes.append(
            Note("rank_invalid", len(invalid), f"the content's rank cannot be one: {told}")
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
    jobs = different_jobs(windows)
    if not jobs:
        return []
    told = "; ".join(f"{key}: {name_some(jobs[key])}" for key in sorted(jobs))
    return [
        Problem(
            f"these are files of different jobs: {told}; give the files of one job at a "
            "time",
            bad_input=True,
        )
    ]


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
            "was recorded when no other rank was, by its clock: if that is right (a lost "
            "baseTimeNanoseconds makes it wrong), its collectives have no partner",
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


def _gaps(present: set[int], world_size: int) -> tuple[int, str]:
    """Count and name the ranks below `world_size` that are not present.

    >>> _gaps({0, 5}, 8)
    (6, '1-4,6-7')
    """
    edges = [-1, *sorted(rank for rank in present if rank < world_size), world_size]
    gaps = [(a + 1, b - 1) for a, b in pairwise(edges) if b - a > 1]
    told = ",".join(f"{a}-{b}" if b > a else str(a) for a, b in gaps)
    return sum(b - a + 1 for a, b in gaps), told


def _missing(windows: Labelled, world_size: int | None) -> list[Note]:
    present = {claim.rank for inside in windows.values() for claim in inside}
    notes = []
    if world_size and present:
        lacking, told = _gaps(present, world_size)
        beyond = {rank for rank in present if rank >= world_size}
        if lacking:
            notes.append(
                Note(
                    "ranks_missing",
                    lacking,
                    f"the job has {world_size} ranks, no file is of rank {told}: waits are "
                    "measured among those there are",
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
