"""What domains, hosts and pods hold of groups, against ranks that are listed."""

from collections import Counter
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.planning.crossings import uplinks
from synctax.planning.domains import EXPERT_DP, dp_may_be_last, place, placed_groups
from synctax.planning.groups import (
    alike,
    flows,
    leaving_shares,
    same_indices,
    smallest_part,
)
from synctax.planning.inputs.named import read_platform
from synctax.planning.layout import Layout, Layouts
from synctax.planning.platform import Tier
from synctax.planning.training import DIMENSIONS, ORDERS, Training

H100 = read_platform("dgx-h100")
TRAINING = Training(2_048, 8_192)
NAMES = (*DIMENSIONS, "edp")
DOMAINS = (1, 4, 8, 36, 64, 72)
LONGEST = 1_500
"""Ranks of a job that are listed one by one."""


def members(grid, joined):
    """List groups of a grid, innermost dimension first, that differ in `joined` only."""
    ranks = np.arange(prod(grid.values())).reshape(list(grid.values())[::-1])
    axes = list(grid)[::-1]
    last = [axes.index(name) for name in axes if name in joined]
    rest = [axis for axis in range(len(axes)) if axis not in last]
    return ranks.transpose([*rest, *last]).reshape(-1, prod(grid[n] for n in joined))


def listed(layout, training, order):
    """List the groups of every dimension that a layout has, and of experts' gradients."""
    dense = {"tp": layout.tp, "cp": layout.cp, "dp": layout.dp, "pp": layout.pp}
    split = layout.tp if training.expert_tp else 1
    left = layout.tp * layout.cp * layout.dp // (split * layout.ep)
    own = {"tp": split, "ep": layout.ep, "dp": left, "pp": layout.pp}
    names = order.split("-")
    dense, own = ({n: grid[n] for n in names if n in grid} for grid in (dense, own))
    over = ("cp", "dp") if training.shard_over == "d*c" else ("dp",)
    return {
        "tp": members(dense, ("tp",)),
        "pp": members(dense, ("pp",)),
        "dp": members(dense, over),
        "cp": members(dense, ("cp",)),
        "ep": members(own, ("ep",)),
        "edp": members(own, ("dp",)),
    }


degree = st.sampled_from([1, 2, 3, 4, 6, 8, 9, 16, 18])
jobs = st.builds(Layout, tp=degree, pp=degree, dp=degree, cp=degree, ep=degree)
trainings = st.builds(
    Training,
    st.just(2_048),
    st.just(8_192),
    shard_over=st.sampled_from(["d", "d*c"]),
    expert_tp=st.booleans(),
)


def divides(layout, training):
    split = layout.tp if training.expert_tp else 1
    stage = layout.tp * layout.cp * layout.dp
    return layout.gpus <= LONGEST and stage % (split * layout.ep) == 0


def checked(draw, check):
    """Apply a check to the groups of each dimension of a job that can be."""
    layout, training, order = draw
    if not divides(layout, training):
        return
    table = Layouts.of([layout])
    if order == ORDERS[1] and not dp_may_be_last(training, table)[0]:
        return
    every = listed(layout, training, order)
    for name, groups in zip(NAMES, placed_groups(training, table, order), strict=True):
        check(name, groups, every[name])


draws = st.tuples(jobs, trainings, st.sampled_from(ORDERS))


