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


def of_astra(files: Astra, name: str, iterations: int) -> Found:
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
        iterations=iterations,
        workload=name,
    )
    given = {key: str(value) for key, value in asdict(files).items() if value is not None}
    return imported((profile,), {"astra": given, "iterations": iterations})


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


def of_traces(
    traces: Sequence[str],
    name: str,
    iterations: int | None,
    workers: int | None,
    to: "tuple[Path | None, Output]",
) -> Found:
    """Take a profile of a job that was traced.

    Parameters
    ----------
    traces : sequence of str
        None of them: what was measured last.
    name : str
        Of the profile.
    iterations : int or None
        Of a window that marks no steps.
    workers : int or None
    to : tuple
        Workspace, None without one; output.

    Raises
    ------
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

    workspace, out = to
    given = Sources(tuple(traces), None, None, None, None)
    sources = given if traces else recall(given, workspace or Path(".synctax"))
    notes(sources.said, out)
    space = None if workspace is None else Workspace(workspace)
    tax, unwritable = measure_again(sources, space, out, workers, remember=False)
    notes([unwritable] if unwritable else [], out)
    called = name or (Path(sources.traces[0]).name if len(sources.traces) == 1 else "")
    profile = from_tax(tax, workload=called or "traces", iterations=iterations)
    asked: dict[str, object] = {"traces": list(sources.traces), "iterations": iterations}
    return imported((profile,), asked)
