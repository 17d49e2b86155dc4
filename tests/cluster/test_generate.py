"""Made-up traces look like the public one that they are made after."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.cluster.generate import (
    LONGEST_S,
    PHILLY_MEAN_S,
    PHILLY_MEDIAN_S,
    RATE_PER_S,
    SHORTEST_S,
    philly_like,
)
from synctax.cluster.job_columns import job_csv


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_jobs_are_within_bounds_in_order_and_the_same_for_a_seed(jobs, seed):
    made = philly_like(jobs, seed)
    assert made == philly_like(jobs, seed)
    assert len(set(made["job_id"])) == jobs
    assert made["submit_s"][0] == 0.0
    assert np.all(np.diff(made["submit_s"]) >= 0)
    assert set(made["gpus"]) <= {2, 4, 8}
    assert SHORTEST_S <= min(made["duration_s"]) <= max(made["duration_s"]) <= LONGEST_S
    fewer = philly_like(max(1, jobs // 2), seed)
    assert all(values == made[name][: len(values)] for name, values in fewer.items())
    assert job_csv(made).count("\n") == jobs + 1


def test_the_law_has_the_published_mean_and_median_where_nothing_is_cut_off():
    made = philly_like(100_000, 3, shortest_s=1e-9, longest_s=1e12)
    lengths = np.array(made["duration_s"])
    # the error of a median of so many, and of a mean with so long a tail
    assert np.median(lengths) == pytest.approx(PHILLY_MEDIAN_S, rel=0.02)
    assert lengths.mean() == pytest.approx(PHILLY_MEAN_S, rel=0.12)


def test_between_the_bounds_nothing_is_set_to_them():
    made = philly_like(50_000, 5)
    lengths = np.array(made["duration_s"])
    assert np.isin(lengths, (SHORTEST_S, LONGEST_S)).sum() <= 5
    # half of what is left is below the median given the bounds
    assert np.median(lengths) == pytest.approx(1640, rel=0.03)
    assert np.diff(made["submit_s"]).mean() == pytest.approx(1 / RATE_PER_S, rel=0.02)
    shares = np.bincount(made["gpus"])[[2, 4, 8]] / 50_000
    assert shares == pytest.approx([1 / 3] * 3, abs=0.01)


def test_weights_of_gpus_are_told():
    made = philly_like(4000, 0, gpus={1: 3.0, 16: 1.0})
    assert made["gpus"].count(16) == pytest.approx(1000, abs=100)


@pytest.mark.parametrize(
    "wrong",
    [
        {"jobs": 0},
        {"seed": -1},
        {"rate_per_s": 0.0},
        {"shortest_s": 0.0},
        {"shortest_s": 10.0, "longest_s": 10.0},
        {"gpus": {}},
        {"gpus": {0: 1.0}},
        {"gpus": {2: 0.0}},
    ],
)
def test_what_cannot_be_is_a_wrong_call(wrong):
    with pytest.raises(ValueError, match="expected"):
        philly_like(**{"jobs": 3, "seed": 0, **wrong})
