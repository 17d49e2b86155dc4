"""What may fail in a job's process without ending the job."""

import re

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


LONGEST_LINE = 120
"""Characters of an error's first line that are kept."""

_PLACE = re.compile(r"^\[[^]]*\.\w+:\d+\] ")
"""Where in the sources of torch an error was raised."""


def first_line(error: BaseException) -> str:
    """Say an error in one line, with its type."""
    text = str(error).strip().partition("\n")[0]
    text = _PLACE.sub("", text).rstrip(". ")
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE].rstrip()}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
