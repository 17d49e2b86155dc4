"""What is said and shown of comparisons that no small job makes."""

from dataclasses import replace

import numpy as np
import pytest

from synctax.collectives.matches import Matches
from synctax.comparison.compare import compare
from synctax.comparison.comparison import Comparison
from synctax.comparison.culprits import Caused, Culprit
from synctax.comparison.fits import FitChange, Parameters
from synctax.comparison.likeness import Unlike
from synctax.comparison.options import Options
from synctax.comparison.rows import Change
from synctax.comparison.stats import Difference, Estimate
from synctax.comparison.units import run_of
from synctax.comparison.verdict import MOST_LEADS, verdict
from synctax.notes import Note
from synctax.report import compare_tables_view, compare_view
from synctax.report.output import Result
from synctax.report.tables import to_text
from synctax.schema.compare import COMPARE_CULPRITS, COMPARE_KERNELS
from tests.compare.jobs import make, tax_of

RISE = Difference(50.0, 80.0, 30.0, 20.0, 40.0, 1e-6)
SAME = Difference(50.0, 51.0, 1.0, -5.0, 7.0, 0.6)
UNKNOWN = Difference(50.0, 51.0, 1.0, np.nan, np.nan, np.nan)


@pytest.fixture(scope="module")
def found(pair) -> Comparison:
    tax = tax_of(pair[0])
    return compare(tax, tax, options=Options(resamples=100))


def told(found: Comparison, *changes: Change, **other: object) -> list[str]:
    """Say a comparison with other numbers; its rows are those of the changes."""
    made = replace(found, changes=changes, **other)
    rows = [(c.group, c.op) for c in changes if c.group]
    made.__dict__["rows"] = list(dict.fromkeys(rows))
    return list(verdict(made))


def change(
    op: str, found: Difference, quantity: str = "tax_max_us_median", **other
) -> Change:
    return Change("tp", op, quantity, found, **({"counts": (9, 9)} | other))


def test_of_many_rows_that_changed_the_first_are_said(found):
    said = told(found, *(change(f"op{at}", RISE) for at in range(6)))
    assert sum("rose from 50 µs to 80 µs" in text for text in said) == MOST_LEADS
    assert "2 more changed, by less time a step: see the table" in said


def test_what_changed_by_most_time_a_step_leads_whatever_it_is(found):
    fall = Difference(90.0, 50.0, -40.0, -50.0, -30.0, 1e-6)
    changes = (
        change("often", RISE, a_step=100.0),
        change("rare", fall, a_step=2.0),
        change("moved", SAME),
        change("moved", RISE, "transfer_us_median", a_step=200.0),
        Change(None, None, "step_us_mean", Difference(5e3, 6e3, 1e3, 800.0, 1.2e3, 1e-6)),
    )
    said = told(found, *changes)
    assert [text.partition(" from ")[0] for text in said[:4]] == [
        "the median transfer of tp moved rose",
        "the median tax of tp often rose",
        "the mean time of a step rose",
        "the median tax of tp rare fell",
    ]
    assert said[0].endswith(
        "from 50 µs to 80 µs: +30 µs, +60 % (95 %: +20 µs to +40 µs), 200 times a step"
    )
    assert "−40 µs, −44 % (95 %: −50 µs to −30 µs), 2 times a step" in said[3]


def test_rows_that_did_not_change_are_counted(found):
    said = told(found, change("a", RISE), change("b", SAME), change("c", SAME))
    assert said[-1] == "the tax of 2 other rows did not change by more than chance explains"


def test_other_changes_without_one_of_the_tax_are_no_no_change(found):
    said = told(
        found,
        change("a", SAME),
        change("a", RISE, "transfer_us_median"),
        Change(None, None, "step_us_mean", RISE),
    )
    rose = "rose from 50 µs to 80 µs: +30 µs, +60 % (95 %: +20 µs to +40 µs)"
    assert said == [
        f"the mean time of a step {rose}",
        f"the median transfer of tp a {rose}",
        "the tax of no row changed by more than chance explains",
    ]


def test_what_differs_without_an_interval_is_not_passed_over(found):
    flat = Difference(90.0, 168.0, 78.0, np.nan, np.nan, np.nan)
    changes = (change("a", SAME), change("a", flat, "transfer_us_median"))
    assert (
        "these differ and did not vary enough to tell what is chance: "
        "median transfer of tp a 90 µs to 168 µs"
    ) in told(found, *changes)
    assert not any("did not vary" in text for text in told(found, changes[1]))
    many = [change(f"op{at}", flat, "transfer_us_median") for at in range(6)]
    said = told(found, change("a", SAME), *many)
    assert any(text.endswith(" and 2 more") for text in said)


