"""Results of `characterize`: rows and envelope of each of its tables."""

from math import isnan, nan
from typing import Any

from synctax.cli.characterize_setup import Found
from synctax.cluster.characterize.gpus import gpu_types
from synctax.cluster.characterize.profile import Profile
from synctax.cluster.characterize.workloads import Workload
from synctax.report.output import Result
from synctax.schema import Table
from synctax.schema.characterize import (
    CHARACTERIZE,
    CHARACTERIZE_GPUS,
    CHARACTERIZE_WORKLOADS,
)
from synctax.texts import BYTES_PER_GB

Row = dict[str, Any]


def rows(found: Found) -> list[Row]:
    """Make a row of each profile."""
    pairs = zip(found.profiles, found.workloads, strict=True)
    return [{**_told(one), **_of(workload)} for one, workload in pairs]


def result(found: Found) -> Result:
    """Make the table of profiles."""
    return _result(CHARACTERIZE, rows(found), found)


def workload_rows(workloads: tuple[Workload, ...]) -> list[Row]:
    """Make a row of each workload."""
    told = {"workload": "name", "elementwise_bytes": "elementwise_bytes_per_sample"}
    names = {name: told.get(name, name) for name in CHARACTERIZE_WORKLOADS.names}
    return [{to: getattr(one, of) for to, of in names.items()} for one in workloads]


def gpu_rows() -> list[Row]:
    """Make a row of each kind of GPU."""
    own = ("gpu_type", "tensor_cores", "memory_bytes")
    names = [name for name in CHARACTERIZE_GPUS.names if name not in own]
    return [
        {
            "gpu_type": one.name,
            "tensor_cores": " ".join(one.tensor_cores) or None,
            "memory_bytes": BYTES_PER_GB * one.memory_gb,
            **{name: getattr(one, name) for name in names},
        }
        for one in gpu_types()
    ]


def listed(told: list[Row], table: Table) -> Result:
    """Make the table of what is built in."""
    return _result(table, told, None)


def _result(table: Table, told: list[Row], found: Found | None) -> Result:
    frame = table.to_frame({name: [row[name] for row in told] for name in table.names})
    if found is None:
        return Result(table, frame)
    return Result(table, frame, found.parameters, found.notes)


def _told(one: Profile) -> Row:
    iteration_s = one.compute_s + one.network_s + (0.0 if isnan(one.tax_s) else one.tax_s)
    return {
        "workload": one.workload,
        "gpus": one.gpus,
        "compute_s": one.compute_s,
        "network_s": one.network_s,
        "network_bytes": one.gpus * one.sent_bytes_per_worker,
        "counting": "sent",
        "barriers": one.barriers,
        "local_network_s": one.local_network_s,
        "tax_s": one.tax_s,
        "iteration_s": iteration_s,
        "network_share": one.network_s / iteration_s if iteration_s else nan,
        "sent_bytes": one.sent_bytes_per_worker,
        "nic_gb_per_s": one.sent_bytes_per_worker / one.network_s / BYTES_PER_GB
        if one.network_s and not one.hides
        else nan,
        "gpu_type": one.gpu_type or None,
        "compute_from": one.compute_from,
        "network_from": one.network_from,
        "bytes_from": one.bytes_from,
    }


def _of(workload: Workload | None) -> Row:
    names = ("dtype", "dataset", "batch_per_gpu", "parameters", "gradient_bytes")
    if workload is None:
        return dict.fromkeys((*names, "flop_per_gpu"))
    flop = workload.batch_per_gpu * workload.flop_per_sample
    return {**{name: getattr(workload, name) for name in names}, "flop_per_gpu": flop}
