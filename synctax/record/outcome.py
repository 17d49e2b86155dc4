"""What became of each rank of a recorded job, and what to do where there is no trace."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from synctax.errors import BadInputError
from synctax.record import names
from synctax.record.alive import is_alive
from synctax.record.delayed import tell_delays
from synctax.record.plan import Plan
from synctax.record.state import RankState, read_state
from synctax.record.trouble import first_line

Fate = Literal["written", "cut", "nothing", "died", "running", "absent"]

STILL_RUNS = "it still ran when the command had ended"

DIED = {
    "waiting": "ended without a word before the window began",
    "recording": "ended without a word while recording",
}
"""Why there is no trace of a rank whose last state says that it runs."""

UNKNOWN = "it ended, or was ended, before its first step"
"""Why a rank never reported, if nothing is known of its process."""

UNREADABLE = "what it left cannot be read"
"""Why nothing is known of a rank if there is a state that is damaged."""

TOO_FEW = "the window needs"
"""How a rank begins to say that it was not given enough steps."""

BY_WHAT = "killed (out of memory?), crashed outside of Python, or os._exit"
"""How a process ends without a word."""


@dataclass(frozen=True, slots=True)
class RankOutcome:
    """What became of one rank.

    Parameters
    ----------
    rank : int
    host : str
        Empty if it never reported.
    fate : str
        `written`; `cut`: a trace of a window that ended early; `nothing`: it ended and
        wrote none; `died`: it ended without a word; `running`: it has not ended;
        `absent`: it never reported.
    reason : str
        Why the window was cut or there is no trace; may be empty.
    first_step, end_step : int
        Steps of the trace, the second not included; of a rank without one, 0 and 0.
    steps_seen : int
        Steps that the rank is known to have ended.
    trace, delays : str
        Paths below the folder; empty where there is none.
    """

    rank: int
    host: str = ""
    fate: Fate = "absent"
    reason: str = ""
    first_step: int = 0
    end_step: int = 0
    steps_seen: int = 0
    trace: str = ""
    delays: str = ""


@dataclass(frozen=True, slots=True)
class Bystander:
    """A process that imported torch and never became a rank.

    Parameters
    ----------
    rank : int, optional
        Which rank it would have been, by its environment.
    host : str
    command : str
    reason : str
        What it never did.
    double : bool
        It trained, but another process is the rank that it would have been.
    """

    rank: int | None
    host: str
    command: str
    reason: str
    double: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job left behind.

    Parameters
    ----------
    plan : Plan
    exit_code : int
        Of the job.
    ranks : tuple of RankOutcome
        In order, those that never reported included.
    bystanders : tuple of Bystander
    unreadable : tuple of str
        Which of their notes could not be read, and why.
    delayed : tuple of str
        What was delayed on purpose, and what was to be and was not.
    """

    plan: Plan
    exit_code: int
    ranks: tuple[RankOutcome, ...]
    bystanders: tuple[Bystander, ...] = ()
    unreadable: tuple[str, ...] = ()
    delayed: tuple[str, ...] = ()

    @property
    def n_traces(self) -> int:
        """Traces that were written, cut ones included."""
        return sum(bool(rank.trace) for rank in self.ranks)

    def verdict(self) -> list[str]:
        """Say in sentences what was recorded, what is missing, why, and what would help."""
        if not self.ranks:
            return [*_failed(self.exit_code), *self.unreadable, *self._no_rank()]
        whole = _with(self.ranks, "written")
        of_all = f"{len(whole)} of {_count(len(self.ranks), 'rank')}"
        window = _window(whole) or "the whole window"
        if self.plan.step_by == "run":
            window = "the whole run"
        lines = [*_failed(self.exit_code), f"{of_all} recorded {window}"]
        warned = [rank for rank in whole if rank.reason]
        lines += _by_reason(warned, "{ranks}: {reason}")
        for fate, text in _TEXTS.items():
            lines += _by_reason(_with(self.ranks, fate), text)
        lines += [*self.delayed, *self.unreadable, *self._doubles()]
        return [*lines, *self._too_short()]

    def _no_rank(self) -> Iterator[str]:
        if self.unreadable:
            return
        if not self.bystanders:
            yield (
                "no process of the job reported; either none imported torch, or its "
                "Python ignores PYTHONPATH (-I, -E, -S), the command sets PYTHONPATH "
                "anew, or it runs where this environment or "
                f"{self.plan.folder} does not reach"
            )
            return
        reasons = dict.fromkeys(one.reason for one in self.bystanders)
        yield (
            f"{_count(len(self.bystanders), 'process', 'processes')} imported torch, "
            f"none became a rank: {'; '.join(reasons)}"
        )
        if self.plan.step_by == "optimizer":
            yield (
                "if the script trains without an optimizer of torch, name the function "
                "that makes a step with --step-at MODULE:FUNCTION, or record all of it "
                "with --whole-run"
            )

    def _doubles(self) -> Iterator[str]:
        doubles = [one for one in self.bystanders if one.double]
        if doubles:
            reasons = dict.fromkeys(one.reason for one in doubles)
            yield (
                f"{_count(len(doubles), 'process', 'processes')} more recorded nothing: "
                f"{'; '.join(reasons)}; jobs that run one after another need a folder "
                "each (-o DIR), ranks of one job RANK and WORLD_SIZE"
            )

    def _too_short(self) -> Iterator[str]:
        """Advise on windows that the job never reached, where nothing else went wrong."""
        short = [r for r in self.ranks if r.fate == "nothing" and TOO_FEW in r.reason]
        plan = self.plan
        needed = plan.skip + plan.warmup + plan.steps
        if not short or self.n_traces or self.exit_code or plan.step_by == "run":
            return
        seen = min(rank.steps_seen for rank in short)
        if seen < needed:
            yield (
                f"let the job run for {needed} steps (--skip {plan.skip} + --warmup "
                f"{plan.warmup} + --steps {plan.steps}), or choose fewer: it ran {seen}"
            )


