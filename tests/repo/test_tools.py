"""Lint, format, types and layers: one command is the whole check."""

import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT

pytestmark = pytest.mark.repo


@pytest.mark.parametrize(
    "arguments",
    [
        ("ruff", "check", "--no-fix", "."),
        ("ruff", "format", "--check", "."),
        ("mypy",),
        ("lint-imports",),
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_the_tool_finds_nothing(arguments):
    program = Path(sys.executable).parent / arguments[0]
    done = subprocess.run(
        [program, *arguments[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
