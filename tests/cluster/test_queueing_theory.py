"""Without contention a cluster is a queue, and of some queues textbooks know the wait."""

from math import factorial

import numpy as np
import pytest

from synctax.cluster.engine import simulate
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import uniform

SEEDS = 10
JOBS = 1_200
WARM_UP = 200
"""Jobs that find the cluster emptier than it is later."""


def erlang_c_wait_s(arrival_per_s: float, service_s: float, c: int) -> float:
    """Mean wait of M/M/c (L. Kleinrock, Queueing Systems I, section 3.5)."""
    load = arrival_per_s * service_s
    waiting = load**c / factorial(c) * c / (c - load)
    some_free = sum(load**k / factorial(k) for k in range(c))
    return waiting / (some_free + waiting) * service_s / (c - load)


def pollaczek_khinchine_wait_s(
    arrival_per_s: float, service_s: float, squared_variation: float
) -> float:
    """Mean wait of M/G/1 (L. Kleinrock, Queueing Systems I, section 5.6)."""
    load = arrival_per_s * service_s
    return load * service_s * (1 + squared_variation) / (2 * (1 - load))


def queue(c: int, load: float, law: str, seed: int, queue: str = "fifo"):
    """Simulate one-GPU jobs of a second on average, on one server of c GPUs."""
    rng = np.random.default_rng(seed)
    submit_s = np.cumsum(rng.exponential(1 / (load * c), JOBS))
    service_s = rng.exponential(1.0, JOBS) if law == "exponential" else np.ones(JOBS)
    rows = list(zip(submit_s.tolist(), [1] * JOBS, service_s.tolist(), strict=True))
    return simulate(simple_jobs(rows), uniform(1, c, np.inf), queue=queue)


def wait_s(done) -> np.ndarray:
    return (done.start_ns - done.jobs.submit_ns) / 1e9


@pytest.mark.parametrize(
    ("c", "load", "law", "theory_s"),
    [
        (1, 0.6, "exponential", pollaczek_khinchine_wait_s(0.6, 1.0, 1.0)),
        (1, 0.6, "constant", pollaczek_khinchine_wait_s(0.6, 1.0, 0.0)),
        (4, 0.7, "exponential", erlang_c_wait_s(2.8, 1.0, 4)),
    ],
    ids=["M/M/1", "M/D/1", "M/M/4"],
)
def test_the_mean_wait_is_that_of_the_textbook(c, load, law, theory_s):
    means = np.array(
        [wait_s(queue(c, load, law, seed))[WARM_UP:].mean() for seed in range(SEEDS)]
    )
    error_s = means.std(ddof=1) / np.sqrt(SEEDS)
    assert error_s < 0.12 * theory_s  # else the next line says little
    assert abs(means.mean() - theory_s) < 3.25 * error_s  # 99 % of Student's t, 9 freedoms


def test_erlang_c_of_one_server_is_pollaczek_khinchine_of_exponential_service():
    assert erlang_c_wait_s(0.6, 2.0 / 3, 1) == pytest.approx(
        pollaczek_khinchine_wait_s(0.6, 2.0 / 3, 1.0)
    )


@pytest.mark.parametrize("c", [1, 3])
def test_a_fifo_queue_starts_jobs_in_the_order_in_which_they_came(c):
    done = queue(c, 0.9, "exponential", 0)
    assert np.all(np.diff(done.start_ns) >= 0)


@pytest.mark.parametrize("kind", ["fifo", "backfill", "easy"])
def test_jobs_in_the_queue_are_the_waits_over_the_time(kind):
    # Little's law, which every single run obeys exactly
    done = queue(3, 0.9, "exponential", 1, kind)
    whole_s = (done.end_ns.max() - done.jobs.submit_ns.min()) / 1e9
    assert done.use.queue_mean * whole_s == pytest.approx(wait_s(done).sum(), rel=1e-9)


@pytest.mark.parametrize("kind", ["backfill", "easy"])
def test_where_all_jobs_are_alike_in_width_nothing_can_be_filled_in(kind):
    fifo, other = (queue(3, 0.9, "exponential", 2, one) for one in ("fifo", kind))
    assert np.array_equal(fifo.start_ns, other.start_ns)
