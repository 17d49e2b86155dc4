"""A file of some megabytes cannot be made such that reading it takes hours.

Nothing here is timed: what would go on for long after two minutes is stopped.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.laws import few
from tests.trace.hostile import TEXTS, pairs_that_meet

ROOT = Path(__file__).parents[2]
STOPPED_AFTER_S = 120


@pytest.mark.parametrize("name", few(tuple(TEXTS)))
def test_work_does_not_grow_with_the_square_of_the_length(name):
    found = output(name).split()
    assert len(set(found)) == 1  # of both readers


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or sys.maxsize < 2**32, reason="another hash"
)
def test_the_hashes_of_such_pairs_are_one():
    assert len(set(map(hash, pairs_that_meet(100)))) == 1


def test_telling_what_files_and_kernels_are_looks_at_each_byte_a_few_times():
    assert output() == ""


def output(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tests.trace.hostile", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=STOPPED_AFTER_S,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout
