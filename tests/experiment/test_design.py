"""Which step gets which delay."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.experiment.design import blocks, rules
from synctax.record.plan import DelayRule


def batched(steps, size):
    return [tuple(steps[at : at + size]) for at in range(0, len(steps), size)]


doses_ms = st.lists(st.floats(0, 100), min_size=1, max_size=8, unique=True)


@given(doses_ms, st.integers(1, 9), st.integers(0, 99))
def test_every_block_has_every_dose_once(doses, repeats, seed):
    steps = blocks(doses, repeats, seed=seed)
    assert len(steps) == len(doses) * repeats
    for block in batched(steps, len(doses)):
        assert Counter(block) == Counter(doses)


def test_the_seed_gives_the_order():
    doses = [0, 1, 2, 5, 10, 20]
    assert blocks(doses, 5, seed=1) == blocks(doses, 5, seed=1)
    assert blocks(doses, 5, seed=1) != blocks(doses, 5, seed=2)


def test_blocks_differ_in_order():
    steps = blocks(range(6), 8)
    assert len(set(batched(steps, 6))) > 1


@given(doses_ms, st.integers(1, 4), st.integers(0, 9))
def test_each_step_has_one_rule_that_ends_with_it(doses, repeats, first):
    design = blocks(doses, repeats)
    made = rules(design, DelayRule("aten::mm", 0.0, rank=1, pick=2), first_step=first)
    assert [rule.us for rule in made] == [1000 * dose for dose in design]
    assert [rule.first_step for rule in made] == list(range(first, first + len(design)))
    assert all(rule.end_step == rule.first_step + 1 for rule in made)
    assert all((rule.operator, rule.rank, rule.pick) == ("aten::mm", 1, 2) for rule in made)


def test_steps_choose_their_calls_independently():
    made = rules(blocks([0, 5], 4), DelayRule("aten::mm", 0.0, seed=7), first_step=0)
    assert [rule.seed for rule in made] == list(range(7, 15))


@pytest.mark.parametrize(
    ("doses", "repeats"),
    [
        ([], 1),
        ([1, 1], 1),
        ([-1], 1),
        ([float("inf")], 1),
        ([float("nan")], 1),
        ([1], 0),
        ([3.7e6], 1),
        ([1, 2], 10**9),
    ],
)
def test_a_design_that_is_none_is_refused(doses, repeats):
    with pytest.raises(ValueError, match=r"dose|block|steps at most"):
        blocks(doses, repeats)
