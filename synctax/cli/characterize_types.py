"""Shares that `characterize` takes."""

from typing import Final

from synctax.cli.bandwidth_types import Within

EFFICIENCIES: Final = Within(1e-6, 10)
"""Above 1 where fewer operations than counted give the same: Winograd's convolutions."""

MEMORY_EFFICIENCIES: Final = Within(1e-6, 1)
