"""The contention study for people to read: who stretches whom, and what models say."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from synctax.cluster.pairs import Pairs, PairsSummary
from synctax.report.tables import Field, Sentence, table
from synctax.texts import BYTES_PER_GB, number, percent, rate_gb_per_s, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS_AT_A_TIME = 12
"""Of the matrix: with names it is then no wider than 80 characters."""

_NAME = 15
"""Characters of a workload's name beside the matrix."""

_CELL = 5
"""Characters of a cell of the matrix."""

_TEN = 9.995
"""From here on cells have one decimal."""


def parts(found: Pairs, models: Sequence[PairsSummary]) -> "Iterator[RenderableType | str]":
    """Lay out pairs: the matrix, ranges by workload, models side by side, what it means."""
    yield Sentence(
        "time of an iteration beside another job over that alone, by row the workload, by "
        "column the one beside it"
    )
    for start in range(0, len(found.profiles), COLUMNS_AT_A_TIME):
        yield from matrix(found, start)
        yield ""
    yield _workloads(found)
    yield ""
    yield _models(models)
    yield ""
    yield from map(Sentence, words(found))


def matrix(found: Pairs, start: int = 0) -> Iterator[str]:
    """Write the matrix, some columns of it, line by line."""
    stop = min(start + COLUMNS_AT_A_TIME, len(found.profiles))
    digits = len(str(len(found.profiles)))
    head = "".join(f"{at + 1:>{_CELL}}" for at in range(start, stop))
    yield " " * (digits + 1 + _NAME) + head
    for row, one in enumerate(found.profiles):
        name = one.workload
        if len(name) > _NAME:
            name = f"{name[: _NAME - 1]}…"
        cells = "".join(_cell(value) for value in found.iteration_change[row, start:stop])
        yield f"{row + 1:>{digits}} {name:<{_NAME}}{cells}"


def _cell(value: float) -> str:
    return f"{value:>{_CELL}.{2 if value < _TEN else 1}f}"


def _workloads(found: Pairs) -> "RenderableType":
    network = np.array([one.network_s for one in found.profiles]) / found.iteration_s
    change, factor = found.iteration_change, found.factor
    worst = change.argmax(axis=1)
    return table(
        [
            Field("workload", [one.workload for one in found.profiles], right=False),
            Field("alone", [time_us(1e6 * value) for value in found.iteration_s]),
            Field("network", [percent(value) for value in network]),
            Field("S", [_range(values) for values in factor]),
            Field("change", [_two(values.mean()) for values in change]),
            Field("most", [_two(values.max()) for values in change]),
            Field(
                "beside",
                [
                    found.profiles[at].workload if change[row, at] > 1 else ""
                    for row, at in enumerate(worst)
                ],
                right=False,
                rank=1,
            ),
        ]
    )


def _models(models: Sequence[PairsSummary]) -> "RenderableType":
    return table(
        [
            Field("model", [model_name(one) for one in models], right=False),
            Field("change", [_two(one.iteration_change_mean) for one in models]),
            Field("most", [_two(one.iteration_change_max) for one in models]),
            Field("S", [_two(one.factor_mean) for one in models]),
            Field(
                "from to",
                [_range(np.array([one.factor_min, one.factor_max])) for one in models],
            ),
            Field("slowed", [f"{one.pairs_slowed} of {one.pairs}" for one in models]),
        ]
    )


def model_name(one: PairsSummary) -> str:
    """Name a model with what it counts by: `mosim, overlap`."""
    return ", ".join(
        name for name in (one.model, one.demand_basis, one.static_scope) if name
    )


def words(found: Pairs) -> Iterator[str]:
    """Say what was run, what it comes to, and what no model here tells."""
    told = found.summary()
    half = found.gpus // 2
    yield (
        f"{told.pairs} pairs of jobs of {found.gpus} GPUs, {half} + {half} on two servers "
        f"with {rate_gb_per_s(found.nic_bytes_per_s / BYTES_PER_GB)} of NIC each, by "
        f"{model_name(told)}: an iteration takes {number(told.iteration_change_mean)} "
        "times what it takes alone on average, "
        f"{number(told.iteration_change_max)} times at most"
    )
    if told.pairs_slowed and told.network_share_min == 1:
        yield (
            "all of the change is network time, by construction: what else jobs share is "
            "not modelled"
        )
    elif told.pairs_slowed:
        yield (
            f"{percent(told.network_share_mean)} of the change is network time: the factor "
            "is on whole iterations, whatever a job spends them on"
        )


def _range(values: np.ndarray) -> str:
    return f"{_two(values.min())} to {_two(values.max())}"


def _two(value: float) -> str:
    return f"{value:.2f}"
