"""The table of `record`."""

from synctax.schema.table import Column, Table

RECORD = Table(
    "synctax.record/1",
    "What became of each rank of a recorded job.",
    (
        Column("rank", "int", "", "global rank"),
        Column("host", "str", "", "where it ran; null if it never reported"),
        Column(
            "state",
            "str",
            "",
            "`written`; `cut`: the window ended early; `nothing`: no trace was written; "
            "`died`: the process ended without a word; `running`: it has not ended; "
            "`absent`: it never reported, or nothing that can be read",
        ),
        Column("first_step", "int", "", "first step of its trace; null without one"),
        Column("end_step", "int", "", "step after the last of its trace"),
        Column("steps_seen", "int", "", "steps that it is known to have ended"),
        Column("trace", "str", "", "its trace below the folder; null if there is none"),
        Column("delays", "str", "", "the delays that were put in, likewise"),
        Column("reason", "str", "", "why the trace is cut or missing"),
    ),
)
