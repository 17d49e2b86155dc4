"""Pools of workloads: what jobs train where a trace does not tell."""

from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Final

import numpy as np

from synctax.arrays import F64, I64
from synctax.cluster.characterize.gpus import PRECISIONS
from synctax.cluster.characterize.pool import default_pool
from synctax.cluster.characterize.workloads import Workload
from synctax.cluster.model_names import meant, plain
from synctax.planning.inputs.yaml_file import read_yaml
from synctax.planning.inputs.yaml_source import file_bytes
from synctax.planning.inputs.yaml_values import Section
from synctax.planning.shape import FP32_BYTES

DEFAULT: Final = "default"
"""Asks for the pool that is built in."""

KEYS: Final = ("name", "workloads", "source")
WORKLOAD_KEYS: Final = (
    "name",
    "dataset",
    "batch_per_gpu",
    "parameters",
    "gradient_bytes",
    "flop_per_sample",
    "dtype",
    "source",
    "elementwise_bytes_per_sample",
    "compute_s",
    "network_s",
    "sent_bytes_per_worker",
    "measured_gpus",
    "barriers",
    "weight",
)

SYNONYMS: Final = {
    "model": "name",
    "batch": "batch_per_gpu",
    "batch_size": "batch_per_gpu",
    "params": "parameters",
    "gradients": "gradient_bytes",
    "flop": "flop_per_sample (forward and backward)",
    "flops": "flop_per_sample (forward and backward)",
    "flops_per_sample": "flop_per_sample (forward and backward)",
    "precision": "dtype",
    "t_comp": "compute_s",
    "t_net": "network_s",
    "v_net": "sent_bytes_per_worker (what one worker sends in an iteration)",
    "network_bytes": "sent_bytes_per_worker (what one worker sends in an iteration)",
    "gpus": "measured_gpus (for which network_s and sent_bytes_per_worker are)",
    "probability": "weight",
}

STREAM: Final = 1
"""Tells the numbers of draws from others of the same seed, such as those of made-up jobs:
their widths would else go along with their workloads."""

LARGEST_WEIGHT: Final = 1e12
"""Weights are relative; sums of larger ones would lose the small ones."""

_WORKLOADS = "[{name: mine, compute_s: 0.2, gradient_bytes: 400e6}]"


@dataclass(frozen=True, eq=False)
class Pool:
    """Workloads, and how often each is drawn.

    Parameters
    ----------
    name : str
    workloads : tuple of Workload
        One or more, no two of one name.
    weights : (w,) float64
        Of each, relative to each other.
    """

    name: str
    workloads: tuple[Workload, ...]
    weights: F64

    @cached_property
    def _places(self) -> dict[str, int]:
        return {plain(one.name): at for at, one in enumerate(self.workloads)}

    def find(self, name: str) -> int | None:
        """Tell where a workload is, or None.

        Parameters
        ----------
        name : str
            Letters and digits count, in any case: `VGG16` is `vgg-16`. `bert` is
            `bert-base` where no workload is called `bert`.
        """
        return meant(name, self._places)

    def hint(self, name: str) -> str:
        """Say which workloads a name can mean."""
        near = get_close_matches(plain(name), self._places, n=2, cutoff=0.6)
        known = [self.workloads[self._places[one]].name for one in near]
        return " or ".join(known) or f"one of {', '.join(self.names)}"

    @property
    def names(self) -> tuple[str, ...]:
        """Of all workloads."""
        return tuple(one.name for one in self.workloads)

    def draw(self, n: int, seed: int) -> I64:
        """Draw a workload for each of n jobs.

        One number is drawn for every job, in order. So what a job gets depends on the seed,
        its place and the weights, whatever the other jobs are, and however many come later.

        Parameters
        ----------
        n : int
        seed : int

        Returns
        -------
        (n,) int64
            Index into `workloads`.
        """
        ends = np.cumsum(self.weights)
        stream = np.random.SeedSequence(seed, spawn_key=(STREAM,))
        at = np.random.default_rng(stream).random(n) * ends[-1]
        # a product may round up to the last end
        last = len(self.workloads) - 1
        return np.asarray(np.minimum(np.searchsorted(ends, at, side="right"), last))


