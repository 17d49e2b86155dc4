"""What has nothing to do with communication changes no measured wait."""

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.collectives.load import load
from synctax.collectives.tax import measure
from synctax.synth import SynthJob, write
from tests.laws import examples
from tests.trace.builders import cpu_op, event, flow, mark, runtime

JOB = SynthJob(tp=2, fsdp=2, layers=1, steps=2, layout="flat")
ELSEWHERE = 99
"""A stream, and a thread, that the job has not."""
TRAINING = -99
"""Stands for the thread that launches the collectives of a file."""


def counter(ts):
    return {"ph": "C", "name": "memory", "pid": 1, "ts": ts, "args": {"bytes": 2**40}}


def copy(ts, dur, ident):
    where = {"device": 0, "stream": ELSEWHERE, "correlation": ident}
    return event("gpu_memcpy", "Memcpy HtoD", ts, dur, 0, ELSEWHERE, bytes=8, **where)


KINDS = {
    "cpu op": lambda ts, dur, i: cpu_op("aten::mm", ts, dur, args={"External id": i}),
    "cpu op of the training": lambda ts, dur, i: cpu_op("aten::mm", ts, dur, tid=TRAINING),
    "cpu op elsewhere": lambda ts, dur, i: cpu_op("aten::add", ts, dur, tid=ELSEWHERE),
    "python": lambda ts, dur, i: event("python_function", "train.py(7)", ts, dur),
    "start of a flow": lambda ts, dur, i: flow(ts, ident=i),
    "end of a flow": lambda ts, dur, i: flow(ts, ident=i, end=True),
    "counter": lambda ts, dur, i: counter(ts),
    "unknown": lambda ts, dur, i: event("new_in_torch_9", "nccl:all_reduce", ts, dur),
    "no category": lambda ts, dur, i: {"ph": "X", "name": "x", "ts": ts, "dur": dur},
    "copy": copy,
    "call": lambda ts, dur, i: runtime("cudaMemcpyAsync", ts, dur, tid=ELSEWHERE, corr=i),
    "instant": lambda ts, dur, i: mark("checkpoint", ts),
    "range": lambda ts, dur, i: event("user_annotation", "loss", ts, dur, tid=ELSEWHERE),
    "range on the gpu": lambda ts, dur, i: event(
        "gpu_user_annotation", "loss", ts, dur, 0, ELSEWHERE
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    write(JOB, folder)
    return {path.name: path.read_bytes() for path in sorted(folder.glob("rank*"))}


@pytest.fixture(scope="module")
def plain(files):
    """What is measured where nothing unrelated happens."""
    return rows(files)


def rows(files):
    """Measure files given by name; the rows of `measure --per-collective`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        return json.loads(
            measure(load([folder], workers=1)).per_collective().to_json(orient="records")
        )


def times_us(data):
    """Starts of the events: what lies between the first and the last is in the window."""
    return [float(ts) for ts in re.findall(rb'"ts": ([\d.]+)', data)]


def with_events(data, unrelated):
    """Insert events between those of a file; each is kind, place, moment and length."""
    starts = [found.start() for found in re.finditer(rb'\{\s*"ph"', data)]
    first, last = min(times_us(data)), max(times_us(data))
    place = re.search(rb'"cpu_op", "name": "c10d::.*?"pid": (\d+), "tid": (\d+)', data)
    training = {"pid": int(place[1]), "tid": int(place[2])}
    pieces = {}
    for number, (kind, place, moment, dur) in enumerate(unrelated):
        ts = round(first + moment * (last - first - dur), 3)
        unrelated_event = KINDS[kind](ts, dur, 10**8 + number)
        if unrelated_event.get("tid") == TRAINING:
            unrelated_event |= training
        text = json.dumps(unrelated_event).encode() + b",\n"
        at = starts[int(place * (len(starts) - 1))]
        pieces[at] = pieces.get(at, b"") + text
    for at in sorted(pieces, reverse=True):
        data = data[:at] + pieces[at] + data[at:]
    return data


share = st.floats(0, 1)
unrelated_events = st.lists(
    st.tuples(st.sampled_from(sorted(KINDS)), share, share, st.integers(0, 300)),
    max_size=12,
)


@given(unrelated=st.lists(unrelated_events, min_size=4, max_size=4))
@settings(max_examples=examples(15), deadline=None)
def test_events_that_have_nothing_to_do_with_it_change_no_row(files, plain, unrelated):
    mixed = {
        name: with_events(data, more)
        for (name, data), more in zip(files.items(), unrelated, strict=True)
    }
    assert rows(mixed) == plain


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_thousand_of_a_kind_in_one_file_change_no_row(files, plain, kind):
    name = min(files)
    many = [(kind, i / 1_000, i / 1_000, i % 300) for i in range(1_000)]
    assert rows(files | {name: with_events(files[name], many)}) == plain


def test_the_measured_job_has_waits(files):
    assert len(files) == 4
    measured = [row for row in rows(files) if row["status"] == "ok"]
    assert any(row["tax_max_us"] > 0 for row in measured)
