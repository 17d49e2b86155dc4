"""Offset and drift of clocks from ends that ranks share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.collectives.clock import fit_clock, robust_sd
from tests.laws import examples


@settings(max_examples=examples(40))
@given(st.floats(-1e9, 1e9), st.floats(-150e-6, 150e-6), st.integers(16, 60))
def test_a_clock_that_is_off_and_drifts_is_found(offset, drift, count):
    time = np.cumsum(np.random.default_rng(count).uniform(1e8, 1e9, count))
    lead = offset + drift * time
    left = lead - fit_clock(time, lead).lag_ns(time)
    # A drift that moves the ends by nothing that counts may be left out.
    assert np.abs(left).max() <= max(1e-3, abs(drift) * np.ptp(time) * (abs(drift) < 1e-12))


def test_few_points_give_an_offset_only():
    clock = fit_clock(np.array([0.0, 1e9, 2e9]), np.array([5.0, 6.0, 7.0]))
    assert (clock.drift, clock.offset_ns, clock.points) == (0.0, 6.0, 3)


def test_one_bad_end_moves_no_clock():
    time = np.linspace(0, 1e9, 50)
    lead = 300.0 + 2e-6 * time
    lead[7] += 1e6
    clock = fit_clock(time, lead)
    assert clock.drift == pytest.approx(2e-6, rel=1e-6)


def test_a_slope_no_clock_has_is_not_called_drift():
    time = np.linspace(0, 1e6, 50)
    assert fit_clock(time, time * 0.01).drift == 0.0


def test_ends_at_one_time_show_no_drift():
    assert fit_clock(np.full(9, 5.0), np.arange(9.0)).drift == 0.0


def test_no_shared_end_is_a_wrong_call():
    with pytest.raises(ValueError, match="at least one"):
        fit_clock(np.array([]), np.array([]))


def test_no_values_have_no_spread():
    assert robust_sd(np.array([])) == 0.0
