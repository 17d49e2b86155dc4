"""The tables of `compare`."""

from synctax.schema.table import Column, Table

_CHANGE = (
    Column("a", "float", "", "before, in the unit of the row's quantity"),
    Column("b", "float", "", "after"),
    Column("difference", "float", "", "b - a"),
    Column("difference_lo", "float", "", "lower end of the interval of the difference"),
    Column("difference_hi", "float", "", "upper end"),
    Column("p", "float", "", "p-value of no change, of this row alone"),
    Column(
        "p_adjusted",
        "float",
        "",
        "the same, of all rows of the table together (Benjamini-Hochberg)",
    ),
    Column("changed", "bool", "", "whether `p_adjusted` is at most 1 - level"),
)

_ONLY = Column("only_in", "str", "", "`a` or `b` where the other side has none")

COMPARE = Table(
    "synctax.compare/1",
    "What changed between two runs: one row per group role, operation and quantity.",
    (
        Column("group", "str", "", "role of the process group; absent for the whole job"),
        Column("op", "str", "", "operation; absent for the whole job"),
        Column(
            "quantity",
            "str",
            "",
            "what is compared, with its unit at the end: named as in `synctax.measure/1`",
        ),
        *_CHANGE,
        Column("collectives_a", "int", "", "collectives before that count"),
        Column("collectives_b", "int", "", "collectives after that count"),
        Column("rank_a", "int", "", "the rank it is of, before"),
        Column("rank_b", "int", "", "the rank it is of, after"),
        _ONLY,
    ),
)

COMPARE_RANKS = Table(
    "synctax.compare-ranks/1",
    "What changed on every rank: one row per group role, operation, rank and quantity.",
    (
        Column("group", "str", "", "role of the process group"),
        Column("op", "str", "", "operation"),
        Column("rank", "int", "", "global rank"),
        Column(
            "quantity",
            "str",
            "",
            "`wait_us_mean`: its mean wait; `straggler_share`: how often it was last",
        ),
        *_CHANGE,
        _ONLY,
    ),
)

COMPARE_CULPRITS = Table(
    "synctax.compare-culprits/1",
    "Whose caused tax changed: one row per group role and culprit, most change first.",
    (
        Column("group", "str", "", "role of the process group"),
        Column("kind", "str", "", "`class`, `rank`, or `item`: one kernel on one rank"),
        Column("culprit_class", "str", "", "class of culprit, as in `synctax.attribute/1`"),
        Column("culprit", "str", "", "name of the kernel, operator or gap"),
        Column("rank", "int", "", "global rank on which the cause lies"),
        Column("share_of_tax_a", "float", "", "its share of the tax before"),
        Column("share_of_tax_b", "float", "", "its share of the tax after"),
        Column(
            "tax_a_us", "float", "us", "tax it causes before, per attributed collective"
        ),
        Column("tax_b_us", "float", "us", "the same after"),
        Column("difference_us", "float", "us", "after less before"),
        Column("difference_lo_us", "float", "us", "lower end of its interval"),
        Column("difference_hi_us", "float", "us", "upper end"),
        Column("p", "float", "", "p-value of no change, of this row alone"),
        Column("p_adjusted", "float", "", "of all rows of the table together"),
        Column("changed", "bool", "", "whether `p_adjusted` is at most 1 - level"),
    ),
)

COMPARE_FIT = Table(
    "synctax.compare-fit/1",
    "What changed of the fit of how waits grow: one row per parameter.",
    (
        Column("group_a", "str", "", "role whose blocks were fitted, before"),
        Column("group_b", "str", "", "role whose blocks were fitted, after"),
        Column(
            "quantity",
            "str",
            "",
            "`a_us`, `b_us`, `r` (b/a), `xi`, `tau_us@n`: mean wait in groups of n ranks",
        ),
        *_CHANGE,
    ),
)

COMPARE_KERNELS = Table(
    "synctax.compare-kernels/1",
    "What changed of computation: one row per class of kernels.",
    (
        Column("kernel_class", "str", "", "`gemm`, `attention`, ..., as `attribute` does"),
        Column("kernels_a", "int", "", "kernels before, of all ranks"),
        Column("kernels_b", "int", "", "kernels after"),
        Column("duration_a_us_median", "float", "us", "median duration before"),
        Column("duration_b_us_median", "float", "us", "median duration after"),
        Column("duration_a_us_mean", "float", "us", "mean duration before"),
        Column("duration_b_us_mean", "float", "us", "mean duration after"),
        Column("difference_us", "float", "us", "of the means: after less before"),
        Column("difference_lo_us", "float", "us", "lower end of its interval"),
        Column("difference_hi_us", "float", "us", "upper end"),
        Column("p", "float", "", "p-value of no change, of this row alone"),
        Column("p_adjusted", "float", "", "of all rows of the table together"),
        Column("changed", "bool", "", "whether `p_adjusted` is at most 1 - level"),
    ),
)
