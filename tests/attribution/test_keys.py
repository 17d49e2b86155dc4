"""Names of nodes tell them apart on a rank, and are equal for counterparts elsewhere."""

import numpy as np
import pytest

from synctax.attribution.keys import NO_KEY, NodeNames
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
