"""Names and order of the processes and threads of a rank."""

from collections.abc import Iterator
from typing import Any

import orjson

from synctax.collectives.model import RankCollectives
from synctax.overlay.drawn import clean, label_text, process_of
from synctax.overlay.rewrite import PIDS_A_RANK, RankPiece

OWN_NAME = "synctax"
"""Name of the process that waits and paths of a rank are drawn in."""

_REWRITTEN = ("process_name", "process_labels", "process_sort_index")


def rank_labels(position: int, one: RankCollectives, piece: RankPiece) -> Iterator[bytes]:
    """Name the processes of a rank so that ranks lie in order.

    What is drawn comes first, then processes in the order CPU, GPUs, others.
    """
    rank = f"rank {one.rank}" if one.rank >= 0 else "rank"
    rank += f" [{one.window}]" if one.window else ""
    told = {(name, pid): _args(args) for name, pid, _, args in piece.labels}
    own = process_of(position)
    names = [(own, OWN_NAME, one.host)]
    for pid, text in sorted(_shown(piece), key=lambda pair: _order(told, pair)):
        label = _text(told.get(("process_labels", pid), {}).get("labels"))
        name = _text(told.get(("process_name", pid), {}).get("name")) or _text(
            orjson.loads(text or '""')
        )
        on_gpu = label.upper().startswith("GPU")
        names.append((pid, label if on_gpu else name or "process", "" if on_gpu else label))
    for order, (pid, name, label) in enumerate(names):
        title = clean(f"{rank}: {name}".encode("utf-8", "replace").decode())
        yield label_text("process_name", pid, 0, {"name": title})
        index = position * PIDS_A_RANK + order
        yield label_text("process_sort_index", pid, 0, {"sort_index": index})
        if label:
            yield label_text("process_labels", pid, 0, {"labels": clean(label)})
    yield from _threads(piece)


def _threads(piece: RankPiece) -> Iterator[bytes]:
    named = set()
    for name, pid, tid, args in piece.labels:
        if name in _REWRITTEN:
            continue
        own = _args(args)
        if name == "thread_name":
            if not _text(own.get("name")):
                continue
            named.add(tid)
            own = {"name": clean(_text(own["name"]))}
        yield label_text(clean(name), pid, tid, own)
    for tid, pid, text in piece.tids:
        if tid in piece.shown and tid not in named:
            own_text = _text(orjson.loads(text or '""'))
            title = own_text if text.startswith('"') else f"thread {own_text}"
            yield label_text("thread_name", pid, tid, {"name": clean(title) or "thread"})


def _shown(piece: RankPiece) -> list[tuple[int, str]]:
    return [(pid, text) for pid, text in piece.pids if pid in piece.shown]


def _order(
    told: dict[tuple[str, int], dict[str, Any]], pair: tuple[int, str]
) -> tuple[int, int]:
    """CPU processes, then GPUs, then what is no process; else as they came."""
    pid, text = pair
    label = _text(told.get(("process_labels", pid), {}).get("labels")).upper()
    if text.startswith('"'):
        return 2, pid
    return int(label.startswith("GPU")), pid


def _args(text: str) -> dict[str, Any]:
    value = orjson.loads(text)
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int, float)) else ""
