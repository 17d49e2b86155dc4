"""`--fail-above-us`: what stops a pipeline, and what it does not pass in silence."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from synctax.cli.compare import compare as command
from synctax.comparison.compare import compare
from synctax.comparison.comparison import Comparison
from synctax.comparison.gate import gate
from synctax.comparison.options import FAIL_ON, WORDS, Options
from synctax.comparison.rows import Change
from synctax.comparison.stats import Difference, benjamini_hochberg, holm
from synctax.errors import GateFailedError, SynctaxError
from tests.compare.jobs import make, slow, tax_of

SAME = Difference(50.0, 51.0, 1.0, -5.0, 7.0, 0.6)
QUICK = ("--resamples", 200, "--no-fit", "--no-cache", "-q")


@pytest.fixture(scope="module")
def found(pair) -> Comparison:
    tax = tax_of(pair[0])
    return compare(tax, tax, options=Options(resamples=100))


def rise(us: float, p: float, *, low: float = 1.0) -> Difference:
    return Difference(50.0, 50.0 + us, us, low, 2 * us, p)


def of(found: Comparison, *changes: Change) -> Comparison:
    made = replace(found, changes=changes)
    rows = [(one.group, one.op) for one in changes if one.group]
    made.__dict__["rows"] = list(dict.fromkeys(rows))
    return made


def row(op: str, found: Difference, quantity: str = "tax_max_us_median") -> Change:
    return Change("tp", op, quantity, found, (9, 9))


ps = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


@given(ps)
def test_holm_lies_between_benjamini_hochberg_and_bonferroni(p):
    adjusted = holm(p)
    assert (adjusted >= benjamini_hochberg(p) - 1e-12).all()
    assert (adjusted <= np.minimum(p.size * p, 1.0) + 1e-12).all()
    assert adjusted.min() == min(p.size * p.min(), 1.0)
    order = np.argsort(p)
    assert (np.diff(adjusted[order]) >= 0).all()


def test_holm_is_as_published():
    """The example of Holm's procedure: 0.01, 0.04, 0.03, 0.005 of four tests."""
    p = np.array([0.01, 0.04, 0.03, np.nan, 0.005])
    assert_allclose(holm(p), [0.03, 0.06, 0.06, np.nan, 0.02])


def test_a_gate_is_no_more_often_wrong_the_more_rows_there_are(found):
    """0.04 and 0.05 are both changes after Benjamini and Hochberg, and none after Holm."""
    made = of(found, row("a", rise(30.0, 0.04)), row("b", rise(30.0, 0.045)))
    assert made.changed.all()
    assert len(gate(made, fail_above_us=20.0, fail_on="median")) == 2
    sure = of(found, row("a", rise(30.0, 0.02)), row("b", rise(30.0, 0.045)))
    with pytest.raises(GateFailedError, match="median tax of tp b"):
        gate(sure, fail_above_us=20.0, fail_on="median")


def test_what_rose_though_the_gate_passed_is_told(found):
    made = of(
        found,
        Change(None, None, "step_us_mean", rise(900.0, 1e-6)),
        row("a", rise(5.0, 1e-6)),
        row("b", rise(40.0, 0.9)),
        row("c", rise(-40.0, 1e-6)),
        row("b", rise(70.0, 1e-6), "transfer_us_median"),
    )
    told = gate(made, fail_above_us=20.0, fail_on="median")
    assert [text.partition(" +")[0] for text in told] == [
        "mean time of a step",
        "median transfer of tp b",
        "median tax of tp a",
    ]


DARK = Difference(50.0, 500.0, 450.0, np.nan, np.nan, np.nan)


def only(side: str, us: float, op: str = "new") -> Change:
    a, b = (us, np.nan) if side == "a" else (np.nan, us)
    of_it = Difference(a, b, np.nan, np.nan, np.nan, np.nan)
    counts = (9, 0) if side == "a" else (0, 9)
    return Change("tp", op, "tax_max_us_median", of_it, counts)


@pytest.mark.parametrize(
    ("unknown", "said"),
    [
        (row("dark", DARK), "median tax of tp dark rose by more and has no interval"),
        (only("a", 5.0, "gone"), "tp gone only in A"),
        (only("b", 500.0), r"median tax of tp new 500 µs \(only in B\), more than"),
    ],
    ids=["no interval", "only in A", "only in B"],
)
def test_a_proven_rise_fails_whatever_cannot_be_told_of_others(found, unknown, said):
    proven = row("a", rise(490.0, 1e-9))
    with pytest.raises(GateFailedError, match=said) as failed:
        gate(of(found, unknown, proven), fail_above_us=50.0, fail_on="median")
    assert "beyond chance: median tax of tp a +490 µs" in str(failed.value)
    with pytest.raises(SynctaxError, match=said) as refused:
        gate(of(found, unknown, row("a", SAME)), fail_above_us=50.0, fail_on="median")
    assert not isinstance(refused.value, GateFailedError)


