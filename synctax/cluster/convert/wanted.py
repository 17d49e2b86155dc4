"""Whether a row is a job that was asked for, before what else it says is looked at."""

from synctax.cluster.convert.found import Options
from synctax.cluster.convert.reasons import CPU_ONLY, FRACTION, NOT_PASSED, LeftOutError


def check(
    options: Options, gpus: float, *, passed: bool | None = None, shared: bool = False
) -> None:
    """Drop what asks for no GPU, did not end well or shares GPUs, as is asked.

    Raises
    ------
    LeftOutError
        If the row is to be dropped.
    """
    if gpus == 0:
        raise LeftOutError(CPU_ONLY)
    if options.status == "pass" and passed is False:
        raise LeftOutError(NOT_PASSED)
    parts = shared or gpus != round(gpus) if gpus == gpus else False
    if options.fractional == "drop" and parts:
        raise LeftOutError(FRACTION, f"{gpus:g} GPUs")
