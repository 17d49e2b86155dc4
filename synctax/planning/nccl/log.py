"""Read what NCCL told of a job.

Logs are those of NCCL_DEBUG=INFO: one of all ranks, one of each (NCCL_DEBUG_FILE=%h.%p),
or anything between. Which GPU has which NIC, and which traffic crosses rails, follows in
`nccl_rails`.
"""

from collections.abc import Sequence
from pathlib import Path

from synctax.errors import BadInputError
from synctax.planning.nccl.gather import Gathered
from synctax.planning.nccl.join import join
from synctax.planning.nccl.model import NcclLog


def read_nccl_log(paths: Sequence[Path | str]) -> NcclLog:
    """Read logs of NCCL_DEBUG=INFO, plain or compressed.

    Parameters
    ----------
    paths : sequence of Path or str

    Raises
    ------
    BadInputError
        If one cannot be read or is no log of NCCL, or all of them tell of no rank.

    References
    ----------
    NCCL's sources: `src/init.cc`, `src/graph/rings.cc`, `src/transport/`.
    """
    gathered = Gathered()
    for path in dict.fromkeys(map(str, paths)):
        gathered.read(path)
    gathered.finish()
    log = join(tuple(map(str, paths)), gathered)
    if not (log.members or log.links):
        named = ", ".join(map(str, paths[:3])) + (", ..." if len(paths) > 3 else "")
        raise BadInputError(
            f"{named}: no rank and no connection in the log; expected lines such as `comm "
            "0x... rank 0 nranks 8 ... - Init COMPLETE` and `Channel 00/0 : 0[0] -> 1[1] "
            "via P2P/IPC`; run with NCCL_DEBUG=INFO and, if NCCL_DEBUG_SUBSYS is set, "
            "with INIT,ENV,NET,GRAPH in it"
        )
    return log
