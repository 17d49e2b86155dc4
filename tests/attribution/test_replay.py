"""Laws of the replay, on made-up ranks; an oracle that follows the definition."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.attribution.network import Network, join, rank_part
from synctax.attribution.replay import Barriers, replay, schedule
from synctax.graph.model import NodeKind
from tests.attribution.graphs import Made, made
from tests.laws import examples

law = settings(max_examples=examples(40))


def planned(job: Made, *, together=True):
    network = job.network()
    barriers = job.barriers(network.base)
    if not together:
        barriers = Barriers(barriers.node, np.arange(barriers.node.size))
    return schedule(network, barriers)


def random_factors(data, size, low, high):
    seed = data.draw(st.integers(0, 2**32 - 1))
    share = data.draw(st.sampled_from([0.1, 0.5, 1.0]))
    rng = np.random.default_rng(seed)
    return np.where(rng.random(size) < share, rng.uniform(low, high, size), 1.0)


def scaled(data, network, low, high):
    factors = random_factors(data, len(network), low, high)
    return np.rint(network.duration_ns * factors).astype(np.int64)


@law
@given(made())
def test_nothing_changed_nothing_moves(job):
    plan = planned(job)
    done = replay(plan, plan.network.duration_ns)
    assert plan.separated == 0
    assert_array_equal(done.start_ns, plan.network.start_ns)
    assert_array_equal(done.end_ns, plan.network.end_ns)


@law
@given(made(), st.data())
def test_what_takes_less_time_makes_nothing_later(job, data):
    plan = planned(job)
    longer = scaled(data, plan.network, 0.5, 3)
    shorter = np.rint(longer * random_factors(data, longer.size, 0, 1)).astype(np.int64)
    before, after = replay(plan, longer), replay(plan, shorter)
    assert (after.start_ns <= before.start_ns).all()
    assert (after.end_ns <= before.end_ns).all()


@law
@given(made(), st.data())
def test_who_waits_for_nobody_is_never_later(job, data):
    plan, alone = planned(job), planned(job, together=False)
    duration = scaled(data, plan.network, 0, 3)
    barriers = plan.barriers
    transfer = np.full(barriers.node.size, 10**15)
    np.minimum.at(transfer, barriers.slot, duration[barriers.node])
    duration[barriers.node] = transfer[barriers.slot]
    before, after = replay(plan, duration), replay(alone, duration)
    assert (after.start_ns <= before.start_ns).all()
    assert (after.end_ns <= before.end_ns).all()
    assert_array_equal(after.duration_ns[barriers.node], transfer[barriers.slot])


@law
@given(made(), st.data())
def test_ranks_in_another_order_give_the_same_times(job, data):
    network = job.network()
    duration = scaled(data, network, 0, 3)
    order = data.draw(st.permutations(range(len(job.graphs))))
    parts = np.split(duration, network.base[1:-1])
    done = replay(planned(job), duration)
    other = replay(planned(job.permuted(order)), np.concatenate([parts[r] for r in order]))
    for name in ("start_ns", "end_ns"):
        mine = np.split(getattr(done, name), network.base[1:-1])
        assert_array_equal(np.concatenate([mine[r] for r in order]), getattr(other, name))


@law
@given(made(), st.data())
def test_ranks_leave_together_a_transfer_after_the_last_of_them(job, data):
    plan = planned(job)
    duration = scaled(data, plan.network, 0, 3)
    done, barriers = replay(plan, duration), plan.barriers
    for slot in np.unique(barriers.slot):
        node = barriers.node[barriers.slot == slot]
        left = done.end_ns[node] - plan.network.end_ns[node]
        assert len(set(left.tolist())) == 1
        assert done.duration_ns[node].min() == duration[node].min()


@law
@given(made(), st.data())
def test_a_replay_is_what_its_definition_says(job, data):
    plan = planned(job)
    duration = scaled(data, plan.network, 0, 3)
    assert_array_equal(
        replay(plan, duration).start_ns,
        by_definition(plan.network, plan.barriers, duration),
    )


def by_definition(network: Network, barriers: Barriers, duration):
    """Starts in absolute times, by recursion; rank r's clock is taken as it is."""
    slot_of = dict(zip(barriers.node.tolist(), barriers.slot.tolist(), strict=True))
    into: dict[int, list[int]] = {}
    for edge, child in enumerate(network.child.tolist()):
        into.setdefault(child, []).append(edge)

    @cache
    def leaves(slot):
        nodes = barriers.node[barriers.slot == slot].tolist()
        transfer = min(int(duration[one]) for one in nodes)
        moved = [start(one) - int(network.start_ns[one]) for one in nodes]
        taken = [int(network.duration_ns[one]) for one in nodes]
        return max(m - d for m, d in zip(moved, taken, strict=True)) + transfer

    def complete(edge):
        parent = int(network.parent[edge])
        offset, recorded = int(network.offset_ns[edge]), int(network.duration_ns[parent])
        if network.kind[parent] == NodeKind.WAIT:
            return start(parent)
        if parent in slot_of:
            end = int(network.start_ns[parent]) + offset + leaves(slot_of[parent])
            return max(end, start(parent)) if offset < recorded else end
        takes = int(duration[parent])
        return start(parent) + min(takes, offset + max(0, takes - recorded))

    @cache
    def start(node):
        begin = int(network.start_ns[node])
        edges = into.get(node, [])
        starts = []
        for edge in edges:
            ready = int(network.start_ns[network.parent[edge]] + network.offset_ns[edge])
            lag = begin - ready - int(network.hidden_ns[edge])
            starts.append(complete(edge) + lag)
        return max(starts) if starts else begin

    return np.array([start(node) for node in range(len(network))])


