"""Which rank runs on which host: a CSV that a user writes."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.errors import BadInputError
from synctax.trace.numbers import bounded

COLUMNS: Final = ("rank", "host")
MORE_COLUMNS: Final = ("domain", "gpu")
_SHAPE: Final = "rank,host and, where known, domain and gpu"

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
        If the file cannot be read, lacks a column or a value, or says two things of one
        rank.
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
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"{source} cannot be read ({error}); expected a CSV with {_SHAPE}"
        ) from error
    reader = csv.DictReader(text.splitlines(), skipinitialspace=True)
    columns = [name.strip().lower() for name in reader.fieldnames or ()]
    if not set(COLUMNS) <= set(columns):
        raise BadInputError(
            f"{source} has the columns {','.join(columns) or '(none)'}; expected {_SHAPE}"
        )
    reader.fieldnames = columns
    reader.restkey = "beyond"
    return [
        (reader.line_num, {name: (row.get(name) or "").strip() for name in columns})
        for row in reader
    ]


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
