"""How many bytes a collective moved, from element counts or from the shapes of tensors.

The payload follows nccl-tests: the larger of input and output of one rank, which for an
all-gather is the gathered buffer and for a reduce-scatter the buffer before scattering.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from synctax.arrays import ABSENT
from synctax.collectives.model import Op
from synctax.trace import names
from synctax.trace.numbers import MAX_BYTES, MAX_COUNT

_SHARD_OPS = frozenset({Op.ALL_GATHER, Op.GATHER})
"""Operations whose input tensor is one rank's share of the full buffer."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tensors of one call, read from `Input Dims` and `Input type`.

    Parameters
    ----------
    bytes : int
        Largest argument, a list of tensors counting as one; -1 where unknown.
    tensors : int
        Arguments that hold tensors.
    dtype : str
        Element type of the first tensor, empty where unknown.
    """

    bytes: int
    tensors: int
    dtype: str


UNKNOWN_SIZES = Sizes(ABSENT, 0, "")


@lru_cache(maxsize=1 << 14)
def sizes(dims: str, types: str) -> Sizes:
    """Measure the tensors of a call.

    Parameters
    ----------
    dims, types : str
        `Input Dims` and `Input type` as JSON text: `[[4, 2048], []]` and
        `["c10::Half", ""]`; a list of tensors is one argument (`[[[4], [8]]]`) of type
        `TensorList`. Empty where absent.

    Examples
    --------
    >>> sizes("[[4, 2048, 4096]]", '["c10::Half"]')
    Sizes(bytes=67108864, tensors=1, dtype='float16')
    """
    calls = [
        (elements, names.dtype(kind))
        for shape, kind in zip(_json_list(dims), _json_list(types), strict=False)
        if isinstance(kind, str) and (elements := _elements(shape, kind)) >= 0
    ]
    if not calls:
        return UNKNOWN_SIZES
    known = [(elements, kind) for elements, kind in calls if kind is not None]
    if not known:
        return Sizes(ABSENT, len(calls), "")
    amounts = [elements * kind.bytes for elements, kind in known]
    # A backend's range has tensors only: those of a coalesced call, one after the other.
    # An operator lists output and input among other arguments.
    listed = len(known) == len(_json_list(dims))
    return Sizes(
        _plausible(sum(amounts) if listed else max(amounts), MAX_BYTES),
        1 if listed else len(calls),
        known[0][1].name,
    )


def _json_list(text: str) -> list[Any]:
    if not text.startswith("["):
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # cut by the profiler: as good as absent
        return []
    return value if isinstance(value, list) else []


def _elements(shape: Any, kind: str = "", *, depth: int = 0) -> int:
    """Elements of an argument, a list of tensors summed; -1 where it is no tensor."""
    if not isinstance(shape, list) or depth > 1:
        return ABSENT
    if not shape:  # a tensor without dimensions, or no tensor
        return 1 if names.dtype(kind) is not None else ABSENT
    if all(isinstance(length, int) for length in shape):
        return _plausible(prod(shape), MAX_COUNT) if min(shape) >= 0 else ABSENT
    parts = [_elements(part, depth=depth + 1) for part in shape]
    total = sum(part for part in parts if part >= 0)
    return _plausible(total, MAX_COUNT) if max(parts) >= 0 else ABSENT


def _plausible(amount: int, limit: int) -> int:
    return amount if 0 <= amount <= limit else ABSENT


def from_sizes(size: Sizes, op: Op, ranks: int | None, *, both_sides: bool) -> int:
    """Bytes of the full buffer, from the tensors a call was given.

    Parameters
    ----------
    size : Sizes
    op : Op
    ranks : int or None
        Ranks of the group, None where unknown.
    both_sides : bool
        The call lists input and output (an operator), not the input alone (a backend's
        range).

    Returns
    -------
    int
        For all-gather and gather the input is a shard, so that it counts once a rank of
        the group; -1 where the size of the group is then unknown.
    """
    if size.bytes < 0 or op not in _SHARD_OPS or (both_sides and size.tensors > 1):
        return size.bytes
    return _plausible(size.bytes * ranks, MAX_BYTES) if ranks else ABSENT


@lru_cache(maxsize=1 << 12)
def uneven(split: str) -> bool:
    """Tell whether the split sizes that a text shows differ; `[]` means equal splits.

    The text shows at most 30 of them (`[1, 2, ...]`).

    >>> uneven("[300, 700]"), uneven("[]"), uneven("[5, 5, ...]")
    (True, False, False)
    """
    parts = {part.strip() for part in split.strip("[] ").split(",")}
    return len({part for part in parts if part.lstrip("-").isdigit()}) > 1
