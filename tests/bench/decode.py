"""Decodes one trace into columns, twice, and reports the second time and the memory."""

import json
import resource
import sys
import time
from dataclasses import fields

import numpy as np

from synctax.trace.kineto import read_rank


def columns_bytes(trace: object) -> int:
    """Bytes of every array and string of a trace."""
    parts = [
        getattr(trace, name) for name in ("events", "kernels", "syncs", "comms", "lanes")
    ]
    arrays = [getattr(part, f.name) for part in parts for f in fields(part)]
    strings = sum(sys.getsizeof(text) for text in trace.strings)
    return strings + sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))


if __name__ == "__main__":
    path, warm_up = sys.argv[1:3]
    read_rank(warm_up)
    start = time.perf_counter()
    cpu = time.process_time()
    trace = read_rank(path)
    facts = {
        "wall_s": time.perf_counter() - start,
        "cpu_s": time.process_time() - cpu,
        "plain_mb": trace.bytes_read / 1e6,
        "events": len(trace.events),
        "columns_mb": columns_bytes(trace) / 1e6,
        "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }
    sys.stdout.write(json.dumps(facts) + "\n")
