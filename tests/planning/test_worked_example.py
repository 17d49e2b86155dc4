"""What the planner finds by itself of the placement paper's worked example."""

import re
from dataclasses import replace

import numpy as np
import pytest

from synctax.evt.tax import Curve, Deviations, TaxModel
from synctax.evt.tax_file import builtin
from synctax.planning.explain.compare import compare
from synctax.planning.explain.layout import explain
from synctax.planning.explain.place import ranks_text
from synctax.planning.explain.terms import exact, fill
from synctax.planning.explain.times import step_parts
from synctax.planning.inputs.named import read_platform
from synctax.planning.layout import parse_layout
from synctax.planning.platform import Tier
from synctax.planning.search import plan
from synctax.planning.tax import plan_tax
from synctax.planning.training import ORDERS, Assumptions, Exposed
from synctax.schema.plan import PLAN, PLAN_COMPARE, PLAN_EXPLAIN
from tests.planning.made import DEEPSEEK_V3, LLAMA_3, LLAMA_405B, MIXTURE, table

H100 = read_platform("dgx-h100")
RACK = read_platform("gb200-nvl72")
PUBLISHED_FLOPS = Assumptions(mfu=400 / 989)
"""Llama 3's 400 TFLOP/s."""

A, B, C = "tp8,pp16,dp8", "tp8,pp8,dp8,cp2", "tp16,pp8,dp8"
D, E, A_V2 = "tp8,pp32,dp4", "tp4,pp16,dp16", "tp8,pp16,dp8,v2"
MEGATRON = replace(LLAMA_3, shard_over="d*c")
TAX = plan_tax(builtin("llama3-70b-h200"))
ABSOLUTE = plan_tax(builtin("llama3-70b-h200"), form="absolute")


def planned(*layouts, training=LLAMA_3, platform=H100, **more):
    asked = {"assumptions": PUBLISHED_FLOPS, "tax": TAX, **more}
    rows = table(*layouts)
    return plan(LLAMA_405B, platform, rows[0].gpus, training, layouts=rows, **asked)


def reasons(found, at=0):
    return "; ".join(found.reasons(np.array([at]))[0])


@pytest.mark.parametrize(
    ("layout", "nvlink_s", "nic_s"),
    [
        (A, 8.42, 0.68),
        (A_V2, 8.42, 1.02),
        (B, 8.42, 1.17),
        (C, 0, 162.85),
        (D, 8.42, 0.83),
        (E, 3.61, 1.06),
    ],
)
def test_links_are_busy_as_long_as_is_printed(layout, nvlink_s, nic_s):
    times = planned(layout).costs.times
    assert round(float(times.nvlink_s[0]), 2) == nvlink_s
    # the table rounds 162.86 down with its parts
    assert float(times.nic_s[0]) == pytest.approx(nic_s, abs=0.012)


def test_a_rack_sends_only_gradients_over_nics():
    found = planned(
        "tp8,pp9,dp14", training=replace(LLAMA_3, batch=2_016), platform=RACK
    ).costs
    assert round(float(found.times.nvlink_s[0]), 2) == 4.22
    assert round(float(found.times.nic_s[0]), 2) == 0.63
    assert found.volumes.dp_bytes[0] / 50e9 == found.times.nic_s[0]


def test_a_step_computes_for_99_s_and_a_half():
    assert planned(A).costs.compute_s[0] == pytest.approx(99.5, abs=0.05)


@pytest.mark.parametrize(
    ("layout", "gigabytes"), [(A, "95.6"), (D, "86.1"), (E, "186"), (A_V2, "129")]
)
def test_layouts_do_not_fit_and_say_what_recomputation_they_need(layout, gigabytes):
    found = planned(layout)
    assert not found.feasible[0]
    assert f"needs {gigabytes} GB of 80 GB" in reasons(found)
    (cure,) = found.remedies(np.array([0]))[0]
    number = re.match(r"recomputing ([\d.]+) of ([\d.]+) layers of a stage in full", cure)
    again = float(number[1])
    fitted = planned(layout, training=replace(LLAMA_3, recompute="fit"))
    assert fitted.costs.memory.recomputed_layers[0] == pytest.approx(again, rel=0.01)
    assert fitted.feasible[0]


