"""Networks of ASTRA-sim's analytical back end, in bytes a second and seconds.

Its file says GB/s and means 2^30 bytes a second, 7.4 % more than 10^9; latencies are ns.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import F64, I64, NS_PER_S
from synctax.collectives.model import Op
from synctax.planning.inputs.yaml_file import LARGEST_FILE_BYTES, read_yaml
from synctax.planning.inputs.yaml_values import Scalar, Section, Sequence
from synctax.trace.whole import whole

BYTES_OF_GB: Final = 2**30
"""Of a GB of ASTRA-sim (common/NetworkFunction.cpp of its analytical back end)."""

HOPS: Final = {"Ring": 1, "FullyConnected": 1, "Switch": 2}
"""Links between neighbours, by the name of a topology; each has the latency."""

_KIND: Final = "a network of ASTRA-sim"
_KEYS: Final = ("topology", "npus_count", "bandwidth", "latency")
_MOST_DIMENSIONS: Final = 8
_MOST_NPUS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class AstraNetwork:
    """A network of d dimensions, the innermost first.

    Parameters
    ----------
    topology : tuple of str
        `Ring`, `FullyConnected` or `Switch`.
    npus : (d,) int64
        GPUs along each dimension, 2 or more.
    bytes_per_s : (d,) float64
        Of a GPU in each dimension.
    latency_s : (d,) float64
        Of a link.
    """

    topology: tuple[str, ...]
    npus: I64
    bytes_per_s: F64
    latency_s: F64

    @property
    def total(self) -> int:
        """GPUs of the whole network."""
        return int(np.prod(self.npus))


def read_network(path: str | os.PathLike[str]) -> AstraNetwork:
    """Read a network file: `topology`, `npus_count`, `bandwidth`, `latency`.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    BadInputError
        If it is none; names the key, its line, and what was expected.
    """
    text = whole(path, _KIND, most=LARGEST_FILE_BYTES)
    return network_of(read_yaml(text, name=os.fspath(path), kind=_KIND))


def network_of(section: Section) -> AstraNetwork:
    """Read a network out of YAML.

    Raises
    ------
    BadInputError
    """
    section.allow(_KEYS, {})
    names = _texts(section, "topology", f"a list of {', '.join(HOPS)}")
    odd = next((f", not {name[:40]!r}" for name in names if name not in HOPS), "")
    if odd or not 0 < len(names) <= _MOST_DIMENSIONS:
        kinds = ", ".join(HOPS)
        raise section.wrong("topology", f"a list of {kinds}, one a dimension{odd}")
    npus = _numbers(
        section, "npus_count", len(names), "a whole number of 2 or more", _is_size
    )
    if np.prod(npus) > _MOST_NPUS:
        raise section.wrong("npus_count", f"at most {_MOST_NPUS:,} GPUs together")
    rates = _numbers(section, "bandwidth", len(names), "a number above 0", _is_rate)
    latency_ns = _numbers(section, "latency", len(names), "0 or more ns", _is_latency)
    return AstraNetwork(
        topology=names,
        npus=npus.astype(np.int64),
        bytes_per_s=rates * BYTES_OF_GB,
        latency_s=latency_ns / NS_PER_S,
    )


def _is_size(value: float) -> bool:
    return value.is_integer() and 2 <= value <= _MOST_NPUS


def _is_rate(value: float) -> bool:
    return 0 < value < 1e12


def _is_latency(value: float) -> bool:
    return 0 <= value < 1e15


def _texts(section: Section, key: str, expected: str) -> tuple[str, ...]:
    node = section.entries.get(key)
    items = node.items if isinstance(node, Sequence) else ()
    if not items or not all(isinstance(item, Scalar) for item in items):
        raise section.wrong(key, expected)
    return tuple(item.text for item in items if isinstance(item, Scalar))


def _numbers(
    section: Section, key: str, count: int, each: str, right: Callable[[float], bool]
) -> F64:
    """Read a list of numbers, one a dimension."""
    expected = f"a list of {count}, each {each}"
    texts = _texts(section, key, expected)
    values = np.empty(len(texts))
    for at, text in enumerate(texts):
        try:
            values[at] = float(text)
        except ValueError:
            raise section.wrong(key, f"{expected}, not {text[:40]!r}") from None
    if len(texts) != count:
        raise section.wrong(key, f"{expected}, not {len(texts)}")
    for text, value in zip(texts, values.tolist(), strict=True):
        if not right(value):
            raise section.wrong(key, f"{expected}, not {text[:40]}")
    return values


def collective_s(op: Op, comm_bytes: float, network: AstraNetwork) -> float:
    """Time a collective of all GPUs by the alpha-beta model: a ring in each dimension.

    One dimension after the other, each with what the one before leaves to a GPU, as with
    ASTRA-sim's `"collective-optimization": "baseline"`; no two steps overlap. An all-gather
    begins with the outermost dimension, all others with the innermost.

    Parameters
    ----------
    op : Op
        All-reduce, all-gather, reduce-scatter or all-to-all.
    comm_bytes : float
        Input of a GPU, as in a Chakra trace: for an all-gather its shard.
    network : AstraNetwork

    Returns
    -------
    float
        In s; NaN for other operations.

    References
    ----------
    Thakur et al. 2005, Optimization of collective communication operations in MPICH,
    section 4; of ASTRA-sim astra-sim/system/Sys.cc (generate_collective) and
    astra-sim/system/collective/Ring.cc.

    Examples
    --------
    100 MB over eight GPUs in a ring of 0.625 GB/s and 5 µs:

    >>> ring = AstraNetwork(
    ...     ("Ring",), np.array([8]), np.array([0.625 * 2**30]), np.array([5e-6])
    ... )
    >>> round(collective_s(Op.ALL_REDUCE, 100e6, ring), 6)
    0.26084
    """
    found = phases(op, comm_bytes, network)
    if found is None:
        return float("nan")
    hops = np.array([HOPS[name] for name in network.topology])
    times = found.steps * (
        found.message_bytes / network.bytes_per_s + hops * network.latency_s
    )
    return float(times.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """What a collective of all GPUs does in each of d dimensions.

    Parameters
    ----------
    steps : (d,) int64
        Messages that a GPU sends, one after the other.
    message_bytes : (d,) float64
        Of each.
    """

    steps: I64
    message_bytes: F64


def phases(
    op: Op,
    comm_bytes: float,
    network: AstraNetwork,
    *,
    along: tuple[bool, ...] | None = None,
) -> Phases | None:
    """Take a collective apart into rings along the dimensions of a network.

    Parameters
    ----------
    op : Op
    comm_bytes : float
        As of `collective_s`.
    network : AstraNetwork
    along : tuple of bool, optional
        Dimensions that it takes, those behind the last are not; None: all.

    Returns
    -------
    Phases or None
        None where rings do not make the operation.
    """
    if op not in (Op.ALL_REDUCE, Op.ALL_GATHER, Op.REDUCE_SCATTER, Op.ALL_TO_ALL):
        return None
    dimensions = network.npus.size
    steps, message = np.zeros(dimensions, np.int64), np.zeros(dimensions)
    left, order = comm_bytes, list(range(dimensions))
    if op == Op.ALL_GATHER:
        order.reverse()
    for at in order:
        if along is not None and not (at < len(along) and along[at]):
            continue
        n = int(network.npus[at])
        steps[at] = 2 * (n - 1) if op == Op.ALL_REDUCE else n - 1
        message[at] = left if op == Op.ALL_GATHER else left / n
        if op == Op.ALL_GATHER:
            left *= n
        elif op == Op.REDUCE_SCATTER:
            left /= n
    return Phases(steps, message)
