"""The tables of `fit-evt`."""

from synctax.schema.table import Column, Table

_N = Column("n", "int", "", "ranks of the group")
_GROUP = Column("group", "str", "", "role of the process group; null where it is unknown")
_GPU = Column("gpu", "str", "", "GPU model; null where the trace does not say")
_DTYPE = Column("dtype", "str", "", "type of the GEMMs' operands, from their names")
_PHASE = Column("phase", "str", "", "`forward` or `backward`; null where it is unknown")
_A = Column("a_us", "float", "us", "mean block time over ranks and instances")
_B = Column("b_us", "float", "us", "standard deviation of block times over both")
_TAX_MEAN = Column(
    "tax_mean_us",
    "float",
    "us",
    "mean wait of a rank, measured at the collectives that end the blocks, as in "
    "`measure`; null where that is not known",
)
_BY_BLOCKS = (
    "mean wait of a rank by block times alone: mean over instances of largest less mean"
)

FIT_EVT = Table(
    "synctax.fit-evt/1",
    "How the wait grows: the mean wait of a rank, the last one included, one row per "
    "number of ranks.",
    (
        _N,
        Column("tau_us", "float", "us", "predicted by the Gumbel law (the paper's fit)"),
        Column("tau_lo_us", "float", "us", "lower end of its interval"),
        Column("tau_hi_us", "float", "us", "upper end of its interval"),
        Column("tau_gev_us", "float", "us", "predicted by the GEV law with free shape"),
        Column("tau_gev_lo_us", "float", "us", "lower end of its interval"),
        Column("tau_gev_hi_us", "float", "us", "upper end of its interval"),
        Column(
            "measured_us",
            "float",
            "us",
            f"{_BY_BLOCKS}, over all subsets of n ranks; null beyond the largest group",
        ),
        Column("tau_lmoments_us", "float", "us", "predicted by a Gumbel law by L-moments"),
        Column(
            "tau_deviations_us",
            "float",
            "us",
            "predicted from deviations of ranks from the mean of their instance, with a "
            "generalized Pareto tail",
        ),
        Column("tau_deviations_lo_us", "float", "us", "lower end of its interval"),
        Column("tau_deviations_hi_us", "float", "us", "upper end of its interval"),
        _TAX_MEAN,
        Column("reach", "float", "", "n over the ranks of the fit"),
    ),
)

FIT_EVT_BLOCKS = Table(
    "synctax.fit-evt-blocks/1",
    "What was fitted: one row per compute block, a distinct sequence of kernels between "
    "two collectives.",
    (
        Column("block", "str", "", "name of the block within its source"),
        Column("source", "str", "", "set of traces, or file, that it is from"),
        _GROUP,
        Column("op", "str", "", "operation of the collective that ends it"),
        _GPU,
        _DTYPE,
        _PHASE,
        Column("kernels", "int", "", "kernels that it has"),
        Column("gemm", "str", "", "GEMM that takes most of its time"),
        Column("instances", "int", "", "how often it was seen"),
        _N,
        _A,
        _B,
        Column("r", "float", "", "b over a"),
        Column("z_max", "float", "", "largest standardised maximum"),
        Column("tau_us", "float", "us", "mean wait that the pooled Gumbel law predicts"),
        Column("measured_us", "float", "us", _BY_BLOCKS),
        _TAX_MEAN,
    ),
)

FIT_EVT_SEGMENTS = Table(
    "synctax.fit-evt-segments/1",
    "Prediction beside measurement: one row per kind of block, and the first for all.",
    (
        Column("group", "str", "", "role of the process group; `all`: every block"),
        _GPU,
        _DTYPE,
        _PHASE,
        Column("n", "int", "", "ranks of the group; null where they differ"),
        Column("blocks", "int", "", "compute blocks"),
        Column("instances", "int", "", "instances of these"),
        _A,
        _B,
        Column(
            "tau_us",
            "float",
            "us",
            "mean wait that the Gumbel law, pooled over all segments, predicts for n",
        ),
        _TAX_MEAN,
        Column("ratio", "float", "", "`tau_us` over `tax_mean_us`"),
        Column("ratio_lo", "float", "", "lower end of its interval, by resampling"),
        Column("ratio_hi", "float", "", "upper end of its interval, by resampling"),
        Column("measured_us", "float", "us", _BY_BLOCKS),
        Column("blocks_ratio", "float", "", "`tau_us` over `measured_us`"),
        Column("blocks_ratio_lo", "float", "", "lower end of its interval"),
        Column("blocks_ratio_hi", "float", "", "upper end of its interval"),
        Column("max_us_median", "float", "us", "block maxima over the ranks of the fit"),
        Column("max_us_p99", "float", "us", "their 99th percentile"),
        Column("z_p99", "float", "", "the same of the standardised maxima"),
    ),
)

