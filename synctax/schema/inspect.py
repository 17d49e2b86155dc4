"""The tables of `inspect`."""

from synctax.schema.table import Column, Table

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
