"""What tests of the repository share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_pages import Runner, Sandbox
from warm import Warm


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """What runs commands and programs: each a process of its own, quick where it can be."""
    if sys.platform != "linux":  # elsewhere libraries may not survive a fork
        yield Runner([sys.executable, "-m", "synctax"], [sys.executable])
        return
    warm = Warm()
    yield Runner(warm.command, warm.command)
    warm.close()


@pytest.fixture
def sandbox(tmp_path: Path, runner: Runner) -> Sandbox:
    return Sandbox(tmp_path, runner)
