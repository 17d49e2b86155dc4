"""Layouts that Llama 3 405B was trained with, among all that its GPUs have.

Llama 3 (arXiv 2407.21783), table 4, section 3.3.2: 16M tokens a step on H100, chunks of one
layer, so 8 a rank, the first chunk with the embedding and the last with the output alone;
optimizer states and gradients sharded. `Near` is said of a step that takes a share more
than the fastest feasible layout's.
"""

from dataclasses import replace

import numpy as np
import pytest

from synctax.evt.tax_file import builtin
from synctax.planning.explain.compare import compare
from synctax.planning.inputs.named import read_platform
from synctax.planning.layout import parse_layout
from synctax.planning.search import plan
from synctax.planning.tax import plan_tax
from synctax.planning.training import Assumptions, Training
from tests.planning.made import LLAMA_405B

H100 = read_platform("dgx-h100")
TAX = plan_tax(builtin("llama3-70b-h200"))
CHUNKS = (1, 2, 4, 8)
BUSY = Assumptions(mfu=0.55)
"""Share of the peak of computation alone, which the report does not tell. It is the round
value with which whole steps come nearest to the 43 %, 41 % and 38 % of table 4; that one
value gives all three is what can fail."""

SHORT = Training(2_048, 8_192, sharding="gradients", recompute="fit")
LONG = replace(SHORT, batch=128, sequence=131_072)

STAGES = {
    "8,192 GPUs": (8_192, SHORT, "tp8,pp16,dp64", 0.43),
    "16,384 GPUs": (16_384, SHORT, "tp8,pp16,dp128", 0.41),
    "131,072 tokens": (16_384, LONG, "tp8,pp16,dp8,cp16", 0.38),
}
NEAR = {"8,192 GPUs": 0.09, "16,384 GPUs": 0.06, "131,072 tokens": 0.0}


@pytest.fixture(scope="module")
def searched():
    """Search the GPUs of each stage once."""
    return {
        name: plan(LLAMA_405B, H100, gpus, training, BUSY, virtual_stages=CHUNKS, tax=TAX)
        for name, (gpus, training, _, _) in STAGES.items()
    }


@pytest.mark.parametrize("stage", STAGES)
def test_what_was_run_is_feasible_on_the_front_and_near_the_fastest(searched, stage):
    found = searched[stage]
    at = found.find(parse_layout(f"{STAGES[stage][2]},v8"))
    assert found.reasons(np.array([at])) == [[]]
    assert found.pareto[at]
    fastest = found.costs.step_s[found.feasible].min()
    assert found.costs.step_s[at] <= (1 + NEAR[stage]) * fastest


@pytest.mark.parametrize("stage", STAGES)
def test_one_speed_of_computation_gives_all_reported_mfus_within_4_percent(searched, stage):
    found = searched[stage]
    at = found.find(parse_layout(f"{STAGES[stage][2]},v8"))
    mfu = float(found.costs.step_mfu(found.setting)[at])
    assert mfu == pytest.approx(STAGES[stage][3], rel=0.04)


@pytest.mark.parametrize("stage", STAGES)
def test_without_chunks_and_recomputation_what_was_run_is_fastest(stage):
    gpus, training, layout, _ = STAGES[stage]
    as_it_is = replace(training, recompute="selective")
    found = plan(LLAMA_405B, H100, gpus, as_it_is, BUSY, virtual_stages=(1,), tax=TAX)
    assert found.feasible_rank[found.find(parse_layout(layout))] == 1


def test_chunks_in_flight_are_what_does_not_fit_on_8192_gpus():
    gpus, training, layout, _ = STAGES["8,192 GPUs"]
    as_it_is = replace(training, recompute="selective")
    found = plan(LLAMA_405B, H100, gpus, as_it_is, BUSY, virtual_stages=CHUNKS, tax=TAX)
    at = found.find(parse_layout(f"{layout},v8"))
    assert [rule.name for rule in found.eliminations if rule.broken[at]] == ["memory"]
    held = found.costs.memory
    # by the width of its MLP it is at the edge
    assert held.memory_bytes[at] == pytest.approx(87.4e9, rel=1e-3)
    assert held.memory_lo_bytes[at] == pytest.approx(80.3e9, rel=1e-3)


def test_what_is_faster_has_more_microbatches_by_giving_dp_to_cp(searched):
    found = searched["16,384 GPUs"]
    run = parse_layout("tp8,pp16,dp128,v8")
    at, best = found.find(run), int(found.ranked()[0])
    assert found.layouts.cp[best] > 1
    assert found.costs.microbatches[best] > found.costs.microbatches[at]
    said = compare(found, run, found.layouts[best]).words[0]
    assert said.startswith(f"{found.layouts[best]} is faster than {run}: ")
    assert "of bubble" in said.partition("paying")[0]


def test_without_cp_nothing_is_faster_than_what_was_run(searched):
    found = searched["16,384 GPUs"]
    at = found.find(parse_layout("tp8,pp16,dp128,v8"))
    short = found.feasible & (found.layouts.cp == 1)
    assert (found.costs.step_s[short] < found.costs.step_s[at]).sum() == 0


def test_tp_8_is_what_all_but_few_of_the_fastest_have(searched):
    found = searched["131,072 tokens"]
    first = found.ranked()[:10]
    assert (found.layouts.tp[first] == 8).all()
    assert found.layouts.cp[first].min() >= 16
