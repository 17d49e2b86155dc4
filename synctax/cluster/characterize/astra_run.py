"""Run an ASTRA-sim that is installed, and keep what it printed."""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from synctax.errors import SynctaxError
from synctax.trace.whole import LARGEST_FILE_BYTES

DEFAULT_TIMEOUT_S: Final = 600.0

_SHOWN_BYTES: Final = 2_000


@dataclass(frozen=True, slots=True)
class AstraConfiguration:
    """Files that ASTRA-sim takes beside the workload.

    Parameters
    ----------
    system, network, memory : str or path
        JSON, YAML, JSON.
    groups : str or path, optional
        Communicator groups, JSON.
    """

    system: str | os.PathLike[str]
    network: str | os.PathLike[str]
    memory: str | os.PathLike[str]
    groups: str | os.PathLike[str] | None = None


def run_astra(
    binary: str | os.PathLike[str],
    workload: str | os.PathLike[str],
    configuration: AstraConfiguration,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> bytes:
    """Simulate a workload with a program of ASTRA-sim, of whichever back end.

    It runs in a folder of its own that is removed afterwards (it writes logs where it
    stands), without a shell and without input.

    Parameters
    ----------
    binary : str or path
        Such as `AstraSim_Analytical_Congestion_Unaware`.
    workload : str or path
        Prefix of the Chakra traces.
    configuration : AstraConfiguration
    timeout_s : float
        It is ended after so long.

    Returns
    -------
    bytes
        What it printed: `astra_log.log_of` reads it.

    Raises
    ------
    SynctaxError
        If it cannot be started, takes too long, prints too much or fails; with its exit
        status and the end of what it said.
    """
    options = {
        "workload-configuration": workload,
        "system-configuration": configuration.system,
        "network-configuration": configuration.network,
        "remote-memory-configuration": configuration.memory,
        "comm-group-configuration": configuration.groups,
    }
    program = os.path.abspath(binary)  # noqa: PTH100 - links stay as they are
    command = [program] + [
        f"--{name}={os.path.abspath(value)}"  # noqa: PTH100
        for name, value in options.items()
        if value is not None
    ]
    with tempfile.TemporaryDirectory(prefix="synctax-astra-") as folder:
        place = Path(folder)
        said, failed = place / "stdout", place / "stderr"
        (place / "run").mkdir()
        with said.open("wb") as out, failed.open("wb") as err:
            try:
                done = subprocess.run(  # noqa: S603 - the user's own
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=place / "run",
                    timeout=timeout_s,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise SynctaxError(
                    f"{program}: did not end within {timeout_s:g} s; {_end_of(failed)}"
                ) from error
            except (OSError, ValueError) as error:
                reason = (getattr(error, "strerror", None) or str(error)).lower()
                raise SynctaxError(f"{program}: cannot be started: {reason}") from error
        if done.returncode:
            how = f"with status {done.returncode}"
            if done.returncode < 0:
                how = f"by signal {-done.returncode}"
            raise SynctaxError(f"{program}: ended {how}; {_end_of(failed, said)}")
        with said.open("rb") as file:
            return _all_of(file, program)


def _all_of(file: IO[bytes], program: str) -> bytes:
    text = file.read(LARGEST_FILE_BYTES + 1)
    if len(text) > LARGEST_FILE_BYTES:
        raise SynctaxError(f"{program}: printed more than {LARGEST_FILE_BYTES:,} bytes")
    return text


def _end_of(*files: Path) -> str:
    """Quote the end of the first of some files that has any text."""
    for path in files:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _SHOWN_BYTES))
            text = " ".join(file.read().decode(errors="replace").split())
        if text:
            return f"it said: {text[-400:]}"
    return "it said nothing"
