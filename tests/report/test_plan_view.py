"""What people see of a plan: the best, what rules out the rest, and what was assumed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.evt.tax_file import builtin
from synctax.planning.barriers import BARRIER_GROUPS
from synctax.planning.explain.compare import compare
from synctax.planning.explain.layout import explain
from synctax.planning.explain.terms import Row
from synctax.planning.inputs.named import read_model, read_platform
from synctax.planning.layout import parse_layout
from synctax.planning.platform import Tier
from synctax.planning.search import plan
from synctax.planning.tax import plan_tax
from synctax.planning.ties import within_error
from synctax.planning.training import Assumptions, Exposed, Training
from synctax.report import (
    plan_compare_view,
    plan_explain_view,
    plan_lists_view,
    plan_verdict,
    plan_view,
    plan_words,
    tables,
)
from synctax.report.plan_view import Shown, nearest_misses
from tests.laws import examples

MODEL = read_model("llama3-8b")
MACHINE = read_platform("dgx-h100")
TAX = plan_tax(builtin("llama3-70b-h200"), name="llama3-70b-h200")

gpus = st.sampled_from([1, 2, 6, 8, 16, 24, 48, 64, 96])
memory_gb = st.sampled_from([1, 20, 80, 1000])


def searched(many: int, gb: float = 80, *, tax=TAX, **training):
    machine = replace(MACHINE, memory_bytes=1e9 * gb)
    return plan(
        MODEL,
        machine,
        many,
        Training(**{"batch": 64, "sequence": 8192} | training),
        tax=tax,
    )


def best(found, most: int = 10) -> Shown:
    rows = found.ranked()
    return Shown(rows[found.feasible[rows]][:most], tax="a tax")


def text_of(found, shown: Shown | None = None) -> str:
    return tables.to_text(plan_view.parts(found, shown or best(found)))


@given(gpus, memory_gb)
@settings(max_examples=examples(40))
def test_what_eliminates_is_counted_as_one_counts_by_hand(many, gb):
    found = searched(many, gb)
    broken = np.array([rule.broken for rule in found.eliminations])
    told = {one.rule: one for one in plan_words.eliminated(found)}
    for rule, rows in zip(found.eliminations, broken, strict=True):
        if not rows.any():
            assert rule.name not in told
            continue
        assert told[rule.name].layouts == rows.sum()
        assert told[rule.name].alone == sum(
            bool(rows[at]) and broken[:, at].sum() == 1 for at in range(len(found))
        )


@given(gpus, memory_gb, st.integers(1, 20))
@settings(max_examples=examples(40))
def test_near_misses_are_eliminated_and_none_that_breaks_fewer_rules_is_left_out(
    many, gb, most
):
    found = searched(many, gb)
    rows = nearest_misses(found, most)
    assert not found.feasible[rows].any()
    assert len(rows) == min(most, int((~found.feasible).sum()))
    assert len(set(rows.tolist())) == len(rows)
    broken = np.sum([rule.broken for rule in found.eliminations], axis=0)
    others = np.setdiff1d(np.flatnonzero(~found.feasible), rows)
    if others.size and rows.size:
        assert broken[rows].max() <= broken[others].min()


@given(gpus, memory_gb)
@settings(max_examples=examples(20))
def test_rows_without_pandas_are_those_of_the_frame(many, gb):
    found = searched(many, gb)
    rows = found.ranked()[:5]
    frame = tables.records(found.to_frame(rows))
    for one, other in zip(plan_view.records(found, rows), frame, strict=True):
        assert list(one) == list(other)
        for name, value in one.items():
            if tables.is_absent(value):
                assert tables.is_absent(other[name])
            else:
                assert value == other[name]


@given(st.integers(40, 160), gpus, memory_gb)
@settings(max_examples=examples(20))
def test_no_line_is_wider_than_the_terminal(width, many, gb):
    found = searched(many, gb)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        rows = nearest_misses(found)
        named = Shown(np.arange(len(found))[:4], named=True, tax="a tax")
        for shown in (best(found), Shown(rows, 3), named):
            assert max(map(len, text_of(found, shown).splitlines())) <= width


def test_dimensions_over_nics_are_named_innermost_first():
    found = searched(64)
    shown = best(found, 100)
    for row in plan_view.records(found, shown.rows):
        names = plan_view._over_nics(row).split()
        crossing = {n for n in ("tp", "pp", "dp", "cp", "ep") if row[f"{n}_link"] == "nic"}
        assert set(names) == crossing or (names, crossing) == (["none"], set())
        order = row["order"].split("-")
        assert names == ["none"] or names == sorted(names, key=order.index)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(75.5e9, 81e9, "75.5 to 81 GB"), (532e9, 4.78e12, "532 GB to 4.78 TB")],
)
def test_both_ends_of_a_range_have_their_unit(low, high, text):
    row = {"memory_lo_bytes": low, "memory_hi_bytes": high}
    assert plan_view._memory_range(row) == text


def test_the_front_is_marked_and_nothing_else():
    found = searched(64)
    shown = best(found, 100)
    lines = text_of(found, shown).splitlines()[2 : 2 + len(shown.rows)]
    marked = [line.startswith("* ") for line in lines]
    assert marked == found.pareto[shown.rows].tolist()
    assert 0 < sum(marked) < len(marked)


def test_the_summary_says_how_many_there_are():
    found = searched(64)
    front = int(found.pareto.sum())
    said = plan_words.looked_at(found)
    assert said.startswith(f"{len(found)} layouts of llama3-8b on 64 GPUs of dgx-h100, ")
    assert f"{int(found.feasible.sum())} feasible, {front} of them marked *" in said
    assert plan_words.looked_at(searched(64, 0.1)).endswith("none is feasible")
    alone = searched(1, 1000)
    assert plan_words.looked_at(alone) == (
        "1 layout of llama3-8b on 1 GPU of dgx-h100, 64 × 8,192 tokens a step: 1 feasible"
    )


def test_one_gpu_waits_for_nobody():
    said = text_of(searched(1, 1000))
    assert "tax of tp1,pp1,dp1: none, no ranks meet" in said
    assert "none" in said.splitlines()[2]


def sure(gb: float, many: int = 8) -> str:
    found = searched(many, gb)
    return "\n".join(plan_verdict.verdict(found))


def test_what_fits_for_sure_is_said_where_the_fastest_may_not_fit():
    held = searched(8, 1000).costs.memory
    assert "may need" not in sure(1000)
    low, high = held.memory_bytes.min() / 1e9, held.memory_hi_bytes.min() / 1e9
    assert "no feasible layout fits with the upper end" in sure((low + high) / 2)
    said = [sure(gb, 16) for gb in range(20, 100, 4)]
    best = "the fastest that fits with the upper end of its range is tp"
    assert 0 < sum(best in one for one in said) < len(said)
    assert sure(0.1) == ""


def test_as_fast_is_said_only_where_several_are():
    found = searched(16)
    text = " ".join(text_of(found).split())
    many = int(within_error(found).sum())
    assert many > 1
    assert f"as fast within this model's error, 3 %: {many} layouts, marked ~; " in text
    alone = text_of(searched(1, 1000))
    assert "as fast" not in alone
    assert "~" not in alone


def test_more_that_is_not_shown_is_counted():
    found = searched(64)
    assert "  7 more: --top shows them" in text_of(found, replace(best(found), more=7))
    assert "more: --top" not in text_of(found)


def of_tax(tax, n: int = 8) -> str:
    """What is said of the tax of a layout whose ranks meet in groups of n."""
    found = searched(64, tax=tax)
    met = found.costs.barriers
    rows = np.flatnonzero((met.n == n) & (met.group == BARRIER_GROUPS.index("tp")))[:1]
    return "\n".join(plan_words.taxed(found, rows, "a tax, no interval"))


def test_the_tax_has_a_line_with_interval_and_reach():
    first, second = of_tax(TAX).splitlines()
    assert " to " in first
    assert "8 ranks of TP meet" in first
    assert first.endswith("2 × the 4 of the fit")
    assert second.startswith("  a tax; in proportion to the computation before a barrier: ")
    assert "7.3 to 10.4 ms where it was measured; the interval also holds" in second
    assert "as many as the 4 of the fit" in of_tax(TAX, 4)


def test_a_tax_without_an_interval_has_that_of_two_readings():
    said = of_tax(replace(TAX, a_us=8000.0, a_lo_us=8000.0, a_hi_us=8000.0))
    assert " to " in said.splitlines()[0]
    assert "a tax; in proportion" in said
    assert "barrier: 8 ms where it was measured" in said


def test_the_absolute_form_is_said_to_be_no_proportion():
    said = of_tax(plan_tax(builtin("llama3-70b-h200"), form="absolute"))
    assert "the same microseconds at every barrier" in said


def test_without_a_tax_the_times_are_said_to_be_without_it():
    assert "waiting at barriers is not in the times" in text_of(searched(8, tax=None))


def assumed(*, machine=MACHINE, assumptions=None, **training) -> str:
    found = plan(
        MODEL,
        machine,
        8,
        Training(**{"batch": 64, "sequence": 8192} | training),
        assumptions or Assumptions(),
    )
    return "\n".join(plan_words.assumed(found.setting))


@pytest.mark.parametrize(
    ("training", "said"),
    [
        ({"sharding": "none"}, "state whole on every rank of DP"),
        ({"sharding": "optimizer"}, "optimizer state sharded over dp·cp"),
        ({"sharding": "gradients", "shard_over": "d"}, "and gradients sharded over dp;"),
        ({"sharding": "parameters"}, "state sharded over dp·cp, parameters too"),
        ({"sharding": "parameters"}, "longer than the computation of a step"),
        ({"recompute": "none"}, "nothing recomputed"),
        ({"recompute": "selective"}, "attention recomputed (selective)"),
        ({"recompute": "full"}, "all layers recomputed"),
        ({"recompute": "fit"}, "as many layers recomputed as memory asks"),
        ({"sequence_parallel": False}, "without sequence parallelism"),
        ({"microbatch": 4}, "microbatches of 4"),
    ],
)
def test_how_the_job_runs_is_said(training, said):
    assert said in assumed(**training)


@pytest.mark.parametrize(
    ("assumptions", "said"),
    [
        (Assumptions(), "computation alone at 40 % of 989 TFLOP/s; 450 GB/s over NVLink"),
        (Assumptions(nvlink_efficiency=0.8), "80 % of 450 GB/s over NVLink within 8 GPUs"),
        (Assumptions(nic_efficiency=0.9), "90 % of 50 GB/s over the NIC"),
        (Assumptions(reserve_bytes=5e9), "memory: 75 GB a GPU (5 GB in reserve)"),
        (
            Assumptions(exposed=Exposed(tp=0.5, dp=0.2)),
            "exposed: 100 % of PP, CP, EP, 50 % of TP, 20 % of DP",
        ),
    ],
)
def test_what_is_assumed_of_the_machine_is_said(assumptions, said):
    assert said in assumed(assumptions=assumptions)


def test_a_tier_that_is_oversubscribed_is_said():
    machine = replace(MACHINE, tiers=(Tier(3072, 7.0),))
    assert "; 7:1 between blocks of 3,072 GPUs" in assumed(machine=machine)


def test_an_explanation_of_a_layout_that_cannot_run_says_what_would_help():
    found = searched(64, 40)
    at = int(nearest_misses(found, 1)[0])
    layout = found.layouts[at]
    lines = tables.to_text(
        plan_explain_view.parts(explain(found, layout), found, "a tax")
    ).splitlines()
    assert lines[0].startswith(f"{layout} cannot run; {int(found.feasible.sum())} of ")
    assert any(line.startswith("  ruled out: ") for line in lines)
    assert any(line.startswith("  what would help: ") for line in lines)


def test_an_explanation_has_every_formula_and_place():
    found = searched(64)
    one = explain(found, found.layouts[int(found.ranked()[0])])
    text = tables.to_text(plan_explain_view.parts(one, found, "a tax"))
    for row in one.rows:
        if row.formula and row.section not in ("placement", "rules"):
            assert row.formula in text
            assert row.filled in text
        elif row.section == "placement":
            assert row.words in text


def test_a_comparison_shows_what_differs_and_says_why():
    found = searched(64)
    a, b = parse_layout("tp2,dp32"), parse_layout("tp4,dp16")
    both = compare(found, a, b)
    text = tables.to_text(plan_compare_view.parts(both, found.setting, "a tax"))
    assert text.splitlines()[0].split()[:3] == ["quantity", str(a), str(b)]
    assert all(words in text for words in both.words)
    differing = [row for row in both.rows if row.differs and row.quantity == "tp"]
    assert differing
    assert "\nTP " in text
    assert "\nsequence" not in text


def test_a_list_of_machines_has_their_links():
    row = {
        "hardware": "own",
        "domain": 16,
        "gpus_per_host": 8,
        "nvlink_gb_per_s": 450.0,
        "nic_gb_per_s": 25.0,
        "memory_bytes": 96e9,
        "bf16_tflops": 989.0,
        "source": "here",
    }
    cells = tables.to_text(plan_lists_view.hardware([row])).splitlines()[2].split("   ")
    assert [cell.strip() for cell in cells if cell.strip()] == [
        *("own", "16", "8", "450 GB/s", "25 GB/s", "96 GB", "989 TFLOP/s", "here")
    ]


@pytest.mark.parametrize("experts", [None, 64])
def test_a_list_of_models_has_their_size(experts):
    row = {
        "model": "m",
        "parameters": 1.5e12,
        "active_parameters": 9e8,
        "layers": 2,
        "hidden": 4,
        "heads": 2,
        "kv_heads": 1,
        "ffn": 8,
        "experts": experts,
        "source": "here",
    }
    cells = tables.to_text(plan_lists_view.models([row])).splitlines()[2].split()
    assert cells == [
        *("m", "1.5", "T", "900", "M", "2", "4", "2", "1", "8"),
        str(experts or "–"),
        "here",
    ]


def test_a_quantity_without_a_value_is_absent_and_not_0():
    found = searched(64)
    layout = found.layouts[int(found.ranked()[0])]
    one = explain(found, layout)
    rows = (*one.rows, Row("tax", "nothing_s", unit="s", words="not known"))
    text = tables.to_text(plan_explain_view.parts(replace(one, rows=rows), found, "a tax"))
    line = next(line for line in text.splitlines() if line.startswith("  nothing"))
    assert line.split() == ["nothing", "–", "not", "known"]
