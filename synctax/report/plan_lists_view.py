"""Models and machines that are built in, for people to read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from synctax.report.tables import column, table
from synctax.texts import number, rate_gb_per_s, size_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = dict[str, Any]

_LARGEST = ((1e12, "T"), (1e9, "B"), (1e6, "M"))


def models(rows: Sequence[Row]) -> "list[RenderableType]":
    """Lay out models: how large, how deep, how wide."""
    fields = [
        column(rows, "model", "model", str),
        column(rows, "parameters", "parameters", amount),
        column(rows, "active_parameters", "of a token", amount, rank=1),
        column(rows, "layers", "layers"),
        column(rows, "hidden", "hidden"),
        column(rows, "heads", "heads"),
        column(rows, "kv_heads", "KV", rank=1),
        column(rows, "ffn", "MLP", rank=2),
        column(rows, "experts", "experts", rank=3),
        column(rows, "source", "source", str, rank=4),
    ]
    return [table(fields)]


def hardware(rows: Sequence[Row]) -> "list[RenderableType]":
    """Lay out machines: domain, links, memory, speed."""
    fields = [
        column(rows, "hardware", "hardware", str),
        column(rows, "domain", "domain"),
        column(rows, "gpus_per_host", "a host", rank=1),
        column(rows, "nvlink_gb_per_s", "NVLink", rate_gb_per_s),
        column(rows, "nic_gb_per_s", "NIC", rate_gb_per_s),
        column(rows, "memory_bytes", "memory", size_bytes),
        column(rows, "bf16_tflops", "BF16", lambda value: f"{number(value)} TFLOP/s"),
        column(rows, "source", "source", str, rank=2),
    ]
    return [table(fields)]


def amount(value: float) -> str:
    """Write a number of parameters.

    Examples
    --------
    >>> amount(405e9), amount(15.7e9), amount(1.2e12), amount(900)
    ('405 B', '15.7 B', '1.2 T', '900')
    """
    for factor, letter in _LARGEST:
        if value >= factor:
            return f"{number(value / factor)} {letter}"
    return number(value)
