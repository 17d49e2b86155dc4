"""Texts that `characterize` takes: numbers of GPUs, rates, shares."""

import re
from typing import Any, Final

import click

from synctax.cli.bandwidth_types import Within
from synctax.cli.options import MAX_RANKS

EFFICIENCIES: Final = Within(1e-6, 10)
"""Above 1 where fewer operations than counted give the same: Winograd's convolutions."""

MEMORY_EFFICIENCIES: Final = Within(1e-6, 1)

_NUMBER: Final = re.compile(r"-?[0-9]+")
_MOST_DIGITS: Final = 20


class Gpus(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Numbers of GPUs: `8`, `2,4,8`, or by doubling from one to another, `2:16`.

    Both ends of a range belong to it, whether or not doubling meets the second.
    """

    name = "gpus"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text; ascending, each number once."""
        found: set[int] = set()
        for part in str(value).split(","):
            first, colon, last = (text.strip() for text in part.partition(":"))
            low = self._count(first, param, ctx)
            high = self._count(last, param, ctx) if colon else low
            if high < low:
                self.fail(f"{part.strip()[:40]!r} runs backwards", param, ctx)
            found.add(high)
            while low < high:
                found.add(low)
                low *= 2
        return tuple(sorted(found))

    def _count(
        self, text: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        shown = text[:40]
        if not _NUMBER.fullmatch(text):
            self.fail(
                f"{shown!r} is no whole number; give 8, 2,4,8, or 2:16 by doubling",
                param,
                ctx,
            )
        # by length first: Python does not parse thousands of digits
        if len(text) > _MOST_DIGITS or not 1 <= int(text) <= MAX_RANKS:
            said = f"{shown} is not in the range from 1 to {MAX_RANKS:,}"
            self.fail(said, param, ctx)
        if text.startswith("0"):
            # 1,024 would be 1 and 24
            said = f"{shown!r} begins with 0: numbers are 1024, not 1,024"
            self.fail(said, param, ctx)
        return int(text)