def crossed() -> tuple[Network, Barriers]:
    """Rank 0 does collective 0, then 1; rank 1 the other way round."""
    job = two_rounds()
    network = job.network()
    ordered = job.barriers(network.base)
    return network, Barriers(ordered.node, np.array([0, 1, 1, 0]))


def two_rounds() -> Made:
    from tests.attribution.graphs import COMM, Rank

    ranks = [Rank(0, [(NodeKind.ROOT, -1, 0, 0)], []) for _ in range(2)]
    for rank in ranks:
        rank.add(NodeKind.COLLECTIVE, COMM, 0, 10)
        rank.add(NodeKind.COLLECTIVE, COMM, 12, 30)
    return Made([rank.graph()[0] for rank in ranks], [[1, 1], [2, 2]])


def test_collectives_in_a_circle_are_left_alone_and_counted():
    network, barriers = crossed()
    plan = schedule(network, barriers)
    assert plan.separated == 1
    done = replay(plan, network.duration_ns)
    assert_array_equal(done.start_ns, network.start_ns)
    assert_array_equal(done.end_ns, network.end_ns)
    late = network.duration_ns.copy()
    assert (replay(plan, late * 2).end_ns >= network.end_ns).all()


def test_an_edge_that_did_not_decide_has_the_usual_lag_of_its_kind():
    from tests.attribution.graphs import LATENCY_NS, Rank

    rank = Rank(0, [(NodeKind.ROOT, -1, 0, 0)], [])
    rank.host(100)
    rank.kernel(50, 10, 0)
    rank.kernel(50, 10, 0)
    graph, _ = rank.graph()
    plan = schedule(join([rank_part(graph)]), Barriers.none())
    second = int(np.flatnonzero(graph.nodes.kind == NodeKind.GPU)[1])
    duration = plan.network.duration_ns.copy()
    duration[graph.nodes.kind == NodeKind.GPU] = 1
    called = graph.nodes.end_ns[graph.nodes.kind == NodeKind.SLICE][-1]
    assert replay(plan, duration).start_ns[second] == called + LATENCY_NS


@pytest.mark.parametrize("duration", [[0], [-1, 0, 0, 0, 0, 0]])
def test_durations_must_be_as_many_as_nodes_and_none_negative(duration):
    network, barriers = crossed()
    with pytest.raises(ValueError, match="duration"):
        replay(schedule(network, barriers), np.array(duration))


def test_a_quantile_lies_between_0_and_1():
    graph = two_rounds().graphs[0]
    with pytest.raises(ValueError, match="quantile"):
        rank_part(graph, typical_lag_quantile=1.5)
