"""Paths, folders, patterns, URLs and manifests → the trace files they hold.

Nothing is decoded here: a look at the first bytes tells a trace from what only lies
beside traces.
"""

import glob
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from synctax.errors import BadInputError
from synctax.trace.filenames import bare_ranks, read_name
from synctax.trace.folders import walk
from synctax.trace.remote import LOOKS_AT_A_TIME, URL, files_of
from synctax.trace.sniff import Format, sniff

MANIFEST_COLUMNS = ("file", "rank", "host")

_TRACE_NAME = re.compile(
    r"\.(json|gz|zst|zstd|trace|pftrace|perfetto-trace)$", re.IGNORECASE
)
_UNFINISHED = re.compile(r"\.(tmp|part|partial|crdownload)$", re.IGNORECASE)
_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|tgz|zip|7z|xz|bz2)$", re.IGNORECASE)
_COMPANIONS = (
    Format.EXECUTION_TRACE,
    Format.STACKS,
    Format.MEMORY_SNAPSHOT,
    Format.SYNTH_TRUTH,
    Format.RECORD_NOTES,
    Format.OTHER_JSON,
    Format.TEXT,
)
_OWN = (Format.SYNTH_TRUTH, Format.RECORD_NOTES)


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A file that looks like a trace, and what its path or the user says of it.

    Parameters
    ----------
    path : str
        As the user will recognise it; a URL for remote files.
    size_bytes : int
        Size on disk, compressed or not.
    rank_from_name : int or None
        Global rank in the file or folder name.
    host_from_name : str
        Host in the file name, or the folder that stands for one; else empty.
    pid_from_name : int or None
        Process id in the file name.
    window : str
        Window that the path names (`iteration_100`); else empty.
    rank_given, host_given
        What the manifest says; None and empty where it is silent.
    place : tuple of (str, int)
        Coordinates in the name that are no global rank: `(("tp", 3),)`.
    """

    path: str
    size_bytes: int
    rank_from_name: int | None = None
    host_from_name: str = ""
    pid_from_name: int | None = None
    window: str = ""
    rank_given: int | None = None
    host_given: str = ""
    place: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is left out: why, and what the user can do about it.

    A `companion` lies beside traces by nature (execution traces, stacks, other JSON);
    what is none may be the trace of a rank that is now missing.
    """

    path: str
    reason: str
    remedy: str = ""
    companion: bool = False


_PASSED_OVER = Skipped("", "holds the answers to a made-up job")
"""Stands for a file that nobody needs to hear of."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found: traces, files left out, and how many files were never candidates."""

    files: tuple[TraceFile, ...]
    skipped: tuple[Skipped, ...] = ()
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    path: str
    size_bytes: int
    named: bool
    """The user named this very file (so it is never passed over in silence)."""
    rank: int | None = None
    host: str = ""


def natural_key(path: str) -> tuple[tuple[int, int, str], ...]:
    """Order paths as people do: `rank2` before `rank10`.

    >>> sorted(["rank10", "rank2"], key=natural_key)
    ['rank2', 'rank10']
    """
    return tuple(
        (0, int(part), part) if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", path)
        if part
    )


Targets = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def discover(targets: Targets, *, manifest: str | None = None) -> Discovery:
    """Find the trace files of folders, files, patterns, URLs and a manifest.

    Folders are searched with all their subfolders, hidden ones excepted; a link to a folder
    is followed, unless it leads to one above or to one that is searched already. A file
    that is reached twice counts once. What `synth` writes beside its traces is passed over
    unless it is named. The result depends on neither the order of the targets
    nor that of the file system.

    Parameters
    ----------
    targets : path, or sequence of paths
        Folders, files, patterns (`run/*/rank*.json.gz`), `scheme://` URLs (these need
        fsspec), or `.csv` files, which are manifests.
    manifest : str, optional
        CSV with a header `file,rank,host` (`rank` and `host` may be absent or empty);
        its paths are relative to it. Its files are added to those of `targets`.

    Returns
    -------
    Discovery
        Files in natural order of their paths.

    Raises
    ------
    BadInputError
        If a target does not exist, cannot be read or holds no trace, or the manifest is
        malformed.
    """
    given = [targets] if isinstance(targets, str | os.PathLike) else targets
    paths = [os.fspath(target) for target in given]
    manifests = [path for path in paths if path.lower().endswith(".csv")]
    found: list[_Found] = []
    ignored = 0
    for name in [*manifests, *([manifest] if manifest else [])]:
        found += _read_manifest(name)
    for path in paths:
        here = [] if path in manifests else list(_expand(path))
        candidates = [one for one in here if one.named or _is_candidate(one.path)]
        ignored += len(here) - len(candidates)
        found += candidates
    files: list[TraceFile] = []
    skipped: list[Skipped] = []
    once = _once(found)
    for one, reason in zip(once, _reasons(once), strict=True):
        if reason is None:
            files.append(_trace_file(one))
        elif reason is not _PASSED_OVER:
            skipped.append(reason)
    if not files:
        raise BadInputError(_nothing_found(paths, skipped, ignored))
    return Discovery(tuple(_with_bare_ranks(files)), tuple(skipped), ignored)


