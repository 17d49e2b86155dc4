"""What the traces of a job hold and what can be computed from them, in words."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from synctax.arrays import distinct
from synctax.collectives.load import FileRow, Job
from synctax.collectives.model import Op, RankCollectives
from synctax.collectives.pool import JobGroup, Participations, gather
from synctax.notes import Note
from synctax.texts import percent
from synctax.trace import names
from synctax.trace.facts import FileFacts
from synctax.trace.model import EventKind
from synctax.trace.oddities import name_some, rank_text

PAIR = 2
"""The tax compares ranks, so it needs this many."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One role of process groups and one operation.

    Parameters
    ----------
    group : str
        Role (`tp`), else the description, else `unlabelled`.
    op : str
    n_groups : int
        Groups of the role that perform the operation (siblings), of one window.
    n_ranks : int
        Ranks of a group as declared; the largest where they differ.
    ranks : str
        Ranks of the groups, `0-3 | 4-7`.
    present : int
        Ranks read that take part.
    collectives_min, collectives_max : int
        Fewest and most collectives of a rank, over the ranks read.
    origin : str
        How members are known: `kernel`, `pg_config`, `stride` or `inferred`.
    """

    group: str
    op: str
    n_groups: int
    n_ranks: int
    ranks: str
    present: int
    collectives_min: int
    collectives_max: int
    origin: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can be said of one subject: `answer` is `yes`, `no`, or empty for a remark."""

    subject: str
    answer: str
    text: str


