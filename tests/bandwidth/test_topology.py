"""Steps and volume of the algorithms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.bandwidth.choices import OPS, TOPOLOGIES
from synctax.bandwidth.formulas import FORMULAS
from synctax.bandwidth.hardware import all_hardware, hardware
from synctax.bandwidth.topology import (
    Cost,
    Domain,
    Layout,
    carries,
    cost,
    formula,
    nic_us,
)
from synctax.errors import SynctaxError

POINT_TO_POINT = ["ring", "torus3d", "switched"]
ranks = st.integers(2, 10_000).map(float)


def at(layout: Layout, op: str, *n: float) -> Cost:
    return cost(layout, op, np.array(n, np.float64))


@given(st.sampled_from(POINT_TO_POINT), ranks)
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(topology, n):
    layout = Layout(topology)
    whole, *halves = (
        at(layout, op, n) for op in ("all_reduce", "reduce_scatter", "all_gather")
    )
    for name in ("p", "q"):
        parts = sum(getattr(half, name) for half in halves)
        assert_allclose(parts, getattr(whole, name))


@given(st.sampled_from([Layout("switched"), Layout("ring")]), st.integers(1, 30))
def test_two_levels_halve_as_one_does(across, domains):
    layout = Layout("hierarchical", domain=Domain(8, 50.0, across=across.topology))
    whole = at(layout, "all_reduce", 8 * domains)
    halves = [at(layout, op, 8 * domains) for op in ("reduce_scatter", "all_gather")]
    for name in ("p", "q", "nic_p", "nic_q"):
        assert_allclose(sum(getattr(h, name) for h in halves), getattr(whole, name))


@given(ranks)
def test_no_all_reduce_sends_less_than_the_bound_of_messages_between_ranks(n):
    for topology in (*POINT_TO_POINT, "tree"):
        assert at(Layout(topology), "all_reduce", n).q[0] >= 2 * (n - 1) / n


def test_the_switch_halves_the_volume_of_large_groups():
    assert at(Layout("in_switch"), "all_reduce", 1000.0).q[0] == pytest.approx(1.001)
    assert at(Layout("in_switch"), "all_reduce", 8.0).q[0] == 1.125


def test_a_tree_takes_two_ways_of_its_depth():
    assert_array_equal(at(Layout("tree"), "all_reduce", 2, 8, 9, 512).p, [2, 6, 8, 18])


def test_a_cube_by_its_dimensions_is_the_cube_by_its_size():
    for op in OPS:
        by_dims = at(Layout("torus3d", (8, 8, 8)), op, 512.0)
        by_size = at(Layout("torus3d"), op, 512.0)
        assert_array_equal(by_dims.p, by_size.p)
        assert_array_equal(by_dims.q, by_size.q)


@given(st.integers(2, 60))
def test_cubes_have_whole_sides(side):
    assert at(Layout("torus3d"), "all_reduce", float(side**3)).p[0] == 6 * (side - 1)


def test_dimensions_of_a_torus_count_apart():
    assert at(Layout("torus3d", (8, 8, 4)), "all_reduce", 256.0).p[0] == 2 * (7 + 7 + 3)


def test_a_torus_has_as_many_ranks_as_its_dimensions_say():
    with pytest.raises(SynctaxError, match="8x8x4 has 256 ranks, not n = 512"):
        at(Layout("torus3d", (8, 8, 4)), "all_reduce", 512.0)


@given(st.integers(2, 300))
def test_a_torus_of_one_dimension_is_a_ring(n):
    for op in OPS:
        ring, torus = (
            at(layout, op, float(n))
            for layout in (Layout("ring"), Layout("torus3d", (n, 1, 1)))
        )
        assert_array_equal(ring.p, torus.p)
        assert_array_equal(ring.q, torus.q)


@given(st.integers(2, 40))
def test_all_to_all_on_a_ring_takes_the_hops_that_messages_go(n):
    # every rank sends S/n to every other along the shortest way; links are 2 a rank of B/2
    hops = [min(d, n - d) for d in range(n)]
    found = at(Layout("ring"), "all_to_all", float(n))
    assert found.q[0] == pytest.approx(sum(hops) / n)
    assert found.p[0] == max(hops)


def test_all_to_all_on_a_torus_is_bound_by_its_longest_dimension():
    short, long = (
        at(Layout("torus3d", dims), "all_to_all", 64.0).q[0]
        for dims in ((4, 4, 4), (2, 2, 16))
    )
    assert short == 3.0
    assert long == 12.0


@given(st.integers(2, 5000))
def test_all_to_all_on_a_cube_of_any_side_grows_without_jumps(n):
    one, other = at(Layout("torus3d"), "all_to_all", n, n + 1).p
    assert 0 < one < other < one * (1 + 1 / n)
    found = at(Layout("torus3d"), "all_to_all", n)
    assert found.p[0] == pytest.approx(1.5 * np.cbrt(n))
    assert found.q[0] == pytest.approx(0.75 * np.cbrt(n))


def test_all_to_all_on_a_switch_sends_each_part_once():
    found = at(Layout("switched"), "all_to_all", 8.0)
    assert (found.p[0], found.q[0]) == (1.0, 7 / 8)


@pytest.mark.parametrize("n", [1.0, 0.0, -3.0])
@pytest.mark.parametrize("topology", POINT_TO_POINT)
def test_fewer_than_two_ranks_are_refused(topology, n):
    with pytest.raises(SynctaxError, match="at least 2 ranks"):
        at(Layout(topology), "all_reduce", 8.0, n)


# ---------------------------------------------------------------------- two levels


def test_one_domain_is_a_switch():
    layout = Layout("hierarchical", domain=Domain(72, 50.0))
    found, flat = (
        at(layout, "all_reduce", 8, 72),
        at(Layout("switched"), "all_reduce", 8, 72),
    )
    assert_array_equal(found.p, flat.p)
    assert_array_equal(found.q, flat.q)
    assert_array_equal(nic_us(layout, found, 1e9), [0.0, 0.0])


def test_shards_of_the_domain_go_between_domains():
    layout = Layout("hierarchical", domain=Domain(8, 50.0, nic_alpha_us=7.0))
    found = at(layout, "all_reduce", 32.0)
    assert (found.nic_p[0], found.nic_q[0]) == (6.0, 2 * 3 / 4 / 8)
    sent_us = 2 * 3 / 4 / 8 * 1e9 / 50e3
    assert nic_us(layout, found, 1e9)[0] == pytest.approx(6 * 7 + sent_us)


def test_groups_that_are_no_whole_domains_are_refused():
    with pytest.raises(SynctaxError, match="n = 100 is no multiple of a domain of 72"):
        at(Layout("hierarchical", domain=Domain(72, 50.0)), "all_reduce", 100.0)


def test_an_algorithm_between_domains_that_has_no_such_operation_is_named():
    layout = Layout("hierarchical", domain=Domain(8, 50.0, across="tree"))
    with pytest.raises(SynctaxError, match="give --across ring or switched"):
        at(layout, "reduce_scatter", 32.0)


def test_two_levels_need_a_domain():
    with pytest.raises(ValueError, match="Domain"):
        at(Layout("hierarchical"), "all_reduce", 8.0)


def test_links_of_one_level_have_no_second():
    flat = at(Layout("ring"), "all_reduce", 8.0)
    assert_array_equal(nic_us(Layout("ring"), flat, 1e9), [0.0])


# ---------------------------------------------------------------------- the registry


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_pair_has_a_formula_with_its_source_or_a_reason(topology, op):
    one = FORMULAS[topology, op]
    if one.refused:
        assert one.p == one.q == one.source == ""
        assert not carries(topology, op)
        with pytest.raises(SynctaxError, match=f"no {op} on {topology}"):
            formula(topology, op)
    else:
        assert one.algorithm
        assert one.p
        assert one.q
        assert one.source
        assert formula(topology, op) is one


@pytest.mark.parametrize(("topology", "op"), [
    key for key, one in FORMULAS.items()
    if not one.refused and key[0] not in ("torus3d", "hierarchical")
])  # fmt: skip
def test_formulas_as_written_give_what_is_computed(topology, op):
    found = at(Layout(topology), op, 6.0, 72.0)
    for name in ("p", "q"):
        text = getattr(FORMULAS[topology, op], name).replace("·", "*")
        text = text.replace("2(", "2*(").replace("²", "**2").replace("log2 n", "log2(n)")
        names = {"floor": np.floor, "ceil": np.ceil, "log2": np.log2}
        for i, n in enumerate((6.0, 72.0)):
            computed = getattr(found, name)[i]
            assert computed == pytest.approx(eval(text, names | {"n": n})), text


def written(text: str, **names: float) -> float:
    text = text.replace("·", "*").replace("2(", "2*(").replace("²", "**2")
    text = text.replace("6*(∛n", "6*(cbrt(n)").replace("3*(∛n", "3*(cbrt(n)")
    text = text.replace("∛n", "cbrt(n)")
    return eval(text, {"cbrt": np.cbrt} | names)


@pytest.mark.parametrize("op", OPS)
def test_formulas_of_a_torus_as_written_give_what_is_computed(op):
    one, dims = FORMULAS["torus3d", op], np.array([6, 4, 3])
    cube, own = at(Layout("torus3d"), op, 64.0), at(Layout("torus3d", (6, 4, 3)), op, 72.0)
    for name in ("p", "q"):
        by_side, _, by_cube = getattr(one, name).partition(", cube: ")
        text = by_side.replace("sum(d-1)", str((dims - 1).sum()))
        text = text.replace("sum(floor(d/2))", str((dims // 2).sum()))
        text = text.replace("max(floor(d²/4)/d)", str((dims**2 // 4 / dims).max()))
        text = text.replace("sides", "3")
        assert getattr(own, name)[0] == pytest.approx(written(text, n=72)), text
        in_cube = written(by_cube or by_side, n=64)
        assert getattr(cube, name)[0] == pytest.approx(in_cube), by_cube


@pytest.mark.parametrize("op", ["all_reduce", "reduce_scatter", "all_gather"])
def test_formulas_of_two_levels_as_written_give_what_is_computed(op):
    one = FORMULAS["hierarchical", op]
    found = at(Layout("hierarchical", domain=Domain(8, 50.0)), op, 72.0)
    across = at(Layout("ring"), op, 9.0)
    inside, _, outside = one.p.partition(", across k: ")
    assert (found.p[0], outside) == (written(inside), f"of {op}")
    assert found.nic_p[0] == across.p[0]
    inside, _, outside = one.q.partition(", across: ")
    assert (found.q[0], outside) == (written(inside, m=8), "that of k / m")
    assert found.nic_q[0] == across.q[0] / 8


# ---------------------------------------------------------------------- hardware


def test_rates_are_per_direction():
    assert hardware("A100").link_gb_per_s == 300
    assert hardware("h200").link_gb_per_s == hardware("h100").link_gb_per_s == 450
    assert hardware("b200").link_gb_per_s == 900
    assert hardware("gb200-nvl72").domain == 72


def test_what_is_only_announced_has_a_domain_and_no_rate():
    announced = hardware("nvl1152")
    assert announced.domain == 1152
    assert announced.link_gb_per_s is None


def test_every_preset_has_a_source():
    assert all(one.source and one.title for one in all_hardware())


def test_unknown_hardware_is_refused_by_name():
    with pytest.raises(SynctaxError, match="no hardware 'h300'; there are a100, h100"):
        hardware("h300")
