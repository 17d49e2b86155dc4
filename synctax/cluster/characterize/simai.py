"""Profiles of jobs that SimAI simulated, from its times and AICB's workload."""

from math import nan
from pathlib import Path
from typing import Final

import numpy as np

from synctax.arrays import F64, I64
from synctax.cluster.characterize.profile import Profile
from synctax.cluster.characterize.simai_csv import SimaiTimes
from synctax.cluster.characterize.simai_workload import GROUPS, AicbWorkload
from synctax.collectives.model import Op
from synctax.collectives.wait import busbw_factor
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.texts import percent, size_bytes, time_us

_US: Final = 1e6


def from_simai(
    times: SimaiTimes,
    workload: AicbWorkload | None = None,
    *,
    gpus: int | None = None,
    iterations: int = 1,
    name: str = "",
) -> Profile:
    """Tell what an iteration takes, as SimAI simulated it.

    Computation is that of all layers, and where the total has it the waiting for other
    stages of a pipeline; network time is what computation does not hide, in layers and
    between stages.

    Parameters
    ----------
    times : SimaiTimes
    workload : AicbWorkload, optional
        For bytes, barriers and the number of GPUs: SimAI's times tell none.
    gpus : int, optional
        None: as the workload has it.
    iterations : int
        How many were simulated.
    name : str
        Of the profile; empty: of the file.

    Returns
    -------
    Profile
        `sent_bytes_per_worker` is NaN without a workload. It counts all groups, those
        within a server too; `bytes_from` tells them apart.

    Raises
    ------
    SynctaxError
        If the number of GPUs is not told, or degrees of parallelism do not divide it.
    ValueError
        If `gpus` or `iterations` is below 1.
    """
    for what, value in (("gpus", gpus), ("iterations", iterations)):
        if value is not None and value < 1:
            raise ValueError(f"{what} must be 1 or more, not {value}")
    workers = _workers(times, workload, gpus)
    compute, network = times.compute_us, times.exposed_us
    notes = []
    if times.pipeline_counts:
        compute, network = compute + times.bubble_us, network + times.pipeline_us
    if times.pipeline_us + times.bubble_us > 0:
        counted = "counted" if times.pipeline_counts else "not in its total: left out"
        text = (
            f"SimAI gives a pipeline {time_us(times.bubble_us)} of waiting (computation) "
            f"and {time_us(times.pipeline_us)} of messages (network time): {counted}"
        )
        notes.append(Note("simai_pipeline", 1, text))
    if not times.compute_us:
        text = "SimAI was given no times of computation: run AICB with --aiob_enable"
        notes.append(Note("simai_no_compute", times.layers, text))
    sent, barriers, bytes_from, said = _sent(workload, workers)
    return Profile(
        workload=name or Path(times.name).stem,
        gpus=workers,
        gpu_type="",
        compute_s=compute / _US / iterations,
        network_s=network / _US / iterations,
        local_network_s=nan,
        sent_bytes_per_worker=sent / iterations,
        barriers=barriers / iterations,
        compute_from="SimAI: computation of all layers",
        network_from="SimAI: communication that no computation hides",
        bytes_from=bytes_from,
        notes=(*notes, *said),
        hides=True,
    )


def _workers(times: SimaiTimes, workload: AicbWorkload | None, gpus: int | None) -> int:
    told = gpus or (0 if workload is None else workload.degrees["gpus"])
    if not told:
        raise SynctaxError(
            f"{times.name}: SimAI does not tell how many GPUs it simulated; give AICB's "
            "workload, or their number"
        )
    return told


def _sizes(workload: AicbWorkload, gpus: int) -> I64:
    """Ranks of each of `GROUPS`, (4,) int64."""
    degrees = workload.degrees
    tp, pp, ep = degrees["tp"], degrees["pp"], degrees["ep"]
    dp, left = divmod(gpus, tp * pp)
    if left or not dp:
        raise SynctaxError(
            f"{workload.name}: {gpus:,} GPUs are no multiple of tensor-parallel {tp:,} "
            f"times pipeline {pp:,}"
        )
    # SimAI divides so, too: an expert group wider than dp leaves one replica
    return np.array([tp, ep, dp, max(dp // ep, 1)], np.int64)


def _sent(workload: AicbWorkload | None, gpus: int) -> tuple[float, float, str, list[Note]]:
    """Bytes of a GPU, barriers, where they are from, what was left out."""
    if workload is None:
        text = (
            "SimAI's times tell no bytes: give AICB's workload, or simulate cannot take "
            "this profile; one barrier is assumed"
        )
        return nan, 1.0, "not told by SimAI's times", [Note("simai_no_bytes", 1, text)]
    size = _sizes(workload, gpus)[workload.group]
    moves = (workload.op >= 0) & (workload.comm_bytes > 0) & (size > 1)
    factor: F64 = np.array(
        [
            busbw_factor(op, n) if here else 0.0
            for op, n, here in zip(
                workload.op.tolist(), size.tolist(), moves.tolist(), strict=True
            )
        ]
    )
    wire = workload.comm_bytes * factor
    total = {}
    for code, role in enumerate(GROUPS):
        for op in np.unique(workload.op[moves & (workload.group == code)]).tolist():
            rows = moves & (workload.group == code) & (workload.op == op)
            total[f"{role} {Op(op).label}"] = float(wire[rows].sum())
    degrees = workload.degrees
    if degrees["pp"] > 1 and workload.pipeline_bytes:
        # every micro-batch and chunk: an activation on, a gradient back
        messages = 2 * degrees["vpp"] * degrees["ga"]
        total["pp send_recv"] = messages * workload.pipeline_bytes
    parts = ", ".join(f"{what} {size_bytes(value)}" for what, value in total.items())
    words = f"AICB's workload, nccl-tests' factors: {parts or 'nothing'}"
    notes = []
    inside = sum(value for what, value in total.items() if what.startswith("tp "))
    if inside:
        text = (
            f"{percent(inside / sum(total.values()))} of the bytes are sent in "
            f"tensor-parallel groups of {degrees['tp']:,}: counted as if they left their "
            "server, where these mostly stay"
        )
        notes.append(Note("bytes_within_servers", 1, text))
    if workload.unknown:
        text = "operations of AICB that SimAI takes for none: no bytes"
        notes.append(Note("simai_unknown_operation", workload.unknown, text))
    return sum(total.values()), float(moves.sum()), words, notes
