"""Philly: `cluster_job_log`, one JSON list of jobs; without the list, a job a line.

A job has attempts; of any, start or end may be null, empty or the text `None`. It asks for
the GPUs of its first attempt. Times are those of the cluster's clock, US Pacific: records
of its machines name PDT and PST. The list is read job by job.

References
----------
M. Jeon et al., Analysis of large-scale multi-tenant GPU clusters for DNN training
workloads, USENIX ATC 2019; github.com/msr-fiddle/philly-traces.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import isnan, nan
from typing import Final

import msgspec

from synctax.cluster.convert import wanted
from synctax.cluster.convert.found import Job, Options, Tally, made
from synctax.cluster.convert.json_words import fault
from synctax.cluster.convert.lines import MOST_BYTES, Source, shown
from synctax.cluster.convert.reasons import (
    MALFORMED,
    NO_ATTEMPT,
    NO_END,
    NO_GPUS,
    NO_START,
    LeftOutError,
)
from synctax.cluster.convert.values import Clock
from synctax.errors import BadInputError

TIMEZONE: Final = "America/Los_Angeles"

KEYS: Final = ("jobid", "attempts")
"""What jobs of a log have, and no other trace."""

_BEGIN = re.compile(
    rb'\{\s*"(?:status|vc|jobid|attempts|submitted_time|user)"\s*:',
)
"""Where a job begins: attempts and their details have other keys."""

_BETWEEN = b" \t\r\n,"


class _Detail(msgspec.Struct):
    gpus: list[msgspec.Raw] | None = None


class _Attempt(msgspec.Struct):
    start_time: str | None = None
    end_time: str | None = None
    detail: list[_Detail] | None = None


class _Record(msgspec.Struct):
    jobid: str | None = None
    status: str | None = None
    submitted_time: str | None = None
    attempts: list[_Attempt] | None = None


_DECODE = msgspec.json.Decoder(_Record).decode


@dataclass(frozen=True, slots=True)
class Philly:
    """Logs of Philly's jobs."""

    name: str = "philly"
    title: str = "Philly cluster_job_log"
    clock: str | None = TIMEZONE

    def recognises(self, source: Source) -> bool:
        """Whether a file begins as a list of jobs with attempts."""
        return re.match(r"\s*\[?\s*\{", source.head) is not None and all(
            f'"{key}"' in source.head for key in KEYS
        )

    def read(
        self, sources: Sequence[Source], options: Options, tally: Tally
    ) -> Iterator[Job]:
        """Read the jobs of files.

        Raises
        ------
        BadInputError
            If a file is no list in JSON.
        """
        for source in sources:
            if re.match(r"\s*[\[{]", source.head) is None:
                raise BadInputError(
                    f"{source.path} is no {self.title}, which is a list in JSON; it begins "
                    f"{shown(source.first_line)}"
                )
            clock = Clock(options.timezone, tally)
            make = partial(_job, options=options, clock=clock, tally=tally)
            yield from made(_records(source, tally), make, tally)


def _records(source: Source, tally: Tally) -> Iterator[_Record | LeftOutError]:
    """Yield jobs, or why they are none; `tally` knows the line where each begins."""
    tally.file, line, rest = source.path, 1, b""
    for block in source.blocks(tally):
        rest += block
        begins = [found.start() for found in _BEGIN.finditer(rest)]
        for at, end in pairwise((0, *begins)):
            yield from _decoded(rest[at:end], line, tally)
            line += rest.count(b"\n", at, end)
        rest = rest[begins[-1] :] if begins else rest
        if len(rest) > MOST_BYTES:
            raise BadInputError(
                f"{source.path} has a job of more than {MOST_BYTES:,} bytes at line "
                f"{line:,}; is it Philly's cluster_job_log"
            )
    rest = rest.rstrip(_BETWEEN + b"\0")
    if source.head.lstrip().startswith("["):
        if not rest.endswith(b"]"):
            words = "lists of jobs that are not closed: cut off, perhaps"
            tally.note("list_not_closed", words)
        rest = rest.removesuffix(b"]")
    yield from _decoded(rest, line, tally)


