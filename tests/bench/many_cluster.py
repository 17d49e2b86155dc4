"""A Dask cluster in a process of its own, and what a command made it do.

    python -m tests.bench.many_cluster WORKERS

starts one, writes the address of its scheduler and ends with its standard input.
"""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

BYTES_PER_MB = 1e6
_BLOCK_BYTES = 1 << 16
_RESET_PEAKS = "5"
"""To `clear_refs` of a process: its peak of memory is that of now."""


class Cluster:
    """Processes of a cluster: CPU time they used, and the memory of the largest worker."""

    def __init__(self, address: str, pid: int) -> None:
        self.address = address
        self._scheduler = psutil.Process(pid)

    def cpu_s(self) -> float:
        """Seconds that the scheduler and all workers have used on all cores."""
        times = [process.cpu_times() for process in self._processes()]
        return sum(time.user + time.system for time in times)

    def forget_peaks(self) -> None:
        """Let peaks of memory be counted from now on."""
        for process in self._processes():
            Path(f"/proc/{process.pid}/clear_refs").write_text(_RESET_PEAKS)

    def worker_mb(self) -> float:
        """Return the peak of the resident set of the largest process but the scheduler."""
        return max(_peak_mb(process) for process in self._processes()[1:])

    def _processes(self) -> list[psutil.Process]:
        return [self._scheduler, *self._scheduler.children(recursive=True)]


def _peak_mb(process: psutil.Process) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / BYTES_PER_MB


@contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    """Start workers of one thread on this machine."""
    with subprocess.Popen(
        [sys.executable, "-m", __name__, str(workers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Cluster(process.stdout.readline().strip(), process.pid)
        process.stdin.close()


class Tap:
    """Passes a connection to a scheduler on, and counts bytes: `there` and `back`.

    What comes back from workers goes through the scheduler, so this is all that travels
    from and to a client.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition("/")[2].rpartition(":")
        self._to = host, int(port)
        self._listener = socket.create_server(("localhost", 0))
        self.address = f"tcp://localhost:{self._listener.getsockname()[1]}"
        self.there = self.back = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                theirs = socket.create_connection(self._to)
                for way in ((ours, theirs, "there"), (theirs, ours, "back")):
                    threading.Thread(target=self._pass, args=way, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := source.recv(_BLOCK_BYTES):
                setattr(self, way, getattr(self, way) + len(data))
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


def main() -> None:
    """Run a cluster until nobody wants it any more."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=int(sys.argv[1]),
        threads_per_worker=1,
        dashboard_address="localhost:0",
        memory_limit=0,
    ) as found:
        sys.stdout.write(f"{found.scheduler_address}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
