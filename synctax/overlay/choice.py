"""What of the traces is in an overlay."""

from dataclasses import dataclass
from typing import Literal, get_args

Keep = Literal["all", "gpu", "collectives"]
"""Which events of the traces: all, those of the GPUs, or collectives alone."""

SUFFIXES = (".json", ".json.gz")
"""What the name of an overlay ends in: viewers go by it."""

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

    Raises
    ------
    ValueError
        If there is no such choice.
    """

    paths: int = DEFAULT_PATHS
    keep: Keep = "all"

    def __post_init__(self) -> None:
        if self.paths < 0:
            raise ValueError(f"{self.paths} paths cannot be drawn; 0 for none")
        if self.keep not in get_args(Keep):
            raise ValueError(
                f"keep is one of {', '.join(get_args(Keep))}, not {self.keep!r}"
            )
