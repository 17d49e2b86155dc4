"""Simulations against a small slow one, and against themselves going through everything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.cluster.choices import BASES
from synctax.cluster.engine import simulate
from synctax.cluster.engine.naive import AllTraffic
from synctax.cluster.engine.simulate import Options, run
from synctax.cluster.settings import Contention
from tests.cluster import engine_reference
from tests.cluster.engine_cases import deal, drawn, fill, first_fit, round_robin

seeds = st.integers(0, 2**32 - 1)
WAYS = {"first": (first_fit, fill), "robin": (round_robin, deal)}


@given(
    seeds,
    st.sampled_from(BASES),
    st.sampled_from([0.0, 0.01, 0.3]),
    st.sampled_from(list(WAYS)),
    st.booleans(),
    st.sampled_from(["fifo", "backfill"]),
)
def test_times_are_those_of_the_paper_s_equations(seed, basis, least, way, mixed, queue):
    jobs, cluster = drawn(seed, mixed=mixed)
    policy, choose = WAYS[way]
    start_s, end_s = engine_reference.simulate(
        jobs,
        cluster,
        choose,
        basis=basis,
        least=least,
        placement_aware=mixed,
        strict=queue == "fifo",
    )
    contention = Contention(basis=basis, min_bandwidth_share=least, placement_aware=mixed)
    found = simulate(jobs, cluster, contention=contention, policy=policy, queue=queue)
    assert_allclose(found.start_ns / 1e9, start_s, rtol=1e-9, atol=1e-8)
    assert_allclose(found.end_ns / 1e9, end_s, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("model", ["mosim", "overlap", "pollux", "tiresias"])
@given(
    seed=seeds,
    mixed=st.booleans(),
    ties=st.booleans(),
    queue=st.sampled_from(["backfill", "easy"]),
)
def test_looking_at_everything_changes_nothing(model, seed, mixed, ties, queue):
    jobs, cluster = drawn(seed, mixed=mixed, ties=ties)
    settings = Contention(basis="overlap") if model == "overlap" else Contention(model)
    options = Options(settings, policy=round_robin, queue=queue, interference=True)
    all_of_it = run(jobs, cluster, options, AllTraffic)
    found = simulate(
        jobs,
        cluster,
        contention=settings,
        policy=round_robin,
        queue=queue,
        interference=True,
    )
    for name in ("start_ns", "end_ns", "solo_ns", "factor"):
        assert_array_equal(getattr(found, name), getattr(all_of_it, name))
    for name in ("job", "by", "shared_s", "lost_s"):
        pairs = (getattr(one.interference, name) for one in (found, all_of_it))
        assert_array_equal(*pairs)
    for name in ("busy_s", "oversubscribed_s", "queue_mean", "fragmentation"):
        assert_array_equal(getattr(found.use, name), getattr(all_of_it.use, name))
    assert found.placements == all_of_it.placements
    assert np.all(found.factor >= 1)
