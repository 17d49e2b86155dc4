"""torch.profiler, set up the way synctax reads its traces best, for one window."""

import gzip
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.profiler

from synctax.record.names import part_path
from synctax.record.parts import remove_dead, workplace

GZIP_LEVEL = 6
"""A third smaller than level 4 in the same time; level 9 takes three times as long."""
CHUNK_BYTES = 1 << 20
TAIL_BYTES = 1 << 12
"""Kineto writes the name of its file at the end."""

_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.)")
_PLAIN = {'"': "'", "\\": "/"}
_LOG_LEVEL = "KINETO_LOG_LEVEL"
_DEVICES = {"CUDA": "cuda", "XPU": "xpu"}
"""Activities beside those of the CPU, and the module of torch that knows the devices."""


class KinetoWindow:
    """One window of torch.profiler: prepare, start, mark steps, stop, save.

    Parameters
    ----------
    record_shapes, with_stack : bool
        As in `torch.profiler`.
    """

    def __init__(self, *, record_shapes: bool, with_stack: bool) -> None:
        config, self.any_thread = _config(with_stack=with_stack)
        self.missing = ""
        """What this version of torch does not record; empty if all is recorded."""
        more = {} if config is None else {"experimental_config": config}
        if config is None:
            self.missing = f"torch {torch.__version__} records no synchronisation of GPUs"
        self._profiler = torch.profiler.profile(
            activities=activities(),
            record_shapes=record_shapes,
            with_stack=with_stack,
            **more,
        )
        self._range: Any = None
        self.prepared = self.started = False

    def prepare(self) -> None:
        """Let devices collect already: the first step is then as slow as the others."""
        with quiet():
            self._profiler.prepare_trace()
        # Python objects of all events, which old versions make at once, take minutes
        self._profiler.profiler._parse_kineto_results = _nothing  # noqa: SLF001
        self.prepared = True

    def start(self) -> None:
        """Record from here on."""
        self._profiler.start_trace()
        self.started = True

    def mark(self, number: int | None) -> None:
        """End the range of the step before, and begin that of a step, if any."""
        if self._range is not None:
            self._range.__exit__(None, None, None)
            self._range = None
        if number is not None:
            self._range = torch.profiler.record_function(f"ProfilerStep#{number}")
            self._range.__enter__()

    def note(self, key: str, value: object) -> None:
        """Add a key to the head of the trace.

        Kineto writes a slash for each backslash; what JSON would escape is replaced.
        """
        text = (
            json.dumps(value, ensure_ascii=False, default=int)
            .encode("utf-8", "replace")
            .decode()
        )
        plain = _ESCAPE.sub(lambda found: _PLAIN.get(found[1], " "), text)
        self._profiler.add_metadata_json(key, plain)

    def stop(self, *, wait: bool = True) -> None:
        """Record no more. A step whose range is open is marked as not finished.

        Parameters
        ----------
        wait : bool
            For devices to do what was launched. A collective whose other ranks are gone
            does not end.
        """
        if self.started:
            self.started = self.prepared = False
            if not wait:
                self._profiler.profiler.use_device = None
            self._profiler.stop_trace()
        self.mark(None)

    def discard(self) -> None:
        """Leave torch as it was, with nothing prepared or running."""
        if self.prepared and not self.started:
            self.start()
        self.stop(wait=False)
        self._forget()

    def _forget(self) -> None:
        """Free what was recorded, and the process groups that its events hold."""
        # not when Python collects cycles: the threads of a group end with it
        self._profiler.profiler = None

    def save(self, path: Path) -> None:
        """Write the trace, compressed, under a name that appears when it is whole.

        Raises
        ------
        OSError
            If there is no room, or no right to write.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_dead(path)
        part = part_path(path, os.getpid())
        try:
            with workplace(path.parent) as folder:
                plain = folder / path.name.removesuffix(".gz")
                self._profiler.export_chrome_trace(str(plain))
                compress(plain, part)
                part.replace(path)
        finally:
            part.unlink(missing_ok=True)
            self._forget()


def _config(*, with_stack: bool) -> tuple[Any, bool]:
    """Make what old versions of torch do not know; and tell whether all threads record.

    With all threads, a thread that is not blocked can end the window of one that is.
    """
    make = getattr(torch._C._profiler, "_ExperimentalConfig", None)  # noqa: SLF001
    # no Python object for each event, as nobody looks at them; stacks need them
    spare = {} if with_stack else {"trace_only": True}
    for wanted in (
        {"profile_all_threads": True, **spare},
        {"profile_all_threads": True},
        {},
    ):
        try:
            if make is not None:
                return make(enable_cuda_sync_events=True, **wanted), bool(wanted)
        except TypeError:
            continue
    return None, False


def activities() -> list[Any]:
    """List what there is to record: the CPU, and devices that are there."""
    kinds = torch.profiler.ProfilerActivity
    supported = torch.profiler.supported_activities()
    found = [kinds.CPU]
    for name, module in _DEVICES.items():
        kind = getattr(kinds, name, None)
        devices = getattr(torch, module, None)
        if kind in supported and devices is not None and devices.is_available():
            found.append(kind)
    return found


def synchronize() -> None:
    """Wait until the devices that this process uses have done what was launched."""
    for module in _DEVICES.values():
        devices = getattr(torch, module, None)
        if devices is not None and devices.is_initialized():
            devices.synchronize()


def compress(plain: Path, packed: Path) -> None:
    """Compress a trace; in its tail, name it by its own name.

    Raises
    ------
    OSError
        If the trace is not whole: torch does not tell when the disk is full.
    """
    size = plain.stat().st_size if plain.exists() else 0
    head = max(size - TAIL_BYTES, 0)
    with (
        plain.open("rb") as source,
        gzip.open(packed, "xb", compresslevel=GZIP_LEVEL) as target,
    ):
        _copy(source, target, head)
        tail = source.read()
        if not tail.rstrip().endswith(b"}"):
            raise OSError(
                f"torch wrote no whole trace in {plain.parent} (is the disk full?)"
            )
        target.write(tail.replace(str(plain).encode(), plain.name.encode()))


def _copy(source: Any, target: Any, size: int) -> None:
    while size > 0:
        chunk = source.read(min(size, CHUNK_BYTES))
        target.write(chunk)
        size -= len(chunk)


@contextmanager
def quiet() -> Iterator[None]:
    """Let Kineto, which reads this when it is first used, not write to stderr."""
    told = _LOG_LEVEL in os.environ
    os.environ.setdefault(_LOG_LEVEL, "99")
    try:
        yield
    finally:
        if not told:
            del os.environ[_LOG_LEVEL]


def _nothing(*_: object, **__: object) -> list[Any]:
    return []
