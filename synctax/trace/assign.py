"""Which file is which rank, on which host, GPU and in which window; never a silent 0.

A rank comes from the user, else from the trace's content, else from the file's name. What
contradicts itself is reported with the files named; what cannot be told is a problem, not
a guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from synctax.notes import Note
from synctax.trace.discover import TraceFile
from synctax.trace.facts import FileFacts
from synctax.trace.oddities import Problem, notes_on, problems_with, unplaced, valid
from synctax.trace.windows import (
    Claim,
    clashing,
    placed_by_name,
    split_windows,
    without_copies,
)


class FileStatus(StrEnum):
    """What becomes of a file; the values are what users see."""

    USED = "used"
    COPY = "copy"
    """It holds the same trace as another file."""
    NO_RANK = "no rank"
    CLASH = "clash"
    """Another file claims the same rank."""
    UNREADABLE = "unreadable"
    EMPTY = "empty"
    """The trace holds no event."""
    NOT_SELECTED = "not selected"
    """Its rank was not asked for."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a file belongs.

    Parameters
    ----------
    rank : int or None
        Global rank; None where nothing tells it.
    rank_source : str
        `manifest`, `content`, `name`, `tp` (a tensor-parallel rank in the name, taken as
        global), or empty.
    host, gpu : str
        As shown to users; `gpu` is like `3 (H100)`; empty where unknown.
    host_source : str
        `manifest`, `content`, `name` or empty.
    window : str
        Empty where there is one window.
    status : FileStatus
        `used`, `copy`, `no rank` or `clash`.
    """

    path: str
    rank: int | None
    rank_source: str
    host: str
    host_source: str
    gpu: str
    window: str
    status: FileStatus


@dataclass(frozen=True, slots=True)
class Assignment:
    """Every file's place, in the order of the files, with all that was odd on the way."""

    placements: tuple[Placement, ...]
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    world_size: int | None = None


def assign(files: Sequence[TraceFile], facts: Sequence[FileFacts]) -> Assignment:
    """Find the rank, host, GPU and window of every file.

    Parameters
    ----------
    files, facts : n each
        In the same order.

    Returns
    -------
    Assignment
        With problems instead of errors, so that a caller can show all of them.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    claims, unknown = _claims(list(zip(files, facts, strict=True)))
    kept, copies = without_copies(claims)
    windows, moved = placed_by_name(split_windows(kept))
    without_rank = unplaced(unknown, n_files=len(files))
    notes = notes_on(windows, copies=copies, moved=moved, world_size=_world_size(facts))
    problems = problems_with(windows)
    if isinstance(without_rank, Problem):
        problems.append(without_rank)
    elif without_rank is not None:
        notes.append(without_rank)
    clashes = {c.file.path for inside in windows.values() for c in clashing(inside)}
    claimed = {claim.file.path: claim for claim in claims}
    placed = {c.file.path: (c, label) for label, inside in windows.items() for c in inside}
    placements = []
    for file, fact in zip(files, facts, strict=True):
        claim, window = placed.get(file.path, (claimed.get(file.path), ""))
        host, host_source = _host(file, fact)
        status = FileStatus.USED if claim else FileStatus.NO_RANK
        if file.path in copies:
            status = FileStatus.COPY
        elif file.path in clashes:
            status = FileStatus.CLASH
        placements.append(
            Placement(
                path=file.path,
                rank=claim.rank if claim else None,
                rank_source=claim.source if claim else "",
                host=host,
                host_source=host_source,
                gpu=gpu_text(fact),
                window=window,
                status=status,
            )
        )
    return Assignment(tuple(placements), tuple(notes), tuple(problems), _world_size(facts))


def gpu_text(facts: FileFacts) -> str:
    """Name the GPUs that a rank used: `0 (A100-SXM4-80GB)`, `2`, or nothing."""
    ids = ",".join(str(device.id) for device in facts.devices)
    models = sorted(
        {device.name.removeprefix("NVIDIA ") for device in facts.devices} - {""}
    )
    return f"{ids} ({', '.join(models)})" if models else ids


def _world_size(facts: Sequence[FileFacts]) -> int | None:
    """Return the number of ranks that the traces agree on."""
    sizes = {fact.meta.world_size for fact in facts} - {None}
    return sizes.pop() if len(sizes) == 1 else None


def _claims(
    pairs: list[tuple[TraceFile, FileFacts]],
) -> tuple[list[Claim], list[TraceFile]]:
    claims: list[Claim] = []
    unknown: list[tuple[TraceFile, FileFacts]] = []
    for file, facts in pairs:
        for source, rank in (
            ("manifest", file.rank_given),
            ("content", facts.meta.rank),
            ("name", file.rank_from_name),
        ):
            if rank is not None and valid(rank):
                claims.append(Claim(file, facts, rank, source))
                break
        else:
            unknown.append((file, facts))
    if not claims and _tp_only([file for file, _ in unknown]):
        return [Claim(f, x, f.place[0][1], "tp") for f, x in unknown], []
    return claims, [file for file, _ in unknown]


def _tp_only(files: list[TraceFile]) -> bool:
    """Tell whether TP ranks name every rank: there is no other coordinate."""
    if any([axis for axis, _ in file.place] != ["tp"] for file in files):
        return False
    numbers = sorted(file.place[0][1] for file in files)
    return len(files) > 1 and numbers == list(range(len(files)))


def _host(file: TraceFile, facts: FileFacts) -> tuple[str, str]:
    for source, host in (
        ("manifest", file.host_given),
        ("content", facts.meta.host),
        ("name", file.host_from_name),
    ):
        if host:
            return host, source
    return "", ""
