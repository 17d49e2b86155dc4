"""Facts and participations are the same in however many parts events are looked at."""

from dataclasses import fields

import numpy as np
import pytest

from synctax import arrays
from synctax.collectives.extract import extract
from synctax.trace.facts import facts
from synctax.trace.kineto import read_rank
from tests.conftest import ROOT

EXAMPLES = ("gloo-tp2-fsdp2/iteration_10/rank0_trace.json.gz", "tp4-fsdp2/rank0.json.gz")


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("rows", [13, 1_000])
def test_parts_change_nothing(name, rows, monkeypatch):
    path = ROOT / "examples" / name
    trace = read_rank(path)
    whole = facts(trace), extract(trace)
    monkeypatch.setattr(arrays, "PART_ROWS", rows)
    parted = facts(trace), extract(trace)
    assert parted[0] == whole[0]
    for field in fields(whole[1]):
        one, other = (getattr(found, field.name) for found in (whole[1], parted[1]))
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
