"""Jobs on CPUs with delays in them, and collectives that delays reach, made by hand."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import synctax
from synctax.attribution.attribute import Attribution
from synctax.experiment.hits import Hits
from synctax.experiment.recovered import Recovered, Setting
from tests.attribution.examples import kept
from tests.trace.builders import annotation, cpu_op, distributed, group_config, trace

BASE_NS = 1_700_000_000_000_000_000
MAIN, GLOO = 11, 12
MM_US, ADD_US, ISSUE_US, TRANSFER_US = 300, 40, 20, 100
ISSUER = "c10d::allreduce_"
FIRST_STEP = 6
BEFORE_US = 10
"""How far into the operator the delay begins."""


@dataclass(frozen=True)
class GlooJob:
    """Ranks that multiply, add and all-reduce, so many times a step.

    `late` has the delay in ms of (rank, step, call); what is 0 is told as a control.
    Of the calls `ahead`, the collective is issued before the multiplication, and runs
    after it. With `ISSUER` as the operator the delays are in what issues collectives.
    """

    late: Mapping[tuple[int, int, int], float]
    ranks: int = 2
    steps: int = 4
    calls: int = 3
    seed: int = 0
    noise_us: int = 20
    first_step: int = FIRST_STEP
    operator: str = "aten::mm"
    ahead: Collection[tuple[int, int, int]] = ()

    def write(self, folder: Path) -> Path:
        """Write traces and truth as the recorder does."""
        where = folder / f"iteration_{self.first_step + self.steps}"
        where.mkdir(parents=True, exist_ok=True)
        events, told = self._run()
        for rank in range(self.ranks):
            group = group_config("0", list(range(self.ranks)))
            data = trace(
                *events[rank],
                rank=rank,
                baseTimeNanoseconds=BASE_NS,
                distributedInfo=distributed(
                    rank, self.ranks, groups=[group], backend="gloo"
                ),
            )
            (where / f"rank{rank}_trace.json").write_bytes(data)
            (where / f"rank{rank}_delays.json").write_text(json.dumps(told[rank]))
        return folder

    def _run(self):
        rng = np.random.default_rng(self.seed)
        later_us = 1_000_000 * (self.first_step - FIRST_STEP)
        clock = np.full(self.ranks, later_us, np.int64)
        events = [[] for _ in range(self.ranks)]
        told = [self._truth(rank) for rank in range(self.ranks)]
        for number in range(self.steps):
            step, began = self.first_step + number, clock.copy()
            for call in range(self.calls):
                arrived = clock.copy()
                for rank in range(self.ranks):
                    at = int(clock[rank])
                    ms = self.late.get((rank, step, call))
                    late = round(1000 * (ms or 0))
                    issue, mm, add = ISSUE_US, MM_US, ADD_US
                    mm += int(rng.integers(0, self.noise_us + 1))
                    if self.operator == ISSUER:
                        names, issue = ("aten::mm", ISSUER), issue + late
                    else:
                        names, mm = (self.operator, ISSUER), mm + late
                    first = (rank, step, call) in self.ahead
                    begin, issued = (at + issue, at) if first else (at, at + mm + add)
                    if ms is not None:
                        where = issued if self.operator == ISSUER else begin
                        told[rank]["delays"].append(self._delay(step, call, ms, where))
                    events[rank] += [
                        cpu_op(names[0], begin, mm, tid=MAIN),
                        cpu_op("aten::add", begin + mm, add, tid=MAIN),
                        cpu_op(names[1], issued, issue, tid=MAIN),
                    ]
                    arrived[rank] = at + mm + add + issue
                end = int(arrived.max()) + TRANSFER_US
                for rank, at in enumerate(arrived.tolist()):
                    size = {"Input Dims": "[[1024]]", "Input type": '["float"]'}
                    events[rank].append(
                        annotation("gloo:all_reduce", at, end - at, tid=GLOO, args=size)
                    )
                clock[:] = end + 5
            for rank in range(self.ranks):
                took = int(clock[rank] - began[rank])
                name = f"ProfilerStep#{step}"
                events[rank].append(annotation(name, int(began[rank]), took, tid=MAIN))
            clock += 3
        return events, told

    def _truth(self, rank):
        return {
            "schema": "synctax.delays/1",
            "rank": rank,
            "host": "here",
            "rules": [
                {"operator": self.operator, "rank": one, "us": 0.0}
                for one in sorted({rank for rank, _, _ in self.late})
            ],
            "occurrences": {},
            "delays": [],
        }

    def _delay(self, step, call, ms, at):
        start = BASE_NS + (at + BEFORE_US) * 1000
        return {
            "step": step,
            "operator": self.operator,
            "nth": call,
            "rule": 0,
            "asked_us": 1000.0 * ms,
            "start_ns": start,
            "end_ns": start + round(1e6 * ms),
            "thread": MAIN,
            "side": "host",
        }


def experiment(*doses_ms: float, call: int = 1, rank: int = 1, **more: int) -> GlooJob:
    """A job with one step a dose."""
    first = 6
    late = {(rank, first + n, call): ms for n, ms in enumerate(doses_ms)}
    return GlooJob(late, steps=len(doses_ms), first_step=first, **more)


def truth_of(folder: Path, rank: int) -> Path:
    (path,) = folder.rglob(f"rank{rank}_delays.json")
    return path


def edit(path: Path, **keys: object) -> None:
    """Change keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


@cache
def attributed(folder: Path, **options: object) -> Attribution:
    """Measure and attribute a folder, in this process."""
    job = synctax.load([str(folder)], workers=1, cache=kept(folder))
    tax = synctax.measure(job, **options)
    return synctax.attribute(tax, workers=1, cache=kept(folder))


def judged(folder: Path, *, group: str | None = None, **options: object) -> Recovered:
    """Judge the traces of a folder by the truth beside them."""
    found = attributed(folder, **({} if group is None else {"group": group}))
    return synctax.recover(found, synctax.read_injections(folder), **options)


def row(delay_us: float, tax_us: float, /, **more: object) -> dict[str, object]:
    """A collective that a delay reaches, with a perfect attribution unless said."""
    return {
        "group": "tp",
        "group_ranks": "0-3",
        "op": "all_reduce",
        "index": 1,
        "step": 1,
        "cluster": 0,
        "rank": 1,
        "operator": "aten::mm",
        "delays": 1,
        "positive": int(delay_us > 0) * more.get("delays", 1),
        "asked_us": delay_us,
        "delay_us": delay_us,
        "slack_us": None,
        "expected_us": delay_us,
        "tax_us": tax_us,
        "judged": True,
        "status": "ok",
        "reason": None,
        "straggler": 1,
        "culprit": "aten::mm",
        "origin_rank": 1,
        "culprit_us": delay_us,
        "blamed_us": delay_us,
        "rank_named": True,
        "operator_named": True,
        "operator_share": 0.5,
        "host_share": 1.0,
        "path_side": "cpu" if more.get("host_share", 1.0) > 0 else "gpu",
    } | more


MISSING = {
    "judged": False, "status": "head", "reason": "first", "tax_us": None, "path_side": None,
}  # fmt: skip
"""What is different of a collective that cannot be judged."""


def recovered(*rows: dict[str, object], **more: object) -> Recovered:
    """What is made of some collectives."""
    setting = Setting(
        delays=len(rows),
        ranks=4,
        cores=more.pop("cores", None),
        on_gpu=more.pop("on_gpu", False),
        end_spread_us=np.full(len(rows), 2.0),
    )
    return Recovered(Hits.of(rows), setting, **more)
