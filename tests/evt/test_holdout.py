"""Predictions beside what was measured and not fitted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from synctax.errors import FitError
from synctax.evt.cut import cut, select
from synctax.evt.holdout import fit_sizes, hold_out, trials
from synctax.evt.measured import measured_us
from synctax.evt.tax import METHODS
from tests.evt.made import block_times, fit_all, normal_times


@given(st.integers(1, 5_000))
def test_sizes_to_fit_are_smaller_than_what_they_predict_and_have_a_wait(m):
    sizes = fit_sizes(m)
    assert all(2 <= size < m for size in sizes)
    assert sorted(sizes, reverse=True) == list(sizes)
    assert bool(sizes) == (m > 2)
    assert len(sizes) <= 3


def rows_of(found, kind, method):
    return [row for row in found if (row.kind, row.method) == (kind, method)]


def test_one_row_per_kind_size_and_method():
    found, notes = hold_out(normal_times(60, 16), resamples=3)
    assert [(row.kind, row.n_fit, row.n) for row in found[::4]] == [
        ("ranks", 8, 16),
        ("ranks", 4, 16),
        ("time", 16, 16),
    ]
    assert [row.method for row in found] == list(METHODS) * 3
    assert notes == ()


def test_over_ranks_the_fit_to_halves_is_compared_with_all():
    times = normal_times(60, 8)
    found, _ = hold_out(times, resamples=3, seed=7)
    fitted = fit_all(cut(times, 4, seed=7)[0])
    for method in METHODS:
        (row,) = rows_of(found, "ranks", method)
        assert row.measured_us == pytest.approx(measured_us(times)[-1])
        assert row.predicted_us == pytest.approx(fitted.tau_us(method, np.array([8.0]))[0])
        assert row.error == pytest.approx(row.predicted_us / row.measured_us - 1)


def test_over_time_each_series_is_halved():
    times = block_times(
        np.vstack([normal_times(30, 4).us, normal_times(50, 4, seed=1).us]),
        series=np.repeat([0, 1], [30, 50]),
    )
    first = np.r_[0:15, 30:55]
    found, _ = hold_out(times, resamples=3)
    fitted = fit_all(select(times, first))
    held_out = select(times, np.setdiff1d(np.arange(80), first))
    (row,) = rows_of(found, "time", "gumbel")
    assert row.measured_us == pytest.approx(measured_us(held_out)[-1])
    assert row.predicted_us == pytest.approx(fitted.tau_us("gumbel", np.array([4.0]))[0])


def test_over_time_the_second_half_is_predicted_with_its_own_blocks():
    # sorted by block: the first half is all of one and a part of the other
    us, block = normal_times(900, 8).us, np.repeat([0, 1], [300, 600])
    spread = np.array([1.0, 3.0])[block, None]
    times = block_times(1_000 + spread * (us - 1_000), block=block)
    found, _ = hold_out(times, resamples=20)
    for method in METHODS:
        (row,) = rows_of(found, "time", method)
        assert abs(row.error) < 0.1
        assert row.error_lo < row.error < row.error_hi
        assert row.error_hi - row.error_lo < 0.3


def test_a_draw_may_miss_the_blocks_that_are_tested():
    us = normal_times(220, 4).us
    times = block_times(us, block=np.repeat([0, 1], [100, 120]))
    found, _ = hold_out(times, resamples=60)
    (row,) = rows_of(found, "time", "gumbel")
    assert np.isfinite([row.error, row.error_lo, row.error_hi]).all()


def test_that_blocks_vary_by_more_or_less_makes_no_error_uncertain():
    us, block = normal_times(600, 8).us, np.random.default_rng(1).integers(2, size=600)
    spread = np.array([1.0, 10.0])[block, None]
    widths = []
    for times in (
        block_times(us, block=block),
        block_times(1_000 + spread * (us - 1_000), block=block),
    ):
        found, _ = hold_out(times, resamples=60)
        row = rows_of(found, "time", "deviations")[0]
        widths.append(row.error_hi - row.error_lo)
    # of as many instances as nearly all of the wait is in: half of them
    assert widths[1] < 1.6 * widths[0]


def test_the_error_of_a_good_predictor_lies_around_zero_and_of_a_bad_one_does_not():
    found, _ = hold_out(normal_times(600, 8, common=1.0), resamples=25)
    (good,) = rows_of(found, "ranks", "deviations")
    (bad,) = rows_of(found, "ranks", "gumbel")
    assert good.error_lo < 0 < good.error_hi
    assert bad.error_lo > 0.05
    assert bad.error_lo < bad.error < bad.error_hi


def test_a_job_that_grows_slower_is_found_over_time():
    us = normal_times(200, 4).us
    us[100:] = 1_000 + 3 * (us[100:] - 1_000)
    found, _ = hold_out(block_times(us), resamples=20)
    for row in found:
        if row.kind == "time":
            assert row.error_hi < -0.4


def test_prediction_and_measurement_are_drawn_together():
    # apart, the spread of the measured wait alone would be 4 times as wide
    random = np.random.default_rng(9)
    level = np.exp(random.normal(0, 0.7, size=(300, 1)))
    times = block_times(1_000 + 20 * level * random.normal(size=(300, 8)))
    found, _ = hold_out(times, resamples=30)
    (row,) = rows_of(found, "ranks", "deviations")
    waits = times.us.max(axis=1) - times.us.mean(axis=1)
    alone = 2 * 1.96 * waits.std() / np.sqrt(300) / waits.mean()
    assert row.error_hi - row.error_lo < 0.8 * alone


def test_the_same_seed_gives_the_same_rows():
    times = normal_times(80, 4)
    one, same, other = (hold_out(times, resamples=4, seed=seed) for seed in (2, 2, 3))
    assert one == same
    assert one != other


def test_two_ranks_have_no_smaller_group():
    found, notes = hold_out(normal_times(60, 2), resamples=3)
    assert {row.kind for row in found} == {"time"}
    assert [(note.reason, note.detail) for note in notes] == [
        ("hold_out_ranks", "groups smaller than 2 ranks have no wait to fit")
    ]


def test_half_of_the_time_may_be_too_little():
    found, notes = hold_out(normal_times(19, 8), resamples=3)
    assert {row.kind for row in found} <= {"ranks"}
    reasons = {note.reason: note.detail for note in notes}
    assert "first half: a fit needs 10 instances" in reasons["hold_out_time"]


def test_blocks_that_come_only_early_are_not_tested():
    us = np.vstack([normal_times(30, 4).us, normal_times(30, 4, seed=1).us])
    times = block_times(us, block=np.repeat([0, 1], 30))
    _, notes = hold_out(times, resamples=3)
    assert notes[-1].detail == "the second half has none of these blocks"


def test_a_method_that_is_refused_says_why():
    found, notes = hold_out(normal_times(30, 8), resamples=3)
    assert rows_of(found, "time", "deviations")
    assert not rows_of(found, "time", "gumbel")
    (why,) = (n for n in notes if n.reason == "hold_out_time_without_gumbel")
    assert "distinct" in why.detail


def test_half_of_the_time_may_carry_no_fit_at_all():
    heavy = 1 / np.random.default_rng(3).random((30, 40)) ** 1.7
    found, notes = hold_out(block_times(heavy), resamples=2)
    assert {row.kind for row in found} == {"ranks"}
    assert notes[-1].reason == "hold_out_time"
    assert "distinct block maxima, got 15" in notes[-1].detail


def test_ranks_that_never_differ_have_no_error():
    us = np.arange(40.0)[:, None] * np.ones(4)
    found, notes = hold_out(block_times(us), resamples=3)
    assert found == ()
    assert {note.detail for note in notes} == {"no rank waits in what was held out"}


def test_where_hardly_any_instance_waits_errors_have_no_interval():
    us = np.random.default_rng(4).normal(size=(60, 1)) * np.ones(4)
    us[7, 0] += 0.5
    found, _ = hold_out(block_times(us), resamples=40)
    (row,) = rows_of(found, "ranks", "gumbel")
    assert row.measured_us == pytest.approx(0.375 / 60)
    assert np.isfinite(row.error)
    assert np.isnan([row.error_lo, row.error_hi]).all()


@pytest.mark.parametrize("times", [normal_times(60, 16), block_times(np.eye(40, 3))])
def test_every_trial_is_told_of_whether_it_can_be_made_or_not(times):
    told: list[int] = []
    hold_out(times, resamples=2, on_resample=told.append)
    assert told == [2] * trials(times.m)


def test_a_rank_that_no_group_took_in_may_be_all_the_variation():
    us = np.full((24, 5), 7.0)
    us[0, 4] = 8.0
    one = block_times(us[:12])
    seed = next(seed for seed in range(99) if (cut(one, 2, seed=seed)[0].us == 7).all())
    us[12:] = normal_times(12, 5).us
    both = block_times(us, block=np.repeat([0, 1], 12))
    for times, says in (
        (one, "all times of a block are equal"),
        (both, "instances of 1 block"),
    ):
        _, notes = hold_out(times, resamples=3, seed=seed)
        assert notes[0].reason == "hold_out_ranks"
        assert notes[0].detail.startswith(says)


def test_too_few_instances_are_refused():
    with pytest.raises(FitError, match="needs 10 instances"):
        hold_out(normal_times(9, 4))


def test_groups_of_one_instance_stay_together():
    times, _ = cut(normal_times(100, 8), 4)
    found, _ = hold_out(times, resamples=4)
    (row,) = rows_of(found, "ranks", "gumbel")
    assert (row.n_fit, row.n) == (2, 4)
    assert_allclose(row.measured_us, measured_us(times)[-1])
