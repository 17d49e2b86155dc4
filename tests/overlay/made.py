"""Overlays that several tests look at, each made once, in this process."""

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import orjson

import synctax
from synctax.attribution.attribute import Attribution, attribute
from synctax.collectives.load import Job
from synctax.collectives.tax import Tax
from synctax.overlay.choice import Choice
from synctax.overlay.overlay import Overlay, write_overlay
from tests.conftest import ROOT
from tests.overlay import importers

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"


def read_gzip(path: Path) -> dict[str, Any]:
    """Read a trace."""
    document: dict[str, Any] = orjson.loads(gzip.decompress(path.read_bytes()))
    return document


def overlay(
    job: Job,
    tax: Tax,
    found: Attribution | None,
    folder: Path,
    choice: Choice | None = None,
    on_progress: Callable[[str, int], None] | None = None,
    name: str = "all.json.gz",
) -> tuple[Overlay, Path]:
    """Write an overlay into a folder, and check that nothing else is left there."""
    before = set(folder.iterdir())
    path = folder / name
    made = write_overlay(
        job, found or tax, path, choice=choice, workers=1, on_progress=on_progress
    )
    assert set(folder.iterdir()) == before | {path}
    assert path.stat().st_size == made.file_bytes
    return made, path


@cache
def example() -> tuple[Job, Tax, Attribution]:
    """Measure and attribute the example."""
    job = synctax.load([str(EXAMPLE)], workers=1)
    tax = synctax.measure(job)
    return job, tax, attribute(tax, workers=1)


@cache
def of_example() -> tuple[Overlay, Path, dict[str, Any]]:
    """Make the overlay of the example, and read it."""
    made, path = overlay(*example(), Path(mkdtemp()), Choice())
    return made, path, importers.read(path)


def trace(rank: int, events: list[str], **around: Any) -> str:
    """Write a trace of one rank around events that are given as text."""
    head = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}}
    text = json.dumps({**head, **around})
    return text[:-1] + ',"traceEvents":[\n' + ",\n".join(events) + "\n]}"


def reduces(times_us: list[tuple[str, str]]) -> list[str]:
    """Write all-reduces that start and last so long."""
    return [
        f'{{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL",'
        f'"pid":0,"tid":7,"ts":{start},"dur":{lasts},"args":{{"device":0,"stream":7,'
        f'"Collective name":"allreduce","Group size":2,"Process Group Name":"0",'
        f'"Process Group Ranks":"[0, 1]","dtype":"Float","In msg nelems":64,'
        f'"Out msg nelems":64}}}}'
        for start, lasts in times_us
    ]
