"""How often a law is tried, and on how many of many cases alike: the profiles of tests.

`ci` and `dev` try all cases; `dev`, which is the default, a part of a law's examples.
`quick` tries a part of the cases, too, and smaller sizes. A seed tells what is drawn.
"""

import random
from collections.abc import Sequence
from typing import Final, TypeVar

from hypothesis import settings

PROFILES: Final = {"ci": 100, "dev": 20, "quick": 10}
"""Examples of a law that says nothing else; also per cent of what a law says."""

OF: Final = PROFILES["ci"]

FEWEST: Final = 3
"""No law is tried less often."""

T = TypeVar("T")


class Drawn:
    """The seed of a run; `tests.conftest` sets it before tests are collected."""

    seed = 0


def register() -> None:
    """Make the profiles known to hypothesis."""
    for name, count in PROFILES.items():
        # a deadline would make a busy machine fail a law that holds
        settings.register_profile(name, deadline=None, max_examples=count)


def quick() -> bool:
    """Whether cases and sizes are fewer than those that matter, too."""
    return settings.default.max_examples <= PROFILES["quick"]


def examples(count: int) -> int:
    """How many of `count` examples the profile in use tries: all of them with `ci`."""
    return min(count, max(FEWEST, count * settings.default.max_examples // OF))


def some(cases: Sequence[T]) -> list[T]:
    """All of many cases alike; with `quick` a few of them, at least one.

    They are in order, and the same in all runs with one seed, whatever else is run.
    """
    if not quick():
        return list(cases)
    return _drawn(
        cases, min(len(cases), -(-len(cases) * settings.default.max_examples // OF))
    )


def few(cases: Sequence[T]) -> list[T]:
    """Of more than `FEWEST` cases of one test a quarter, and no fewer; else all."""
    return _drawn(cases, max(min(len(cases), FEWEST), len(cases) // 4))


def _drawn(cases: Sequence[T], count: int) -> list[T]:
    drawn = random.Random(Drawn.seed).sample(range(len(cases)), count)
    return [cases[i] for i in sorted(drawn)]
