"""What of the traces is in an overlay."""

from dataclasses import dataclass
from typing import Literal

Keep = Literal["all", "gpu", "collectives"]
"""Which events of the traces: all, those of the GPUs, or collectives alone."""

DEFAULT_PATHS = 100
"""Critical paths that are drawn: those to the longest waits."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What of the traces is in the overlay.

    Parameters
    ----------
    paths : int
        Critical paths, those to the longest waits.
    keep : Keep
        Which events of the traces: `all`, those of the `gpu`, or `collectives`.
    compressed : bool
        Write gzip, else plain text.
    """

    paths: int = DEFAULT_PATHS
    keep: Keep = "all"
    compressed: bool = True