def _expand(target: str) -> Iterator[_Found]:
    if URL.match(target):
        yield from _expand_url(target)
    elif Path(target).is_dir():
        for path in walk(target):
            yield from _in_folder(path)
    elif Path(target).exists():
        size_bytes = _size(target)
        if not Path(target).is_file():
            raise BadInputError(
                f"{target} is a pipe or a device, and a trace is looked at more than once; "
                "save it to a file first"
            )
        yield _Found(os.path.normpath(target), size_bytes, named=True)
    elif glob.has_magic(target):
        matches = glob.glob(target, recursive=True)  # noqa: PTH207 - may be absolute
        if not matches:
            raise BadInputError(
                f"no file matches {target}; check the pattern, or give the folder itself"
            )
        for match in matches:
            yield from (replace(found, named=False) for found in _expand(match))
    else:
        raise BadInputError(f"{target} does not exist; give a folder, files or a pattern")


def _in_folder(path: Path) -> Iterator[_Found]:
    if path.is_file():
        yield _Found(os.path.normpath(path), _size(str(path)), named=False)
    elif path.is_symlink() and not path.exists():
        # Left to fail in reading: a rank that is missing is worth a word.
        yield _Found(os.path.normpath(path), 0, named=False)


def _expand_url(target: str) -> Iterator[_Found]:
    for file in files_of(target):
        yield _Found(file.url, file.size_bytes, file.named)


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be read ({error.strerror}); check its permissions"
        ) from error


def _read_manifest(manifest: str) -> list[_Found]:
    try:
        text = Path(manifest).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"the manifest {manifest} cannot be read ({error}); "
            "it should be a CSV file with the columns file,rank,host"
        ) from error
    import csv

    rows = csv.DictReader(text.splitlines(), skipinitialspace=True)
    columns = tuple(name.strip() for name in rows.fieldnames or ())
    if "file" not in columns or set(columns) - set(MANIFEST_COLUMNS):
        raise BadInputError(
            f"the manifest {manifest} has the columns {','.join(columns) or '(none)'}; "
            "its first line should be file,rank,host (rank and host may be left out)"
        )
    rows.fieldnames = columns
    return [_manifest_row(manifest, rows.line_num, row) for row in rows]


def _manifest_row(manifest: str, line: int, row: dict[str, str | None]) -> _Found:
    file, rank, host = ((row.get(name) or "").strip() for name in MANIFEST_COLUMNS)
    if not file or (rank and not re.fullmatch("[0-9]{1,9}", rank)):
        raise BadInputError(
            f"line {line} of the manifest {manifest} is {file!r} with rank {rank!r}; "
            "a line should be like rank3.json.gz,3,host-a with a rank of 0 or more"
        )
    remote = URL.match(file)
    path = file if remote else os.path.normpath(Path(manifest).parent / file)
    if not remote and not Path(path).is_file():
        raise BadInputError(
            f"line {line} of the manifest {manifest} names {path}, which is no file; "
            "paths are relative to the manifest"
        )
    size = next(_expand_url(path)).size_bytes if remote else _size(path)
    return _Found(path, size, named=True, rank=int(rank) if rank else None, host=host)