def _decoded(text: bytes, line: int, tally: Tally) -> Iterator[_Record | LeftOutError]:
    body = text.removeprefix(b"\xef\xbb\xbf").lstrip(_BETWEEN + b"[")
    tally.line = line + text.count(b"\n", 0, len(text) - len(body))
    if not (body := body.rstrip(_BETWEEN)):
        return
    try:
        yield _DECODE(body)
    except (msgspec.DecodeError, RecursionError) as error:
        pieces = _values(body)
        if len(pieces) == 1:
            yield LeftOutError(MALFORMED, fault(error, body))
            return
        for piece in pieces:
            yield from _decoded(piece, tally.line, tally)


def _values(text: bytes) -> list[bytes]:
    """Split a text into the values of JSON that it is, and what is none at its end.

    It has several where a job begins with a key that no job of the format begins with.
    """
    read, found, at = json.JSONDecoder().raw_decode, [], 0
    characters = text.decode("utf-8", "replace")
    while at < len(characters):
        try:
            end = read(characters, at)[1]
        except (ValueError, RecursionError):
            end = len(characters)
        found.append(characters[at:end].encode())
        between = characters[end:]
        at = end + len(between) - len(between.lstrip(" \t\r\n,"))
    return found


def _job(
    record: _Record | LeftOutError, options: Options, clock: Clock, tally: Tally
) -> Job:
    if isinstance(record, LeftOutError):
        raise record
    attempts = record.attempts or []
    if not attempts:
        raise LeftOutError(NO_ATTEMPT)
    gpus = _gpus(attempts[0])
    passed = record.status == "Pass"
    wanted.check(options, gpus, passed=passed)
    if isnan(gpus):
        raise LeftOutError(NO_GPUS, "its first attempt has no detail")
    others = [_gpus(one) for one in attempts[1:]]
    if any(one not in (0, gpus) and not isnan(one) for one in others):
        tally.infer(
            "attempts_differ",
            "jobs whose later attempts have other numbers of GPUs: the first one's count",
        )
    submit_s = clock.seconds(record.submitted_time, "submitted_time")
    times = _times(attempts, clock, submit_s)
    starts = [begin for begin, _ in times if begin == begin]
    end_s = times[-1][1]
    if not starts:
        raise LeftOutError(NO_START)
    if end_s != end_s:
        raise LeftOutError(NO_END)
    duration_s = _duration(times, starts[0], options, tally)
    job_id = record.jobid or ""
    return Job(job_id, submit_s, gpus, duration_s, starts[0], end_s, passed)


def _gpus(attempt: _Attempt) -> float:
    """Count the GPUs of an attempt; NaN where it does not tell them."""
    lists = [one.gpus for one in attempt.detail or () if one.gpus is not None]
    return float(sum(map(len, lists))) if lists else nan


def _times(
    attempts: Sequence[_Attempt], clock: Clock, submit_s: float
) -> list[tuple[float, float]]:
    """Start and end of every attempt, NaN where not told."""
    last, times = submit_s, []
    for one in attempts:
        begin = clock.seconds(one.start_time, "start_time", last)
        last = begin if begin == begin else last
        end = clock.seconds(one.end_time, "end_time", last)
        last = end if end == end else last
        times.append((begin, end))
    return times


def _duration(
    times: Sequence[tuple[float, float]], first_s: float, options: Options, tally: Tally
) -> float:
    """Run time over all attempts, of which the first start and the last end are known."""
    whole = [end - begin for begin, end in times if end - begin == end - begin]
    if len(whole) < len(times):
        tally.infer(
            "attempts_incomplete",
            "jobs of which an attempt lacks its start or end: in a sum it does not count, "
            "unless none is whole, and then the span does",
        )
    if options.attempts == "span" or not whole:
        return round(times[-1][1] - first_s, 6)
    # a sum could hide an attempt that ends before it starts
    return min(whole) if min(whole) < 0 else round(sum(whole), 6)


PHILLY: Final = Philly()
