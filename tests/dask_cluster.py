"""A Dask cluster of two processes on this machine, for tests."""

import logging
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

distributed = pytest.importorskip("distributed", reason="needs the extra dask")


@contextmanager
def two_workers() -> Iterator["distributed.LocalCluster"]:
    """Start two workers, each started again when it ends; they find what tests define."""
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="localhost:0",
        silence_logs=logging.CRITICAL,
        memory_limit=0,
    )
    try:
        yield cluster
    finally:
        # Dask may wait for ever for a worker that is just being replaced
        cluster.wait_for_workers(2, timeout=60)
        cluster.close(timeout=60)
        _end_threads()


def _end_threads() -> None:
    """End threads that Dask leaves idle: beside them no test could fork any more."""
    from distributed import utils

    if distributed.Future._cb_executor is not None:
        distributed.Future._cb_executor.shutdown()
        distributed.Future._cb_executor = None
    offload = getattr(utils, "_offload_executor", None)
    if offload is not None:
        offload.shutdown()
        utils._offload_executor = ThreadPoolExecutor(1, "Dask-Offload")


def kill_a_worker(cluster: "distributed.LocalCluster") -> None:
    """Kill one of the workers, as a system does that has no memory left."""
    with distributed.Client(cluster, set_as_default=False) as client:
        deadline = time.monotonic() + 60
        while not (found := client.run(os.getpid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(min(found.values()), signal.SIGKILL)