@dataclass(frozen=True, slots=True)
class Overview:
    """What `inspect` shows beside the files."""

    groups: tuple[GroupRow, ...]
    notes: tuple[Note, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def measurable(self) -> bool:
        """Whether a tax can be computed."""
        return any(v.subject == "measure" and v.answer == "yes" for v in self.verdicts)


def overview(job: Job) -> Overview:
    """Say which groups communicate how often, what is odd, and what can be computed.

    Parameters
    ----------
    job : Job
        With or without problems.

    Returns
    -------
    Overview
    """
    table, groups, _ = gather(job.ranks)
    counts = _counts(table, groups)
    return Overview(
        groups=tuple(_group_rows(counts, groups)),
        notes=(*_uneven_counts(counts, groups, job.ranks), *_file_oddities(job.files)),
        verdicts=tuple(_verdicts(job, _measure(job, counts, groups), table, groups)),
    )


Counts = dict[tuple[int, int], Counter[int]]
"""By group and operation: collectives by position of the rank."""


def _counts(table: Participations, groups: Sequence[JobGroup]) -> Counts:
    counts: Counts = {}
    rows, times = np.unique(
        np.stack([table.group, table.op.astype(np.int32), table.rank]),
        axis=1,
        return_counts=True,
    )
    for (group, op, rank), n in zip(rows.T.tolist(), times.tolist(), strict=True):
        counts.setdefault((group, op), Counter())[rank] += n
    for (group, _), by_rank in counts.items():
        for member in groups[group].members:
            by_rank[member] += 0
    return counts


def _group_rows(counts: Counts, groups: Sequence[JobGroup]) -> list[GroupRow]:
    rows = []
    keys = dict.fromkeys((groups[group].role, op) for group, op in sorted(counts))
    for role, op in keys:
        own = [(g, n) for (g, o), n in counts.items() if o == op and groups[g].role == role]
        windows = Counter(groups[g].window for g, _ in own)
        each = [n for _, by_rank in own for n in by_rank.values()]
        members = sorted({groups[g].ranks for g, _ in own})
        rows.append(
            GroupRow(
                group=role,
                op=Op(op).label,
                n_groups=max(windows.values()),
                n_ranks=max(groups[g].size for g, _ in own),
                ranks=" | ".join(rank_text(ranks) for ranks in members),
                present=len({m for _, by_rank in own for m in by_rank}),
                collectives_min=min(each),
                collectives_max=max(each),
                origin=", ".join(sorted({groups[g].origin for g, _ in own})),
            )
        )
    return rows


def _uneven_counts(
    counts: Counts, groups: Sequence[JobGroup], ranks: Sequence[RankCollectives]
) -> list[Note]:
    notes = []
    for (group, op), by_rank in sorted(counts.items()):
        most = max(by_rank.values())
        fewer = {r: n for r, n in sorted(by_rank.items()) if n < most}
        # Stages of a pipeline send and receive unlike often.
        if not fewer or op == Op.SEND_RECV:
            continue
        told = name_some(f"rank {ranks[r].rank} has {n}" for r, n in fewer.items())
        where = f" in {groups[group].window}" if groups[group].window else ""
        notes.append(
            Note(
                "collectives_differ",
                len(fewer),
                f"{groups[group].role} {Op(op).label}{where}: {told}, others {most}; "
                "such collectives are matched by what they are and when they end, not "
                "by their number",
            )
        )
    return notes


# ------------------------------------------------------------------ oddities of files


def _file_oddities(files: Sequence[FileRow]) -> list[Note]:
    used = [
        (file, file.facts, file.collectives)
        for file in files
        if file.facts is not None and file.collectives is not None and file.facts.events
    ]
    notes = []
    for reason, is_so, text in _ODDITIES:
        odd = [file for file, facts, own in used if is_so(facts, own)]
        if odd:
            notes.append(Note(reason, len(odd), f"{_which(odd, files)}: {text}"))
    return notes


def _which(odd: Sequence[FileRow], files: Sequence[FileRow]) -> str:
    if len(odd) == len(files):
        return "every file" if len(files) > 1 else "the file"
    ranks = [file.rank for file in odd if file.rank is not None]
    windows = {file.window for file in files}
    if len(ranks) < len(odd) or len(windows) > 1:
        return name_some(file.path for file in odd)
    return f"rank {rank_text(ranks)}"


Test = Callable[[FileFacts, RankCollectives], bool]


def _named(own: RankCollectives, *marks: str) -> bool:
    used = [own.strings[code] for code in distinct(own.kernel[own.kernel >= 0])]
    return bool(used) and all(any(mark in name for mark in marks) for name in used)


def _library(own: RankCollectives) -> bool:
    used = [own.strings[code] for code in distinct(own.kernel[own.kernel >= 0])]
    return any(names.kernel(name).library not in ("", "nccl", "rccl") for name in used)


def _has_base_time(facts: FileFacts) -> bool:
    return any(note.reason == "base_time_ignored" for note in facts.notes)


_ODDITIES: tuple[tuple[str, Test, str], ...] = (
    (
        "no_distributed_info",
        lambda facts, _: facts.meta.rank is None and facts.meta.world_size is None,
        "no distributedInfo: the trace does not say its rank or the size of the job",
    ),
    (
        "no_gpu_events",
        lambda facts, own: (
            not facts.count(EventKind.KERNEL) and not facts.truncated and not len(own)
        ),
        "no kernel: the profiler recorded no GPU (ProfilerActivity.CUDA), or it was idle",
    ),
    (
        "cpu_collectives",
        lambda facts, own: not facts.count(EventKind.KERNEL) and bool(len(own)),
        "no kernel: the collectives are those of a CPU backend (gloo)",
    ),
    (
        "several_processes",
        lambda facts, _: len(facts.processes) > 1,
        "CPU events of several processes: several ranks may have written one file",
    ),
    (
        "no_communication",
        lambda facts, own: bool(facts.count(EventKind.KERNEL)) and not len(own),
        "kernels, but none that communicates",
    ),
    (
        "no_collective_metadata",
        lambda facts, own: bool(own.comm_kernels) and not facts.comm_rows,
        "no collective metadata on kernels: groups are inferred from streams",
    ),
    (
        "generic_kernels",
        lambda _, own: _named(own, "_Generic", "GenericKernel"),
        "every communication kernel is Generic by name: only metadata tells the operation",
    ),
    (
        "old_kernel_names",
        lambda _, own: _named(own, "ncclKernel_"),
        "kernel names of NCCL before 2.19 (ncclKernel_...)",
    ),
    (
        "other_libraries",
        lambda _, own: _library(own),
        "communication not only by NCCL or RCCL (symmetric memory, custom all-reduce, ...)",
    ),
    (
        "whole_us",
        lambda facts, _: facts.whole_us,
        "times are whole µs: shorter differences are not seen",
    ),
    (
        "no_base_time",
        lambda facts, _: not facts.meta.base_time_ns and not _has_base_time(facts),
        "no baseTimeNanoseconds: times are taken as they stand",
    ),
    (
        "no_device_names",
        lambda facts, _: bool(facts.devices) and not any(d.name for d in facts.devices),
        "the trace does not name the GPUs",
    ),
)


# ------------------------------------------------------------------ verdicts


def _verdicts(
    job: Job, measure: Verdict, table: Participations, groups: Sequence[JobGroup]
) -> list[Verdict]:
    verdicts = [measure]
    if measure.answer == "yes":
        verdicts += [_identity(table, groups), _clocks(job)]
    on_cpu = any(len(rank) for rank in job.ranks)
    return [*verdicts, _attribute(job.facts, on_cpu=on_cpu)] if job.facts else verdicts


def _measure(job: Job, counts: Counts, groups: Sequence[JobGroup]) -> Verdict:
    if job.problems:
        return Verdict("measure", "no", job.problems[0].message)
    taking_part: dict[int, set[int]] = {}
    for (group, _), by_rank in counts.items():
        taking_part.setdefault(group, set()).update(+by_rank)
    compared: set[int] = set()
    shared: dict[str, list[JobGroup]] = {}
    for group, members in taking_part.items():
        if len(members) >= PAIR:
            shared.setdefault(groups[group].role, []).append(groups[group])
            compared |= {job.ranks[member].rank for member in members}
    if not shared:
        return Verdict("measure", "no", _why_not(job, groups))
    total = job.world_size or len({rank.rank for rank in job.ranks})
    told = ", ".join(_group_text(role, own) for role, own in shared.items())
    return Verdict("measure", "yes", f"{len(compared)} of {total} ranks; {told}")


def _group_text(role: str, own: Sequence[JobGroup]) -> str:
    in_window = max(Counter(group.window for group in own).values())
    size = max(group.size for group in own)
    return f"{role} ({in_window} group{'s' if in_window > 1 else ''} of {size})"


def _why_not(job: Job, groups: Sequence[JobGroup]) -> str:
    ranks = {rank.rank for rank in job.ranks}
    kernels = sum(rank.comm_kernels for rank in job.ranks)
    if not any(len(rank) for rank in job.ranks):
        text = "no communication kernel in any trace"
        if not any(rank.compute_kernels + rank.comm_kernels for rank in job.ranks):
            text += ", for none holds a kernel: record ProfilerActivity.CUDA too"
        if len(ranks) < PAIR:
            text += "; and one rank alone has nothing to compare with"
        return text
    if len(ranks) < PAIR:
        return (
            f"one rank only ({kernels:,} communication kernels): nothing to compare; the "
            "tax needs at least two ranks of a group"
        )
    told = name_some(dict.fromkeys(f"{g.role} {rank_text(g.ranks)}" for g in groups))
    return f"no group has two of the ranks {rank_text(ranks)} in one window; groups: {told}"


def _identity(table: Participations, groups: Sequence[JobGroup]) -> Verdict:
    labelled = np.array([group.labelled for group in groups], bool)[table.group]
    by_id = table.comms_id > 0
    by_seq = ~by_id & (table.seq >= 0)
    kinds = {
        "by Comms Id": by_id,
        "by Seq": by_seq,
        "by order, operation and size within each group (no Seq)": (
            ~by_id & ~by_seq & labelled
        ),
        "by order within each stream (no collective metadata)": (
            ~by_id & ~by_seq & ~labelled
        ),
    }
    shares = {text: int(rows.sum()) for text, rows in kinds.items() if rows.any()}
    if len(shares) == 1:
        return Verdict("matching", "", next(iter(shares)))
    total = len(table.rank)
    told = ", ".join(f"{percent(n / total)} {text}" for text, n in shares.items())
    return Verdict("matching", "", told)


def _clocks(job: Job) -> Verdict:
    hosts = {rank.host for rank in job.ranks}
    if "" in hosts:
        text = "hosts unknown: clocks are aligned from the ends of collectives"
    elif len(hosts) == 1:
        text = f"one host ({hosts.pop()}): starts can be compared directly"
    else:
        text = f"{len(hosts)} hosts: clocks are aligned from the ends of collectives"
    return Verdict("clocks", "", text)


def _attribute(facts: Sequence[FileFacts], *, on_cpu: bool) -> Verdict:
    gpu = sum(
        fact.count(kind)
        for fact in facts
        for kind in (EventKind.KERNEL, EventKind.MEMCPY, EventKind.MEMSET)
    )
    launches = sum(fact.launches for fact in facts)
    records = sum(fact.sync_records for fact in facts)
    calls = sum(fact.sync_calls for fact in facts)
    if not gpu and on_cpu:
        return Verdict("attribute", "yes", "on the host: no GPU events")
    if not gpu:
        return Verdict("attribute", "no", "no GPU events")
    waits = "no cuda_sync records: waits between streams are inferred from times"
    if records:
        waits = f"{records:,} cuda_sync records"
    elif calls:
        waits = f"no cuda_sync records, {calls:,} calls that record and await events"
    answer = "yes" if launches else "no"
    return Verdict(
        "attribute", answer, f"launches of {percent(launches / gpu)} of GPU events; {waits}"
    )
