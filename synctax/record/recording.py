"""The window of a job that is recorded: when it opens, and what is written when it ends."""

import atexit
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from synctax.record.delay import Delay
from synctax.record.kineto import KinetoWindow, synchronize
from synctax.record.meet import Meeting, gather, stay_away
from synctax.record.others import Watch
from synctax.record.plan import Plan
from synctax.record.ranks import gloo_threads, who
from synctax.record.state import RankState, state_before, write_state
from synctax.record.trouble import TROUBLE, first_line

TRACE_SCHEMA = "synctax.recorded/1"

NEVER = sys.maxsize
LONGEST_PAUSE_STEPS = 64
"""While another profiler runs, the window is tried after 1, 2, 4, ... steps, up to this."""


class Recording:
    """One window of a training loop, recorded as a plan says; `profile` makes one.

    It is a context manager; `begin` and `end` do the same where a loop has no block to put
    it around. Whatever fails in it becomes a line on stderr and the `reason` of its
    `state`, and the job goes on.

    Parameters
    ----------
    plan : Plan
    say : callable, optional
        Takes what is to be told to a person, a line at a time; by default it goes to
        stderr as `synctax record: rank 1: ...`.

    Attributes
    ----------
    state : RankState
        How far this rank is; also in `folder/record/rankR.json`.

    Notes
    -----
    Outside the window a step costs one comparison of integers. A window that ends early,
    by the end of the loop, an exception or a profiler of the job, is written as far as it
    got, into the folder that is named after the step at which it was to end, with the
    traces of the other ranks.
    """

    def __init__(self, plan: Plan, *, say: Callable[[str], None] | None = None) -> None:
        self.plan = plan
        self._say_to = say
        self._whole_run = plan.step_by == "run"
        self._lead = 0 if self._whole_run else plan.skip + plan.warmup
        self._steps = 1 if self._whole_run else plan.steps
        self._who = who()
        self.state = RankState(
            self._who.rank, self._who.world_size, self._who.host, self._who.pid
        )
        self._seen = 0
        self._next = NEVER
        self._then: Callable[[], None] = self._prepare
        self._tries = 0
        self._window: KinetoWindow | None = None
        self._delay = Delay(*plan.delays) if plan.delays else None
        self._delaying = False
        self._meeting: Meeting | None = None
        self._met_at = -1
        self._watch = Watch(self._give_way)
        self._thread = 0
        self._begun = self._ended = self._inside = False
        self._asked: str | None = None

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.end("" if error is None else first_line(error))

    def begin(self) -> None:
        """Count steps from here.

        Steps count from 0; where this process recorded into the folder before, from where
        it stopped counting, so that all windows of a job have steps of their own.
        """
        if self._begun:
            return
        self._begun = True
        self._identify()
        before = state_before(self.plan.folder, self.state.rank)
        mine = before and (before.pid, before.host) == (self.state.pid, self.state.host)
        self._seen = before.steps_seen if before and mine else 0
        self._schedule(self._seen + self._lead)
        atexit.register(self.end)
        self._watch.install()
        self._guarded(self._save_state)
        if self._seen >= self._next:
            self._turn()

    def step(self) -> None:
        """End a training step: call it at the end of each, on all ranks."""
        self._seen += 1
        if self._seen >= self._next:
            self._turn()

    def end(self, reason: str = "") -> None:
        """End the loop; write the trace of a window that is still open.

        May be called more than once, and by a handler of signals.

        Parameters
        ----------
        reason : str
            Why the loop ended, where it did not end by itself.
        """
        if os.getpid() != self.state.pid or not self._begun or self._ended:
            return
        if self._inside or not self._can_stop():
            # what is being done comes first; another thread's profiler ends with its step
            self._asked, self._next = reason, 0
            return
        self._ended, self._next = True, NEVER
        self._guarded(lambda: self._close(reason))
        atexit.unregister(self.end)
        self._guarded(self._stop_delaying)
        self._watch.remove()

    def _can_stop(self) -> bool:
        window = self._window
        return window is None or window.any_thread or self._is_here

    @property
    def _is_here(self) -> bool:
        return self._thread == threading.get_ident()

    @property
    def _is_open(self) -> bool:
        return self.state.state == "recording"

    def _schedule(self, start: int) -> None:
        """Let the window begin after so many steps, and prepare it before."""
        warmup = min(self.plan.warmup, self._lead)
        self.state = replace(self.state, first_step=start, end_step=start + self._steps)
        self._then, self._next = self._prepare, start - warmup

    def _turn(self) -> None:
        """Do what is due now that a step has ended."""
        if os.getpid() != self.state.pid:
            self._next = NEVER  # a forked child has nothing to record
            return
        self._inside = True
        try:
            if self._asked is None:
                self._guarded(self._then)
        finally:
            self._inside = False
        if self._asked is not None:
            asked, self._asked = self._asked, None
            self.end(asked)

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except TROUBLE as error:
            self._give_up(first_line(error))

    def _prepare(self) -> None:
        self._identify()
        if self._delay is not None:
            self._delay.rank = self.state.rank
            self._delay.step(self._seen)
            self._delay.__enter__()
            self._delaying = True
        if not self._watch.busy():
            self._make_ready()
        self._then, self._next = self._warm, self._seen + 1
        self._begin_if_due()

    def _make_ready(self) -> KinetoWindow:
        plan = self.plan
        window = KinetoWindow(record_shapes=plan.record_shapes, with_stack=plan.with_stack)
        if window.missing and self.state.rank == 0:
            self._say(window.missing)
        self._thread = threading.get_ident()
        with self._watch.own():
            window.prepare()
        self._window = window
        return window

    def _warm(self) -> None:
        self._next = self._seen + 1
        if self._delay is not None:
            self._delay.step(self._seen)
        self._begin_if_due()

    def _begin_if_due(self) -> None:
        if self._seen < self.state.first_step:
            return
        self._identify()
        busy = self._watch.busy()
        self._tell(state="recording")
        if not busy:
            window = self._window or self._make_ready()
            synchronize()
            with self._watch.own():
                window.start()
        meeting = self._meet(ready=not busy)
        if busy or (meeting.complete and meeting.busy):
            self._postpone(here=busy)
            return
        words = "" if self._whole_run or not self.plan.meet_timeout_s else meeting.words()
        if words:
            self._say(words)
        self.state = replace(self.state, reason=words, met=meeting.met)
        window.mark(self._seen)
        self._then = lambda: self._mark(window)
        self._next = NEVER if self._whole_run else self._seen + 1

    def _meet(self, *, ready: bool) -> Meeting:
        last, step, self._met_at = self._meeting, self._seen, self._seen
        if last is not None and not last.complete:
            # whom others did not wait for does not wait for them again
            return replace(last, busy=int(not ready))
        timeout_s = self.plan.meet_timeout_s
        self._meeting = gather(self._who, step, ready=ready, timeout_s=timeout_s)
        return self._meeting

    def _postpone(self, *, here: bool) -> None:
        self._drop()
        self._stop_delaying()
        if self._tries == 0 and (here or self.state.rank == 0):
            where = "this rank" if here else "another rank"
            self._say(f"the job's own profiler is running on {where}; waiting for its end")
        pause = min(2**self._tries, LONGEST_PAUSE_STEPS)
        self._tries += 1
        self._schedule(self._seen + pause + min(self.plan.warmup, self._lead))
        self._tell(state="waiting", reason="the job's own profiler is running")

    def _mark(self, window: KinetoWindow) -> None:
        if self._seen >= self.state.end_step:
            self._finish(window, "")
            return
        self._next = self._seen + 1
        window.mark(self._seen)
        if self._delay is not None:
            self._delay.step(self._seen)

    def _finish(self, window: KinetoWindow, reason: str) -> None:
        """End the window, and write what was recorded."""
        self._next, self._window = NEVER, None
        planned = self.state.end_step
        end_step = self._seen if reason or not self._whole_run else planned
        if not reason:
            window.mark(None)
        self._stop_delaying()
        if not self._who.has_group:
            self._identify()
        try:
            window.note_rank(self._who)
            window.note("synctax", self._about(end_step, reason))
        finally:
            with self._watch.own():
                window.stop(wait=self._is_here)
        rank, folder = self.state.rank, Path(f"iteration_{planned}")
        trace, delays = folder / f"rank{rank}_trace.json.gz", ""
        window.save(self.plan.folder / trace)
        if self._delay is not None:
            delays = (folder / f"rank{rank}_delays.json").as_posix()
            self._delay.write(self.plan.folder / delays)
        self._tell(
            state="cut" if reason else "written",
            reason="; ".join(filter(None, (reason, self.state.reason))),
            end_step=end_step,
            trace=trace.as_posix(),
            delays=delays,
        )
        self._watch.remove()
        if reason or rank == 0:
            tail = f" ({reason})" if reason else ""
            steps = f"steps {self.state.first_step}:{end_step}"
            self._say(f"{steps} are in {self.plan.folder / trace}{tail}")

    def _about(self, end_step: int, reason: str) -> dict[str, object]:
        """Make the key `synctax` of the trace."""
        return {
            "schema": TRACE_SCHEMA,
            # the package itself imports all of it when asked to: it is not a dependency
            "version": sys.modules["synctax"].__version__,
            "first_step": self.state.first_step,
            "end_step": end_step,
            "cut": reason,
            "met": self.state.met,
            "gloo_threads": gloo_threads(),
            "delays": self._delay is not None,
        }

    def _close(self, reason: str) -> None:
        state, window = self.state, self._window
        if window is not None and self._is_open:
            done, steps = self._done()
            early = f"the loop ended after {done} of {steps} steps of the window"
            self._finish(window, reason or ("" if self._whole_run else early))
        elif state.state in ("waiting", "recording"):
            few = (
                "the job's own profiler was running until the end"
                if self._tries
                else f"the window needs {state.end_step} steps, and {self._seen} were seen"
            )
            self._drop()
            self._tell(state="nothing", reason="; ".join(filter(None, (reason, few))))
            if state.rank == 0 or reason or self._tries:
                self._say(f"nothing was recorded: {self.state.reason}")
        elif state.trace:
            self._tell()

    def _done(self) -> tuple[int, int]:
        return self._seen - self.state.first_step, self._steps

    def _give_way(self) -> None:
        """Leave torch's only profiler to the job, which is about to use it."""
        window = self._window
        if window is None or self._inside or not self._can_stop():
            return
        if self._is_open:
            done, steps = self._done()
            why = f"the job used its own profiler after {done} of {steps} steps"
            self._guarded(lambda: self._finish(window, why))
        else:
            self._guarded(self._drop)

    def _give_up(self, reason: str) -> None:
        """Record nothing, and let neither the job nor other ranks wait for it."""
        self._next = NEVER
        first_step = self.state.first_step
        self.state = replace(
            self.state, state="nothing", reason=reason, steps_seen=self._seen
        )
        self._say(f"nothing was recorded: {reason}")
        for act in (self._drop, self._stop_delaying, self._watch.remove, self._save_state):
            try:
                act()
            except TROUBLE:
                continue  # the first trouble is the one to tell
        if self._met_at != first_step and not self._ended:
            self._then, self._next = self._stay_away, first_step
            if self._seen >= first_step:
                self._stay_away()

    def _stay_away(self) -> None:
        self._next, self._met_at = NEVER, self.state.first_step
        stay_away(who(), self.state.first_step)

    def _drop(self) -> None:
        window, self._window = self._window, None
        if window is not None and (window.any_thread or self._is_here):
            with self._watch.own():
                window.discard()

    def _stop_delaying(self) -> None:
        if self._delay is not None and self._delaying:
            self._delaying = False
            self._delay.__exit__(None, None, None)

    def _identify(self) -> None:
        """Look who this is: a process group may have come to be since the last time."""
        told = self._who = who()
        self.state = replace(
            self.state,
            rank=told.rank,
            world_size=told.world_size,
            backend=told.backend,
            torch=told.torch,
        )

    def _tell(self, **changes: Any) -> None:
        self.state = replace(self.state, steps_seen=self._seen, **changes)
        self._save_state()

    def _save_state(self) -> None:
        write_state(self.plan.folder, self.state)

    def _say(self, line: str) -> None:
        if self._say_to is not None:
            self._say_to(line)
        elif sys.stderr is not None:
            sys.stderr.write(f"synctax record: rank {self.state.rank}: {line}\n")
