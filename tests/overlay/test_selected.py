"""Which events are kept and coloured: those of the steps, collectives, culprits."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

import synctax
from synctax.collectives.job_clocks import job_clocks
from synctax.overlay.choice import Choice
from synctax.overlay.links import Links, Selected
from synctax.overlay.moved import Moved, tasks_of
from synctax.overlay.rewrite import rewrite
from synctax.trace.model import EventKind
from tests.overlay import importers, made


def kept(document: dict[str, Any]) -> list[list[importers.Event]]:
    """Events of each rank."""
    events, at, ranks = document["traceEvents"], 0, []
    for count in map(int, document["otherData"]["events"].split()):
        ranks.append(events[at : at + count])
        at += count
    return ranks


def written(rank: int) -> list[dict[str, Any]]:
    document = made.read_gzip(made.EXAMPLE / f"rank{rank}.json.gz")
    return [event for event in document["traceEvents"] if event["ph"] != "M"]


def correlations(events: list[dict[str, Any]], category: str) -> list[int]:
    return sorted(
        event["args"]["correlation"] for event in events if event.get("cat") == category
    )


def test_kernels_of_a_step_are_those_that_its_calls_launched(tmp_path: Path) -> None:
    job, _, _ = made.example()
    tax = synctax.measure(job, steps=range(3, 4))
    _, path = made.overlay(job, tax, None, tmp_path)
    behind = 0
    for rank, events in enumerate(kept(importers.read(path))):
        own = written(rank)
        step = next(e for e in own if e["name"] == "ProfilerStep#3")
        assert step["cat"] == "user_annotation"
        last = step["ts"] + step["dur"]
        calls = [e for e in own if e.get("cat") == "cuda_runtime"
                 and step["ts"] <= e["ts"] < last]  # fmt: skip
        launched = set(correlations(calls, "cuda_runtime"))
        kernels = [e for e in own if e.get("cat") == "kernel"
                   and e["args"]["correlation"] in launched]  # fmt: skip
        assert 0 < len(kernels) < 384 / 4
        assert correlations(events, "kernel") == correlations(kernels, "kernel")
        behind += sum(e["ts"] > last for e in kernels)
        steps = [e["cat"] for e in events if e["name"].startswith("ProfilerStep")]
        assert sorted(steps) == ["gpu_user_annotation", "user_annotation"]
        flows = Counter(e["ph"] for e in events if e["ph"] in "sf")
        assert flows == {"s": len(kernels), "f": len(kernels)}
    assert behind  # the GPU runs behind its host, or this tells nothing


def raw(**values: Any) -> Any:
    return {key: msgspec.Raw(orjson.dumps(value)) for key, value in values.items()}


def gpu(name: str, start: int, lasts: int, number: int | None = None) -> Any:
    args = {} if number is None else {"correlation": number}
    category = "gpu_user_annotation" if name.startswith("Profiler") else "kernel"
    return raw(ph="X", cat=category, name=name, ts=start, dur=lasts, args=args)


@pytest.mark.parametrize("marked", [True, False])
def test_what_no_call_launched_belongs_where_the_gpu_ran_it(marked: bool) -> None:
    us = 1000
    links = Links(Selected(range(2, 3), (100 * us, 200 * us), (100 * us, 450 * us), {}))
    marks = [gpu("ProfilerStep#1", 150, 150), gpu("ProfilerStep#2", 300, 200)]
    call = raw(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", ts=150, dur=1,
               args={"correlation": 7})  # fmt: skip
    links.add([*(marks if marked else []), call])

    def wanted(event: Any) -> bool:
        start, lasts = (int(bytes(event[key])) * us for key in ("ts", "dur"))
        return links.wanted(event, start, lasts)

    assert wanted(gpu("far behind", 900, 5, 7))
    assert wanted(gpu("of no call", 420, 5))
    assert wanted(gpu("call is gone", 420, 5, 8))
    # without marks, the GPU ran the step from its host's beginning to its last collective
    assert wanted(gpu("early", 250, 5)) is not marked
    assert wanted(gpu("late", 480, 5)) is marked
    assert wanted(marks[1])
    assert not wanted(marks[0])


def folder_of(tmp_path: Path, events: list[list[str]]) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank, those in enumerate(events):
        (folder / f"rank{rank}.json").write_text(made.trace(rank, those))
    return folder


def test_collectives_that_start_together_are_all_kept(tmp_path: Path) -> None:
    events = []
    for rank in range(2):
        first = made.reduces([(f"{100 + 20 * n}", f"{7 + rank}") for n in range(4)])
        second = made.reduces([(f"{100 + 20 * n}", f"{9 + rank}") for n in range(4)])
        second = [
            event.replace('"tid":7', '"tid":8').replace('"stream":7', '"stream":8')
            for event in second
        ]
        # an operator that happens to take the same time is none
        twin = ('{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,'
                f'"ts":100,"dur":{7 + rank}}}')  # fmt: skip
        events.append([*first, *second, twin])
    job = synctax.load([str(folder_of(tmp_path, events))], workers=1)
    tax = synctax.measure(job)
    made_, path = made.overlay(job, tax, None, tmp_path, Choice(keep="collectives"))
    assert [len(one) for one in kept(importers.read(path))] == [8, 8]
    assert [piece.left_out for piece in made_.pieces] == [1, 1]


def test_a_culprit_is_told_from_others_by_name_kind_and_number(tmp_path: Path) -> None:
    def event(name: str, category: str, thread: int) -> str:
        return (f'{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":{thread},'
                '"ts":150,"dur":5}')  # fmt: skip

    others = [event("b", "kernel", 7), event("a", "cpu_op", 1), event("a", "other", 2)]
    twins = [event("a", "kernel", 7), event("a", "kernel", 8)]
    shared = made.reduces([("100", "7"), ("200", "7")])
    folder = folder_of(tmp_path, [[*shared, *others, *twins]] * 2)
    job = synctax.load([str(folder)], workers=1)
    tax = synctax.measure(job)
    moved = Moved.of(job, tax, job_clocks(tax.matches))
    blamed = {0: {((150_000, 5_000, "a"), int(EventKind.KERNEL)): 1}}
    tasks = tasks_of(tax, blamed, moved, "all")
    pieces = [
        rewrite(task, tmp_path / f"p{task.position}", lambda _: None, compressed=False)
        for task in tasks
    ]
    assert [piece.coloured for piece in pieces] == [1, 0]
    text = (tmp_path / "p0").read_bytes().rstrip().removesuffix(b",")
    marked = [e for e in orjson.loads(b"[" + text + b"]") if "cname" in e]
    assert [(e["name"], e["cat"]) for e in marked] == [("a", "kernel")]


def test_a_file_that_is_read_twice_counts_once(tmp_path: Path) -> None:
    job, _, _ = made.example()
    tax = synctax.measure(job, steps=range(3, 4))
    read: Counter[str] = Counter()

    def progress(path: str, count: int) -> None:
        read[path] += count

    made.overlay(job, tax, None, tmp_path, on_progress=progress)
    assert read == {one.path: Path(one.path).stat().st_size for one in tax.matches.ranks}
