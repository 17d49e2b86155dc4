"""Jobs that several tests compare, made once."""

from pathlib import Path

import pytest

from tests.compare import jobs


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A job, and one like it of which rank 1 is late in every step."""
    base = tmp_path_factory.mktemp("pair")
    return (
        jobs.make(base / "before", seed=1),
        jobs.make(base / "after", seed=2, delays=jobs.late()),
    )
