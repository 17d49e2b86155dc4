"""The tables of `bandwidth`."""

from synctax.schema.table import Column, Table

_TOPOLOGY = Column("topology", "str", "", "how ranks are wired, and with it the algorithm")
_OP = Column("op", "str", "", "operation")
_N = Column("n", "int", "", "ranks")
_STEPS = (
    _TOPOLOGY,
    _OP,
    _N,
    Column("p", "float", "", "messages that are sent one after the other"),
    Column("q", "float", "", "buffers of the payload that a rank's link carries"),
    Column("alpha_us", "float", "us", "latency of a message"),
    Column("payload_bytes", "int", "bytes", "S: larger of a rank's input and output"),
)

BANDWIDTH = Table(
    "synctax.bandwidth/1",
    "What bandwidth is worth having: one row per topology, elasticity and number of ranks. "
    "Rates are 10⁹ bytes a second, per GPU and direction.",
    (
        *_STEPS,
        Column("elasticity", "float", "", "ε: relative change of time by bandwidth"),
        Column("tau_us", "float", "us", "τ: predicted mean wait of a rank"),
        Column(
            "gb_per_s",
            "float",
            "gb_per_s",
            "B*: bandwidth at which the time has this elasticity",
        ),
        Column("gb_per_s_lo", "float", "gb_per_s", "B* at the upper end of the tax"),
        Column(
            "gb_per_s_hi",
            "float",
            "gb_per_s",
            "B* at the lower end of the tax; null where the tax has no interval",
        ),
        Column("hockney_gb_per_s", "float", "gb_per_s", "B* without the tax"),
        Column("reduction", "float", "", "1 - B* with over B* without the tax"),
        Column("tau_lo_us", "float", "us", "lower end of the tax; null: no interval"),
        Column("tau_hi_us", "float", "us", "upper end of the tax"),
        Column("nic_us", "float", "us", "time on links between domains; 0 in one domain"),
        Column("link_gb_per_s", "float", "gb_per_s", "today's link; null: none given"),
        Column("link_transfer_us", "float", "us", "q·S/B with today's link"),
        Column("link_time_us", "float", "us", "p·α + q·S/B + τ (+ NIC) with today's link"),
        Column("link_elasticity", "float", "", "elasticity of that time"),
        Column("link_transfer_share", "float", "", "transfer over that time"),
        Column("link_latency_share", "float", "", "p·α (+ NIC) over that time"),
        Column("link_tax_share", "float", "", "τ over that time"),
        Column("link_ratio", "float", "", "today's link over B*; above 1: more than B*"),
        Column("reach", "float", "", "ranks over those of the fit; null without a tax"),
        Column(
            "cost",
            "float",
            "",
            "price of B* for all ranks, in the unit of --price-per-gb-per-s; else null",
        ),
        Column("hockney_cost", "float", "", "the same without the tax"),
    ),
)

BANDWIDTH_FLOPS = Table(
    "synctax.bandwidth-flops/1",
    "How bandwidth should grow with FLOPS, end to end: one row per topology, number of "
    "ranks, growth and reading. Rates are 10⁹ bytes a second, per GPU and direction.",
    (
        *_STEPS,
        Column("compute_us", "float", "us", "a: computation before the collective, today"),
        Column("flops_growth", "float", "", "f: computation becomes a/f"),
        Column("tau_with_flops", "str", "", "whether τ `stays` or `shrinks` to τ/f"),
        Column(
            "grounding",
            "str",
            "",
            "whether the model without τ has its `own` elasticity at today's link, or the "
            "`common` one of the model with τ",
        ),
        Column("asked", "bool", "", "whether this is the reading that was asked for"),
        Column("elasticity", "float", "", "ε at today's link, with τ and a"),
        Column("hockney_elasticity", "float", "", "ε of the model without τ"),
        Column("tau_us", "float", "us", "τ with the grown FLOPS"),
        Column("link_gb_per_s", "float", "gb_per_s", "today's link"),
        Column("gb_per_s", "float", "gb_per_s", "B*: bandwidth that keeps the elasticity"),
        Column("gb_per_s_lo", "float", "gb_per_s", "lower end for the interval of the tax"),
        Column("gb_per_s_hi", "float", "gb_per_s", "upper end; null: no interval"),
        Column("hockney_gb_per_s", "float", "gb_per_s", "B* without the tax"),
        Column("growth", "float", "", "B* over today's link"),
        Column("hockney_growth", "float", "", "the same without the tax"),
        Column("reduction", "float", "", "1 - B* with over B* without the tax"),
    ),
)

BANDWIDTH_RESIDUALS = Table(
    "synctax.bandwidth-residuals/1",
    "What a fit of nccl-tests leaves of each line.",
    (
        _TOPOLOGY,
        Column("file", "str", "", "output of nccl-tests"),
        _OP,
        _N,
        Column("payload_bytes", "int", "bytes", "size"),
        Column("time_us", "float", "us", "measured"),
        Column("fitted_us", "float", "us", "p·α + q·S/B with the fitted α and B"),
        Column("residual", "float", "", "measured over fitted time, less 1"),
    ),
)

BANDWIDTH_ALGORITHMS = Table(
    "synctax.bandwidth-algorithms/1",
    "What each algorithm costs: p·α + q·S/B, for n ranks (d: sides of a torus; m ranks a "
    "domain, k domains).",
    (
        _TOPOLOGY,
        _OP,
        Column("algorithm", "str", "", "what it is called; null where there is none"),
        Column("p", "str", "", "messages that are sent one after the other"),
        Column("q", "str", "", "buffers of the payload that a rank's link carries"),
        Column("source", "str", "", "where this is from"),
        Column("refused", "str", "", "why there is no algorithm"),
    ),
)
