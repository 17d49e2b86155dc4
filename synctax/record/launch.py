"""Run a job whose processes record themselves, and tell what became of them.

The job has the terminal to itself, and its exit code is kept. Nothing here needs torch.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from synctax.errors import SynctaxError
from synctax.record import bootstrap
from synctax.record.bootstrap.sitecustomize import PLAN
from synctax.record.claim import claim
from synctax.record.names import plan_path
from synctax.record.outcome import Outcome, is_running, read_outcome, read_ranks
from synctax.record.plan import Plan
from synctax.record.relay import Relay
from synctax.record.state import write_whole

QUIET_KINETO = {"KINETO_LOG_LEVEL": "99"}
"""Kineto writes lines about probes to stderr otherwise."""

LONGEST_FAREWELL_S = 30.0
"""How long ranks may outlive the command; as long as torchrun gives them."""

STDERR = 2
"""Its descriptor, which is what a job inherits."""

PAUSE_S = 0.05
"""Between looks at them."""

BASE_OF_SIGNALS = 128
"""A job that dies of signal N ends with 128 + N, as in a shell."""


class CommandNotFoundError(SynctaxError):
    """There is no such command."""

    exit_code = 127


class CommandNotRunnableError(SynctaxError):
    """The command is no program that may be run."""

    exit_code = 126


def launch(
    plan: Plan,
    command: Sequence[str],
    *,
    overwrite: bool = False,
    environment: Mapping[str, str] | None = None,
    on_start: Callable[[], None] | None = None,
    stdout_to_stderr: bool = False,
) -> Outcome:
    """Run a job and record those of its processes that train.

    The job keeps stdin, stdout and stderr, unless told otherwise. Signals that would end
    this process are passed on to it, but not those that a terminal sends to the job, too.

    Parameters
    ----------
    plan : Plan
        What is recorded, and where; the folder is made if absent.
    command : sequence of str
        Program and arguments.
    overwrite : bool
        Replace the files of a recording that is in the folder.
    environment : mapping, optional
        Of the job; that of this process if absent.
    on_start : callable, optional
        Called right before the job starts.
    stdout_to_stderr : bool
        Let the job write to stderr what it writes to stdout, which stays for a result.

    Returns
    -------
    Outcome
        The job's exit code, and what became of each rank.

    Raises
    ------
    OccupiedFolderError
        If the folder holds traces that are not to be replaced.
    CommandNotFoundError, CommandNotRunnableError
        If the command cannot be started.
    OSError
        If the folder cannot be written to.
    """
    variables = dict(os.environ if environment is None else environment)
    find(command[0], variables)
    claim(plan.folder, overwrite=overwrite)
    plan = replace(plan, folder=plan.folder.absolute())
    path = plan_path(plan.folder)
    write_whole(path, plan.to_json() + "\n")
    if on_start is not None:
        on_start()
    environment = job_environment(path, variables)
    try:
        exit_code = run(command, environment, stdout_to_stderr=stdout_to_stderr)
    except CommandNotRunnableError:
        path.unlink()  # or the next try would find a recording
        raise
    await_ranks(plan.folder)
    return read_outcome(plan, exit_code)


def await_ranks(folder: Path, *, timeout_s: float = LONGEST_FAREWELL_S) -> None:
    """Wait for ranks that outlive the command, as where a signal has ended a launcher.

    They may be writing their traces. Ranks on other hosts are not waited for.

    Parameters
    ----------
    folder : Path
    timeout_s : float
        How long, in seconds.
    """
    until = time.monotonic() + timeout_s
    while any(map(is_running, read_ranks(folder)[0])) and time.monotonic() < until:
        time.sleep(PAUSE_S)


def find(program: str, environment: Mapping[str, str]) -> None:
    """Check that a program is there and may be run, before anything is removed for it.

    Raises
    ------
    CommandNotFoundError, CommandNotRunnableError
        If not.
    """
    path = environment.get("PATH")
    if shutil.which(program, path=path):
        return
    if shutil.which(program, mode=os.F_OK, path=path):
        advice = f"; run it as python {program}" if program.endswith(".py") else ""
        raise CommandNotRunnableError(f"{program} is not executable{advice}")
    raise CommandNotFoundError(
        f"{program}: no such command; give its path, or run it as python -m MODULE"
    )


def job_environment(plan: Path, outer: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that lets each Python of a job record itself.

    Parameters
    ----------
    plan : Path
        File of the plan.
    outer : mapping
        What the job would have had; its PYTHONPATH is kept, behind ours.
    """
    paths = [*bootstrap.__path__, *filter(None, [outer.get("PYTHONPATH")])]
    added = {"PYTHONPATH": os.pathsep.join(paths), PLAN: str(plan)}
    return QUIET_KINETO | dict(outer) | added


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdout_to_stderr: bool = False,
) -> int:
    """Run a command to its end and return its exit code, 128 + N after signal N.

    Parameters
    ----------
    command : sequence of str
    environment : mapping
    stdout_to_stderr : bool
        As for `launch`.

    Raises
    ------
    CommandNotFoundError, CommandNotRunnableError
        If the command cannot be started.
    """
    with Relay() as relay:
        try:
            # a list, and no shell: what runs is what the user wrote
            job = subprocess.Popen(  # noqa: S603
                command,
                stdout=STDERR if stdout_to_stderr else None,
                env=environment,
                process_group=relay.group,
            )
        except OSError as error:
            # it was found: an interpreter that its first line names may be missing
            reason = (error.strerror or str(error)).lower()
            raise CommandNotRunnableError(f"{command[0]} does not run: {reason}") from error
        relay.started(job)
        code = job.wait()
    return code if code >= 0 else BASE_OF_SIGNALS - code
