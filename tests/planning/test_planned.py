"""Which ranks each group of a layout has: laws, and what Megatron-LM and torchtitan do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synctax.errors import SynctaxError
from synctax.planning.domains import strides
from synctax.planning.layout import Layout, Layouts
from synctax.planning.training import DIMENSIONS, ORDERS, Training
from synctax.planning.verify.planned import (
    DENSE_ROLES,
    EXPERT_ROLES,
    SPLIT_ROLES,
    Planned,
    check_ranks,
)

degrees = st.sampled_from([1, 2, 3, 4])
layouts = st.builds(
    Layout, tp=degrees, pp=degrees, dp=degrees, cp=degrees, ep=degrees
).filter(lambda one: (one.dp * one.cp) % one.ep == 0)
orders = st.sampled_from(ORDERS)
roles = st.sampled_from([*DENSE_ROLES, *EXPERT_ROLES])


def members(planned, role, order=ORDERS[0], size=None):
    size = planned.sizes(role)[0] if size is None else size
    return [ways.tolist() for ways in planned.members(role, size, order)]


@given(layouts, roles, orders, st.booleans())
def test_groups_of_a_role_share_out_all_ranks(layout, role, order, expert_tp):
    planned = Planned(layout, order, expert_tp)
    size = planned.sizes(role)[0]
    ways = planned.members(role, size, order)
    assume(ways)
    for groups in ways:
        assert groups.shape == (layout.gpus // size, size)
        assert np.array_equal(np.sort(groups, axis=None), np.arange(layout.gpus))
        assert (np.diff(groups, axis=1) > 0).all()


@given(layouts, orders)
def test_groups_of_two_dimensions_meet_in_one_rank(layout, order):
    planned = Planned(layout, order)
    for one in ("tp", "pp", "cp", "dp"):
        for other in ("tp", "pp", "cp", "dp"):
            if one != other:
                first = set(members(planned, one, order)[0][0])
                for group in members(planned, other, order)[0]:
                    assert len(first & set(group)) <= 1


@given(layouts, orders, st.booleans())
def test_neighbours_are_as_far_apart_as_the_planner_places_them(layout, order, expert_tp):
    planned = Planned(layout, order, expert_tp)
    training = Training(batch=1, sequence=1, expert_tp=expert_tp)
    far = strides(training, Layouts.of([layout]), order)[:, 0]
    for dimension, stride in zip(DIMENSIONS, far.tolist(), strict=True):
        size = getattr(layout, dimension)
        for groups in planned.members(dimension, size, order)[:1]:
            assert (np.diff(groups, axis=1) == stride).all()


@given(layouts.map(lambda one: replace(one, dp=4, ep=1)), orders)
def test_shards_and_replicas_meet_in_one_rank_and_make_up_data_parallelism(layout, order):
    planned = Planned(layout, order)
    shards = members(planned, "fsdp", order, 2 * layout.cp)
    replicas = members(planned, "dp_replicate", order, 2)
    whole = {frozenset(group) for group in members(planned, "dp_cp", order)[0]}
    assert len(replicas) == 1
    for group in shards[-1]:
        across = {
            rank for other in replicas[0] if set(other) & set(group) for rank in other
        }
        assert frozenset(across) in whole


def test_the_published_example_of_megatron_is_reproduced():
    # parallel_state.py: 16 GPUs, tensor 2, pipeline 4
    planned = Planned(Layout(tp=2, pp=4, dp=2), ORDERS[0])
    assert members(planned, "tp")[0][:2] == [[0, 1], [2, 3]]
    assert members(planned, "dp")[0] == [
        [0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12, 14], [13, 15]
    ]  # fmt: skip
    assert members(planned, "pp")[0] == [
        [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]
    ]  # fmt: skip


def test_the_worked_example_is_reproduced_in_both_orders():
    planned = Planned(Layout(tp=8, pp=16, dp=8))
    for order, pp, dp in ((ORDERS[0], 64, 8), (ORDERS[1], 8, 128)):
        assert members(planned, "tp", order)[0][0] == list(range(8))
        assert members(planned, "pp", order)[0][0] == list(range(0, 16 * pp, pp))
        assert members(planned, "dp", order)[0][0] == list(range(0, 8 * dp, dp))
    assert planned.orders == ORDERS


def test_experts_that_tp_does_not_shard_are_on_neighbours():
    # torchtitan: ep is the innermost dimension of the sparse mesh
    planned = Planned(Layout(tp=2, pp=1, dp=8, ep=8), expert_tp=False)
    assert members(planned, "ep")[0] == [list(range(8)), list(range(8, 16))]
    assert planned.sizes("edp") == (2,)
    assert planned.sizes("etp") == (1,)


def test_an_order_in_which_experts_have_other_stages_gives_no_groups():
    planned = Planned(Layout(tp=2, pp=2, dp=4, ep=2), ORDERS[1], expert_tp=True)
    assert planned.members("ep", 2, ORDERS[1]) == ()
    assert len(planned.members("ep", 2, ORDERS[0])) == 1


def test_experts_that_do_not_spread_evenly_give_no_groups():
    planned = Planned(Layout(tp=1, pp=1, dp=4, ep=3))
    assert planned.members("ep", 3, ORDERS[0]) == ()


@pytest.mark.parametrize(
    ("role", "seen", "sizes"),
    [
        ("tp", (), (2,)),
        ("embedding", (), ()),
        ("dp", (), (8,)),
        ("fsdp", (), (16, 8)),
        ("fsdp", (4, 2), (16, 8, 4, 2)),
        ("dp_cp", (16,), (16,)),
        ("dp_replicate", (), ()),
        ("dp_replicate", (8, 2), (8, 2)),
        ("fsdp", (3,), (16, 8)),
    ],
)
def test_shards_times_replicas_are_as_good_as_one_group(role, seen, sizes):
    planned = Planned(Layout(tp=2, pp=2, dp=8, cp=2))
    assert planned.sizes(role, seen) == sizes


def test_a_role_that_no_layout_tells_has_no_groups():
    planned = Planned(Layout(tp=2, pp=2, dp=2))
    assert planned.members("embedding", 2, ORDERS[0]) == ()
    assert planned.members("fsdp", 5, ORDERS[0]) == ()
    assert set(SPLIT_ROLES) - {"dp_replicate"} < set(DENSE_ROLES)


def test_parts_of_the_ranks_that_hold_the_same_experts_are_shards_or_replicas():
    planned = Planned(Layout(tp=1, pp=1, dp=16, ep=2))
    assert planned.sizes("edp") == (8,)
    assert planned.sizes("edp", (4, 2)) == (8, 4, 2)
    shards, replicas = members(planned, "edp", size=4)
    assert shards[0] == [0, 2, 4, 6]
    assert replicas[0] == [0, 4, 8, 12]


def test_a_size_makes_up_the_whole_only_with_another():
    # two families of two ranks, not one
    planned = Planned(Layout(tp=1, pp=1, dp=4))
    assert planned.sizes("dp", (2, 2)) == (4, 2)
    assert planned.sizes("dp", (2,)) == (4,)


def test_what_is_not_told_of_experts_may_be_either():
    open_ = Planned(Layout(tp=2, pp=1, dp=8, ep=8))
    assert open_.sizes("edp") == (1, 2)
    assert [way.expert_tp for way in open_.ways] == [True, False] * 2
    assert len(open_.members("ep", 8, ORDERS[0])) == 2
    assert len(Planned(Layout(tp=2, pp=1, dp=8)).ways) == len(ORDERS)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (Layout(8, 100_000, 100_000), "80,000,000,000 ranks; expected 4,194,304 at most"),
        (Layout(2, 1, 4, ep=3), "ep 3 divides neither dp·cp = 4 nor tp·dp·cp = 8"),
    ],
)
def test_ranks_that_no_job_has_are_refused_before_they_are_listed(layout, said):
    with pytest.raises(SynctaxError, match=said):
        check_ranks(layout)
    check_ranks(Layout(2, 1, 4, ep=8))
