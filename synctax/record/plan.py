"""What to record and what to delay: plain values that travel from a command to the job."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from synctax.record.names import PLAN_SCHEMA

Side = Literal["host", "gpu"]
How = Literal["sleep", "spin"]
Law = Literal["fixed", "uniform", "exponential"]
StepBy = Literal["optimizer", "function", "run"]

DEFAULT_SKIP = 5
DEFAULT_WARMUP = 1
DEFAULT_STEPS = 3
DEFAULT_MEET_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class DelayRule:
    """Which operators to delay, where, when and by how much.

    Parameters
    ----------
    operator : str
        Pattern (`fnmatch`, case matters) of the operator's name as the profiler writes it:
        `aten::mm`, `aten::*mm`, `c10d::*`.
    us : float
        The delay in µs: itself, the least of a uniform law, the mean of an exponential.
    us_max : float, optional
        The largest of a uniform law, in µs.
    law : str
        `fixed`, `uniform` or `exponential`.
    rank : int, optional
        Global rank; None for all.
    first_step, end_step : int
        Steps from the first up to but not including the other, as the job counts them
        (`ProfilerStep#N` in the trace); `end_step` None has no end.
    nth : tuple of int, optional
        Occurrences within a step to delay, from 0; None for all.
    pick : int, optional
        So many occurrences of each step, chosen at random among as many as the step
        before had. Not together with `nth`.
    seed : int
        Of random amounts and choices; the same rules and seeds delay the same.
    side : str
        `host` delays the thread before it runs the operator: on a GPU, its launch. `gpu`
        launches a kernel that spins before those of the operator.
    how : str
        `sleep` leaves the processor to others, `spin` keeps it busy (host only).

    Raises
    ------
    ValueError
        If values contradict each other.
    """

    operator: str
    us: float
    us_max: float | None = None
    law: Law = "fixed"
    rank: int | None = None
    first_step: int = 0
    end_step: int | None = None
    nth: tuple[int, ...] | None = None
    pick: int | None = None
    seed: int = 0
    side: Side = "host"
    how: How = "sleep"

    def __post_init__(self) -> None:
        if not self.operator:
            raise ValueError("a delay needs the name of an operator, such as aten::mm")
        self._check_kinds()
        self._check_amount()
        if self.end_step is not None and self.end_step <= self.first_step:
            raise ValueError(f"no step lies in {self.first_step}:{self.end_step}")
        if self.nth is not None and self.pick is not None:
            raise ValueError("either occurrences (nth) or their number (pick), not both")
        if self.pick is not None and self.pick < 1:
            raise ValueError(f"pick at least one occurrence, not {self.pick}")
        if min(self.nth or (0,)) < 0 or self.first_step < 0 or (self.rank or 0) < 0:
            raise ValueError("ranks, steps and occurrences count from 0")

    def _check_kinds(self) -> None:
        for name, kind in (("law", Law), ("side", Side), ("how", How)):
            if getattr(self, name) not in get_args(kind):
                choices = " or ".join(get_args(kind))
                raise ValueError(f"{name} is {choices}, not {getattr(self, name)!r}")
        if self.side == "gpu" and self.how == "spin":
            raise ValueError("spin or sleep is a choice of the host; a GPU always spins")
        if not isinstance(self.nth, tuple | None):
            raise ValueError(  # noqa: TRY004 - all wrong calls are alike
                f"nth is a tuple such as (0,), not {self.nth!r}"
            )
        for name in ("first_step", "end_step", "rank", "pick", "seed"):
            value = getattr(self, name)
            if value is not None:
                _check_whole(name, value)
        _check_whole("nth", *(self.nth or ()))

    def _check_amount(self) -> None:
        if not (math.isfinite(self.us) and self.us >= 0):
            raise ValueError(f"a delay lasts 0 µs or more, not {self.us}")
        if (self.us_max is not None) != (self.law == "uniform"):
            raise ValueError("a uniform law, and no other, has a least and a largest delay")
        if self.us_max is not None and not (
            math.isfinite(self.us_max) and self.us_max >= self.us
        ):
            raise ValueError(f"the largest delay, {self.us_max}, is below {self.us} µs")


def _check_whole(name: str, *values: object) -> None:
    for value in values:
        if not isinstance(value, int):
            raise ValueError(  # noqa: TRY004 - all wrong calls are alike
                f"{name} is a whole number, not {value!r}"
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job records.

    Parameters
    ----------
    folder : Path
        Traces go to `folder/iteration_N/rankR_trace.json.gz`.
    skip, warmup, steps : int
        Steps without, with a warming, and with a recording profiler, in that order.
    record_shapes, with_stack : bool
        As in `torch.profiler`.
    delays : tuple of DelayRule
    step_by : str
        What ends a step of a script that was not changed: each `optimizer` step, each
        call of a `function` (`step_at`), or nothing: the whole `run` is one window.
    step_at : str
        `module:function`, where `step_by` is `function`.
    meet_timeout_s : float
        How long ranks wait for each other before the window, in seconds; 0: not at all.

    Raises
    ------
    ValueError
        If values contradict each other.
    """

    folder: Path
    skip: int = DEFAULT_SKIP
    warmup: int = DEFAULT_WARMUP
    steps: int = DEFAULT_STEPS
    record_shapes: bool = True
    with_stack: bool = False
    delays: tuple[DelayRule, ...] = ()
    step_by: StepBy = "optimizer"
    step_at: str = ""
    meet_timeout_s: float = DEFAULT_MEET_TIMEOUT_S

    def __post_init__(self) -> None:
        for name in ("skip", "warmup", "steps"):
            _check_whole(name, getattr(self, name))
        if min(self.skip, self.warmup) < 0:
            raise ValueError("skip and warmup are 0 or more")
        if self.steps < 1:
            raise ValueError(f"record at least one step, not {self.steps}")
        if bool(self.step_at) != (self.step_by == "function"):
            raise ValueError("a function (step_at) and step_by 'function' go together")
        if self.step_at and len([p for p in self.step_at.split(":") if p]) != 2:
            raise ValueError(f"a function is module:function, not {self.step_at!r}")
        if not (math.isfinite(self.meet_timeout_s) and self.meet_timeout_s >= 0):
            raise ValueError(f"wait 0 s or more, not {self.meet_timeout_s}")

    def to_json(self) -> str:
        """Write it as JSON."""
        keys = {"schema": PLAN_SCHEMA} | asdict(self)
        return json.dumps(keys | {"folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            If it is something else.
        """
        keys = json.loads(text)
        found = keys.pop("schema", None) if isinstance(keys, dict) else None
        if found != PLAN_SCHEMA:
            raise ValueError(f"no plan of the kind {PLAN_SCHEMA}, but {found!r}")
        keys = _known(keys, cls)
        rules = [
            DelayRule(**_known(rule, DelayRule) | {"nth": _tuple(rule.get("nth"))})
            for rule in keys["delays"]
        ]
        return cls(**keys | {"folder": Path(keys["folder"]), "delays": tuple(rules)})


def _known(keys: Any, cls: type) -> dict[str, Any]:
    names = {field.name for field in fields(cls)}
    if not isinstance(keys, Mapping) or set(keys) - names:
        raise ValueError(f"no {cls.__name__}: {keys!r}")
    return dict(keys)


def _tuple(values: list[int] | None) -> tuple[int, ...] | None:
    return None if values is None else tuple(values)
