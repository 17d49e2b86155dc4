"""What may fail in a job's process without ending the job."""

from synctax.errors import SynctaxError

TROUBLE = (
    SynctaxError,
    RuntimeError,
    OSError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    ImportError,
    LookupError,
    MemoryError,
)
"""What a profiler, a disk or a store raises: stores of other makers know fewer calls, and
versions of torch differ."""


def first_line(error: BaseException) -> str:
    """Say an error in one line, with its type."""
    text = str(error).strip().partition("\n")[0].rstrip(". ")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
