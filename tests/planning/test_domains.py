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
    PP_LAST,
    TP,
    dp_may_be_last,
    place,
    straddles,
    strides,
)
from synctax.planning.explain.layout import explain
from synctax.planning.inputs.named import read_platform
from synctax.planning.layout import Layout, Layouts
from synctax.planning.platform import Tier
from synctax.planning.search import plan
from synctax.planning.training import DIMENSIONS, ORDERS, Assumptions, Training
from tests.planning.made import DEEPSEEK_V3, LLAMA_405B, table
from tests.planning.test_groups import members

H100 = read_platform("dgx-h100")
RACK = read_platform("gb200-nvl72")
DEFAULT, DP_OUTERMOST = ORDERS
TRAINING = Training(2_048, 8_192)

degree = st.sampled_from([1, 2, 3, 4, 6, 8, 9])
layouts = st.builds(Layout, tp=degree, pp=degree, dp=degree, cp=degree)
domains = st.sampled_from([1, 4, 8, 36, 64, 72])


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
        homes = members(grid(layout, order), joined(name)) // domain
        assert found.inside[row, 0] == (homes == homes[:, :1]).all(), name


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
    homes = members(own, ("ep",)) // domain
    found = placed(replace(H100, domain=domain), DEFAULT, layout, expert_tp=expert_tp)
    assert found.inside[EP, 0] == (homes == homes[:, :1]).all()
    # stages are the same ranks on both grids, as they have to be
    dense = members(grid(layout, DEFAULT), ("pp",))
    np.testing.assert_array_equal(np.sort(members(own, ("pp",)), 0), np.sort(dense, 0))


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
    dense = {tuple(one) for one in members(grid(layout, DP_OUTERMOST), ("pp",)).tolist()}
    same = {tuple(one) for one in members(own, ("pp",)).tolist()} == dense
    assert allowed == (same or layout.pp == 1)


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
    assert 72 % found.span[PP, 0]
    assert found.inside.all()


def test_of_equal_orders_the_default_of_megatron_is_taken():
    assert placed(H100, None, Layout(tp=8, pp=16, dp=8)).order[0] == 0


@given(layouts, domains)
def test_the_order_taken_has_no_more_time_on_nics_than_any_that_megatron_runs(
    layout, domain
):
    platform = replace(H100, domain=domain, tiers=(Tier(domain * 4, 7.0),))
    sent = np.array([[5.0], [1.0], [2.0], [3.0], [0.0]])

    def over_nic(order):
        training = replace(TRAINING, order=order)
        found = place(platform, training, Layouts.of([layout]), sent)
        return (np.where(found.inside, 0, sent) * found.oversubscription).sum()

    last = dp_may_be_last(TRAINING, Layouts.of([layout]), experts=False)[0]
    allowed = ORDERS if last else ORDERS[:1]
    assert over_nic(None) == min(over_nic(order) for order in allowed)


def test_only_what_does_not_tile_a_block_pays_for_the_tier_between_blocks():
    platform = replace(H100, tiers=(Tier(512, 2.0), Tier(1_024, 7.0)))
    layout = Layout(tp=8, pp=4, dp=64)
    # 512 pipelines leave a block of 1,024, whose uplinks carry 1,024/7 NICs
    default = placed(platform, DEFAULT, layout).oversubscription[:, 0]
    assert default.tolist() == [1, pytest.approx(3.5), 1, 1, 1]
    # 32 rings leave one, and have more than a NIC each
    other = placed(platform, DP_OUTERMOST, layout)
    assert other.crowding[:, 0].tolist() == [0, 0, pytest.approx(32 * 7 / 1_024), 0, 0]
    assert (other.oversubscription == 1).all()
    small = placed(platform, DEFAULT, Layout(tp=8, pp=4, dp=16)).crowding
    assert (small == 0).all()


def test_a_span_below_that_of_a_block_crosses_it_where_it_does_not_divide_it():
    pods = replace(H100, tiers=(Tier(3_072, 7.0),))
    found = placed(pods, DEFAULT, Layout(tp=8, pp=4, dp=256))
    # 8 rings of 2,048 ranks lie in two pods, and are fewer than their uplinks
    assert found.span[DP, 0] == 2_048
    assert found.crowding[DP, 0] == pytest.approx(8 * 7 / 3_072)
    whole = placed(pods, DEFAULT, Layout(tp=8, pp=4, dp=384))
    assert whole.crowding[DP, 0] == 0


def test_a_block_as_large_as_that_of_a_tier_does_not_cross_it():
    platform = replace(H100, tiers=(Tier(64, 7.0),))
    found = placed(platform, DEFAULT, Layout(tp=8, pp=16, dp=8))
    # all ranks of a block are of other pipelines
    assert (found.oversubscription[DP, 0], found.oversubscription[PP, 0]) == (1.0, 7.0)


def test_the_slowest_tier_that_is_crossed_counts():
    platform = replace(H100, tiers=(Tier(32, 7.0), Tier(512, 2.0)))
    found = placed(platform, DEFAULT, Layout(tp=8, pp=16, dp=8))
    assert found.oversubscription[PP, 0] == 7.0
    assert found.oversubscription[DP, 0] == pytest.approx(8 * 7 / 32)


