"""What holds of every graph and path, on random programs of which all is known."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.errors import SynctaxError
from synctax.graph import critical_path
from synctax.graph.build import build_graph
from synctax.graph.critical_path import critical_paths, deciding_edges
from synctax.graph.model import ROOT, EdgeKind, NodeKind, Provenance
from tests.graph.made import made
from tests.graph.programs import Action, programs, simulate
from tests.laws import examples
from tests.trace.builders import kernel

law = settings(max_examples=examples(25))
plain_law = settings(max_examples=examples(15))
"""Laws that a mistake breaks in nearly every program."""
RECORDS = st.sampled_from(["full", "calls", "none"])


def graph_of(trace):
    try:
        return build_graph(trace)
    except SynctaxError:  # nothing but calls that launch nothing
        assume(False)


@st.composite
def graphs(draw):
    """Draw a trace and its graph."""
    trace = simulate(draw(programs()), records=draw(RECORDS)).trace()
    return trace, graph_of(trace)


def on_gpu(graph):
    return np.flatnonzero(graph.nodes.kind == NodeKind.GPU)


def from_the_start(graph, target, **options):
    begin = np.full(target.size, graph.origin_ns)
    return critical_paths(graph, target, begin, **options)


def items(trace, graph, paths, number):
    """Event, ordinal, start and stop of each item of a path."""
    rows = slice(paths.first[number], paths.first[number + 1])
    node = paths.node[rows]
    columns = (graph.nodes.event[node], graph.nodes.ordinal[node], graph.nodes.kind[node])
    times = (paths.start_ns[rows], paths.stop_ns[rows])
    return list(zip(*(c.tolist() for c in (*columns, *times)), strict=True))


# -------------------------------------------------------------------------- graphs


@plain_law
@given(graphs())
def test_every_edge_goes_forward_in_number_and_time(found):
    _, graph = found
    start = graph.nodes.start_ns
    assert (graph.parent < graph.child).all()
    assert (start[graph.parent] <= start[graph.child]).all()
    assert (np.diff(start) >= 0).all()
    assert (np.diff(graph.first)[1:] >= 1).all()
    assert graph.first[0] == graph.first[1] == 0
    assert graph.first[-1] == graph.parent.size
    assert (graph.complete_ns <= start[graph.child]).all()


@plain_law
@given(graphs())
def test_ancestors_are_those_of_networkx(found):
    _, graph = found
    other = graph.to_networkx()
    assert nx.is_directed_acyclic_graph(other)
    above = [set() for _ in range(len(graph))]
    for parent, child in zip(graph.parent.tolist(), graph.child.tolist(), strict=True):
        above[child] |= {parent} | above[parent]
    for node in range(len(graph)):
        assert above[node] == nx.ancestors(other, node)
        assert ROOT in above[node] or node == ROOT


@plain_law
@given(graphs())
def test_pieces_of_a_thread_follow_each_other(found):
    _, graph = found
    for lane in np.unique(graph.nodes.lane):
        rows = np.flatnonzero(graph.nodes.lane == lane)
        assert (graph.nodes.start_ns[rows] <= graph.nodes.end_ns[rows]).all()
        host = graph.nodes.kind[rows] >= NodeKind.SLICE
        if host.any():
            assert_array_equal(
                graph.nodes.end_ns[rows][:-1], graph.nodes.start_ns[rows][1:]
            )


def decided(graph, node, tolerance_ns):
    """Edges that the rules allow to decide: the own lane's, a recorded one, the last."""
    edges = range(graph.first[node], graph.first[node + 1])
    complete = {e: int(graph.complete_ns[e]) for e in edges}
    latest = max(complete.values())
    lane = graph.nodes.lane
    own = [e for e in edges if lane[graph.parent[e]] == lane[node]]
    near = [e for e in edges if complete[e] >= latest - tolerance_ns]
    recorded = [e for e in near if graph.provenance[e] == Provenance.RECORDED]
    told = max((complete[e] for e in recorded), default=None)
    return (
        [e for e in own if e in near]
        or [e for e in recorded if complete[e] == told]
        or [e for e in edges if complete[e] == latest]
    )


@law
@given(graphs(), st.sampled_from([0.0, 0.5, 3.0, 40.0]))
def test_the_last_to_complete_decides_unless_the_own_lane_did_just_before(found, tolerance):
    _, graph = found
    chosen = deciding_edges(graph, tolerance_us=tolerance)
    assert chosen[ROOT] == -1
    for node in range(1, len(graph)):
        assert chosen[node] in decided(graph, node, round(tolerance * 1000))


