"""`profile`: what a training script calls to be recorded."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from synctax.record.plan import (
    DEFAULT_MEET_TIMEOUT_S,
    DEFAULT_SKIP,
    DEFAULT_STEPS,
    DEFAULT_WARMUP,
    DelayRule,
    Plan,
)
from synctax.record.recording import Recording


def profile(  # noqa: PLR0913
    folder: str | PathLike[str],
    *,
    skip: int = DEFAULT_SKIP,
    warmup: int = DEFAULT_WARMUP,
    steps: int = DEFAULT_STEPS,
    record_shapes: bool = True,
    with_stack: bool = False,
    delays: Sequence[DelayRule] = (),
    meet_timeout_s: float = DEFAULT_MEET_TIMEOUT_S,
) -> Recording:
    """Record some steps of a training loop (skeleton)."""
    return Recording(
        Plan(
            Path(folder),
            skip=skip,
            warmup=warmup,
            steps=steps,
            record_shapes=record_shapes,
            with_stack=with_stack,
            delays=tuple(delays),
            meet_timeout_s=meet_timeout_s,
        )
    )
