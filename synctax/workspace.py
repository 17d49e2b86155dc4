"""`.synctax/`: columns of traces already read, what was measured last, the fitted tax.

Several processes may use one directory at a time: every file appears complete under its
name or not at all, the last writer wins, and what is missing is read again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synctax.errors import BadInputError, SynctaxError
from synctax.notes import Note
from synctax.trace import store
from synctax.trace.errand import errand
from synctax.trace.files import (
    SourceFile,
    absolute,
    age_s,
    look,
    looks,
    remove,
    starts_with,
)
from synctax.trace.kept import Columns, Fetched
from synctax.trace.model import RankTrace
from synctax.urls import without_secrets

if TYPE_CHECKING:
    from synctax.evt.tax import TaxModel

DIRECTORY: Final = ".synctax"
"""Where a workspace lies unless the user says otherwise: in the current directory."""

STALE_TEMPORARY_S: Final = 3600
"""A temporary file this old belongs to a process that was killed."""

_PROBE_BYTES: Final = 1 << 20
"""A full disk still takes an empty file, so something is written to find out."""

_RECORD_VERSION: Final = 1
_RECORD_START: Final = b'{\n "version": '
_IGNORE: Final = b"*\n"


@dataclass(frozen=True, slots=True)
class LastMeasure:
    """What `measure` was asked last: enough to ask it again.

    `targets` and `manifest` are absolute paths, globs or URLs, without what gives access
    (`synctax.urls`); `when` is ISO 8601 in UTC; `options` is what JSON can hold.
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


