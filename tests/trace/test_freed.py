"""What a process frees stays with it: arrays of the same size cost no new pages."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from synctax.trace.freed import keep_freed

if sys.argv[1] == "keep":
    keep_freed()

def fill():
    return [np.ones(500_000) for _ in range(4)]

fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    fill()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def new_pages(mode):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, mode], check=True, capture_output=True, text=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked")
def test_freed_arrays_are_used_again_without_new_pages():
    assert new_pages("keep") < new_pages("leave") / 10