# --------------------------------------------------------------------------- paths


def assert_conserved(paths):
    count = np.diff(paths.first)
    path = np.repeat(np.arange(len(paths)), count)
    took = np.bincount(path, paths.duration_ns + paths.gap_ns, len(paths)).astype(np.int64)
    assert_array_equal(took + paths.head_gap_ns, paths.end_ns - paths.begin_ns)
    assert (paths.duration_ns >= 0).all()
    assert (paths.gap_ns >= 0).all()
    assert (paths.head_gap_ns >= 0).all()
    for number in range(len(paths)):
        rows = slice(paths.first[number], paths.first[number + 1])
        start, stop = paths.start_ns[rows], paths.stop_ns[rows]
        assert (start[1:] >= stop[:-1]).all()
        assert (np.diff(paths.node[rows]) > 0).all()
        assert (start >= paths.begin_ns[number]).all()
        assert (stop <= paths.end_ns[number]).all()
        assert_array_equal(paths.gap_ns[rows][:-1], start[1:] - stop[:-1])


@plain_law
@given(graphs(), st.data())
def test_items_and_gaps_add_up_to_the_window(found, data):
    _, graph = found
    some = st.lists(st.integers(0, len(graph) - 1), max_size=8)
    target = np.array(data.draw(some), np.int64)
    low, high = graph.origin_ns - 1_000, int(graph.nodes.end_ns.max()) + 1_000
    times = st.integers(low, high) | st.sampled_from(graph.nodes.end_ns.tolist())
    begin = np.array([data.draw(times) for _ in target], np.int64)
    assert_conserved(critical_paths(graph, target, begin))


@plain_law
@given(graphs(), st.randoms(use_true_random=False))
def test_any_walk_adds_up_whatever_it_follows(found, random):
    _, graph = found
    bounds = zip(graph.first[:-1].tolist(), graph.first[1:].tolist(), strict=True)
    picked = [random.randrange(low, high) if high > low else -1 for low, high in bounds]
    target = np.arange(len(graph))
    assert_conserved(from_the_start(graph, target, deciding=np.array(picked)))


@law
@given(graphs(), st.data(), st.integers(1, 6))
def test_paths_are_the_same_walked_together_or_one_by_one(found, data, few):
    _, graph = found
    nodes = st.integers(0, len(graph) - 1)
    target = np.array(data.draw(st.lists(nodes, max_size=12)), np.int64)
    ends = graph.nodes.start_ns
    moments = st.integers(int(ends.min()) - 10, int(ends.max()) + 10)
    begin = np.array([data.draw(moments) for _ in target], np.int64)
    with pytest.MonkeyPatch.context() as patched:
        ways = []
        for number in (few, 1_000):
            patched.setattr(critical_path, "FEW", number)
            ways.append(critical_paths(graph, target, begin))
    for name in ways[0].__slots__:
        assert_array_equal(*(getattr(way, name) for way in ways))


@plain_law
@given(graphs(), st.integers(-(10**18), 10**18))
def test_shifting_all_times_changes_nothing(found, shift_ns):
    trace, graph = found
    events = replace(trace.events, start_ns=trace.events.start_ns + shift_ns)
    other = build_graph(replace(trace, events=events))
    for name in ("first", "parent", "kind", "provenance"):
        assert_array_equal(getattr(other, name), getattr(graph, name))
    for name in ("start_ns", "end_ns"):
        moved = getattr(other.nodes, name) - shift_ns
        assert_array_equal(moved, getattr(graph.nodes, name))
    assert_array_equal(other.complete_ns - shift_ns, graph.complete_ns)
    target = np.arange(len(graph))
    one, two = from_the_start(graph, target), from_the_start(other, target)
    for name in ("first", "node", "duration_ns", "gap_ns", "edge", "head_gap_ns"):
        assert_array_equal(getattr(one, name), getattr(two, name))


def untied(trace, graph):
    """Whether no choice between two lanes depends on equal times."""
    latest = np.maximum.reduceat(graph.complete_ns, graph.first[1:-1])
    ties = np.bincount(graph.child, graph.complete_ns == latest[graph.child - 1])
    ends = graph.nodes.end_ns[graph.nodes.end_ns > graph.nodes.start_ns]
    return ties.max() <= 1 and np.unique(ends).size == ends.size


