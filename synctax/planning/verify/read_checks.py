"""What was read of a job: which ranks, of one run or several, on which hosts."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

import numpy as np

from synctax.notes import Note
from synctax.planning.verify.check import Broken, Check
from synctax.planning.verify.hosts_file import LOG, MOST_RANKS
from synctax.planning.verify.observed import Observed
from synctax.texts import counted
from synctax.trace.oddities import rank_text


def traced(observed: Observed) -> Check:
    """Say which ranks of the job were read; what the others did is not seen.

    Parameters
    ----------
    observed : Observed
    """
    world, read = observed.world, observed.traced
    if world is None:
        return Check(
            "traced",
            "",
            "remark",
            "all ranks",
            counted(read.size, "rank"),
            checked=0,
            because="the traces do not tell how many ranks the job has",
        )
    missing = np.setdiff1d(np.arange(min(world, MOST_RANKS)), read)
    because = ""
    if missing.size:
        because = f"not read: rank {rank_text(missing.tolist())}"
    return Check(
        "traced",
        "",
        "remark",
        counted(world, "rank"),
        f"{read.size:,} read",
        checked=0 if missing.size else 1,
        unknown=1 if missing.size else 0,
        because=because,
    )


def runs(notes: Sequence[Note]) -> list[Check]:
    """Say where files may be of several runs, whose groups and hosts would be mixed.

    Parameters
    ----------
    notes : sequence of Note
        Of reading.

    Returns
    -------
    list of Check
        None where nothing points to it.
    """
    return [
        Check(
            "runs",
            "",
            "remark",
            "the files of one run",
            f"{note.count:,} windows of other processes",
            checked=1,
            broken=(Broken((), (), note.detail),),
            because=note.detail,
            unit="job",
        )
        for note in notes
        if note.reason == OTHER_PROCESSES
    ]


OTHER_PROCESSES: Final = "windows_of_other_processes"
"""Reason of the note that placing files gives."""


def hosts(observed: Observed) -> list[Check]:
    """Say where two sources name different hosts of a rank.

    Parameters
    ----------
    observed : Observed

    Returns
    -------
    list of Check
        None where they agree. A remark where a user says it, or where hosts only have
        other names, as in containers; a warning where the log of NCCL puts ranks on other
        hosts than traces do.
    """
    moved = observed.places.moved
    if not moved:
        return []
    source = PurePath(moved[0].source).name
    names = {(one.traced, one.told) for one in moved}
    old, new = ({pair[side] for pair in names} for side in (0, 1))
    renamed = len(names) == len(old) == len(new) and not old & new
    because = f"{source} goes before the traces"
    if renamed:
        because = f"{source} has other names of hosts, and goes before the traces"
    return [
        Check(
            "hosts",
            "",
            "remark" if renamed or moved[0].source != LOG else "warning",
            "the hosts that traces name",
            f"{counted(len(moved), 'rank')} elsewhere in {source}, as "
            f"{moved[0].rank} on {moved[0].told} for {moved[0].traced}",
            checked=len(moved),
            broken=tuple(
                Broken(
                    (one.rank,), (one.told,), f"{one.told} in {source}, {one.traced} traced"
                )
                for one in moved
            ),
            because=because,
            unit="rank",
        )
    ]
