import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_array

from synctax.arrays import apart, distinct, median, numbered, ordered

INTEGERS = any_array(np.int64, st.integers(0, 40), elements=st.integers(-(2**40), 2**40))
FLOATS = any_array(np.float64, st.integers(1, 40), elements=st.floats(-1e9, 1e9))
NARROW = any_array(np.int32, st.integers(0, 40), elements=st.integers(-3, 9))
WIDE = any_array(np.uint64, st.integers(0, 40), elements=st.integers(0, 2**64 - 1))
TINY = any_array(np.int8, st.integers(0, 200), elements=st.integers(-128, 127))
ANY_INTEGERS = st.one_of(INTEGERS, NARROW, WIDE, TINY)


@given(ANY_INTEGERS)
def test_order_is_that_of_a_stable_sort(values):
    found = ordered(values)
    assert found.dtype == np.int64
    assert found.tolist() == np.argsort(values, kind="stable").tolist()


@given(ANY_INTEGERS)
def test_values_apart_are_the_masks_of_each(values):
    found = [(value, where.tolist()) for value, where in apart(values)]
    assert found == [
        (int(one), np.flatnonzero(values == one).tolist()) for one in np.unique(values)
    ]


@given(ANY_INTEGERS)
def test_numbers_are_the_inverse_of_unique(values):
    number, count = numbered(values)
    different, inverse = np.unique(values, return_inverse=True)
    assert number.dtype == np.int64
    assert (number.tolist(), count) == (inverse.tolist(), different.size)


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
def test_none_changes_its_array(values):
    before = values.copy()
    distinct(values)
    median(values.ravel())
    ordered(values.ravel())
    list(apart(values.ravel()))
    numbered(values.ravel())
    assert np.array_equal(values, before)