def read_pool(path: str | Path | None = None) -> Pool:
    """Read a pool from a YAML file, or take the one that is built in.

    Parameters
    ----------
    path : str or Path, optional
        None or "default": the twelve workloads of the MoSim paper's table I, all drawn
        equally often.

    Returns
    -------
    Pool

    Raises
    ------
    SynctaxError
        If there is no such file.
    BadInputError
        If it is no pool; names the key, its line, and what was expected.
    """
    if path is None or str(path).strip().lower() == DEFAULT:
        workloads = default_pool()
        return Pool(DEFAULT, workloads, np.ones(len(workloads)))
    kind = "a pool of workloads"
    text = file_bytes(str(path), kind=kind, names=(DEFAULT,))
    return pool_of(read_yaml(text, name=str(path), kind=kind), name=Path(path).stem)


def pool_of(section: Section, *, name: str) -> Pool:
    """Make a pool of what a file says.

    Parameters
    ----------
    section : Section
        The whole file.
    name : str
        Of the pool, where the file does not tell.

    Raises
    ------
    BadInputError
        If a key is unknown or missing, or a value is no such value.
    """
    section.allow(KEYS, {})
    section.text("source", "")
    parts = section.sections("workloads", _WORKLOADS)
    if not parts:
        raise section.wrong("workloads", f"a list such as {_WORKLOADS}")
    workloads = tuple(_workload(part) for part in parts)
    many = Counter(plain(one.name) for one in workloads)
    for one, part in zip(workloads, parts, strict=True):
        if many[plain(one.name)] > 1:
            expected = "another one for each workload, by its letters and digits"
            raise part.wrong("name", expected)
    weights = np.array([_weight(part) for part in parts])
    return Pool(section.text("name", name) or name, workloads, weights)


def _workload(part: Section) -> Workload:
    part.allow(WORKLOAD_KEYS, SYNONYMS)
    name = part.text("name", "")
    if not plain(name):
        raise part.wrong("name", "a name of letters and digits")
    dtype = part.text("dtype", "fp32").lower()
    if dtype not in PRECISIONS:
        raise part.wrong("dtype", f"one of {', '.join(PRECISIONS)}")
    compute_s = _known(part, "compute_s")
    network_s, sent = _known(part, "network_s"), _known(part, "sent_bytes_per_worker")
    if (network_s is None) != (sent is None):
        lacks = "network_s" if network_s is None else "sent_bytes_per_worker"
        raise part.wrong(
            lacks, "a number, as network_s and sent_bytes_per_worker go together"
        )
    if not network_s and sent:
        raise part.wrong("network_s", "a number above 0, as bytes are sent")
    computed = compute_s is None
    return Workload(
        name=name,
        dataset=part.text("dataset", ""),
        batch_per_gpu=part.count("batch_per_gpu", None if computed else 1),
        parameters=part.number("parameters", nan),
        gradient_bytes=_gradients(part, needed=network_s is None),
        flop_per_sample=part.number("flop_per_sample", None if computed else nan),
        dtype=dtype,
        source=part.text("source", f"{part.file}, line {part.line}"),
        elementwise_bytes_per_sample=part.number(
            "elementwise_bytes_per_sample", 0.0, least=0.0
        ),
        compute_s=compute_s,
        network_s=network_s,
        sent_bytes_per_worker=sent,
        measured_gpus=part.count("measured_gpus") if part.has("measured_gpus") else None,
        barriers=part.count("barriers", 1, least=0),
    )


def _weight(part: Section) -> float:
    weight = part.number("weight", 1.0)
    if weight > LARGEST_WEIGHT:
        raise part.wrong("weight", f"at most {LARGEST_WEIGHT:g}")
    return weight


def _known(part: Section, key: str) -> float | None:
    return part.number(key, least=0.0) if part.has(key) else None


def _gradients(part: Section, *, needed: bool) -> float:
    """Tell the bytes that are reduced; NaN where neither they nor parameters are known."""
    if part.has("gradient_bytes") or (needed and not part.has("parameters")):
        return part.number("gradient_bytes")
    return part.number("parameters", nan) * FP32_BYTES
