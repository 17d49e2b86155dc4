"""Which reader takes events out of a trace: the compiled one, or the one in Python.

Both give the same columns and notes; they differ in speed. The compiled one is taken where
it was built. `SYNCTAX_READER` in the environment asks for one of them, in processes that
are started too; workers of a Dask cluster choose for themselves unless it does.
"""

import os
from importlib import import_module
from typing import Final

from synctax.errors import SynctaxError
from synctax.trace.errand import errand

VARIABLE: Final = "SYNCTAX_READER"
NATIVE: Final = "native"
PYTHON: Final = "python"
READERS: Final = (NATIVE, PYTHON)

MODULE: Final = "synctax.trace._scan"
REBUILD: Final = "install a C compiler (gcc or clang) and synctax again"

LAYOUT: Final = 3
"""Counts changes of what the compiled module and its user must agree on."""


def variants() -> tuple[str, ...]:
    """Name the vector units that the compiled reader may use here, the best first.

    Returns
    -------
    tuple of str
        Empty where it was not built, or was built of another version's sources.
    """
    return _compiled()[0]


def _compiled() -> tuple[tuple[str, ...], str]:
    """What the compiled reader may use here, or why there is none, and what to do."""
    try:
        module = import_module(MODULE)
    except ModuleNotFoundError:
        return (), f"was not built when synctax was installed; {REBUILD}"
    except ImportError as error:
        return (), f"cannot be loaded ({error}); {REBUILD}"
    if getattr(module, "LAYOUT", None) != LAYOUT:
        return (), f"was built of the sources of another version; {REBUILD}"
    return module.VARIANTS, ""


def chosen() -> str:
    """Name the reader that is in use.

    Returns
    -------
    str
        One of `READERS`.

    Raises
    ------
    SynctaxError
        If the environment asks for one that does not exist, or was not built.
    """
    sent = errand()
    wanted = (sent.reader if sent else "") or os.environ.get(VARIABLE, "")
    if wanted and wanted not in READERS:
        raise SynctaxError(
            f"{VARIABLE} is {wanted!r}; the readers are {' and '.join(READERS)}"
        )
    if wanted == NATIVE and not variants():
        raise SynctaxError(
            f"the native reader {_compiled()[1]}, or read with --reader python"
        )
    return wanted or (NATIVE if variants() else PYTHON)


def in_use() -> str:
    """Say which reader is in use: with which vector unit, or why not the compiled one.

    Returns
    -------
    str
        `native (avx2)`, or `python (...)` with the reason.
    """
    reader = chosen()
    if reader == NATIVE:
        return f"{reader} ({variants()[0]})"
    if variants():
        return f"{reader} (as {VARIABLE} says)"
    return f"{reader} (the native one {_compiled()[1]})"
