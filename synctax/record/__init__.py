"""Record traces of a torch job as synctax needs them, with delays put in on purpose.

>>> from synctax import record  # doctest: +SKIP
>>> with record.profile("traces") as window:  # doctest: +SKIP
...     for batch in batches:
...         train(batch)
...         window.step()

Only this package imports torch, and it does so when `profile`, `Recording` or `Delay` is
first used: what the rest of synctax takes from it (plans, their launch, names of files)
needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synctax.errors import SynctaxError

if TYPE_CHECKING:
    from synctax.record.delay import Delay
    from synctax.record.plan import DelayRule, Plan
    from synctax.record.profiling import profile
    from synctax.record.recording import Recording
    from synctax.record.state import RankState, read_states

_HOME = {
    "Delay": "synctax.record.delay",
    "DelayRule": "synctax.record.plan",
    "Plan": "synctax.record.plan",
    "RankState": "synctax.record.state",
    "Recording": "synctax.record.recording",
    "profile": "synctax.record.profiling",
    "read_states": "synctax.record.state",
}

__all__ = [
    "Delay",
    "DelayRule",
    "Plan",
    "RankState",
    "Recording",
    "TorchMissingError",
    "profile",
    "read_states",
]


class TorchMissingError(SynctaxError, ImportError):
    """PyTorch is not installed."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: most of them need torch."""
    if name not in _HOME:
        raise AttributeError(f"module 'synctax.record' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TorchMissingError(
            "synctax.record needs PyTorch: pip install 'synctax[torch]'"
        ) from error


def __dir__() -> list[str]:
    return __all__
