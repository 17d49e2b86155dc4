"""The table of `overlay`."""

from synctax.schema.table import Column, Table

OVERLAY = Table(
    "synctax.overlay-clocks/1",
    "clocks of the ranks, as `overlay` puts them on one: one row a rank and window",
    (
        Column("rank", "int", "", "global rank; null where nothing tells it"),
        Column("host", "str", "", "host name; null where nothing tells it"),
        Column("window", "str", "", "profiler window; null where there is one"),
        Column(
            "offset_us",
            "float",
            "us",
            "how far its clock is ahead of the reference: times were moved back by it",
        ),
        Column("drift_ppm", "float", "ppm", "by how much its clock runs faster"),
        Column(
            "residual_us",
            "float",
            "us",
            "robust standard deviation of what ends of shared collectives leave of it",
        ),
        Column("collectives", "int", "", "collectives whose ends tell it"),
        Column(
            "linked",
            "str",
            "",
            "`reference`, `rank 3 by tp` (whose ends it was compared with), `same host` or "
            "`same rank` (another window of it), or `none`: left on its own clock",
        ),
        Column("events", "int", "", "events of its trace in the overlay"),
        Column("left_out", "int", "", "events that `--steps` or `--keep` left out"),
    ),
)
