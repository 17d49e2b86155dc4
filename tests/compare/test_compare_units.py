"""Which units of a run are drawn, and when they were."""

from dataclasses import replace

import numpy as np
import pytest

from synctax import measure
from synctax.comparison.compare import compare, drawn_text
from synctax.comparison.options import Options
from synctax.comparison.resample import MOST_UNITS
from synctax.comparison.rows import rows_of
from synctax.comparison.units import run_of
from tests.compare.windows import windows


@pytest.mark.parametrize("count", [1, 3])
def test_a_run_has_no_more_units_than_are_kept(count):
    """However many windows it has, as long as units are drawn within each."""
    late = np.random.default_rng(0).exponential(10, (MOST_UNITS + 40, 2))
    run = run_of(measure(windows([late] * count, steps=MOST_UNITS + 40)))
    assert MOST_UNITS / 2 < len(run) <= MOST_UNITS
    assert len(run.series.windows) == count


def job(steps: int, count: int = 1, seed: int = 0):
    """Windows of steps with two collectives, every step 2 ms on two ranks."""
    random = np.random.default_rng(seed)
    late = [random.exponential(10, (2 * steps, 2)) for _ in range(count)]
    return measure(windows(late, steps=steps, apart=10 * steps))


@pytest.mark.parametrize(
    ("short", "long", "count"),
    [(MOST_UNITS - 1, MOST_UNITS + 1, 1), (MOST_UNITS // 3 - 6, MOST_UNITS // 3 + 6, 3)],
    ids=["one window", "three windows"],
)
def test_a_step_is_no_longer_for_steps_that_are_drawn_together(short, long, count):
    """The time of a step, collectives of a step and counts of steps are by steps."""
    found = compare(job(short, count), job(long, count, 1), options=Options(resamples=100))
    runs = [side.runs[0] for side in (found.a, found.b)]
    assert len(runs[1]) < len(runs[0]) < runs[1].steps
    assert [run.steps for run in runs] == [short * count, long * count]
    step = found.find(None, None, "step_us_mean")
    assert step.found.a == pytest.approx(2_000, rel=0.01)
    assert step.found.b == pytest.approx(2_000, rel=0.01)
    assert not found.changed[found.changes.index(step)]
    for side, steps in ((found.a, short), (found.b, long)):
        assert [row.a_step for row in rows_of(side).values()] == [
            pytest.approx(2.0, rel=0.01)
        ]
        assert drawn_text(side).startswith(f"{steps * count} profiler steps")
    assert not any(note.reason == "unequal" for note in found.notes)


def test_steps_that_are_drawn_together_are_told_as_a_block():
    run = run_of(job(MOST_UNITS + 1))
    side = compare(run.tax, run.tax, options=Options(resamples=100)).a
    length = 2 * run.series.block_length
    text = f"{MOST_UNITS + 1} profiler steps, drawn in blocks of {length}"
    assert drawn_text(side) == text


def test_steps_of_a_unit_are_counted_on_each_rank():
    """Those without a collective that counts are none of it."""
    tax = measure(windows([np.ones((MOST_UNITS + 40, 2))], steps=MOST_UNITS + 40))
    used = np.flatnonzero(tax.used)
    kept = np.isin(np.arange(tax.used.size), np.delete(used, [1, 2, 3])[: MOST_UNITS + 3])
    run = run_of(replace(tax, used=kept))
    assert run.steps == MOST_UNITS + 3
    assert run.rank_steps.sum(axis=1).tolist() == [MOST_UNITS + 3] * 2
    assert (run.rank_steps[:, :-1] == 2).all()
    assert (run.rank_steps[:, -1] == 1).all()


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([(9, 1)] * 3, [(10, 1)], ""),
        ([(9, 1)] * 3, [(9, 1)], "A has 27 profiler steps and B has 9 profiler steps"),
        ([(9, 1)] * 6, [(9, 1)] * 2, "A has 6 runs and B has 2 runs"),
        ([(4, 5)], [(20, 1)], ""),
        ([(4, 5)], [(4, 15)], "A has 5 windows and B has 15 windows"),
    ],
)
def test_lengths_are_compared_of_what_both_sides_have(a, b, said):
    jobs = iter(range(100))
    one, two = ([job(*of, seed=next(jobs)) for of in side] for side in (a, b))
    found = compare(one, two, options=Options(resamples=100))
    notes = [note.detail for note in found.notes if note.reason == "unequal"]
    assert [text.partition(":")[0] for text in notes] == ([said] if said else [])


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
