"""What matching found: collectives, who took part, how sure the match is."""

from dataclasses import dataclass
from enum import IntEnum

from synctax.arrays import F64, I8, I32, I64
from synctax.collectives.clock import ClockFit
from synctax.collectives.model import RankCollectives
from synctax.collectives.pool import JobGroup, Participations
from synctax.notes import Note


class Identity(IntEnum):
    """How the participations of a collective were found to be one."""

    COMMS_ID = 0
    SEQ = 1
    ORDER = 2
    INFERRED = 3


class Status(IntEnum):
    """What may be said of a collective; only `OK` enters summaries."""

    OK = 0
    HEAD = 1
    PARTIAL = 2
    INVALID = 3
    UNMATCHED = 4


@dataclass(frozen=True, slots=True)
class Matches:
    """Collectives (slots) and who took part in them.

    Slots are sorted by group, then by time; participations by slot, then by rank.

    Parameters
    ----------
    ranks : tuple of RankCollectives
        What was matched.
    groups : tuple of JobGroup
        Process groups.
    table : Participations
        Of all ranks.
    group, index, op, dtype, payload_bytes, seq, step : (m,) arrays
        Of each slot; -1 where unknown. `index` counts the group's slots from 0.
    identity, status, own_status : (m,) int8
        `Identity`; `Status`; and the status but for being at the window's head.
    reason : (m,) int32
        Code into `reasons`, -1 for `ok`.
    end_spread_ns, start_spread_ns : (m,) float64
        On aligned clocks; NaN where clocks could not be aligned.
    first : (m + 1,) int64
        Participations of slot i are `first[i]` up to `first[i + 1]`.
    row : (p,) int64
        Row of each participation in `table`.
    clocks : tuple of dict
        Per group: clock of each rank (by position) against the group's reference; empty
        where the clocks agree as they are.
    """

    ranks: tuple[RankCollectives, ...]
    groups: tuple[JobGroup, ...]
    table: Participations
    group: I32
    index: I64
    op: I8
    dtype: I32
    payload_bytes: I64
    seq: I64
    step: I64
    identity: I8
    status: I8
    own_status: I8
    reason: I32
    reasons: tuple[str, ...]
    end_spread_ns: F64
    start_spread_ns: F64
    first: I64
    row: I64
    clocks: tuple[dict[int, ClockFit], ...]
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        return f"<Matches: {len(self):,} collectives in {len(self.groups)} groups>"

    def __len__(self) -> int:
        return int(self.group.size)