@plain_law
@given(graphs(), st.randoms(use_true_random=False))
def test_names_of_threads_and_streams_do_not_matter(found, random):
    trace, graph = found
    assume(untied(trace, graph))
    size = trace.lanes.thread.size
    new = np.array(random.sample(range(size), size))
    lanes = replace(
        trace.lanes,
        process=trace.lanes.process[np.argsort(new)],
        thread=trace.lanes.thread[np.argsort(new)],
    )
    streams = {-1: -1} | dict(zip((7, 8, 9), random.sample(range(3), 3), strict=True))

    def renamed(column):
        return np.array([streams[s] for s in column.tolist()], column.dtype)

    events = replace(
        trace.events,
        lane=new[trace.events.lane].astype(np.int32),
        stream=renamed(trace.events.stream),
    )
    syncs = replace(trace.syncs, wait_stream=renamed(trace.syncs.wait_stream))
    other = build_graph(replace(trace, events=events, lanes=lanes, syncs=syncs))
    assert other.parent.size == graph.parent.size
    kernels = graph.nodes.event[on_gpu(graph)]
    one = from_the_start(graph, graph.node_of(kernels))
    two = from_the_start(other, other.node_of(kernels))
    for number in range(kernels.size):
        assert items(trace, graph, one, number) == items(trace, other, two, number)


# ---------------------------------------------------------------------- whole µs


def recorded_waits(graph, trace):
    """Names of kernels that waited for kernels of other streams, as records say."""
    names = np.array(trace.strings)[trace.events.name]
    crossing = graph.kind == EdgeKind.CROSS
    rows = np.flatnonzero(crossing & (graph.provenance == Provenance.RECORDED))
    event = graph.nodes.event
    pairs = (names[event[graph.parent[rows]]], names[event[graph.child[rows]]])
    return set(zip(*(column.tolist() for column in pairs), strict=True))


def cut(event, shrink):
    """An event in whole µs of a program that runs so many times as fast."""
    start, stop = event["ts"] // shrink, (event["ts"] + event["dur"] + 1e-6) // shrink
    return {**event, "ts": start, "dur": stop - start}


@law
@given(programs(), st.sampled_from([1, 7, 50]), st.sampled_from([1, -1]))
def test_cut_to_whole_us_in_any_order_records_tell_the_same_waits(program, shrink, order):
    """Many calls of a thread begin in one µs then: the order of the file says nothing."""
    run = simulate(program)
    trace = run.trace()
    other = made([cut(event, shrink) for event in run.events][::order])
    assert recorded_waits(graph_of(other), other) == recorded_waits(graph_of(trace), trace)


# ------------------------------------------------------------------ unrelated work


busy_streams = st.lists(
    st.tuples(st.integers(0, 800), st.integers(1, 200)), min_size=1, max_size=6
)


def with_busy_stream(run, rows):
    """The same trace beside a stream that nobody waits for; its events come last."""
    last = max((e["ts"] for e in run.events), default=0)
    later = [kernel("end", last + 10_000, 1, stream=99, corr=0)]
    beside = [
        kernel("busy", ts + 0.5, dur, stream=99, corr=0)
        for ts, dur in rows
    ]  # fmt: skip
    return run.trace(beside, later)


def paths_by_name(trace):
    """Of each kernel of the program: names of the items of its path, their times, and
    whether an edge on it is less than recorded."""
    graph = graph_of(trace)
    names = np.array(trace.strings)[trace.events.name]
    target = [n for n in on_gpu(graph) if names[graph.nodes.event[n]].startswith("launch")]
    before_all = np.full(len(target), -1_000)  # whatever else begins first
    paths = critical_paths(graph, np.array(target, np.int64), before_all)
    told = {}
    for number, node in enumerate(target):
        rows = slice(paths.first[number], paths.first[number + 1])
        label = graph.nodes.label[paths.node[rows]]
        times = zip(
            paths.start_ns[rows].tolist(), paths.stop_ns[rows].tolist(), strict=True
        )
        path = list(zip(names[label].tolist(), times, strict=True))
        known = bool((paths.provenance[rows] == Provenance.RECORDED).all())
        told[names[graph.nodes.event[node]]] = path, known
    return told


def waits_are_told(run):
    """Whether records say of any wait what for: without one, they are not believed."""
    return any(e["args"].get("wait_on_stream", -1) >= 0 for e in run.events)


