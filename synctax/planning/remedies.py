"""What would make layouts fit into memory: one change at a time, each with its price."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from synctax.arrays import I64, Bool
from synctax.planning.costs import Costs, costs
from synctax.planning.divisibility import divisibility
from synctax.planning.layout import Layouts, take
from synctax.planning.memory import full_recompute_to_fit, memory
from synctax.planning.pipeline import average_layers
from synctax.planning.rule import divisors, seconds
from synctax.planning.setting import Setting
from synctax.planning.training import Sharding, Training
from synctax.texts import number, percent, size_bytes

FACTORS: Final = (2, 4, 8)
"""By how much a degree is raised at most, ranks of data parallelism taken for it."""

SHOWN: Final = 3
"""Changes named in a row beside recomputation; the rest is counted."""

_RECOMPUTING: Final = ("selective", "recompute")
"""Kinds of changes that keep less."""

_SHARDINGS: Final[tuple[Sharding, ...]] = ("none", "optimizer", "gradients", "parameters")


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that makes a layout fit.

    Parameters
    ----------
    kind : str
        `selective`, `recompute`, `sharding`, `microbatch`, `more_cp`, ...: one of each
        kind a layout.
    what : str
    memory_bytes, step_s : float
        What the layout needs and takes then.
    """

    kind: str
    what: str
    memory_bytes: float
    step_s: float

    def __str__(self) -> str:
        """Write the change and its price."""
        return (
            f"{self.what} ({size_bytes(self.memory_bytes)}, {seconds(self.step_s)} a step)"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """A change of j layouts or of their training, and where it can be made."""

    kind: str
    what: Callable[[int, Costs], str]
    training: Training
    layouts: Layouts
    possible: Bool


def memory_remedies(setting: Setting, layouts: Layouts, rows: I64) -> list[list[Remedy]]:
    """Find the single changes that make layouts fit.

    Of each kind the smallest: the fewest layers recomputed in full, the least that is
    sharded more, the largest microbatch, the least of TP, PP or CP.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
    rows : (j,) int64
        Those that do not fit.

    Returns
    -------
    list of list of Remedy
        Of each row, recomputation first, then by the time of a step.
    """
    some = take(layouts, rows)
    found: list[dict[str, Remedy]] = [{} for _ in range(len(rows))]
    for change in _changes(setting, some):
        then = replace(setting, training=change.training)
        cost = costs(then, change.layouts)
        fits = (cost.memory.memory_bytes <= setting.budget_bytes) & change.possible
        for at in np.flatnonzero(fits).tolist():
            if change.kind not in found[at]:
                found[at][change.kind] = Remedy(
                    change.kind,
                    change.what(at, cost),
                    float(cost.memory.memory_bytes[at]),
                    float(cost.step_s[at]),
                )
    return [sorted(each.values(), key=_first) for each in found]


def in_words(setting: Setting, layouts: Layouts, rows: I64) -> list[str]:
    """Say what would make layouts fit, or how far they are from it.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
    rows : (j,) int64
        Those that do not fit.

    Returns
    -------
    list of str
    """
    found = memory_remedies(setting, layouts, rows)
    lost = np.array([at for at, some in enumerate(found) if not some], np.int64)
    said = iter(_too_large(setting, take(layouts, rows[lost])))
    return [_joined(some) if some else next(said) for some in found]


def _first(remedy: Remedy) -> tuple[bool, float]:
    return remedy.kind not in _RECOMPUTING, remedy.step_s


def _joined(found: list[Remedy]) -> str:
    shown = SHOWN + sum(one.kind in _RECOMPUTING for one in found)
    said = [str(remedy) for remedy in found[:shown]]
    if len(found) > shown:
        said.append(f"{len(found) - shown} more")
    return ", or ".join(said)


def _too_large(setting: Setting, some: Layouts) -> list[str]:
    """Say what layouts need with every change that keeps their degrees, and where they fit.

    That is on more GPUs, added as ranks of data parallelism.
    """
    training = replace(
        setting.training,
        sequence_parallel=True,
        recompute="full",
        sharding="parameters",
        shard_over="d*c",
        microbatch=1,
    )
    model, budget = setting.model, setting.budget_bytes
    least = memory(model, training, some, budget).memory_bytes
    ranks = some.tp * some.pp * some.cp
    dp = np.where(least <= budget, some.dp, 0)
    factor = 2
    while factor * int(some.dp.min(initial=training.batch)) <= training.batch:
        more = replace(some, dp=some.dp * factor)
        fits = memory(model, training, more, budget).memory_bytes <= budget
        dp = np.where((dp == 0) & fits & _runs(setting, training, more), more.dp, dp)
        factor *= 2
    told = zip(least.tolist(), dp.tolist(), (dp * ranks).tolist(), strict=True)
    return [_least(*one, budget) for one in told]


def _least(least: float, dp: int, gpus: int, budget: float) -> str:
    together = "parameters sharded, all layers recomputed in full and microbatches of 1"
    if least <= budget:
        return f"no single change; {together} together: {size_bytes(least)}"
    text = f"no single change; with {together} it still needs {size_bytes(least)} a GPU"
    return f"{text}, and fits from {gpus:,} GPUs on (dp {dp:,})" if dp else text


def _runs(setting: Setting, training: Training, some: Layouts) -> Bool:
    """Tell which layouts divide the batch of a training."""
    then = replace(setting, training=training)
    possible = np.ones(len(some), np.bool_)
    for rule in divisibility(then, some):
        if rule.name in ("batch", "interleaving"):
            possible &= ~rule.broken
    return possible


def _changes(setting: Setting, some: Layouts) -> Iterator[_Change]:
    training = setting.training
    yield from _recomputing(setting, some)
    if not training.sequence_parallel:
        on = replace(training, sequence_parallel=True)
        yield _Change("sp", lambda *_: "sequence parallelism", on, some, some.tp > 1)
    if training.shard_over == "d":
        wider = replace(training, shard_over="d*c")
        yield _Change("over", lambda *_: "sharding over dp·cp", wider, some, some.cp > 1)
    for sharding in _SHARDINGS[_SHARDINGS.index(training.sharding) + 1 :]:
        yield _sharding(training, sharding, some)
    smaller = divisors(training.batch)
    for b in smaller[smaller < training.microbatch][::-1].tolist():
        yield _microbatch(setting, b, some)
    for name in ("cp", "pp", "tp"):
        for factor in FACTORS:
            yield _degree(setting, some, name, factor)


def _recomputing(setting: Setting, some: Layouts) -> Iterator[_Change]:
    kept = setting.training.recompute
    if kept == "none":
        selective = replace(setting.training, recompute="selective")
        every = np.ones(len(some), np.bool_)
        yield _Change(
            "selective", lambda *_: "selective recomputation", selective, some, every
        )
    if kept not in ("none", "selective"):
        return
    training = replace(setting.training, recompute="fit")
    needed = full_recompute_to_fit(setting.model, training, some, setting.budget_bytes)
    layers = average_layers(setting.model, some)

    def what(at: int, cost: Costs) -> str:
        return (
            f"recomputing {number(needed[at])} of {number(layers[at])} layers of a stage "
            f"in full: {percent(cost.memory.recompute_flop_share[at])} more computation"
        )

    # none: selective recomputation alone is enough
    yield _Change("recompute", what, training, some, needed > 0)


def _sharding(training: Training, sharding: Sharding, some: Layouts) -> _Change:
    what = "optimizer state" if sharding == "optimizer" else sharding
    return _Change(
        "sharding",
        lambda *_: f"sharding {what} too",
        replace(training, sharding=sharding),
        some,
        np.ones(len(some), np.bool_),
    )


def _microbatch(setting: Setting, b: int, some: Layouts) -> _Change:
    smaller = replace(setting.training, microbatch=b)
    possible = _runs(setting, smaller, some)
    return _Change("microbatch", lambda *_: f"microbatch {b}", smaller, some, possible)


def _degree(setting: Setting, some: Layouts, name: str, factor: int) -> _Change:
    """Raise a degree with ranks of data parallelism, where the layout can run then."""
    raised = getattr(some, name) * factor
    dp = np.maximum(some.dp // factor, 1)
    more = replace(some, **{name: raised, "dp": dp})
    possible = np.ones(len(some), np.bool_)
    # whoever cannot give up as many ranks has too many then
    for rule in divisibility(setting, more):
        possible &= ~rule.broken
    if name == "tp":
        possible &= setting.platform.domain % raised == 0

    def what(at: int, _cost: Costs) -> str:
        return f"{name} {raised[at]}, dp {dp[at]}"

    return _Change(f"more_{name}", what, setting.training, more, possible)
