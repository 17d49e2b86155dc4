"""Results of `simulate`: rows, envelope, notes, and the timeline's file."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from synctax.cli.simulate_setup import Asked, Setup
from synctax.cli.simulate_told import cluster_told, contention_told, jobs_told, tax_told
from synctax.cluster.columns import simulate_columns
from synctax.cluster.fidelity import ERRORS, Distance, Fidelity
from synctax.cluster.metrics import by_width, culprits, spreads, summary, times
from synctax.cluster.simulation import Simulation
from synctax.cluster.timeline import MANY_SLICES, chrome_trace, slices
from synctax.files import replacing
from synctax.notes import Note
from synctax.report import simulate_words as words
from synctax.report.output import Result
from synctax.schema.simulate import SIMULATE

MOST_PAIRS: Final = 1_000
"""Pairs, and culprits, in an envelope: those that lost, or cost, most."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A simulation, how it was asked for, and how near it is to measured times.

    Parameters
    ----------
    asked : Asked
    setup : Setup
    simulation : Simulation
    fidelity : Fidelity or None
    """

    asked: Asked
    setup: Setup
    simulation: Simulation
    fidelity: Fidelity | None = None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was left out, inferred or odd."""
        compared = () if self.fidelity is None else self.fidelity.notes
        setup = self.setup
        return (*setup.cluster.notes, *setup.read.notes, *self.simulation.notes, *compared)


def noted(found: Found) -> list[Note | str]:
    """List what is said on stderr."""
    return [*counted(found), *found.setup.tax.notes, *found.notes]


def counted(found: Found) -> Iterator[str]:
    """Say what bytes were held against what, where rows of the trace tell them."""
    jobs = found.simulation.jobs
    how = [f"{one} ({many:,})" for one, many in found.setup.read.counting]
    if len(how) > 1 and jobs.nic_bytes.any():
        yield f"network_bytes are counted in several ways: {', '.join(how)}"


def result(found: Found) -> Result:
    """Make the table of jobs, with the cluster's numbers in its envelope."""
    simulation, near = found.simulation, found.fidelity
    measured: dict[str, Any] = {}
    if near is not None:
        for name in ("measured_training_s", "measured_jct_s"):
            measured[name] = np.full(len(simulation.jobs), np.nan)
            measured[name][near.row] = getattr(near, name)
    columns = simulate_columns(simulation, **measured)
    return Result(
        SIMULATE, SIMULATE.to_frame(columns), parameters(found), found.notes, told(found)
    )


def parameters(found: Found) -> dict[str, Any]:
    """Tell what was asked."""
    asked, setup, simulation = found.asked, found.setup, found.simulation
    return {
        "trace": asked.trace,
        **jobs_told(setup.read),
        "cluster": cluster_told(setup.cluster),
        "policy": simulation.policy,
        "queue": simulation.queue,
        "contention": contention_told(simulation.contention),
        "seed": asked.seed,
        "tax": tax_told(setup.charge),
    }


def told(found: Found) -> dict[str, Any]:
    """Tell the cluster's numbers, and in words what they come to."""
    simulation, read = found.simulation, found.setup.read
    pairs = simulation.interference
    return {
        **summary(simulation).told(),
        "spread": {name: asdict(one) for name, one in spreads(times(simulation)).items()},
        "widths": _records(by_width(simulation)),
        "links": _links(simulation),
        "links_idle": int((simulation.use.busy_s == 0).sum()),
        "interference": None if pairs is None else _pairs(simulation),
        "interference_pairs": None if pairs is None else int(pairs.job.size),
        "culprits": None if pairs is None else _culprits(simulation),
        "culprit_jobs": None if pairs is None else int(np.unique(pairs.by).size),
        "fidelity": None if found.fidelity is None else _fidelity(found.fidelity),
        "profiles": [_profile(one) for one in read.profiles],
        "verdict": list(words.verdict(simulation)),
        "assumed": list(words.assumed(simulation, read.pool)),
    }


def _records(columns: Any) -> list[dict[str, Any]]:
    """Return rows of a dataclass of arrays."""
    values = {name: column.tolist() for name, column in asdict(columns).items()}
    return [
        dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)
    ]


def _links(simulation: Simulation) -> list[dict[str, Any]]:
    use, links = simulation.use, simulation.cluster.links
    rows = zip(
        links.name,
        links.bytes_per_s.tolist(),
        use.busy_s.tolist(),
        use.oversubscribed_s.tolist(),
        strict=True,
    )
    keys = ("link", "bytes_per_s", "busy_s", "oversubscribed_s")
    # of large clusters most may be idle
    return [dict(zip(keys, row, strict=True)) for row in rows if row[2] > 0]


def _pairs(simulation: Simulation) -> list[dict[str, Any]]:
    pairs, ids = simulation.interference, simulation.jobs.job_id
    assert pairs is not None  # noqa: S101 - asked of simulations that have them
    return [
        {"job_id": ids[job], "by": ids[by], "shared_s": shared_s, "lost_s": lost_s}
        for job, by, shared_s, lost_s in zip(
            *(
                column[:MOST_PAIRS].tolist()
                for column in (pairs.job, pairs.by, pairs.shared_s, pairs.lost_s)
            ),
            strict=True,
        )
    ]


def _culprits(simulation: Simulation) -> list[dict[str, Any]]:
    assert simulation.interference is not None  # noqa: S101 - as above
    ids = simulation.jobs.job_id
    rows = _records(culprits(simulation.interference))[:MOST_PAIRS]
    return [{"job_id": ids[row.pop("job")], **row} for row in rows]


def _fidelity(near: Fidelity) -> dict[str, Any]:
    return {
        "jobs": near.jobs,
        "resamples": near.resamples,
        "level": near.level,
        "seed": near.seed,
        "errors": [_error(one) for one in near.distances if one.name in ERRORS],
        **{
            key: value
            for name in ("jct_ks", "jct_wasserstein_s")
            for key, value in _distance(near[name])
        },
    }


def _error(one: Distance) -> dict[str, Any]:
    return {
        "name": one.name,
        "measured_s": one.measured_s,
        "simulated_s": one.simulated_s,
        "error": one.value,
        "error_lo": one.lo,
        "error_hi": one.hi,
    }


def _distance(one: Distance) -> Iterator[tuple[str, float]]:
    """Yield a distance and its interval, the unit last in each name."""
    name, unit = one.name.removesuffix("_s"), "_s" if one.name.endswith("_s") else ""
    yield f"{name}{unit}", one.value
    yield f"{name}_lo{unit}", one.lo
    yield f"{name}_hi{unit}", one.hi


def _profile(one: Any) -> dict[str, Any]:
    return {key: value for key, value in asdict(one).items() if key != "notes"}


def write_timeline(
    simulation: Simulation, path: Path, servers: frozenset[int] | None
) -> None:
    """Write a timeline, whole or not at all.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    pieces = chrome_trace(simulation, servers=servers)
    with replacing(path) as file:
        if path.name.endswith(".gz"):
            # without name and time: the same simulation gives the same file
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(pieces)
        else:
            file.writelines(pieces)


def size_of_timeline(
    simulation: Simulation, servers: frozenset[int] | None
) -> Sequence[str]:
    """Say it where a timeline is too large to be looked at."""
    many = slices(simulation, servers)
    said = (
        f"the timeline has {many:,} slices, and viewers become slow with more than "
        f"{MANY_SLICES:,}; --timeline-servers 0-99 writes some servers only"
    )
    return [said] if many > MANY_SLICES else []
