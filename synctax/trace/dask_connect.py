"""Connects to a Dask cluster, and says in words what is wrong with one."""

import asyncio
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synctax.errors import SynctaxError
from synctax.trace.kept import SYNCTAX
from synctax.trace.pool import available_cores
from synctax.trace.pool_worker import WorkerLostError, worker_lost

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

OnNote = Callable[[str], None]

LOCAL: Final = "local"
"""In place of an address: workers that are started here."""

ANSWERS_WITHIN_S: Final = 5
"""A scheduler that does not answer by then is none."""

REMEDY: Final = "give the workers more of it, or fewer threads each"

_ENDS_WITHIN_S: Final = 20
_WORKER_ANSWERS_WITHIN: Final = "10s"

_SAME: Final = ("dask", "distributed", "cloudpickle", "msgpack")
"""Packages that Dask wants in one version everywhere."""


def warned(text: str) -> None:
    """Make a warning of a note."""
    warnings.warn(text, stacklevel=2)


@dataclass(slots=True)
class Connection:
    """A client, its cluster if that was started for it, and how messages call it."""

    client: "Client"
    name: str
    cluster: "LocalCluster | None" = None
    own: bool = True

    def close(self) -> None:
        """Leave the cluster; one that was started for this ends."""
        with quiet():
            if self.own:
                self.client.close()
            if self.cluster is not None:
                # a worker that is just being replaced may keep older versions for ever
                with suppress(TimeoutError):
                    self.cluster.close(timeout=_ENDS_WITHIN_S)


def connect(address: "str | Client", processes: int | None, on_note: OnNote) -> Connection:
    """Connect to a scheduler, or start one here.

    Parameters
    ----------
    address, processes, on_note
        As for `dask_pool.Scheduler`.

    Raises
    ------
    SynctaxError
        If Dask is not installed, no scheduler answers, or its workers have no synctax or
        another version of it.
    """
    try:
        import distributed
    except ImportError as error:
        raise SynctaxError(
            "to read traces on a Dask cluster, Dask must be here too; install it with "
            "pip install 'synctax[dask]'"
        ) from error
    if isinstance(address, distributed.Client):
        name = str(address.scheduler.address)
        connection = Connection(address, f"the scheduler at {name}", own=False)
    elif address == LOCAL:
        return _started(processes or available_cores())
    else:
        connection = _reached(address)
    try:
        for note in _odd(connection):
            on_note(note)
    except BaseException:
        connection.close()
        raise
    return connection


def _started(processes: int) -> Connection:
    from distributed import Client, LocalCluster, Security

    # a port of this machine is open to all of its users, and Dask runs what it is sent
    try:
        security = Security.temporary()
    except ImportError as error:
        raise SynctaxError(
            "workers that are started here need the package cryptography, so that nobody "
            "else on this machine can use them: pip install 'synctax[dask]'"
        ) from error
    with quiet():
        cluster = LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            # its HTTP server always starts: on a port that is free, for this machine only
            dashboard_address="localhost:0",
            silence_logs=logging.CRITICAL,
            memory_limit=0,
            security=security,
        )
        client = Client(cluster, set_as_default=False)
    return Connection(client, "the scheduler started here", cluster)


def _reached(address: str) -> Connection:
    from distributed import Client
    from distributed.comm import get_address_host_port

    place = address
    try:
        if "://" not in address and Path(address).is_file():
            place = json.loads(Path(address).read_bytes())["address"]
        get_address_host_port(place)
    except (ValueError, TypeError, KeyError, OSError, ImportError) as error:
        raise SynctaxError(
            f"{address} is no address of a Dask scheduler ({error}); give one like "
            "tcp://host:8786, the file of `dask scheduler --scheduler-file`, or local"
        ) from error
    try:
        kind = _asked(place)
    except Exception as error:  # what answers may be anything
        told = f" ({error}); check" if str(error) else "; check"
        raise SynctaxError(
            f"no Dask scheduler answers at {place} within {ANSWERS_WITHIN_S} s{told} that "
            "`dask scheduler` runs there and that its port can be reached from here"
        ) from error
    if kind != "Scheduler":
        raise SynctaxError(
            f"at {place} is a {kind.lower()} of Dask; give the address of its scheduler"
        )
    with quiet():
        client = Client(place, timeout=ANSWERS_WITHIN_S, set_as_default=False)
    return Connection(client, f"the scheduler at {place}")


