"""`simulate --pairs`: what workloads do to each other, two by two."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from synctax.report.output import Output
from synctax.texts import BYTES_PER_GB, rate_gb_per_s

if TYPE_CHECKING:
    from pathlib import Path

    from synctax.cluster.inputs.job_profiles import Reference
    from synctax.cluster.inputs.pool import Pool
    from synctax.cluster.machines import Cluster
    from synctax.cluster.pairs import Pairs
    from synctax.cluster.settings import Contention
    from synctax.notes import Note

DEFAULT_GPUS = 8
"""Of each job, as in the MoSim paper."""


def show(
    cluster: "Cluster",
    pool: "Pool",
    contention: "Contention",
    *,
    gpus: int | None,
    out: Output,
    plot: "Path | None" = None,
) -> None:
    """Run every workload beside every other and write what comes of it.

    Parameters
    ----------
    cluster : Cluster
        Both servers have its GPUs of speed 1, and its slowest NIC: what profiles of the
        pool are computed for in a simulation, too.
    pool : Pool
    contention : Contention
    gpus : int or None
        Of each job, an even number.
    out : Output
    plot : Path, optional
        Where a picture of it goes.

    Raises
    ------
    UsageError
        If the number of GPUs is odd, below 2, or more than a server has.
    SynctaxError
        If a profile cannot be computed for the cluster.
    """
    from synctax.cli.simulate_told import cluster_told, contention_told
    from synctax.cluster.inputs.job_profiles import profile_of, reference_of
    from synctax.cluster.pairs import compare, pairs
    from synctax.report.output import Result, emit, notes
    from synctax.report.output import show as show_parts
    from synctax.schema.pairs import PAIRS

    gpus = DEFAULT_GPUS if gpus is None else gpus
    if gpus < 2 or gpus % 2:
        raise click.UsageError(f"--pairs puts half of a job on each server, not {gpus}/2")
    most = int(cluster.gpus.max())
    if gpus > most:
        raise click.UsageError(
            f"--pairs puts half of each of two jobs on a server, and none has {gpus:,} "
            f"GPUs; give --gpus up to {most:,}"
        )
    on = reference_of(cluster)
    profiles = [profile_of(one, gpus, on) for one in pool.workloads]
    rate = on.nic_bytes_per_s
    found = pairs(profiles, nic_bytes_per_s=rate, contention=contention)
    models = compare(profiles, nic_bytes_per_s=rate, contention=contention)
    noted = [*_left_out(cluster, on), *(note for one in profiles for note in one.notes)]
    notes(noted, out)
    if out.fmt == "table":
        from synctax.report import pairs_view

        show_parts(pairs_view.parts(found, models), out)
        _draw(found, plot)
        return
    asked: dict[str, Any] = {
        "gpus": gpus,
        "gpu_type": on.gpu or None,
        "nic_bytes_per_s": rate,
        "cluster": cluster_told(cluster),
        "contention": contention_told(contention),
        "pool": pool.name,
    }
    told = {
        **asdict(found.summary()),
        "models": [asdict(one) for one in models],
        "profiles": [_told(one) for one in profiles],
    }
    emit(Result(PAIRS, found.to_frame(), asked, noted, told), out)
    _draw(found, plot)


def _draw(found: "Pairs", plot: "Path | None") -> None:
    if plot is None:
        return
    from synctax.report.figures.pairs import pairs
    from synctax.report.figures.style import save

    save(pairs(found), plot)


def _left_out(cluster: "Cluster", on: "Reference") -> "Iterator[Note]":
    """Note what of a cluster two servers that are alike do not have."""
    from synctax.notes import Note

    others = [one for one in cluster.gpu_type if one and one != on.gpu]
    if others:
        yield Note(
            "gpus_left_out",
            len(others),
            f"servers with {', '.join(sorted(set(others)))}: pairs are on {on.gpu}",
        )
    faster = int((cluster.nic_bytes_per_s > on.nic_bytes_per_s).sum())
    if faster:
        slowest = rate_gb_per_s(on.nic_bytes_per_s / BYTES_PER_GB)
        yield Note(
            "nics_left_out",
            faster,
            f"servers with faster NICs than the slowest, {slowest}, which pairs are on",
        )
    if cluster.tiers:
        yield Note(
            "tiers_left_out",
            len(cluster.tiers),
            "tiers of the cluster: pairs share no uplinks",
        )


def _told(profile: Any) -> dict[str, Any]:
    told = asdict(profile)
    del told["notes"]
    return told
