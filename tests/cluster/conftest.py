"""Folders of real files that tests of clusters may use."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"


def _folder(name: str) -> Path:
    if not (SHARED / name).is_dir():
        pytest.skip(f"the real files are not at ../shared/{name}")
    return SHARED / name


@pytest.fixture(scope="session")
def shared_cluster_traces() -> Path:
    """Samples of published traces; a test that asks for them is skipped where absent."""
    return _folder("cluster-traces")


@pytest.fixture(scope="session")
def shared_astra_sim() -> Path:
    """Logs and inputs of ASTRA-sim; a test that asks for them is skipped where absent."""
    return _folder("astra-sim")
