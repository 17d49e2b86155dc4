"""Small made-up jobs for comparisons: a tensor-parallel pair, and one that is late."""

from pathlib import Path
from typing import Any

from synctax.collectives.load import load
from synctax.collectives.tax import Tax, measure
from synctax.synth import Delay, SynthJob, write

LATE_US = 200.0
KERNEL = 5
STEPS = 6


def make(folder: Path, **changed: Any) -> Path:
    """Write the traces of a job of two ranks."""
    asked = {"tp": 2, "fsdp": 1, "layers": 2, "steps": STEPS, "jitter": 0.1} | changed
    write(SynthJob(**asked), folder)
    return folder


def tax_of(folder: Path, **asked: Any) -> Tax:
    return measure(load([folder], workers=1), **asked)


def late(rank: int = 1, us: float = LATE_US, steps: int = STEPS) -> list[Delay]:
    """A kernel of a rank that takes longer in every step."""
    return [Delay(rank, step, kernel=KERNEL, delay_us=us) for step in range(steps)]


def slow(us: float = LATE_US) -> list[Delay]:
    """Kernels of rank 1 in every block that take longer, in every step."""
    return [
        Delay(1, step, kernel=kernel, delay_us=us)
        for step in range(STEPS)
        for kernel in range(0, 40, 2)
    ]
