"""Profiles that `characterize` takes from traces, ASTRA-sim or SimAI."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synctax.cli.characterize_setup import Found, imported

if TYPE_CHECKING:
    from synctax.cluster.characterize.astra_log import AstraLog
    from synctax.report.output import Output
    from synctax.trace.pool import Workers


@dataclass(frozen=True, slots=True)
class Astra:
    """Files of ASTRA-sim; None is not given.

    Parameters
    ----------
    log, et, network, groups : Path or None
    program, system, memory : Path or None
        With `program` it is run.
    """

    log: Path | None
    et: Path | None
    network: Path | None
    groups: Path | None
    program: Path | None
    system: Path | None
    memory: Path | None


@dataclass(frozen=True, slots=True)
class One:
    """What options say of a profile that is read.

    Parameters
    ----------
    name : str
        Empty: as its files tell.
    gpus : int or None
        None: as its files tell.
    iterations : int or None
        None: one, or those that traces mark.
    """

    name: str
    gpus: int | None
    iterations: int | None


@dataclass(frozen=True, slots=True)
class Where:
    """How traces are read.

    Parameters
    ----------
    group : str or None
        Whose communication counts; that of others is computation.
    workers : int, Machines or None
    workspace : Path
    no_cache : bool
        Leave nothing in it.
    out : Output
    """

    group: str | None
    workers: "Workers"
    workspace: Path
    no_cache: bool
    out: "Output"


def called(
    names: tuple[str, ...], gpus: tuple[int, ...] | None, iterations: int | None
) -> One:
    """Put together what options say of a profile that is read.

    Raises
    ------
    UsageError
        If they tell several names or numbers of GPUs.
    """
    if len(names) > 1:
        raise click.UsageError("one profile is read; give one --workload to name it")
    if gpus is not None and len(gpus) > 1:
        raise click.UsageError("one profile is read; give one number of --gpus")
    return One(names[0] if names else "", None if gpus is None else gpus[0], iterations)


def of_astra(files: Astra, one: One) -> Found:
    """Take a profile from what ASTRA-sim printed, from its inputs, or run it.

    Raises
    ------
    UsageError
        If options are missing, or of no use together.
    BadInputError
        If a file is bad.
    SynctaxError
        If the program cannot be run, or the files do not fit together.
    """
    from synctax.cluster.characterize.astra import from_astra
    from synctax.cluster.characterize.astra_network import read_network
    from synctax.cluster.characterize.chakra import read_groups, read_traces

    _check(files)
    log = _log(files)
    profile = from_astra(
        log,
        None if files.et is None else read_traces(files.et),
        network=None if files.network is None else read_network(files.network),
        groups=None if files.groups is None else read_groups(files.groups),
        iterations=one.iterations or 1,
        workload=one.name,
    )
    given = {key: str(value) for key, value in asdict(files).items() if value is not None}
    return imported((profile,), {"astra": given, **asdict(one)})


def of_simai(times: Path | None, workload: Path | None, one: One) -> Found:
    """Take a profile from the times that SimAI wrote.

    Raises
    ------
    UsageError
        If there are no times.
    BadInputError
        If a file is bad.
    SynctaxError
        If nothing tells the number of GPUs, or the files do not fit together.
    """
    from synctax.cluster.characterize.simai import from_simai
    from synctax.cluster.characterize.simai_csv import read_simai
    from synctax.cluster.characterize.simai_workload import read_workload

    if times is None:
        raise click.UsageError("--simai-workload tells no times; give --simai too")
    profile = from_simai(
        read_simai(times),
        None if workload is None else read_workload(workload),
        gpus=one.gpus,
        iterations=one.iterations or 1,
        name=one.name,
    )
    files = {"simai": str(times), "workload": None if workload is None else str(workload)}
    return imported((profile,), {**files, **asdict(one)})


def _check(files: Astra) -> None:
    runs = {
        "--astra-et": files.et,
        "--astra-network": files.network,
        "--astra-system": files.system,
        "--astra-memory": files.memory,
    }
    if files.program is not None:
        if files.log is not None:
            raise click.UsageError("--astra-sim prints a log; leave out --astra-log")
        missing = [name for name, value in runs.items() if value is None]
        if missing:
            raise click.UsageError(f"--astra-sim needs {', '.join(missing)}")
        return
    for option, value in (
        ("--astra-system", files.system),
        ("--astra-memory", files.memory),
    ):
        if value is not None:
            raise click.UsageError(f"{option} is for --astra-sim; leave it out")
    if files.log is None and (files.et is None or files.network is None):
        raise click.UsageError(
            "give --astra-log, or --astra-sim, or --astra-et with --astra-network"
        )
    if files.groups is not None and files.et is None:
        raise click.UsageError("--astra-groups is for --astra-et; leave it out")


def _log(files: Astra) -> "AstraLog | None":
    from synctax.cluster.characterize.astra_log import log_of, read_log
    from synctax.cluster.characterize.astra_run import AstraConfiguration, run_astra

    if files.log is not None:
        return read_log(files.log)
    if (
        files.program is None
        or files.et is None
        or files.system is None
        or files.network is None
        or files.memory is None
    ):
        return None
    configuration = AstraConfiguration(
        files.system, files.network, files.memory, files.groups
    )
    printed = run_astra(files.program, files.et, configuration)
    return log_of(printed, name=str(files.program))


def of_traces(traces: Sequence[str], one: One, where: Where, *, last: bool) -> Found:
    """Take a profile of a job that was traced.

    Parameters
    ----------
    traces : sequence of str
    one : One
    where : Where
    last : bool
        Whether what was measured last is asked for.

    Raises
    ------
    UsageError
        If both are asked for.
    SynctaxError
        If nothing was measured yet, or traces tell no profile.
    BadInputError
        If traces cannot be read.
    """
    from synctax.cli.reading import measure_again
    from synctax.cli.recall import Sources, recall
    from synctax.cluster.characterize.measured import from_tax
    from synctax.report.output import notes
    from synctax.workspace import Workspace

    if traces and last:
        raise click.UsageError("--measured is what was measured last; leave out TRACES")
    sources = Sources(tuple(traces), None, None, None, None)
    if last:
        sources = recall(sources, where.workspace)
    notes(sources.said, where.out)
    space = None if where.no_cache else Workspace(where.workspace)
    tax, unwritable = measure_again(
        sources,
        space,
        where.out,
        where.workers,
        group=where.group,
        remember=False,
    )
    notes([unwritable] if unwritable else [], where.out)
    profile = from_tax(
        tax,
        workload=one.name or _name(sources.traces),
        gpus=one.gpus,
        iterations=one.iterations,
    )
    asked = {"traces": list(sources.traces), "group": where.group, **asdict(one)}
    return imported((profile,), asked)


def _name(traces: Sequence[str]) -> str:
    """Name a job by its folder, where there is one."""
    return (Path(traces[0]).name if len(traces) == 1 else "") or "traces"