def test_recomputation_that_is_needed_is_that_of_the_formulas():
    again = [
        planned(one, training=replace(LLAMA_3, recompute="fit")).costs.memory
        for one in (A, D, E)
    ]
    assert [float(one.recomputed_layers[0]) for one in again] == [2, 1, 7]


def test_b_fits_with_megatrons_sharding_and_not_with_the_papers():
    assert not planned(B).feasible[0]
    assert "needs 83.4 GB of 80 GB" in reasons(planned(B))
    assert "sharding over dp·cp (78.7 GB" in planned(B).remedies(np.array([0]))[0][0]
    assert planned(B, training=MEGATRON).feasible[0]


def test_c_is_eliminated_by_bandwidth_alone():
    found = planned(C)
    assert [rule.name for rule in found.eliminations if rule.broken[0]] == ["tp_domain"]
    said = reasons(found)
    assert "tp 16 is larger than the NVLink domain of 8" in said
    assert "8.12 TB a step take 162 s over NICs" in said
    assert "(20.3 s over those of all its GPUs, 18 s over NVLink)" in said
    assert "163 % of the 99.5 s of computation" in said
    assert found.costs.memory.memory_bytes[0] <= 80e9
    assert found.to_frame()["fits"][0]
    # on a rack whose domain it tiles, it is not
    tiled = replace(RACK, domain=64)
    assert planned(C, platform=tiled).feasible[0]
    assert planned(C, platform=tiled).costs.times.sending_s[0, 0] == pytest.approx(
        9.02, abs=0.01
    )


def test_tp_16_does_not_tile_a_rack_of_72():
    found = planned(C, platform=RACK)
    assert "does not tile the NVLink domain (72 mod 16 = 8: GPUs 64–79" in reasons(found)
    cure = found.remedies(np.array([0]))[0][0]
    assert cure == "tp 8, or 64 of the 72 GPUs of a domain"


def test_a_and_b_lose_one_share_of_their_computation_and_double_the_microseconds():
    share = planned(A, B).costs
    assert share.barriers.count.tolist() == [8_064, 16_128]
    assert share.barriers.n.tolist() == [8, 8]
    assert share.taxed.tax_s[0] == pytest.approx(share.taxed.tax_s[1])
    assert share.taxed.tau_us[0] == pytest.approx(2 * share.taxed.tau_us[1])
    fixed = planned(A, B, tax=ABSOLUTE).costs
    assert fixed.taxed.tax_s[1] == pytest.approx(2 * fixed.taxed.tax_s[0])
    assert fixed.taxed.tau_us[0] == pytest.approx(fixed.taxed.tau_us[1])


def test_b_joins_twice_the_ranks_of_a_layer_of_a():
    layer = replace(TAX, joined="layer")
    found = planned(A, B, tax=layer).costs
    assert found.barriers.n.tolist() == [8, 16]
    assert found.taxed.tax_s[1] > found.taxed.tax_s[0]
    one = compared(A, B, tax=layer).words[2]
    assert "8,064 times in groups of 8" in one
    assert "16,128 times in groups of 16" in one
    told = explain(planned(B, tax=layer), parse_layout(B))
    words = {row.quantity: row.words for row in told.rows}
    assert words["barrier_n"] == "16 ranks meet, all that a collective of a layer joins"


def test_the_interval_of_the_tax_tells_both_readings():
    told = explain(planned(A), parse_layout(A))
    rows = {row.quantity: row for row in told.section("tax")}
    a_layout_us = 99.5e6 / 8_064
    share = np.sqrt(TAX.a_us / a_layout_us)
    either = rows["tax_independent_s"]
    assert either.value == pytest.approx(rows["tax_s"].value * share, rel=1e-3)
    assert rows["tax_lo_s"].value <= either.value <= rows["tax_hi_s"].value
    assert "even out" in either.words


