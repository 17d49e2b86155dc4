"""The window of a job that is recorded: when it opens, and what is written when it ends."""

import atexit
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from synctax.record.groups import Groups
from synctax.record.instruments import Instruments
from synctax.record.journal import Journal
from synctax.record.kineto import KinetoWindow
from synctax.record.meet import Meetings
from synctax.record.names import TRACE_SCHEMA
from synctax.record.others import Watch
from synctax.record.plan import Plan
from synctax.record.state import RankState, check_alone, state_before
from synctax.record.trouble import TROUBLE, first_line

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

    Notes
    -----
    Outside the window a step costs one comparison of integers. A window that ends early,
    by the end of the loop, an exception or a profiler of the job, is written as far as it
    got, into the folder that is named after the step at which it was to end, with the
    traces of the other ranks.
    """

    def __init__(self, plan: Plan, *, say: Callable[[str], None] | None = None) -> None:
        self.plan = plan
        self._journal = Journal(plan.folder, say)
        self._whole_run = plan.step_by == "run"
        self._lead = 0 if self._whole_run else plan.skip + plan.warmup
        self._steps = 1 if self._whole_run else plan.steps
        self._seen = self._next = 0
        self._then: Callable[[], None] = self._scold
        self._tries = 0
        self._tools = Instruments(
            plan, Watch(self._give_way, self._take_turn), Groups(self._before_groups_end)
        )
        self._meetings = Meetings(plan.meet_timeout_s, once=self._whole_run)
        self._begun = self._ended = self._inside = False
        self._asked: str | None = None

    @property
    def state(self) -> RankState:
        """How far this rank is; also in `folder/record/rankR.json`."""
        return self._journal.state

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        normal = isinstance(error, GeneratorExit) or (
            isinstance(error, SystemExit) and not error.code
        )
        # what is over says nothing: Python may be ending, too, and have little left
        self.end("" if self._ended or error is None or normal else first_line(error))

    def begin(self) -> None:
        """Count steps from here.

        Steps count from 0; where this process recorded into the folder before, from where
        it stopped counting, so that all windows of a job have steps of their own.
        """
        if self._ended:
            self._journal.say(
                "a recording that has ended does not begin again: make another"
            )
        if self._begun:
            return
        self._begun = True
        self._journal.identify()
        before = state_before(self.plan.folder, self.state.rank)
        mine = before and (before.pid, before.host) == (self.state.pid, self.state.host)
        self._seen = before.steps_seen if before and mine else 0
        self._schedule(self._seen + self._lead)
        atexit.register(self.end)
        self._tools.install()
        self._guarded(self._journal.tell)
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
        if self._inside or not self._tools.can_stop:
            # what is being done comes first; another thread's profiler ends with its step
            self._asked, self._next = reason, 0
            return
        self._ended, self._next = True, NEVER
        self._guarded(lambda: self._close(reason))
        atexit.unregister(self.end)
        self._guarded(self._tools.stop_delaying)
        self._tools.remove()

    @property
    def _is_open(self) -> bool:
        return self.state.state == "recording"

    def _is_asked(self) -> bool:
        """Whether to end as soon as what is being done allows."""
        return self._asked is not None

    def _scold(self) -> None:
        self._next = NEVER
        self._journal.say(
            "step was called before begin: use it in a with block, or call begin"
        )

    def _schedule(self, start: int) -> None:
        """Let the window begin after so many steps, and prepare it before."""
        warmup = min(self.plan.warmup, self._lead)
        self._journal.change(first_step=start, end_step=start + self._steps)
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
        self._journal.identify()
        self._tools.begin_delaying(self.state.rank, self._seen)
        if not self._tools.watch.busy():
            self._make_ready()
        self._then, self._next = self._warm, self._seen + 1
        self._begin_if_due()

    def _make_ready(self) -> KinetoWindow:
        window = self._tools.prepare()
        if window.missing and self.state.rank == 0:
            self._journal.say(window.missing)
            window.missing = ""
        return window

    def _warm(self) -> None:
        self._next = self._seen + 1
        self._tools.delay_step(self._seen)
        self._begin_if_due()

    def _begin_if_due(self) -> None:
        if self._seen < self.state.first_step:
            return
        self._journal.identify()
        check_alone(self.plan.folder, self.state.rank)
        busy = self._tools.watch.busy()
        self._tell(state="recording")
        if not busy:
            window = self._make_ready()
            self._tools.start()
        meeting = self._meetings.meet(
            self._journal.who, self._seen, ready=not busy, stop=self._is_asked
        )
        if self._is_asked():
            self._tools.drop()
            return
        if busy or (meeting.complete and meeting.busy and not self._whole_run):
            self._postpone(here=busy)
            return
        words = "" if self._whole_run or not self.plan.meet_timeout_s else meeting.words()
        if words:
            self._journal.say(words)
        self._journal.change(reason=words, met=meeting.met)
        self._tools.mark(window, self._seen)
        self._then = lambda: self._mark(window)
        self._next = NEVER if self._whole_run else self._seen + 1

    def _postpone(self, *, here: bool) -> None:
        self._tools.drop()
        self._tools.stop_delaying()
        if self._tries == 0 and (here or self.state.rank == 0):
            where = "this rank" if here else "another rank"
            self._journal.say(
                f"the job's own profiler is running on {where}; waiting for its end"
            )
        pause = min(2**self._tries, LONGEST_PAUSE_STEPS)
        self._tries += 1
        if self._whole_run:  # has no steps: begins in `_take_turn`
            self._then, self._next = self._prepare, NEVER
        else:
            self._schedule(self._seen + pause + min(self.plan.warmup, self._lead))
        self._tell(state="waiting", reason="the job's own profiler is running")

    def _mark(self, window: KinetoWindow) -> None:
        if self._seen >= self.state.end_step:
            self._finish(window, "")
            return
        self._next = self._seen + 1
        self._tools.mark(window, self._seen)
        self._tools.delay_step(self._seen)

    def _finish(self, window: KinetoWindow, reason: str) -> None:
        """End the window, and write what was recorded."""
        self._then, self._next = _nothing, NEVER  # lets go of the profiler and its events
        planned = self.state.end_step
        end_step = self._seen if reason or not self._whole_run else planned
        if not reason:
            self._tools.mark(window, None)

        def about() -> dict[str, object]:
            self._journal.identify(self._tools.groups.who)
            return self._about(end_step, reason)

        # a collective whose other ranks are gone never ends on a GPU
        self._tools.stop(window, about, wait=not reason)
        trace, delays = self._tools.save(window, planned, self.state.rank)
        self._tell(
            state="cut" if reason else "written",
            reason="; ".join(filter(None, (reason, self.state.reason))),
            end_step=end_step,
            trace=trace,
            delays=delays,
        )
        self._tools.remove()
        if reason or self.state.rank == 0:
            tail = f" ({reason})" if reason else ""
            steps = f"steps {self.state.first_step}:{end_step}"
            self._journal.say(f"{steps} are in {self.plan.folder / trace}{tail}")

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
            "gloo_threads": self._tools.groups.threads,
            "delays": self._tools.delays,
        }

    def _close(self, reason: str) -> None:
        state, window = self.state, self._tools.window
        if window is not None and self._is_open and self._tools.marked:
            done, steps = self._done()
            early = f"the loop ended after {done} of {steps} steps of the window"
            self._finish(window, reason or ("" if self._whole_run else early))
        elif state.state in ("waiting", "recording"):
            self._leave_others()
            self._tools.drop()
            whole = "; ".join(filter(None, (reason, self._why_nothing())))
            self._tell(state="nothing", reason=whole)
            if state.rank == 0 or reason or self._tries:
                self._journal.say(f"nothing was recorded: {self.state.reason}")
        elif state.trace:
            self._tell()

    def _why_nothing(self) -> str:
        if self._tries:
            return "the job's own profiler was running until the end"
        if self._whole_run:
            return "the run ended before its ranks had met"
        return f"the window needs {self.state.end_step} steps, and {self._seen} were seen"

    def _done(self) -> tuple[int, int]:
        return self._seen - self.state.first_step, self._steps

    def _give_way(self) -> None:
        """Leave torch's only profiler to the job, which is about to use it."""
        window = self._tools.window
        if window is None or self._inside or not self._tools.can_stop:
            return
        if self._is_open:
            done, steps = self._done()
            after = "" if self._whole_run else f" after {done} of {steps} steps"
            why = f"the job used its own profiler{after}"
            self._guarded(lambda: self._finish(window, why))
        else:
            self._guarded(self._tools.drop)

    def _take_turn(self) -> None:
        """Begin the whole run that a profiler of the job, which has ended, put off."""
        waits = self.state.state == "waiting" and not self._inside
        if self._whole_run and self._tries and waits:
            self._turn()

    def _before_groups_end(self, everything: bool) -> None:
        """Keep what torch will not know any more, and reach others as long as possible."""
        if os.getpid() != self.state.pid:
            return
        self._tools.groups.look()
        if everything and not self._inside:
            self._leave_others()

    def _give_up(self, reason: str) -> None:
        """Record nothing, and let neither the job nor other ranks wait for it."""
        self._next = NEVER
        self._journal.change(state="nothing", reason=reason, steps_seen=self._seen)
        self._journal.say(f"nothing was recorded: {reason}")
        tools = self._tools
        for act in (tools.drop, tools.stop_delaying, tools.remove, self._journal.tell):
            try:
                act()
            except TROUBLE:
                continue  # the first trouble is the one to tell
        if not self._leave_others() and not self._ended:
            # there may be a group by then
            self._then, self._next = self._leave_at_last, self.state.first_step
            if self._seen >= self._next:
                self._leave_at_last()

    def _leave_others(self) -> bool:
        """Let others not wait for this rank; tell whether they can know."""
        return self._meetings.leave(self.state.first_step)

    def _leave_at_last(self) -> None:
        self._next = NEVER
        self._leave_others()

    def _tell(self, **changes: Any) -> None:
        self._journal.tell(steps_seen=self._seen, **changes)


def _nothing() -> None:
    """Stand where nothing is due."""
