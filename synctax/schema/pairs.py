"""The table of `simulate --pairs`."""

from synctax.schema.table import Column, Table

PAIRS = Table(
    "synctax.simulate-pairs/1",
    "Workloads in pairs on two servers: one row per workload and other, in both orders.",
    (
        Column("workload", "str", "", "whose iterations are told"),
        Column("other", "str", "", "what runs beside it"),
        Column("iteration_change", "float", "", "pair_s over iteration_s"),
        Column("factor", "float", "", "S, by which the model stretches"),
        Column(
            "network_share",
            "float",
            "",
            "what part of the change is network time; null where nothing changes",
        ),
        Column("iteration_s", "float", "s", "of an iteration of the workload alone"),
        Column("pair_s", "float", "s", "of one beside the other"),
        Column("compute_s", "float", "s", "computation of an iteration"),
        Column("network_s", "float", "s", "communication of an iteration alone"),
        Column("sent_bytes", "float", "bytes", "what a worker sends an iteration"),
    ),
)
