"""The window of a job that is recorded: when it opens, what is written when it ends."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from synctax.record.plan import Plan
from synctax.record.state import RankState


class Recording:
    """A window around a training loop (skeleton)."""

    def __init__(self, plan: Plan, *, say: Callable[[str], None] | None = None) -> None:
        self.plan = plan
        self.state = RankState(rank=0, world_size=1, host="", pid=0)
        self._say = say

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.end("" if error is None else f"{type(error).__name__}: {error}")

    def begin(self) -> None:
        """Count steps from here."""

    def step(self) -> None:
        """End a step."""

    def end(self, reason: str = "") -> None:
        """End the window, if it is open, and write its trace."""
