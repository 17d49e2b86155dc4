"""The numbers that the paper prints in its section 6.2.

Two of them, the reductions of the ring and of the torus, are what the built-in tax was made
from; the others follow from it.
"""

import numpy as np
import pytest

from synctax.bandwidth.flops import Reading
from synctax.bandwidth.sweep import Link, Wait, sweep, sweep_flops
from synctax.bandwidth.topology import Layout
from synctax.evt.tax_file import builtin

S = 4 * 4096 * 8192 * 2
"""Largest tensor-parallel buffer of Llama-3 70B, BF16, local batch 4."""

B200_OVER_H200 = 2250 / 989
"""Dense BF16 peaks."""


def wait(*n: int, taxed: bool = True) -> Wait:
    sizes = np.array(n, np.float64)
    if not taxed:
        return Wait.none(sizes)
    tau = builtin("llama3-70b-h200").tau_us(sizes)
    return Wait(sizes, tau.tau_us, tau.lo_us, tau.hi_us, 4)


def link(topology: str) -> Link:
    return Link(Layout(topology), "all_reduce", S, 5.0, 450.0)


def best(topology: str, *n: int, elasticity: float = -0.5, column: str = "gb_per_s"):
    found = sweep([link(topology)], [elasticity], wait(*n))[column].tolist()
    return found if len(n) > 1 else found[0]


@pytest.mark.parametrize("elasticity", [-0.5, -0.1])
@pytest.mark.parametrize(
    ("topology", "n", "printed"), [("ring", 128, 37.26), ("torus3d", 512, 81.67)]
)
def test_the_built_in_tax_gives_the_reductions_that_it_was_made_from(
    topology, n, printed, elasticity
):
    found = best(topology, n, elasticity=elasticity, column="reduction")
    assert 100 * found == pytest.approx(printed, abs=0.005)


@pytest.mark.parametrize("elasticity", [-0.5, -0.1])
@pytest.mark.parametrize(("topology", "n", "printed"), [("switched", 128, 98.69)])
def test_the_third_printed_reduction_follows(topology, n, printed, elasticity):
    found = best(topology, n, elasticity=elasticity, column="reduction")
    assert 100 * found == pytest.approx(printed, abs=0.005)


def test_larger_switched_domains_should_have_half_the_bandwidth():
    small, large = best("switched", 8, 512)
    assert small / large == pytest.approx(2.063, abs=5e-4)


def test_hockney_asks_for_53_tb_per_s_and_the_tax_for_what_there_is():
    assert best("switched", 4096, column="hockney_gb_per_s") / 1e3 == pytest.approx(
        53.67, abs=0.005
    )
    assert best("switched", 4096) == pytest.approx(440.9, abs=0.05)


def test_at_one_tenth_bandwidth_is_nine_times_that_at_one_half():
    half, tenth = (best("ring", 128, elasticity=e) for e in (-0.5, -0.1))
    assert tenth / half == pytest.approx(9)


def test_the_elasticity_of_450_gb_per_s_is_that_of_the_optimum_at_4096():
    found = sweep([link("switched")], [-0.5], wait(4096))
    assert found["link_elasticity"][0] == pytest.approx(-0.495, abs=5e-4)
    assert found["link_ratio"][0] == pytest.approx(450 / 440.9, abs=1e-3)


def grown(n: int, compute_us: float, reading: Reading) -> float:
    frame = sweep_flops(
        [link("switched")], [B200_OVER_H200], wait(n), compute_us=compute_us, asked=reading
    )
    return float(frame["reduction"][frame["asked"]].iloc[0])


@pytest.mark.parametrize(("n", "compute_us"), [(4096, 10_400), (256, 7_300)])
def test_11_7_percent_is_met_by_a_computation_chosen_for_it(n, compute_us):
    found = grown(n, compute_us, Reading("stays", "own"))
    assert 100 * found == pytest.approx(11.7, abs=0.1)


def test_about_10_ms_of_computation_give_about_12_percent():
    found = grown(4096, 10_000, Reading("stays", "own"))
    assert 100 * found == pytest.approx(12.04, abs=0.005)


@pytest.mark.parametrize("n", [256, 4096])
def test_the_reduction_vanishes_where_the_tax_shrinks_with_the_computation(n):
    assert abs(grown(n, 10_400, Reading("shrinks", "own"))) < 1e-3


def test_one_common_elasticity_makes_the_reduction_larger():
    own = grown(4096, 10_400, Reading("stays", "own"))
    common = grown(4096, 10_400, Reading("stays", "common"))
    assert common == pytest.approx(0.2086, abs=5e-5)
    assert common > own
