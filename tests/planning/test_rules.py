"""Why layouts are eliminated: each rule with the number that broke it, and its remedy."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.evt.tax import Curve, Deviations, TaxModel
from synctax.planning.inputs.named import read_platform
from synctax.planning.layout import Layout, Layouts, parse_layout
from synctax.planning.platform import Tier
from synctax.planning.remedies import memory_remedies
from synctax.planning.rule import always, divisors, keyed, nearest, seconds
from synctax.planning.search import judge, plan
from synctax.planning.setting import Setting
from synctax.planning.tax import plan_tax
from synctax.planning.training import ORDERS, Assumptions, Training
from tests.planning.made import DEEPSEEK_V3, GPT_128, LLAMA_405B, MIXTURE

H100 = read_platform("dgx-h100")
RACK = read_platform("gb200-nvl72")
TRAINING = Training(2_048, 8_192)
ROOMY = replace(H100, memory_bytes=1e15)


def judged(layout, model=LLAMA_405B, platform=ROOMY, training=TRAINING, **more):
    one = parse_layout(layout) if isinstance(layout, str) else layout
    gpus = more.pop("gpus", one.gpus)
    setting = Setting(model, platform, gpus, training, **more)
    return judge(setting, Layouts.of([one]))


def broken(found):
    return {rule.name for rule in found.eliminations if rule.broken[0]}


def told(found):
    row = np.array([0])
    return "; ".join(found.reasons(row)[0]), "; ".join(found.remedies(row)[0])


BROKEN = [
    (
        "gpus",
        {"layout": "tp8,pp16,dp4", "gpus": 1_024},
        "tp·pp·dp·cp = 512, not 1,024 GPUs",
        "dp 8",
    ),
    (
        "gpus",
        {"layout": "tp8,pp9,dp4", "gpus": 1_024},
        "tp·pp·dp·cp = 288, not 1,024 GPUs",
        "288 GPUs",
    ),
    (
        "heads",
        {
            "layout": "tp3",
            "model": replace(LLAMA_405B, kv_heads=3, ffn=53_247),
            "training": replace(TRAINING, sequence_parallel=False),
        },
        "128 heads mod tp 3 = 2",
        "tp 1",
    ),
    (
        "kv_heads",
        {"layout": "tp4", "model": replace(LLAMA_405B, kv_heads=6)},
        "6 KV heads mod tp 4 = 2, and tp mod 6 = 4: neither split nor copied evenly",
        "tp 2",
    ),
    (
        "mlp_width",
        {"layout": "tp8", "model": replace(LLAMA_405B, ffn=53_252)},
        "MLP width 53,252 mod tp 8 = 4",
        "tp 4",
    ),
    (
        "layers",
        {"layout": "tp8,pp64,dp1,v4"},
        "126 layers for pp·v = 256 chunks: less than one each, with the first and",
        "pp up to 32 with v 4",
    ),
    (
        "layers",
        {"layout": "tp8,pp128,dp1,v128"},
        "for pp·v = 16,384 chunks",
        "no chunks (v 1)",
    ),
    ("layers", {"layout": "pp129"}, "126 layers for pp·v = 129", "pp up to 43"),
    (
        "layers",
        {"layout": "pp2,v129", "training": Training(2_048, 8_192)},
        "126 layers for pp·v = 258",
        "v up to 128",
    ),
    (
        "batch",
        {"layout": "tp8,pp9,dp14"},
        "batch 2,048 mod b·d = 1·14 is 4",
        "batch 2,044 or 2,058",
    ),
    (
        "batch",
        {"layout": "tp8,dp4096"},
        "batch 2,048 mod b·d = 1·4,096 is 2,048",
        "batch 4,096",
    ),
    (
        "interleaving",
        {"layout": "tp8,pp9,dp8,v2"},
        "256 microbatches mod pp 9 = 4, and v is 2",
        "v 1, or batch 2,016",
    ),
    (
        "interleaving",
        {"layout": "tp8,dp8,v2"},
        "v 2 with pp 1: there are no stages to interleave",
        "v 1",
    ),
    (
        "context",
        {"layout": "tp8,cp6"},
        "sequence 8,192 mod 2·cp = 2·6 is 8",
        "cp 2, or a sequence of 8,184",
    ),
    (
        "context",
        {"layout": "tp1,cp8", "training": Training(2_048, 8_200)},
        "sequence 8,200 mod 2·cp = 2·8 is 8",
        "cp 4, or a sequence of 8,192",
    ),
    (
        "context",
        {"layout": "cp4", "training": Training(2_048, 8_191)},
        "sequence 8,191 mod 2·cp = 2·4 is 7",
        "cp 1, or a sequence of 8,184",
    ),
    (
        "sequence_parallel",
        {"layout": "tp8", "training": Training(2_048, 8_196)},
        "8,196 tokens of a rank mod tp 8 = 4 (with SP)",
        "tp 4, or no sequence parallelism",
    ),
    ("experts", {"layout": "tp8,dp8,ep8"}, "ep 8, and llama3-405b has no experts", "ep 1"),
    (
        "experts",
        {"layout": "dp24,ep3", "model": MIXTURE, "training": Training(2_400, 8_192)},
        "16 experts mod ep 3 = 1",
        "ep 2 or 4",
    ),
    (
        "expert_ranks",
        {"layout": "tp8,pp4,dp2,cp2,ep16", "model": MIXTURE},
        "dp·cp = 4 mod ep 16 = 4",
        "ep 4",
    ),
    (
        "expert_ranks",
        {
            "layout": "tp2,dp2,ep16",
            "model": MIXTURE,
            "training": replace(TRAINING, expert_tp=False),
        },
        "tp·dp·cp = 4 mod ep 16 = 4",
        "ep 4",
    ),
    (
        "expert_width",
        {
            "layout": "tp8,dp2,ep2",
            "model": replace(MIXTURE, experts=replace(MIXTURE.experts, ffn=8_196)),
        },
        "expert width 8,196 mod tp 8 = 4",
        "tp 4",
    ),
    (
        "shared_experts_width",
        {
            "layout": "tp8,dp2,ep2",
            "model": replace(
                MIXTURE, experts=replace(MIXTURE.experts, ffn=8_196, shared=1)
            ),
            "training": replace(TRAINING, expert_tp=False),
        },
        "shared experts width 8,196 mod tp 8 = 4",
        "tp 4",
    ),
    (
        "experts_sequence",
        {
            "layout": "tp8,dp2,ep2",
            "model": MIXTURE,
            "training": replace(TRAINING, sequence_parallel=False),
        },
        "ep 2 with tp 8 without sequence parallelism",
        "sequence parallelism",
    ),
    (
        "order",
        {
            "layout": "tp4,pp4,dp8,ep4",
            "model": MIXTURE,
            "training": replace(TRAINING, order=ORDERS[1]),
        },
        "as many replicas of experts as of all else, and ep 4 leaves 2 beside 8",
        "order tp-cp-ep-dp-pp",
    ),
    (
        "tp_domain",
        {"layout": "tp16,pp9,dp7", "platform": RACK, "training": Training(2_016, 8_192)},
        "16 does not tile the NVLink domain (72 mod 16 = 8: GPUs 64–79 straddle its end)",
        "tp 8, or 64 of the 72 GPUs of a domain",
    ),
]


@pytest.mark.parametrize(("rule", "asked", "reason", "remedy"), BROKEN)
def test_a_layout_tells_the_number_that_breaks_it_and_what_would_not(
    rule, asked, reason, remedy
):
    found = judged(**asked)
    assert broken(found) == {rule}
    said, cure = told(found)
    assert reason in said
    assert remedy in cure


def test_every_reason_is_told_and_none_hides_another():
    found = judged("tp16,pp4,dp7,ep2", platform=H100, gpus=1_024)
    assert broken(found) == {"gpus", "batch", "experts", "tp_domain", "memory"}
    assert len(told(found)[0].split("; ")) == 5


degree = st.sampled_from([1, 2, 3, 4, 7, 8, 12, 16, 24])


@given(
    st.builds(Layout, tp=degree, pp=degree, dp=degree, cp=degree, virtual_stages=degree),
    st.sampled_from([LLAMA_405B, GPT_128]),
    st.sampled_from([96, 1_000, 2_048]),
    st.sampled_from([1, 2]),
)
def test_what_can_run_divides(layout, model, batch, microbatch):
    t, p, d, c, v = layout.tp, layout.pp, layout.dp, layout.cp, layout.virtual_stages
    training = Training(batch, 8_192, microbatch)
    found = judged(
        layout, model, training=training, assumptions=Assumptions(tp_across_domains=True)
    )
    whole = batch % (microbatch * d) == 0
    runs = (
        model.heads % t == 0
        and (model.kv_heads % t == 0 or t % model.kv_heads == 0)
        and model.ffn % t == 0
        and p * v <= model.layers + 2
        and whole
        and (v == 1 or (p > 1 and batch // (microbatch * d) % p == 0))
        and (c == 1 or 8_192 % (2 * c) == 0)
        and (t == 1 or 8_192 % c or 8_192 // c % t == 0)
    )
    assert found.feasible[0] == runs


def test_latent_attention_has_no_kv_heads_to_split():
    odd = replace(DEEPSEEK_V3, kv_heads=3)
    assert broken(judged("tp8,pp2,dp8,ep8", odd)) == set()
    assert told(judged("tp8,pp2,dp8,ep8", replace(odd, heads=12)))[1] == "tp 4"


def test_tp_may_leave_the_domain_where_that_is_allowed():
    allowed = Assumptions(tp_across_domains=True)
    found = judged("tp16,pp8,dp8", assumptions=allowed)
    assert found.feasible[0]
    assert found.costs.times.nic_s[0] > 100


def test_a_domain_without_a_smaller_tp_has_no_remedy_but_a_larger_one():
    found = judged("tp2,dp2", platform=replace(ROOMY, domain=1, gpus_per_host=1))
    assert told(found)[1] == "tp 1"


@given(st.integers(1, 64), st.integers(1, 3_000))
def test_nearest_names_the_neighbours(value, number):
    allowed = divisors(number)
    assert (number % allowed == 0).all()
    near = [int(one) for one in nearest(allowed, value).replace(",", "").split(" or ")]
    beside = set(allowed[allowed < value][-1:]) | set(allowed[allowed >= value][:1])
    assert set(near) == beside


def test_words_are_said_once_for_what_is_the_same():
    calls = []
    words = keyed(lambda one: calls.append(one) or f"{one}", np.array([7, 8, 7]))
    assert words(np.array([2, 0])) == ["7", "7"]
    assert calls == [7]
    assert always("x")(np.array([3, 4])) == ["x", "x"]


def warns(found):
    return {rule.name for rule in found.cautions if rule.broken[0]}


def test_a_layout_that_brings_nothing_with_it_has_no_warning():
    assert warns(judged("tp8,pp2,dp8")) == set()


WARNED = [
    (
        "uneven_stages",
        {"layout": "tp8,pp16,dp8"},
        "126 layers over 16 stages: 14 of 8 and 2 of 7, and the output layer is worth",
    ),
    (
        "uneven_stages",
        {"layout": "tp8,pp16,dp8,v8"},
        "126 layers over 128 chunks: 126 of 1 and 2 of 0",
    ),
    (
        "kv_copies",
        {"layout": "tp16,pp9,dp7", "platform": replace(RACK, domain=64, memory_bytes=1e15)},
        "8 KV heads on 16 ranks of TP: 2 copies of each",
    ),
    (
        "without_sequence_parallelism",
        {"layout": "tp8", "training": replace(TRAINING, sequence_parallel=False)},
        "no sequence parallelism",
    ),
    (
        "memory_range",
        {"layout": "tp8,pp9,dp8", "platform": replace(H100, memory_bytes=100e9)},
        "of 100 GB: the upper end does not fit",
    ),
    (
        "dp_rails",
        {"layout": "tp4,pp9,dp7"},
        "DP leaves the domain with neighbours 4 ranks apart: on some hosts of 8 GPUs a",
    ),
    (
        "dp_tier_512",
        {
            "layout": "tp8,pp9,dp128",
            "platform": replace(ROOMY, tiers=(Tier(512, 7.0), Tier(8_192, 1.0))),
            "training": replace(TRAINING, order=ORDERS[0]),
        },
        "and is not outermost: 8 flows leave a block over uplinks for 73.1 NICs, no slower",
    ),
    (
        "pp_tier_512",
        {
            "layout": "tp8,pp128,dp8",
            "platform": replace(ROOMY, tiers=(Tier(512, 7.0),)),
            "training": replace(TRAINING, order=ORDERS[1]),
        },
        "PP crosses blocks of 512 GPUs",
    ),
]


@pytest.mark.parametrize(("rule", "asked", "reason"), WARNED)
def test_what_a_layout_brings_with_it_is_told_with_numbers(rule, asked, reason):
    found = judged(**asked)
    assert rule in warns(found)
    assert reason in "; ".join(found.warnings(np.array([0]))[0])


def test_what_crosses_a_tier_as_outermost_is_no_warning():
    platform = replace(ROOMY, tiers=(Tier(576, 7.0),))
    for order, layout in zip(ORDERS, ("tp8,pp9,dp8", "tp8,pp9,dp16"), strict=True):
        training = replace(TRAINING, order=order)
        found = judged(layout, platform=platform, training=training)
        assert not any("tier" in name for name in warns(found)), order


def test_a_tier_that_no_job_leaves_is_no_warning():
    platform = replace(ROOMY, tiers=(Tier(1_000, 7.0),))
    assert not any(
        "tier" in name for name in warns(judged("tp8,pp9,dp8", platform=platform))
    )


def test_stages_of_one_replica_are_outermost_in_either_order():
    platform = replace(ROOMY, tiers=(Tier(512, 7.0),))
    for order in ORDERS:
        training = replace(TRAINING, order=order)
        found = judged("tp8,pp126,dp1", platform=platform, training=training)
        assert not any("tier" in name for name in warns(found))


@pytest.mark.parametrize("layout", ["tp8,pp1,dp128,cp2", "tp8,pp1,dp1,cp128"])
def test_without_stages_the_next_dimension_is_outermost(layout):
    platform = replace(ROOMY, tiers=(Tier(512, 7.0),))
    assert not any("tier" in name for name in warns(judged(layout, platform=platform)))


def test_a_tax_far_beyond_its_fit_is_told():
    model = TaxModel(4, a_us=1e4, deviations=Deviations(curve=_curve(4.0, 64.0)))
    found = judged(
        "tp64,pp9",
        platform=replace(RACK, domain=64, memory_bytes=1e15),
        tax=plan_tax(model, "deviations"),
    )
    assert "extrapolated 16 times beyond the 4 of its fit" in _warned(found)


def test_a_tax_that_says_nothing_of_so_many_ranks_eliminates():
    model = TaxModel(4, a_us=1e4, deviations=Deviations(curve=_curve(4.0, 6.0)))
    found = judged("tp8,pp9,dp8", tax=plan_tax(model, "deviations"))
    assert broken(found) == {"tax_known"}
    said, cure = told(found)
    assert said == "8 ranks meet at a barrier, and deviations predicts a tax for up to 6"
    assert cure == "another method of the tax model"
    assert np.isnan(found.costs.step_s[0])


def _curve(*n):
    return Curve(n, tuple(100.0 * one for one in n), (None,) * len(n), (None,) * len(n))


def _warned(found):
    return "; ".join(found.warnings(np.array([0]))[0])


REMEDIED = [
    ("tp8,pp16,dp8", TRAINING, {"recompute", "more_cp", "more_pp"}),
    ("tp8,pp16,dp8", replace(TRAINING, microbatch=2), {"recompute", "more_cp"}),
    (
        "tp8,pp8,dp8,cp2",
        replace(TRAINING, shard_over="d"),
        {"recompute", "over", "more_cp"},
    ),
    (
        "tp8,pp16,dp8,cp2",
        replace(TRAINING, sequence_parallel=False),
        {"recompute", "sp", "more_cp"},
    ),
    ("tp8,pp8,dp8,cp2", replace(TRAINING, sharding="none"), {"sharding"}),
    ("tp4,pp32,dp8", TRAINING, {"recompute", "more_cp"}),
    ("tp2,pp32,dp8,cp4", replace(TRAINING, sharding="none"), {"more_tp"}),
    ("tp4,pp32,dp4,cp4", replace(TRAINING, microbatch=4), {"microbatch", "recompute"}),
]


@pytest.mark.parametrize(("layout", "training", "kinds"), REMEDIED)
def test_each_change_that_is_named_makes_the_layout_fit(layout, training, kinds):
    found = judged(layout, platform=H100, training=training)
    assert "memory" in broken(found)
    (named,) = memory_remedies(found.setting, found.layouts, np.array([0]))
    assert kinds <= {one.kind for one in named}
    for one in named:
        assert one.memory_bytes <= H100.memory_bytes
        assert one.step_s > 0
    others = [one.step_s for one in named if one.kind != "recompute"]
    assert others == sorted(others)


def test_fewer_layers_than_named_would_not_do():
    found = judged("tp8,pp16,dp8", platform=H100)
    (named,) = memory_remedies(found.setting, found.layouts, np.array([0]))
    recompute = named[0]
    assert recompute.what.startswith("recomputing 2 of 7.88 layers of a stage in full")
    # one layer less keeps 16 microbatches of it, less what it keeps anyway
    assert recompute.memory_bytes + 16 * (0.570e9 - 0.034e9) > H100.memory_bytes


def test_of_each_kind_the_smallest_change_is_named():
    found = judged("tp8,pp16,dp8", platform=H100)
    (named,) = memory_remedies(found.setting, found.layouts, np.array([0]))
    assert {one.kind: one.what for one in named}["more_cp"] == "cp 2, dp 4"
    training = replace(TRAINING, shard_over="d", microbatch=4)
    found = judged("tp8,pp8,dp16,cp4", platform=H100, training=training)
    (named,) = memory_remedies(found.setting, found.layouts, np.array([0]))
    assert {one.kind: one.what for one in named}["microbatch"] == "microbatch 2"


def test_no_change_is_named_after_which_the_layout_cannot_run():
    held = judged("tp8,pp16,dp8,cp512").costs.memory
    budget = float(held.state_bytes[0] + held.activation_bytes[0] / 3)
    found = judged("tp8,pp16,dp8,cp512", platform=replace(H100, memory_bytes=budget))
    (named,) = memory_remedies(found.setting, found.layouts, np.array([0]))
    # four times the ranks of CP would leave 4 tokens for 8 ranks of TP
    assert "more_cp" not in {one.kind for one in named}
    small = replace(H100, memory_bytes=64e9)
    found = judged("tp8,pp16,dp1", platform=small, training=TRAINING)
    assert not [one for one in _named(found) if one.kind.startswith("more")]


def _named(found):
    return memory_remedies(found.setting, found.layouts, np.array([0]))[0]


def test_what_fills_memory_to_the_last_byte_fits():
    needs = float(judged("tp8,pp9,dp8").costs.memory.memory_bytes[0])
    assert judged("tp8,pp9,dp8", platform=replace(H100, memory_bytes=needs)).feasible[0]
    less = replace(H100, memory_bytes=needs - 1e4)
    assert broken(judged("tp8,pp9,dp8", platform=less)) == {"memory"}


def test_tp_that_does_not_tile_is_led_to_less_of_it():
    found = judged("tp3,dp16", gpus=48)
    cures = found.remedies(np.array([0]))[0]
    # what the heads ask for is how this begins
    assert "tp 2 or 4, or 6 of the 8 GPUs of a domain" in cures
    assert "tp 2 or 4" not in cures


def test_what_no_single_change_makes_fit_says_how_far_it_is():
    found = judged("tp1,pp1,dp8", platform=H100)
    _, cure = told(found)
    least = re.fullmatch(
        r"no single change; with parameters sharded, .* and microbatches of 1 it still "
        r"needs 961 GB a GPU, and fits from (\d+) GPUs on \(dp \1\)",
        cure,
    )
    many = int(least[1])
    training = replace(TRAINING, recompute="full", sharding="parameters")
    for dp, fits in ((many, True), (many // 2, False)):
        then = judged(f"tp1,pp1,dp{dp}", platform=H100, training=training)
        assert then.feasible[0] == fits


def test_all_changes_at_once_are_named_where_they_are_enough():
    training = replace(TRAINING, sharding="none", microbatch=64)
    found = judged("tp8,pp4,dp16", platform=H100, training=training)
    _, cure = told(found)
    assert cure == (
        "no single change; parameters sharded, all layers recomputed in full and "
        "microbatches of 1 together: 20.5 GB"
    )


def test_no_number_of_gpus_is_named_that_would_not_do():
    found = judged("tp1,pp1,dp8", platform=replace(H100, memory_bytes=1e9))
    assert told(found)[1].endswith("it still needs 961 GB a GPU")
    # no batch can be shared by more
    found = judged("tp1,pp1,dp8", platform=H100, training=Training(8, 8_192))
    assert told(found)[1].endswith("it still needs 961 GB a GPU")


def test_a_number_of_gpus_that_divides_into_nothing_is_led_to_whole_hosts():
    found = judged("tp997", platform=H100, gpus=997)
    cures = found.remedies(np.array([0]))[0]
    assert [cure for cure in cures if cure.startswith("tp")] == [
        "tp 1, or 992 of the 997 GPUs",
        "tp 1, or no sequence parallelism",
    ]
    assert told(judged("tp1,pp997", gpus=997))[1] == "pp up to 1"
    (note,) = (one for one in found.notes if one.reason == "gpus_beyond_whole_hosts")
    assert note.count == 5
    assert "992 of the 997 are 124 hosts" in note.detail
    for gpus in (4, 8, 992):
        notes = judged(f"dp{gpus}", gpus=gpus).notes
        assert "gpus_beyond_whole_hosts" not in {one.reason for one in notes}


@given(st.sampled_from([12, 64, 100, 997, 1_000, 1_024]), st.data())
def test_degrees_that_are_named_divide_the_gpus(gpus, data):
    degree = st.sampled_from(divisors(gpus).tolist())
    tp, cp = data.draw(degree), data.draw(degree)
    if gpus % (tp * cp):
        return
    layout = Layout(tp, 1, gpus // (tp * cp), cp)
    cures = judged(layout, platform=H100, gpus=gpus).remedies(np.array([0]))[0]
    for cure in cures:
        for name, others in (("tp", cp), ("cp", tp)):
            begins = re.match(rf"{name} (\d+)(?: or (\d+))?(?=,|$)", cure)
            for degree in begins.groups() if begins else ():
                assert degree is None or gpus % (int(degree) * others) == 0
    assert len({*cures}) == len(cures)


def test_scores_that_are_kept_are_given_up_first():
    training = replace(TRAINING, batch=4_096, recompute="none")
    found = judged("tp8,pp32,dp8,cp2", platform=H100, training=training)
    named = _named(found)
    assert named[0].kind == "selective"
    selective = replace(training, recompute="selective")
    then = judged("tp8,pp32,dp8,cp2", platform=H100, training=selective)
    assert named[0].memory_bytes == then.costs.memory.memory_bytes[0]
    assert named[0].step_s == then.costs.step_s[0]
    # and no layer has to be recomputed in full
    assert "recompute" not in {one.kind for one in named}
    found = judged("tp8,pp16,dp16", platform=H100, training=training)
    full = _named(found)[0]
    assert full.kind == "recompute"
    assert full.what.startswith("recomputing 2 of 7.88 layers")
    assert "0 % more" not in full.what


def test_a_smaller_microbatch_divides_the_batch():
    """Of 2,048 sequences 3 do not go into a microbatch as 4 do."""
    training = replace(TRAINING, microbatch=6)
    large = replace(H100, memory_bytes=200e9)
    found = judged("tp8,pp8,dp8,cp2", platform=large, training=training)
    named = {one.kind: one.what for one in _named(found)}
    assert named["microbatch"] == "microbatch 4"
    smaller = replace(training, microbatch=4)
    assert judged("tp8,pp8,dp8,cp2", platform=large, training=smaller).feasible[0]


def test_more_changes_than_are_shown_are_counted():
    training = replace(TRAINING, shard_over="d", microbatch=2)
    small = replace(H100, memory_bytes=110e9)
    found = judged("tp4,pp16,dp16,cp4", platform=small, training=training)
    named = memory_remedies(found.setting, found.layouts, np.array([0]))[0]
    _, cure = told(found)
    shown = cure.count(" a step)")
    assert len(named) > shown == 4
    assert cure.endswith(f", or {len(named) - shown} more")


def test_layouts_that_recompute_all_they_can_get_no_such_remedy():
    found = judged(
        "tp8,pp4,dp8", platform=H100, training=replace(TRAINING, recompute="fit")
    )
    named = memory_remedies(found.setting, found.layouts, np.array([0]))[0]
    assert all(one.kind != "recompute" for one in named)


def test_memory_that_is_reserved_is_told():
    found = plan(
        LLAMA_405B,
        H100,
        1_024,
        TRAINING,
        Assumptions(reserve_bytes=5e9),
        layouts=Layouts.of([parse_layout("tp8,pp8,dp8,cp2")]),
    )
    assert "of 75 GB (5 GB in reserve)" in told(found)[0]


def test_nics_that_a_group_has_beside_its_one_are_told_where_they_count():
    found = judged("tp16,pp8,dp8", assumptions=Assumptions(tp_across_domains=True))
    assert "pooled_nics" in warns(found)
    shared = judged(
        "tp16,pp8,dp8",
        assumptions=Assumptions(tp_across_domains=True, pooled_nics=True),
    )
    saved = 8_117.5 / 50 - 8_117.5 / 400
    assert found.costs.step_s[0] - shared.costs.step_s[0] == pytest.approx(saved, rel=1e-3)
    said = _warned(found)
    assert "TP at the rate of one NIC a group: with the NICs of all its ranks in a" in said
    both = [seconds(float(one.costs.step_s[0])) for one in (shared, found)]
    assert f"domain a step takes {both[0]}, not {both[1]} (--pool-nics)" in said
    assert "pooled_nics" not in warns(shared)
    # one rank of each group in a domain has one NIC either way
    assert "pooled_nics" not in warns(judged("tp8,pp9,dp8"))


def test_racks_are_told_where_a_power_of_two_of_them_would_hold_groups():
    batch = replace(TRAINING, sequence=4_096)
    rack = replace(RACK, memory_bytes=1e15)
    found = judged("tp1,pp4,dp64,ep64", DEEPSEEK_V3, rack, batch)
    said = _warned(found)
    assert "EP leave the domain of 72 and would not leave one of 64: 256 GPUs are" in said
    assert "(--domain 64)" in said
    notes = {note.reason: note for note in found.notes}
    assert notes["smaller_domain"].count == int(found.feasible[0]) == 1
    fewer = replace(rack, domain=64)
    assert "smaller_domain" not in warns(
        judged("tp1,pp4,dp64,ep64", DEEPSEEK_V3, fewer, batch)
    )


@pytest.mark.parametrize("layout", ["tp8,pp9,dp14", "tp8,pp9,dp8", "tp8,pp2,dp4"])
def test_racks_that_are_filled_or_enough_are_no_warning(layout):
    found = judged(layout, platform=replace(RACK, memory_bytes=1e15))
    assert "smaller_domain" not in warns(found)


def test_each_tier_tells_its_own_flows():
    tiers = (Tier(512, 7.0), Tier(2_048, 2.0))
    found = judged(
        "tp8,pp128,dp8",
        platform=replace(ROOMY, tiers=tiers),
        training=replace(TRAINING, order=ORDERS[1]),
    )
    rules = {rule.name: rule for rule in found.cautions}
    assert rules["pp_tier_512"].broken[0]
    (said,) = rules["pp_tier_512"].reason(np.array([0]))
    assert "8 flows leave a block over uplinks for 73.1 NICs, no slower" in said
    crowded = judged(
        "tp8,pp4,dp16,cp16",
        platform=replace(ROOMY, tiers=(Tier(64, 7.0), Tier(2_048, 2.0))),
        training=replace(TRAINING, order=ORDERS[0]),
    )
    (said,) = {rule.name: rule for rule in crowded.cautions}["dp_tier_64"].reason(
        np.array([0])
    )
    assert "8 flows leave a block over uplinks for 9.14 NICs, no slower" in said
