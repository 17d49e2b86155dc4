"""The table of the files of a job."""

from typing import TYPE_CHECKING, Any

from synctax.arrays import NS_PER_US
from synctax.schema import INSPECT_FILES
from synctax.trace.oddities import rank_text

if TYPE_CHECKING:
    import pandas as pd

    from synctax.collectives.load import FileRow, Job

NOT_NEEDED = "skipped_category"
"""Reason of notes on events that nobody needs: neither a repair nor a loss."""

Row = dict[str, Any]


def file_rows(job: "Job") -> list[Row]:
    """Describe every file by the columns of `INSPECT_FILES`."""
    return [_file_row(file) for file in job.files]


def frame(job: "Job") -> "pd.DataFrame":
    """Build the public table of files."""
    rows = file_rows(job)
    return INSPECT_FILES.to_frame(
        {name: [row[name] for row in rows] for name in INSPECT_FILES.names}
    )


def _file_row(file: "FileRow") -> Row:
    facts, own = file.facts, file.collectives
    row: Row = dict.fromkeys(INSPECT_FILES.names)
    row |= {
        "file": file.path,
        "status": file.status.value,
        "reason": file.reason or None,
        "rank": file.rank,
        "rank_source": file.rank_source or None,
        "host": file.host or None,
        "host_source": file.host_source or None,
        "gpu": file.gpu or None,
        "window": file.window or None,
        "size_bytes": file.size_bytes,
    }
    if facts is None or own is None:
        return row
    start_ns, end_ns = facts.start_ns, facts.end_ns
    return row | {
        "world_size": facts.meta.world_size,
        "pytorch_version": facts.meta.versions.get("pytorch"),
        "nccl_version": facts.meta.nccl_version,
        "steps": rank_text(facts.steps) or None,
        "streams": len(facts.streams),
        "groups": len(own.groups),
        "comm_kernels": own.comm_kernels,
        "compute_kernels": own.compute_kernels,
        "repairs": sum(n.count for n in facts.notes if n.reason != NOT_NEEDED),
        "truncated": facts.truncated,
        "span_us": None
        if start_ns is None or end_ns is None
        else (end_ns - start_ns) / NS_PER_US,
    }
