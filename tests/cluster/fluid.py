"""A reference for contention: jobs as fluids that alternate computing and sending.

Each job computes for a fixed time, then sends a fixed number of bytes over the one link
that all share, and begins again. Alone it sends at its own rate. While the jobs that send
ask for more than the link carries, each gets a share in proportion to its own rate: the
law of the MoSim paper's equation 8, applied from moment to moment and not to averages.

Own to the tests, and exact from event to event: nothing is drawn but where each job
stands in its iteration at the start. Many links run side by side, one event of each at a
time, so that averages over phases cost little.
"""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64, I64


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What s links saw of the m jobs of each.

    Parameters
    ----------
    iteration_s : (s, m) float64
        Mean time of an iteration, of whole ones after the warm-up.
    iterations : (s, m) int64
        How many those are.
    sent_bytes : (s, m) float64
        In all, from the start.
    carried_bytes : (s,) float64
        What the link carried in the same time, counted on its own.
    now_s : (s,) float64
        When each link stopped.
    """

    iteration_s: F64
    iterations: I64
    sent_bytes: F64
    carried_bytes: F64
    now_s: F64


def share(
    compute_s: F64,
    network_s: F64,
    rate: F64,
    *,
    capacity: float,
    phase: F64,
    iterations: int = 60,
    warm_up: int = 5,
) -> Observed:
    """Run the jobs until each has made so many iterations.

    Parameters
    ----------
    compute_s, network_s : (s, m) float64
        Of an iteration alone; a job sends `rate * network_s` bytes in one.
    rate : (s, m) float64
        What a job sends a second alone; no more than the link carries.
    capacity : float
        Of a link, bytes a second.
    phase : (s, m) float64
        Where in its iteration a job starts, 0 to 1.
    iterations, warm_up : int
        Of the slowest job of a link: to be averaged, and to be left out before.
    """
    assert np.all(rate <= capacity * (1 + 1e-12))
    assert np.all(compute_s + network_s > 0)
    start_s = phase * (compute_s + network_s)
    sending = (start_s >= compute_s) & (network_s > 0)
    # of its phase, in seconds alone
    left_s = np.where(sending, compute_s + network_s, compute_s) - start_s
    now_s = np.zeros(len(left_s))
    carried = np.zeros(len(left_s))
    sent = np.zeros(left_s.shape)
    done = np.zeros(left_s.shape, np.int64)
    first_s = np.full(left_s.shape, np.nan)
    last_s = np.full(left_s.shape, np.nan)
    whole = warm_up + iterations
    while (running := done.min(axis=1) < whole).any():
        asked = np.where(sending, rate, 0.0)
        total = asked.sum(axis=1)
        speed = np.minimum(1.0, capacity / np.maximum(total, 1e-300))
        pace = np.where(sending, speed[:, None], 1.0)
        to_end_s = left_s / pace
        step_s = np.where(running, to_end_s.min(axis=1), 0.0)
        ends = (to_end_s == step_s[:, None]) & running[:, None]
        left_s = np.where(ends, 0.0, left_s - step_s[:, None] * pace)
        sent += asked * speed[:, None] * step_s[:, None]
        carried += np.minimum(total, capacity) * step_s
        now_s += step_s
        over = ends & (sending | (network_s == 0))
        done += over
        first_s = np.where(over & (done == warm_up), now_s[:, None], first_s)
        last_s = np.where(over & (done >= whole), now_s[:, None], last_s)
        sends = ends & ~sending & (network_s > 0)
        left_s = np.where(sends, network_s, np.where(over, compute_s, left_s))
        # without computation the next transfer follows at once
        sending = (sending & ~ends) | sends
        at_once = over & (compute_s == 0)
        sending |= at_once
        left_s = np.where(at_once, network_s, left_s)
    counted = done - warm_up
    return Observed((last_s - first_s) / counted, counted, sent, carried, now_s)
