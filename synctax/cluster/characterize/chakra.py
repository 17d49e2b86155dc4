"""Chakra execution traces of all GPUs of a job: what an iteration sends and computes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from synctax.arrays import F64, Bool
from synctax.cluster.characterize.astra_network import AstraNetwork, phases
from synctax.cluster.characterize.chakra_nodes import (
    COLL,
    COMP,
    KIND,
    SEND,
    Nodes,
    read_nodes,
)
from synctax.collectives.model import IS_SYMMETRIC, Op
from synctax.collectives.wait import busbw_factor
from synctax.errors import BadInputError, SynctaxError
from synctax.trace.discover import natural_key
from synctax.trace.whole import whole

LARGEST_TRACE_BYTES: Final = 2**28
LARGEST_GROUPS_BYTES: Final = 2**26


@dataclass(frozen=True, slots=True, eq=False)
class ExecutionTraces:
    """One trace a GPU, by its number from 0.

    Parameters
    ----------
    name : str
        What was read, for messages.
    nodes : tuple of Nodes
        Equal files share theirs.
    """

    name: str
    nodes: tuple[Nodes, ...]

    def __len__(self) -> int:
        """Count GPUs."""
        return len(self.nodes)


@dataclass(frozen=True, slots=True, eq=False)
class Sends:
    """What each of n GPUs sends and computes in the whole of its trace.

    Parameters
    ----------
    sent_bytes : (n,) float64
        On the wire, as one ring over each process group; where the network has several
        dimensions, what a GPU sends along the outermost.
    barriers : (n,) int64
        Collectives that no GPU leaves before all have entered.
    compute_s : (n,) float64
        Durations of computation on the GPU, one after the other.
    flop : (n,) float64
        `num_ops` of computation on the GPU.
    by_op : dict of str to float
        Mean over GPUs of the bytes of each operation.
    of_parts : int
        Communications of a part of the GPUs in a network of several dimensions: they are
        counted as if they took the outermost.
    """

    sent_bytes: F64
    barriers: F64
    compute_s: F64
    flop: F64
    by_op: dict[str, float]
    of_parts: int = 0


def read_traces(path: str | os.PathLike[str]) -> ExecutionTraces:
    """Read the traces of all GPUs.

    Parameters
    ----------
    path : str or path
        A prefix (`dp8/dp` of `dp8/dp.0.et`, `dp8/dp.1.et`, ...: what ASTRA-sim calls its
        workload configuration), a folder of one such prefix, or one of the files.

    Raises
    ------
    BadInputError
        If there is none, the folder has several prefixes, a number is missing, or a file
        is damaged.
    """
    name = os.fspath(path)
    files = _files(name)
    missing = [at for at in range(len(files)) if at not in files]
    if missing:
        raise BadInputError(
            f"{name}: expected traces of GPUs 0 to {max(files):,}, found none of GPU "
            f"{missing[0]:,}"
        )
    known: dict[bytes, Nodes] = {}
    nodes = []
    for at in range(len(files)):
        data = whole(files[at], KIND, most=LARGEST_TRACE_BYTES)
        key = sha256(data).digest()
        if key not in known:
            known[key] = read_nodes(data, name=str(files[at]))
        nodes.append(known[key])
    return ExecutionTraces(name, tuple(nodes))


def _files(name: str) -> dict[int, Path]:
    """Find the files of a prefix by their number."""
    path = Path(name)
    try:
        if path.is_dir():
            return _of_folder(name, path)
        if path.suffix == ".et":
            prefix, _, number = path.stem.rpartition(".")
            if not prefix or not _is_number(number):
                return {0: path}
            path = path.with_name(prefix)
        found = _of_prefix(path.parent, path.name)
    except (OSError, ValueError) as error:
        raise BadInputError(f"{name}: cannot be read: {error}") from error
    if not found:
        raise BadInputError(
            f"{name}: expected {KIND}; there is no file {path.name}.0.et in {path.parent}"
        )
    return found


def _of_folder(name: str, folder: Path) -> dict[int, Path]:
    stems = [one.stem.rpartition(".") for one in folder.glob("*.et")]
    prefixes = sorted({stem for stem, _, number in stems if stem and _is_number(number)})
    if len(prefixes) != 1:
        told = ", ".join(sorted(prefixes, key=natural_key)[:8]) or "none"
        raise BadInputError(
            f"{name}: expected files PREFIX.0.et, PREFIX.1.et, ... of one prefix, found "
            f"{len(prefixes)} prefixes: {told}"
        )
    return _of_prefix(folder, prefixes[0])


def _of_prefix(folder: Path, prefix: str) -> dict[int, Path]:
    if not folder.is_dir():
        return {}
    found = {}
    for one in folder.iterdir():
        stem, _, number = one.name.removesuffix(".et").rpartition(".")
        if one.suffix == ".et" and stem == prefix and _is_number(number):
            found[int(number)] = one
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def read_groups(path: str | os.PathLike[str]) -> dict[str, int]:
    """Read sizes of process groups from ASTRA-sim's communicator groups.

    Parameters
    ----------
    path : str or path
        JSON such as `{"1": [0, 1, 2, 3]}`: what `--comm-group-configuration` takes.

    Returns
    -------
    dict of str to int
        By the name of a group.

    Raises
    ------
    BadInputError
        If it is no such file.
    """
    kind = 'communicator groups such as {"1": [0, 1, 2, 3]}'
    data = whole(path, kind, most=LARGEST_GROUPS_BYTES)
    try:
        groups = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadInputError(f"{os.fspath(path)}: expected {kind}, found {error}") from error
    right = isinstance(groups, dict) and all(
        isinstance(ranks, list) and ranks and all(type(rank) is int for rank in ranks)
        for ranks in groups.values()
    )
    if not right:
        raise BadInputError(f"{os.fspath(path)}: expected {kind}, found other JSON")
    return {name.strip(): len(set(ranks)) for name, ranks in groups.items()}


def sends(
    traces: ExecutionTraces,
    *,
    groups: Mapping[str, int] | None = None,
    network: AstraNetwork | None = None,
) -> Sends:
    """Tell what each GPU sends and computes.

    A ring over a group of N: an all-reduce of S bytes sends 2·(N-1)/N·S from each, a
    reduce-scatter or all-to-all (N-1)/N·S; of an all-gather the trace has the shard, and
    (N-1) of these are sent. Messages count where they are sent. In a network of several
    dimensions NICs are the outermost: a collective of all GPUs is a ring in each dimension,
    as `astra_network.collective_s` has it, and counts there alone.

    Parameters
    ----------
    traces : ExecutionTraces
    groups : mapping of str to int, optional
        Sizes of process groups by name, where the traces do not declare them.
    network : AstraNetwork, optional
        For what goes along which of its dimensions.

    Raises
    ------
    SynctaxError
        If the size of a group is not known.
    """
    known: dict[int, tuple[F64, Bool, int]] = {}
    for one in traces.nodes:
        if id(one) not in known:
            size = _sizes(one, traces, groups or {}, network)
            wire, of_parts = _wire_bytes(one, size), 0
            if network is not None and network.npus.size > 1:
                wire, of_parts = _outermost_bytes(one, size, wire, network)
            known[id(one)] = wire, _meets(one, size), of_parts
    symmetric = [known[id(one)][1].sum() for one in traces.nodes]
    running = [(one.kind == COMP) & ~one.cpu for one in traces.nodes]
    pairs = list(zip(traces.nodes, running, strict=True))
    total: dict[str, float] = {}
    for one in traces.nodes:
        wire = known[id(one)][0]
        for code in np.unique(one.op[wire > 0]).tolist():
            label = Op(code).label
            total[label] = total.get(label, 0.0) + float(wire[one.op == code].sum())
    return Sends(
        sent_bytes=np.array([known[id(one)][0].sum() for one in traces.nodes]),
        barriers=np.array(symmetric, np.float64),
        compute_s=np.array(
            [one.duration_us[here].sum(dtype=np.float64) for one, here in pairs]
        )
        / 1e6,
        flop=np.array([one.num_ops[here].sum(dtype=np.float64) for one, here in pairs]),
        by_op={label: value / len(traces) for label, value in sorted(total.items())},
        of_parts=sum(known[id(one)][2] for one in traces.nodes),
    )


def _sizes(
    one: Nodes,
    traces: ExecutionTraces,
    groups: Mapping[str, int],
    network: AstraNetwork | None,
) -> F64:
    """GPUs of the group of each node, (n,) float64."""
    sizes = np.full(len(one), float(len(traces)))
    for code, flags in enumerate(one.dim_sets):
        if network is None:
            raise SynctaxError(
                f"{traces.name}: a collective takes dimensions {flags} of the network; "
                "give the network file of ASTRA-sim, too"
            )
        chosen = [n for n, on in zip(network.npus.tolist(), flags, strict=False) if on]
        sizes[one.dims == code] = float(np.prod(chosen, dtype=np.float64))
    for code, name in enumerate(one.groups):
        size = groups.get(name, one.declared.get(name))
        if size is None:
            raise SynctaxError(
                f"{traces.name}: how many GPUs process group {name[:40]!r} has is not "
                "told; give the communicator groups of ASTRA-sim, too"
            )
        sizes[one.group == code] = size or len(traces)
    return sizes


def _wire_bytes(one: Nodes, sizes: F64) -> F64:
    """Bytes that each node sends, (n,) float64."""
    sent = np.zeros(len(one))
    sent[one.kind == SEND] = one.comm_bytes[one.kind == SEND]
    collective = (one.kind == COLL) & (one.op >= 0)
    for code in np.unique(one.op[collective]).tolist():
        if code == Op.BARRIER:
            continue
        rows = collective & (one.op == code)
        of_size = sizes[rows]
        factor = np.array([busbw_factor(code, int(n)) for n in of_size])
        # the trace has a rank's input: of these two a shard of what nccl-tests counts
        whole_buffer = of_size if code in (Op.ALL_GATHER, Op.GATHER) else 1.0
        sent[rows] = one.comm_bytes[rows] * whole_buffer * factor * (of_size > 1)
    return sent


def _outermost_bytes(
    one: Nodes, sizes: F64, wire: F64, network: AstraNetwork
) -> tuple[F64, int]:
    """Bytes that each node sends along the outermost dimension, (n,) float64.

    Also how many nodes are of a part of the GPUs, which are not told to be along which
    dimensions: their bytes stay as they are.
    """
    sent, collective = wire.copy(), (one.kind == COLL) & (one.op >= 0)
    told = collective & ((one.dims >= 0) | (sizes == network.total))
    rows = np.flatnonzero(told)
    calls = np.stack([one.op[rows].astype(np.int64), one.comm_bytes[rows], one.dims[rows]])
    each, which = np.unique(calls, axis=1, return_inverse=True)
    outer = np.full(each.shape[1], np.nan)
    for at, (op, size, code) in enumerate(each.T.tolist()):
        along = None if code < 0 else one.dim_sets[code]
        found = phases(Op(op), size, network, along=along)
        if found is not None:
            outer[at] = found.steps[-1] * found.message_bytes[-1]
        elif along is not None and not any(along[network.npus.size - 1 :]):
            outer[at] = 0.0
    of_row = outer[which.ravel()]
    sent[rows] = np.where(np.isnan(of_row), wire[rows], of_row)
    return sent, int((~told & (wire > 0)).sum())


def _meets(one: Nodes, sizes: F64) -> Bool:
    """Collectives that all ranks of a group of several leave together, (n,) bool."""
    symmetric = IS_SYMMETRIC[one.op]
    met: Bool = (one.kind == COLL) & symmetric & (sizes > 1)
    return met