def test_all_that_cannot_be_told_is_named(found):
    made = of(found, row("dark", DARK), only("a", 5.0, "gone"), only("b", 500.0))
    with pytest.raises(SynctaxError, match=r"gone only in A; .*tp new 500.*tp dark rose"):
        gate(made, fail_above_us=50.0, fail_on="median")


@pytest.mark.parametrize("fail_on", ["median", "step"])
def test_what_is_new_and_small_is_told(found, fail_on):
    """As it cannot have risen by more than it is."""
    step = Change(None, None, "step_us_mean", SAME)
    made = of(found, step, row("a", SAME), only("b", 40.0))
    told = gate(made, fail_above_us=50.0, fail_on=fail_on)
    assert told == ("median tax of tp new 40 µs (only in B)",)


def test_the_step_is_held(found):
    made = of(found, Change(None, None, "step_us_mean", rise(900.0, 1e-6)))
    with pytest.raises(
        GateFailedError, match="mean time of a step rose by more than 20 µs"
    ):
        gate(made, fail_above_us=20.0, fail_on="step")
    assert gate(made, fail_above_us=1e3, fail_on="step")
    with pytest.raises(SynctaxError, match="needs two marked profiler steps"):
        gate(of(found, row("a", rise(5.0, 0.5))), fail_above_us=20.0, fail_on="step")


def test_all_that_may_be_held_has_words():
    assert set(FAIL_ON.values()) <= set(WORDS)
    option = next(one for one in command.params if one.name == "fail_on")
    assert list(option.type.choices) == list(FAIL_ON)


@pytest.mark.parametrize("lost_in", ["only run", "second run"])
def test_a_rank_that_is_lost_does_not_pass(tmp_path, run, lost_in):
    """Nor does it where only one of several runs lacks it."""
    asked = {"tp": 4, "layers": 1}
    before = make(tmp_path / "a", seed=3, **asked)
    after = make(tmp_path / "b", seed=4, **asked)
    more = make(tmp_path / "c", seed=5, **asked)
    lost = after if lost_in == "only run" else more
    next(lost.rglob("*rank3*")).unlink()
    runs = [before, after] if lost_in == "only run" else [before, after, "--also-b", more]
    result = run("compare", *runs, *QUICK, "--fail-above-us", 9999)
    assert result.exit_code == 1
    where = "B" if lost_in == "only run" else "run 2 of B"
    assert f"{where} has no trace of 1 rank of A (3)" in result.stderr
    chosen = run("compare", *runs, *QUICK, "--fail-above-us", 9999, "--ranks", "0-2")
    assert chosen.exit_code == 0


def test_a_gate_that_passes_says_on_stderr_what_rose(tmp_path, pair, run):
    before, after = pair[0], make(tmp_path, seed=4, delays=slow())
    result = run("compare", before, after, *QUICK, "--fail-above-us", 9999)
    assert result.exit_code == 0
    assert "the gate passed (--fail-on median, 9,999 µs), though this" in result.stderr
    assert "mean time of a step +" in result.stderr
    assert "the gate passed" not in run("compare", before, after, *QUICK).stderr


def test_the_gate_fails_on_a_rise_that_is_no_chance(tmp_path, pair, run):
    before, after = pair[0], make(tmp_path, seed=4, delays=slow())
    failed = run("compare", before, after, *QUICK, "--fail-above-us", 20)
    assert failed.exit_code == 4
    assert "median tax rose by more than 20 µs" in failed.stderr
    assert "beyond chance: median tax of tp " in failed.stderr
    assert " %: +" in failed.stderr
    for sides, limit in (((after, before), 20), ((before, after), 9999)):
        assert run("compare", *sides, *QUICK, "--fail-above-us", limit).exit_code == 0


def test_the_gate_holds_what_it_is_told_to(tmp_path, pair, run):
    before, after = pair[0], make(tmp_path, seed=4, delays=slow())
    limit = ("--fail-above-us", 20, "--fail-on")
    failed = run("compare", before, after, *QUICK, *limit, "mean")
    assert failed.exit_code == 4
    assert "mean tax rose" in failed.stderr
    assert run("compare", before, after, *QUICK, *limit, "transfer").exit_code == 0


def test_a_row_that_is_gone_cannot_be_held(tmp_path, pair, run):
    other = make(tmp_path / "other", seed=1, tp_op="all_reduce")
    result = run("compare", pair[0], other, *QUICK, "--fail-above-us", 1)
    assert result.exit_code == 1
    assert "only in A" in result.stderr


def test_a_gate_that_holds_nothing_is_an_error(tmp_path, pair, run):
    other = make(tmp_path / "other", seed=1, tp_op="all_reduce")
    result = run("compare", pair[0], other, *QUICK, "--fail-above-us", 1, "--steps", "0:1")
    assert result.exit_code == 1
    assert "--fail-above-us" in result.stderr
