"""Delays of a real job, as text: `rank=1,op=aten::mm,step=3:10,ms=5`."""

import sys
from typing import Any, NamedTuple, cast, get_args

import click

from synctax.cli.job_options import UNITS_US
from synctax.cli.options import Finite, StepRange
from synctax.record.plan import DelayRule, How, Law, Side

KEYS = {"op", "rank", "step", "nth", "pick", "law", "seed", "side", "how"}

MAX_OCCURRENCES = 100_000
"""In one `nth`; without it, all occurrences are delayed."""


class Context(NamedTuple):
    """What click wants to know of a value that is wrong."""

    param: click.Parameter | None
    ctx: click.Context | None


class DelayRuleType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """One rule: `op=aten::mm,ms=5`, with `rank`, `step`, `nth`, `pick` to choose where."""

    name = "delay"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> DelayRule:
        """Parse the text into a rule."""
        if isinstance(value, DelayRule):
            return value
        at = Context(param, ctx)
        keys = self._keys(str(value), at)
        law, us, us_max = self._amount(keys, at)
        steps = StepRange().convert(keys.get("step", "0:"), *at)
        nth = keys.get("nth")
        try:
            return DelayRule(
                keys["op"],
                us,
                us_max,
                law,
                rank=self._whole(keys, "rank", at),
                first_step=steps.start,
                end_step=None if steps.stop == sys.maxsize else steps.stop,
                nth=None if nth is None else tuple(self._nth(nth, at)),
                pick=self._whole(keys, "pick", at),
                seed=self._whole(keys, "seed", at) or 0,
                side=cast("Side", self._one_of(keys, "side", get_args(Side), at)),
                how=cast("How", self._one_of(keys, "how", get_args(How), at)),
            )
        except ValueError as error:
            self.fail(str(error), *at)

    def _keys(self, value: str, at: Context) -> dict[str, str]:
        pairs = [part.strip().partition("=")[::2] for part in value.split(",")]
        keys = dict(pairs)
        units = keys.keys() & UNITS_US.keys()
        known = keys.keys() <= KEYS | UNITS_US.keys()
        if not (known and "op" in keys and len(units) == 1 and len(keys) == len(pairs)):
            self.fail(
                f"{value!r} is no delay like rank=1,op=aten::mm,step=3:10,ms=5 (us, ms or "
                "s, as 5 or 2:8; also nth, pick, law, seed, side, how)",
                *at,
            )
        return keys

    def _amount(self, keys: dict[str, str], at: Context) -> tuple[Law, float, float | None]:
        unit = (keys.keys() & UNITS_US.keys()).pop()
        low, colon, high = keys[unit].partition(":")
        us = Finite(least=0).convert(low, *at) * UNITS_US[unit]
        us_max = Finite(least=0).convert(high, *at) * UNITS_US[unit] if colon else None
        natural = "uniform" if colon else "fixed"
        law = self._one_of(
            keys | {"law": keys.get("law", natural)}, "law", get_args(Law), at
        )
        if (law == "uniform") != bool(colon):
            self.fail(
                f"a uniform law, and no other, has two ends, as {unit}=2:8; {law} with "
                f"{unit}={keys[unit]} is none",
                *at,
            )
        return cast("Law", law), us, us_max

    def _nth(self, text: str, at: Context) -> range:
        first, colon, last = text.partition(":")
        low = int(click.INT(first, *at))
        high = int(click.INT(last, *at)) if colon else low + 1
        if high <= low:
            self.fail(f"nth={text} holds no occurrence: the end is not included", *at)
        if high - low > MAX_OCCURRENCES:
            self.fail(f"nth={text} is more than {MAX_OCCURRENCES:,} occurrences", *at)
        return range(low, high)

    def _whole(self, keys: dict[str, str], key: str, at: Context) -> int | None:
        return int(click.INT(keys[key], *at)) if key in keys else None

    def _one_of(
        self, keys: dict[str, str], key: str, names: tuple[str, ...], at: Context
    ) -> str:
        name = keys.get(key, names[0])
        if name not in names:
            self.fail(f"{key} is {' or '.join(names)}, not {name!r}", *at)
        return name
