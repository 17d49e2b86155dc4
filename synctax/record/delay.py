"""`Delay`: operators of a running job, delayed on purpose."""

import os
import statistics
import threading
import time
from fnmatch import fnmatchcase
from itertools import count
from os import PathLike
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

import torch
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
)

from synctax.errors import SynctaxError
from synctax.record.names import delays_file
from synctax.record.plan import DelayRule
from synctax.record.ranks import who
from synctax.record.truth import Made, Truth, write_truth

SPIN_NS = 150_000
"""The last stretch of a sleep is spun: Linux wakes sleepers 65 to 130 µs late."""
CALIBRATION_CYCLES = 1_000_000
CALIBRATIONS = 5

_mode = torch._C._get_dispatch_mode  # noqa: SLF001
_TRACING = [
    getattr(torch._C._TorchDispatchModeKey, name)  # noqa: SLF001
    for name in ("FAKE", "PROXY", "FUNCTIONAL")
]
_TRACED = ("FakeTensor", "FunctionalTensor")


class Delay(TorchDispatchMode):
    """Delay chosen operators, on chosen ranks, steps and occurrences, and tell of it.

    Put it around a training loop, on all ranks alike, and call `step` at the end of each
    step, or give the rules to `synctax.record.profile(delays=...)`, which does both:

    >>> from synctax.record import Delay, DelayRule  # doctest: +SKIP
    >>> rule = DelayRule("aten::mm", us=5000, rank=1, nth=(0,))  # doctest: +SKIP
    >>> with Delay(rule, folder="traces") as delay:  # doctest: +SKIP
    ...     for batch in batches:
    ...         train(batch)
    ...         delay.step()

    Rank 1 then sleeps 5 ms before the first `aten::mm` of each step, forward or backward.

    Parameters
    ----------
    *rules : DelayRule
        Each is followed by itself; where two match an operator, it is delayed twice.
    folder : path, optional
        On leaving, what was done is written to `folder/rankR_delays.json`, on all ranks,
        also where nothing was delayed.
    rank : int, optional
        This process's global rank; by default that of its process group, else RANK.
    first_step : int
        Number of the step that is running when the mode is entered.

    Attributes
    ----------
    made : list of Made
        The delays so far: step, operator, occurrence, rule, when and how long.

    Raises
    ------
    SynctaxError
        On entering, if a rule delays on the GPU and there is none.

    Notes
    -----
    An operator is what the dispatcher calls below autograd: `aten::mm` and `aten::addmm`,
    not `aten::linear` or `aten::matmul`, which consist of them. Overloads are one operator;
    those in place (`aten::add_`) have names of their own. Backward is included: autograd
    keeps the mode on its threads. In a trace the delayed operator appears twice, one inside
    the other, with the delay between the two beginnings.

    A sleep ends by spinning for the last 0.15 ms. On an idle machine it is a few µs too
    long at the median; a processor that others keep busy adds what its scheduler takes,
    often some ms. The truth holds the measured beginning and end.

    The mode costs every operator, delayed or not, some 5 µs of Python, and some 10 µs more
    where a rule matches its name; while a profiler records, 20 to 30 µs, as it then writes
    three events instead of one. So ranks that are not delayed must enter it, too. A job of
    small operators on a GPU may thereby become bound by its launches.

    Nothing is delayed while tensors are fake or traced, nor in forked processes. Functions
    of `torch.compile` run compiled, and of their operators those can be delayed that the
    graph calls, such as `aten::mm`, but not what was fused into kernels.
    (Versions of torch that compile nothing while a mode is on, such as 2.8, run them
    uncompiled; they also refuse `flex_attention` outside a compiled function.) A CUDA graph
    that is replayed has no operators. An operator on a `DTensor` is delayed once, not again
    for its shards.

    `side="gpu"` launches a kernel that spins on the current stream of the operator's device
    before the operator does. Its length is set in clock cycles, whose rate is measured on
    entering.
    """

    supports_higher_order_operators = True

    def __init__(
        self,
        *rules: DelayRule,
        folder: str | PathLike[str] | None = None,
        rank: int | None = None,
        first_step: int = 0,
    ) -> None:
        super().__init__()
        self.rules = rules
        self.made: list[Made] = []
        self._folder = None if folder is None else Path(folder)
        self.rank = rank
        self._step = first_step
        self._pid = -1
        self._on = False
        self._occurrences: dict[int, dict[int, int]] = {}
        self._hits: dict[Any, tuple[tuple[_Rule, ...], str]] = {}
        self._running: tuple[_Rule, ...] = ()
        self._cycles_per_us = 0.0

    def __enter__(self) -> Self:
        if self.rank is None:
            self.rank = who().rank
        if any(rule.side == "gpu" for rule in self.rules):
            self._cycles_per_us = cycles_per_us()
        self._pid = os.getpid()
        self._running = tuple(
            _Rule(number, rule, self.rank) for number, rule in enumerate(self.rules)
        )
        self._hits = {}
        self._begin({})
        self._on = True
        super().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._on = False
        self._end()
        # torch takes the uppermost mode off, whose ever it is: below another one this one
        # stays, and does nothing
        if _get_current_dispatch_mode() is self:
            super().__exit__(kind, error, where)
        if self._folder is not None:
            self.write(self._folder / delays_file(self.rank or 0))

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let torch compile functions although the mode is on; torch asks."""
        return True

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run an operator, after its delay."""
        rules, name = self._hits.get(func) or self._look_up(func)
        if rules and self._on:
            self._delay(rules, name, types, args)
        return func(*args, **kwargs) if kwargs else func(*args)

    def step(self, number: int | None = None) -> None:
        """End a step; the next has this number, by default one more."""
        counts = self._end() if self._on else {}
        self._step = self._step + 1 if number is None else number
        self._begin(counts)

    def truth(self) -> Truth:
        """Tell what was to be delayed, and what was."""
        told = who()
        return Truth(
            rank=told.rank if self.rank is None else self.rank,
            host=told.host,
            rules=self.rules,
            occurrences=self._occurrences,
            delays=tuple(self.made),
        )

    def write(self, path: Path) -> None:
        """Write that as JSON (`synctax.delays/1`).

        Raises
        ------
        OSError
            If there is no room, or no right to write.
        """
        write_truth(path, self.truth())

    def _begin(self, before: dict[int, int]) -> None:
        for rule in self._running:
            rule.begin(self._step, before.get(rule.number, 0))

    def _end(self) -> dict[int, int]:
        counts = {rule.number: rule.end() for rule in self._running}
        self._occurrences[self._step] = counts
        return counts

    def _look_up(self, func: Any) -> tuple[tuple["_Rule", ...], str]:
        schema = getattr(func, "_schema", None)
        name = str(func if schema is None else schema.name)
        matching = [rule for rule in self._running if fnmatchcase(name, rule.rule.operator)]
        found = self._hits[func] = (tuple(matching), name)
        return found

    def _delay(
        self, rules: tuple["_Rule", ...], name: str, types: Any, args: tuple[Any, ...]
    ) -> None:
        if os.getpid() != self._pid or tracing(types):
            return
        for rule in rules:
            nth, us = rule.next()
            if us is None:
                continue
            # one reading of the clock of the day, which may be set meanwhile
            start_ns, since_ns = time.time_ns(), time.perf_counter_ns()
            if rule.rule.side == "gpu":
                launch_spin(us * self._cycles_per_us, args)
            else:
                wait(us, spin=rule.rule.how == "spin")
            self.made.append(
                Made(
                    step=self._step,
                    operator=name,
                    nth=nth,
                    rule=rule.number,
                    asked_us=us,
                    start_ns=start_ns,
                    end_ns=start_ns + time.perf_counter_ns() - since_ns,
                    thread=threading.get_native_id(),
                    side=rule.rule.side,
                )
            )


