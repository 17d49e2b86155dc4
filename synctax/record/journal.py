"""What a rank tells of its recording: its state, in a file, and lines for people."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from synctax.record.ranks import Who, who
from synctax.record.state import RankState, write_own_state

Say = Callable[[str], None]


class Journal:
    """Who this is, how far it is, and to whom that is told.

    Parameters
    ----------
    folder : Path
        The state is in `folder/record/rankR.json`.
    say : callable, optional
        Takes lines; by default they go to stderr.

    Attributes
    ----------
    who : Who
    state : RankState
    """

    def __init__(self, folder: Path, say: Say | None) -> None:
        self._folder = folder
        self._say_to = say
        self.who = who()
        rank, world_size = self.who.rank, self.who.world_size
        self.state = RankState(rank, world_size, self.who.host, self.who.pid)

    def identify(self, told: Who | None = None) -> None:
        """Look who this is: a process group may have come to be since the last time."""
        self.who = told or who()
        self.change(
            rank=self.who.rank,
            world_size=self.who.world_size,
            backend=self.who.backend,
            torch=self.who.torch,
        )

    def change(self, **changes: Any) -> None:
        """Change the state, and tell it later."""
        self.state = replace(self.state, **changes)

    def tell(self, **changes: Any) -> None:
        """Change the state and write it.

        Raises
        ------
        OSError
            If there is no room, or no right to write.
        """
        self.change(**changes)
        write_own_state(self._folder, self.state)

    def say(self, line: str) -> None:
        """Say something to a person."""
        if self._say_to is not None:
            self._say_to(line)
        elif sys.stderr is not None:
            sys.stderr.write(f"synctax record: rank {self.state.rank}: {line}\n")
