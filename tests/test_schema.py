"""How a public table is built."""

import numpy as np
import pytest

from synctax.schema import Column, Table

TABLE = Table(
    "synctax.probe/1",
    "",
    (
        Column("group", "str", "", ""),
        Column("n", "int", "", ""),
        Column("tax_us", "float", "us", ""),
        Column("late", "bool", "", ""),
    ),
)


def test_names_stand_in_the_order_they_are_declared():
    frame = TABLE.to_frame({"late": [], "tax_us": [], "n": [], "group": []})
    assert tuple(frame) == TABLE.names == ("group", "n", "tax_us", "late")


def test_absent_is_null_in_every_type():
    frame = TABLE.to_frame({name: [None] for name in TABLE.names})
    assert frame.isna().all(axis=None)


def test_whole_numbers_beside_absent_ones_stay_exact():
    frame = TABLE.to_frame(
        {
            "group": ["a", "b"],
            "n": [2**53 + 1, None],
            "tax_us": [0, 1],
            "late": [True, None],
        }
    )
    assert frame["n"][0] == 2**53 + 1


def test_arrays_and_lists_give_one_table():
    lists = {"group": ["a"], "n": [3], "tax_us": [1.5], "late": [True]}
    arrays = {name: np.array(values) for name, values in lists.items()}
    assert TABLE.to_frame(arrays).equals(TABLE.to_frame(lists))


@pytest.mark.parametrize("names", [("group",), ("group", "n", "tax_us", "late", "more")])
def test_columns_must_be_those_declared(names):
    with pytest.raises(ValueError, match="wants columns"):
        TABLE.to_frame({name: [] for name in names})
