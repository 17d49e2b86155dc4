"""The reader gives the same whatever the chunks, and what a plain reading of JSON gives."""

import gzip
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import orjson
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synctax.trace.kineto import read_rank
from synctax.trace.kineto_keys import CATEGORIES
from synctax.trace.model import GPU_KINDS
from tests.laws import examples, some
from tests.trace.builders import (
    annotation,
    collective,
    cpu_op,
    flow,
    kernel,
    mark,
    runtime,
    stream_wait,
    thread_name,
    trace,
)
from tests.trace.reading import difference, read

TRACES = Path(__file__).parents[3] / "shared" / "traces"
WHOLE_MICROSECONDS = ("large-2020-allreduces.json.gz",)
"""Large files without fractions, which a quick parser reads exactly as well."""
REAL = sorted(folder for folder in TRACES.glob("*") if folder.is_dir())

names = st.text(st.characters(codec="utf-8"), max_size=12)
times = st.decimals(0, 10**6, places=3, allow_nan=False).map(float)
ids = st.integers(0, 2**31 - 1)
threads = st.sampled_from([1, 2**33, "main", "7"])
streams = st.sampled_from([0, 7, "0x7fabc0000000", "0x7fabc0000001", 4294967295])
events = st.one_of(
    st.builds(cpu_op, names, times, times, tid=threads),
    st.builds(annotation, st.sampled_from(["nccl:x", "ProfilerStep#3"]), times, times),
    st.builds(runtime, names, times, times, corr=ids),
    st.builds(kernel, names, times, times, stream=streams, corr=ids),
    st.builds(collective, times, times, group=names, seq=ids, desc=names),
    st.builds(stream_wait, times, times, stream=ids),
    st.builds(flow, times, ident=ids),
    st.builds(thread_name, st.just(100), threads, names),
    st.builds(mark, st.just("Record Window End"), times),
)


@given(
    st.lists(events, max_size=25),
    st.integers(1, 3_000),
    st.sampled_from([bytes, gzip.compress, zstandard.compress]),
    st.sampled_from([0, 2, None]),
)
@settings(
    max_examples=examples(50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_neither_chunks_nor_compression_change_the_result(
    tmp_path, listed, chunk_bytes, pack, indent
):
    data = trace(*listed, indent=indent)
    expected = read(tmp_path, data)
    assert difference(expected, read(tmp_path, pack(data), chunk_bytes=chunk_bytes)) == ""


def plain_reading(path):
    """The kept events by json.loads: start, duration, kind, name, stream, correlation."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    if path.name in WHOLE_MICROSECONDS:
        document = orjson.loads(text)
    else:
        document = json.loads(text, parse_float=Decimal, strict=False)
    base_ns = int(document.get("baseTimeNanoseconds", 0))
    rows = []
    for event in document["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in CATEGORIES:
            kind, args = CATEGORIES[event["cat"]], event.get("args", {})
            stream = int(args["stream"]) if kind in GPU_KINDS else None
            start_ns = int(event["ts"] * 1000) + base_ns
            rows.append((
                start_ns, int(event["dur"] * 1000), int(kind), event["name"], stream,
                int(args.get("correlation", -1)), int(args.get("External id", -1)),
            ))  # fmt: skip
    return sorted(rows, key=lambda row: row[0])


def rows(result):
    """The kept events of a reading, as `plain_reading` gives them."""
    columns = result.events
    return [
        (
            start, duration, kind, result.strings[name],
            stream if kind in GPU_KINDS else None, correlation, external,
        )
        for start, duration, kind, name, stream, correlation, external in zip(
            columns.start_ns.tolist(), columns.duration_ns.tolist(), columns.kind.tolist(),
            columns.name.tolist(), columns.stream.tolist(), columns.correlation.tolist(),
            columns.external_id.tolist(), strict=True,
        )
    ]  # fmt: skip


@pytest.mark.skipif(not REAL, reason="real traces are not at ../shared/traces")
@pytest.mark.parametrize("folder", REAL, ids=lambda folder: folder.name)
def test_a_real_trace_is_read_like_plain_json_event_by_event(folder):
    paths = sorted(folder.glob("*.json.gz"))
    assert paths
    for path in some(paths):
        result = read_rank(path)
        assert rows(result) == plain_reading(path), path
        assert {note.reason for note in result.notes} <= {"skipped_category"}
        assert np.all(result.events.lane >= 0)


@pytest.mark.skipif(not REAL, reason="real traces are not at ../shared/traces")
@pytest.mark.parametrize("chunk_bytes", [20_000, 300_000])
def test_chunks_do_not_change_what_a_real_trace_is(chunk_bytes):
    path = TRACES / "dlrm8-v100" / "worker0_step_12.1694128201545.pt.trace.json.gz"
    assert difference(read_rank(path), read_rank(path, chunk_bytes=chunk_bytes)) == ""
