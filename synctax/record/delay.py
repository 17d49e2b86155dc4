"""Operators of a running job, delayed on purpose (skeleton)."""

from os import PathLike
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from synctax.record.plan import DelayRule


class Delay(TorchDispatchMode):
    """Delay chosen operators."""

    def __init__(
        self,
        *rules: DelayRule,
        folder: str | PathLike[str] | None = None,
        rank: int | None = None,
        first_step: int = 0,
    ) -> None:
        super().__init__()
        self.rules = rules
        self.made: list[Any] = []

    def step(self, number: int | None = None) -> None:
        """End a step; the next has this number, by default one more."""