@law
@given(programs(), busy_streams)
def test_beside_recorded_waits_an_unrelated_stream_changes_no_path(program, rows):
    run = simulate(program)
    assume(waits_are_told(run))
    assert paths_by_name(with_busy_stream(run, rows)) == paths_by_name(run.trace())


@law
@given(programs(), busy_streams, st.sampled_from(["calls", "none"]))
def test_without_them_what_changes_is_marked_as_less_than_recorded(program, rows, records):
    run = simulate(program, records=records)
    before, after = paths_by_name(run.trace()), paths_by_name(with_busy_stream(run, rows))
    for name, (path, known) in after.items():
        assert path == before[name][0] or not known or not before[name][1]


# ----------------------------------------------------------- what would happen if


def named(trace, graph):
    """Node of each op, call and kernel of the program, by name."""
    names = np.array(trace.strings)[trace.events.name]
    whole = (graph.nodes.kind == NodeKind.GPU) | (graph.nodes.kind == NodeKind.SLICE)
    return {
        str(names[graph.nodes.event[node]]): int(node)
        for node in np.flatnonzero(whole)
        if names[graph.nodes.event[node]].startswith(("op ", "call ", "launch "))
    }


def shifts(graph, node, longer_ns):
    """How much later each node starts if one takes longer, by all edges of the graph."""
    shift = [0] * len(graph)
    gap = graph.nodes.start_ns[graph.child] - graph.complete_ns
    edges = zip(graph.parent.tolist(), graph.child.tolist(), gap.tolist(), strict=True)
    for parent, child, slack in edges:
        own = longer_ns if parent == node else 0
        shift[child] = max(shift[child], shift[parent] + own - slack)
    return shift


def lengthened(program, data):
    """A run, its trace and graph; the same with something longer; what, and how much."""
    run = simulate(program)
    assume(run.start_ns and waits_are_told(run))
    assume(len(set(run.calls_ns)) == len(run.calls_ns))
    trace = run.trace()
    graph = build_graph(trace)
    nodes = named(trace, graph)
    what = data.draw(st.sampled_from(sorted(nodes)))
    longer_ns = data.draw(st.integers(1, 300)) * 1000
    other = simulate(program, longer={what: longer_ns})
    # order between threads may change: then it is another program
    assume(other.after == run.after and len(set(other.calls_ns)) == len(other.calls_ns))
    return run, trace, graph, nodes, what, longer_ns, other


@law
@given(programs(latency=False), st.data())
def test_edges_tell_what_a_longer_event_delays_and_what_it_does_not(program, data):
    run, _, graph, nodes, what, longer_ns, other = lengthened(program, data)
    shift = shifts(graph, nodes[what], longer_ns)
    later = {name: other.start_ns[name] - run.start_ns[name] for name in run.start_ns}
    assert later == {name: shift[nodes[name]] for name in run.start_ns}


@law
@given(programs(latency=False))
def test_where_only_work_takes_time_a_path_has_no_gap(program):
    run = simulate(program)
    assume(run.start_ns and waits_are_told(run))
    graph = build_graph(run.trace())
    paths = from_the_start(graph, on_gpu(graph), tolerance_us=0)
    assert not paths.gap_ns.any()
    assert not paths.head_gap_ns.any()


@law
@given(programs(latency=False), st.data())
def test_longer_critical_work_makes_the_path_longer_by_as_much(program, data):
    run, _, graph, nodes, what, longer_ns, other = lengthened(program, data)
    again = build_graph(other.trace())
    renumbered = named(other.trace(), again)
    for name in run.start_ns:
        first, second = (
            from_the_start(g, np.array([n[name]]), tolerance_us=0)
            for g, n in ((graph, nodes), (again, renumbered))
        )
        delayed = other.start_ns[name] - run.start_ns[name]
        assert second.duration_ns.sum() - first.duration_ns.sum() == delayed
        if nodes[what] in first.node:
            assert delayed == longer_ns


@pytest.mark.parametrize("records", ["full", "calls", "none"])
def test_a_program_of_every_action_obeys(records):
    program = [
        [
            Action(what, 3, 7, 8, 20, 5)
            for what in ("open", "op", "launch", "sync", "close")
        ],
        [Action(what, 2, 8, 7, 90, 4) for what in ("launch", "fence", "launch", "idle")],
        [Action("op"), Action("launch", 2, 7, 8, 5, 5)],
    ]
    graph = build_graph(simulate(program, records=records).trace())
    assert_conserved(from_the_start(graph, np.arange(len(graph))))
