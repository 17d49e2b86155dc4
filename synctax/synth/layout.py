"""Where the files of a job lie, and how they are compressed."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

import zstandard

from synctax.synth.frame import Face
from synctax.synth.job import Compress, SynthJob
from synctax.synth.window import BASE_TIME_NS, START_NS

_GZIP_LEVEL = 6
_SUFFIX: dict[Compress, str] = {"none": "", "gz": ".gz", "zst": ".zst"}


class ByteSink(Protocol):
    """Anything that takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Take the next bytes."""


def trace_file(job: SynthJob, who: Face) -> str:
    """Path of a rank's trace below the output directory."""
    end = job.first_step + job.steps
    rank = who.rank
    names = {
        "torchtitan": f"profiling/traces/iteration_{end}/rank{rank}_trace.json",
        "torchtitan-old": f"profile_trace/iteration_{end}/rank{rank}_trace.json",
        "tensorboard": (
            f"{who.host_name}_{who.pid}.{BASE_TIME_NS + START_NS + rank}.pt.trace.json"
        ),
        "megatron": f"torch_profile/rank-{rank}.json",
        "flat": f"rank{rank}.json",
    }
    return names[job.layout] + _SUFFIX[job.compress]


def twin_file(job: SynthJob, who: Face) -> tuple[str, bytes] | None:
    """Path and text of the execution trace that Megatron writes beside each trace."""
    if job.layout != "megatron":
        return None
    text = b'{"schema": "1.1.1-chakra.0.0.4", "pid": %d, "nodes": []}\n' % who.pid
    return f"chakra/rank-{who.rank}.json{_SUFFIX[job.compress]}", text


@contextmanager
def compressed(file: IO[bytes], compress: Compress) -> Iterator[ByteSink]:
    """Compress what is written to a file; the same bytes whenever it is made."""
    if compress == "gz":
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as sink:
            yield sink
    elif compress == "zst":
        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as sink:
            yield sink
    else:
        yield file


def temporary(path: Path) -> Path:
    """Name a file while it is being written, so that nobody takes it for a trace."""
    return path.with_name(f".{path.name}.partial")
