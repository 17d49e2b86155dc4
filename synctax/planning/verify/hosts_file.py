"""Which rank runs on which host: a CSV that a user writes."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.errors import BadInputError
from synctax.notes import Note
from synctax.planning.verify.host_names import same_hosts
from synctax.texts import counted
from synctax.trace.numbers import bounded
from synctax.trace.oddities import rank_text

COLUMNS: Final = ("rank", "host")
MORE_COLUMNS: Final = ("domain", "gpu")
_SHAPE: Final = "rank,host and, where known, domain and gpu"

LOG: Final = "the log of NCCL"
"""Source of what no user wrote."""

MOST_RANKS: Final = 2**22
"""A file that names more ranks is none of a job."""


@dataclass(frozen=True, slots=True, eq=False)
class HostMap:
    """What a file says of some ranks.

    Parameters
    ----------
    source : str
        The file.
    rank : (r,) int64
        Ascending, each once.
    host, domain : r strings
        A domain is empty where the file is silent.
    gpu : (r,) int64
        Number of the GPU on its host, -1 where the file is silent.
    """

    source: str
    rank: I64
    host: tuple[str, ...]
    domain: tuple[str, ...]
    gpu: I64


@dataclass(frozen=True, slots=True)
class _Line:
    """One rank of the file."""

    host: str
    domain: str
    gpu: int
    number: int


def read_hosts(path: str | Path) -> HostMap:
    """Read a CSV with the columns rank and host, and perhaps domain and gpu.

    A line may stand for several ranks of a host: `0-7,node-0`. Its `gpu` is then a range
    of as many (`0-7`) or empty.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    HostMap

    Raises
    ------
    BadInputError
        If the file cannot be read, lacks a column or a value or has others, says two
        things of one rank, or puts two ranks on one GPU.
    """
    source = str(path)
    found: dict[int, _Line] = {}
    for number, row in _rows(source):
        ranks, gpus = _ranks(row["rank"], source, number), _gpus(row, source, number)
        host = row["host"]
        if not host:
            raise BadInputError(
                f"line {number} of {source} names no host; expected {_SHAPE}"
            )
        if len(gpus) not in (0, len(ranks)):
            raise BadInputError(
                f"line {number} of {source} has {len(ranks):,} ranks and "
                f"{len(gpus):,} GPUs; give as many, or leave gpu empty"
            )
        for place, rank in enumerate(ranks):
            gpu = gpus[place] if gpus else ABSENT
            one = _Line(host, row.get("domain", ""), gpu, number)
            _add(found, rank, one, source)
    if not found:
        raise BadInputError(f"{source} has no line below its header; expected {_SHAPE}")
    _once(found, source)
    _in_one_domain(found, source)
    listed = sorted(found)
    return HostMap(
        source,
        np.array(listed, np.int64),
        tuple(found[rank].host for rank in listed),
        tuple(found[rank].domain for rank in listed),
        np.array([found[rank].gpu for rank in listed], np.int64),
    )


def _rows(source: str) -> list[tuple[int, dict[str, str]]]:
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
        # a quote that is never closed would swallow the lines below it
        reader = csv.reader(text.splitlines(), skipinitialspace=True, strict=True)
        lines = [(reader.line_num, [field.strip() for field in row]) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInputError(
            f"{source} cannot be read ({error}); expected a CSV with {_SHAPE}"
        ) from error
    lines = [(number, fields) for number, fields in lines if any(fields)]
    columns = [name.lower() for name in lines[0][1]] if lines else []
    _check_columns(columns, source)
    rows = []
    for number, fields in lines[1:]:
        if len(fields) > len(columns):
            raise BadInputError(
                f"line {number} of {source} has {len(fields)} fields, and its header "
                f"{len(columns)}: {','.join(columns)}"
            )
        silent = dict.fromkeys(columns, "")
        rows.append((number, silent | dict(zip(columns, fields, strict=False))))
    return rows


def _check_columns(columns: list[str], source: str) -> None:
    """Refuse a name that is none: a domain spelled wrong would be no domain at all."""
    if not set(COLUMNS) <= set(columns):
        raise BadInputError(
            f"{source} has the columns {','.join(columns) or '(none)':.200}; expected "
            f"{_SHAPE}, with commas between"
        )
    for at, name in enumerate(columns):
        if name not in (*COLUMNS, *MORE_COLUMNS):
            raise BadInputError(
                f"{source} has the column {name!r:.40}; expected {_SHAPE} and no other"
            )
        if name in columns[:at]:
            raise BadInputError(f"{source} has the column {name} twice")


def _ranks(text: str, source: str, number: int) -> range:
    found = _range(text)
    if found is None or not found or len(found) > MOST_RANKS:
        raise BadInputError(
            f"line {number} of {source} has the rank {text!r:.40}; expected a number such "
            "as 12, or a range such as 0-7"
        )
    return found


def _gpus(row: dict[str, str], source: str, number: int) -> range:
    text = row.get("gpu", "")
    found = _range(text) if text else range(0)
    if found is None:
        raise BadInputError(
            f"line {number} of {source} has the gpu {text!r:.40}; expected the number of "
            "the GPU on its host, such as 3, or a range such as 0-7"
        )
    return found


def _range(text: str) -> range | None:
    first, dash, last = text.partition("-")
    low = bounded(first.strip(), MOST_RANKS)
    high = bounded(last.strip(), MOST_RANKS) if dash else low
    return None if low is None or high is None else range(low, high + 1)


def _add(found: dict[int, _Line], rank: int, line: _Line, source: str) -> None:
    before = found.setdefault(rank, line)
    if (before.host, before.domain, before.gpu) != (line.host, line.domain, line.gpu):
        raise BadInputError(
            f"lines {before.number} and {line.number} of {source} place rank {rank} on "
            f"{before.host} and {line.host}; a rank runs on one GPU"
        )


def _once(found: dict[int, _Line], source: str) -> None:
    """Refuse two ranks on one GPU."""
    stands = same_hosts(line.host for line in found.values())
    seen: dict[tuple[str, int], int] = {}
    for rank in sorted(found):
        line = found[rank]
        if line.gpu == ABSENT:
            continue
        other = seen.setdefault((stands[line.host], line.gpu), rank)
        if other != rank:
            raise BadInputError(
                f"lines {found[other].number} and {line.number} of {source} place ranks "
                f"{other} and {rank} on GPU {line.gpu} of {line.host}; a GPU runs one rank"
            )


def _in_one_domain(found: dict[int, _Line], source: str) -> None:
    """Refuse a host in two domains, and names of domains that differ by case only."""
    stands = same_hosts(line.host for line in found.values())
    of_host: dict[str, _Line] = {}
    spelled: dict[str, _Line] = {}
    for rank in sorted(found):
        line = found[rank]
        if not line.domain:
            continue
        before = of_host.setdefault(stands[line.host], line)
        if before.domain != line.domain:
            raise BadInputError(
                f"lines {before.number} and {line.number} of {source} put host {line.host} "
                f"into the domains {before.domain} and {line.domain}; a host is in one"
            )
        other = spelled.setdefault(line.domain.casefold(), line)
        if other.domain != line.domain:
            raise BadInputError(
                f"lines {other.number} and {line.number} of {source} spell a domain "
                f"{other.domain} and {line.domain}; spell it in one way"
            )


def of_job(given: HostMap, world: int | None) -> tuple[HostMap, tuple[Note, ...]]:
    """Keep what a file says of the ranks that a job has.

    Parameters
    ----------
    given : HostMap
    world : int or None
        Ranks of the job.

    Returns
    -------
    HostMap, tuple of Note
        The note counts the ranks that the job does not have.

    Raises
    ------
    BadInputError
        If the file names such ranks and not all of the job's: it counts otherwise, or is
        of another job.
    """
    if world is None or not given.rank.size or given.rank[-1] < world:
        return given, ()
    keep = np.flatnonzero(given.rank < world)
    missing = world - keep.size
    if missing:
        raise BadInputError(
            f"{given.source} names the ranks {rank_text(given.rank.tolist()):.60} and the "
            f"job has 0-{world - 1}: {counted(missing, 'rank')} of it not named; expected "
            "ranks as the job numbers them, from 0"
        )
    beyond = given.rank.size - keep.size
    text = f"ranks in {given.source} that the job of {counted(world, 'rank')} does not have"
    return _some(given, keep), (Note("hosts_beyond_job", beyond, text),)


def _some(given: HostMap, keep: I64) -> HostMap:
    at = keep.tolist()
    return HostMap(
        given.source,
        given.rank[keep],
        tuple(given.host[one] for one in at),
        tuple(given.domain[one] for one in at),
        given.gpu[keep],
    )


def completed(given: HostMap | None, more: HostMap | None) -> HostMap | None:
    """Fill in what a user's file leaves open: all of it, or the domains of hosts.

    Parameters
    ----------
    given : HostMap or None
        Goes before `more`.
    more : HostMap or None
    """
    if given is None or more is None or any(given.domain):
        return more if given is None else given
    domain = dict(zip(more.rank.tolist(), more.domain, strict=True))
    named = tuple(domain.get(rank, "") for rank in given.rank.tolist())
    return replace(given, domain=named)
