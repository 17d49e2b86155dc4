"""What the path of a trace tells of its rank, host, process and window.

Launchers and frameworks name their files in a few ways; this module knows them and
nothing else. A number is a rank only where the name says so: iteration numbers, process
ids and times are never taken for one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

WINDOW_WORDS = ("iteration", "iter", "step", "epoch", "window", "cycle")

_NOT_GLOBAL = ("local", "node", "group", "tp", "pp", "dp", "cp", "ep")
_RANK = re.compile(
    r"(?:([a-z]+)[-_.])?(?<![a-z])rank[\[\-_. =]*(\d{1,6})(?!\d)", re.IGNORECASE
)
_WORKER = re.compile(r"(?<![a-z])worker[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_TORCHTUNE = re.compile(r"^r(\d{1,6})(?=[-_.]|$)", re.IGNORECASE)
_WINDOW = re.compile(
    rf"(?<![a-z])({'|'.join(WINDOW_WORDS)})s?[-_=. #]?(\d{{1,18}})(?!\d)", re.IGNORECASE
)
_PLACE = re.compile(r"(?<![a-z])(tp|dp|pp|ep|cp)[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_TENSORBOARD = re.compile(
    r"^(.+)_(\d{1,10})(?:\.\d{10,20})?\.pt\.trace\.json", re.IGNORECASE
)
_KINETO_DEFAULT = re.compile(r"^libkineto_[a-z_]*?(\d+)(?!\d)", re.IGNORECASE)
_SUFFIXES = re.compile(r"(?:\.(?:gz|zst|zstd|json|trace|pt|\d{10,20}))+$", re.IGNORECASE)
_BARE = re.compile(r"^(.*?)(?<!\d)(\d{1,6})$")
_BARE_REFUSED = re.compile(
    rf"(?:{'|'.join(WINDOW_WORDS)}|rank|pid|proc|v|part)s?[-_.=# ]*$", re.IGNORECASE
)
_HOST_FOLDER = re.compile(r"(?:node|host)[-_]?[\w.-]*\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NameClues:
    """What a path says; None or empty where it is silent.

    Parameters
    ----------
    rank : int or None
        Global rank.
    host : str
        Host name, or the folder that stands for a host (`node1`).
    pid : int or None
        Process id.
    window : str
        Which profiler window (`iteration_100`, `step_12`).
    place : tuple of (str, int)
        Coordinates that are no global rank: `(("tp", 3),)`.
    bare : (str, int) or None
        A number that ends the name and is said to be nothing, with what stands before
        it. It is a rank only if its neighbours make it one (see `bare_ranks`).
    """

    rank: int | None = None
    host: str = ""
    pid: int | None = None
    window: str = ""
    place: tuple[tuple[str, int], ...] = ()
    bare: tuple[str, int] | None = None


def read_name(path: str) -> NameClues:
    """Read the rank, host, process and window that a path names.

    Parameters
    ----------
    path : str
        Path or URL of a file; the file name counts before the folders, the nearest
        folder before those above.

    Returns
    -------
    NameClues

    Examples
    --------
    >>> read_name("traces/iteration_20/rank3_trace.json.gz").rank
    3
    >>> read_name("gpu-a7_19488.1698954910154219890.pt.trace.json").host
    'gpu-a7'
    """
    *folders, name = [part for part in re.split(r"[/\\]+", path) if part] or [""]
    place = tuple((axis.lower(), int(n)) for axis, n in _PLACE.findall(name))
    rank = _rank_in(name)
    host, pid = ("", None) if rank is not None or place else _process_in(name)
    for folder in reversed(folders):
        rank = _rank_in(folder) if rank is None and _is_rank_folder(folder) else rank
        host = folder if not host and _HOST_FOLDER.fullmatch(folder) else host
    return NameClues(
        rank=rank,
        host=host,
        pid=pid,
        window=next(filter(None, map(_window_in, [name, *reversed(folders)])), ""),
        place=place,
        bare=None if rank is not None or place or pid is not None else _bare_in(name),
    )


def bare_ranks(numbers: Sequence[int]) -> bool:
    """Tell whether the bare numbers of like-named neighbours are ranks.

    Iterations, process ids and times are hardly ever 0, 1, ..., n-1; ranks are.

    >>> bare_ranks([0, 2, 1]), bare_ranks([100, 200]), bare_ranks([0])
    (True, False, False)
    """
    return len(numbers) > 1 and sorted(numbers) == list(range(len(numbers)))


def _rank_in(name: str) -> int | None:
    for kind, digits in _RANK.findall(name):
        if kind.lower() not in _NOT_GLOBAL:
            return int(digits)
    found = _WORKER.search(name) or _TORCHTUNE.match(name)
    return int(found[1]) if found else None


def _is_rank_folder(folder: str) -> bool:
    return _RANK.fullmatch(folder.rstrip("]")) is not None


def _window_in(part: str) -> str:
    found = _WINDOW.search(part)
    if not found:
        return ""
    word = found[1].lower()
    return f"{'iteration' if word == 'iter' else word}_{int(found[2])}"


def _process_in(name: str) -> tuple[str, int | None]:
    found = _KINETO_DEFAULT.match(name)
    if found:
        return "", int(found[1])
    found = _TENSORBOARD.match(name)
    if found and not _BARE_REFUSED.search(found[1]):
        return found[1], int(found[2])
    return "", None


def _bare_in(name: str) -> tuple[str, int] | None:
    found = _BARE.match(_SUFFIXES.sub("", name))
    if not found or _BARE_REFUSED.search(found[1]):
        return None
    return found[1], int(found[2])
