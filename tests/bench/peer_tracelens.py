"""What TraceLens' NCCL analyser makes of rank traces; runs in TraceLens' environment."""

import json
import sys
import time

from TraceLens import NcclAnalyser

if __name__ == "__main__":
    start = time.perf_counter()
    files = sys.argv[1:]
    analyser = NcclAnalyser(files, len(files), use_multiprocessing=True)
    loaded = time.perf_counter()
    waits = analyser.build_df_nccl_implicit_sync_cat(detailed=True)
    summary = analyser.build_df_summary_nccl_implicit_sync_cat()
    stragglers = analyser.build_df_straggler_summary()
    facts = {
        "load_s": loaded - start,
        "analyse_s": time.perf_counter() - loaded,
        "collectives": len(waits),
        "summary_rows": len(summary),
        "straggler_rank": None if stragglers.empty else int(stragglers["rank"].iloc[0]),
    }
    sys.stdout.write(json.dumps(facts) + "\n")
