"""The tables of `verify`."""

from synctax.schema.table import Column, Table

_GROUP = Column(
    "group",
    "str",
    "",
    "role of the process groups (tp, dp, ...), else their description; null: of the job",
)
_HOSTS = Column(
    "hosts", "str", "", "hosts that these ranks are known to be on; null where not known"
)

VERIFY = Table(
    "synctax.verify/1",
    "Whether a job sits where it should: one row per check and group role.",
    (
        Column(
            "check",
            "str",
            "",
            "traced (all ranks were read), runs (files are of one), hosts (sources agree), "
            "world (degrees multiply to the ranks), size, coverage (each rank in one "
            "group), members (ranks as planned), domain (in one NVLink domain), near (in "
            "as few as it fits into), rails (one local index across hosts), busbw, "
            "straggler, nccl-tests, bytes, microbatches; of NCCL's own files nics, "
            "nvlinks, nic-in-use, nic-rails, p2p, rings",
        ),
        _GROUP,
        Column(
            "level",
            "str",
            "",
            "rule (broken: exit code 4), warning (so with --strict), remark (never)",
        ),
        Column("expected", "str", "", "what should be"),
        Column("found", "str", "", "what is; null where it cannot be told"),
        Column(
            "groups_checked",
            "int",
            "",
            "groups that could be judged (of NCCL's files: GPUs, connections, rings)",
        ),
        Column("groups_unknown", "int", "", "groups that could not"),
        Column("groups_broken", "int", "", "of those judged: groups that break it"),
        Column(
            "status",
            "str",
            "",
            "ok, broken (a remark: it applies), or unknown: the traces cannot tell",
        ),
        Column("ranks", "str", "", "ranks of the first broken group; null where none is"),
        _HOSTS,
        Column("fault", "str", "", "what is wrong with it"),
        Column(
            "reason",
            "str",
            "",
            "why something could not be judged and what would help, or where a fault comes "
            "from; null where there is nothing to say",
        ),
    ),
)

VERIFY_GROUPS = Table(
    "synctax.verify-groups/1",
    "The process groups of a job: one row each.",
    (
        _GROUP,
        Column("name", "str", "", "its name in the trace; siblings may share it"),
        Column("ranks", "str", "", "its global ranks, as far as they are known"),
        Column("n_ranks", "int", "", "ranks that it has"),
        Column("n_ranks_known", "int", "", "of these, ranks that the traces name"),
        Column("n_hosts", "int", "", "hosts that they are known to be on"),
        _HOSTS,
        Column("n_domains", "int", "", "NVLink domains that they are known to be in"),
        Column("domains", "str", "", "names of these; null where not known"),
        Column(
            "origin",
            "str",
            "",
            "how its ranks are known: kernel, pg_config (declared), stride or inferred",
        ),
        Column("communicates", "bool", "", "whether a collective of it was recorded"),
        Column(
            "busbw_gb_per_s_median",
            "float",
            "gb_per_s",
            "bus bandwidth (nccl-tests' factor) net of the wait, of collectives of 1 MB "
            "and more",
        ),
        Column(
            "busbw_of_siblings",
            "float",
            "",
            "that over its siblings', for like operations and sizes; null where alone",
        ),
        Column(
            "link_gb_per_s",
            "float",
            "gb_per_s",
            "what its links carry: a GPU's NVLinks in a domain, else its members' NICs",
        ),
        Column(
            "waited_share",
            "float",
            "",
            "share of its longest durations that is waiting for the last rank",
        ),
        Column("faults", "str", "", "checks that it breaks; null where none"),
    ),
)
