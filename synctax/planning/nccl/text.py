"""Lines of logs, whatever they are compressed with, and the messages of NCCL in them.

NCCL begins each message with `host:pid:tid [GPU] NCCL INFO`. Launchers put prefixes before
it, terminals colours; processes that write into one file interrupt each other's lines.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from synctax.errors import BadInputError
from synctax.notes import Note
from synctax.trace.source import Damage, open_file, plain_blocks

LONGEST_LINE: Final = 2**16
"""Bytes of a line; NCCL's have at most 1,024, and progress bars no end."""

LARGEST_BYTES_WITHOUT: Final = 2**30
"""So much is read without a message of NCCL before a file is given up."""

_ESCAPE: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

_HEADER: Final = re.compile(
    r":(?P<pid>\d{1,9}):(?P<tid>\d{1,9}) \[(?P<gpu>-?\d{1,4})\]"
    r"(?: \S{1,200}){0,3}? NCCL (?P<level>INFO|WARN|TRACE|CALL)\b ?"
)

_HOST_LENGTH: Final = 253
_HOST_BACKWARDS: Final = re.compile(r"[^\s:\[\]<>(),/]+")

WHY: Final = {
    "nccl_file_empty": "files of a log that are empty",
    "nccl_lines_joined": "lines that hold messages of several processes",
    "nccl_line_long": f"lines of more than {LONGEST_LINE:,} bytes, cut there",
    "nccl_line_unreadable": "messages that are cut off, or of a form that is not known",
    "nccl_link_unplaced": "lines whose communicator cannot be told",
    "nccl_communicator_partial": "communicators some of whose ranks no log tells of",
    "nccl_communicator_mixed": "communicators that cannot be told from others as large",
    "nccl_rank_unfinished": "ranks that began a communicator and did not finish",
    "nccl_ring_cut": "rings that the log tells a part of",
    "nccl_warning": "warnings of NCCL",
}


@dataclass(slots=True)
class Tally:
    """What was left out or repaired, and where first."""

    count: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    detail: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, where: str = "", detail: str = "") -> None:
        """Count one more."""
        self.count[reason] += 1
        # the least of all places, so that the order of lines and files changes nothing
        if where and (reason not in self.first or where < self.first[reason]):
            self.first[reason] = where
            self.detail[reason] = detail or WHY.get(reason, "")

    def notes(self) -> tuple[Note, ...]:
        """Write them, in order of their names."""
        return tuple(
            Note(reason, count, self.detail.get(reason, WHY.get(reason, "")), where)
            for reason, count in sorted(self.count.items())
            for where in (self.first.get(reason, ""),)
        )


class Message(NamedTuple):
    """One message of NCCL.

    Parameters
    ----------
    host : str
    pid, tid : int
    gpu : int
        CUDA device of the thread.
    level : str
    text : str
    path : str
        File, with the number of its line.
    number : int
    torn : bool
        Whether it interrupted another's line, whose rest may stick to its host: no line
        before began with that.
    whole : bool
        Whether its line goes to its end, and not to another message or to where the
        file was cut.
    """

    host: str
    pid: int
    tid: int
    gpu: int
    level: str
    text: str
    path: str
    number: int
    torn: bool
    whole: bool

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.path}, line {self.number}"


def messages(path: str, tally: Tally, hosts: set[str]) -> Iterator[Message]:
    """Yield the messages of a log.

    Parameters
    ----------
    path : str
    tally : Tally
        Told what was cut, joined or damaged.
    hosts : set of str
        Names of hosts that lines began with; it grows.

    Raises
    ------
    BadInputError
        If the file cannot be read or has no message of NCCL.
    """
    found = 0
    line = _Line(path, 0, "", ended=True)
    for line in _lines(path, tally):
        if "CCL " not in line.text:
            continue
        for message in _of(line, tally, hosts):
            found += 1
            yield message
    if line.number and not found:
        raise BadInputError(
            f"{path}: no line of NCCL in {line.number:,} lines; expected lines such as "
            "`host:1234:5678 [0] NCCL INFO ...`, as a job prints with NCCL_DEBUG=INFO"
        )


class _Line(NamedTuple):
    path: str
    number: int
    text: str
    ended: bool


def _of(line: _Line, tally: Tally, hosts: set[str]) -> Iterator[Message]:
    """Take a line apart into the messages that it holds."""
    text = _ESCAPE.sub("", line.text) if "\x1b" in line.text else line.text
    heads = [
        (before[0][::-1], head)
        for head in _HEADER.finditer(text)
        if (before := _HOST_BACKWARDS.match(text[: head.start()][: -_HOST_LENGTH - 1 : -1]))
    ]
    if not heads:
        return
    hosts.add(heads[0][0])
    if len(heads) > 1:
        tally.add("nccl_lines_joined", f"{line.path}, line {line.number}")
        heads[1:] = [(known_host(host, hosts), head) for host, head in heads[1:]]
    for at, (host, head) in enumerate(heads):
        last = at == len(heads) - 1
        end = len(text) if last else heads[at + 1][1].start() - len(heads[at + 1][0])
        yield Message(
            host,
            int(head[1]),
            int(head[2]),
            int(head[3]),
            head[4],
            text[head.end() : end].strip(),
            line.path,
            line.number,
            torn=host not in hosts,
            whole=last and line.ended,
        )


def known_host(found: str, hosts: set[str]) -> str:
    """Take the end of another line off a host, if what is left is known to be one.

    Parameters
    ----------
    found : str
    hosts : set of str
        That are known.
    """
    return max((host for host in hosts if found.endswith(host)), key=len, default=found)


def _lines(path: str, tally: Tally) -> Iterator[_Line]:
    damage, held, number, size = Damage(), b"", 0, 0
    seen = False
    with open_file(path) as file:
        for block in plain_blocks(file, damage):
            seen = seen or b"CCL " in block
            size += len(block)
            if size > LARGEST_BYTES_WITHOUT and not seen:
                raise BadInputError(
                    f"{path}: no line of NCCL in the first GiB; expected the log of a job "
                    "that ran with NCCL_DEBUG=INFO"
                )
            whole = (held + block).splitlines(keepends=True)
            held = b"" if whole[-1].endswith(b"\n") else whole.pop()
            for raw in whole:
                number += 1
                yield _line(path, number, raw, tally)
            # what a line holds beyond is dropped, so that its rest cannot fill memory
            held = held[: LONGEST_LINE + 1]
    if held:
        number += 1
        yield _line(path, number, held, tally)._replace(ended=False)
    if damage.reason:
        tally.add(damage.reason, path, damage.detail)
    elif not number:
        tally.add("nccl_file_empty", path)


def _line(path: str, number: int, raw: bytes, tally: Tally) -> _Line:
    if len(raw) > LONGEST_LINE:
        tally.add("nccl_line_long", f"{path}, line {number}")
    text = raw[:LONGEST_LINE].decode("utf-8", "replace").rstrip("\r\n")
    return _Line(path, number, text, len(raw) <= LONGEST_LINE)