def fewest(ranks, block):
    return min(min(Counter(one).values()) for one in (ranks // block).tolist())


def leaving(ranks, block):
    """Count the groups in each block that are elsewhere too, and take the most."""
    homes = [set(one) for one in (ranks // block).tolist()]
    most = Counter(home for one in homes if len(one) > 1 for home in one)
    return max(most.values(), default=0)


def shares(ranks, block):
    sent = Counter()
    for one in (ranks // block).tolist():
        for home, here in Counter(one).items():
            sent[home] += here * (len(one) - here) / max(len(one) - 1, 1)
    return max(sent.values())


@given(draws)
def test_ranks_in_groups_and_their_spans_are_those_listed(draw):
    def check(name, groups, ranks):
        assert groups.degree[0] == ranks.shape[1], name
        near = np.diff(np.sort(ranks)).min() if ranks.shape[1] > 1 else None
        assert near is None or groups.stride[0] == near, name
        # aligned blocks of the span hold whole groups, and no smaller ones do
        span = int(groups.span[0])
        assert leaving(ranks, span) == 0, name
        assert all(leaving(ranks, less) for less in range(1, span) if span % less == 0)

    checked(draw, check)


@given(draws, st.sampled_from(DOMAINS))
def test_the_smallest_part_of_a_group_in_a_domain_is_the_one_listed(draw, domain):
    def check(name, groups, ranks):
        assert smallest_part(groups, domain)[0] == fewest(ranks, domain), name

    checked(draw, check)


@pytest.mark.parametrize("domain", [4, 8, 36, 64, 72])
def test_so_it_is_for_cp_and_dp_with_stages_between(domain):
    jobs = [
        Layout(t, p, d, c)
        for t, p, c in product((1, 2, 3, 4, 8, 9), (2, 3, 4, 9), (2, 3, 8, 18))
        for d in (2, 3, 9, 18, 40)
        if t * p * c * d <= LONGEST
    ]
    table = Layouts.of(jobs)
    found = smallest_part(placed_groups(TRAINING, table, ORDERS[1])[2], domain)
    slow = [fewest(listed(one, TRAINING, ORDERS[1])["dp"], domain) for one in jobs]
    np.testing.assert_array_equal(found, slow)


blocks = st.sampled_from([4, 8, 12, 32, 48, 72, 96, 100, 128, 256, 576])


@given(draws, blocks)
def test_flows_that_leave_a_block_are_groups_that_are_elsewhere_too(draw, block):
    def check(name, groups, ranks):
        if groups.ranks[0] > block:
            assert flows(groups, block)[0] == leaving(ranks, block), name

    checked(draw, check)


@given(draws, blocks)
def test_of_an_all_to_all_leaves_what_ranks_send_to_those_outside(draw, block):
    def check(name, groups, ranks):
        if name == "ep" and groups.ranks[0] > block:
            found = leaving_shares(groups, block)[0]
            assert found == pytest.approx(shares(ranks, block))

    checked(draw, check)


@given(draws, st.sampled_from([1, 2, 4, 8]))
def test_indices_are_the_same_iff_every_host_of_a_group_has_the_same_ones(draw, host):
    def check(name, groups, ranks):
        same = all(
            len({frozenset(one[one // host == at] % host) for at in set(one // host)}) == 1
            for one in ranks
        )
        assert same_indices(groups, host)[0] == same, name

    checked(draw, check)


@given(st.integers(2, 64), st.integers(2, 12), st.integers(1, 6), st.integers(2, 300))
def test_of_contiguous_grids_as_many_groups_leave_as_are_apart(stride, tp, more, block):
    """What is said in short: min(stride, block), where no tile ends in a block."""
    layout = Layout(tp=stride, pp=1, dp=tp * more)
    (groups,) = placed_groups(TRAINING, Layouts.of([layout]), ORDERS[0])[2:3]
    if layout.gpus >= 2 * block:
        assert flows(groups, block)[0] == min(stride, block)


@given(draws, st.sampled_from(DOMAINS), blocks, st.sampled_from([2.0, 7.0]))
def test_a_tier_slows_by_what_shares_its_uplinks_and_never_by_more(
    draw, domain, block, oversubscription
):
    layout, training, order = draw
    if not divides(layout, training):
        return
    tier = Tier(block, oversubscription)
    platform = replace(H100, domain=domain, tiers=(tier,))
    found = place(
        platform, replace(training, order=order), Layouts.of([layout]), np.ones((5, 1))
    )
    assert (found.oversubscription <= oversubscription * (1 + 1e-12)).all()
    assert (found.crowding[found.inside] == 0).all()
    every = listed(layout, training, order)
    for row, name in enumerate(DIMENSIONS[:4]):
        apart = layout.gpus > block and not found.inside[row, 0]
        many = leaving(every[name], block) if apart else 0
        assert found.crowding[row, 0] == pytest.approx(many / uplinks(tier)), name


@given(draws, st.sampled_from(DOMAINS))
def test_dp_of_experts_is_the_worse_of_the_groups_of_both(draw, domain):
    layout, training, order = draw
    table = Layouts.of([layout])
    if not divides(layout, training) or (
        order == ORDERS[1] and not dp_may_be_last(training, table)[0]
    ):
        return
    every = listed(layout, training, order)
    both = [every["dp"], every["edp"]]
    at = replace(training, order=order)
    platform = replace(H100, domain=domain, gpus_per_host=4)
    found = place(platform, at, table, np.ones((5, 1)), experts=True)
    leaves = [one for one in both if leaving(one, domain)]
    row = DIMENSIONS.index("dp")
    assert found.inside[row, 0] == (not leaves)
    if leaves:
        assert found.together[row, 0] == min(fewest(one, domain) for one in leaves)
    dense = place(platform, at, table, np.ones((5, 1)))
    assert dense.inside[row, 0] == (not leaving(both[0], domain))
    assert found.span[row, 0] >= dense.span[row, 0]


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))),
)
def test_rows_are_alike_iff_they_are_the_same_in_all_columns(rows):
    table = np.array(rows, np.int64).reshape(-1, 3)
    first, kind = alike(*table.T)
    np.testing.assert_array_equal(table[first][kind], table)
    assert len(first) == len(set(rows))


def test_experts_gradients_come_last():
    assert NAMES[EXPERT_DP] == "edp"
