"""What records a window: a profiler, delays, watches on the job's profilers and groups."""

import threading
from collections.abc import Callable
from typing import Any

from synctax.record.delay import Delay
from synctax.record.groups import Groups
from synctax.record.kineto import KinetoWindow, synchronize
from synctax.record.names import delays_path, trace_path
from synctax.record.others import Watch
from synctax.record.plan import Plan


class Instruments:
    """All that is put into a process to record it, and taken out again.

    Parameters
    ----------
    plan : Plan
    watch : Watch
    groups : Groups

    Attributes
    ----------
    window : KinetoWindow or None
        From when it is prepared until it is saved or dropped.
    marked : bool
        Whether a step has begun in it.
    """

    def __init__(self, plan: Plan, watch: Watch, groups: Groups) -> None:
        self._plan = plan
        self.watch = watch
        self.groups = groups
        self.window: KinetoWindow | None = None
        self.marked = False
        self._delay = Delay(*plan.delays) if plan.delays else None
        self._delaying = False
        self._thread = 0

    @property
    def can_stop(self) -> bool:
        """Whether this thread may end the window, if there is one."""
        return self.window is None or self.window.any_thread or self._is_here

    @property
    def delays(self) -> bool:
        """Whether there is anything to delay."""
        return self._delay is not None

    @property
    def _is_here(self) -> bool:
        return self._thread == threading.get_ident()

    def install(self) -> None:
        """Begin to watch the job."""
        self.watch.install()
        self.groups.install()

    def remove(self) -> None:
        """Watch no more."""
        self.watch.remove()
        self.groups.remove()

    # ------------------------------------------------------------------ the profiler

    def prepare(self) -> KinetoWindow:
        """Make a profiler ready, if none is."""
        if self.window is not None:
            return self.window
        plan = self._plan
        window = KinetoWindow(record_shapes=plan.record_shapes, with_stack=plan.with_stack)
        self._thread = threading.get_ident()
        with self.watch.own():
            window.prepare()
        self.window, self.marked = window, False
        return window

    def start(self) -> None:
        """Record from here on; what devices had to do before is done."""
        window = self.prepare()
        synchronize()
        self.groups.forget()
        with self.watch.own():
            window.start()

    def mark(self, window: KinetoWindow, step: int | None) -> None:
        """End the step before, and begin one, if any."""
        window.mark(step)
        self.marked = True

    def stop(self, window: KinetoWindow, about: Callable[[], Any], *, wait: bool) -> None:
        """Record no more, and add to the head of the trace what it is about.

        Parameters
        ----------
        window : KinetoWindow
        about : callable
            Makes the key `synctax`; called when the groups of the window are known.
        wait : bool
            For devices, if this is the thread that may.
        """
        self.window = None
        self.stop_delaying()
        try:
            self.groups.look()
            window.note("distributedInfo", self.groups.info())
            window.note("synctax", about())
        finally:
            with self.watch.own():
                window.stop(wait=wait and self._is_here)

    def save(self, window: KinetoWindow, end_step: int, rank: int) -> tuple[str, str]:
        """Write the trace, and what was delayed; return their paths below the folder.

        Raises
        ------
        OSError
            If there is no room, or no right to write.
        """
        folder, trace = self._plan.folder, trace_path(end_step, rank)
        window.save(folder / trace)
        if self._delay is None:
            return trace.as_posix(), ""
        delays = delays_path(end_step, rank)
        self._delay.write(folder / delays)
        return trace.as_posix(), delays.as_posix()

    def drop(self) -> None:
        """Forget what was recorded, if this thread may."""
        window = self.window
        if window is not None and self.can_stop:
            with self.watch.own():
                window.discard()
        self.window = None

    # ------------------------------------------------------------------ delays

    def begin_delaying(self, rank: int, step: int) -> None:
        """Put delays in, if there are any, from a step on."""
        if self._delay is not None:
            self._delay.rank = rank
            self._delay.step(step)
            self._delay.__enter__()
            self._delaying = True

    def delay_step(self, step: int) -> None:
        """Let the delays of a step begin."""
        if self._delay is not None:
            self._delay.step(step)

    def stop_delaying(self) -> None:
        """Take delays out."""
        if self._delay is not None and self._delaying:
            self._delaying = False
            self._delay.__exit__(None, None, None)
