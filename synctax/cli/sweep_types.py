"""Lists that `sweep` takes: names, rates, seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from synctax.cli.options import MAX_NUMBER
from synctax.cli.plan_types import RATE_GB_PER_S

MOST_SEEDS = 10_000
"""More in one list is a slip of the keyboard."""


class Names(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Names that are separated by commas, each once.

    Parameters
    ----------
    allowed : sequence of str
        In any case; any name where empty.
    aliases : mapping of str to str
        Other names of some, which are brought to the first.
    """

    name = "names"

    def __init__(
        self, allowed: Sequence[str] = (), aliases: Mapping[str, str] | None = None
    ) -> None:
        self._allowed = tuple(allowed)
        self._aliases = aliases or {}

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Parse the text."""
        parts = [part.strip() for part in str(value).split(",")]
        if not all(parts):
            self.fail(f"{value!r} is no list of names like a,b", param, ctx)
        if self._allowed:
            parts = [part.lower() for part in parts]
        unknown = [part for part in parts if self._allowed and part not in self._allowed]
        if unknown:
            known = ", ".join(self._allowed)
            self.fail(f"{unknown[0]!r} is none of {known}", param, ctx)
        found: dict[str, str] = {}
        for part in parts:
            first = self._aliases.get(part, part)
            if first in found:
                other = "there twice" if part == found[first] else f"also {found[first]}"
                self.fail(f"{part} is {other}; name it once", param, ctx)
            found[first] = part
        return tuple(found)


class Rates(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Rates in GB/s that are separated by commas, each once."""

    name = "rates"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Parse the text."""
        parts = str(value).split(",")
        found: list[float] = []
        for part in parts:
            rate = float(RATE_GB_PER_S.convert(part.strip(), param, ctx))
            if rate in found:
                self.fail(f"{part.strip()} is there twice; name it once", param, ctx)
            found.append(rate)
        return tuple(found)


class Seeds(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Seeds such as `3`, `0,5,7`, or `0:10` as Python slices: 10 is not among them."""

    name = "seeds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text; in the order given."""
        seeds: dict[int, None] = {}
        for part in str(value).split(","):
            first, colon, last = (text.strip() for text in part.partition(":"))
            low = self._seed(first, value, param, ctx)
            high = self._seed(last, value, param, ctx) if colon else low + 1
            if high <= low:
                self.fail(
                    f"{part.strip()!r} holds no seed: the end is not included", param, ctx
                )
            if high - low + len(seeds) > MOST_SEEDS:
                self.fail(f"{value!r} is more than {MOST_SEEDS:,} seeds", param, ctx)
            twice = next((seed for seed in range(low, high) if seed in seeds), None)
            if twice is not None:
                self.fail(f"seed {twice} is there twice; name it once", param, ctx)
            seeds |= dict.fromkeys(range(low, high))
        return tuple(seeds)

    def _seed(
        self,
        text: str,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        if not (text.isascii() and text.isdigit()):
            self.fail(f"{value!r} is no list of seeds like 0:10 or 0,5,7", param, ctx)
        # by length first: Python does not parse thousands of digits
        if len(text) > len(str(MAX_NUMBER)) or int(text) > MAX_NUMBER:
            self.fail(f"{text[:20]} is above {MAX_NUMBER:,}", param, ctx)
        return int(text)
