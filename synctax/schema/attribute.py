"""The tables of `attribute`."""

from synctax.schema.table import Column, Table

_GROUP = Column("group", "str", "", "role of the process group, else its name")
_GROUP_RANKS = Column(
    "group_ranks", "str", "", "global ranks of the group, such as `0-3` or `0,4`"
)
_WINDOW = Column("window", "str", "", "profiler window, where there are several")

ATTRIBUTE = Table(
    "synctax.attribute/1",
    "Who made the others wait: one row per group role and class of culprit. Of the "
    "collectives whose path is known.",
    (
        _GROUP,
        Column(
            "culprit_class",
            "str",
            "",
            "what the culprit is: `gemm`, `attention`, `norm`, `elementwise`, `reduction`, "
            "`copy`, `other` (kernels by name), `communication` (a collective: mostly a "
            "wait, or nothing is known of it), `transfer` (a collective, mostly no wait), "
            "`cpu_launch` (calls of the runtime), `cpu_op`, `python_gap` (host time that "
            "nobody logged), `host_stall` (a host item far longer than usual); and, "
            "without a culprit, `carried` (most of it: late already when the window "
            "opened), `passed_on` (most of it: waits for other groups, in no single one), "
            "`diffuse` (nothing explains half) and `none` (nobody waited)",
        ),
        Column("collectives", "int", "", "collectives whose culprit is in the class"),
        Column("share_of_collectives", "float", "", "that over those of the role"),
        Column(
            "variation_us",
            "float",
            "us",
            "sum of the variation of the culprits in the class; 0 without a culprit",
        ),
        Column(
            "share_of_variation", "float", "", "that over all culprits of the role; null: 0"
        ),
        Column("tax_us", "float", "us", "sum of the tax (max - min) of these collectives"),
        Column("share_of_tax", "float", "", "that over those of the role"),
        Column("side", "str", "", "`gpu`, `cpu` or `comm`; null without a culprit"),
        Column(
            "group_ranks",
            "str",
            "",
            "global ranks of the group (`--per-group`); null where siblings are pooled",
        ),
    ),
)

ATTRIBUTE_COLLECTIVES = Table(
    "synctax.attribute-collectives/1",
    "Every collective, and who made the others wait. Null where it was not attributed.",
    (
        _GROUP,
        _GROUP_RANKS,
        Column("op", "str", "", "operation, as torch.distributed names it"),
        Column(
            "index",
            "int",
            "",
            "place among the collectives of the group and window, from 0",
        ),
        Column("step", "int", "", "number of the profiler step"),
        Column("tax_max_us", "float", "us", "max - min duration"),
        Column(
            "path_variation_us",
            "float",
            "us",
            "equation 2: what lies on the path of the slowest rank less that of the "
            "fastest, without launch, queueing and cross-stream latency",
        ),
        Column(
            "straggler_rank",
            "int",
            "",
            "global rank that arrived last, whose path is told; null where ranks tie",
        ),
        Column(
            "fastest_rank",
            "int",
            "",
            "global rank that arrived first, it is compared with; null where ranks tie",
        ),
        Column(
            "fence_index",
            "int",
            "",
            "collective of the group that all ranks leave together: its end begins the "
            "window",
        ),
        Column(
            "ancestor_index",
            "int",
            "",
            "collective of the group that the straggler's path meets first (`--window "
            "lca`: that all ranks have in common); -1: the root, which is not comparable",
        ),
        Column(
            "culprit",
            "str",
            "",
            "name of the kernel or slice, `gap before X in Y`, a collective such as "
            "`tp all_gather #12`, or `diffuse` where no item explains half of the tax",
        ),
        Column("culprit_class", "str", "", "as in `synctax.attribute/1`"),
        Column("culprit_side", "str", "", "`gpu`, `cpu` or `comm`; null without a culprit"),
        Column(
            "culprit_variation_us",
            "float",
            "us",
            "how much longer it took than its counterpart, at most the tax; 0 without one",
        ),
        Column("culprit_share", "float", "", "that over the tax"),
        Column(
            "path_side",
            "str",
            "",
            "`gpu` if the straggler's path is GPU only, `cpu` if it passes through the CPU",
        ),
        Column(
            "carried_us",
            "float",
            "us",
            "of the tax, what the straggler was late already when the window opened",
        ),
        Column(
            "propagated_us",
            "float",
            "us",
            "waits for other groups on the straggler's path less those on the fastest's",
        ),
        Column("residual_us", "float", "us", "tax_max_us - path_variation_us"),
        Column(
            "culprit_why",
            "str",
            "",
            "`slower` than its counterpart, `no counterpart`, or `carried`: slower before "
            "the window, and the rank stayed late",
        ),
        Column("culprit_thread", "str", "", "thread or stream of the culprit"),
        Column(
            "origin_rank",
            "int",
            "",
            "global rank where the cause lies: where the culprit is a wait for another "
            "group, the straggler there, and so on; null where ranks tie there",
        ),
        Column("origin_culprit", "str", "", "the culprit there"),
        Column("origin_group", "str", "", "role of the group there"),
        Column("origin_index", "int", "", "index of the collective there"),
        Column(
            "launch_us",
            "float",
            "us",
            "idle between launch and start, on the straggler's path less the fastest's",
        ),
        Column(
            "queue_us",
            "float",
            "us",
            "idle behind the event before on the stream, the same difference",
        ),
        Column(
            "cross_us",
            "float",
            "us",
            "idle behind an event on another stream, the same difference",
        ),
        Column("host_us", "float", "us", "time of the straggler's path on the host"),
        Column(
            "exposed_wait_us",
            "float",
            "us",
            "mean over the ranks of the wait while their GPU computed nothing else",
        ),
        Column(
            "equal_work",
            "bool",
            "",
            "whether all ranks launched the same kernels since the collective before",
        ),
        Column(
            "status",
            "str",
            "",
            "ok; as `measure` has it: head, partial, invalid, unmatched; or no fence, not "
            "comparable, path unknown",
        ),
        Column("reason", "str", "", "why the status is not ok"),
        _WINDOW,
    ),
)