_TEXTS: dict[Fate, str] = {
    "cut": "{ranks} recorded a part: {reason}",
    "nothing": "{ranks} recorded nothing: {reason}",
    "died": "{ranks} {reason}: " + BY_WHAT,
    "running": "{ranks} recorded nothing yet: {reason}",
    "absent": "no report of {ranks}: {reason}",
}


def read_outcome(plan: Plan, exit_code: int) -> Outcome:
    """Read what the processes of a job left in the folder of a plan.

    What cannot be read is named in the outcome: the exit code of a job that has ended is
    not to be lost because of it.

    Parameters
    ----------
    plan : Plan
    exit_code : int
        Of the job.
    """
    states, bad_states = read_ranks(plan.folder)
    bystanders, bad_words = _read(plan.folder, names.PROCESS_FILES, _bystander)
    known = {state.rank: _outcome(state) for state in states}
    world = max((state.world_size for state in states), default=0)
    for rank in range(world):
        if rank not in known:
            reasons = (one.reason for one in bystanders if one.rank == rank)
            silent = UNREADABLE if bad_states else UNKNOWN
            known[rank] = RankOutcome(rank, reason=next(reasons, silent))
    ranks = tuple(known[rank] for rank in sorted(known))
    unreadable = tuple(bad_states + bad_words)
    files = {rank.rank: rank.delays for rank in ranks if rank.delays}
    delayed = tuple(tell_delays(plan, files, world))
    return Outcome(plan, exit_code, ranks, tuple(bystanders), unreadable, delayed)


def read_ranks(folder: Path) -> tuple[list[RankState], list[str]]:
    """Read the states that can be read, and say what is wrong with the others.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    list of RankState
    list of str
    """
    return _read(folder, names.STATE_FILES, _state)


_Read = TypeVar("_Read")


def _read(
    folder: Path, pattern: str, read: Callable[[Path], _Read]
) -> tuple[list[_Read], list[str]]:
    found, bad = [], []
    for path in sorted((folder / names.STATES).glob(pattern)):
        try:
            found.append(read(path))
        except (OSError, TypeError, ValueError, LookupError, BadInputError) as error:
            name = path.relative_to(folder).as_posix()
            bad.append(f"{name} cannot be read: {first_line(error.__cause__ or error)}")
    return found, bad


_NUMBERS = ("rank", "world_size", "pid", "steps_seen", "first_step", "end_step")
_WORDS = ("host", "state", "reason", "trace", "delays")


def _state(path: Path) -> RankState:
    state = read_state(path)
    kinds = dict.fromkeys(_NUMBERS, int) | dict.fromkeys(_WORDS, str)
    for name, kind in kinds.items():
        if not isinstance(getattr(state, name), kind):
            raise TypeError(f"{name} is {getattr(state, name)!r}")
    return state


def is_running(state: RankState) -> bool:
    """Whether a rank has not ended its recording and its process is there, on this host."""
    return state.state in DIED and is_alive(state)


def _outcome(state: RankState) -> RankOutcome:
    traced = bool(state.trace)
    fate, reason = _fate(state)
    return RankOutcome(
        rank=state.rank,
        host=state.host,
        fate=fate,
        reason=reason,
        first_step=state.first_step if traced else 0,
        end_step=state.end_step if traced else 0,
        steps_seen=state.steps_seen,
        trace=state.trace,
        delays=state.delays,
    )


def _fate(state: RankState) -> tuple[Fate, str]:
    if state.state == "waiting" or state.state == "recording":
        if is_running(state):
            return "running", STILL_RUNS
        return "died", DIED[state.state]
    return state.state, state.reason


def _bystander(path: Path) -> Bystander:
    keys = json.loads(path.read_text(encoding="utf-8"))
    if keys["schema"] != names.PROCESS_SCHEMA:
        raise ValueError(f"the schema is {keys['schema']!r}")
    rank = str(keys["rank"])
    return Bystander(
        rank=int(rank) if rank.isdecimal() else None,
        host=str(keys["host"]),
        command=" ".join(map(os.fsdecode, keys["command"])),
        reason=str(keys["reason"]),
        double=keys.get("double") is True,
    )


def _with(ranks: Iterable[RankOutcome], fate: Fate) -> list[RankOutcome]:
    return [rank for rank in ranks if rank.fate == fate]


def _by_reason(ranks: Sequence[RankOutcome], text: str) -> Iterator[str]:
    """Say each reason once, with the ranks that it holds for."""
    for reason in dict.fromkeys(rank.reason for rank in ranks):
        own = [rank.rank for rank in ranks if rank.reason == reason]
        yield text.format(ranks=_names(own), reason=reason or "no reason is known")


def _failed(exit_code: int) -> list[str]:
    return [f"the job ended with exit code {exit_code}"] if exit_code else []


def _window(ranks: Sequence[RankOutcome]) -> str:
    windows = {(rank.first_step, rank.end_step) for rank in ranks}
    if len(windows) != 1:
        return ""
    first, end = windows.pop()
    return f"step {first}" if end - first == 1 else f"steps {first} to {end - 1}"


def _names(ranks: Sequence[int]) -> str:
    """Name ranks, runs of them by their ends: `rank 3`, `ranks 0-2, 5`."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    names = [f"{a}" if a == b else f"{a}-{b}" for a, b in runs]
    return f"rank{'' if len(ranks) == 1 else 's'} {', '.join(names)}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
