"""The tables of `measure`."""

from synctax.schema.table import Column, Table


def _stats(name: str, unit: str, meaning: str, *stats: str) -> tuple[Column, ...]:
    words = {"median": "median", "mean": "mean", "max": "largest"} | {
        f"p{p}": f"{p} % quantile" for p in (90, 99)
    }
    return tuple(
        Column(
            f"{name}_{stat}", "float", unit, f"{meaning}: {words[stat]} of the collectives"
        )
        for stat in stats
    )


MEASURE = Table(
    "synctax.measure/1",
    "The synchronization tax of a job: one row per group role and operation.",
    (
        Column(
            "group", "str", "", "role of the process group (`tp`, `dp`, ...), else its name"
        ),
        Column("op", "str", "", "operation, as torch.distributed names it"),
        Column("n_groups", "int", "", "process groups of that role that were measured"),
        Column("n_ranks", "int", "", "ranks of a group"),
        Column("collectives", "int", "", "collectives in this row (status `ok`)"),
        Column(
            "payload_bytes_median",
            "float",
            "bytes",
            "max(in, out) of a rank, as nccl-tests",
        ),
        Column(
            "transfer_us_median", "float", "us", "shortest duration over the ranks, median"
        ),
        *_stats(
            "tax_max_us",
            "us",
            "wait of the first rank to arrive (max - min duration)",
            "median",
            "p90",
            "p99",
            "max",
        ),
        *_stats(
            "tax_median_us",
            "us",
            "wait of the median rank (median - min duration)",
            "median",
            "p90",
            "p99",
            "max",
        ),
        *_stats(
            "tax_mean_us",
            "us",
            "mean wait of a rank (mean - min duration)",
            "median",
            "mean",
        ),
        *_stats("share_fastest", "", "tax_max over the longest duration", "median", "max"),
        *_stats("share_median", "", "tax_median over the median duration", "median", "max"),
        Column(
            "busbw_gb_per_s_median",
            "float",
            "gb_per_s",
            "bus bandwidth net of the wait (10^9 bytes/s)",
        ),
        Column(
            "wait_share_of_step",
            "float",
            "",
            "waits of all ranks over their step time (their window if no step is marked)",
        ),
        Column("straggler_rank", "int", "", "global rank that was last most often"),
        Column("straggler_host", "str", "", "its host"),
        Column("straggler_gpu", "str", "", "its GPU"),
        Column(
            "straggler_share",
            "float",
            "",
            "share of its group's untied collectives it was last in",
        ),
        Column(
            "straggler_uniform_p",
            "float",
            "",
            "p-value of χ² against equally likely stragglers, summed over sibling groups",
        ),
        Column(
            "straggler_longest_run",
            "int",
            "",
            "most collectives in a row with the same straggler",
        ),
        Column(
            "straggler_run_p",
            "float",
            "",
            "p-value of that run under equally likely stragglers (over all sibling groups)",
        ),
    ),
)

MEASURE_COLLECTIVES = Table(
    "synctax.measure-collectives/1",
    "Every collective of a job, matched over its ranks.",
    (
        Column("group", "str", "", "role of the process group, else its name"),
        Column("group_ranks", "str", "", "its global ranks, such as `0-3` or `0,4`"),
        Column("op", "str", "", "operation"),
        Column(
            "index",
            "int",
            "",
            "place among the collectives of the group and window, from 0",
        ),
        Column("step", "int", "", "number of the profiler step"),
        Column("seq", "int", "", "`Seq` of the trace"),
        Column("payload_bytes", "int", "bytes", "max(in, out) of a rank, as nccl-tests"),
        Column("n_ranks", "int", "", "ranks that recorded it"),
        Column("duration_min_us", "float", "us", "shortest kernel: the transfer"),
        Column("duration_median_us", "float", "us", "median kernel"),
        Column("duration_max_us", "float", "us", "longest kernel"),
        Column("tax_max_us", "float", "us", "max - min duration"),
        Column("tax_median_us", "float", "us", "median - min duration"),
        Column("tax_mean_us", "float", "us", "mean - min duration"),
        Column("share_fastest", "float", "", "tax_max over the longest duration"),
        Column("share_median", "float", "", "tax_median over the median duration"),
        Column("busbw_gb_per_s", "float", "gb_per_s", "bus bandwidth net of the wait"),
        Column(
            "straggler_rank",
            "int",
            "",
            "global rank that arrived last; null where ranks tie",
        ),
        Column(
            "fastest_rank",
            "int",
            "",
            "global rank that arrived first; null where ranks tie",
        ),
        Column(
            "start_spread_us", "float", "us", "latest - earliest start, on aligned clocks"
        ),
        Column("end_spread_us", "float", "us", "latest - earliest end, on aligned clocks"),
        Column(
            "identity", "str", "", "how ranks were matched: comms_id, seq, order, inferred"
        ),
        Column(
            "status",
            "str",
            "",
            "ok, head, partial, invalid or unmatched; only ok rows enter the summary",
        ),
        Column("reason", "str", "", "why the status is not ok"),
        Column("dtype", "str", "", "torch dtype"),
        Column(
            "exposed_wait_us",
            "float",
            "us",
            "mean over the ranks of the wait while their GPU computed nothing else",
        ),
        Column("window", "str", "", "profiler window, where there are several"),
    ),
)

MEASURE_RANKS = Table(
    "synctax.measure-ranks/1",
    "What each rank waited, and how often the others waited for it.",
    (
        Column("group", "str", "", "role of the process group, else its name"),
        Column("op", "str", "", "operation"),
        Column("rank", "int", "", "global rank"),
        Column("host", "str", "", "its host"),
        Column("gpu", "str", "", "its GPU"),
        Column("collectives", "int", "", "collectives (status `ok`) it took part in"),
        Column("straggler_count", "int", "", "how often it was the last to arrive"),
        Column("straggler_share", "float", "", "that over its untied collectives"),
        Column(
            "tax_mean_us",
            "float",
            "us",
            "its mean duration less the shortest one: mean wait",
        ),
        Column("wait_us_median", "float", "us", "its median wait"),
        Column("wait_us_p90", "float", "us", "90 % quantile of its waits"),
        Column("wait_us_max", "float", "us", "its longest wait"),
        Column("wait_us_sum", "float", "us", "all its waits"),
        Column(
            "exposed_wait_us_sum",
            "float",
            "us",
            "of these, while its GPU computed nothing else",
        ),
        Column(
            "clock_offset_us",
            "float",
            "us",
            "its clock less that of the group's reference rank; null where clocks agree",
        ),
        Column("clock_drift_ppm", "float", "ppm", "drift of its clock against that rank's"),
        Column(
            "clock_residual_us", "float", "us", "what offset and drift leave of the ends"
        ),
        Column("window", "str", "", "profiler window, where there are several"),
    ),
)

MEASURE_CACHE = Table(
    "synctax.measure-cache/1",
    "What became of each file of `measure --only-cache`.",
    (
        Column("file", "str", "", "the trace"),
        Column("size_bytes", "int", "bytes", "its size, compressed or not"),
        Column(
            "outcome",
            "str",
            "",
            "`kept` (read, and its columns are in the workspace now), `there` (they were "
            "already), `not_kept` or `unreadable`",
        ),
        Column("reason", "str", "", "why they are not in the workspace"),
    ),
)
