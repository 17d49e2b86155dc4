"""The tables of `simulate`."""

from synctax.schema.table import Column, Table

SIMULATE = Table(
    "synctax.simulate/1",
    "When every job of a cluster ran, where, and how much others slowed it: one row each.",
    (
        Column("job_id", "str", "", "as in the trace"),
        Column("gpus", "int", "", "GPUs of the job"),
        Column("servers", "str", "", "where it ran, server:GPUs, such as 0:4;1:4"),
        Column("submit_s", "float", "s", "when it was submitted, as in the trace"),
        Column("start_s", "float", "s", "when it got its GPUs"),
        Column("end_s", "float", "s", "when it was done"),
        Column("wait_s", "float", "s", "start_s - submit_s"),
        Column("training_s", "float", "s", "end_s - start_s"),
        Column("jct_s", "float", "s", "end_s - submit_s: job completion time"),
        Column("solo_s", "float", "s", "training on these GPUs without others' traffic"),
        Column("slowdown", "float", "", "training_s / solo_s"),
        Column(
            "contention",
            "float",
            "",
            "S, which network time was stretched by: the mean over the training",
        ),
        Column("workload", "str", "", "what the job trains; null where not known"),
        Column("source", "str", "", "where its profile is from"),
        Column("iterations", "float", "", "duration_s over the time of one alone"),
        Column("duration_s", "float", "s", "run time alone, as in the trace"),
        Column("compute_s", "float", "s", "computation of an iteration, at speed 1"),
        Column("network_s", "float", "s", "network time of an iteration, alone"),
        Column("tax_s", "float", "s", "waiting for the last worker, of an iteration"),
        Column("network_bytes", "float", "bytes", "V, of all workers in an iteration"),
        Column("counting", "str", "", "what network_bytes counts; null where not known"),
        Column(
            "nic_bytes",
            "float",
            "bytes",
            "D, of an iteration at each NIC, where the job has several servers",
        ),
        Column(
            "local_network_s",
            "float",
            "s",
            "network time of an iteration on one server; null where not known",
        ),
        Column("barriers", "float", "", "times of an iteration at which all workers meet"),
        Column("servers_used", "int", "", "servers that it ran on"),
        Column("lost_s", "float", "s", "training_s - solo_s"),
        Column("network_share", "float", "", "share of the training that was network time"),
        Column("measured_training_s", "float", "s", "measured; null where it was not"),
        Column("measured_jct_s", "float", "s", "measured; null where it was not"),
    ),
)

SIMULATE_CLUSTERS = Table(
    "synctax.simulate-clusters/1",
    "Clusters that are built in: one row each.",
    (
        Column("cluster", "str", "", "as `--cluster` reads it"),
        Column("servers", "int", "", "how many"),
        Column("gpus", "int", "", "of all of them"),
        Column("gpu_type", "str", "", "kinds of GPUs; null where it does not matter"),
        Column("nic_gb_per_s", "float", "gb_per_s", "of a server, the slowest"),
        Column("policy", "str", "", "which servers a job gets, if not told otherwise"),
        Column("queue", "str", "", "who may start, if not told otherwise"),
    ),
)
