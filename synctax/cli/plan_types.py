"""Texts that `plan` takes: shares of communication, chunks, what state is sharded over."""

import re
from typing import Any, Literal

import click

from synctax.cli.bandwidth_types import Within
from synctax.cli.options import Finite

EXPOSABLE = ("tp", "pp", "cp", "ep", "dp")
"""Dimensions whose communication computation may hide."""

MOST_CHUNKS = 1024
"""A pipeline rank holds no more chunks of layers."""

SHARE = Within(1e-6, 1)
RATE_GB_PER_S = Within(1e-6, 1e9)
MEMORY_GB = Within(1e-6, 1e9)
RESERVE_GB = Within(1e-6, 1e9, or_0=True)
RATE_TFLOPS = Within(1e-6, 1e9)
BLOCK_US = Within(1e-3, 1e12)


class Count(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A whole number from 1 up: `1024`, and `1,024` or `1_024` as people write it.

    Parameters
    ----------
    most : int
    """

    name = "count"

    def __init__(self, most: int) -> None:
        self._most = most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Parse the text."""
        text = str(value).strip()
        if not _COUNT.fullmatch(text):
            self.fail(
                f"{text[:40]!r} is no whole number; give it as 1024 or 1,024", param, ctx
            )
        digits = text.replace(",", "").replace("_", "")
        # by length first: Python does not parse thousands of digits
        if len(digits) > _MOST_DIGITS or not 1 <= int(digits) <= self._most:
            self.fail(
                f"{text[:40]} is not in the range from 1 to {self._most:,}", param, ctx
            )
        return int(digits)


_COUNT = re.compile(r"-?[0-9]+|[0-9]{1,3}([,_][0-9]{3})+")
_MOST_DIGITS = 20

_SHARD_OVER: dict[str, Literal["d", "d*c"]] = {
    "d": "d", "dp": "d", "d*c": "d*c", "dp*cp": "d*c", "dp-cp": "d*c", "dc": "d*c",
}  # fmt: skip


class Exposures(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Shares of communication that nothing hides: `tp=1,dp=0.2`."""

    name = "exposures"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, float]:
        """Parse the text into shares by dimension."""
        found: dict[str, float] = {}
        for part in str(value).split(","):
            name, equals, text = (one.strip() for one in part.partition("="))
            name = name.lower()
            if name not in EXPOSABLE or not equals:
                self.fail(
                    f"{part.strip()!r} is no share like dp=0.2; dimensions are "
                    f"{', '.join(EXPOSABLE)}",
                    param,
                    ctx,
                )
            if name in found:
                self.fail(f"{name} is given twice", param, ctx)
            share = Finite().convert(text, param, ctx)
            if not 0 <= share <= 1:
                self.fail(f"{name}={text}: give a share from 0 to 1", param, ctx)
            found[name] = share
        return found


class Degrees(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Degrees that a layout must have: `cp1`, or `tp8,ep16`."""

    name = "degrees"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, int]:
        """Parse the text into degrees by dimension."""
        from synctax.errors import SynctaxError
        from synctax.planning.layout import parse_degrees

        try:
            found = parse_degrees(str(value))
        except SynctaxError as error:
            self.fail(str(error), param, ctx)
        if "v" in found:
            self.fail("v is chosen with --virtual-stages", param, ctx)
        return found


def merged(wanted: tuple[dict[str, int], ...]) -> dict[str, int]:
    """Put the degrees of several options together.

    Raises
    ------
    UsageError
        If two of them tell one degree.
    """
    found: dict[str, int] = {}
    for degrees in wanted:
        for name, degree in degrees.items():
            before = found.setdefault(name, degree)
            if before != degree:
                raise click.UsageError(f"--only has {name}{before} and {name}{degree}")
    return found


class Chunks(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Numbers of chunks that a pipeline rank holds: `2`, or `1,2,4`."""

    name = "chunks"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text into numbers, each once, ascending."""
        found = set()
        for part in str(value).split(","):
            text = part.strip()
            if not text.isascii() or not text.isdigit():
                self.fail(f"{text!r} is no number of chunks; give 2, or 1,2,4", param, ctx)
            # by length first: Python does not parse thousands of digits
            if len(text) > len(str(MOST_CHUNKS)) or not 1 <= int(text) <= MOST_CHUNKS:
                self.fail(f"{text[:20]}: give from 1 to {MOST_CHUNKS:,}", param, ctx)
            found.add(int(text))
        return tuple(sorted(found))


class ShardedOver(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Ranks that model state is sharded over: `dp`, or `dp-cp`; also `d` and `d*c`."""

    name = "ranks"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Literal["d", "d*c"]:
        """Parse either spelling."""
        found = _SHARD_OVER.get(str(value).strip().lower().replace("·", "*"))
        if found is None:
            self.fail(f"{value!r} is none of dp, dp-cp", param, ctx)
        return found
