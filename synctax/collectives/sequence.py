"""The collectives of one rank in one group, as alignment sees them."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I8, I32, I64, Bool
from synctax.collectives.model import IS_SYMMETRIC, Op


@dataclass(frozen=True, slots=True)
class OpSequence:
    """A rank's collectives in order.

    `op` (n,) int8, `dtype` (n,) int32 and `payload_bytes` (n,) int64 (-1 unknown: agrees
    with all), `named` (n,) bool (an op not named agrees with all-to-all), `end_ns`
    (n,) int64.
    """

    op: I8
    dtype: I32
    payload_bytes: I64
    named: Bool
    end_ns: I64

    def __len__(self) -> int:
        return int(self.op.size)

    def take(self, rows: I64 | slice) -> "OpSequence":
        """Select rows by index array or slice."""
        return OpSequence(
            self.op[rows],
            self.dtype[rows],
            self.payload_bytes[rows],
            self.named[rows],
            self.end_ns[rows],
        )


def agrees(a: OpSequence, b: OpSequence) -> Bool:
    """Whether the k-th collectives of two equally long sequences can be the same one."""
    same_op = a.op == b.op
    if not (a.named.all() and b.named.all()):
        for guess, other in ((a, b), (b, a)):
            loose = ~guess.named & (guess.op == Op.SEND_RECV) & (other.op == Op.ALL_TO_ALL)
            same_op |= loose | (guess.op == Op.UNKNOWN)
    same_dtype = (a.dtype == b.dtype) | (a.dtype < 0) | (b.dtype < 0)
    same_size = a.payload_bytes == b.payload_bytes
    if not same_size.all():
        # Ranks send each other unlike amounts there.
        same_size |= (a.op == Op.ALL_TO_ALL) | (a.op == Op.SEND_RECV)
        same_size |= (a.payload_bytes < 0) | (b.payload_bytes < 0)
    result: Bool = same_op & same_dtype & same_size
    return result


def anchors(a: OpSequence, b: OpSequence) -> Bool:
    """Whether a pair is one that ranks leave together, so that its ends can be compared."""
    result: Bool = IS_SYMMETRIC[a.op] | IS_SYMMETRIC[b.op]
    return result


def to_neighbour_ns(one: OpSequence) -> F64:
    """Time from each end to the nearer of those before and after it, in ns."""
    gap = np.abs(np.diff(one.end_ns)).astype(np.float64)
    beyond = np.full(1, np.inf)
    result: F64 = np.minimum(np.append(gap, beyond), np.append(beyond, gap))
    return result
