"""Whether a row is a job that was asked for, before what else it says is looked at."""

from math import isinf, isnan

from synctax.cluster.convert.found import Options
from synctax.cluster.convert.reasons import (
    CPU_ONLY,
    FRACTION,
    NOT_PASSED,
    NUMBER,
    LeftOutError,
)
from synctax.cluster.convert.values import gpus_text


def check(
    options: Options, gpus: float, *, passed: bool | None = None, shared: bool = False
) -> None:
    """Drop what asks for no GPU, did not end well or shares GPUs, as is asked.

    `gpus` is NaN where it is not told, `passed` None where the trace tells it of no job.

    Raises
    ------
    LeftOutError
        If the row is to be dropped, or asks for more GPUs than a number can say.
    """
    if isinf(gpus):
        raise LeftOutError(NUMBER, "more GPUs than a number can say")
    if gpus == 0:
        raise LeftOutError(CPU_ONLY)
    if options.status == "pass" and passed is False:
        raise LeftOutError(NOT_PASSED)
    parts = not isnan(gpus) and (shared or gpus != round(gpus))
    if options.fractional == "drop" and parts:
        raise LeftOutError(FRACTION, gpus_text(gpus))
