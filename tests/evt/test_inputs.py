"""What is pooled: sets that are apart."""

from dataclasses import replace

import pytest

from synctax.errors import SynctaxError
from synctax.evt.inputs import Given, gather
from tests.evt.made import normal_times


def test_the_same_times_twice_are_refused():
    one, other = Given(normal_times(40, 4)), Given(normal_times(40, 4, seed=1))
    inputs, _ = gather([one, other])
    assert len(inputs.sets) == 2
    named = replace(one.times.blocks[0], source="a.csv")
    copy = Given(replace(one.times, blocks=(named,)))
    for twice in ([one, one], [other, one, copy]):
        with pytest.raises(SynctaxError, match="the same block times are given twice"):
            gather(twice)
    with pytest.raises(SynctaxError, match=r"^a\.csv: "):
        gather([copy, copy])
