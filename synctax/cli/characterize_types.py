"""Texts that `characterize` takes: numbers of GPUs, rates, shares."""

from typing import Any, Final

import click

from synctax.cli.bandwidth_types import Within
from synctax.cli.options import MAX_RANKS
from synctax.cli.plan_types import Count

EFFICIENCIES: Final = Within(1e-6, 10)
"""Above 1 where fewer operations than counted give the same: Winograd's convolutions."""

MEMORY_EFFICIENCIES: Final = Within(1e-6, 1)

_COUNT = Count(MAX_RANKS)


class Gpus(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Numbers of GPUs: `8` or `2,4,8`."""

    name = "gpus"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text; ascending, each number once."""
        each = (_COUNT.convert(one, param, ctx) for one in str(value).split(","))
        return tuple(sorted(set(each)))