FIT_EVT_INSTANCES = Table(
    "synctax.fit-evt-instances/1",
    "What was fitted, in full: one row per instance of a block and rank. As CSV, "
    "`fit-evt --block-times` reads it back.",
    (
        Column("block", "str", "", "name of the block; of several sets, with their number"),
        Column("instance", "int", "", "number of the instance within block and series"),
        Column("rank", "int", "", "rank"),
        Column("us", "float", "us", "critical-path compute time of the block on it"),
        Column("series", "int", "", "one group of ranks in order of time"),
        _GROUP,
        Column("op", "str", "", "operation of the collective that ends it"),
        _GPU,
        _DTYPE,
        _PHASE,
        Column(
            "measured_us",
            "float",
            "us",
            "mean wait measured at the collective that ends it; null where unknown",
        ),
    ),
)

FIT_EVT_HOLDOUT = Table(
    "synctax.fit-evt-holdout/1",
    "How far each predictor misses what was measured but not fitted.",
    (
        Column(
            "kind",
            "str",
            "",
            "`ranks`: fitted to smaller groups of the same ranks; `time`: to the first "
            "half of the time",
        ),
        Column("method", "str", "", "predictor: gumbel, gev, lmoments or deviations"),
        Column("n_fit", "int", "", "ranks of the groups that were fitted"),
        Column("n", "int", "", "ranks of the groups that were predicted"),
        Column("predicted_us", "float", "us", "mean wait of a rank, predicted"),
        Column("measured_us", "float", "us", "the same, measured by block times"),
        Column("error", "float", "", "predicted over measured, less 1"),
        Column("error_lo", "float", "", "lower end of its interval, by resampling"),
        Column("error_hi", "float", "", "upper end of its interval, by resampling"),
    ),
)

FIT_EVT_CHECKS = Table(
    "synctax.fit-evt-checks/1",
    "What the fit assumes, and how far the data are from it: one row per check.",
    (
        Column("check", "str", "", "what is checked"),
        Column("effect", "float", "", "size of what was found, in `unit`"),
        Column("threshold", "float", "", "size at which it begins to matter"),
        Column("unit", "str", "", "what both are told in"),
        Column(
            "direction",
            "str",
            "",
            "which sizes matter: those `above` the threshold, `below` it, or on `both` "
            "sides of 0, by as much",
        ),
        Column("p", "float", "", "of the test beside it; null where there is none"),
        Column("fired", "bool", "", "whether it matters here"),
        Column("message", "str", "", "what it means"),
    ),
)

FIT_EVT_PDF = Table(
    "synctax.fit-evt-pdf/1",
    "How the standardised maxima are distributed, and the laws: one row per bin.",
    (
        Column("z", "float", "", "middle of the bin"),
        Column("z_lo", "float", "", "lower end of the bin"),
        Column("z_hi", "float", "", "upper end of the bin"),
        Column("count", "int", "", "maxima in it"),
        Column("density", "float", "", "share of all maxima over the width of the bin"),
        Column("gumbel_density", "float", "", "density of the Gumbel law at z"),
        Column("gev_density", "float", "", "density of the GEV law at z"),
    ),
)

_INTERVAL = "of its profile-likelihood interval; null at the periods of maxima"

FIT_EVT_QQ = Table(
    "synctax.fit-evt-qq/1",
    "Quantiles of the standardised maxima beside those of the laws: one row per maximum.",
    (
        Column("probability", "float", "", "plotting position of the maximum"),
        Column("z", "float", "", "standardised block maximum"),
        Column("gumbel_z", "float", "", "quantile of the Gumbel law there"),
        Column("gumbel_lo_z", "float", "", "lower end of the band of such a maximum"),
        Column("gumbel_hi_z", "float", "", "upper end of the band"),
        Column("gev_z", "float", "", "quantile of the GEV law there"),
        Column("gev_lo_z", "float", "", "lower end of the band of such a maximum"),
        Column("gev_hi_z", "float", "", "upper end of the band"),
    ),
)

FIT_EVT_LEVELS = Table(
    "synctax.fit-evt-return-level/1",
    "What one instance in so many exceeds: one row per maximum, and per round period.",
    (
        Column("period", "float", "", "instances, of which one exceeds the level"),
        Column("z", "float", "", "level seen in the data; null at round periods"),
        Column("gumbel_z", "float", "", "level of the Gumbel law"),
        Column("gumbel_lo_z", "float", "", f"lower end {_INTERVAL}"),
        Column("gumbel_hi_z", "float", "", f"upper end {_INTERVAL}"),
        Column("gev_z", "float", "", "level of the GEV law"),
        Column("gev_lo_z", "float", "", f"lower end {_INTERVAL}"),
        Column("gev_hi_z", "float", "", f"upper end {_INTERVAL}"),
        Column("gumbel_us", "float", "us", "slowest block time of the mean block: a + b·z"),
        Column("gev_us", "float", "us", "the same by the GEV law"),
    ),
)

FIT_EVT_POINTS: dict[str, Table] = {
    "qq": FIT_EVT_QQ,
    "pdf": FIT_EVT_PDF,
    "return-level": FIT_EVT_LEVELS,
}
"""The table of each kind of diagnostic plot, in the order in which plots are shown."""
