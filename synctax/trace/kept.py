"""Columns of traces in a directory, by where a file lies and the state it was in.

Several processes on several machines may use one directory at a time: every file appears
complete under its name or not at all, the last writer wins, and what is missing is read
again.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Final

from synctax.notes import Note
from synctax.trace import store
from synctax.trace.files import SourceFile, age_s, digest, look, remove, size_of, touch
from synctax.trace.model import RankTrace
from synctax.trace.spill import asked_for

# by name: an import of the package would be one of all that it offers
SYNCTAX: str = import_module("synctax").__version__

UNUSED_S: Final = 30 * 24 * 3600
"""Columns of a URL that nobody wanted for so long go: its store is not asked about it."""


DAMAGED: Final = "columns_damaged"
DAMAGED_TEXT: Final = (
    "columns in the workspace were damaged or cut, and the trace was read anew"
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """Columns of a trace, and where they are now.

    `there` says that they were kept before; `not_kept` is why they are not kept now, and
    empty where they are.
    """

    trace: RankTrace
    there: bool = False
    not_kept: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of traces that were read, in a directory.

    A trace has an owner, the file that says whose columns these are, and one entry, named
    by the state of the trace and the version of what read it.
    """

    directory: Path

    def load(self, source: SourceFile | None) -> RankTrace | None:
        """Load the columns of a file in this state; None where none can be loaded."""
        try:
            return self._load(source)
        except store.StoreError:
            return None

    def _load(self, source: SourceFile | None) -> RankTrace | None:
        """Load the columns of a file in this state; None where there are none.

        Raises
        ------
        StoreError
            If they are there, and damaged.
        """
        if source is None or source.not_kept:
            return None
        entry = self._entry(source)
        try:
            trace = store.load(entry, asked_for())
        except store.AbsentError:
            return None
        if source.remote:
            touch(entry)
        return trace

    def fetch(
        self,
        path: str,
        read: Callable[[], RankTrace],
        keep: Callable[[SourceFile, RankTrace], Note | None],
    ) -> Fetched:
        """Load the columns of a file, else `read` it and `keep` them.

        A file that changed while it was read is not kept; the note of `keep` says why it
        failed, if it did. Where columns are there that cannot be loaded, a note of the
        trace says that it was read anew, which is not kept with the new ones.
        """
        before = look(path)
        anew: tuple[Note, ...] = ()
        try:
            known = self._load(before)
        except store.StoreError:
            known, anew = None, (Note(DAMAGED, 1, DAMAGED_TEXT, path),)
        if known is not None:
            return Fetched(replace(known, path=path), there=True)
        found = self._read(before, read, keep)
        trace = replace(found.trace, notes=(*found.trace.notes, *anew))
        return replace(found, trace=trace)

    def _read(
        self,
        before: SourceFile | None,
        read: Callable[[], RankTrace],
        keep: Callable[[SourceFile, RankTrace], Note | None],
    ) -> Fetched:
        trace = read()
        if before is not None and before.not_kept:
            return Fetched(trace, not_kept=before.not_kept)
        if before is None or not before.unchanged:
            return Fetched(trace, not_kept="changed while it was read")
        note = keep(before, trace)
        return Fetched(trace, not_kept="" if note is None else note.detail)

    def keep(self, source: SourceFile, trace: RankTrace) -> None:
        """Keep columns of a file, and drop those of its earlier states.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        entry, owner = self._entry(source), self._owner(source.path)
        store.write_atomically(owner, os.fsencode(source.path))
        store.save(trace, entry)
        for other in self._of(owner):
            if other != entry:
                remove(other)

    def prune(self) -> int:
        """Drop columns of files that changed or vanished, and of URLs nobody wants.

        Returns
        -------
        int
            How many sources had columns dropped.
        """
        dropped = 0
        entries: dict[str, list[Path]] = {}
        for entry in self.directory.glob("*.arrow"):
            entries.setdefault(entry.stem.rpartition("-")[0], []).append(entry)
        for owner in self.directory.glob("*.source"):
            own = entries.get(owner.stem, [])
            dropped += sum(map(remove, self._stale(owner, own))) > 0
        return dropped

    def lost(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Name files of this machine whose columns were to be kept, and are not."""
        return [f for f in files if self._owner(f.path).exists() > self._entry(f).exists()]

    def lacks(self, path: str) -> bool:
        """Whether there are no columns of a path or URL, of whatever state."""
        return next(self._of(self._owner(path)), None) is None

    @property
    def size_bytes(self) -> int:
        """What they take on disk."""
        return sum(size_of(entry) for entry in self.directory.glob("*.arrow"))

    def _stale(self, owner: Path, entries: list[Path]) -> list[Path]:
        try:
            path = os.fsdecode(owner.read_bytes())
        except OSError:  # another process removed it
            return []
        if "://" in path:
            old = [entry for entry in entries if age_s(entry) > UNUSED_S]
            gone = len(old) == len(entries) and age_s(owner) > UNUSED_S
            return [*old, owner] if gone else old
        source = look(path)
        if source is None:
            return [*entries, owner]
        kept = self._entry(source)
        return [entry for entry in entries if entry != kept]

    def _of(self, owner: Path) -> Iterator[Path]:
        return self.directory.glob(f"{owner.stem}-*.arrow")

    def _entry(self, source: SourceFile) -> Path:
        versions = f"{SYNCTAX} {store.PARSER_VERSION} {store.FORMAT_VERSION}"
        state = f"{source.state} {versions}"
        return self.directory / f"{digest(source.path)}-{digest(state)}.arrow"

    def _owner(self, path: str) -> Path:
        return self.directory / f"{digest(path)}.source"
