"""Traces in a format each, of which rows can be spoilt."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from synctax.cluster.characterize.pool import default_pool
from synctax.cluster.convert.convert import Converted, convert
from synctax.cluster.convert.found import Options
from tests.conftest import ROOT

TRACES = ROOT / "examples" / "cluster" / "traces"
WORKLOADS = tuple(one.name for one in default_pool())


def read(*paths: object, source: str | None = None, **options: object) -> Converted:
    """Convert files with some options; every row has to be accounted for."""
    found = convert(
        [str(path) for path in paths],
        source=source,
        options=Options(**options),
        workloads=WORKLOADS,
    )
    kept = len(found)
    assert kept + found.count("rejected") + found.count("dropped") == found.read
    return found


def columns(found: Converted) -> list[tuple]:
    """Jobs as (id, submission, GPUs, run time)."""
    return list(
        zip(
            found.job_id,
            found.submit_s.tolist(),
            found.gpus.tolist(),
            found.duration_s.tolist(),
            strict=True,
        )
    )


def reasons(found: Converted) -> dict[str, int]:
    """How many rows were left out for each reason."""
    return {one.note.reason: one.note.count for one in found.left}


def noted(found: Converted) -> dict[str, int]:
    """How often something was inferred."""
    return {note.reason: note.count for note in found.notes}


@dataclass(frozen=True)
class Lines:
    """A trace of lines; the first `head` of them are no rows."""

    name: str
    files: tuple[str, ...]
    head: int = 1
    spoilt: int = 0

    def lines(self) -> list[str]:
        return (TRACES / self.files[self.spoilt]).read_text(encoding="utf-8").splitlines()

    def write(self, folder: Path, lines: Sequence[str]) -> list[Path]:
        """Write the trace with other lines in one of its files."""
        for file in self.files:
            text = (TRACES / file).read_bytes()
            (folder / file).write_bytes(text)
        (folder / self.files[self.spoilt]).write_bytes(
            "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
        )
        return [folder / file for file in self.files]


OF_LINES = (
    Lines("helios", ("helios_cluster_log.csv",)),
    Lines("acme", ("acme_seren.csv",)),
    Lines("acme", ("acme_kalos.csv",)),
    Lines("pai", ("pai_job_table.csv", "pai_task_table.csv"), head=0),
    Lines("pai", ("pai_job_table.csv", "pai_task_table.csv"), head=0, spoilt=1),
    Lines("openb", ("openb_pod_list.csv",)),
    Lines("spot", ("spot_job_info.csv",)),
    Lines("tiresias", ("tiresias_jobs.csv",)),
    Lines("muri", ("muri_trace.csv",)),
    Lines("chronus", ("chronus_trace.csv",)),
    Lines("pollux", ("pollux_workload.csv",)),
    Lines("gavel", ("gavel.trace",), head=0),
    Lines("slurm", ("sacct.txt",)),
    Lines("csv", ("jobs.csv",)),
)


def philly_jobs() -> list[dict]:
    """The jobs of the made-up log of Philly."""
    return json.loads((TRACES / "philly_cluster_job_log.json").read_text(encoding="utf-8"))


def philly_job(*attempts: tuple[object, object], **others: object) -> dict:
    """A job on two GPUs, with starts and ends of its attempts."""
    detail = [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]
    return {
        "status": "Pass",
        "vc": "0a1b2c",
        "jobid": "application_1",
        "attempts": [
            {"start_time": start, "end_time": end, "detail": detail}
            for start, end in attempts
        ],
        "submitted_time": "2017-10-07 01:00:00",
        "user": "d3e4f5",
        **others,
    }
