"""What is made late on purpose: one rank, once, at a kernel or at a collective."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Side = Literal["gpu", "cpu", "op", "gap", "call"]
MAX_DELAY_US = 1e8
_COLLECTIVE = re.compile(r"([a-z]+):(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Delay:
    """One rank made late once.

    Parameters
    ----------
    rank, step : int
        Which rank, in which step (counted from 0).
    kernel : int or None
        Which compute kernel of the step, counted from 0 in order of launch; None with
        `collective`.
    delay_us : float
        How much later.
    side : {"gpu", "cpu", "op", "gap", "call"}
        `gpu`: the kernel runs longer. All others make the launch late, and every later
        one: `op`: the operators around it take longer before they launch; `cpu`: another
        name of `op`; `gap`: they begin late, and nothing is logged until then; `call`: the
        launching call takes longer, and its kernel starts after it.
    collective : str
        `tp:5`: the launch of the step's collective 5 of that dimension, counted from 0 in
        order of launch, instead of a compute kernel's. A collective has no `gpu` side.
    """

    rank: int
    step: int
    kernel: int | None
    delay_us: float
    side: Side = "gpu"
    collective: str = ""

    @property
    def place(self) -> tuple[str, int] | None:
        """Dimension and number of the collective; None for a compute kernel."""
        found = _COLLECTIVE.fullmatch(self.collective)
        return None if found is None else (found[1], int(found[2]))


def check_delays(delays: Iterable[Delay], dimensions: tuple[str, ...]) -> None:
    """Refuse delays that no job could have.

    Parameters
    ----------
    delays : iterable of Delay
        What the user asked for.
    dimensions : tuple of str
        Names of dimensions.

    Raises
    ------
    ValueError
        If a length, a side or the name of a collective is none.
    """
    for delay in delays:
        if not 0 <= delay.delay_us <= MAX_DELAY_US:
            raise ValueError(
                f"a delay must lie between 0 and {MAX_DELAY_US:g} us, got {delay.delay_us}"
            )
        if delay.side not in get_args(Side):
            known = ", ".join(get_args(Side))
            raise ValueError(
                f"the side of a delay must be one of {known}, got {delay.side}"
            )
        if delay.collective:
            _check_collective(delay, dimensions)
        elif delay.kernel is None:
            raise ValueError("a delay names neither a kernel nor a collective")


def _check_collective(delay: Delay, dimensions: tuple[str, ...]) -> None:
    if delay.kernel is not None:
        raise ValueError(
            f"a delay names kernel {delay.kernel} and collective {delay.collective}; "
            "name one of them"
        )
    if delay.place is None or delay.place[0] not in dimensions:
        known = ", ".join(dimensions)
        raise ValueError(
            f"the collective of a delay is a dimension ({known}) and a number, like tp:5, "
            f"got {delay.collective!r}"
        )
    if delay.side == "gpu":
        raise ValueError(
            f"a delay before collective {delay.collective} must be on the CPU "
            "(cpu, op, gap or call), got side gpu"
        )
