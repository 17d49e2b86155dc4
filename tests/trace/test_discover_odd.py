"""Paths that are there and are no files."""

import os

import pytest

from synctax.errors import BadInputError
from synctax.trace.discover import discover


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    pipe = tmp_path / "rank0.json"
    os.mkfifo(pipe)
    with pytest.raises(BadInputError, match=r"rank0\.json is a pipe or a device"):
        discover([str(pipe)])
