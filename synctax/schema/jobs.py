"""The CSV of jobs: what `convert` writes and `simulate` reads."""

from typing import Final

from synctax.schema.table import Column

MOST_JOBS: Final = 10_000_000
"""Of one trace."""

JOB_COLUMNS: Final = (
    Column("job_id", "str", "", "what the job is called; no other job has the same"),
    Column("submit_s", "float", "s", "when it is submitted, from any zero"),
    Column("gpus", "int", "", "GPUs that it asks for, 1 or more"),
    Column("duration_s", "float", "s", "run time alone on its servers"),
    Column("workload", "str", "", "name in the pool, which then tells the profile"),
    Column("compute_s", "float", "s", "computation of an iteration"),
    Column("network_s", "float", "s", "network time of an iteration, alone"),
    Column("network_bytes", "float", "bytes", "of all workers in an iteration, V"),
    Column(
        "counting",
        "str",
        "",
        "what network_bytes counts: paper, sent or sent+received; else as the command says",
    ),
    Column(
        "local_network_s",
        "float",
        "s",
        "network time of an iteration with all workers on one server",
    ),
    Column("barriers", "float", "", "times of an iteration at which all workers meet"),
    Column("tax_s", "float", "s", "of an iteration, what workers wait for each other"),
    Column("servers", "str", "", "where it has to run, server:GPUs, such as 0:4;1:4"),
    Column("start_s", "float", "s", "measured start, from the same zero"),
    Column("end_s", "float", "s", "measured end, from the same zero"),
)
"""Every column of the CSV of jobs, in the order in which files are written."""

NEEDED_JOB_COLUMNS: Final = ("job_id", "submit_s", "gpus", "duration_s")
"""Those that no file can do without."""
