"""How attribution is asked for."""

from dataclasses import dataclass
from typing import Literal

from synctax.graph.critical_path import DEFAULT_TOLERANCE_US

Window = Literal["fence", "lca"]
Match = Literal["counterpart", "path"]
Method = Literal["path", "longest", "last-kernel"]


@dataclass(frozen=True, slots=True)
class Options:
    """How attribution was asked for; see `attribute`."""

    window: Window = "fence"
    match: Match = "counterpart"
    method: Method = "path"
    tolerance_us: float = DEFAULT_TOLERANCE_US
