"""`simulate --pairs`: what workloads do to each other, two by two."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from synctax.report.output import Output

if TYPE_CHECKING:
    from synctax.cluster.characterize.gpus import GpuType
    from synctax.cluster.characterize.profile import Assumptions
    from synctax.cluster.characterize.workloads import Workload
    from synctax.cluster.settings import Contention

DEFAULT_GPUS = 8
"""Of each job, as in the MoSim paper."""


def show(
    workloads: "Sequence[Workload]",
    *,
    gpu: "GpuType",
    nic_bytes_per_s: float,
    contention: "Contention",
    out: Output,
    gpus: int = DEFAULT_GPUS,
    assumptions: "Assumptions | None" = None,
) -> None:
    """Run every workload beside every other and write what comes of it.

    Parameters
    ----------
    workloads : sequence of Workload
        A pool.
    gpu : GpuType
        Of both servers.
    nic_bytes_per_s : float
        Of each of them.
    contention : Contention
    out : Output
    gpus : int
        Of each job, an even number.
    assumptions : Assumptions, optional
        Of profiles.

    Raises
    ------
    UsageError
        If the number of GPUs is odd, or below 2.
    """
    from synctax.cluster.characterize.profile import profile
    from synctax.cluster.pairs import compare, pairs
    from synctax.report.output import Result, emit, notes
    from synctax.report.output import show as show_parts
    from synctax.schema.pairs import PAIRS

    if gpus < 2 or gpus % 2:
        raise click.UsageError(f"--pairs puts half of a job on each server, not {gpus}/2")
    profiles = [
        profile(
            one, gpus, gpu=gpu, nic_bytes_per_s=nic_bytes_per_s, assumptions=assumptions
        )
        for one in workloads
    ]
    found = pairs(profiles, nic_bytes_per_s=nic_bytes_per_s, contention=contention)
    models = compare(profiles, nic_bytes_per_s=nic_bytes_per_s, contention=contention)
    noted = [note for one in profiles for note in one.notes]
    notes(noted, out)
    if out.fmt == "table":
        from synctax.report import pairs_view

        show_parts(pairs_view.parts(found, models), out)
        return
    asked: dict[str, Any] = {
        "gpus": gpus,
        "gpu_type": gpu.name,
        "nic_bytes_per_s": nic_bytes_per_s,
        "contention": asdict(contention),
    }
    told = {
        **asdict(found.summary()),
        "models": [asdict(one) for one in models],
        "profiles": [_told(one) for one in profiles],
    }
    emit(Result(PAIRS, found.to_frame(), asked, noted, told), out)


def _told(profile: Any) -> dict[str, Any]:
    told = asdict(profile)
    del told["notes"]
    return told
