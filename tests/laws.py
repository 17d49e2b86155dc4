"""How often a costly law is tried."""

from hypothesis import settings

OF = 100
"""Examples of a law in a profile that tries every law as often as it says."""

FEWEST = 3
"""No law is tried less often."""


def examples(count: int) -> int:
    """How many of `count` examples the profile in use tries: all of them with `ci`."""
    return min(count, max(FEWEST, count * settings.default.max_examples // OF))
