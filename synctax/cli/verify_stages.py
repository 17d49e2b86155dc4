"""From the options of `verify` to what a job is held against, and to what was found."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from synctax.planning.verify.limits import DEFAULT_BYTES_TOLERANCE, DEFAULT_SLOW_SHARE

if TYPE_CHECKING:
    from synctax.bandwidth.nccl_tests import Measured
    from synctax.collectives.load import Job
    from synctax.collectives.tax import Tax
    from synctax.notes import Note
    from synctax.planning.nccl.commands import Command
    from synctax.planning.nccl.machine import Topology
    from synctax.planning.nccl.model import NcclLog
    from synctax.planning.platform import Platform
    from synctax.planning.training import Order
    from synctax.planning.verify.hosts_file import HostMap
    from synctax.planning.verify.job import Verification
    from synctax.planning.verify.observed import Observed
    from synctax.planning.verify.plan_file import PlanFile, PlanRow
    from synctax.planning.verify.planned import Planned
    from synctax.planning.verify.speeds import Links


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of `verify` that change what is found."""

    plan_file: Path | None = None
    layout: str | None = None
    order: str | None = None
    hosts_file: Path | None = None
    domain: int | None = None
    hardware: str | None = None
    benchmarks: tuple[Path, ...] = ()
    topologies: tuple[Path, ...] = ()
    logs: tuple[Path, ...] = ()
    slow_share: float = DEFAULT_SLOW_SHARE
    bytes_tolerance: float = DEFAULT_BYTES_TOLERANCE
    group: str | None = None
    steps: range | None = None
    end_tolerance_us: float | None = None

    def told(self) -> dict[str, Any]:
        """List them as the envelope shows them."""
        return {
            "plan": self.plan_file,
            "layout": self.layout,
            "order": self.order,
            "hosts": self.hosts_file,
            "domain": self.domain,
            "hardware": self.hardware,
            "nccl_tests": self.benchmarks,
            "topology": self.topologies,
            "nccl_log": self.logs,
            "slow_share": self.slow_share,
            "bytes_tolerance": self.bytes_tolerance,
            "group": self.group,
            "steps": None if self.steps is None else [self.steps.start, self.steps.stop],
        }


@dataclass(frozen=True, slots=True)
class Files:
    """What was read beside the traces.

    `row` is of `plan`; `platform` the one that was named, else the plan's.
    """

    plan: "PlanFile | None"
    row: "PlanRow | None"
    platform: "Platform | None"
    hosts: "HostMap | None"
    benchmarks: "tuple[Measured, ...]"
    topologies: "tuple[Topology, ...]"
    log: "NcclLog | None"
    notes: "tuple[Note, ...]"


def read(asked: Asked) -> Files:
    """Read the files that options name; before the traces, which take longer.

    Raises
    ------
    SynctaxError
        If one is not what it should be.
    """
    from synctax.bandwidth.nccl_tests import read_nccl_tests
    from synctax.planning.inputs.named import read_platform
    from synctax.planning.layout import parse_layout
    from synctax.planning.nccl.log import read_nccl_log
    from synctax.planning.nccl.topology import read_topology
    from synctax.planning.verify.hosts_file import read_hosts
    from synctax.planning.verify.plan_file import choose, read_plan

    notes: tuple[Note, ...] = ()
    plan = row = platform = None
    if asked.plan_file is not None:
        plan = read_plan(asked.plan_file)
        row, notes = choose(plan, asked.layout)
        platform = plan.platform
    elif asked.layout is not None:
        parse_layout(asked.layout)
    if asked.hardware is not None:
        platform = read_platform(asked.hardware)
    measured: tuple[Measured, ...] = ()
    if asked.benchmarks:
        measured, more = read_nccl_tests(asked.benchmarks)
        notes = (*notes, *more)
    hosts = None if asked.hosts_file is None else read_hosts(asked.hosts_file)
    topologies = tuple(map(read_topology, asked.topologies))
    log = read_nccl_log(asked.logs) if asked.logs else None
    notes = (*notes, *(note for one in topologies for note in one.notes))
    notes = (*notes, *(log.notes if log else ()))
    return Files(plan, row, platform, hosts, measured, topologies, log, notes)


