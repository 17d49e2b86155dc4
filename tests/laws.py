"""How often a costly law is tried, and on how many of many cases alike."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

OF = 100
"""Examples of a law in a profile that tries every law as often as it says."""

FEWEST = 3
"""No law is tried less often."""

DRAW = random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID"))
"""Draws other cases in each run, the same in all its processes while they collect tests."""

T = TypeVar("T")


def examples(count: int) -> int:
    """How many of `count` examples the profile in use tries: all of them with `ci`."""
    return min(count, max(FEWEST, count * settings.default.max_examples // OF))


def some(cases: Sequence[T]) -> list[T]:
    """Those of many cases alike that the profile in use tries: all of them with `ci`.

    Else as many in a hundred as a law has examples, in order, other ones in each run; at
    least one.
    """
    tried = min(len(cases), -(-len(cases) * settings.default.max_examples // OF))
    return [cases[i] for i in sorted(DRAW.sample(range(len(cases)), tried))]
