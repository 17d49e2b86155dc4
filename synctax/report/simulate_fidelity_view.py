"""How near a simulation is to measured times, for people to read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from synctax.cluster.fidelity import Distance, Fidelity
from synctax.report.tables import Field, Sentence, table
from synctax.texts import ABSENT, alike, counted, is_absent, level_text, number, seconds

if TYPE_CHECKING:
    from rich.console import RenderableType

TITLES: Final = {
    "training_mean": "mean training",
    "jct_mean": "mean JCT",
    "jct_median": "median JCT",
    "jct_p99": "P99 of JCT",
    "makespan": "makespan",
    "training_per_job": "training of a job",
    "jct_per_job": "JCT of a job",
    "jct_ks": "JCTs, KS",
    "jct_wasserstein_s": "JCTs, Wasserstein",
}


def parts(fidelity: Fidelity) -> "Iterator[RenderableType]":
    """Lay out errors and distances with their intervals."""
    rows = fidelity.distances
    whole, single = fidelity["jct_mean"], fidelity["jct_per_job"]
    yield Sentence(
        f"against measured times of {counted(fidelity.jobs, 'job')}: mean JCT is off by "
        f"{_shown(whole, whole.value)}, that of single jobs by "
        f"{_shown(single, single.value)} on average"
    )
    show_s = alike(one.measured_s for one in rows)
    fields = [
        Field("", [TITLES[one.name] for one in rows], right=False),
        Field("measured", [show_s(one.measured_s) for one in rows]),
        Field("simulated", [show_s(one.simulated_s) for one in rows]),
        Field("off by", [_shown(one, one.value) for one in rows]),
    ]
    if fidelity.resamples:
        title = f"{level_text(fidelity.level)} interval"
        fields.append(Field(title, [_interval(one) for one in rows]))
    yield table(fields)


def _shown(one: Distance, value: float) -> str:
    if is_absent(value):
        return ABSENT
    if one.name.endswith("_s"):
        return seconds(value)
    return number(value) if one.name == "jct_ks" else f"{number(100 * value)} %"


def _interval(one: Distance) -> str:
    if is_absent(one.lo):
        return ABSENT
    return f"{_shown(one, one.lo)} to {_shown(one, one.hi)}"
