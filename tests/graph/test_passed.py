"""Blocking calls that need not wait: edges that decided nothing, and might have."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from numpy.testing import assert_array_equal

from synctax.errors import SynctaxError
from synctax.graph import build
from synctax.graph.build import build_graph
from synctax.graph.critical_path import deciding_edges
from synctax.graph.model import EdgeKind, Provenance
from synctax.trace.kineto import read_rank
from tests.attribution.examples import read
from tests.graph.made import Told, launch, sync
from tests.graph.programs import programs, simulate
from tests.graph.test_laws import RECORDS, plain_law
from tests.trace.builders import cpu_op, runtime

REAL = {
    "ddp4-mi300": 1, "dlrm8-v100": 1, "megatron-tp8-a100": 1, "torchrec4-sleep-rank2": 0,
}  # fmt: skip
"""Recorded jobs, and how many calls of their rank 0 need not wait and are told of what."""


def without(trace):
    """Build the graph as it was without such edges."""
    blocked = build.blocked

    def waited(*args):
        found = blocked(*args)
        passed = replace(found.passed, **{
            name: getattr(found.passed, name)[:0] for name in ("call", "gpu", "provenance")
        })  # fmt: skip
        return replace(found, passed=passed)

    with patch.object(build, "blocked", waited):
        return build_graph(trace)


def same_decisions(graph, other):
    assert_array_equal(graph.nodes.start_ns, other.nodes.start_ns)
    assert_array_equal(graph.nodes.kind, other.nodes.kind)
    for tolerance in (0.0, 3.0, 40.0):
        one = deciding_edges(graph, tolerance_us=tolerance)[1:]
        two = deciding_edges(other, tolerance_us=tolerance)[1:]
        for name in ("parent", "kind", "provenance"):
            assert_array_equal(getattr(graph, name)[one], getattr(other, name)[two])


@plain_law
@given(programs(), RECORDS)
def test_no_edge_to_a_call_that_did_not_wait_decides(program, records):
    trace = simulate(program, records=records).trace()
    try:
        graph = build_graph(trace)
    except SynctaxError:  # nothing but calls that launch nothing
        assume(False)
    other = without(trace)
    same_decisions(graph, other)
    assert graph.notes == other.notes


@pytest.mark.parametrize(("name", "count"), REAL.items())
def test_on_recorded_jobs_no_decision_changes(shared_traces, name, count):
    trace = read(min((shared_traces / name).iterdir()))
    graph, other = build_graph(trace), without(trace)
    same_decisions(graph, other)
    assert graph.parent.size - other.parent.size == count


ON_7 = sync("Stream Sync", 60, 2, corr=2, stream=7)
GEMM = launch("gemm", (0, 3), (8, 50), corr=1)
LATER = launch("add", (70, 73), (80, 90), corr=3)


def story(call, *records):
    event = runtime(call, 60, 2, corr=2)
    return Told(*GEMM, cpu_op("aten::item", 58, 6), event, *LATER, *records)


@pytest.mark.parametrize(
    ("call", "records", "edge"),
    [
        ("cudaDeviceSynchronize", [], "calls"),
        (
            "cudaStreamSynchronize",
            [ON_7],
            "recorded",
        ),
        ("cudaStreamSynchronize", [], None),
        ("cudaEventSynchronize", [sync("Event Sync", 60, 2, corr=2)], None),
        ("cudaStreamSynchronize", [sync("Stream Sync", 60, 2, corr=2, stream=9)], None),
    ],
)
def test_a_call_that_came_late_has_an_edge_from_what_it_would_have_waited_for(
    call, records, edge
):
    told = story(call, *records)
    found = {one for one in told.into(call) if one[1] == "sync"}
    assert found == ({("gemm", "sync", edge)} if edge else set())
    assert [name for name, _ in told.path("add")] == [
        "cudaLaunchKernel", "gap before aten::item", "aten::item", call, "aten::item",
        "gap before cudaLaunchKernel", "cudaLaunchKernel",
    ]  # fmt: skip


def test_an_event_that_was_recorded_long_ago_is_what_a_later_call_asks_for():
    told = Told(
        *GEMM, runtime("cudaEventRecord", 4, 1, corr=9),
        cpu_op("aten::item", 58, 6), runtime("cudaEventSynchronize", 60, 2, corr=2),
        sync("Event Sync", 60, 2, corr=2, on=7, record=9), *LATER,
    )  # fmt: skip
    assert ("gemm", "sync", "recorded") in told.into("cudaEventSynchronize")


def test_a_call_that_is_the_first_of_its_thread_has_no_such_edge():
    """Nothing stands before it that would decide instead."""
    told = Told(
        *GEMM, cpu_op("busy", 3, 90), cpu_op("aten::item", 62, 6, tid=2),
        runtime("cudaDeviceSynchronize", 60, 2, tid=2, corr=2),
    )  # fmt: skip
    assert told.into("cudaDeviceSynchronize") == {("root", "root", "recorded")}


def test_among_devices_only_a_call_that_names_its_own_is_told():
    there = launch("there", (4, 6), (9, 20), corr=5, device=1, stream=8)
    call = runtime("cudaDeviceSynchronize", 60, 2, corr=2)
    record = sync("Context Sync", 60, 2, corr=2, device=1)
    around = cpu_op("aten::item", 58, 6)
    named, unnamed = (
        Told(*GEMM, *there, around, call, record),
        Told(*GEMM, *there, around, call),
    )
    assert ("there", "sync", "calls") in named.into("cudaDeviceSynchronize")
    assert not any(one[1] == "sync" for one in unnamed.into("cudaDeviceSynchronize"))


def test_such_edges_are_never_inferred(shared_traces):
    trace = read_rank(shared_traces / "single" / "alexnet-one-gpu.json.gz")
    graph, other = build_graph(trace), without(trace)
    new = graph.parent.size - other.parent.size
    kinds = graph.provenance[graph.kind == EdgeKind.SYNC]
    before = other.provenance[other.kind == EdgeKind.SYNC]
    inferred = [np.count_nonzero(k == Provenance.INFERRED) for k in (kinds, before)]
    assert new == 4
    assert inferred[0] == inferred[1]
