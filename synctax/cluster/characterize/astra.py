"""Profiles of jobs that ASTRA-sim simulated, from its log and its Chakra traces."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import Final

import numpy as np

from synctax.arrays import F64, NS_PER_S
from synctax.cluster.characterize.astra_log import AstraLog
from synctax.cluster.characterize.astra_network import AstraNetwork, collective_s
from synctax.cluster.characterize.chakra import ExecutionTraces, Sends, sends
from synctax.cluster.characterize.chakra_nodes import COLL, Nodes
from synctax.cluster.characterize.profile import Profile
from synctax.collectives.model import Op
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.texts import BYTES_PER_GB, number, rate_gb_per_s, signed, size_bytes, time_us

ALIKE: Final = 1e-6
"""GPUs whose numbers differ by a smaller share are alike."""

WITHIN: Final = 0.01
"""Models that differ by a smaller share agree."""


@dataclass(frozen=True, slots=True)
class _Times:
    """Of all iterations: computation, network, where each is from, what is odd."""

    compute_s: float
    network_s: float
    compute_from: str
    network_from: str
    notes: tuple[Note, ...] = ()


def from_astra(
    log: AstraLog | None = None,
    traces: ExecutionTraces | None = None,
    *,
    network: AstraNetwork | None = None,
    groups: Mapping[str, int] | None = None,
    iterations: int = 1,
    workload: str = "",
) -> Profile:
    """Tell what an iteration takes, as ASTRA-sim simulated it.

    The slowest GPU sets the pace. Computation is the most that any GPU computes (its wall
    time less its exposed communication); network time is what is left of the pace. What
    other GPUs wait for that one is in their exposed communication, but is no transfer.

    Parameters
    ----------
    log : AstraLog, optional
        Without it, times follow from `traces` and `network`: computation from durations,
        communication by the alpha-beta model, nothing hidden.
    traces : ExecutionTraces, optional
        For bytes: no version of ASTRA-sim prints them. With `network` they are those along
        its outermost dimension, which are NICs; else those of a ring over all GPUs.
    network : AstraNetwork, optional
        With a log and traces, a note says what the alpha-beta model makes of it.
    groups : mapping of str to int, optional
        Sizes of process groups, where traces name them and do not declare them.
    iterations : int
        How many were simulated.
    workload : str
        Name of the profile; empty: of what was read.

    Returns
    -------
    Profile
        `sent_bytes_per_worker` is NaN without `traces`.

    Raises
    ------
    SynctaxError
        If log, traces and network are of different numbers of GPUs, or the network time
        cannot be told.
    ValueError
        If there is neither a log nor traces, or no iteration.

    References
    ----------
    Won et al. 2023, ASTRA-sim 2.0 (arXiv 2303.14006).
    """
    if log is None and traces is None:
        raise ValueError("from_astra wants a log or traces")
    if iterations < 1:
        raise ValueError(f"iterations must be 1 or more, not {iterations}")
    gpus = _gpus(log, traces, network)
    sent = None if traces is None else sends(traces, groups=groups, network=network)
    model_s = nan
    if traces is not None and network is not None:
        each = {id(one): one for one in traces.nodes}.values()
        model_s = float(np.max([_model_s(one, network) for one in each]))
    times = _modelled(sent, model_s) if log is None else _logged(log, sent, model_s)
    sent_bytes, barriers, bytes_from, notes = _sent(sent, network)
    notes += [*_too_fast(sent_bytes, times.network_s, network), *_strangers(log, sent)]
    read = next(one.name for one in (traces, log) if one is not None)
    return Profile(
        workload=workload or Path(read).name,
        gpus=gpus,
        gpu_type="",
        compute_s=times.compute_s / iterations,
        network_s=times.network_s / iterations,
        local_network_s=nan,
        sent_bytes_per_worker=sent_bytes / iterations,
        barriers=barriers / iterations,
        compute_from=times.compute_from,
        network_from=times.network_from,
        bytes_from=bytes_from,
        notes=(*times.notes, *notes, *_odd(traces)),
        hides=log is not None,
    )


def _gpus(
    log: AstraLog | None, traces: ExecutionTraces | None, network: AstraNetwork | None
) -> int:
    """Count GPUs, which all have to agree on."""
    told = {
        what: count
        for what, count in (
            ("log", None if log is None else len(log)),
            ("Chakra traces", None if traces is None else len(traces)),
            ("network", None if network is None else network.total),
        )
        if count is not None
    }
    if len(set(told.values())) > 1:
        counts = ", ".join(f"{what} {count:,}" for what, count in told.items())
        raise SynctaxError(
            f"the files of ASTRA-sim are of different numbers of GPUs: {counts}"
        )
    return next(iter(told.values()))


def _computes_ns(log: AstraLog, sent: Sends | None) -> F64:
    """Say how long each GPU computes."""
    if log.exposed_ns[0] >= 0:
        return (log.wall_ns - log.exposed_ns).astype(np.float64)
    if sent is None:
        raise SynctaxError(
            f"{log.name}: this ASTRA-sim printed no exposed communication; give its Chakra "
            "traces, too, which have the durations of computation"
        )
    return np.minimum(sent.compute_s * NS_PER_S, log.wall_ns)


def _logged(log: AstraLog, sent: Sends | None, model_s: float) -> _Times:
    """Take times from the log."""
    computes = _computes_ns(log, sent)
    pace, compute = float(log.wall_ns.max()), float(computes.max())
    network_s = (pace - compute) / NS_PER_S
    notes = [
        *_spread("astra_pace_differs", "run for", log.wall_ns / 1e3),
        *_spread("astra_compute_differs", "compute for", computes / 1e3),
    ]
    if len(log) == 1 and pace > compute:
        text = (
            "GPU in the log, which communicates with nobody: the log is cut off, or lacks "
            "the others"
        )
        notes.append(Note("astra_one_gpu", 1, text))
    other = int((log.other_ns > 0).sum())
    if other:
        most = time_us(float(log.other_ns.max()) / 1e3)
        notes.append(
            Note(
                "astra_not_communication",
                other,
                f"GPUs wait up to {most} for something else than communication (their "
                "host, memory, nothing to do): it is counted as computation",
            )
        )
    if not isnan(model_s):
        off = f" ({signed(model_s / network_s - 1)})" if network_s else ""
        notes.append(
            Note(
                "astra_alpha_beta",
                1,
                "the alpha-beta model of the network file has "
                f"{number(model_s * 1e3)} ms for the collectives{off}, the log "
                f"{number(network_s * 1e3)} ms that are not hidden",
            )
        )
    words = "ASTRA-sim's log: wall time less exposed communication, the most of any GPU"
    if log.exposed_ns[0] < 0:
        words = "Chakra traces: durations of computation, the most of any GPU"
    return _Times(
        compute / NS_PER_S,
        network_s,
        words,
        "ASTRA-sim's log: wall time of the slowest GPU less that computation",
        tuple(notes),
    )


def _modelled(sent: Sends | None, model_s: float) -> _Times:
    """Take times from the traces and the network."""
    if sent is None or isnan(model_s):
        raise SynctaxError(
            "Chakra traces tell no network time: give ASTRA-sim's log, too, or its network "
            "file for collectives of all GPUs"
        )
    compute_s = float(sent.compute_s.max())
    notes = _spread("astra_compute_differs", "compute for", sent.compute_s * 1e6)
    if not compute_s and sent.flop.any():
        raise SynctaxError(
            f"Chakra traces give {number(float(sent.flop.max()))} operations and no "
            "duration of computation; give ASTRA-sim's log, too"
        )
    return _Times(
        compute_s,
        model_s,
        "Chakra traces: durations of computation, the most of any GPU",
        "alpha-beta model of ASTRA-sim's network (GB are 2^30 bytes), nothing hidden",
        tuple(notes),
    )


def _model_s(one: Nodes, network: AstraNetwork) -> float:
    """Time all collectives of a GPU one after the other; NaN where some are of a part."""
    rows = np.flatnonzero((one.op >= 0) & (one.op != Op.BARRIER))
    if (one.kind[rows] != COLL).any() or (one.group[rows] >= 0).any():
        return nan
    if (one.dims[rows] >= 0).any():
        return nan
    calls, count = np.unique(
        np.stack([one.op[rows].astype(np.int64), one.comm_bytes[rows]]),
        axis=1,
        return_counts=True,
    )
    pairs = zip(calls.T.tolist(), count.tolist(), strict=True)
    return float(sum(n * collective_s(Op(op), size, network) for (op, size), n in pairs))


def _sent(
    sent: Sends | None, network: AstraNetwork | None
) -> tuple[float, float, str, list[Note]]:
    """Bytes of a GPU, barriers, where they are from, and how far GPUs differ."""
    if sent is None:
        note = Note(
            "astra_no_bytes",
            1,
            "ASTRA-sim's log tells no bytes and no collectives: give its Chakra traces, "
            "too, or simulate cannot take this profile; one barrier is assumed",
        )
        return nan, 1.0, "not told by ASTRA-sim's log", [note]
    parts = ", ".join(f"{op} {size_bytes(value)}" for op, value in sent.by_op.items())
    words = "Chakra traces: a ring in each process group, the mean over GPUs"
    notes = []
    if network is not None and network.npus.size > 1:
        words = "Chakra traces: what a GPU sends along the network's outermost dimension"
        inner = network.total // int(network.npus[-1])
        text = (
            f"profiles that hold only where a job has {inner:,} GPUs on each of its servers"
        )
        notes.append(Note("placement_assumed", 1, text))
    if sent.of_parts:
        text = (
            "communications of a part of the GPUs: counted as if they left their server, "
            "as which dimensions of the network they take is not told"
        )
        notes.append(Note("astra_parts", sent.of_parts, text))
    low, high = float(sent.sent_bytes.min()), float(sent.sent_bytes.max())
    if high - low > ALIKE * high:
        text = (
            f"GPUs send from {size_bytes(low)} to {size_bytes(high)}; their mean is taken"
        )
        notes.append(Note("astra_bytes_differ", sent.sent_bytes.size, text))
    return (
        float(sent.sent_bytes.mean()),
        float(sent.barriers.mean()),
        f"{words} ({parts})" if parts else words,
        notes,
    )


def _too_fast(
    sent_bytes: float, network_s: float, network: AstraNetwork | None
) -> list[Note]:
    """Say where bytes do not go through the network in the time that is not hidden."""
    if network is None or not sent_bytes > 0:
        return []
    line = float(network.bytes_per_s[-1])
    if sent_bytes <= (1 + WITHIN) * line * network_s:
        return []
    told = (
        rate_gb_per_s(sent_bytes / network_s / BYTES_PER_GB)
        if network_s
        else "no time at all"
    )
    text = (
        f"profiles that send at {told}, above the {rate_gb_per_s(line / BYTES_PER_GB)} of "
        "the network: computation hides a part, or bytes, time and network are not of one "
        "run"
    )
    return [Note("rate_above_network", 1, text)]


def _strangers(log: AstraLog | None, sent: Sends | None) -> list[Note]:
    """Say where a log computes for another time than the traces that it is to be of."""
    if log is None or sent is None or log.exposed_ns[0] < 0:
        return []
    in_log = (log.wall_ns - log.exposed_ns) / NS_PER_S
    slack = WITHIN * np.maximum(in_log, sent.compute_s) + 1e-6
    shorter = int((sent.compute_s > in_log + slack).sum())
    if not shorter:
        return []
    text = (
        f"GPUs compute for up to {time_us(1e6 * float(sent.compute_s.max()))} in the "
        f"Chakra traces and {time_us(1e6 * float(in_log.max()))} in the log: are they of "
        "one run?"
    )
    return [Note("astra_files_differ", shorter, text)]


def _spread(reason: str, what: str, values_us: F64) -> list[Note]:
    """Say how far GPUs differ, if they do."""
    low, high = float(values_us.min()), float(values_us.max())
    if high - low <= ALIKE * high:
        return []
    text = f"GPUs {what} {time_us(low)} to {time_us(high)}; the largest sets the pace"
    return [Note(reason, values_us.size, text)]


def _odd(traces: ExecutionTraces | None) -> list[Note]:
    """Say what of traces counts for nothing: hosts, and collectives of one GPU."""
    if traces is None:
        return []
    notes = []
    on_host = sum(int((one.cpu & (one.duration_us > 0)).sum()) for one in traces.nodes)
    if on_host:
        text = "nodes of Chakra traces that run on hosts: no computation of a GPU"
        notes.append(Note("chakra_host_nodes", on_host, text))
    unread = sum(one.unread for one in traces.nodes)
    if unread:
        text = (
            "declarations of process groups in Chakra traces that cannot be read: "
            "--astra-groups gives their sizes"
        )
        notes.append(Note("chakra_groups_unread", unread, text))
    alone = int((traces.nodes[0].op >= 0).sum()) if len(traces) == 1 else 0
    if alone:
        text = (
            "communications of a lone Chakra trace: one GPU sends nothing; give the traces "
            "of all GPUs"
        )
        notes.append(Note("chakra_alone", alone, text))
    return notes
