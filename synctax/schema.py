"""Every public table: its columns, their types, units and meanings, declared once.

Tables are built here from plain arrays, the reference page is generated from here, and
the rule that a unit stands in a column's name is tested here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

DType = Literal["int", "float", "str", "bool"]


@dataclass(frozen=True, slots=True)
class Column:
    """One public column: `unit` is empty for names, counts and shares."""

    name: str
    dtype: DType
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A public table; `schema` is the name programs check (`synctax.measure/1`)."""

    schema: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def to_frame(
        self, data: "Mapping[str, Sequence[Any] | npt.NDArray[Any]]"
    ) -> "pd.DataFrame":
        """Build the pandas table; absent values are null, never a number.

        Parameters
        ----------
        data : mapping of column name to n values, a sequence or array
            None (or NaN in float columns) stands for absent. Arrays are taken as they are.

        Raises
        ------
        ValueError
            If the columns are not exactly those declared.
        """
        import pandas as pd

        if set(data) != set(self.names):
            raise ValueError(
                f"{self.schema} wants columns {sorted(self.names)}, got {sorted(data)}"
            )
        return pd.DataFrame(
            {
                column.name: pd.Series(
                    _values(data[column.name]), dtype=_PANDAS_DTYPE[column.dtype]
                )
                for column in self.columns
            }
        )


def _values(values: "Sequence[Any] | npt.NDArray[Any]") -> Any:
    # a list of an array's numbers costs a Python object each
    return values if hasattr(values, "dtype") else list(values)


_PANDAS_DTYPE: dict[DType, Literal["Int64", "float64", "object", "boolean"]] = {
    "int": "Int64",
    "float": "float64",
    "str": "object",
    "bool": "boolean",
}


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

INSPECT_FILES = Table(
    "synctax.inspect/1",
    "what `inspect` finds: one row a trace file, whether it is used or not",
    (
        Column("file", "str", "", "path or URL of the file"),
        Column(
            "status",
            "str",
            "",
            "`used`, `copy` (of another file), `no rank`, `clash` (its rank is claimed "
            "twice), `unreadable`, `empty` (no events) or `not selected`",
        ),
        Column("reason", "str", "", "why it is not used; null where it is"),
        Column("rank", "int", "", "global rank; null where nothing tells it"),
        Column(
            "rank_source",
            "str",
            "",
            "`manifest`, `content` (distributedInfo), `name`, or `tp` (a tensor-parallel "
            "rank in the name)",
        ),
        Column("host", "str", "", "host name"),
        Column("host_source", "str", "", "`manifest`, `content` or `name`"),
        Column("gpu", "str", "", "GPUs its kernels ran on, with their model"),
        Column("window", "str", "", "profiler window, where there are several"),
        Column("world_size", "int", "", "ranks of the job, as the file says"),
        Column("pytorch_version", "str", "", "as the file says"),
        Column("nccl_version", "str", "", "as the file says"),
        Column("steps", "str", "", "numbers of the profiler steps, such as `4-6`"),
        Column("streams", "int", "", "streams with kernels"),
        Column("groups", "int", "", "process groups whose collectives it holds"),
        Column("comm_kernels", "int", "", "communication kernels"),
        Column("compute_kernels", "int", "", "other kernels"),
        Column("repairs", "int", "", "places that were repaired or left out in reading"),
        Column("truncated", "bool", "", "whether the file ends before its trace does"),
        Column("span_us", "float", "us", "from the first start to the last end"),
        Column("size_bytes", "int", "bytes", "size on disk"),
    ),
)

INSPECT_GROUPS = Table(
    "synctax.inspect-groups/1",
    "process groups that `inspect` finds, in the key `groups` of its JSON: one row a "
    "group role and operation",
    (
        Column("group", "str", "", "role such as `tp`, else the description"),
        Column("op", "str", "", "operation"),
        Column("n_groups", "int", "", "sibling groups of the role in one window"),
        Column("n_ranks", "int", "", "ranks of the largest of these groups, as declared"),
        Column("ranks", "str", "", "global ranks of the groups, such as `0-3 | 4-7`"),
        Column("present", "int", "", "ranks read that belong to them"),
        Column("collectives_min", "int", "", "fewest collectives of one rank and window"),
        Column("collectives_max", "int", "", "most collectives of one rank and window"),
        Column(
            "origin",
            "str",
            "",
            "how members are known: `kernel`, `pg_config`, `stride` or `inferred`",
        ),
    ),
)
