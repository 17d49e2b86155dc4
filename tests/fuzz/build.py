"""Builds the programs of this folder, and what they are told of keys."""

import shlex
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from synctax.trace.native import told

HERE = Path(__file__).parent
SOURCES = Path(__file__).parents[2] / "synctax" / "trace" / "_scan_c"
SMALL = ("-DMAX_CATEGORIES=64", "-DFIRST_ROOM=8", "-DFIRST_TEXT=64")
"""Little of everything: small texts reach its end, and runs are short."""


def build(
    source: str, to: Path, compiler: str, flags: Sequence[str] = (), *, python: bool = False
) -> Path:
    """Compile one of the programs; `python` links Python into it.

    Raises
    ------
    CalledProcessError
        If the compiler cannot; what it says is in `stderr`.
    """
    to.mkdir(parents=True, exist_ok=True)
    (to / "told.h").write_text(header())
    program = to / Path(source).stem
    paths = [f"-I{to}", f"-I{SOURCES}"]
    libraries: list[str] = []
    if python:
        known = sysconfig.get_config_var
        paths.append(f"-I{sysconfig.get_path('include')}")
        libraries = [
            f"-L{known('LIBDIR')}", f"-Wl,-rpath,{known('LIBDIR')}",
            f"-lpython{known('LDVERSION')}", *shlex.split(known("LIBS") or ""), "-lm",
        ]  # fmt: skip
    subprocess.run(
        [
            compiler,
            "-std=c11",
            "-g",
            *flags,
            *paths,
            HERE / source,
            "-o",
            program,
            *libraries,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return program


def header() -> str:
    """What the scanner is told in Python, as macros of C."""
    known = told()
    lines = [
        f"#define LONGEST {known['longest']}",
        f"#define PREFIXES {', '.join(map(_quoted, known['communication']))}",
        f"#define MARKS {', '.join(map(_quoted, known['marks']))}",
        "#define TOLD \\",
    ]
    for macro, key in (("EVENT_KEY", "event_keys"), ("ARGS_KEY", "args_keys")):
        lines += [f"    {macro}({_quoted(text)}, {role}) \\" for text, role in known[key]]
    lines += [f"    CATEGORY({_quoted(n)}, {kind}) \\" for n, kind in known["categories"]]
    return "\n".join(lines) + "\n\n"


def dictionary(words: Sequence[bytes]) -> str:
    """Words for the fuzzer to put together, beside the keys and categories."""
    known = told()
    listed = [*words, *known["communication"], *known["marks"]]
    listed += [b'"%s":' % text for text, _ in (*known["event_keys"], *known["args_keys"])]
    listed += [b'"%s"' % name for name, _ in known["categories"]]
    escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in listed)
    return "".join(f'"{word}"\n' for word in escaped)


def _quoted(text: bytes) -> str:
    assert b'"' not in text
    assert b"\\" not in text
    return f'"{text.decode("ascii")}"'


def corpus() -> list[Path]:
    """The texts that are kept."""
    return sorted((HERE / "corpus").iterdir())
