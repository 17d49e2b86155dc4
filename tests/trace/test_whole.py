"""Whole files of bounded size."""

import gzip
import os
import threading
import tracemalloc

import pytest
import zstandard

from synctax.errors import BadInputError
from synctax.trace.whole import whole

MOST = 2**20


def packed_zeros(of: str, size: int) -> bytes:
    pack = gzip.compress if of == "gzip" else zstandard.ZstdCompressor().compress
    return pack(bytes(size))


@pytest.mark.parametrize("of", ["gzip", "zstd"])
def test_what_unpacks_to_too_much_is_refused_in_bounded_memory(tmp_path, of):
    path = tmp_path / "bomb"
    path.write_bytes(packed_zeros(of, 256 * MOST))
    whole(__file__, "a test")  # modules are imported before memory is measured
    tracemalloc.start()
    try:
        with pytest.raises(BadInputError, match="expected a log, found more than 1 MiB"):
            whole(path, "a log", most=MOST)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # a block of zstd may hold 32 MiB
    assert peak < (80 if of == "zstd" else 40) * MOST


@pytest.mark.parametrize("of", ["gzip", "zstd"])
def test_as_much_as_is_allowed_is_read(tmp_path, of):
    path = tmp_path / "full"
    path.write_bytes(packed_zeros(of, MOST))
    assert whole(path, "zeros", most=MOST) == bytes(MOST)


def test_pipes_are_read_where_they_are_allowed_only(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(BadInputError, match="found a pipe or a device"):
        whole(path, "jobs")
    writer = threading.Thread(target=path.write_bytes, args=(b"a,b\n",))
    writer.start()
    assert whole(path, "jobs", pipes=True) == b"a,b\n"
    writer.join()
    with pytest.raises(BadInputError, match="found a pipe or a device"):
        whole("/dev/zero", "jobs", pipes=True)


@pytest.mark.parametrize(
    ("name", "said"),
    [("absent", "no such file"), ("a\0b", "null"), (".", "found a folder")],
)
def test_what_is_no_file_is_refused_by_name(tmp_path, name, said):
    with pytest.raises(BadInputError, match=said):
        whole(f"{tmp_path}/{name}", "a log")
