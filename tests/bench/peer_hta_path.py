"""HTA's critical path over the whole window of one rank; runs in HTA's environment."""

import json
import sys
import time

from hta.trace_analysis import TraceAnalysis

if __name__ == "__main__":
    analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
    start = time.process_time()
    # an instance pair: from the first step to the last
    steps = analysis.t.get_trace(0)
    names = analysis.t.symbol_table.get_sym_table()
    count = sum(names[n].startswith("ProfilerStep") for n in steps["name"].tolist())
    graph, _ = analysis.critical_path_analysis(
        rank=0, annotation="ProfilerStep", instance_id=(0, count - 1)
    )
    facts = {"path_s": time.process_time() - start, "nodes": len(graph.critical_path_nodes)}
    sys.stdout.write(json.dumps(facts) + "\n")
