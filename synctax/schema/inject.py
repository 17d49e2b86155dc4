"""The tables of `inject`."""

from synctax.schema.table import Column, Table

_NAMED = (
    "the delayed rank is the straggler, or the origin of a wait that another group passed "
    "on"
)
_OPERATOR = (
    "the culprit is the delayed operator on that rank, or at that origin; in a recorded "
    "job the very call that was delayed"
)
_AMOUNT = (
    "both are named, and the variation of the operator is half to one and a half times "
    "what must show"
)
_OPERATOR_SHARE = (
    "share of the delayed operator in the critical path of the slowest rank, from the "
    "beginning of its window to its arrival"
)
_CPU_SHARE = "share of the host in that path"

INJECT = Table(
    "synctax.inject/1",
    "What came back of delays that were put in: one row per size of delay. Of the "
    "collectives that delays reach: the next that the delayed rank joins.",
    (
        Column(
            "dose_us",
            "float",
            "us",
            "delay asked for, in all where several reach one collective, of the rank "
            "delayed most less the least; of more than 16 sizes the nearest of 1, 2, 5, "
            "10, ...; 0: controls, and where ranks were delayed alike",
        ),
        Column("steps", "int", "", "steps that have it"),
        Column("delays", "int", "", "delays that reach them, of all ranks"),
        Column("collectives", "int", "", "collectives that these reach"),
        Column(
            "judged",
            "int",
            "",
            "those that were attributed and that one delay alone reaches: of several none "
            "need be the culprit",
        ),
        Column("delay_us_median", "float", "us", "what the delay came to"),
        Column(
            "expected_us_median",
            "float",
            "us",
            "what of it must show: all, or where the truth tells the slack what exceeds it",
        ),
        Column("tax_max_us_median", "float", "us", "max - min duration"),
        Column("tax_max_us_p10", "float", "us", "10 % quantile of the same"),
        Column("tax_max_us_p90", "float", "us", "90 % quantile of the same"),
        Column(
            "excess_us_median",
            "float",
            "us",
            "median tax above the median of the controls; null without controls",
        ),
        Column("rank_named_share", "float", "", f"share of those judged in which {_NAMED}"),
        Column("operator_named_share", "float", "", f"share in which {_OPERATOR}"),
        Column("recovered_share", "float", "", "share in which both are named"),
        Column("amount_named_share", "float", "", f"share in which {_AMOUNT}"),
        Column("recovered_lo", "float", "", "lower end of its interval (95 %, Wilson)"),
        Column("recovered_hi", "float", "", "upper end of its interval"),
        Column(
            "recovered_of_reached_share",
            "float",
            "",
            "the same over all collectives that are reached, judged or not",
        ),
        Column(
            "culprit_us_median",
            "float",
            "us",
            "variation of the culprit, where rank and operator are named",
        ),
        Column("operator_path_share_median", "float", "", _OPERATOR_SHARE),
        Column("cpu_path_share_median", "float", "", _CPU_SHARE),
        Column(
            "through_cpu_share",
            "float",
            "",
            "share of those judged whose `path_side` is `cpu`",
        ),
    ),
)

INJECT_COLLECTIVES = Table(
    "synctax.inject-collectives/1",
    "Every collective that a delay reaches. Null where it was not attributed.",
    (
        Column("group", "str", "", "role of the process group, else its name"),
        Column(
            "group_ranks", "str", "", "global ranks of the group, such as `0-3` or `0,4`"
        ),
        Column("op", "str", "", "operation, as torch.distributed names it"),
        Column("index", "int", "", "place among the collectives of the group and window"),
        Column("step", "int", "", "step that was delayed, as the job counts them"),
        Column("delayed_rank", "int", "", "global rank that was delayed"),
        Column("operator", "str", "", "what was delayed on it"),
        Column("delays", "int", "", "how many delays reach the collective, of all ranks"),
        Column(
            "dose_us",
            "float",
            "us",
            "delay asked for, in all, of the rank delayed most less the least; 0: a "
            "control, or ranks that were delayed alike",
        ),
        Column("delay_us", "float", "us", "what it came to"),
        Column(
            "slack_us",
            "float",
            "us",
            "how much of it the lead of the host hides; null where that is unknown",
        ),
        Column("expected_us", "float", "us", "what of it must show"),
        Column("tax_max_us", "float", "us", "max - min duration"),
        Column(
            "straggler_rank", "int", "", "global rank that was last; null where ranks tie"
        ),
        Column("culprit", "str", "", "as in `attribute`"),
        Column("culprit_variation_us", "float", "us", "its variation"),
        Column("origin_rank", "int", "", "as in `attribute`"),
        Column(
            "origin_culprit",
            "str",
            "",
            "culprit at the origin of a wait that another group passed on; else null",
        ),
        Column("rank_named", "bool", "", _NAMED),
        Column("operator_named", "bool", "", _OPERATOR),
        Column("recovered", "bool", "", "both are named"),
        Column("amount_named", "bool", "", _AMOUNT),
        Column(
            "passed_on",
            "bool",
            "",
            "the operator is named at the origin of a wait, not at the collective itself",
        ),
        Column("operator_path_share", "float", "", _OPERATOR_SHARE),
        Column("cpu_path_share", "float", "", _CPU_SHARE),
        Column(
            "path_side", "str", "", "as in `attribute`: `cpu` if the path has host time"
        ),
        Column("status", "str", "", "`ok`, or why it is not judged, as in `attribute`"),
        Column("reason", "str", "", "the same in words; null where it is judged"),
    ),
)
