"""The tables of `whatif`."""

from synctax.schema.table import Column, Table

_CHANGE = Column(
    "change",
    "str",
    "",
    "what is different; `all together` where several changes are made at once",
)
_STEP_TIMES = (
    Column("step_replayed_us", "float", "us", "the same, replayed without a change"),
    Column("step_changed_us", "float", "us", "the same, with the change"),
    Column("step_change_us", "float", "us", "changed less replayed; negative: faster"),
    Column("step_change_share", "float", "", "that over the replayed step time"),
)

WHATIF = Table(
    "synctax.whatif/1",
    "What step time and tax would be if durations were different: one row per change.",
    (
        _CHANGE,
        Column("changed", "int", "", "durations that differ, of kernels and host pieces"),
        Column(
            "steps",
            "int",
            "",
            "profiler steps that were asked for; null where none is marked: then step "
            "times are those of the whole window",
        ),
        Column(
            "step_us",
            "float",
            "us",
            "step time, recorded: from the end of the last collective that the step before "
            "launched (of the first step: from the beginning of the window) to that of its "
            "own; without a collective, and for the last step, to the end of its last work "
            "on the GPU; on ranks without GPU work between the host's marks. Mean over "
            "the ranks (of several profiler windows: over each rank's each), then over the "
            "steps",
        ),
        *_STEP_TIMES,
        Column(
            "total_us",
            "float",
            "us",
            "from the first event to the end of the last, whatever steps were asked for; "
            "mean over the ranks (of several profiler windows: over each rank's each), "
            "recorded",
        ),
        Column("total_replayed_us", "float", "us", "the same, replayed without a change"),
        Column("total_changed_us", "float", "us", "the same, with the change"),
        Column("total_change_us", "float", "us", "changed less replayed; negative: faster"),
        Column("total_change_share", "float", "", "that over the replayed total"),
        Column("collectives", "int", "", "collectives that count and are replayed"),
        Column(
            "tax_us_sum",
            "float",
            "us",
            "their tax (max - min duration), recorded; null where none counts",
        ),
        Column("tax_changed_us_sum", "float", "us", "the same, with the change"),
        Column("tax_change_us", "float", "us", "the second less the first"),
        Column("tax_change_share", "float", "", "that over the recorded tax"),
        Column(
            "replay_error_us",
            "float",
            "us",
            "largest error of a start or end in a replay without a change",
        ),
    ),
)

WHATIF_OPS = Table(
    "synctax.whatif-ops/1",
    "What the tax would be: one row per change, group role and operation.",
    (
        _CHANGE,
        Column("group", "str", "", "role of the process group, else its name"),
        Column("op", "str", "", "operation, as torch.distributed names it"),
        Column("collectives", "int", "", "collectives that count and are replayed"),
        Column("tax_us_sum", "float", "us", "tax (max - min duration): sum, recorded"),
        Column("tax_us_median", "float", "us", "tax: median, recorded"),
        Column("tax_changed_us_sum", "float", "us", "tax: sum, with the change"),
        Column("tax_changed_us_median", "float", "us", "tax: median, with the change"),
        Column("tax_change_us", "float", "us", "change of the sum"),
        Column("tax_change_share", "float", "", "that over the recorded sum"),
    ),
)

WHATIF_STEPS = Table(
    "synctax.whatif-steps/1",
    "What each step would take: one row per change and profiler step.",
    (
        _CHANGE,
        Column("step", "int", "", "number of the profiler step; null: the whole window"),
        Column(
            "step_us",
            "float",
            "us",
            "recorded: mean over the ranks (of several profiler windows: over each rank's "
            "each)",
        ),
        *_STEP_TIMES,
    ),
)