def test_llama_3_ran_dp_outermost_across_its_pods_and_was_no_slower():
    pods = replace(H100, tiers=(Tier(3_072, 7.0),))
    layout = Layout(tp=8, pp=16, dp=128)

    def step(order):
        training = replace(TRAINING, order=order)
        one = Layouts.of([layout])
        return plan(LLAMA_405B, pods, layout.gpus, training, layouts=one)

    dp_last, pp_last = step(DP_OUTERMOST), step(DEFAULT)
    assert dp_last.costs.step_s[0] <= pp_last.costs.step_s[0]
    assert step(None).order(0) == DP_OUTERMOST
    # 128 rings and 1,024 pipelines over uplinks for 3,072/7 = 439 NICs
    assert dp_last.costs.placement.crowding[DP, 0] == pytest.approx(128 * 7 / 3_072)
    assert pp_last.costs.placement.oversubscription[PP, 0] == pytest.approx(7 / 3)


def test_an_order_that_megatron_refuses_is_not_chosen_without_experts_either():
    layout = Layout(tp=8, pp=9, dp=7, cp=2)
    assert placed(RACK, None, layout).order[0] == PP_LAST
    table = Layouts.of([layout, replace(layout, cp=1), replace(layout, pp=1)])
    assert dp_may_be_last(TRAINING, table).tolist() == [False, True, True]
    # an expert on one rank of TP has other replicas, where there are any
    whole = replace(TRAINING, expert_tp=False)
    assert dp_may_be_last(whole, table).tolist() == [False, False, True]
    assert dp_may_be_last(whole, table, experts=False).tolist() == [False, True, True]


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


def test_pairs_need_one_local_index_and_rings_the_same_ones_on_every_host():
    assert placed(H100, DEFAULT, Layout(tp=8, pp=16, dp=8)).rails.all()
    # one of the four NICs of a tray each, wherever in the rack
    assert placed(RACK, DEFAULT, Layout(tp=4, pp=16, dp=32)).rails.all()
    # 0 and 4 of each host, or 1 and 5
    assert placed(H100, DEFAULT, Layout(tp=4, pp=16, dp=16)).rails.all()
    # 0, 3 and 6, then 1, 4 and 7
    assert not placed(H100, DEFAULT, Layout(tp=3, pp=2, dp=8)).rails[DP, 0]
    # a host and a half each
    assert not placed(H100, DEFAULT, Layout(tp=4, pp=2, dp=3)).rails[DP, 0]
    assert not placed(H100, DEFAULT, Layout(tp=4, pp=16, dp=3)).rails[PP, 0]


def test_gradients_of_one_replica_are_reduced_over_cp():
    one = Layout(tp=8, pp=16, dp=1, cp=8)
    assert placed(H100, DEFAULT, one).span[DP, 0] == 64
    assert placed(H100, DEFAULT, one, shard_over="d").span[DP, 0] == 1


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


def test_a_rack_shares_out_over_the_nics_where_a_group_has_fewest_of_them():
    # 72 mod 16 is 8: what straddles the end has 8 ranks on either side
    layout = Layout(tp=16, pp=9, dp=7)
    found = plan(LLAMA_405B, RACK, layout.gpus, TRAINING, layouts=Layouts.of([layout]))
    assert found.costs.placement.together[TP, 0] == 8
    own, shared = (
        sending_s(TP, layout, pooled=pooled, platform=RACK) for pooled in (False, True)
    )
    assert own == pytest.approx(8 * shared)


def test_uplinks_bound_what_shared_nics_bring():
    across = Layout(tp=16, pp=8, dp=8)
    # a group leaves a block of 24 over uplinks for 4 NICs
    narrow = replace(H100, tiers=(Tier(24, 6.0),))
    one, all_of_them = (
        sending_s(TP, across, pooled=pooled, platform=narrow) for pooled in (False, True)
    )
    assert one == pytest.approx(8_117.5 / 50, rel=1e-4)
    assert all_of_them == pytest.approx(8_117.5 / (4 * 50), rel=1e-4)


def of_experts(layout, **more):
    training = replace(TRAINING, **more)
    one = Layouts.of([layout])
    return plan(DEEPSEEK_V3, H100, layout.gpus, training, layouts=one)


def test_gradients_of_experts_go_over_nics_though_one_replica_has_all_else():
    layout = Layout(tp=1, pp=16, dp=1, cp=64, ep=32)
    found = of_experts(layout, expert_tp=False, shard_over="d")
    sent = float(found.costs.volumes.dp_bytes[0])
    assert sent > 1e9
    assert found.costs.times.sending_s[DP, 0] == pytest.approx(sent / 50e9)
    assert found.to_frame().dp_link[0] == "nic"
    rows = {row.quantity: row for row in explain(found, layout).rows}
    assert rows["dp_block"].value == 64
    assert "dp_stride" not in rows


@pytest.mark.parametrize(("expert_tp", "link"), [(False, "nvlink"), (True, None)])
def test_a_link_is_told_wherever_something_is_sent(expert_tp, link):
    found = of_experts(Layout(tp=8, pp=16, dp=1, ep=4), expert_tp=expert_tp)
    assert found.to_frame().dp_link[0] == link
    assert (found.costs.volumes.dp_bytes[0] > 0) == (link is not None)
