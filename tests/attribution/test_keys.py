"""Names of nodes tell them apart on a rank, and are equal for counterparts elsewhere."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.attribution.keys import NO_KEY, NodeNames, of_kin
from synctax.graph.build import build_graph
from synctax.graph.model import NodeKind
from synctax.synth import SynthJob, write
from synctax.trace.kineto import read_rank

JOB = SynthJob(tp=2, fsdp=2, layers=2, steps=2, seed=1)


def names(path):
    trace = read_rank(str(path))
    graph = build_graph(trace)
    collective = graph.nodes.event[graph.nodes.kind == NodeKind.COLLECTIVE]
    return graph, NodeNames.of(trace, graph).named(collective, np.arange(collective.size))


def unique(keys):
    kept = keys[keys != NO_KEY]
    return np.unique(kept).size == kept.size


def test_keys_tell_the_nodes_of_a_made_up_rank_apart(tmp_path):
    write(JOB, tmp_path)
    files = sorted(tmp_path.rglob("rank*_trace.json"))
    (_, first), (_, second) = names(files[0]), names(files[1])
    assert unique(first.key)
    assert unique(second.key)
    assert set(first.key) == set(second.key), "all ranks run the same program"


@pytest.mark.parametrize(
    "name", ["megatron-tp8-a100", "ddp4-mi300", "torchrec4-sleep-rank2"]
)
def test_keys_tell_the_nodes_of_a_recorded_rank_apart(shared_traces, name):
    path = min((shared_traces / name).iterdir())
    graph, named = names(path)
    assert unique(named.key)
    assert (named.key == NO_KEY).sum() < 0.1 * len(graph)
    # kin are coarser than keys
    pairs = np.unique(np.stack([named.key, named.kin]), axis=1)
    assert pairs.shape[1] == np.unique(named.key).size


@given(st.lists(st.integers(0, 5), max_size=30), st.lists(st.integers(0, 6), max_size=8))
def test_nodes_of_a_kin_are_counted_and_added_up(kinds, asked):
    # equal in the bits that are marked: what is not wanted must fall away later
    kin, wanted = (np.array(one, np.uint64) << np.uint64(40) for one in (kinds, asked))
    start = np.arange(len(kinds))
    nodes = SimpleNamespace(start_ns=start, end_ns=2 * start)
    count, total_ns = of_kin(SimpleNamespace(nodes=nodes), kin, wanted)
    rows = [[at for at, own in enumerate(kinds) if own == one and one] for one in asked]
    assert count.tolist() == [len(mine) for mine in rows]
    assert total_ns.tolist() == [sum(mine) for mine in rows]
