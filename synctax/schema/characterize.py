"""The tables of `characterize`: profiles, workloads and GPUs."""

from synctax.schema.jobs import JOB_COLUMNS
from synctax.schema.table import Column, Table

_OF_JOBS = {one.name: one for one in JOB_COLUMNS}

CHARACTERIZE = Table(
    "synctax.characterize/1",
    "What an iteration of a job takes that is alone: one row per workload and number of "
    "GPUs. Columns up to `local_network_s` are those of the CSV of jobs.",
    (
        Column("workload", "str", "", "what is trained"),
        Column("gpus", "int", "", "workers"),
        _OF_JOBS["compute_s"],
        _OF_JOBS["network_s"],
        _OF_JOBS["network_bytes"],
        Column("counting", "str", "", "what network_bytes counts: sent"),
        _OF_JOBS["barriers"],
        _OF_JOBS["local_network_s"],
        Column("tax_s", "float", "s", "waiting at barriers, where it was measured"),
        Column("iteration_s", "float", "s", "compute_s + network_s, and tax_s if known"),
        Column("network_share", "float", "", "network_s over iteration_s"),
        Column(
            "sent_bytes",
            "float",
            "bytes",
            "network_bytes over gpus: what goes out through the NIC of each server",
        ),
        Column(
            "nic_gb_per_s",
            "float",
            "gb_per_s",
            "sent_bytes over network_s: the rate while it sends; null where computation "
            "may hide a part, which network_s leaves out",
        ),
        Column("gpu_type", "str", "", "what computes; null where it is not known"),
        Column("dtype", "str", "", "of matrix products"),
        Column("dataset", "str", "", "or tokens of a sample"),
        Column("batch_per_gpu", "int", "", "samples of a GPU in an iteration"),
        Column("parameters", "float", "", "that are trained"),
        Column("gradient_bytes", "float", "bytes", "that an iteration reduces"),
        Column("flop_per_gpu", "float", "", "operations of a GPU in an iteration"),
        Column("compute_from", "str", "", "where compute_s is from"),
        Column("network_from", "str", "", "where network_s is from"),
        Column("bytes_from", "str", "", "where network_bytes is from"),
    ),
)

CHARACTERIZE_WORKLOADS = Table(
    "synctax.characterize-workloads/1",
    "Workloads that jobs are drawn from, and that `characterize --workload` knows.",
    (
        Column("workload", "str", "", "name"),
        Column("dataset", "str", "", "what it is trained on"),
        Column("batch_per_gpu", "int", "", "samples of a GPU in an iteration"),
        Column("parameters", "float", "", "that are trained"),
        Column("gradient_bytes", "float", "bytes", "that an iteration reduces"),
        Column("flop_per_sample", "float", "", "matrix products, forward and backward"),
        Column(
            "elementwise_bytes",
            "float",
            "bytes",
            "of a sample, that all other operations read and write; 0: not counted",
        ),
        Column("dtype", "str", "", "of matrix products"),
        Column("compute_s", "float", "s", "of an iteration, where it is given"),
        Column("network_s", "float", "s", "of an iteration, where it is given"),
        Column("source", "str", "", "where this is from"),
    ),
)

CHARACTERIZE_GPUS = Table(
    "synctax.characterize-gpus/1",
    "Kinds of GPUs that `characterize --gpu-type` and cluster files know. Peaks are dense, "
    "10¹² operations a second; rates 10⁹ bytes a second.",
    (
        Column("gpu_type", "str", "", "name"),
        Column("title", "str", "", "in full"),
        Column("fp32_tflops", "float", "tflops", "of units for FP32"),
        Column("tf32_tflops", "float", "tflops", "with TF32; null: no units for it"),
        Column("fp16_tflops", "float", "tflops", "with FP16; null: no units for it"),
        Column("bf16_tflops", "float", "tflops", "with BF16; null: no units for it"),
        Column("tensor_cores", "str", "", "which of these are of tensor or matrix cores"),
        Column("memory_bytes", "float", "bytes", "of its memory"),
        Column("memory_gb_per_s", "float", "gb_per_s", "of its memory"),
        Column(
            "link_gb_per_s",
            "float",
            "gb_per_s",
            "NVLink or Infinity Fabric, per direction; null: PCIe",
        ),
        Column("source", "str", "", "where this is from"),
    ),
)
