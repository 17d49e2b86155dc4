"""Texts that `bandwidth` takes: amounts with their units, lists, ratios."""

import math
import re
from decimal import Decimal
from typing import Any

import click

from synctax.bandwidth.choices import TOPOLOGIES
from synctax.cli.options import Finite
from synctax.errors import SynctaxError

MAX_RANKS = 2**31 - 1
"""No group has more ranks."""

MAX_BYTES = 2**60
"""No payload is larger."""

LEAST_ELASTICITY = 1e-6
"""Nearer to 0 or -1 than this no bandwidth is told from none, or from any."""

MAX_GROWTH = 1e6
"""FLOPS grow, or shrink, by no larger factor."""

_BYTES = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40,
}  # fmt: skip


class Bytes(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """An amount such as `268435456`, `256MiB` (2^20) or `268MB` (10^6)."""

    name = "bytes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Parse the text into bytes."""
        match = re.fullmatch(
            r"([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(?:([A-Za-z]*)([Bb]))?", str(value).strip()
        )
        if match is None or (match[2] or "").lower() not in _BYTES:
            self.fail(
                f"{value!r} is no amount like 268435456, 256MiB (2^20) or 268MB (10^6)",
                param,
                ctx,
            )
        if match[3] == "b":
            self.fail(
                f"{value!r}: b are bits; give bytes, as in {match[1]}{match[2]}B",
                param,
                ctx,
            )
        found = round(Decimal(match[1]) * _BYTES[(match[2] or "").lower()])
        if found < 1:
            self.fail(f"{value!r}: give from 1 byte up", param, ctx)
        if found > MAX_BYTES:
            self.fail(f"{value!r}: give up to 2^60 bytes (1048576TiB)", param, ctx)
        return found


class ByteRange(Bytes):
    """Amounts from `A:B`; either may be left out."""

    name = "byte range"

    def convert(  # type: ignore[override]
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, float]:
        """Parse the text into both ends, which belong to it."""
        low, colon, high = (text.strip() for text in str(value).partition(":"))
        if not colon or not (low or high):
            self.fail(f"{value!r} is no range like 1MiB:4GiB, 1MiB: or :4GiB", param, ctx)
        first = super().convert(low, param, ctx) if low else 0
        last = super().convert(high, param, ctx) if high else math.inf
        if last < first:
            self.fail(f"{value!r} runs backwards", param, ctx)
        return float(first), float(last)


class Within(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A number from `least` to `most`: beyond them nothing is, and numbers overflow.

    Parameters
    ----------
    least, most : float
        Both above 0.
    or_0 : bool
        Whether 0 is taken too.
    """

    name = "float"

    def __init__(self, least: float, most: float, *, or_0: bool = False) -> None:
        self.least, self.most, self.or_0 = least, most, or_0

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the text into a number."""
        found = Finite().convert(value, param, ctx)
        if found < 0 or (found == 0 and not self.or_0):
            self.fail(f"{value} is not {'0 or ' * self.or_0}above 0", param, ctx)
        if found and not self.least <= found <= self.most:
            or_0 = ", or 0" if self.or_0 else ""
            said = f"{value}: give from {self.least:g} to {self.most:g}{or_0}"
            self.fail(said, param, ctx)
        return found


LATENCY_US = Within(1e-6, 1e9, or_0=True)
RATE_GB_PER_S = Within(1e-6, 1e9)
COMPUTE_US = Within(1e-3, 1e12)
PRICE = Within(1e-9, 1e12)


class Elasticities(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Numbers between -1 and 0: `-0.5,-0.1`."""

    name = "elasticities"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Parse the text into numbers, each once, in their order."""
        from synctax.bandwidth.elasticity import check_elasticity

        found = [
            Finite().convert(part.strip(), param, ctx) for part in str(value).split(",")
        ]
        for one in found:
            if -1 < one < 0 and not LEAST_ELASTICITY <= -one <= 1 - LEAST_ELASTICITY:
                self.fail(
                    f"an elasticity of {one:g} is too near to 0 or -1: give from -0.999999 "
                    "to -0.000001",
                    param,
                    ctx,
                )
            try:
                check_elasticity(one)
            except SynctaxError as error:
                self.fail(str(error), param, ctx)
        return tuple(dict.fromkeys(found))


class Growths(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Factors: `2,4`, ratios `2250/989`, or GPUs `b200/h200` by their BF16 peaks."""

    name = "growths"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Parse the text into factors, each once, in their order."""
        found = []
        for part in str(value).split(","):
            above, slash, under = (text.strip() for text in part.partition("/"))
            top = self._amount(above, param, ctx)
            bottom = self._amount(under, param, ctx) if slash else 1.0
            if not slash and not _starts_as_number(above):
                self.fail(f"{part.strip()!r} needs a second GPU: b200/h200", param, ctx)
            if not 1 / MAX_GROWTH <= top / bottom <= MAX_GROWTH:
                self.fail(
                    f"FLOPS grow by a factor from {1 / MAX_GROWTH:g} to {MAX_GROWTH:g}, "
                    f"not {part.strip()}",
                    param,
                    ctx,
                )
            found.append(top / bottom)
        return tuple(dict.fromkeys(found))

    def _amount(
        self, text: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if _starts_as_number(text):
            number = Finite().convert(text, param, ctx)
            if number <= 0:
                self.fail(f"FLOPS grow by a factor above 0, not {text}", param, ctx)
            return number
        from synctax.bandwidth.hardware import all_hardware

        peaks = {one.name: one.bf16_tflops for one in all_hardware() if one.bf16_tflops}
        peak = peaks.get(text.lower())
        if peak is None:
            self.fail(
                f"{text!r} is neither a factor like 2.5 nor a GPU whose dense BF16 peak is "
                f"known: {', '.join(peaks)}",
                param,
                ctx,
            )
        return peak


class HardwareName(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """The name of a preset, in any case."""

    name = "hardware"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Look the name up."""
        from synctax.bandwidth.hardware import hardware

        try:
            return hardware(str(value).strip()).name
        except SynctaxError as error:
            self.fail(str(error), param, ctx)


class Torus(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Dimensions of a torus: `8x8x4`."""

    name = "torus"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text into dimensions."""
        texts = str(value).lower().split("x")
        if len(texts) != _DIMENSIONS or not all(
            text.isascii() and text.isdigit() and len(text) <= _DIGITS for text in texts
        ):
            self.fail(f"{value!r} is no torus like 8x8x4", param, ctx)
        dims = tuple(map(int, texts))
        if not 1 < math.prod(dims) <= MAX_RANKS:
            self.fail(
                f"{value!r} has {math.prod(dims):,} ranks; give from 2 to {MAX_RANKS:,}",
                param,
                ctx,
            )
        return dims


class Topologies(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Names, or `all`."""

    name = "topologies"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Parse the text into names, each once; `all` stays as it is."""
        names = [part.strip().lower().replace("-", "_") for part in str(value).split(",")]
        for name in names:
            if name not in (*TOPOLOGIES, ALL):
                self.fail(
                    f"no topology {name!r}; there are {', '.join(TOPOLOGIES)}, or all",
                    param,
                    ctx,
                )
        return (ALL,) if ALL in names else tuple(dict.fromkeys(names))


ALL = "all"

_DIMENSIONS = 3
_DIGITS = 9


def _starts_as_number(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in ("-", "+", ".", "")
