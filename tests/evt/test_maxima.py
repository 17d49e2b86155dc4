"""Numbers that cannot be normalised maxima are refused, all others are not."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.errors import BadInputError
from synctax.evt.fit import fit_evt_maxima
from synctax.evt.maxima import check_maxima
from tests.laws import examples

of_ranks = st.integers(2, 9).flatmap(
    lambda m: st.lists(
        st.lists(st.floats(0, 1e6), min_size=m, max_size=m), min_size=2, max_size=12
    )
)


@settings(max_examples=examples(100))
@given(of_ranks)
def test_maxima_of_any_times_pass(us):
    us = np.array(us)
    b_us = us.std(ddof=1)
    if b_us > 0:
        check_maxima((us.max(axis=1) - us.mean()) / b_us, us.shape[1])


@pytest.mark.parametrize(
    ("scale", "offset", "said"),
    [
        (200.0, 10_000.0, "z has a mean of 10,"),
        (1.0, 2.0, "the maximum over 4 ranks one from 0 to 1.73"),
        (-1.0, 0.0, "z has a mean of −"),
        (1e200, 0.0, "without unit, of 4 ranks"),
    ],
)
def test_numbers_with_a_mean_that_maxima_cannot_have_are_refused(scale, offset, said):
    z = offset + scale * np.random.default_rng(1).gumbel(0.8, 0.65, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BadInputError) as raised:
            check_maxima(z, 4, source="z.csv")
    assert str(raised.value).startswith("z.csv: z has a mean of ")
    assert said in str(raised.value)
    with pytest.raises(BadInputError):
        fit_evt_maxima(z, n_fit=4, a_us=10_000.0, r=0.02)


def test_few_maxima_may_miss_the_bound_by_chance():
    check_maxima(np.array([1.0, 1.2, 3.9]), 4)
    with pytest.raises(BadInputError):
        check_maxima(np.array([2.0, 2.1, 2.2]), 4)


def test_a_spread_above_the_mean_is_refused():
    z = np.random.default_rng(1).gumbel(0.8, 0.65, 200)
    with pytest.raises(ValueError, match="r 2 cannot be"):
        fit_evt_maxima(z, n_fit=4, a_us=10_000.0, r=2)
