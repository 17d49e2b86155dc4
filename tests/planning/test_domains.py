"""Where groups lie, against ranks that are numbered one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.planning.domains import (
    CP,
    DP,
    DP_LAST,
    EP,
    PP,
    TP,
    apart,
    dp_may_be_last,
    place,
    spans,
    straddles,
    strides,
)
from synctax.planning.inputs.named import read_platform
from synctax.planning.layout import Layout, Layouts
from synctax.planning.platform import Tier
from synctax.planning.search import plan
from synctax.planning.training import DIMENSIONS, ORDERS, Assumptions, Training
from tests.planning.made import DEEPSEEK_V3, LLAMA_405B, table

H100 = read_platform("dgx-h100")
RACK = read_platform("gb200-nvl72")
DEFAULT, DP_OUTERMOST = ORDERS
TRAINING = Training(2_048, 8_192)

degree = st.sampled_from([1, 2, 3, 4, 6, 8, 9])
layouts = st.builds(Layout, tp=degree, pp=degree, dp=degree, cp=degree)
domains = st.sampled_from([1, 4, 8, 36, 64, 72])


def groups(grid, joined):
    """List groups of a grid, innermost dimension first, that differ in `joined` only."""
    ranks = np.arange(np.prod(list(grid.values()))).reshape(list(grid.values())[::-1])
    axes = list(grid)[::-1]
    last = [axes.index(name) for name in axes if name in joined]
    rest = [axis for axis in range(len(axes)) if axis not in last]
    return ranks.transpose([*rest, *last]).reshape(-1, np.prod([grid[n] for n in joined]))


def grid(layout, order):
    """Number the dimensions of a layout, as Megatron's RankGenerator without experts."""
    sizes = {"tp": layout.tp, "cp": layout.cp, "dp": layout.dp, "pp": layout.pp}
    return {name: sizes[name] for name in order.split("-") if name != "ep"}


def joined(name):
    return ("cp", "dp") if name == "dp" else (name,)


def placed(platform, order, layout, sent=1.0, **more):
    training = replace(TRAINING, order=order, **more)
    return place(platform, training, Layouts.of([layout]), np.full((5, 1), sent))


@given(layouts, st.sampled_from(ORDERS), domains)
def test_a_group_is_inside_iff_each_of_its_kind_has_all_ranks_in_one_domain(
    layout, order, domain
):
    found = placed(replace(H100, domain=domain), order, layout)
    for row, name in enumerate(DIMENSIONS[:4]):
        homes = groups(grid(layout, order), joined(name)) // domain
        assert found.inside[row, 0] == (homes == homes[:, :1]).all(), name


