"""What HTA makes of rank traces: load and straggler analysis; runs in HTA's environment."""

import json
import sys
import time

from hta.trace_analysis import TraceAnalysis

if __name__ == "__main__":
    start = time.perf_counter()
    analysis = TraceAnalysis(trace_files=dict(enumerate(sys.argv[1:])))
    loaded = time.perf_counter()
    # one rank alone has no stragglers: HTA raises
    stragglers = analysis.get_potential_stragglers() if len(sys.argv) > 2 else []
    facts = {
        "load_s": loaded - start,
        "analyse_s": time.perf_counter() - loaded,
        "stragglers": [int(rank) for rank in stragglers],
    }
    sys.stdout.write(json.dumps(facts) + "\n")
