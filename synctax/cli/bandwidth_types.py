"""Texts that `bandwidth` takes: sizes, amounts with their units, lists, ratios."""

import math
import re
from typing import Any

import click

from synctax.cli.options import Finite

MAX_RANKS = 2**31 - 1
"""No group has more ranks."""

_BYTES = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20,
    "gib": 2**30,
}  # fmt: skip


class Sizes(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Numbers of ranks: `512`, `8,64,512`, or `8:4096`, which doubles from 8 on."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text into numbers, ascending, each once."""
        found: set[int] = set()
        for part in str(value).split(","):
            low, colon, high = (text.strip() for text in part.partition(":"))
            first = self._rank(low, param, ctx)
            last = self._rank(high, param, ctx) if colon else first
            if last < first:
                self.fail(f"{part.strip()!r} runs backwards", param, ctx)
            while first <= last:
                found.add(first)
                first *= 2
        return tuple(sorted(found))

    def _rank(
        self, text: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if not (text.isascii() and text.isdigit()):
            self.fail(
                f"{text!r} is no number of ranks; give 512, 8,64 or 8:4096", param, ctx
            )
        # by length first: Python does not parse thousands of digits
        if len(text) > len(str(MAX_RANKS)) or not 1 < int(text) <= MAX_RANKS:
            self.fail(f"n = {text[:20]}: give from 2 to {MAX_RANKS:,} ranks", param, ctx)
        return int(text)


class Bytes(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """An amount such as `268435456`, `256MiB` (2^20) or `268MB` (10^6)."""

    name = "bytes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Parse the text into bytes."""
        match = re.fullmatch(
            r"(\d{1,18}(?:\.\d{1,9})?)\s*([a-z]*)", str(value).strip().lower()
        )
        if match is None or match[2] not in _BYTES:
            self.fail(
                f"{value!r} is no amount like 268435456, 256MiB (2^20) or 268MB (10^6)",
                param,
                ctx,
            )
        found = float(match[1]) * _BYTES[match[2]]
        if found < 1 or found > 2**63:
            self.fail(f"{value!r}: give from 1 byte up", param, ctx)
        return round(found)


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


class Positive(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A number above 0."""

    name = "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the text into a number."""
        found = Finite().convert(value, param, ctx)
        if found <= 0:
            self.fail(f"{value} is not above 0", param, ctx)
        return found


class Elasticities(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Numbers between -1 and 0: `-0.5,-0.1`."""

    name = "elasticities"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Parse the text into numbers, each once, in their order."""
        found = [
            Finite().convert(part.strip(), param, ctx) for part in str(value).split(",")
        ]
        for one in found:
            if not -1 < one < 0:
                self.fail(
                    f"an elasticity of {one:g} has no bandwidth: at -1 the time is all "
                    "transfer, at 0 none of it; give numbers between, such as -0.5",
                    param,
                    ctx,
                )
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
        from synctax.bandwidth.topology import TOPOLOGIES

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
