"""The tables of `trend`."""

from synctax.schema.table import Column, Table

_GROUP = Column(
    "group", "str", "", "role of the process groups (tp, dp, ...), else their description"
)
_OP = Column("op", "str", "", "operation, as torch.distributed names it")
_POINT = Column("point", "int", "", "window, or part of one, in order, from 0")
_WINDOW = Column(
    "window", "str", "", "label of the profiler window; null where there is one"
)
_P_MEANING = (
    "; by permutation, adjusted for all questions asked of the job (Westfall-Young)"
)


def _interval(name: str, what: str) -> tuple[Column, Column]:
    return tuple(  # type: ignore[return-value]
        Column(f"{name}_{side}", "float", "us", f"{end} of the interval of {what}")
        for side, end in (("lo", "lower end"), ("hi", "upper end"))
    )


TREND = Table(
    "synctax.trend/1",
    "The tax over the windows of a job: one row per group role, operation and window.",
    (
        _GROUP,
        _OP,
        _POINT,
        _WINDOW,
        Column("first_step", "int", "", "first profiler step in it; null where unmarked"),
        Column("last_step", "int", "", "last profiler step in it"),
        Column(
            "iteration",
            "int",
            "",
            "iteration it is named for or begins with; null unless known of all",
        ),
        Column(
            "at_s",
            "float",
            "s",
            "when it began, after the first one; null where the clocks do not tell",
        ),
        Column("n_ranks", "int", "", "ranks that took part"),
        Column(
            "compared",
            "bool",
            "",
            "whether the ranks are those of most windows; others are not tested",
        ),
        Column("collectives", "int", "", "collectives that count"),
        Column("tax_max_us_median", "float", "us", "median tax (max - min duration)"),
        *_interval(
            "tax_max_median_us",
            "it at the level asked for; null where too few collectives or steps hold one",
        ),
        Column("tax_max_us_mean", "float", "us", "mean tax"),
        *_interval("tax_max_mean_us", "it, by bootstrap of steps; null for a single step"),
        Column("tax_max_us_p90", "float", "us", "90 % quantile of the tax"),
        *_interval("tax_max_p90_us", "it, as of the median"),
        Column(
            "wait_share_of_step",
            "float",
            "",
            "waits over the time of the same ranks' steps, as in `synctax.measure/1`",
        ),
        Column("step_us_median", "float", "us", "median step of these ranks"),
        Column("straggler_rank", "int", "", "rank that was last most often; null: ties"),
        Column("straggler_host", "str", "", "its host"),
        Column("straggler_share", "float", "", "share of its group's collectives in which"),
        Column(
            "straggler_as_before",
            "bool",
            "",
            "whether it was so in the window before; null where either has none",
        ),
        Column(
            "straggler_is_new",
            "bool",
            "",
            "whether another was so, and this one is last more often than chance explains "
            "(Fisher's exact test, for all ranks and windows together)",
        ),
        Column(
            "culprit_class",
            "str",
            "",
            "class that owes most of the tax (`synctax.attribute/1`); null: not attributed",
        ),
        Column("culprit_share", "float", "", "share of the tax that it owes"),
        Column(
            "culprit_share_change",
            "float",
            "",
            "that less the share of the same class in the window before",
        ),
    ),
)

TREND_TESTS = Table(
    "synctax.trend-tests/1",
    "Whether the tax changes over the windows: one row per group role and operation.",
    (
        _GROUP,
        _OP,
        Column("points", "int", "", "windows, or parts, in which it has collectives"),
        Column(
            "finding",
            "str",
            "",
            "`rise`, `fall`, `step_up`, `step_down`, `none`, or `too_few` points to tell",
        ),
        Column("per", "str", "", "what the slope is per: 1,000 iterations, hour, ..."),
        Column("slope_us", "float", "us", "change of the mean tax (Theil-Sen)"),
        *_interval("slope_us", "it; null where no pairs hold one"),
        Column("kendall_tau", "float", "", "-1: ever falling, 1: ever rising"),
        Column("trend_p", "float", "", f"rank correlation with order{_P_MEANING}"),
        Column(
            "least_p",
            "float",
            "",
            "what the clearest break would have (with fewer than 8 points: trend)",
        ),
        Column(
            "neighbour_correlation",
            "float",
            "",
            "of neighbouring steps or parts, the largest of all rows; 0 between windows",
        ),
        Column(
            "block_points", "int", "", "so many neighbours stay together in random orders"
        ),
        Column("break_point", "int", "", "first point after the largest change of level"),
        Column("break_window", "str", "", "its window"),
        Column("break_iteration", "int", "", "its iteration"),
        Column("break_p", "float", "", f"Pettitt, standardised{_P_MEANING}"),
        Column("before_us", "float", "us", "mean tax of the median window before it"),
        Column("after_us", "float", "us", "the same from it on"),
        Column("shift_us", "float", "us", "Hodges-Lehmann shift from before to after"),
        *_interval("shift_us", "it, if the break is there; null where none holds"),
        Column(
            "worse_rank",
            "int",
            "",
            "rank for which the others wait more than before; null: none is told",
        ),
        Column("worse_host", "str", "", "its host"),
        Column("worse_point", "int", "", "first point from which it is worse"),
        Column("worse_window", "str", "", "its window"),
        Column("worse_p", "float", "", f"of the rank with the largest break{_P_MEANING}"),
        Column(
            "worse_before_us",
            "float",
            "us",
            "what the others waited for it before, a collective of its own (mean)",
        ),
        Column("worse_after_us", "float", "us", "the same from then on"),
    ),
)

TREND_CULPRITS = Table(
    "synctax.trend-culprits/1",
    "Which classes owe the tax: one row per group role, operation, window and class.",
    (
        _GROUP,
        _OP,
        _POINT,
        _WINDOW,
        Column("culprit_class", "str", "", "as in `synctax.attribute/1`"),
        Column("share_of_tax", "float", "", "share of the tax of the window"),
    ),
)