def test_changes_below_one_percent_are_not_worth_a_sentence(found):
    tiny = Difference(5000.0, 5001.0, 1.0, 0.9, 1.1, 1e-9)
    said = told(found, change("a", SAME), change("a", tiny, "transfer_us_median"))
    assert said == ["the tax of no row changed by more than chance explains"]


def test_without_common_rows_nothing_is_said_to_be_the_same(found):
    only = change("a", UNKNOWN, counts=(9, 0))
    assert told(found, only) == [
        "no group and operation is on both sides: their waits cannot be compared"
    ]


def test_without_an_interval_nothing_is_said_of_chance(found):
    assert told(found, change("a", UNKNOWN))[0].startswith(
        "whether anything changed cannot"
    )


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ((3, 3), "rank 3 is last most often in tp a on both sides (40 %, 60 %)"),
        ((3, 5), "last most often in tp a was rank 3 (40 %) and is rank 5 (60 %)"),
    ],
)
def test_whether_the_same_rank_is_worst_is_said(found, ranks, said):
    shares = Difference(0.4, 0.6, 0.2, -0.1, 0.5, 0.2)
    last = change("a", shares, "straggler_share", ranks=ranks)
    assert said in told(found, change("a", SAME), last)


def test_a_culprit_without_a_rank_is_told_by_its_class(found):
    caused = (
        Caused(Culprit("tp", "class", "host_stall"), 0.1, 0.5, RISE),
        Caused(Culprit("tp", "item", "gemm", "sgemm"), 0.1, 0.2, SAME),
    )
    said = told(found, change("a", SAME), caused=caused)
    assert (
        "of the tax of tp, +30 µs a collective, +60 % (95 %: +20 µs to +40 µs) is due to "
        "host stalls: 50 % of it (was 10 %)"
    ) in said


FALL = Difference(80.0, 50.0, -30.0, -40.0, -20.0, 1e-6)


def test_only_what_lies_on_the_rank_that_leads_is_part_of_it(found):
    def item(name: str, rank: int, difference: Difference) -> Caused:
        return Caused(Culprit("tp", "item", "gemm", name, rank), 0.1, 0.2, difference)

    caused = (
        Caused(Culprit("tp", "class", "norm"), 0.1, 0.5, RISE),
        Caused(Culprit("tp", "rank", rank=2), 0.1, 0.5, RISE),
        Caused(Culprit("tp", "rank", rank=1), 0.5, 0.1, FALL),
        item("elsewhere", 1, RISE),
        item("better", 2, FALL),
        item("unsure", 2, SAME),
        item("mine", 2, RISE),
        item("mine_too", 2, RISE),
        item("third", 2, RISE),
    )
    said = told(found, change("a", SAME), caused=caused)
    cause = next(text for text in said if "is due to" in text)
    assert cause.endswith("; most of all mine +30 µs and mine_too +30 µs")
    assert "is due to rank 2: 50 % of it (was 10 %)" in cause
    without = told(found, change("a", SAME), caused=caused[:5])
    assert not any("most of all" in text for text in without)


