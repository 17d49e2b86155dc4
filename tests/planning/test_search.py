"""The search: all layouts, none lost, the best first, the front that nothing beats."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.errors import SynctaxError
from synctax.evt.tax_file import builtin
from synctax.planning import candidates as module
from synctax.planning.candidates import candidates
from synctax.planning.inputs.named import read_platform
from synctax.planning.layout import Layout, Layouts, parse_layout
from synctax.planning.pareto import pareto
from synctax.planning.search import Plan, only, plan
from synctax.planning.tax import plan_tax
from synctax.planning.times import dp_exposed_s
from synctax.planning.training import DIMENSIONS, Assumptions, Exposed, Training
from synctax.schema.plan import PLAN
from tests.planning.made import DEEPSEEK_V3, LLAMA_405B, MIXTURE, table

H100 = read_platform("dgx-h100")
TRAINING = Training(2_048, 8_192)
TAX = plan_tax(builtin("llama3-70b-h200"))


def search(gpus=1_024, **more) -> Plan:
    asked = {"model": LLAMA_405B, "platform": H100, "training": TRAINING, "tax": TAX}
    return plan(gpus=gpus, **{**asked, **more})


@given(st.integers(1, 60), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_every_way_to_split_the_gpus_is_a_candidate_once(gpus, stages):
    found, notes = candidates(MIXTURE, gpus, stages)
    degrees = range(1, gpus + 1)
    wanted = {
        (t, p, gpus // (t * p * c), c, e, v if p > 1 else 1)
        for t, p, c in product(degrees, repeat=3)
        if gpus % (t * p * c) == 0
        for e in (1, 2, 4, 8, 16)
        for v in set(stages)
    }
    columns = [getattr(found, name) for name in (*DIMENSIONS, "virtual_stages")]
    rows = list(zip(*(one.tolist() for one in columns), strict=True))
    assert len(set(rows)) == len(rows)
    assert set(rows) == wanted
    flat = sum(note.count for note in notes)
    every = len(rows) + flat
    assert every % len(set(stages)) == 0


def test_candidates_that_would_be_too_many_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(module, "MAX_CANDIDATES", 571)
    assert len(candidates(LLAMA_405B, 512, (1, 2))[0])
    with pytest.raises(SynctaxError, match="1,024 GPUs have some 572 layouts"):
        candidates(LLAMA_405B, 1_024, (1, 2))
    with pytest.raises(SynctaxError, match="gpus is 2,147,483,648; expected from 1 to"):
        candidates(LLAMA_405B, 2**31)


def test_a_number_of_gpus_that_is_prime_has_candidates():
    found, _ = candidates(LLAMA_405B, 10_007, (1,))
    assert sorted({*found.tp.tolist(), *found.dp.tolist()}) == [1, 10_007]


costs = st.lists(
    st.tuples(*[st.integers(0, 4).map(float)] * 3), min_size=0, max_size=40
).map(lambda rows: np.array(rows, np.float64).reshape(-1, 3))


@given(costs)
def test_the_front_is_what_no_other_row_beats(rows):
    no_worse = (rows[:, None] <= rows[None]).all(axis=2)
    better = (rows[:, None] < rows[None]).any(axis=2)
    np.testing.assert_array_equal(pareto(rows), ~(no_worse & better).any(axis=0))


def test_a_front_of_everything_keeps_everything():
    one = np.arange(5_000.0)
    assert pareto(np.stack([one, -one, one], axis=1)).all()
    assert pareto(np.stack([one, one, one], axis=1)).sum() == 1


def test_nothing_is_lost_and_feasible_is_what_breaks_no_rule():
    found = search()
    assert len(found) == len(candidates(LLAMA_405B, 1_024)[0])
    rows = np.arange(len(found))
    reasons = found.reasons(rows)
    np.testing.assert_array_equal(found.feasible, [not said for said in reasons])
    # whatever is eliminated says what would help, once however many rules ask for it
    for said, cures in zip(reasons, found.remedies(rows), strict=True):
        assert bool(said) == bool(cures)
        assert len(said) >= len(cures) == len({*cures})
    counted = {note.reason: note.count for note in found.notes}
    for rule in found.eliminations:
        assert counted.get(f"eliminated_{rule.name}", 0) == rule.broken.sum()


def test_places_are_by_time_among_the_feasible():
    found = search()
    step_s, places = found.costs.step_s, found.feasible_rank
    assert sorted(places[found.feasible]) == list(range(1, found.feasible.sum() + 1))
    assert (places[~found.feasible] == 0).all()
    fastest = np.flatnonzero(places == 1)[0]
    assert step_s[fastest] == step_s[found.feasible].min()
    ranked = found.ranked()
    assert sorted(ranked) == list(range(len(found)))
    np.testing.assert_array_equal(
        places[ranked][: found.feasible.sum()], np.arange(1, found.feasible.sum() + 1)
    )
    assert not found.feasible[ranked][found.feasible.sum() :].any()


def test_the_front_holds_the_best_of_each_cost_and_only_feasible_ones():
    found = search()
    assert not (found.pareto & ~found.feasible).any()
    for cost in (
        found.costs.step_s,
        found.costs.memory.memory_bytes,
        found.costs.nic_share,
    ):
        least = cost[found.feasible].min()
        assert (cost[found.pareto] == least).any()


def test_no_feasible_layout_leaves_an_empty_front():
    found = search(gpus=8)
    assert not found.feasible.any()
    assert not found.pareto.any()
    assert len(found.to_frame())


CONTRACT = [
    *("layout", "tp", "pp", "dp", "cp", "ep", "virtual_stages", "microbatches"),
    *("tp_bytes", "pp_bytes", "dp_bytes", "cp_bytes", "ep_bytes", "barriers", "bubble"),
    *("state_bytes", "activation_bytes", "memory_bytes", "nvlink_s", "nic_s"),
    *("compute_s", "tax_s", "step_s", "fits", "eliminated_because"),
]


def test_the_table_has_the_columns_that_programs_rely_on_first():
    assert [*PLAN.names][: len(CONTRACT)] == CONTRACT
    found = search(gpus=64)
    frame = found.to_frame()
    assert tuple(frame) == PLAN.names
    assert len(frame) == len(found)
    few = found.to_frame(np.array([3, 1]))
    assert few["layout"].tolist() == [str(found.layouts[3]), str(found.layouts[1])]


def test_absent_is_null():
    found = search(layouts=table("tp8,pp16,dp8", "tp8,pp9,dp14,cp2,v2", "tp1,pp256,dp4"))
    frame = found.to_frame()
    assert frame["feasible_rank"].isna().all()
    assert frame["ep_link"].isna().all()
    assert frame["cp_link"].tolist() == [None, "nic", None]
    assert frame["stage_layers"].tolist()[0] == "7, 14×8, 7"
    assert frame["stage_layers"].tolist()[1] == "18×7"
    assert frame["stage_layers"].isna().tolist() == [False, False, True]
    assert not frame["fits"][0]
    feasible = search(layouts=table("tp8,pp8,dp8,cp2")).to_frame()
    assert feasible["eliminated_because"].isna().all()
    assert feasible["would_fit"].isna().all()
    assert feasible["feasible_rank"].tolist() == [1]


def test_a_step_is_the_sum_of_its_parts():
    found = search()
    cost = found.costs
    busy = cost.compute_s * cost.imbalance * (1 + cost.bubble)
    whole = busy + cost.times.exposed_s.sum(axis=0) + cost.taxed.tax_s
    np.testing.assert_allclose(cost.step_s, whole)
    rate = 1_024 * 989e12 * cost.step_s
    np.testing.assert_allclose(
        cost.step_mfu(found.setting), 6 * 405e9 * 2_048 * 8_192 / rate
    )


@pytest.mark.parametrize("name", ["tp", "pp", "cp", "ep", "dp"])
def test_what_is_hidden_of_a_dimension_costs_no_time(name):
    one = Layouts.of([Layout(tp=8, pp=4, dp=8, cp=4, ep=8)])
    asked = {"model": MIXTURE, "layouts": one}
    hidden = search(**asked, assumptions=Assumptions(exposed=Exposed(**{name: 0.0})))
    half = search(**asked, assumptions=Assumptions(exposed=Exposed(**{name: 0.5})))
    row = DIMENSIONS.index(name)
    sent_s = half.costs.times.sending_s[row, 0]
    assert sent_s > 0
    gain = half.costs.step_s[0] - hidden.costs.step_s[0]
    assert gain == pytest.approx(0.5 * sent_s)


@given(st.floats(0, 100), st.floats(0.01, 100), st.sampled_from([1, 8, 64]))
def test_dp_is_exposed_for_what_is_longer_than_what_it_runs_beside(sent_s, busy_s, d):
    one = Layouts.of([Layout(8, 16, d)])
    m = 2_048 / d

    def exposed(sharding):
        training = replace(TRAINING, sharding=sharding)
        return dp_exposed_s(training, one, np.array([sent_s]), np.array([busy_s]))[0]

    assert exposed("optimizer") == pytest.approx(max(0, sent_s - busy_s / m))
    assert exposed("parameters") == pytest.approx(max(0, sent_s - busy_s))
    # each microbatch's gradients beside the next, the last beside none that follows
    assert exposed("gradients") <= exposed("optimizer") + 1e-9
    assert exposed("gradients") >= max(0, sent_s - busy_s) - 1e-9


def test_efficiency_of_links_and_mfu_lengthen_what_they_should():
    usual = search(layouts=table("tp8,pp16,dp8")).costs
    slow = search(
        layouts=table("tp8,pp16,dp8"),
        assumptions=Assumptions(mfu=0.2, nvlink_efficiency=0.8, nic_efficiency=0.5),
    ).costs
    assert slow.compute_s[0] == pytest.approx(2 * usual.compute_s[0])
    assert slow.times.nvlink_s[0] == pytest.approx(usual.times.nvlink_s[0] / 0.8)
    assert slow.times.nic_s[0] == pytest.approx(usual.times.nic_s[0] / 0.5)


def test_experts_take_every_divisor_of_their_number():
    found = search(model=DEEPSEEK_V3, gpus=64, virtual_stages=(1,))
    assert set(found.layouts.ep.tolist()) == {2**power for power in range(9)}
    assert (found.layouts.ep[found.feasible] <= 64).all()


def test_named_layouts_are_judged_alone_and_found_again():
    found = search(layouts=table("tp8,pp16,dp8", "tp8,pp8,dp8,cp2"))
    assert len(found) == 2
    assert found.find(parse_layout("tp8,pp8,dp8,cp2")) == 1
    with pytest.raises(SynctaxError, match="tp8,pp16,dp4 is none of the 2 of this plan"):
        found.find(parse_layout("tp8,pp16,dp4"))
    again = only(found, [parse_layout("tp8,pp8,dp16")])
    assert again.setting is found.setting
    assert str(again.layouts[0]) == "tp8,pp8,dp16"


ODD = [
    ({"gpus": 0}, "gpus is 0; expected a whole number of 1 or more"),
    ({"virtual_stages": ()}, "virtual stages are"),
    ({"virtual_stages": (0, 1)}, "virtual stages are"),
    ({"training": replace(TRAINING, batch=0)}, "batch is 0"),
    ({"training": replace(TRAINING, sequence=-1)}, "sequence is -1"),
    ({"training": replace(TRAINING, microbatch=0)}, "microbatch is 0"),
    ({"platform": replace(H100, domain=0)}, "domain is 0"),
    ({"platform": replace(H100, gpus_per_host=0)}, "gpus_per_host is 0"),
    ({"platform": replace(H100, nic_gb_per_s=0.0)}, "nic_gb_per_s is 0"),
    ({"platform": replace(H100, bf16_tflops=np.nan)}, "bf16_tflops is nan"),
    (
        {"assumptions": Assumptions(mfu=1.2)},
        "mfu is 1.2; expected a share",
    ),
    ({"assumptions": Assumptions(mfu=0.0)}, "mfu is 0"),
    ({"assumptions": Assumptions(nic_efficiency=2.0)}, "nic_efficiency is 2"),
    (
        {"assumptions": Assumptions(reserve_bytes=80e9)},
        "reserve_bytes is 8e+10; expected less",
    ),
    ({"assumptions": Assumptions(exposed=Exposed(tp=1.5))}, "exposed.tp is 1.5"),
    ({"assumptions": Assumptions(exposed=Exposed(dp=-0.5))}, "exposed.dp is -0.5"),
]


@pytest.mark.parametrize(("asked", "said"), ODD)
def test_impossible_numbers_are_refused_by_name_and_value(asked, said):
    with pytest.raises(SynctaxError, match=re.escape(said)):
        search(**asked)


def test_only_layouts_with_the_degrees_asked_are_judged_and_the_others_counted():
    every, few = search(), search(only={"tp": 8, "cp": 1})
    kept = (every.layouts.tp == 8) & (every.layouts.cp == 1)
    assert len(few) == kept.sum()
    assert np.array_equal(few.costs.step_s, every.costs.step_s[kept])
    counts = {note.reason: note.count for note in few.notes}
    assert counts["degrees_not_asked"] == (~kept).sum()
    with pytest.raises(SynctaxError, match=r"none of \d+ layouts has tp3"):
        search(only={"tp": 3})
