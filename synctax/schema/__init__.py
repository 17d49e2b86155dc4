"""Every public table: its columns, their types, units and meanings, declared once.

Tables are built here from plain arrays, the reference page is generated from here, and
the rule that a unit stands in a column's name is tested here.
"""

from synctax.schema.attribute import (
    ATTRIBUTE,
    ATTRIBUTE_COLLECTIVES,
    ATTRIBUTE_RANKS,
    ATTRIBUTE_STORY,
)
from synctax.schema.bandwidth import (
    BANDWIDTH,
    BANDWIDTH_ALGORITHMS,
    BANDWIDTH_FLOPS,
    BANDWIDTH_RESIDUALS,
)
from synctax.schema.evt import (
    FIT_EVT,
    FIT_EVT_BLOCKS,
    FIT_EVT_CHECKS,
    FIT_EVT_HOLDOUT,
    FIT_EVT_INSTANCES,
    FIT_EVT_LEVELS,
    FIT_EVT_PDF,
    FIT_EVT_POINTS,
    FIT_EVT_QQ,
    FIT_EVT_SEGMENTS,
)
from synctax.schema.inject import INJECT, INJECT_COLLECTIVES
from synctax.schema.inspect import INSPECT_FILES, INSPECT_GROUPS
from synctax.schema.measure import (
    MEASURE,
    MEASURE_CACHE,
    MEASURE_COLLECTIVES,
    MEASURE_RANKS,
)
from synctax.schema.overlay import OVERLAY
from synctax.schema.record import RECORD
from synctax.schema.table import Column, DType, Rows, Table
from synctax.schema.trend import TREND, TREND_CULPRITS, TREND_TESTS
from synctax.schema.verify import VERIFY, VERIFY_GROUPS
from synctax.schema.whatif import WHATIF, WHATIF_OPS, WHATIF_STEPS

__all__ = [
    "ATTRIBUTE",
    "ATTRIBUTE_COLLECTIVES",
    "ATTRIBUTE_RANKS",
    "ATTRIBUTE_STORY",
    "BANDWIDTH",
    "BANDWIDTH_ALGORITHMS",
    "BANDWIDTH_FLOPS",
    "BANDWIDTH_RESIDUALS",
    "FIT_EVT",
    "FIT_EVT_BLOCKS",
    "FIT_EVT_CHECKS",
    "FIT_EVT_HOLDOUT",
    "FIT_EVT_INSTANCES",
    "FIT_EVT_LEVELS",
    "FIT_EVT_PDF",
    "FIT_EVT_POINTS",
    "FIT_EVT_QQ",
    "FIT_EVT_SEGMENTS",
    "INJECT",
    "INJECT_COLLECTIVES",
    "INSPECT_FILES",
    "INSPECT_GROUPS",
    "MEASURE",
    "MEASURE_CACHE",
    "MEASURE_COLLECTIVES",
    "MEASURE_RANKS",
    "OVERLAY",
    "RECORD",
    "TREND",
    "TREND_CULPRITS",
    "TREND_TESTS",
    "VERIFY",
    "VERIFY_GROUPS",
    "WHATIF",
    "WHATIF_OPS",
    "WHATIF_STEPS",
    "Column",
    "DType",
    "Rows",
    "Table",
]