@given(layouts, st.sampled_from(ORDERS))
def test_strides_and_spans_are_those_of_ranks_numbered_one_by_one(layout, order):
    one = Layouts.of([layout])
    far, whole = strides(TRAINING, one, order)[:, 0], spans(TRAINING, one, order)[:, 0]
    near = apart(TRAINING, one, order)[:, 0]
    for row, name in enumerate(DIMENSIONS[:4]):
        first = groups(grid(layout, order), (name,))[0]
        if len(first) > 1:
            assert far[row] == first[1] - first[0], name
        every = groups(grid(layout, order), joined(name))
        if every.shape[1] > 1:
            assert near[row] == np.diff(np.sort(every)).min(), name
            assert (every // whole[row] == every[:, :1] // whole[row]).all(), name
        else:
            assert whole[row] == 1


@given(
    st.builds(Layout, tp=degree, pp=degree, dp=degree, cp=degree, ep=degree),
    st.booleans(),
    domains,
)
def test_experts_lie_as_on_a_grid_of_their_own(layout, expert_tp, domain):
    split = layout.tp if expert_tp else 1
    stage = layout.tp * layout.cp * layout.dp
    if stage % (split * layout.ep):
        return
    left = stage // (split * layout.ep)
    own = {"tp": split, "ep": layout.ep, "dp": left, "pp": layout.pp}
    homes = groups(own, ("ep",)) // domain
    found = placed(replace(H100, domain=domain), DEFAULT, layout, expert_tp=expert_tp)
    assert found.inside[EP, 0] == (homes == homes[:, :1]).all()
    # stages are the same ranks on both grids, as they have to be
    dense = groups(grid(layout, DEFAULT), ("pp",))
    np.testing.assert_array_equal(np.sort(groups(own, ("pp",)), 0), np.sort(dense, 0))


@given(
    st.builds(Layout, tp=degree, pp=degree, dp=degree, cp=degree, ep=degree), st.booleans()
)
def test_dp_is_last_only_where_both_grids_have_the_same_stages(layout, expert_tp):
    split = layout.tp if expert_tp else 1
    stage = layout.tp * layout.cp * layout.dp
    if stage % (split * layout.ep):
        return
    left = stage // (split * layout.ep)
    own = {"tp": split, "ep": layout.ep, "pp": layout.pp, "dp": left}
    training = replace(TRAINING, expert_tp=expert_tp)
    allowed = dp_may_be_last(training, Layouts.of([layout]))[0]
    dense = {tuple(one) for one in groups(grid(layout, DP_OUTERMOST), ("pp",)).tolist()}
    same = {tuple(one) for one in groups(own, ("pp",)).tolist()} == dense
    if layout.ep > 1 and layout.pp > 1:
        assert allowed == same
    else:
        assert allowed


@pytest.mark.parametrize(("order", "dp", "pp"), [(DEFAULT, 8, 64), (DP_OUTERMOST, 128, 8)])
def test_example_a_has_the_strides_that_are_printed(order, dp, pp):
    far = strides(TRAINING, table("tp8,pp16,dp8"), order)[:, 0]
    assert (far[TP], far[DP], far[PP]) == (1, dp, pp)


def test_example_b_has_cp_pairs_on_two_hosts():
    found = placed(H100, DEFAULT, Layout(tp=8, pp=8, dp=8, cp=2))
    far = strides(TRAINING, table("tp8,pp8,dp8,cp2"), DEFAULT)[:, 0]
    assert far[CP] == 8
    assert not found.inside[CP, 0]
    assert found.rails[CP, 0]


def test_tp_16_does_not_tile_72_gpus_and_does_64():
    layout = Layout(tp=16, pp=9, dp=7)
    assert not placed(RACK, None, layout).inside[TP, 0]
    assert straddles(72, 16, layout.gpus) == 64
    assert placed(replace(RACK, domain=64), None, layout).inside[TP, 0]
    assert straddles(64, 16, layout.gpus) is None


def test_tp_and_pp_of_a_rack_are_inside_it_in_the_order_that_allows_it():
    found = placed(RACK, None, Layout(tp=8, pp=9, dp=14))
    assert found.order[0] == DP_LAST
    assert found.inside[:, 0].tolist() == [True, True, False, True, True]


def test_a_job_of_one_domain_stays_inside_though_its_blocks_do_not_divide_it():
    found = placed(RACK, DEFAULT, Layout(tp=8, pp=4, dp=2))
    assert 72 % spans(TRAINING, table("tp8,pp4,dp2"), DEFAULT)[PP, 0]
    assert found.inside.all()


def test_of_equal_orders_the_default_of_megatron_is_taken():
    assert placed(H100, None, Layout(tp=8, pp=16, dp=8)).order[0] == 0


@given(layouts, domains)
def test_the_order_taken_has_no_more_time_on_nics_than_either(layout, domain):
    platform = replace(H100, domain=domain, tiers=(Tier(domain * 4, 7.0),))
    sent = np.array([[5.0], [1.0], [2.0], [3.0], [0.0]])

    def over_nic(order):
        training = replace(TRAINING, order=order)
        found = place(platform, training, Layouts.of([layout]), sent)
        return (np.where(found.inside, 0, sent) * found.oversubscription).sum()

    assert over_nic(None) == min(over_nic(order) for order in ORDERS)


def test_only_what_is_larger_than_a_block_pays_for_the_tier_between_blocks():
    platform = replace(H100, tiers=(Tier(512, 2.0), Tier(1_024, 7.0)))
    layout = Layout(tp=8, pp=16, dp=16)
    default = placed(platform, DEFAULT, layout).oversubscription[:, 0]
    assert (default[TP], default[DP], default[PP]) == (1.0, 1.0, 7.0)
    other = placed(platform, DP_OUTERMOST, layout).oversubscription[:, 0]
    assert (other[TP], other[DP], other[PP]) == (1.0, 7.0, 1.0)
    small = placed(platform, DEFAULT, Layout(tp=8, pp=16, dp=4)).oversubscription[:, 0]
    assert (small[DP], small[PP]) == (1.0, 1.0)


def test_a_block_as_large_as_that_of_a_tier_does_not_cross_it():
    platform = replace(H100, tiers=(Tier(64, 7.0),))
    found = placed(platform, DEFAULT, Layout(tp=8, pp=16, dp=8))
    assert (found.oversubscription[DP, 0], found.oversubscription[PP, 0]) == (1.0, 7.0)


def test_the_slowest_tier_that_is_crossed_counts():
    platform = replace(H100, tiers=(Tier(128, 7.0), Tier(512, 2.0)))
    found = placed(platform, DEFAULT, Layout(tp=8, pp=16, dp=8))
    assert found.oversubscription[PP, 0] == 7.0


def test_experts_keep_the_default_order_where_megatron_has_no_other():
    layout = Layout(tp=8, pp=9, dp=14)
    assert placed(RACK, None, layout).order[0] == DP_LAST
    assert placed(RACK, None, replace(layout, ep=2)).order[0] == 0
    # as many replicas of experts as of all else: both grids have the same stages
    same = Layout(tp=8, pp=9, dp=7, cp=2, ep=2)
    assert dp_may_be_last(TRAINING, Layouts.of([same]))[0]


def test_pods_that_no_job_leaves_cost_nothing():
    platform = replace(H100, tiers=(Tier(3_072, 7.0),))
    found = placed(platform, DEFAULT, Layout(tp=8, pp=16, dp=8))
    assert (found.oversubscription == 1).all()


def test_neighbours_with_other_local_indices_talk_across_rails():
    assert placed(H100, DEFAULT, Layout(tp=8, pp=16, dp=8)).rails.all()
    # one of the four NICs of a tray each, wherever in the rack
    assert placed(RACK, DEFAULT, Layout(tp=4, pp=16, dp=32)).rails.all()
    assert not placed(RACK, DEFAULT, Layout(tp=2, pp=16, dp=32)).rails[DP, 0]
    found = placed(H100, DEFAULT, Layout(tp=4, pp=16, dp=16))
    assert not found.rails[DP, 0]
    assert found.rails[PP, 0]
    # gradients are reduced over CP too, whose neighbours are 4 apart
    with_cp = placed(H100, DEFAULT, Layout(tp=4, pp=16, dp=8, cp=2))
    assert not with_cp.rails[DP, 0]
    apart_only = placed(H100, DEFAULT, Layout(tp=4, pp=16, dp=8, cp=2), shard_over="d")
    assert apart_only.rails[DP, 0]


def test_gradients_of_one_replica_are_reduced_over_cp():
    one = table("tp8,pp16,dp1,cp8")
    assert spans(TRAINING, one, DEFAULT)[DP, 0] == 64
    assert spans(replace(TRAINING, shard_over="d"), one, DEFAULT)[DP, 0] == 1


@given(layouts, st.sampled_from([1, 4, 8, 64]), st.sampled_from(ORDERS))
def test_ranks_of_a_group_in_one_domain_are_counted(layout, domain, order):
    # where degrees are powers of 2, no group lies unevenly in domains that are
    if any(one & (one - 1) for one in (layout.tp, layout.pp, layout.dp, layout.cp)):
        return
    platform = replace(H100, domain=domain, gpus_per_host=domain)
    found = placed(platform, order, layout).together[:, 0]
    for row, name in enumerate(DIMENSIONS[:4]):
        # stages may lie between the ranks of CP and of DP, which then are not one run
        parts = joined(name)
        if name == "dp" and order == DP_OUTERMOST and layout.cp > 1 and layout.pp > 1:
            parts = ("cp",)
        members = groups(grid(layout, order), parts)[0]
        assert found[row] == (members // domain == members[0] // domain).sum()


def sending_s(row, layout, *, pooled, model=LLAMA_405B, platform=H100, **more):
    found = plan(
        model,
        platform,
        layout.gpus,
        replace(TRAINING, **more),
        Assumptions(pooled_nics=pooled),
        layouts=Layouts.of([layout]),
    )
    return float(found.costs.times.sending_s[row, 0])


def test_a_group_shares_out_what_leaves_its_domain_over_the_nics_of_its_ranks_there():
    across = Layout(tp=16, pp=8, dp=8)
    # 8 of its ranks on each host: as 8 NICs of 50 GB/s
    assert sending_s(TP, across, pooled=True) == pytest.approx(8_117.5 / 400, rel=1e-4)
    assert sending_s(TP, across, pooled=False) == pytest.approx(8_117.5 / 50, rel=1e-4)
    # no faster than over NVLink
    rich = replace(H100, nic_gb_per_s=200.0)
    found = sending_s(TP, across, pooled=True, platform=rich)
    assert found == pytest.approx(8_117.5 / 450, rel=1e-4)


@pytest.mark.parametrize(
    ("row", "layout"), [(DP, Layout(tp=8, pp=16, dp=8)), (PP, Layout(tp=16, pp=8, dp=8))]
)
def test_one_rank_a_host_and_one_neighbour_have_nothing_to_share(row, layout):
    both = [sending_s(row, layout, pooled=pooled) for pooled in (True, False)]
    assert both[0] == both[1] > 0


def test_of_an_all_to_all_only_what_leaves_the_domain_goes_over_nics():
    layout = Layout(tp=1, pp=2, dp=32, ep=32)
    pooled, own = (
        sending_s(EP, layout, pooled=pooled, model=DEEPSEEK_V3, expert_tp=False)
        for pooled in (True, False)
    )
    # of 31 others 7 are on the same host
    assert pooled / own == pytest.approx(24 / 31)
