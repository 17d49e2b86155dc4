"""The grids that ranks lie on: every rank once, as far apart as the planner says."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synctax.planning.domains import dp_may_be_last, placed_groups, strides
from synctax.planning.grid import axes, dense_axes, expert_axes, expert_split, laid, members
from synctax.planning.layout import Layout, Layouts
from synctax.planning.training import DIMENSIONS, ORDERS, Training

degrees = st.sampled_from([1, 2, 3, 4])
layouts = st.builds(Layout, tp=degrees, pp=degrees, dp=degrees, cp=degrees, ep=degrees)
orders = st.sampled_from(ORDERS)


@given(layouts, orders, st.booleans())
def test_neighbours_are_as_far_apart_as_in_tables_of_layouts(layout, order, split):
    training = Training(batch=1, sequence=1, expert_tp=split)
    far = strides(training, Layouts.of([layout]), order)[:, 0].tolist()
    table = dict(zip(DIMENSIONS, far, strict=True))
    for axis in dense_axes(layout, order):
        assert axis.stride == table[axis.name]
    experts = expert_axes(layout, order, split=split)
    if experts is not None:
        assert {one.name: one.stride for one in experts}["ep"] == table["ep"]


@given(layouts, orders, st.booleans())
def test_stages_are_the_same_ranks_on_both_grids(layout, order, split):
    experts = expert_axes(layout, order, split=split)
    assume(experts is not None)
    dense = dense_axes(layout, order)
    stage = members(dense, [axis.name for axis in dense if axis.name != "pp"])
    again = members(experts, [axis.name for axis in experts if axis.name != "pp"])
    assert np.array_equal(stage, again)


@given(layouts, orders, st.booleans(), st.data())
def test_groups_along_any_axes_hold_every_rank_once(layout, order, split, data):
    grid = expert_axes(layout, order, split=split) or dense_axes(layout, order)
    names = data.draw(st.sets(st.sampled_from([axis.name for axis in grid])))
    groups = members(grid, names)
    assert np.array_equal(np.sort(groups, axis=None), np.arange(layout.gpus))
    assert (np.diff(groups, axis=1) > 0).all()
    for axis in grid:
        place = groups // axis.stride % axis.size
        assert (place.min(axis=1) == place.max(axis=1)).all() == (
            axis.name not in names or axis.size == 1
        )


@given(layouts, st.booleans())
def test_experts_have_a_grid_where_the_planner_places_them(layout, split):
    across = expert_split(layout, split=split)
    even = (layout.tp * layout.cp * layout.dp) % (across * layout.ep) == 0
    assert (expert_axes(layout, ORDERS[0], split=split) is not None) == even
    assume(even)
    training = Training(batch=1, sequence=1, expert_tp=split)
    may = bool(dp_may_be_last(training, Layouts.of([layout]))[0])
    assert (expert_axes(layout, ORDERS[1], split=split) is not None) == may


@given(layouts, orders, st.booleans())
def test_groups_lie_as_in_tables_of_layouts(layout, order, split):
    training = Training(batch=1, sequence=1, expert_tp=split)
    table = placed_groups(training, Layouts.of([layout]), order)
    dense = dense_axes(layout, order)
    for name, groups in zip(DIMENSIONS[:-1], table, strict=False):
        names = ("cp", "dp") if name == "dp" else (name,)
        assert shown(laid(dense, names)) == shown(groups)
    experts = expert_axes(layout, order, split=split)
    if experts is not None:
        for name, groups in zip(("ep", "edp"), table[-2:], strict=True):
            assert shown(laid(experts, (name,))) == shown(groups)


def shown(groups):
    """Say all that a lone rank and a group of several have, whatever its unused fields."""
    if groups.degree[0] == 1:
        return "one rank"
    return [getattr(groups, field.name).tolist() for field in fields(groups)]


def test_groups_of_several_runs_have_to_fill_the_ranks():
    grid = axes(("tp", "cp", "pp", "dp"), (2, 2, 2, 2))
    assert laid(grid, ("cp", "dp")).runs.tolist() == [2]
    with pytest.raises(ValueError, match="groups along tp, pp are no two runs"):
        laid(grid, ("tp", "pp"))


def test_experts_lie_where_megatron_puts_them():
    # RankGenerator(tp=1, ep=2, dp=4, pp=2, cp=1, order="tp-cp-ep-dp-pp") of 16 ranks
    layout = Layout(tp=2, pp=2, dp=4, ep=2)
    grid = expert_axes(layout, ORDERS[0], split=False)
    assert grid is not None
    assert members(grid, ["ep"])[:2].tolist() == [[0, 1], [2, 3]]
    assert members(grid, ["edp"])[0].tolist() == [0, 2, 4, 6]
    assert members(grid, ["pp"])[0].tolist() == [0, 8]


@pytest.mark.parametrize(
    ("layout", "order"),
    [
        (Layout(tp=1, pp=1, dp=4, ep=3), ORDERS[0]),
        (Layout(tp=2, pp=2, dp=4, ep=2, cp=2), ORDERS[1]),
    ],
)
def test_where_experts_do_not_spread_there_is_no_grid(layout, order):
    assert expert_axes(layout, order, split=False) is None
