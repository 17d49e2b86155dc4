"""The table of `sweep`."""

from typing import Final

from synctax.schema.table import Column, Table

SUMMARY_COLUMNS: Final = (
    Column("jct_mean_s", "float", "s", "from submission to end, mean over jobs"),
    Column("jct_median_s", "float", "s", "its median"),
    Column("jct_p90_s", "float", "s", "its 90th percentile, interpolated straight"),
    Column("jct_p99_s", "float", "s", "its 99th percentile"),
    Column("makespan_s", "float", "s", "from the first submission to the last end"),
    Column("utilisation", "float", "", "share of the GPUs' time in it that jobs had"),
    Column("training_mean_s", "float", "s", "from start to end, mean over jobs"),
    Column("training_p99_s", "float", "s", "its 99th percentile"),
    Column("solo_mean_s", "float", "s", "training without traffic of others"),
    Column("wait_mean_s", "float", "s", "from submission to start, mean over jobs"),
    Column("wait_max_s", "float", "s", "the longest"),
    Column("slowdown_mean", "float", "", "training over training alone, mean over jobs"),
    Column("contention_mean", "float", "", "S, over all time that jobs ran"),
    Column("lost_share", "float", "", "what jobs lost to others' traffic over time alone"),
    Column("jobs", "int", "", "all"),
    Column("jobs_slowed", "int", "", "those that lost time to others' traffic"),
    Column("fragmentation", "float", "", "of free GPUs, those on servers in use"),
    Column("queue_mean", "float", "", "jobs that wait, mean over time"),
    Column("queue_max", "int", "", "most at once"),
)
"""Numbers of one simulation, as in the envelope of `simulate`."""

SWEEP = Table(
    "synctax.sweep/1",
    "Simulations of one trace under many settings: one row per combination.",
    (
        Column("policy", "str", "", "which servers a job gets"),
        Column("queue", "str", "", "who starts first"),
        Column("nic_gb_per_s", "float", "gb_per_s", "of every server; null: as they are"),
        Column("model", "str", "", "of contention"),
        Column("demand_basis", "str", "", "what its demands are; null but for mosim"),
        Column("seed", "int", "", "of what is drawn"),
        *SUMMARY_COLUMNS,
        Column("error", "str", "", "why there are no numbers; null where there are"),
    ),
)
