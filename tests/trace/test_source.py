"""Plain bytes come out of plain, gzip and zstd files, also of broken ones."""

import gzip
import io
import sys
import threading
import time
import zlib

import pytest
import zstandard

from synctax.errors import BadInputError, SynctaxError
from synctax.trace.source import Damage, open_file, plain_blocks, read_ahead
from tests.laws import quick

TEXT = b"".join(b"line %d of a text that compresses\n" % i for i in range(20_000))


def plain(data):
    damage = Damage()
    return b"".join(plain_blocks(io.BytesIO(data), damage)), damage.reason


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_the_content_does_not_depend_on_the_compression(pack):
    assert plain(pack(TEXT)) == (TEXT, "")


def test_an_empty_file_has_no_content():
    assert plain(b"") == (b"", "")


def test_members_of_a_gzip_file_follow_each_other():
    assert plain(gzip.compress(TEXT) + gzip.compress(b"end")) == (TEXT + b"end", "")


def test_frames_of_a_zstd_file_follow_each_other():
    frames = zstandard.compress(TEXT) + zstandard.compress(b"end")
    assert plain(frames) == (TEXT + b"end", "")


def test_zeros_after_a_gzip_member_are_padding():
    assert plain(gzip.compress(b"all") + b"\0" * 512) == (b"all", "")


def test_bytes_after_a_gzip_member_are_noted():
    assert plain(gzip.compress(b"all") + b"rest") == (b"all", "gzip_trailing_bytes")


def test_a_cut_gzip_file_gives_all_that_python_can_decompress_of_it():
    data = gzip.compress(TEXT)
    for size in range(10, len(data), 997):
        expected = zlib.decompressobj(31).decompress(data[:size])
        content, reason = plain(data[:size])
        assert expected.startswith(content)
        assert len(content) >= len(expected) - 1  # one byte of look-ahead
        assert reason == "gzip_truncated"


def test_a_cut_zstd_file_gives_a_beginning_of_the_content():
    data = zstandard.compress(TEXT, 1)
    content, reason = plain(data[: len(data) * 9 // 10])
    assert TEXT.startswith(content)
    assert reason == "zstd_truncated"


def test_a_file_cut_between_members_does_not_look_cut():
    assert plain(gzip.compress(b"a") + gzip.compress(b"b")[:1])[1] == "gzip_truncated"


def test_a_damaged_gzip_stream_gives_what_came_before():
    data = bytearray(gzip.compress(TEXT, 1))
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    content, reason = plain(bytes(data))
    assert TEXT.startswith(content[:1000])
    assert reason in ("gzip_damaged", "gzip_truncated")


def test_a_wrong_checksum_is_noted_and_the_content_kept():
    data = bytearray(gzip.compress(b"content"))
    data[-8] ^= 1
    assert plain(bytes(data))[1] == "gzip_damaged"


def test_a_magic_that_arrives_byte_by_byte_is_seen():
    class Slow(io.BytesIO):
        def read(self, _size=-1):
            return super().read(1)

    assert b"".join(plain_blocks(Slow(gzip.compress(b"slow")), Damage())) == b"slow"


def test_the_bytes_of_the_file_itself_are_counted():
    data, seen = gzip.compress(TEXT), []
    for _ in plain_blocks(io.BytesIO(data), Damage(), seen.append):
        pass
    assert sum(seen) == len(data)


def test_a_missing_file_is_bad_input(tmp_path):
    with (
        pytest.raises(BadInputError, match="cannot be read: No such file"),
        open_file(str(tmp_path / "none.json")),
    ):
        pass


def test_a_directory_is_bad_input(tmp_path):
    with pytest.raises(BadInputError, match="cannot be read"), open_file(str(tmp_path)):
        pass


def test_a_url_without_fsspec_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with (
        pytest.raises(SynctaxError, match=r"pip install 'synctax\[cloud\]'"),
        open_file("s3://bucket/rank0.json"),
    ):
        pass


def test_a_url_is_opened_by_fsspec():
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://traces/rank0.json", "wb") as file:
        file.write(b"content")
    with open_file("memory://traces/rank0.json") as file:
        assert file.read() == b"content"


def test_an_unknown_kind_of_url_is_named():
    pytest.importorskip("fsspec")
    with (
        pytest.raises(SynctaxError, match="cannot be opened as a URL"),
        open_file("nosuch://bucket/rank0.json"),
    ):
        pass


def test_a_fault_of_a_store_itself_is_named(monkeypatch):
    fsspec = pytest.importorskip("fsspec")

    def refuse(*_, **__):
        raise LookupError("no credentials")

    monkeypatch.setattr(fsspec.core, "url_to_fs", refuse)
    with pytest.raises(SynctaxError, match="no credentials"), open_file("s3://a/b"):
        pass


def test_a_missing_object_is_bad_input():
    pytest.importorskip("fsspec")
    with pytest.raises(BadInputError, match="cannot be read"), open_file("memory://none"):
        pass


def test_reading_ahead_hands_over_every_block_in_order():
    blocks = [bytes([i]) * i for i in range(100)]
    assert b"".join(read_ahead(iter(blocks), 50)) == b"".join(blocks)


def test_a_slow_reader_misses_no_block():
    taken = []
    for block in read_ahead((bytes([i]) for i in range(8)), 1):
        taken.append(block)
        time.sleep(0.15 if len(taken) == 1 else 0)
    assert taken == [bytes([i]) for i in range(8)]


def test_an_error_while_reading_ahead_reaches_the_reader():
    def broken():
        yield b"block"
        raise OSError("the disk is gone")

    ahead = read_ahead(broken(), 1)
    assert next(ahead) == b"block"
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)


def test_a_reader_that_stops_early_stops_the_thread():
    def endless():
        while True:
            yield b"block"

    before = threading.active_count()
    ahead = read_ahead(endless(), 1)
    next(ahead)
    ahead.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_what_unpacks_to_very_much_comes_in_blocks_of_bounded_size(pack):
    size = (96 if quick() else 256) * 2**20
    damage = Damage()
    packed = pack(b"[" + bytes(size) + b"]")
    blocks = [len(block) for block in plain_blocks(io.BytesIO(packed), damage)]
    assert (sum(blocks), damage.reason) == (size + 2, "")
    assert max(blocks) <= 32 * 2**20
    assert sorted(blocks)[len(blocks) // 2] <= 4 * 2**20