def look(job: "Job", asked: Asked, files: Files) -> "Verification":
    """Measure a job and hold it against what is expected.

    Parameters
    ----------
    job : Job
    asked : Asked
    files : Files
        As `read` returns them.

    Raises
    ------
    SynctaxError
        If there is no group of the role asked for, or the layout does not fit the ranks.
    """
    from synctax.collectives.pool import gather
    from synctax.planning.verify.hosts_file import completed
    from synctax.planning.verify.job import Against, verify
    from synctax.planning.verify.nccl_checks import hosts_in
    from synctax.planning.verify.nvlink import log_joins_hosts
    from synctax.planning.verify.observed import answering, observe

    tax = _tax(job, asked)
    groups = gather(job.ranks)[1] if tax is None else tax.matches.groups
    platform, hosts = files.platform, files.hosts
    if files.log is not None:
        hosts = completed(hosts, hosts_in(files.log, job.world_size))
    observed = observe(
        job,
        groups,
        hosts,
        domain_size=asked.domain or (platform.domain if platform else None),
        gpus_per_host=platform.gpus_per_host if platform else None,
        joined=log_joins_hosts(files.log),
    )
    if tax is None:  # whose notes would have those of the files
        observed = replace(observed, notes=(*observed.notes, *job.notes))
    role = None
    if asked.group is not None:
        observed, role = answering(observed, asked.group)
    against = Against(
        planned=_planned(asked, files, observed),
        row=files.row,
        links=_links(files),
        benchmarks=files.benchmarks,
        slow_share=asked.slow_share,
        bytes_tolerance=asked.bytes_tolerance,
        topologies=files.topologies,
        log=files.log,
        role=role,
        tp_across_domains=bool(files.plan and files.plan.assumptions.tp_across_domains),
    )
    return verify(observed, tax, against)


def _tax(job: "Job", asked: Asked) -> "Tax | None":
    """Measure the collectives; None where none was recorded: groups may be declared."""
    from synctax.collectives.tax import measure

    if not any(len(rank) for rank in job.ranks):
        return None
    return measure(job, steps=asked.steps, end_tolerance_us=asked.end_tolerance_us)


def _planned(asked: Asked, files: Files, observed: "Observed") -> "Planned | None":
    from synctax.planning.layout import parse_layout
    from synctax.planning.verify.planned import Planned, check_ranks

    order = cast("Order | None", asked.order)
    if files.plan is not None and files.row is not None:
        return Planned(
            files.row.layout, order or files.row.order, files.plan.training.expert_tp
        )
    if asked.layout is None:
        return None
    # without dp the ranks of the job tell it
    gpus = None if "dp" in asked.layout.lower() else observed.world
    layout = parse_layout(asked.layout, gpus)
    check_ranks(layout)
    return Planned(layout, order)


def _links(files: Files) -> "Links":
    """Take line rates of links as the platform states them, else as NCCL saw them."""
    from synctax.planning.verify.nccl_checks import links_in
    from synctax.planning.verify.speeds import Links

    if files.platform is None:
        return links_in(files.topologies)
    return Links(files.platform.nvlink_gb_per_s, files.platform.nic_gb_per_s)


def other_row(found: "Verification", asked: Asked, files: Files) -> "list[Note]":
    """Say so where the job has another layout of the plan than the one that was taken."""
    from synctax.notes import Note

    seen, row = found.seen.layout, files.row
    if files.plan is None or row is None or asked.layout is not None or seen is None:
        return []
    likes = [
        one.layout
        for one in files.plan.rows
        if replace(one.layout, virtual_stages=1) == seen
    ]
    if not likes or row.layout in likes:
        return []
    text = f"the job's groups are those of {likes[0]}, which the plan has too: --layout"
    return [Note("plan_layout_differs", 1, f"{text} {likes[0]} takes it")]


def commands(files: Files) -> "tuple[Command, ...]":
    """List the runs of nccl-tests that measure the planned groups; none without a plan."""
    from synctax.planning.nccl.commands import nccl_tests_commands

    plan, row = files.plan, files.row
    if plan is None or row is None or not row.feasible:
        return ()
    training = replace(plan.training, order=row.order)
    return nccl_tests_commands(
        plan.model, plan.platform, training, row.layout, plan.assumptions
    )