def _asked(place: str) -> str:
    """Ask who is there: a client waits for ever on what takes its call and says nothing.

    Raises
    ------
    Exception
        If nobody says so in time.
    """

    async def ask() -> str:
        from distributed.core import rpc
        from distributed.security import Security

        options = Security().get_connection_args("client")
        with quiet():
            async with rpc(place, timeout=ANSWERS_WITHIN_S, connection_args=options) as it:
                identity = await it.identity()
        return str(identity["type"])

    async def in_time() -> str:
        return await asyncio.wait_for(ask(), ANSWERS_WITHIN_S)

    # in a thread: in a notebook a loop runs in this one
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, in_time()).result()


@contextmanager
def impatient() -> Iterator[None]:
    """Let a worker that ended with results in its hands be asked for them less long."""
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": _WORKER_ANSWERS_WITHIN}):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Dask from telling on stderr what is told in words here."""
    known = list(logging.root.manager.loggerDict)
    logs = [logging.getLogger(name) for name in known if name.startswith("distributed")]
    before = [log.level for log in logs]
    for log in logs:  # each has a level of its own
        log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


def _odd(connection: Connection) -> Iterator[str]:
    """Look at versions on the cluster, and name those that may not do.

    Raises
    ------
    SynctaxError
        If synctax is missing somewhere, or there in another version.
    """
    found = connection.client.get_versions(packages=["synctax"])
    places = {"scheduler": found["scheduler"], **found["workers"]}
    synctax = {place: seen["packages"].get("synctax") for place, seen in places.items()}
    bad = {place: has for place, has in synctax.items() if has != SYNCTAX}
    if bad:
        told = _some(
            f"{place} has {f'synctax {has}' if has else 'no synctax'}"
            for place, has in bad.items()
        )
        raise SynctaxError(
            f"{connection.name}: {told}; install synctax {SYNCTAX}, as here, for the "
            "scheduler and all workers"
        )
    differs = _differing(found["client"], places)
    if differs:
        yield (
            f"{connection.name}: {_some(differs)}; Dask wants the same versions "
            "everywhere, and may fail in odd ways"
        )
    if not found["workers"]:
        yield f"{connection.name} has no workers yet: waiting for one"


def _differing(here: Any, places: Mapping[str, Any]) -> list[str]:
    """Name the versions that are not those of this process."""
    told = []
    for place, seen in places.items():
        python = seen["host"]["python"].split(".")[:2]
        if python != [str(part) for part in sys.version_info[:2]]:
            told.append(f"{place} has Python {'.'.join(python)}")
        for package in _SAME:
            has, wanted = seen["packages"].get(package), here["packages"].get(package)
            if has != wanted:
                told.append(f"{place} has {package} {has}, this process {wanted}")
    return told


def _some(texts: "Iterator[str] | list[str]") -> str:
    """Join texts; of many only the first, and how many more there are."""
    all_of_them, most = list(texts), 4
    more = len(all_of_them) - most
    rest = f" and {more} more" if more > 0 else ""
    return "; ".join(all_of_them[:most]) + rest


@dataclass(frozen=True, slots=True)
class Words:
    """Messages on a scheduler of that name."""

    name: str

    def scheduler_lost(self, files: int) -> SynctaxError:
        """Say that the scheduler went away before all files were read."""
        return SynctaxError(
            f"{self.name} ended, was restarted, or cannot be reached any more; "
            f"{files} files were not read yet. Start it again, then the command"
        )

    def killed(self, path: str, error: Any) -> WorkerLostError:
        """Say that workers ended again and again on a file."""
        times = int(error.allowed_failures) + 1
        return worker_lost(
            f"{times} times a worker ended, the last at {error.last_worker.address},",
            [path],
            f"{REMEDY}; else see their logs",
        )

    def not_begun(self, path: str, error: BaseException | None) -> SynctaxError:
        """Say that Dask did not get so far as to call the function."""
        return SynctaxError(
            f"{self.name} could not hand out {path} ({type(error).__name__}: {error}); the "
            f"scheduler and its workers need synctax {SYNCTAX} and Python "
            f"{sys.version_info.major}.{sys.version_info.minor}, as here"
        )

    def unfit(self, host: str, why: str) -> SynctaxError:
        """Say what is wrong with a worker."""
        return SynctaxError(f"{self.name}: the worker on {host} {why}")

    def failed(self, host: str, path: str, error: Exception) -> Exception:
        """Say where the function failed; of files that cannot be opened, in words."""
        if isinstance(error, OSError):
            return SynctaxError(
                f"{path}: the worker on {host} failed: {error}; what a command writes must "
                "lie where workers see it too"
            )
        return error
