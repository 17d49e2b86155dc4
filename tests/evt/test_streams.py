"""Random numbers of different uses have nothing in common."""

from itertools import combinations
from typing import get_args

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synctax.evt.cut import cut
from synctax.evt.streams import Use, stream
from tests.evt.made import block_times

USES = get_args(Use)


@given(st.integers(0, 2**64))
def test_the_same_seed_and_use_give_the_same_numbers_and_others_do_not(seed):
    drawn = {use: tuple(stream(seed, use).random(4)) for use in USES}
    assert drawn == {use: tuple(stream(seed, use).random(4)) for use in USES}
    assert not any(set(drawn[a]) & set(drawn[b]) for a, b in combinations(USES, 2))
    assert drawn["cuts"] != tuple(stream(seed + 1, "cuts").random(4))


@given(st.integers(0, 10), st.integers(0, 2_000))
def test_no_use_follows_the_numbers_of_made_up_times(seed, step):
    times = [np.random.default_rng(of).random(4) for of in (seed, (seed, step))]
    for use in USES:
        assert not np.isin(stream(seed, use).random(4), times).any()


def test_groups_do_not_follow_times_of_the_same_seed():
    # of times drawn from (0, 1) the ranks of a group would have been those next in size
    us = np.random.default_rng([0, 1]).random((200, 8))
    groups, _ = cut(block_times(us), 4, seed=0)
    largest = groups.us.max(axis=1).reshape(-1, 2).min(axis=1)
    assert (largest > np.sort(us, axis=1)[:, 3]).mean() > 0.9
