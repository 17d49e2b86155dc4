"""On CPUs the order is settled where ranks agree step by step, however far ends scatter."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.collectives.match import match
from synctax.collectives.matches import Identity, Status
from synctax.collectives.model import Op
from tests.collectives.job import C, rank

SPACING_US = 10_000.0
COUNT = 24


def member(number, *, late=(), drop=(), stretch=(), step=lambda k: k // 4, on_cpu=True):
    """One rank: a collective every 10 ms; those in `late` leave 4 ms after the others."""
    made = [
        C(
            (k + 1) * SPACING_US + 4000.0 * (k in late),
            6000.0 + 4000.0 * (k in late) + 9000.0 * (k in stretch),
            op=Op.ALL_REDUCE if k % 3 else Op.ALL_GATHER,
            payload=1000,
            step=step(k),
        )
        for k in range(COUNT)
        if k not in drop
    ]
    return rank(number, made, on_cpu=on_cpu)


def statuses(*ranks):
    found = match(ranks)
    return found, np.bincount(found.status, minlength=len(Status))


LATE = (5, 11, 17)


def test_an_end_far_from_the_others_casts_no_doubt_where_steps_settle_the_order():
    found, count = statuses(member(0), member(1), member(2, late=LATE), member(3))
    assert len(found) == COUNT
    assert count[Status.OK] == COUNT - 1  # but the head
    assert (found.identity == Identity.ORDER).all()
    assert_array_equal(found.end_spread_ns[list(LATE)], [4_000_000.0] * 3)


@pytest.mark.parametrize(
    "odd",
    [
        {"step": lambda k: -1},
        {"step": lambda k: (k + 1) // 4},
        {"drop": (12,)},
        {"on_cpu": False},
    ],
    ids=["no steps", "other steps", "one lost", "on GPUs"],
)
def test_else_ends_must_prove_it(odd):
    """The same ends are doubted where something else does not settle the order."""
    others = {k: v for k, v in odd.items() if k == "on_cpu"} | (
        odd if odd.get("step") and odd["step"](3) < 0 else {}
    )
    ranks = [member(n, **others) for n in (0, 1, 3)] + [member(2, late=LATE, **odd)]
    found, _ = statuses(*ranks)
    assert (found.status == Status.UNMATCHED).any()


def test_an_end_beyond_the_tolerance_is_still_not_believed():
    ranks = [member(0), member(1, late=(7,))]
    found = match(ranks, end_tolerance_us=3000.0)
    assert found.status[7] == Status.UNMATCHED
    assert found.reasons[found.reason[7]] == "ends are further apart than the tolerance"


def test_of_two_that_run_side_by_side_the_first_issued_is_first_on_all_ranks():
    """On rank 1 the second of two equal ones ends first: by ends it would be the first."""
    times = {0: [(100, 900), (120, 950)], 1: [(100, 980), (130, 940)]}

    def one(number):
        made = [
            C(end + 1e4 * k, end - start, payload=8, step=k)
            for k in range(6)
            for start, end in times[number]
        ]
        return rank(number, made, on_cpu=True)

    found = match([one(0), one(1)])
    duration = found.table.duration_ns[found.row].reshape(-1, 2)
    assert_array_equal(np.diff(duration).ravel(), [-20_000, 80_000] * 6)
    assert (found.status[1:] == Status.OK).all()


def test_an_event_that_stands_twice_moves_none_that_was_issued_after_it():
    """What was issued when goes with its event: the first of two equal ones is first."""
    plain = [member(0), member(1)]
    last = plain[1]
    twice = last.take(np.append(0, np.arange(len(last))))
    moved = twice.launch_ns - np.where(np.arange(len(twice)) % 2, 0, 3_000)
    moved[1] = moved[0]
    found = match([plain[0], replace(twice, launch_ns=moved)])
    other = match([plain[0], replace(last, launch_ns=moved[1:])])
    assert found.table.launch_ns.tolist() == other.table.launch_ns.tolist()
    assert found.row.tolist() == other.row.tolist()
