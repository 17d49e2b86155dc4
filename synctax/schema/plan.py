"""The tables of `plan`."""

from synctax.schema.table import Column, Table

_DEGREES = (
    Column("layout", "str", "", "as `--layout` reads it"),
    Column("tp", "int", "", "t: ranks of tensor parallelism"),
    Column("pp", "int", "", "p: stages of the pipeline"),
    Column("dp", "int", "", "d: ranks of data parallelism"),
    Column("cp", "int", "", "c: ranks of context parallelism"),
    Column("ep", "int", "", "e: ranks of expert parallelism, taken from the others"),
    Column("virtual_stages", "int", "", "v: chunks of layers that a pipeline rank holds"),
)

PLAN = Table(
    "synctax.plan/1",
    "What layouts cost, of a GPU and step: one row per layout, eliminated ones too.",
    (
        *_DEGREES,
        Column("microbatches", "float", "", "m = B/(b·d); a fraction: it cannot run"),
        Column("tp_bytes", "float", "bytes", "sent for TP (and sequence parallelism)"),
        Column("pp_bytes", "float", "bytes", "sent for PP, by a stage between others"),
        Column("dp_bytes", "float", "bytes", "sent for DP: gradients and parameters"),
        Column("cp_bytes", "float", "bytes", "sent for CP: keys and values"),
        Column("ep_bytes", "float", "bytes", "sent for EP: tokens, to experts and back"),
        Column("barriers", "float", "", "times that ranks of the innermost group meet"),
        Column("bubble", "float", "", "(p-1)/(v·m): idle over ideal time"),
        Column("state_bytes", "float", "bytes", "parameters, gradients and optimizer"),
        Column("activation_bytes", "float", "bytes", "of microbatches in flight, stage 1"),
        Column("memory_bytes", "float", "bytes", "state and activations"),
        Column("nvlink_s", "float", "s", "time of what is sent over NVLink"),
        Column("nic_s", "float", "s", "time of what is sent over the NIC"),
        Column("compute_s", "float", "s", "computation, what is computed again included"),
        Column("tax_s", "float", "s", "waiting at barriers for the last rank"),
        Column(
            "step_s",
            "float",
            "s",
            "compute_s · imbalance · (1 + bubble) + exposed_s + tax_s",
        ),
        Column("fits", "bool", "", "whether memory_bytes are there"),
        Column(
            "eliminated_because",
            "str",
            "",
            "every rule that it breaks, with the number that breaks it; null: feasible",
        ),
        Column("feasible_rank", "int", "", "by step_s among feasible ones; 1 is fastest"),
        Column(
            "pareto",
            "bool",
            "",
            "whether no feasible one is better in step_s, memory_bytes and nic_share",
        ),
        Column(
            "within_error",
            "bool",
            "",
            "whether it is feasible, and its step_s within 3 % of the fastest one's",
        ),
        Column("would_fit", "str", "", "what would keep the rules that it breaks"),
        Column("warnings", "str", "", "what it brings with it and can run with; else null"),
        Column("order", "str", "", "of ranks, innermost dimension first"),
        Column("tp_link", "str", "", "`nvlink` or `nic`; null: one rank"),
        Column("pp_link", "str", "", "link of PP"),
        Column("dp_link", "str", "", "link of DP"),
        Column("cp_link", "str", "", "link of CP"),
        Column("ep_link", "str", "", "link of EP"),
        Column("stage_layers", "str", "", "layers of each stage (chunk, where v > 1)"),
        Column(
            "imbalance", "float", "", "what the fullest stage computes over the average"
        ),
        Column("memory_lo_bytes", "float", "bytes", "by the smallest count of activations"),
        Column(
            "memory_hi_bytes",
            "float",
            "bytes",
            "by the largest one, of the fullest stage, with embedding and logits",
        ),
        Column("recomputed_layers", "float", "", "of a stage, computed again in full"),
        Column("exposed_s", "float", "s", "communication that no computation hides"),
        Column("nic_share", "float", "", "nic_s over step_s"),
        Column("barrier_group", "str", "", "whose ranks meet: tp, ep, cp, dp or none"),
        Column("barrier_n", "int", "", "ranks that meet at a barrier"),
        Column("tax_lo_s", "float", "s", "lower end of tax_s; null: no interval"),
        Column("tax_hi_s", "float", "s", "upper end of tax_s"),
        Column("tax_reach", "float", "", "barrier_n over the ranks of the tax's fit"),
        Column("step_mfu", "float", "", "share of the BF16 peak over the whole step"),
    ),
)

PLAN_COMPARE = Table(
    "synctax.plan-compare/1",
    "Two layouts beside each other: one row per quantity.",
    (
        Column("quantity", "str", "", "a column of `plan`"),
        Column("unit", "str", "", "of it; null for names, counts and shares"),
        Column("a", "float", "", "of the first layout; null where it is no number"),
        Column("b", "float", "", "of the second"),
        Column("difference", "float", "", "b - a"),
        Column("ratio", "float", "", "b / a; null where a is 0"),
        Column("a_text", "str", "", "of the first layout, in words"),
        Column("b_text", "str", "", "of the second"),
        Column("differs", "bool", "", "whether the two are not the same"),
        Column("of_step_s", "float", "s", "what of the difference of step_s it makes"),
    ),
)

PLAN_EXPLAIN = Table(
    "synctax.plan-explain/1",
    "One layout, number by number: one row per formula, place, and rule.",
    (
        Column(
            "section",
            "str",
            "",
            "`layout`, `placement`, `volumes`, `memory`, `times`, `tax`, `rules`, "
            "`warnings` or `remedies`",
        ),
        Column(
            "quantity", "str", "", "what the row tells; a column of `plan` where it is one"
        ),
        Column("value", "float", "", "in the unit beside it; null where it is words"),
        Column("unit", "str", "", "of the value; null for counts and shares"),
        Column("formula", "str", "", "how it is computed"),
        Column("filled", "str", "", "the formula with the numbers of this layout"),
        Column("verdict", "str", "", "of a rule: `kept`, `broken` or `warns`; else null"),
        Column("words", "str", "", "the same for people"),
    ),
)
