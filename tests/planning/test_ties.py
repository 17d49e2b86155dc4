"""Layouts that are as fast as the fastest: which, and which of them is plainest."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.planning.inputs.named import read_model, read_platform
from synctax.planning.search import plan
from synctax.planning.ties import ERROR, plainest, surely_fits, within_error
from synctax.planning.training import Training
from tests.laws import examples

MODEL, MACHINE = read_model("llama3-8b"), read_platform("dgx-h100")


def searched(many: int, gb: float):
    machine = replace(MACHINE, memory_bytes=1e9 * gb)
    return plan(MODEL, machine, many, Training(batch=64, sequence=8192))


plans = st.builds(searched, st.sampled_from([1, 8, 24, 64]), st.sampled_from([1, 40, 80]))


@given(plans)
@settings(max_examples=examples(12))
def test_as_fast_is_what_is_feasible_and_within_3_percent_of_the_fastest(found):
    step_s, near = found.costs.step_s, within_error(found)
    feasible = step_s[found.feasible]
    for at in range(len(found)):
        close = feasible.size and step_s[at] <= 1.03 * feasible.min()
        assert near[at] == bool(found.feasible[at] and close)
    assert near.sum() == 0 or near[found.feasible_rank == 1].all()


@given(plans)
@settings(max_examples=examples(12))
def test_no_layout_that_is_as_fast_is_plainer_than_the_plainest(found):
    at = plainest(found)
    if at is None:
        assert not found.feasible.any()
        return
    assert within_error(found)[at]

    def many(layout) -> tuple[int, int]:
        special = (layout.cp, layout.ep, layout.virtual_stages)
        every = (layout.tp, layout.pp, layout.dp, *special)
        return sum(one > 1 for one in every), sum(one > 1 for one in special)

    nic_s = found.costs.times.nic_s
    for other in np.flatnonzero(within_error(found)).tolist():
        mine, theirs = many(found.layouts[at]), many(found.layouts[other])
        assert (*mine, nic_s[at]) <= (*theirs, nic_s[other])


@given(plans)
@settings(max_examples=examples(12))
def test_nothing_faster_fits_with_its_whole_range_than_what_surely_fits(found):
    at, held = surely_fits(found), found.costs.memory.memory_hi_bytes
    whole = found.feasible & (held <= found.setting.budget_bytes)
    if at is None:
        assert not whole.any()
        return
    assert whole[at]
    assert found.costs.step_s[at] == found.costs.step_s[whole].min()


def test_the_error_is_the_share_that_is_documented():
    assert pytest.approx(0.03) == ERROR
