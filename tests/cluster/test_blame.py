"""Who slowed whom, against every pair looked at whenever anything changes."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.cluster.engine import blame, simulate
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import SwitchTier, uniform
from synctax.cluster.settings import Contention
from tests.cluster.engine_cases import drawn, round_robin
from tests.cluster.slow_blame import SlowBlame

seeds = st.integers(0, 2**32 - 1)


def both(jobs, cluster, longest=blame.LONGEST, **options):
    """Simulate with each way to find out who slowed whom."""
    with patch.object(blame, "LONGEST", longest):
        fast = simulate(jobs, cluster, interference=True, **options).interference
    with patch("synctax.cluster.engine.simulate.Blame", SlowBlame):
        slow = simulate(jobs, cluster, interference=True, **options).interference
    return fast, slow


def by_pair(found):
    order = np.lexsort((found.by, found.job))
    # who came and went at one instant shared no time
    order = order[found.shared_s[order] > 0]
    return (getattr(found, one)[order] for one in ("job", "by", "shared_s", "lost_s"))


@pytest.mark.parametrize("model", ["iteration", "overlap", "pollux"])
@given(
    seed=seeds,
    mixed=st.booleans(),
    ties=st.booleans(),
    longest=st.sampled_from([2, 3, 512]),
    least=st.sampled_from([0.01, 0.3]),
    queue=st.sampled_from(["backfill", "easy"]),
)
def test_every_pair_is_charged_as_if_looked_at_whenever_anything_changes(
    model, seed, mixed, ties, longest, least, queue
):
    jobs, cluster = drawn(seed, mixed=mixed, ties=ties)
    how = (
        Contention("pollux")
        if model == "pollux"
        else Contention(basis=model, min_bandwidth_share=least)
    )
    options = {"contention": how, "policy": round_robin, "queue": queue}
    fast, slow = both(jobs, cluster, longest, **options)
    (job, by, shared_s, lost_s), expected = by_pair(fast), [*by_pair(slow)]
    assert_array_equal(job, expected[0])
    assert_array_equal(by, expected[1])
    assert_allclose(shared_s, expected[2], rtol=1e-12)
    assert_allclose(lost_s, expected[3], rtol=1e-9, atol=1e-9)


def test_jobs_that_share_two_equally_bad_nics_share_each_second_once():
    half = ((0, 4), (1, 4))
    jobs = simple_jobs(
        [(0, 8, 100), (0, 8, 100)],
        network_s=1.0,
        network_bytes=40.0,
        pinned=[half, half],
    )
    fast, slow = both(jobs, uniform(2, 8, 5.0))
    assert fast.shared_s.tolist() == slow.shared_s.tolist() == [150, 150]


def test_the_looks_of_an_uplink_grow_with_its_changes_and_not_with_pairs_at_each():
    # 60 jobs of two racks meet on one pair of uplinks: 60 * 59 pairs
    many = 60
    pairs = [((at % 30, 1), (30 + at % 30, 1)) for at in range(many)]
    jobs = simple_jobs(
        [(at, 2, 500 + at) for at in range(many)],
        network_s=1.0,
        network_bytes=4.0,
        pinned=pairs,
    )
    cluster = uniform(60, 8, 100.0, tiers=(SwitchTier(30, 100.0),))
    read = 0

    class Counted(blame.History):
        def read(self, now_ns):
            nonlocal read
            read += 1
            return super().read(now_ns)

    with patch.object(blame, "History", Counted):
        found = simulate(jobs, cluster, interference=True).interference
    assert found.job.size == many * (many - 1)
    assert read <= many