ATTRIBUTE_RANKS = Table(
    "synctax.attribute-ranks/1",
    "What each rank made the others wait: of the collectives it was the straggler of and "
    "whose path is known.",
    (
        _GROUP,
        Column("rank", "int", "", "global rank"),
        Column("host", "str", "", "its host"),
        Column("gpu", "str", "", "its GPU"),
        Column("collectives", "int", "", "collectives it was the straggler of"),
        Column(
            "share_of_collectives",
            "float",
            "",
            "that over those of the role that have a straggler: ties have none",
        ),
        Column("tax_us", "float", "us", "sum of their tax (max - min)"),
        Column("share_of_tax", "float", "", "that over the role"),
        Column("gpu_us", "float", "us", "variation of its culprits: kernels and copies"),
        Column("cpu_us", "float", "us", "variation of its culprits: host"),
        Column("comm_us", "float", "us", "variation of its culprits: collectives"),
        Column("carried_us", "float", "us", "late already when windows opened"),
        Column("propagated_us", "float", "us", "waited for other groups"),
        Column("culprit", "str", "", "the culprit with most variation in all"),
        Column("culprit_class", "str", "", "its class"),
        Column("culprit_us", "float", "us", "its variation, summed"),
        Column(
            "gpu_only_share", "float", "", "share of its collectives with GPU-only paths"
        ),
        Column(
            "origin_collectives",
            "int",
            "",
            "collectives of which the cause lies on it, whichever rank was last",
        ),
        Column("origin_tax_us", "float", "us", "sum of their tax"),
        Column("graph_nodes", "int", "", "nodes of its dependency graph"),
        Column(
            "host_skew_us",
            "float",
            "us",
            "what was added to its host times so that no kernel starts before its launch",
        ),
        _WINDOW,
    ),
)

ATTRIBUTE_STORY = Table(
    "synctax.attribute-story/1",
    "One collective, event by event (`--explain`): the critical paths of the straggler and "
    "of the fastest rank since the moment at which both left the fence.",
    (
        Column("side", "str", "", "`slow`: of the straggler, `fast`: of the fastest rank"),
        Column("rank", "int", "", "global rank"),
        Column(
            "offset_us",
            "float",
            "us",
            "start, after the rank left the fence; negative for a culprit from before it",
        ),
        Column("duration_us", "float", "us", "how long it decided, within the window"),
        Column(
            "kind",
            "str",
            "",
            "`kernel`, `copy`, `collective`, `slice` (of an operator or call), `gap` (host "
            "time that nobody logged), `wait` (a thread was blocked), or `idle`: from the "
            "fence to the first event",
        ),
        Column("thread", "str", "", "thread or stream"),
        Column("name", "str", "", "as `culprit` of every collective is named"),
        Column("gap_us", "float", "us", "idle time until the next event began"),
        Column(
            "gap_kind",
            "str",
            "",
            "what that was: `launch`, `queue` (stream order), `cross` (another stream), "
            "`sync`, `chain` (thread order), `handover` (another thread), `root`",
        ),
        Column(
            "provenance",
            "str",
            "",
            "how it is known that it led to the next: `recorded`, `calls` or `inferred`",
        ),
        Column(
            "counterpart_us",
            "float",
            "us",
            "duration of its counterpart on the fastest rank; null where there is none",
        ),
        Column("variation_us", "float", "us", "how much longer it took than that"),
        Column("carried_us", "float", "us", "what its counterpart had done by the fence"),
        Column(
            "why",
            "str",
            "",
            "`slower`, `no counterpart` or `carried`: the largest part of its variation",
        ),
        Column("culprit", "bool", "", "whether it is the culprit"),
        Column(
            "pair", "int", "", "number that an event and its counterpart on the path share"
        ),
    ),
)
