"""`.synctax/`: the columns of traces already read, and what was measured last.

Several processes may use one directory at a time: every file appears complete under its
name or not at all, the last writer wins, and what is missing is read again.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from synctax import __version__
from synctax.arrays import NS_PER_S
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.trace import store
from synctax.trace.model import RankTrace

DIRECTORY: Final = ".synctax"
"""Where a workspace lies unless the user says otherwise: in the current directory."""

STALE_TEMPORARY_S: Final = 3600
"""A temporary file this old belongs to a process that was killed."""

_PROBE_BYTES: Final = 1 << 20
"""A full disk still takes an empty file, so something is written to find out."""

_RECORD_VERSION: Final = 1
_RECORD_START: Final = b'{\n "version": '
_IGNORE: Final = b"*\n"
_NAME_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A trace file as it was: absolute path, size, and time of the last change."""

    path: str
    size_bytes: int
    mtime_ns: int

    @classmethod
    def of(cls, path: str) -> "SourceFile":
        """Look at a file.

        Raises
        ------
        OSError
            If there is no such file (what a URL names is none).
        """
        status = Path(path).stat()
        return cls(os.path.abspath(path), status.st_size, status.st_mtime_ns)  # noqa: PTH100 - links stay as named

    @property
    def unchanged(self) -> bool:
        """Whether the file is there and still has this size and time."""
        try:
            return SourceFile.of(self.path) == self
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class LastMeasure:
    """What `measure` was asked last: enough to ask it again.

    `targets` and `manifest` are absolute paths, globs or URLs; `when` is ISO 8601 in UTC;
    `options` is what JSON can hold.
    """

    targets: tuple[str, ...]
    manifest: str | None
    options: dict[str, Any]
    files: tuple[SourceFile, ...]
    when: str

    @property
    def changed_files(self) -> tuple[str, ...]:
        """Files that have changed or vanished since."""
        return tuple(file.path for file in self.files if not file.unchanged)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory of parsed columns; it pickles, so workers keep columns themselves."""

    directory: Path

    def prepare(self) -> Note | None:
        """Create the directory; the note says why nothing can be kept there, if so.

        Call it once before workers do, so that the user hears of it once.

        Raises
        ------
        SynctaxError
            If it is a file, or a directory that holds what synctax has not made.
        """
        self._check()
        try:
            self._create()
            store.write_atomically(self.directory / "probe", bytes(_PROBE_BYTES))
            (self.directory / "probe").unlink(missing_ok=True)
        except OSError as error:
            return self._unwritable(error)
        return None

    def read(self, path: str, read: Callable[[], RankTrace]) -> RankTrace:
        """Take the columns of a file from here, else `read` it and keep them.

        A file that changed while it was read is not kept. That keeping fails is no news
        here: many workers would tell what `prepare` or `record_measure` tells once.
        """
        trace = self.cached(path)
        if trace is not None:
            return trace
        before = _look(path)
        trace = read()
        if before is not None and before.unchanged:
            self._keep(before, trace)
        return trace

    def cached(self, path: str) -> RankTrace | None:
        """Load the columns of a file as it is now; None where there are none."""
        source = _look(path)
        if source is None:
            return None
        try:
            trace = store.load(self._entry(source))
        except store.StoreError:
            return None
        return replace(trace, path=path)

    def store(self, path: str, trace: RankTrace) -> Note | None:
        """Keep the columns of a file; the note says why that failed, if it did.

        Columns of earlier states of the file are dropped. Of URLs nothing is kept.
        """
        source = _look(path)
        return None if source is None else self._keep(source, trace)

    def record_measure(
        self,
        targets: Sequence[str],
        files: Sequence[str],
        *,
        manifest: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Note | None:
        """Remember what was measured; the note says what could not be kept, if so.

        Parameters
        ----------
        targets : sequence of str
            Files, directories, globs or URLs as the user gave them.
        files : sequence of str
            The files these were resolved to.
        manifest : str, optional
        options : mapping, optional
            Whatever else changes the result, as JSON can hold it.
        """
        record = LastMeasure(
            targets=tuple(_absolute(target) for target in targets),
            manifest=None if manifest is None else _absolute(manifest),
            options=dict(options or {}),
            files=tuple(source for source in map(_look, files) if source is not None),
            when=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        text = json.dumps({"version": _RECORD_VERSION, **asdict(record)}, indent=1)
        try:
            self._create()
            store.write_atomically(self._record, text.encode())
        except OSError as error:
            return self._unwritable(error)
        return self._incomplete(record.files)

    def last_measure(self) -> LastMeasure:
        """Recall what was measured last.

        Raises
        ------
        SynctaxError
            If nothing was measured here, or by another version of synctax.
        """
        hint = "name the traces, or run `synctax measure TRACES` first"
        try:
            values = json.loads(self._record.read_bytes())
            if values.pop("version") != _RECORD_VERSION:
                raise ValueError("of another version")
            files = tuple(SourceFile(**file) for file in values.pop("files"))
            targets = tuple(values.pop("targets"))
            return LastMeasure(**values, targets=targets, files=files)
        except FileNotFoundError as error:
            raise SynctaxError(
                f"nothing was measured in {self.directory} yet; {hint}"
            ) from error
        except OSError as error:
            raise SynctaxError(f"{self._record}: {error.strerror}; {hint}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise SynctaxError(
                f"{self._record}: not a record that this version of synctax wrote; {hint}"
            ) from error

    def prune(self) -> int:
        """Drop columns whose source changed or vanished, and dead temporary files.

        Returns
        -------
        int
            How many sources had columns dropped.
        """
        dropped = 0
        entries: dict[str, list[Path]] = {}
        for entry in self._columns.glob("*.arrow"):
            entries.setdefault(entry.stem.rpartition("-")[0], []).append(entry)
        for owner in self._columns.glob("*.source"):
            source = _look(os.fsdecode(owner.read_bytes()))
            kept = None if source is None else self._entry(source)
            stale = [entry for entry in entries.get(owner.stem, []) if entry != kept]
            if source is None:
                stale.append(owner)
            dropped += sum(map(_remove, stale)) > 0
        for left in self.directory.rglob(f"*{store.TEMPORARY_SUFFIX}"):
            if _age_s(left) > STALE_TEMPORARY_S:
                _remove(left)
        return dropped

    @property
    def size_bytes(self) -> int:
        """What the stored columns take on disk."""
        return sum(_look_size(entry) for entry in self._columns.glob("*.arrow"))

    # -------------------------------------------------------------------- private

    @property
    def _columns(self) -> Path:
        return self.directory / "columns"

    @property
    def _ignore(self) -> Path:
        return self.directory / ".gitignore"

    @property
    def _record(self) -> Path:
        return self.directory / "last_measure.json"

    def _check(self) -> None:
        """Refuse what is not ours: it would be mixed with columns, and hidden from git."""
        advice = "give --workspace DIR for another place, or --no-cache for none"
        if self.directory.is_file():
            raise SynctaxError(
                f"{self.directory} is a file, a workspace is a directory; {advice}"
            )
        if self.directory.is_dir() and not self._is_ours():
            raise SynctaxError(
                f"{self.directory} is not empty and holds what synctax did not make; "
                f"{advice}"
            )

    def _is_ours(self) -> bool:
        """Whether the directory is empty, or has the marks of a workspace.

        Another process may have begun to make it, so there may be only some of them.
        """
        try:
            names = {path.name for path in self.directory.iterdir()}
        except OSError:  # `prepare` says that nothing can be kept there
            return True
        ignores = _starts_with(self._ignore, _IGNORE)
        if ignores and self._columns.is_dir():
            return True
        ours = {self._columns.name, "probe"} | ({self._ignore.name} if ignores else set())
        if _starts_with(self._record, _RECORD_START):
            ours.add(self._record.name)
        others = names - ours
        return all(name.endswith(store.TEMPORARY_SUFFIX) for name in others)

    def _create(self) -> None:
        self._columns.mkdir(parents=True, exist_ok=True)
        if not self._ignore.exists():
            store.write_atomically(self._ignore, _IGNORE)

    def _entry(self, source: SourceFile) -> Path:
        reader = f"{__version__} {store.PARSER_VERSION}"
        state = f"{source.size_bytes} {source.mtime_ns} {reader}"
        return self._columns / f"{_digest(source.path)}-{_digest(state)}.arrow"

    def _owner(self, source: SourceFile) -> Path:
        """Name the file that tells whose columns these are, for when the source is gone."""
        return self._columns / f"{_digest(source.path)}.source"

    def _keep(self, source: SourceFile, trace: RankTrace) -> Note | None:
        entry = self._entry(source)
        owner = self._owner(source)
        try:
            self._create()
            store.write_atomically(owner, os.fsencode(source.path))
            store.save(trace, entry)
        except OSError as error:
            return self._unwritable(error)
        for other in self._columns.glob(f"{owner.stem}-*.arrow"):
            if other != entry:
                _remove(other)
        return None

    def _incomplete(self, files: Sequence[SourceFile]) -> Note | None:
        """Find files whose columns were to be kept, and are not."""
        lost = [
            file
            for file in files
            if self._owner(file).exists() > self._entry(file).exists()
        ]
        if not lost:
            return None
        return Note(
            "workspace_incomplete",
            len(lost),
            f"{self.directory}: the columns of these files could not be kept, perhaps for "
            "want of space; a later command reads them again",
            lost[0].path,
        )

    def _unwritable(self, error: OSError) -> Note:
        return Note(
            "workspace_unwritable",
            1,
            f"{self.directory}: {error.strerror}; nothing is kept for later commands "
            "(choose another place with --workspace DIR)",
        )


def _look(path: str) -> SourceFile | None:
    try:
        return SourceFile.of(path)
    except OSError:
        return None


def _starts_with(path: Path, start: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


def _look_size(path: Path) -> int:
    source = _look(str(path))
    return 0 if source is None else source.size_bytes


def _age_s(path: Path) -> float:
    source = _look(str(path))
    return 0.0 if source is None else time.time() - source.mtime_ns / NS_PER_S


def _absolute(target: str) -> str:
    return target if "://" in target else os.path.abspath(target)  # noqa: PTH100


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:_NAME_DIGITS]


def _remove(path: Path) -> bool:
    """Remove a file that another process may be removing too; say whether it went."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
