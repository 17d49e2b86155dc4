import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_array

from synctax.arrays import distinct, median

INTEGERS = any_array(np.int64, st.integers(0, 40), elements=st.integers(-(2**40), 2**40))
FLOATS = any_array(np.float64, st.integers(1, 40), elements=st.floats(-1e9, 1e9))


@given(INTEGERS)
def test_distinct_values_are_those_of_unique(values):
    found = distinct(values)
    assert found.dtype == values.dtype
    assert found.tolist() == np.unique(values).tolist()


@given(st.one_of(INTEGERS.filter(len), FLOATS))
def test_the_median_is_that_of_numpy(values):
    assert median(values) == np.median(values)


def test_the_median_of_nothing_is_unknown():
    assert np.isnan(median(np.array([], np.int64)))


@pytest.mark.parametrize(
    "values", [np.array([3, 1, 2]), np.array([[1, 0], [0, 1]], np.int8)]
)
def test_neither_changes_its_array(values):
    before = values.copy()
    distinct(values)
    median(values.ravel())
    assert np.array_equal(values, before)