@pytest.mark.parametrize("width", [80, 100, 400])
def test_columns_of_numbers_that_the_verdict_names_stay(found, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    made = replace(
        found,
        changes=(
            Change(None, None, "step_us_mean", RISE),
            change("all_gather", SAME),
            change("all_gather", RISE, "tax_max_us_mean"),
            change("all_gather", FALL, "transfer_us_median"),
            change("reduce_scatter", replace(RISE, difference=7.0)),
            change("reduce_scatter", SAME, "tax_max_us_mean"),
            change("reduce_scatter", SAME, "transfer_us_median"),
            change("reduce_scatter", SAME, "busbw_gb_per_s_median"),
        ),
    )
    made.__dict__["rows"] = [("tp", "all_gather"), ("tp", "reduce_scatter")]
    text = to_text(compare_view.parts(made))
    assert max(map(len, text.splitlines())) <= width
    shown = text[text.index("group ") :]
    stars = shown[: shown.index("columns A and B")].count("*")
    assert stars == 4
    assert "transfer B − A" in shown
    assert "* more than chance explains" in shown
    assert ("busbw B − A" in shown) == (width == 400)


def test_without_a_change_no_star_is_explained(found):
    made = replace(found, changes=(change("a", SAME),))
    made.__dict__["rows"] = [("tp", "a")]
    text = to_text(compare_view.parts(made), to_file=True)
    assert "*" not in text


def fits(found: Difference) -> FitChange:
    names = ("a_us", "tau_us@512")
    one = Parameters("tp", 40, 4, {name: Estimate(1.0, 0.1, 3.0) for name in names})
    return FitChange(one, one, ("", ""), (("a_us", SAME), ("tau_us@512", found)))


def test_a_fit_that_changed_is_said(found):
    said = told(found, change("a", SAME), fits=fits(RISE))
    assert any("at 512 ranks the fit expects a mean wait of 80 µs" in text for text in said)
    assert len(told(found, change("a", SAME), fits=fits(SAME))) == len(said) - 1
    missing = replace(RISE, a=float("nan"), p=float("nan"), low=float("nan"))
    assert len(told(found, change("a", SAME), fits=fits(missing))) == len(said) - 1


def test_a_table_of_rows_without_numbers_has_dashes(found):
    made = replace(
        found, changes=(change("a", UNKNOWN), change("b", UNKNOWN, counts=(0, 9)))
    )
    made.__dict__["rows"] = [("tp", "a"), ("tp", "b"), ("tp", "c")]
    text = to_text(compare_view.parts(made), to_file=True)
    assert text.count("–") > 10


def test_a_row_of_one_side_says_so(found):
    nothing = Difference(np.nan, 5.0, np.nan, np.nan, np.nan, np.nan)
    made = replace(found, changes=(change("b", nothing, counts=(0, 9)),))
    made.__dict__["rows"] = [("tp", "b")]
    assert "only in B" in to_text(compare_view.parts(made), to_file=True)


def test_empty_tables_are_words():
    none = COMPARE_CULPRITS.to_frame({name: [] for name in COMPARE_CULPRITS.names})
    shown = compare_tables_view.culprits(Result(COMPARE_CULPRITS, none))
    assert shown == ["no group was attributed on both sides"]
    none = COMPARE_KERNELS.to_frame({name: [] for name in COMPARE_KERNELS.names})
    shown = compare_tables_view.kernels(Result(COMPARE_KERNELS, none))
    assert shown == ["no kernel that computes was recorded on either side"]


def test_culprits_without_names_and_intervals_are_shown():
    row = {
        "group": "tp", "culprit_class": "gemm", "share_of_tax_a": 0.1, "tax_a_us": 1.0,
        "share_of_tax_b": 0.2, "tax_b_us": 2.0, "difference_us": 1.0,
    }  # fmt: skip
    rows = [row | {"kind": "rank"}, row | {"kind": "item", "culprit": "sgemm", "rank": 3}]
    columns = {n: [one.get(n) for one in rows] for n in COMPARE_CULPRITS.names}
    result = Result(COMPARE_CULPRITS, COMPARE_CULPRITS.to_frame(columns))
    text = to_text(compare_tables_view.culprits(result), to_file=True)
    assert "no single rank" in text
    assert "rank 3: sgemm" in text


def test_a_fit_without_numbers_is_shown_by_its_reasons(found):
    made = replace(found, fits=FitChange(None, None, ("too few", ""), ()))
    assert "too few" in to_text(compare_tables_view.fit(made, None), to_file=True)
    assert compare_tables_view.fit(found, None) == []


@pytest.mark.parametrize("kind", list(Unlike))
def test_every_note_of_what_is_unlike_comes_first(found, kind):
    made = replace(found, notes=(Note("resampled", 1, "A: 3 steps"), Note(kind, 1, "that")))
    assert verdict(made)[0] == "not like with like: that"


def test_reasons_that_only_sound_alike_are_no_difference(found):
    made = replace(found, notes=(Note("steps_differ_in_name_only_in_b", 1, "no"),))
    assert verdict(made)[0] != "not like with like: no"


def test_notes_that_are_no_difference_are_not_called_unlike(found):
    made = replace(found, notes=(Note("resampled", 1, "A: 3 steps"),))
    assert not any("not like" in text for text in verdict(made))


def test_steps_that_mark_no_beginning_begin_with_their_first_collective(tmp_path):
    tax = tax_of(make(tmp_path, seed=2), steps=range(2, 5))
    whole = run_of(tax)
    assert len(whole) == 3
    ranks = tuple(
        replace(
            rank, step_number=rank.step_number[:0], step_start_ns=rank.step_start_ns[:0]
        )
        for rank in tax.matches.ranks
    )
    before = tax.matches.table.step < 2
    table = replace(tax.matches.table, step=np.where(before, -1, tax.matches.table.step))
    matches: Matches = replace(tax.matches, ranks=ranks, table=table)
    bare = run_of(replace(tax, matches=matches))
    assert (bare.time_us[:, 0] < whole.time_us[:, 0]).all()
    assert (bare.time_us[:, 1:] == whole.time_us[:, 1:]).all()
