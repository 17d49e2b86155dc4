"""The table of `convert`."""

from synctax.schema.jobs import JOB_COLUMNS
from synctax.schema.table import Column, Table

CONVERT = Table(
    "synctax.convert/1",
    "Jobs of another system's trace, in order of submission: one row per job. As CSV it "
    "has the columns that some job has.",
    (
        *JOB_COLUMNS,
        Column("model", "str", "", "what the trace calls the model that is trained"),
    ),
)