def test_no_nic_is_busy_for_more_than_one_percent_of_a_step_but_with_tp():
    found = planned(A, B, D, E, A_V2, training=MEGATRON)
    assert (found.costs.nic_share < 0.0125).all()
    largest = max(
        float(getattr(found.costs.volumes, f"{name}_bytes").max())
        for name in ("pp", "dp", "cp")
    )
    assert largest == pytest.approx(35.6e9, rel=1e-3)
    assert largest < 0.01 * 50e9 * 100


def value_of(filled):
    """Compute a formula that was written with numbers."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", filled)
    text = text.replace("·", "*").replace("−", "-").partition(" = ")[0]
    return eval(text.replace(" mod ", " % "), {"min": min})


EXPLAINED = [
    (LLAMA_405B, A, LLAMA_3),
    (LLAMA_405B, A_V2, replace(MEGATRON, recompute="fit")),
    (LLAMA_405B, B, replace(MEGATRON, recompute="full", sharding="gradients")),
    (LLAMA_405B, "tp16,pp2,dp4,cp8", replace(LLAMA_3, sharding="none", microbatch=2)),
    (LLAMA_405B, "tp2,pp2,dp4,cp2", replace(LLAMA_3, sequence_parallel=False)),
    (LLAMA_405B, "tp1,pp1,dp1024", replace(LLAMA_3, sharding="parameters")),
    (LLAMA_405B, "tp1,pp8,dp1,cp8", replace(LLAMA_3, recompute="full")),
    (LLAMA_405B, "tp8,pp16,dp8", replace(LLAMA_3, recompute="none", scatter_gather=False)),
    (LLAMA_405B, "tp1,pp4,dp1", LLAMA_3),
    (MIXTURE, "tp8,pp4,dp8,cp2,ep8", replace(MEGATRON, recompute="fit")),
    (MIXTURE, "tp1,pp6,dp32,ep16", replace(MEGATRON, sharding="parameters")),
    (DEEPSEEK_V3, "tp2,pp8,dp64,cp2,ep64", replace(MEGATRON, expert_tp=False)),
    (DEEPSEEK_V3, "tp1,pp8,dp64,ep64", replace(MEGATRON, recompute="full")),
    (DEEPSEEK_V3, "tp4,pp4,dp8,cp4,ep8", replace(MEGATRON, sequence_parallel=False)),
]


@pytest.mark.parametrize(("model", "layout", "training"), EXPLAINED)
@pytest.mark.parametrize("tax", [TAX, ABSOLUTE, None])
def test_every_formula_comes_to_its_value(model, layout, training, tax):
    one = parse_layout(layout)
    found = plan(model, H100, one.gpus, training, layouts=table(layout), tax=tax)
    told = explain(found, one)
    checked = 0
    for row in told.rows:
        if row.filled is None or row.quantity.endswith("_block"):
            continue
        checked += 1
        assert value_of(row.filled) == pytest.approx(row.value, rel=2e-5), row
        assert row.formula.count("·") == row.filled.count("·")
    assert checked > 12
    assert told.feasible == found.feasible[0]
    frame = told.to_frame()
    assert tuple(frame) == PLAN_EXPLAIN.names
    assert len(frame) == len(told.rows)


@pytest.mark.parametrize(("model", "layout", "training"), EXPLAINED)
def test_what_is_explained_is_what_the_plan_says(model, layout, training):
    one = parse_layout(layout)
    found = plan(model, H100, one.gpus, training, layouts=table(layout), tax=TAX)
    frame = found.to_frame()
    told = {row.quantity: row.value for row in explain(found, one).rows}
    known = [name for name in PLAN.names if told.get(name) is not None]
    assert {"memory_bytes", "state_bytes", "step_s", "compute_s", "bubble"} <= set(known)
    for name in known:
        assert float(frame[name][0]) == pytest.approx(told[name]), name
    parts = step_parts(found, 0)
    assert sum(parts.values()) == pytest.approx(found.costs.step_s[0])


def test_a_layout_is_explained_with_the_ranks_of_its_first_groups():
    order = replace(LLAMA_3, order=ORDERS[0])
    told = explain(planned(A, training=order), parse_layout(A))
    words = {row.quantity: row.words for row in told.section("placement")}
    assert words["tp_stride"] == "8 ranks, 1 apart: 0–7"
    assert words["dp_stride"] == "8 ranks, 8 apart: 0, 8, 16, 24, 32, 40, 48, 56"
    assert words["order"] == "tp-cp-ep-dp-pp: as asked"
    other = explain(planned(A, training=replace(order, order=ORDERS[1])), parse_layout(A))
    words = {row.quantity: row.words for row in other.section("placement")}
    assert words["pp_stride"].startswith("16 ranks, 8 apart: 0, 8, 16")
    assert words["dp_stride"].startswith("8 ranks, 128 apart: 0, 128")
    free = explain(planned(A), parse_layout(A)).section("placement")[0].words
    assert "default; tp-cp-ep-pp-dp has no less time on NICs" in free
    rack = explain(planned("tp8,pp9,dp14", platform=RACK), parse_layout("tp8,pp9,dp14"))
    assert (
        "less time on NICs than in order tp-cp-ep-dp-pp"
        in rack.section("placement")[0].words
    )
    mixed = parse_layout("tp8,pp4,dp8,ep8")
    experts = plan(MIXTURE, H100, 256, LLAMA_3, layouts=table(str(mixed)))
    assert "the only one" in explain(experts, mixed).section("placement")[0].words
    pair = explain(planned(B), parse_layout(B)).section("placement")
    assert "2 ranks, 8 apart: 0, 8" in [row.words for row in pair]


def test_blocks_are_told_with_what_they_are_to_the_domain():
    def block(layout, platform):
        found = planned(layout, platform=platform)
        rows = explain(found, parse_layout(layout)).section("placement")
        return {row.quantity: row.words for row in rows}

    assert "divide the domain of 8: NVLink" in block(A, H100)["tp_block"]
    assert "are larger than the domain of 8: NIC" in block(A, H100)["pp_block"]
    tiled = block("tp16,pp9,dp7", RACK)["tp_block"]
    assert "do not tile the domain of 72, that of rank 64 lies in two: NIC" in tiled
    assert "all 64 GPUs are in one domain of 72" in block("tp8,pp4,dp2", RACK)["pp_block"]


def test_rules_are_told_as_kept_or_broken_and_each_remedy_has_its_price():
    told = explain(planned(A, training=MEGATRON), parse_layout(A))
    verdicts = {row.quantity: row.verdict for row in told.section("rules")}
    assert verdicts["heads"] == "kept"
    assert verdicts["memory"] == "broken"
    assert {row.verdict for row in told.section("warnings")} == {"kept", "warns"}
    kinds = [row.quantity for row in told.section("remedies")]
    assert kinds == ["recompute", "more_cp", "more_pp"]
    wrong = planned("tp16,pp9,dp7", platform=RACK)
    cures = explain(wrong, parse_layout("tp16,pp9,dp7")).section("remedies")
    assert [row.quantity for row in cures] == ["batch", "tp_domain"]
    hopeless = explain(planned("tp1,pp1,dp8"), parse_layout("tp1,pp1,dp8"))
    assert [row.quantity for row in hopeless.section("remedies")] == ["memory"]
    variants = {row.quantity: row.words for row in told.section("memory")}
    assert "31/t in place of 34/t" in variants["activation_layer_by_width_bytes"]
    assert "31.8/t in place of 34/t" in variants["activation_layer_by_tensors_bytes"]


def test_numbers_in_formulas_keep_six_digits():
    assert exact(2.5e-7) == "2.5e-7"
    assert exact(123_456_789.0) == "1.23457e8"
    assert exact(989e12) == "989,000e9"
    assert fill("{a} − {b}", {"a": 1.0, "b": 2.25}) == ("a − b", "1 − 2.25")
    assert ranks_text(np.array([0, 1])) == "0, 1"
    assert ranks_text(np.arange(40)) == "0–39"


def compared(a, b, **more):
    found = planned(a, b, **more)
    return compare(found, parse_layout(a), parse_layout(b))


def test_two_layouts_are_compared_in_every_quantity():
    found = compared(A, B, training=MEGATRON)
    frame = found.to_frame().set_index("quantity")
    assert tuple(found.to_frame()) == PLAN_COMPARE.names
    left_out = {"feasible_rank", "pareto", "within_error"}
    assert set(PLAN.names) - left_out <= set(frame.index)
    assert frame.loc["barriers", "ratio"] == 2
    assert frame.loc["state_bytes", "ratio"] == pytest.approx(1.8)
    assert frame.loc["pp_bytes", "difference"] < 0
    assert not frame.loc["tp_bytes", "differs"]
    assert frame.loc["fits", ["a_text", "b_text"]].tolist() == ["no", "yes"]
    assert frame["cp_link":"cp_link"]["b_text"].tolist() == ["nic"]
    # what differs in the parts of a step is what differs in the step
    assert frame["of_step_s"].sum() == pytest.approx(frame.loc["step_s", "difference"])


def test_the_faster_one_is_named_with_what_it_saves_and_pays():
    words = compared(A, B, training=MEGATRON).words
    assert words[0].startswith(f"{B} is faster than {A}: ")
    assert re.search(
        r"saving 3\.1\d s of bubble and 172 ms of PP, paying .* of CP", words[0]
    )
    assert "24" not in words[0]
    assert "(42.7 GB of state, 35.9 GB of activations), and 80 GB are there" in words[1]
    assert "meet 8,064 times in TP of 8" in words[2]
    assert "16,128 times in TP of 8" in words[2]
    assert words[3].startswith(f"{A} cannot run: needs 95.6 GB")
    swapped = compared(B, A, training=MEGATRON).words
    assert swapped[0] == words[0]


def test_a_comparison_says_in_which_form_the_tax_is():
    assert "in proportion to the computation" in compared(A, B).words[2]
    absolute = compared(A, B, tax=ABSOLUTE).words[2]
    assert re.search(r"measured on, the tax is 3\.16 s and 6\.32 s", absolute)
    assert compared(A, B, tax=None).words[2].endswith("of computation each")
    alone = compared("tp1,pp4,dp1", "tp1,pp2,dp1,cp2").words
    assert not any("meet" in one for one in alone)


def test_equal_layouts_and_unknown_times_are_said():
    assert compared(A, A).words[0] == f"{A} and {A} take 120 s a step each"
    hidden = Assumptions(exposed=Exposed(tp=0, pp=0, cp=0, ep=0, dp=0))
    one_sided = compared(A_V2, A, assumptions=hidden).words[0]
    assert "paying" not in one_sided


def test_a_step_that_is_not_known_makes_neither_faster():
    curve = Curve((2.0, 4.0), (100.0, 200.0), (None,) * 2, (None,) * 2)
    ends = TaxModel(2, a_us=1e4, deviations=Deviations(curve=curve))
    tax = plan_tax(ends, "deviations")
    words = compared(E, A, tax=tax).words
    assert words[0].startswith("which one is faster is not known")
    rows = {row.quantity: row for row in compared(E, A, tax=tax).rows}
    assert rows["tax_s"].a is not None
    assert rows["tax_s"].b is rows["tax_s"].difference is rows["tax_s"].ratio is None
    assert rows["tax_s"].differs


def test_a_tier_divides_the_rate_in_the_formula():
    platform = replace(H100, tiers=(Tier(24, 7.0),))
    found = planned(A, platform=platform)
    rows = {row.quantity: row for row in explain(found, parse_layout(A)).rows}
    # each rank of a block of 24 GPUs is of another ring, in the order that suits PP
    assert rows["dp_crowding"].value == pytest.approx(7)
    row = rows["dp_s"]
    assert row.formula == "sent/nic·oversubscription"
    assert value_of(row.filled) == pytest.approx(row.value, rel=2e-5)
    assert row.value == pytest.approx(7 * 16.61 / 50, rel=1e-3)
