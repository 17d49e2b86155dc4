"""The module reads untrusted text: no access outside its memory, nothing undefined."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.fuzz.build import SMALL, SOURCES
from tests.laws import examples

COMPILER = shutil.which("gcc") or shutil.which("cc")
HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]


def library(name: str) -> str:
    """Where the compiler has one of its libraries; empty where it has none."""
    if COMPILER is None:
        return ""
    found = subprocess.run(
        [COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return found if Path(found).is_absolute() else ""


HEADERS = Path(sysconfig.get_path("include")) / "Python.h"
SOURCE = SOURCES / "module.c"
needed = pytest.mark.skipif(
    not (
        library("libasan.so")
        and library("libubsan.so")
        and HEADERS.exists()
        and SOURCE.exists()
    ),
    reason="the C sources, a compiler with its sanitizers, and Python's headers are needed",
)


@needed
def test_nothing_is_read_or_written_outside_and_nothing_is_undefined(tmp_path):
    module = tmp_path / "_scan.abi3.so"
    subprocess.run(
        [
            COMPILER, "-O1", "-g", "-std=c11", "-shared", "-fPIC",
            "-fno-omit-frame-pointer", "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all", *SMALL, f"-I{HEADERS.parent}", SOURCE,
            "-o", module,
        ],
        check=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, HERE / "under_sanitizers.py", module, "1", str(examples(2_000))],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONMALLOC": "malloc",  # or Python's own pools would hide what is outside
            "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')}",
            "ASAN_OPTIONS": "detect_leaks=0",
        },
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert int(done.stdout.split()[0]) > 1_000
