"""The tables of models and machines that are built in."""

from synctax.schema.table import Column, Table

PLAN_MODELS = Table(
    "synctax.plan-models/1",
    "Models that `plan --model` knows by name.",
    (
        Column("model", "str", "", "name"),
        Column("parameters", "float", "", "P, as stated, else counted"),
        Column("active_parameters", "float", "", "of these, what a token meets"),
        Column("layers", "int", "", "L"),
        Column("hidden", "int", "", "h: width"),
        Column("heads", "int", "", "a: query heads"),
        Column("kv_heads", "int", "", "heads of keys and values"),
        Column("ffn", "int", "", "width of the MLP of dense layers"),
        Column("vocabulary", "int", "", "words"),
        Column("experts", "int", "", "routed experts of a layer; null: none"),
        Column("top_k", "int", "", "of these, what a token visits"),
        Column("source", "str", "", "where this is from"),
    ),
)

PLAN_HARDWARE = Table(
    "synctax.plan-hardware/1",
    "Machines that `plan --hardware` knows by name. Rates are 10⁹ bytes a second, per GPU "
    "and direction.",
    (
        Column("hardware", "str", "", "name"),
        Column("gpu", "str", "", "preset of `bandwidth --hardware`"),
        Column("domain", "int", "", "GPUs that NVLink joins"),
        Column("gpus_per_host", "int", "", "GPUs of one operating system"),
        Column("nvlink_gb_per_s", "float", "gb_per_s", "line rate of a GPU's NVLinks"),
        Column("nic_gb_per_s", "float", "gb_per_s", "line rate of a GPU's NIC"),
        Column("memory_bytes", "float", "bytes", "of a GPU"),
        Column("bf16_tflops", "float", "tflops", "dense BF16 peak"),
        Column("source", "str", "", "where this is from"),
    ),
)