def _written(targets: Sequence[str]) -> tuple[str, ...]:
    return tuple(without_secrets(absolute(target)) for target in targets)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory of parsed columns; it pickles, so workers keep columns themselves."""

    directory: Path

    def __reduce__(self) -> "tuple[type[Workspace], tuple[Path]]":
        return Workspace, (self.directory.absolute(),)

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
        return self.fetch(path, read).trace

    def fetch(self, path: str, read: Callable[[], RankTrace]) -> Fetched:
        """Take or keep the columns of a file as `read` does; say what became of them."""
        return self._columns.fetch(path, read, self._keep)

    def cached(self, path: str) -> RankTrace | None:
        """Load the columns of a file as it is now; None where there are none."""
        trace = self._columns.load(look(path))
        return None if trace is None else replace(trace, path=path)

    def keep(self, source: SourceFile, trace: RankTrace) -> Note | None:
        """Keep the columns of a file in the state it was read in.

        Columns of earlier states of the file are dropped. The note says why that failed,
        if it did, or why nothing of the file may be kept (`SourceFile.not_kept`).
        """
        if source.not_kept:
            return self._not_kept(1, source)
        return self._keep(source, trace)

    def store(self, path: str, trace: RankTrace) -> Note | None:
        """Keep the columns of a file as it is now; as `keep`."""
        source = look(path)
        return None if source is None else self.keep(source, trace)

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
        local = [path for path in files if "://" not in path]  # what changes is told of
        record = LastMeasure(
            targets=_written(targets),
            manifest=None if manifest is None else _written([manifest])[0],
            options=dict(options or {}),
            files=tuple(source for source in map(look, local) if source is not None),
            when=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        text = json.dumps({"version": _RECORD_VERSION, **asdict(record)}, indent=1)
        try:
            self._create()
            store.write_atomically(self._record, text.encode())
        except OSError as error:
            return self._unwritable(error)
        return self._incomplete(files, record.files)

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

    def keep_tax(self, model: "TaxModel", *, targets: Sequence[str] = ()) -> Note | None:
        """Keep the tax model that was fitted last; the note says why not, if so.

        Parameters
        ----------
        model : TaxModel
        targets : sequence of str
            The traces it was fitted to, as they were given; none for other sources.
        """
        from synctax.evt.tax_file import to_json

        origin = replace(
            model.source,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            targets=_written(targets),
        )
        try:
            self._create()
            text = to_json(replace(model, source=origin))
            store.write_atomically(self.tax_file, text)
        except OSError as error:
            return self._unwritable(error)
        return None

    def tax(self) -> "TaxModel | None":
        """Recall the tax model that was fitted last; None if none was.

        `source` of it tells what it was fitted to and when: perhaps another job than
        was measured last (`measured_since`).

        Raises
        ------
        BadInputError
            If the file is damaged, or of another version of synctax.
        """
        from synctax.evt.tax_file import from_json

        path = self.tax_file
        if path.exists() and not (path.is_file() or path.is_dir()):
            # a pipe may have nobody who writes, a device no end
            raise SynctaxError(
                f"{self.tax_file} is no regular file; remove it, or give the tax with --tax"
            )
        try:
            text = self.tax_file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SynctaxError(
                f"{self.tax_file}: {error.strerror}; give the tax with --tax"
            ) from error
        try:
            return from_json(text, name=str(self.tax_file))
        except BadInputError as error:
            raise BadInputError(
                f"{error}; run synctax fit-evt again, or remove the file to do without it"
            ) from error

    def measured_since(self, model: "TaxModel") -> tuple[str, ...]:
        """Name the traces of another job that was measured after a tax was kept.

        Parameters
        ----------
        model : TaxModel
            As `tax` returned it.

        Returns
        -------
        tuple of str
            Absolute paths, globs or URLs; empty where the tax belongs to what was
            measured last, or nothing was.
        """
        if model.source.when is None or not self._record.is_file():
            return ()
        last = self.last_measure()
        targets = last.targets or (str(last.manifest),)
        same = set(targets) == set(model.source.targets)
        # by the files: what they say of the time is in whole seconds
        later = self._record.stat().st_mtime_ns > self.tax_file.stat().st_mtime_ns
        return targets if later and not same else ()

    def prune(self) -> int:
        """Drop columns whose source changed or vanished, and dead temporary files.

        Stores are not asked: columns of a URL go when nobody wanted them for a month.

        Returns
        -------
        int
            How many sources had columns dropped.
        """
        dropped = self._columns.prune()
        for left in self.directory.rglob(f"*{store.TEMPORARY_SUFFIX}"):
            if age_s(left) > STALE_TEMPORARY_S:
                remove(left)
        return dropped

    @property
    def tax_file(self) -> Path:
        """Where the tax that was fitted last is kept."""
        return self.directory / "tax.json"

    @property
    def size_bytes(self) -> int:
        """What the stored columns take on disk."""
        return self._columns.size_bytes

    # -------------------------------------------------------------------- private

    @property
    def _columns(self) -> Columns:
        return Columns(self.directory / "columns")

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
        ignores = starts_with(self._ignore, _IGNORE)
        if ignores and self._columns.directory.is_dir():
            return True
        ours = {self._columns.directory.name, "probe"} | (
            {self._ignore.name} if ignores else set()
        )
        from synctax.evt.tax_file import SCHEMA

        tax_start = f'{{\n "schema": "{SCHEMA}"'.encode()
        for file, start in ((self._record, _RECORD_START), (self.tax_file, tax_start)):
            if starts_with(file, start):
                ours.add(file.name)
        others = names - ours
        return all(name.endswith(store.TEMPORARY_SUFFIX) for name in others)

    def _create(self) -> None:
        # none is made on a machine that does not see it: nobody would know of it
        self._columns.directory.mkdir(parents=errand() is None, exist_ok=True)
        if not self._ignore.exists():
            store.write_atomically(self._ignore, _IGNORE)

    def _keep(self, source: SourceFile, trace: RankTrace) -> Note | None:
        try:
            self._create()
            self._columns.keep(source, trace)
        except OSError as error:
            return self._unwritable(error)
        return None

    def _incomplete(self, files: Sequence[str], local: Sequence[SourceFile]) -> Note | None:
        """Find files whose columns were to be kept, and are not."""
        lost = self._columns.lost(local)
        if lost:
            return Note(
                "workspace_incomplete",
                len(lost),
                f"{self.directory}: the columns of these files could not be kept, perhaps "
                "for want of space; a later command reads them again",
                lost[0].path,
            )
        urls = [path for path in files if "://" in path and self._columns.lacks(path)]
        refused = [
            source for source in looks(urls) if source is not None and source.not_kept
        ]
        return self._not_kept(len(refused), refused[0]) if refused else None

    def _not_kept(self, count: int, source: SourceFile) -> Note:
        return Note(
            "workspace_url",
            count,
            f"columns of these URLs are not kept: {source.not_kept}; a later command reads "
            "them again",
            source.path,
        )

    def _unwritable(self, error: OSError) -> Note:
        return Note(
            "workspace_unwritable",
            1,
            f"{self.directory}: {error.strerror}; nothing is kept for later commands "
            "(choose another place with --workspace DIR)",
        )
