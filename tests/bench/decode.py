"""Decodes traces into columns, twice, and reports the second time and the memory.

    python decode.py READER THREADS WARM_UP FILE...

With several threads each takes files of its own. READER `kept` decodes once, keeps the
columns as a workspace does, and reports how long it takes to read them again; `low` is the
native one with `--low-memory`.
"""

import json
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import numpy as np

from synctax.trace import readers, spill, store
from synctax.trace.kineto import read_rank


def columns_bytes(trace: object) -> int:
    """Bytes of every array and string of a trace."""
    parts = [
        getattr(trace, name) for name in ("events", "kernels", "syncs", "comms", "lanes")
    ]
    arrays = [getattr(part, f.name) for part in parts for f in fields(part)]
    strings = sum(sys.getsizeof(text) for text in trace.strings)
    return strings + sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))


def read_all(paths: list[str], threads: int) -> list[object]:
    """Read every file, as many at a time as there are threads."""
    if threads == 1:
        return [read_rank(path) for path in paths]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(read_rank, paths))


def main() -> None:
    """Decode and write the figures as JSON."""
    reader, threads, warm_up, *paths = sys.argv[1:]
    kept = reader == "kept"
    if reader == "low":
        os.environ[spill.VARIABLE], reader = "1", readers.NATIVE
    if not kept:
        os.environ[readers.VARIABLE] = reader
    trace = read_rank(warm_up)
    with tempfile.TemporaryDirectory() as folder:
        columns = Path(folder) / "columns.arrow"
        if kept:
            trace = read_rank(paths[0])
            store.save(trace, columns)
            store.load(columns)
        start = time.perf_counter()
        cpu = time.process_time()
        traces = [store.load(columns)] if kept else read_all(paths, int(threads))
        facts = {
            "wall_s": time.perf_counter() - start,
            "cpu_s": time.process_time() - cpu,
            "plain_mb": sum(trace.bytes_read for trace in traces) / 1e6,
            "events": sum(len(trace.events) for trace in traces),
            "columns_mb": sum(map(columns_bytes, traces)) / 1e6,
            "file_mb": columns.stat().st_size / 1e6 if kept else 0.0,
            "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        }
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main()
