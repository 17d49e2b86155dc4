"""Which units of a run are drawn, and when they were."""

from dataclasses import replace

import numpy as np
import pytest

from synctax import measure
from synctax.comparison.resample import MOST_UNITS
from synctax.comparison.units import run_of
from tests.compare.windows import windows


@pytest.mark.parametrize("count", [1, 3])
def test_a_run_has_no_more_units_than_are_kept(count):
    """However many windows it has, as long as units are drawn within each."""
    late = np.random.default_rng(0).exponential(10, (MOST_UNITS + 40, 2))
    run = run_of(measure(windows([late] * count, steps=MOST_UNITS + 40)))
    assert MOST_UNITS / 2 < len(run) <= MOST_UNITS
    assert len(run.series.windows) == count


def test_the_first_step_of_a_rank_begins_where_the_one_before_ended():
    """Each rank for itself: with the last collective of the step before, if it has it."""
    late = np.random.default_rng(0).exponential(10, (24, 3))
    ranks = windows([late], steps=6, apart=0)
    ranks[1] = replace(ranks[1], step=np.where(ranks[1].step < 2, -1, ranks[1].step))
    tax = measure(ranks)
    later = replace(tax, used=tax.used & (tax.matches.step >= 2))
    run = run_of(later)
    table = tax.matches.table
    for position in range(3):
        mine = table.rank == position
        first = table.start_ns[mine & (table.step == 2)].min()
        before = table.end_ns[mine & (table.step >= 0) & (table.step < 2)]
        rank = tax.matches.ranks[position]
        mark = int(rank.step_start_ns[rank.step_number == 2][0])
        begin = before.max() if before.size else min(first, mark)
        took = (run.end_ns[position, 0] - begin) / 1000
        assert run.time_us[position, 0] == pytest.approx(took)
