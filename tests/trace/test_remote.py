"""What is wrong with a URL is said in words, whatever the library of its store raises."""

import pytest

from synctax.errors import BadInputError
from synctax.trace.remote import files_of, opened, why

S3 = "s3://bucket/run/rank0.json"


class NoCredentialsError(Exception):
    """As botocore has one."""


class EndpointConnectionError(Exception):
    """As botocore has one."""


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        (S3, FileNotFoundError("bucket/run"), "no such file, folder or bucket; check"),
        (S3, PermissionError("Access Denied"), "refuses (Access Denied); set AWS_PROFILE"),
        (S3, NoCredentialsError("none found"), "for a public bucket FSSPEC_S3_ANON=true"),
        ("gcs://b/x", PermissionError("no"), "set GOOGLE_APPLICATION_CREDENTIALS"),
        ("https://h/x", PermissionError("403"), "refuses (403); check the credentials"),
        (S3, EndpointConnectionError("none"), "cannot be reached (none); check the addr"),
        (S3, TimeoutError("10 s"), "cannot be reached (10 s)"),
        (S3, ImportError("Install s3fs"), "Install s3fs; pip install s3fs"),
        ("foo://b/x", ImportError("no foo"), "no foo"),
        (S3, LookupError(), "LookupError; check the address and the credentials"),
        (S3, ValueError("odd"), "odd; check the address and the credentials"),
    ],
)
def test_an_error_of_a_store_becomes_words(url, error, words):
    assert words in why(url, error)


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pipe("/run/deep/rank0.json", b"0123456789")
    return system


def test_a_folder_is_listed_with_all_below(memory):
    (file,) = files_of("memory://run")
    assert (file.url, file.size_bytes) == ("memory:///run/deep/rank0.json", 10)
    assert not file.named


def test_a_pattern_gives_files_and_no_folders(memory):
    assert [one.url for one in files_of("memory://run/*")] == []
    assert len(files_of("memory://run/*/*.json")) == 1


def test_a_file_is_named(memory):
    (file,) = files_of("memory://run/deep/rank0.json")
    assert file.named


def test_a_file_is_read_in_parts_and_closed_once(memory):
    with opened("memory://run/deep/rank0.json", 4) as file:
        assert file.readable()
        assert (file.read(3), file.read()) == (b"012", b"3456789")
    file.close()
    assert file.closed


def test_a_store_that_fails_while_reading_is_an_os_error_in_words(memory, monkeypatch):
    file = opened("memory://run/deep/rank0.json", 4)

    def read(n):
        raise EndpointConnectionError("gone")

    monkeypatch.setattr(file._file, "read", read, raising=False)
    with pytest.raises(OSError, match=r"cannot be reached \(gone\)"):
        file.read(1)


def test_a_missing_file_is_bad_input(memory):
    with pytest.raises(BadInputError, match="no such file, folder or bucket"):
        files_of("memory://run/rank7.json")
