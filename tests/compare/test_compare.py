"""What changed between two runs whose difference is known."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal

from synctax.attribution.attribute import attribute
from synctax.attribution.blocks import block_times
from synctax.comparison.compare import compare
from synctax.comparison.comparison import Comparison
from synctax.comparison.culprits import LEAST_SHARE, Blame, _none, compare_culprits
from synctax.comparison.kernels import (
    COMPUTE,
    KEPT,
    RankKernels,
    SideKernels,
    _evenly,
    kernels_of,
)
from synctax.comparison.options import MOST_RESAMPLES, Options
from synctax.comparison.stats import Draws, Estimate, benjamini_hochberg
from synctax.comparison.units import run_of, side_of
from synctax.errors import SynctaxError
from synctax.trace import names
from synctax.trace.kineto import read_rank
from synctax.trace.model import EventKind
from tests.compare.jobs import LATE_US, STEPS, make, tax_of

FAST = Options(resamples=200)


@pytest.fixture(scope="module")
def taxes(pair):
    return tuple(tax_of(folder) for folder in pair)


@pytest.fixture(scope="module")
def attributed(taxes):
    return tuple(attribute(tax, workers=1) for tax in taxes)


@pytest.fixture(scope="module")
def late(attributed, taxes) -> Comparison:
    blocks = tuple(block_times(tax, workers=1) for tax in taxes)
    kernels = tuple([kernels_of(run_of(tax), workers=1)] for tax in taxes)
    return compare(*attributed, blocks=blocks, kernels=kernels, options=FAST)


@pytest.fixture(scope="module")
def same(attributed, taxes) -> Comparison:
    one, blocks = attributed[0], block_times(taxes[0], workers=1)
    kernels = [kernels_of(run_of(taxes[0]), workers=1)]
    return compare(
        one, one, blocks=(blocks, [blocks]), kernels=(kernels, kernels), options=FAST
    )


TABLES = ("to_frame", "per_rank", "culprits", "fit", "per_kernel_class")


@pytest.mark.parametrize("table", TABLES)
def test_a_run_does_not_differ_from_itself(same, table):
    frame = getattr(same, table)()
    unit = "_us" if "difference_us" in frame else ""
    low, high = frame[f"difference_lo{unit}"], frame[f"difference_hi{unit}"]
    assert len(frame)
    assert (frame[f"difference{unit}"].dropna() == 0).all()
    assert (low.dropna() <= 0).all()
    assert (high.dropna() >= 0).all()
    assert not frame["changed"].fillna(False).any()


def test_of_itself_it_says_no_change(same):
    assert same.verdict()[0].startswith("no change: none of ")
    assert not any("instead of" in text for text in same.verdict())


def test_numbers_are_those_of_measure(late, taxes):
    for side, tax in zip("ab", taxes, strict=True):
        rows = tax.to_frame().set_index(["group", "op"])
        frame = late.to_frame()
        own = frame[frame["group"].notna() & frame["quantity"].isin(rows.columns)]
        assert len(own) >= 2 * 8
        for row in own.itertuples(index=False):
            wanted = rows.loc[(row.group, row.op), row.quantity]
            assert getattr(row, side) == pytest.approx(wanted), row.quantity


def test_a_delay_of_one_kernel_is_found_with_its_rank_class_and_size(late, attributed):
    items = [one for one in late.caused if one.culprit.kind == "item"]
    first = items[0]
    assert (first.culprit.rank, first.culprit.culprit_class) == (1, "elementwise")
    collectives = int(attributed[1].used.sum())
    whole = first.found.difference * collectives
    assert whole == pytest.approx(STEPS * LATE_US, rel=0.1)
    low, high = first.found.low * collectives, first.found.high * collectives
    assert low < STEPS * LATE_US < high
    by_class = [one for one in late.caused if one.culprit.kind == "class"]
    assert by_class[0].culprit.culprit_class == "elementwise"


def test_the_verdict_names_who_is_late_and_by_how_much(late):
    said = "\n".join(late.verdict())
    assert "the mean tax of tp all_gather rose from" in said
    assert "is due to rank 1: " in said
    assert "; most of all at::native::" in said


def test_ranks_that_wait_more_are_told(late):
    frame = late.per_rank()
    gather = frame[(frame["op"] == "all_gather") & (frame["quantity"] == "wait_us_mean")]
    changed = gather.set_index("rank")["changed"]
    assert bool(changed[0])
    assert not changed[1]


def test_swapped_sides_turn_every_sign(late, attributed):
    back = compare(*reversed(attributed), options=FAST)
    for one in late.changes:
        other = back.find(one.group, one.op, one.quantity)
        assert other is not None
        assert_allclose(other.found.difference, -one.found.difference, rtol=0)
    assert "fell from" in back.verdict()[0]


def test_runs_of_one_setup_rarely_raise_an_alarm(tmp_path):
    """Of 10 pairs 5 % would be half a one; more than 2 have a chance of 1 %."""
    taxes = [
        tax_of(make(tmp_path / str(seed), seed=seed, layers=1)) for seed in range(20, 25)
    ]
    pairs = [(a, b) for i, a in enumerate(taxes) for b in taxes[:i]]
    alarms = sum(compare(a, b, options=FAST).changed.any() for a, b in pairs)
    assert alarms <= 2


def test_kernels_are_those_of_the_traces(late, taxes):
    traces = [read_rank(rank.path) for rank in taxes[0].matches.ranks]
    took = [
        trace.events.duration_ns[
            (trace.events.kind == EventKind.KERNEL)
            & np.array(
                [names.kernel(trace.strings[n]).kind == "gemm" for n in trace.events.name]
            )
        ]
        for trace in traces
    ]
    every = np.concatenate(took) / 1000
    row = late.per_kernel_class().set_index("kernel_class").loc["gemm"]
    assert row["kernels_a"] == every.size
    assert row["duration_a_us_mean"] == pytest.approx(every.mean())
    assert row["duration_a_us_median"] == pytest.approx(np.median(every))


def test_of_very_many_kernels_some_are_kept_evenly():
    kept = _evenly(np.arange(10 * KEPT)[::-1] * 1000)
    assert kept.size == KEPT
    assert np.median(kept) == pytest.approx(5 * KEPT, rel=0.01)
    assert set(np.diff(kept)) == {10}


def test_a_median_counts_every_kernel_and_not_every_one_that_was_kept():
    def rank(count: int, us: float) -> RankKernels:
        each = np.zeros((len(COMPUTE), 1), np.int64)
        each[0] = count
        nothing = np.empty(0)
        kept = (_evenly(np.full(count, int(us * 1000))), *[nothing] * (len(COMPUTE) - 1))
        return RankKernels("", each, each, kept)

    side = SideKernels(((rank(3 * KEPT, 10.0), rank(KEPT, 20.0), rank(KEPT, 30.0)),))
    assert side.median_us(COMPUTE[0]) == 10.0
    assert np.isnan(side.median_us(COMPUTE[1]))


def test_fits_have_the_parameters_of_fit_evt(late, taxes):
    from synctax.evt.fit import fit_evt

    fit = fit_evt(block_times(taxes[0], workers=1), options=replace_resamples())
    frame = late.fit().set_index("quantity")["a"]
    assert frame["a_us"] == pytest.approx(fit.a_us)
    assert frame["r"] == pytest.approx(fit.b_us / fit.a_us)
    assert frame["xi"] == pytest.approx(fit.fitted.gev.shape)
    predicted = fit.to_frame().set_index("n")["tau_gev_us"]
    assert frame["tau_us@72"] == pytest.approx(predicted[72])


def replace_resamples():
    from synctax.evt.options import Options as FitOptions

    return FitOptions(resamples=2, n=(72, 512))


def test_a_fit_that_one_side_cannot_carry_is_said(attributed, taxes):
    good = block_times(taxes[0], workers=1)
    poor = replace(good, times=None)
    found = compare(*attributed, blocks=(good, poor), options=FAST)
    assert found.fit().empty
    assert found.fits.a is not None
    assert found.fits.b is None
    assert any("how waits grow was not compared; B: " in text for text in found.verdict())


def test_blocks_of_other_groups_are_not_compared(attributed, taxes):
    one, two = (block_times(tax, workers=1) for tax in taxes)
    found = compare(*attributed, blocks=(one, replace(two, group="dp")), options=FAST)
    assert found.fit().empty
    assert "dp" in found.fits.refused[0]


def test_blocks_and_kernels_of_other_runs_are_refused(attributed, taxes):
    blocks = [block_times(tax, workers=1) for tax in taxes]
    kernels = [kernels_of(run_of(tax), workers=1) for tax in taxes]
    short = [replace(one, count=one.count[:, 1:]) for one in kernels[1]]
    for given, said in (
        ({"blocks": (blocks[1], blocks[0])}, "blocks 1 of A are of another run"),
        ({"blocks": (blocks[0], blocks[0])}, "blocks 1 of B are of another run"),
        ({"blocks": (blocks, blocks[1])}, "blocks of A are of 2 runs, and compared are 1"),
        ({"blocks": ([], blocks[1])}, "blocks of A are of 0 runs"),
        ({"kernels": (kernels[1:], kernels[:1])}, "kernels 1 of A are of another run"),
        ({"kernels": (kernels[:1], kernels)}, "kernels of B are of 2 runs"),
        ({"kernels": (kernels[:1], [short])}, "kernels 1 of B are of another run"),
    ):
        with pytest.raises(ValueError, match=said):
            compare(*attributed, **given, options=FAST)


def test_what_was_not_given_is_asked_for(taxes):
    found = compare(*taxes, options=FAST)
    for table, what in (
        ("culprits", "attributions"),
        ("fit", "blocks"),
        ("per_kernel_class", "kernels"),
    ):
        with pytest.raises(SynctaxError, match=what):
            getattr(found, table)()


def test_several_runs_a_side_are_drawn_whole(taxes, tmp_path):
    more = [tax_of(make(tmp_path / str(seed), seed=seed)) for seed in (7, 8)]
    found = compare([taxes[0], more[0]], more, options=FAST)
    reasons = {note.reason for note in found.notes}
    assert "one_run" not in reasons
    assert any("2 runs, drawn whole" in note.detail for note in found.notes)
    # two runs a side leave Welch's t one to two degrees of freedom
    wide = found.find("tp", "all_gather", "tax_max_us_mean").found
    assert wide.low < 0 < wide.high


def test_one_step_is_cut_into_neighbouring_collectives(tmp_path):
    tax = tax_of(make(tmp_path, seed=3, steps=1, layers=6))
    found = compare(tax, tax, options=FAST)
    assert found.find(None, None, "step_us_mean") is None
    assert any("neighbouring ones are drawn" in note.detail for note in found.notes)
    share = found.find("tp", "all_gather", "wait_share_of_step").found
    assert share.a == pytest.approx(
        tax.to_frame().set_index("op").loc["all_gather", "wait_share_of_step"], rel=0.35
    )


def test_too_few_collectives_tell_nothing(tmp_path):
    tax = tax_of(make(tmp_path, seed=3, steps=1), op="all_gather", group="tp")
    tax = replace(tax, used=tax.used & (np.cumsum(tax.used) <= 1))
    found = compare(tax, tax, options=FAST)
    assert found.verdict()[0].startswith("whether anything changed cannot be told")
    assert not found.changed.any()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"tp_payload_bytes": 1 << 20}, "tp all_gather moves"),
        ({"tp": 4}, "other ranks: 2 in A, 4 in B"),
        ({"tp": 4}, "1 group of 2 (tp) in A, 1 group of 4 (tp) in B"),
        ({"layers": 1}, "the work between collectives is not the same"),
        ({"tp_op": "all_reduce"}, "only in B: tp all_reduce"),
    ],
)
def test_what_is_not_the_same_setup_is_said(taxes, tmp_path, changed, said):
    other = tax_of(make(tmp_path, seed=2, **changed))
    found = compare(taxes[0], other, options=FAST)
    assert any(said in note.detail for note in found.notes)
    assert found.verdict()[0].startswith("not like with like: ")


def test_the_same_setup_is_not_called_unlike(late):
    assert {note.reason for note in late.notes} == {"resampled", "one_run"}


def test_a_run_is_not_twice_on_a_side_nor_unsaid_on_both(taxes, tmp_path):
    shutil.copytree(Path(taxes[0].matches.ranks[0].path).parent, tmp_path / "copy")
    copy = tax_of(tmp_path / "copy")
    with pytest.raises(SynctaxError, match="runs 1 and 2 of A hold the same traces"):
        compare([taxes[0], copy], taxes[1], options=FAST)
    notes = compare(taxes[0], [taxes[1], copy], options=FAST).notes
    assert [note.count for note in notes if note.reason == "run_in_both"] == [1]


@pytest.mark.parametrize(("steps", "said"), [(range(2), True), (range(3), False)])
def test_sides_of_very_unequal_length_are_said(pair, taxes, steps, said):
    short = tax_of(pair[1], steps=steps)
    found = compare(taxes[0], short, options=FAST)
    told = [note.detail for note in found.notes if note.reason == "unequal"]
    assert bool(told) == said
    if told:
        assert told[0].startswith("A has 6 profiler steps and B has 2 profiler steps: ")


def test_a_rank_without_a_trace_has_not_improved(taxes, tmp_path):
    several = attribute(tax_of(make(tmp_path / "a", seed=3, tp=4, layers=1)), workers=1)
    make(tmp_path / "b", seed=3, tp=4, layers=1)
    next((tmp_path / "b").rglob("*rank3*")).unlink()
    fewer = attribute(tax_of(tmp_path / "b"), workers=1)
    found = compare(several, fewer, options=FAST)
    assert 3 not in {one.culprit.rank for one in found.caused}
    told = [note.detail for note in found.notes if note.reason == "ranks_only_in_one"]
    assert "1 rank only in A (3)" in told[0]


def test_culprits_of_other_operations_are_not_compared(attributed, tmp_path):
    other = attribute(tax_of(make(tmp_path, seed=2, tp_op="all_reduce")), workers=1)
    found = compare(attributed[0], other, options=FAST)
    assert found.caused == ()
    assert "culprits_differ" in {note.reason for note in found.notes}


def blame(seen: Estimate | None, *of: float) -> Blame:
    """What one culprit causes: each, one, drawn, collectives."""
    each, one, drawn, collectives = (np.array([value]) for value in of)
    estimates = {} if seen is None else {0: seen}
    return Blame(estimates, np.array([0.1]), each, one, drawn, collectives)


def test_never_seen_is_as_uncertain_as_one_more_unit_with_it():
    here = blame(None, 1.0, 2.0, 7.0, 1.0)
    there = blame(Estimate(7.0, 0.5, 9.0), 7.0, 32.0, 10.0, 16.0)
    # one collective more of 8 that has 32 us of it
    assert _none(there, here, 0) == Estimate(0.0, 4.0, 6.0)
    assert np.isnan(_none(there, replace(here, drawn=np.array([4.0])), 0).error)


def test_windows_of_one_step_are_steps(taxes, tmp_path):
    for number in range(2):
        made = make(tmp_path / "made", seed=number, steps=1)
        there = next(made.rglob("*rank0*")).parent
        there.rename(tmp_path / f"iteration_{number}")
        shutil.rmtree(made)
    run = run_of(tax_of(tmp_path))
    assert (run.stepped, run.series.sizes) == (True, (1, 1))
    found = compare(tax_of(tmp_path), taxes[0], options=FAST)
    assert not found.changed.any()
    assert any("too few to say what is chance" in note.detail for note in found.notes)


def test_rows_culprits_and_fit_are_looked_at_together(late):
    p = [*late.p_adjusted, *late.culprits()["p_adjusted"], *late.fit()["p_adjusted"]]
    raw = [*late.to_frame()["p"], *late.culprits()["p"], *late.fit()["p"]]
    assert_equal(np.array(p, float), benjamini_hochberg(np.array(raw, float)))
    assert late.tested == np.isfinite(np.array(raw, float)).sum()


def test_rows_of_one_side_have_no_difference(taxes, tmp_path):
    other = tax_of(make(tmp_path, seed=2, tp_op="all_reduce"))
    frame = compare(taxes[0], other, options=FAST).to_frame()
    only = frame[frame["op"] == "all_reduce"]
    assert set(only["only_in"]) == {"b"}
    assert only["difference"].isna().all()
    assert (only["collectives_a"] == 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {"level": 0.3},
        {"level": 1.0},
        {"level": float("nan")},
        {"resamples": 10},
        {"resamples": MOST_RESAMPLES + 1},
        {"resamples": 200.5},
        {"seed": -1},
        {"seed": 0.5},
    ],
)
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        Options(**options)


def test_wrong_calls(taxes):
    with pytest.raises(ValueError, match="at least one run"):
        compare([], taxes[0])
    with pytest.raises(TypeError, match="taxes or attributions"):
        compare("before/", taxes[0])
    nothing = replace(taxes[0], used=np.zeros_like(taxes[0].used))
    with pytest.raises(SynctaxError, match="can be measured"):
        compare(nothing, taxes[0])


def test_notebooks_show_the_verdict_with_names_escaped(late):
    shown = late._repr_html_()
    assert "<p>the mean tax of tp all_gather rose" in shown
    assert "kernel<4" not in shown
    assert repr(late).startswith("<Comparison: ")


def test_classes_of_kernels_end_before_communication():
    assert "gemm" in COMPUTE
    assert "communication" not in COMPUTE


def test_culprits_of_a_group_are_estimated_at_once_and_small_ones_not(
    attributed, monkeypatch
):
    calls = []
    whole = Draws.ratios

    def counted(self, over, under):
        calls.append(over.shape[1])
        return whole(self, over, under)

    sides = [
        side_of((run_of(one.tax, one),), 100, np.random.default_rng(0))
        for one in attributed
    ]
    monkeypatch.setattr(Draws, "ratios", counted)
    found = compare_culprits(*sides, 0.95)
    groups = {one.culprit.group for one in found}
    assert len(calls) == 2 * len(groups)
    assert sum(calls) <= 2 * len(found)
    items = [one for one in found if one.culprit.kind == "item"]
    assert min(max(one.share_a, one.share_b) for one in items) >= LEAST_SHARE