class _Rule:
    """A rule, and where it stands within the step."""

    def __init__(self, number: int, rule: DelayRule, rank: int) -> None:
        self.number, self.rule, self._rank = number, rule, rank
        self._chosen: frozenset[int] | None = None
        self._applies = False
        self._seen = count()
        self._amounts = Random(0)  # noqa: S311 - no secret

    def begin(self, step: int, before: int) -> None:
        """Choose the occurrences of a step; the one before had so many."""
        rule = self.rule
        self._seen = count()
        self._applies = (rule.rank is None or rule.rank == self._rank) and (
            rule.first_step <= step and (rule.end_step is None or step < rule.end_step)
        )
        draw = self._draw("which", step)
        if rule.pick is not None:
            self._chosen = frozenset(draw.sample(range(before), min(rule.pick, before)))
        elif rule.nth is not None:
            self._chosen = frozenset(rule.nth)
        self._amounts = self._draw("amount", step)

    def end(self) -> int:
        """Tell how many occurrences the step had."""
        return next(self._seen)

    def next(self) -> tuple[int, float | None]:
        """Number an occurrence, and tell how long to delay it in µs; None: not at all."""
        nth = next(self._seen)
        if not self._applies or not (self._chosen is None or nth in self._chosen):
            return nth, None
        rule = self.rule
        if rule.law == "uniform" and rule.us_max is not None:
            return nth, self._amounts.uniform(rule.us, rule.us_max)
        if rule.law == "exponential" and rule.us > 0:
            return nth, self._amounts.expovariate(1 / rule.us)
        return nth, rule.us

    def _draw(self, use: str, step: int) -> Random:
        # a text as seed is hashed the same in all processes; rules of one seed differ
        seed = f"{self.rule.seed} {self.number} {self._rank} {step} {use}"
        return Random(seed)  # noqa: S311 - no secret


def wait(us: float, *, spin: bool) -> None:
    """Let so many µs pass: asleep but for the last `SPIN_NS`, or all of it busy."""
    until_ns = time.perf_counter_ns() + round(us * 1000)
    asleep_ns = 0 if spin else until_ns - time.perf_counter_ns() - SPIN_NS
    if asleep_ns > 0:
        time.sleep(asleep_ns / 1e9)
    while time.perf_counter_ns() < until_ns:
        pass


def tracing(types: Any) -> bool:
    """Whether operators run for their shapes only, or to be written down."""
    return any(_mode(key) is not None for key in _TRACING) or any(
        kind.__name__ in _TRACED for kind in types
    )


def cycles_per_us() -> float:
    """Measure how many cycles the current GPU's clock makes in a µs, by its own events.

    Raises
    ------
    SynctaxError
        If there is no GPU.
    """
    cuda = torch.cuda
    if not cuda.is_available():
        raise SynctaxError('a delay with side="gpu" needs a GPU, and torch sees none')
    found = []
    for _ in range(CALIBRATIONS):
        start, end = (cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        cuda._sleep(CALIBRATION_CYCLES)  # noqa: SLF001
        end.record()
        end.synchronize()
        found.append(CALIBRATION_CYCLES / (1000 * start.elapsed_time(end)))
    return float(statistics.median(found))


def launch_spin(cycles: float, args: tuple[Any, ...]) -> None:
    """Launch a kernel that spins, on the current stream of the device of an operator."""
    cuda = torch.cuda
    devices = [arg.device for arg in args if getattr(arg, "is_cuda", False)]
    with cuda.device(devices[0] if devices else cuda.current_device()):
        cuda._sleep(round(cycles))  # noqa: SLF001