def _is_candidate(path: str) -> bool:
    return any(known.search(path) for known in (_TRACE_NAME, _UNFINISHED, _ARCHIVE))


def _once(found: list[_Found]) -> list[_Found]:
    """Drop repeated files; what a manifest says of one is kept."""
    same: defaultdict[str, list[_Found]] = defaultdict(list)
    for one in found:
        same[one.path if URL.match(one.path) else os.path.realpath(one.path)].append(one)
    return sorted(
        (_merged(ones) for ones in same.values()), key=lambda f: natural_key(f.path)
    )


def _merged(ones: list[_Found]) -> _Found:
    ranks = sorted({one.rank for one in ones if one.rank is not None})
    hosts = sorted({one.host for one in ones if one.host})
    path = min((one.path for one in ones), key=natural_key)
    if len(ranks) > 1 or len(hosts) > 1:
        raise BadInputError(
            f"the manifest gives {path} the ranks {ranks} and the hosts {hosts}; "
            "a file belongs to one rank on one host"
        )
    return _Found(
        path,
        ones[0].size_bytes,
        any(one.named for one in ones),
        ranks[0] if ranks else None,
        hosts[0] if hosts else "",
    )


def _reasons(found: Sequence[_Found]) -> list[Skipped | None]:
    """Say of each file why it is left out; a look at one of a store takes its time."""
    if not any(URL.match(one.path) for one in found):
        return [_why_not(one) for one in found]
    from concurrent.futures import ThreadPoolExecutor  # only where files are far away

    with ThreadPoolExecutor(LOOKS_AT_A_TIME) as threads:
        return list(threads.map(_why_not, found))


def _why_not(found: _Found) -> Skipped | None:
    if _UNFINISHED.search(found.path):
        return Skipped(
            found.path,
            "is still being written, or was left by a run that was killed",
            "wait for the profiler to rename it; rename it yourself to read what is there",
        )
    if _ARCHIVE.search(found.path):
        return Skipped(found.path, "is an archive", "unpack it and give the folder")
    try:
        kind = sniff(found.path)
    except BadInputError:
        return None  # reading it will fail too, and be told as a trace that is broken
    if kind.is_trace or kind.format is Format.EMPTY:
        return None
    if kind.format in _OWN and not found.named:
        return _PASSED_OVER
    reason, _, remedy = kind.sentence.removeprefix("it ").partition(": ")
    return Skipped(found.path, reason, remedy, companion=kind.format in _COMPANIONS)


def _trace_file(found: _Found) -> TraceFile:
    clues = read_name(found.path)
    return TraceFile(
        path=found.path,
        size_bytes=found.size_bytes,
        rank_from_name=clues.rank,
        host_from_name=clues.host,
        pid_from_name=clues.pid,
        window=clues.window,
        rank_given=found.rank,
        host_given=found.host,
        place=clues.place,
    )


def _with_bare_ranks(files: list[TraceFile]) -> list[TraceFile]:
    """Take the numbers that end like-named neighbours as ranks if they are 0 to n-1."""
    bare: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for file in files:
        clue = read_name(file.path).bare
        if clue:
            bare[str(PurePath(file.path).parent), clue[0]][file.path] = clue[1]
    ranks: dict[str, int] = {}
    for numbers in bare.values():
        if bare_ranks(list(numbers.values())):
            ranks |= numbers
    return [
        replace(file, rank_from_name=ranks[file.path]) if file.path in ranks else file
        for file in files
    ]


def _nothing_found(targets: Sequence[str], skipped: list[Skipped], ignored: int) -> str:
    where = ", ".join(targets) or "what was given: no path, or an empty manifest"
    if not skipped:
        lies = f"{ignored} other files" if ignored else "no file at all"
        return (
            f"no trace in {where}: it holds {lies}; expected PyTorch-profiler traces "
            "(.json, .json.gz, .json.zst), as tensorboard_trace_handler writes them"
        )
    shown = "; ".join(
        f"{'it' if s.path == where else s.path} {s.reason}"
        + (f": {s.remedy}" if s.remedy else "")
        for s in skipped[:3]
    )
    more = f"; and {len(skipped) - 3} more" if len(skipped) > 3 else ""
    return f"no trace in {where}: {shown}{more}"
