"""Both readers of one text: what `oracle.c` asks for each text that the fuzzer makes."""

import sys
import zlib

import synctax.trace

if "synctax.trace._scan" in sys.builtin_module_names:
    import importlib.machinery
    import importlib.util

    _spec = importlib.machinery.ModuleSpec(
        "synctax.trace._scan", importlib.machinery.BuiltinImporter
    )
    _module = importlib.util.module_from_spec(_spec)
    sys.modules[_spec.name] = synctax.trace._scan = _module
    importlib.machinery.BuiltinImporter.exec_module(_module)

from synctax.trace import readers
from tests.trace.native.reading import native, python, told_apart

CHUNKS = (50, 300, 5_000, 1 << 18)
BLOCKS = (37, 1_000, 1 << 20)


def check(text: bytes) -> None:
    """Read a text with both; which way is drawn from the text itself.

    Raises
    ------
    AssertionError
        If the results differ.
    """
    draw = zlib.crc32(text)
    variants = readers.variants()
    found = native(
        text,
        chunk=CHUNKS[draw % len(CHUNKS)],
        block=BLOCKS[draw // 7 % len(BLOCKS)],
        variant=variants[draw // 31 % len(variants)],
    )
    difference = told_apart(found, python(text))
    assert difference == "", difference


def check_all(text: bytes) -> None:
    """Read a text with every vector unit, whole and in chunks, and with the oracle.

    Raises
    ------
    AssertionError
        If the results differ.
    """
    expected = python(text)
    for variant in readers.variants():
        for chunk, block in ((50, 1_000), (1 << 18, 1 << 20)):
            found = native(text, chunk=chunk, block=block, variant=variant)
            difference = told_apart(found, expected)
            assert difference == "", (variant, chunk, difference)
