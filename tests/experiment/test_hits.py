"""Delays before one collective add up; sizes of delays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.experiment.hits import MAX_LEVELS, Hits, doses, levels_us
from tests.experiment.made import MISSING, row

RANKS = 4
delays = st.lists(
    st.tuples(
        st.integers(-1, 3), st.integers(0, RANKS - 1), st.integers(0, 9), st.integers(0, 9)
    ),
    min_size=1,
    max_size=12,
)


def added(found, order=None):
    slot, position, asked, slept = np.array(found, np.int64).T
    members = [np.arange(RANKS)] * 4
    if order is not None:
        position = np.array(order)[position]
    unknown = np.full(slot.size, -1)
    return doses(slot, position, (asked, slept), unknown, members)


@given(delays)
def test_a_dose_is_the_most_delayed_rank_less_the_least(found):
    for dose in added(found):
        sums = [
            sum(slept for slot, own, _, slept in found if (slot, own) == (dose.slot, rank))
            for rank in range(RANKS)
        ]
        assert dose.slept_ns == max(sums) - min(sums)
        assert sums[dose.rank] == max(sums)
        assert [found[i][1] for i in dose.rows] == [dose.rank] * len(dose.rows)
        assert len(dose.rows) >= 1
        amounts = [asked for slot, _, asked, _ in found if slot == dose.slot]
        assert dose.count == len(amounts)
        assert dose.positive == sum(asked > 0 for asked in amounts)


@given(delays, st.permutations(range(RANKS)))
def test_renumbering_the_ranks_renumbers_the_delayed_one(found, order):
    for one, other in zip(added(found), added(found, order), strict=True):
        assert (one.slot, one.slept_ns) == (other.slot, other.slept_ns)
        ties = {rank for slot, rank, _, _ in found if slot == one.slot}
        if len(ties) == 1:
            assert other.rank == order[one.rank]


def test_a_collective_is_reached_by_what_names_it_only():
    assert [dose.slot for dose in added([(2, 1, 5, 5), (-1, 1, 9, 9), (0, 1, 3, 3)])] == [
        0,
        2,
    ]


def test_the_slack_of_one_delay_is_known_and_of_several_not():
    members = [np.arange(2)] * 2
    slot, position, ns = np.array([0, 1, 1]), np.array([1, 1, 1]), np.array([5, 5, 5])
    one, two = doses(slot, position, (ns, ns), np.array([3, 3, 3]), members)
    assert (one.slack_ns, two.slack_ns) == (3, -1)


def test_delays_of_0_leave_the_slack_of_another_known():
    slot, ns = np.zeros(3, np.int64), np.array([0, 7, 0])
    (one,) = doses(slot, np.array([0, 1, 1]), (ns, ns), ns + 2, [np.arange(2)])
    assert (one.rank, one.slack_ns, one.count, one.positive) == (1, 9, 3, 1)


@pytest.mark.parametrize(
    ("delays", "positive", "alone", "control"),
    [
        (1, 1, True, False),
        (3, 1, True, False),
        (2, 2, False, False),
        (1, 0, True, True),
        (2, 0, False, True),
    ],
)
def test_one_delay_is_alone_whatever_has_0(delays, positive, alone, control):
    hits = Hits.of([row(5.0, 6.0, delays=delays, positive=positive)])
    assert (hits.alone.tolist(), hits.is_control.tolist()) == ([alone], [control])


def test_a_control_belongs_to_its_rank():
    (dose,) = added([(1, 2, 0, 0)])
    assert (dose.rank, dose.rows.tolist()) == (2, [0])


def test_the_only_rank_that_was_read_is_compared_with_none():
    ns = np.array([7])
    (dose,) = doses(np.array([0]), np.array([3]), (ns, ns), -ns, [np.array([3])])
    assert (dose.rank, dose.slept_ns) == (3, 7)


def test_a_rank_that_takes_no_part_cannot_be_late_to_it():
    ns = np.array([7])
    with pytest.raises(ValueError, match="its rank is none"):
        doses(np.array([0]), np.array([5]), (ns, ns), -ns, [np.array([0, 1])])


@given(
    st.one_of(
        st.lists(st.floats(0, 1e6), min_size=1, max_size=8),
        st.lists(st.floats(0, 1e6), min_size=MAX_LEVELS + 4, max_size=80, unique=True),
    )
)
def test_levels_are_few_and_near(asked):
    level = levels_us(np.array(asked))
    some = np.array(asked) > 0.01
    if np.unique(np.round(asked, 3)).size <= MAX_LEVELS:
        np.testing.assert_allclose(level, asked, atol=1e-3)
    assert (level[np.array(asked) == 0] == 0).all()
    assert (level[some] / np.array(asked)[some] < 1.7).all()
    assert (level[some] / np.array(asked)[some] > 0.59).all()


def test_what_is_left_out_of_a_row_is_absent():
    hits = Hits.of([row(5.0, 6.0), row(5.0, 6.0, **MISSING, culprit=None, straggler=None)])
    assert hits.judged.tolist() == [True, False]
    assert hits.recovered.tolist() == [True, False]
    assert np.isnan(hits.tax_us[1])
    assert (hits.culprit[1], hits.straggler[1]) == (None, -1)
