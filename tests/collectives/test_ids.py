"""Ids are found where they stand first, lie they close together or far apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.collectives.link import Ids, by_id

CLOSE = st.integers(-2, 12)
APART = st.integers(-2, 12) | st.integers(1, 2**62)


def first_of(ids, wanted):
    return [ids.index(one) if one > 0 and one in ids else -1 for one in wanted]


@pytest.mark.parametrize("values", [CLOSE, APART], ids=["close", "apart"])
@given(st.data())
def test_each_id_above_0_is_found_where_it_stands_first(values, data):
    ids = data.draw(st.lists(values, max_size=20))
    wanted = data.draw(st.lists(values | st.sampled_from(ids or [1]), max_size=20))
    found = by_id(np.array(ids, np.int64), np.array(wanted, np.int64))
    assert found.tolist() == first_of(ids, wanted)


def test_a_table_is_no_larger_than_the_ids_call_for():
    close, apart = np.arange(1, 1001), np.array([1, 2**40])
    assert Ids.of(close).key is None
    assert Ids.of(close).first.size == close.size + 1
    assert Ids.of(apart).first.size == apart.size + 1
