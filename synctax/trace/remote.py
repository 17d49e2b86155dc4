"""Files that are named by URL: stores and servers, through fsspec (extra `cloud`)."""

import glob
import io
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from synctax.errors import BadInputError, SynctaxError
from synctax.urls import secrets, without_secrets

LOOKS_AT_A_TIME: Final = 16
"""Files of a store that are looked at together."""

_TAGS: Final = (
    "ETag", "etag", "generation", "md5Hash", "Content-MD5", "Digest", "VersionId",
)  # fmt: skip
"""Of what a store tells of a file, whatever differs when the content does."""

_TIMES: Final = ("LastModified", "last_modified", "Last-Modified", "updated", "mtime")
"""What stores call the time of the last change."""

URL: Final = re.compile(r"^[a-z][a-z0-9+.-]+://", re.IGNORECASE)

_STORES: Final = {
    "s3": ("s3fs", "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    "gs": ("gcsfs", "GOOGLE_APPLICATION_CREDENTIALS"),
    "abfs": ("adlfs", "AZURE_STORAGE_CONNECTION_STRING"),
}
"""What reads a store, and where that looks for credentials."""

_SAME_STORE: Final = {"s3a": "s3", "gcs": "gs", "az": "abfs", "abfss": "abfs"}

_DENIED: Final = re.compile(
    r"credential|accessdenied|access denied|forbidden|permission|invalidaccesskey|"
    r"signature|expiredtoken|unauthorized|anonymous",
    re.IGNORECASE,
)
_UNREACHED: Final = re.compile(r"connect|timeout|timed out|resolve|endpoint", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file with its size; `named` where the URL is of this very file."""

    url: str
    size_bytes: int
    named: bool


def files_of(url: str) -> list[RemoteFile]:
    """List the file, the files below a folder or bucket, or those that match a pattern.

    Raises
    ------
    BadInputError
        If there are none that can be listed, or fsspec is not installed.
    """
    try:
        import fsspec
    except ImportError:
        raise BadInputError(
            f"{url} is a URL, and reading URLs needs fsspec; "
            "install synctax[cloud], or copy the files here first"
        ) from None
    try:
        system, path = fsspec.core.url_to_fs(url)
        system.invalidate_cache()  # of listings, which may be as old as this process
        found: dict[str, Any]
        if system.isdir(path):
            found = system.find(path, detail=True)
        elif glob.has_magic(path):
            found = system.glob(path, detail=True)
        else:
            found = {path: system.info(path)}
        return [
            RemoteFile(
                str(system.unstrip_protocol(name)), int(has["size"] or 0), name == path
            )
            for name, has in found.items()
            if has["type"] != "directory"
        ]
    except Exception as error:  # noqa: BLE001 - every store has its own
        told = f"{url} cannot be read: {why(url, error)}"
        raise BadInputError(told) from _cause(url, error)


def state_of(url: str) -> tuple[int, int, str]:
    """Ask a store what it has under a URL now.

    Returns
    -------
    size_bytes : int
    mtime_ns : int
        Time of the last change; 0 where the store tells none.
    tag : str
        Checksums and versions of the content; empty where the store tells none. What only
        promises content that means the same (`W/`) is none.

    Raises
    ------
    OSError
        If there is nothing, or the store cannot be asked.
    """
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(url)
        system.invalidate_cache(path)
        has = system.info(path)
        if has["type"] == "directory":
            raise IsADirectoryError(url)
        tags = [f"{key}={has[key]}" for key in _TAGS if _strong(has.get(key))]
        return int(has["size"] or 0), _changed_ns(system, path, has), " ".join(tags)
    except Exception as error:  # noqa: BLE001 - every store has its own
        raise OSError(why(url, error)) from _cause(url, error)


def _strong(tag: Any) -> bool:
    return bool(tag) and not str(tag).startswith("W/")


def _changed_ns(system: Any, path: str, has: dict[str, Any]) -> int:
    from synctax.arrays import NS_PER_S

    told = next((has[key] for key in _TIMES if has.get(key)), None)
    if told is None:
        with suppress(NotImplementedError):
            told = system.modified(path)
    if isinstance(told, str):
        told = _read_time(told)
    if isinstance(told, datetime):
        told = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    return round(told * NS_PER_S) if isinstance(told, (int, float)) else 0


def _read_time(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime

    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError):
            return read(text)
    return None


def opened(url: str, block_bytes: int) -> io.RawIOBase:
    """Open a file by its URL for reading bytes; `block_bytes` are asked for at a time.

    What goes wrong while reading is an `OSError` with words.

    Raises
    ------
    OSError, SynctaxError
        If it cannot be opened, or fsspec is not installed.
    """
    try:
        import fsspec
    except ImportError as error:
        raise SynctaxError(
            f"{url}: reading URLs needs fsspec; install it with "
            "pip install 'synctax[cloud]'"
        ) from error
    try:
        system, path = fsspec.core.url_to_fs(url)
        return _File(url, system.open(path, "rb", block_size=block_bytes))
    except OSError as error:
        raise OSError(why(url, error)) from _cause(url, error)
    except Exception as error:  # noqa: BLE001 - every store has its own
        told = f"{url}: cannot be opened as a URL: {why(url, error)}"
        raise SynctaxError(told) from _cause(url, error)


class _File(io.RawIOBase):
    """A file of a store, whose errors are told in words."""

    def __init__(self, url: str, file: Any) -> None:
        self._url, self._file = url, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)
        try:
            data = self._file.read(len(view))
        except Exception as error:  # noqa: BLE001 - every store has its own
            raise OSError(why(self._url, error)) from _cause(self._url, error)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _cause(url: str, error: BaseException) -> BaseException | None:
    """Name an error as the cause of another, unless what it says may give access."""
    return None if secrets(url) else error


def why(url: str, error: BaseException) -> str:
    """Say what is wrong with a URL, and what to do; without what gives access to it.

    Parameters
    ----------
    url : str
    error : exception
        As the library of its store raised it: of types that only that knows.
    """
    told = _reason(url, error)
    for secret in secrets(url):
        told = told.replace(secret, "…")
    return without_secrets(told)


def _reason(url: str, error: BaseException) -> str:
    scheme = url.partition("://")[0].lower()
    package, variables = _STORES.get(_SAME_STORE.get(scheme, scheme), ("", ""))
    kind = type(error).__name__
    text = f"{kind} {error}"
    if isinstance(error, ImportError):
        return f"{error}; pip install {package}" if package else str(error)
    if isinstance(error, FileNotFoundError):
        return (
            "there is no such file, folder or bucket; check the spelling, and list what "
            "is there with the tools of the store"
        )
    if isinstance(error, PermissionError) or _DENIED.search(text):
        advice = (
            f"set {variables}, as for its own tools"
            if variables
            else "check the credentials"
        )
        public = "; for a public bucket FSSPEC_S3_ANON=true" if package == "s3fs" else ""
        return f"the store refuses ({error}); {advice}{public}"
    if isinstance(error, (ConnectionError, TimeoutError)) or _UNREACHED.search(kind):
        return f"the store cannot be reached ({error}); check the address and the network"
    return f"{str(error) or kind}; check the address and the credentials"
