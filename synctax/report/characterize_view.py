"""Profiles, workloads and GPUs for people to read."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from synctax.report.plan_lists_view import amount
from synctax.report.tables import Sentence, column, table
from synctax.texts import is_absent, number, percent, rate_gb_per_s, seconds, size_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = dict[str, Any]

_MOST_ORIGINS = 3
"""Origins that are told below the table; of more the first."""


def profiles(rows: Sequence[Row], *, largest: bool = False) -> "list[RenderableType]":
    """Lay out profiles: times, bytes, and where they are from.

    Parameters
    ----------
    rows : sequence of dict
    largest : bool
        Show of each workload only the job with the most GPUs, and name the others.
    """
    other = sorted({row["gpus"] for row in rows})[:-1] if largest else []
    if other:
        most = max(row["gpus"] for row in rows)
        rows = [row for row in rows if row["gpus"] == most]
    told = {
        "compute_from": "compute time",
        "network_from": "network time",
        "bytes_from": "bytes",
    }
    fields = [
        column(rows, "workload", "workload", str),
        column(rows, "gpus", "GPUs"),
        column(rows, "compute_s", "compute", seconds),
        column(rows, "network_s", "network", seconds),
        column(rows, "network_share", "share", percent, rank=1),
        column(rows, "local_network_s", "on one server", seconds, rank=2),
        column(rows, "sent_bytes", "each sends", size_bytes),
        *(
            column(rows, name, name.removesuffix("_per_gpu"), show, rank=3)
            for name, show in (("batch_per_gpu", number), ("parameters", amount))
            if any(not is_absent(row[name]) for row in rows)
        ),
    ]
    if not all(is_absent(row["tax_s"]) for row in rows):
        fields.insert(4, column(rows, "tax_s", "tax", seconds))
    lines = [
        Sentence(f"{words}: {_few(_origins(rows, name), name)}")
        for name, words in told.items()
    ]
    if other:
        sizes = " and ".join(f"{one:,}" for one in other)
        lines.append(
            Sentence(f"jobs of {sizes} GPUs: --gpus {','.join(map(str, other))}; {_FILES}")
        )
    return [table(fields), "", *lines]


_FILES = "--format csv and json have all"


def _few(origins: Sequence[str], name: str) -> str:
    """Tell where numbers are from; of many the first."""
    if len(origins) <= _MOST_ORIGINS:
        return "; ".join(origins)
    return f"{origins[0]}; {len(origins) - 1:,} others ({name} of --format csv)"


def workloads(rows: Sequence[Row]) -> "list[RenderableType]":
    """Lay out workloads: how large, how much to compute, from where."""
    fields = [
        column(rows, "workload", "workload", str),
        column(rows, "parameters", "parameters", amount),
        column(rows, "gradient_bytes", "gradients", size_bytes),
        column(rows, "flop_per_sample", "GFLOP a sample", _giga),
        column(rows, "elementwise_bytes", "moved a sample", size_bytes, rank=1),
        column(rows, "batch_per_gpu", "batch a GPU"),
        column(rows, "dtype", "dtype", str, rank=2),
        column(rows, "dataset", "dataset", str, rank=2),
        column(rows, "source", "source", str, rank=3),
    ]
    given = [name for name in ("compute_s", "network_s") if any(r[name] for r in rows)]
    fields[3:3] = [column(rows, name, name.removesuffix("_s"), seconds) for name in given]
    return [table(fields)]


def gpus(rows: Sequence[Row]) -> "list[RenderableType]":
    """Lay out kinds of GPUs: peaks in TFLOP/s, memory, links."""
    fields = [
        column(rows, "gpu_type", "GPU", str),
        column(rows, "title", "is", str, rank=1),
        column(rows, "fp32_tflops", "FP32"),
        column(rows, "tf32_tflops", "TF32"),
        column(rows, "fp16_tflops", "FP16"),
        column(rows, "bf16_tflops", "BF16"),
        column(rows, "memory_bytes", "memory", size_bytes),
        column(rows, "memory_gb_per_s", "its rate", rate_gb_per_s),
        column(rows, "link_gb_per_s", "links", rate_gb_per_s),
        column(rows, "source", "source", str, rank=2),
    ]
    return [table(fields), "", Sentence("FP32 to BF16: dense peaks in TFLOP/s")]


def _origins(rows: Sequence[Row], name: str) -> list[str]:
    return list(dict.fromkeys(_texts(rows, name)))


def _texts(rows: Sequence[Row], name: str) -> Iterator[str]:
    return (row[name] for row in rows if row[name])


def _giga(value: float) -> str:
    return number(value / 1e9)
