"""Bytes in the traces of made-up jobs against the formulas for what a GPU sends.

A job gets the payloads of a model's tensors, and how often it sends them is its program's:
the traces tell calls, payloads and groups, and `verify` makes bytes of a step of them. The
formulas are given the model and the layout alone.

====  ===========================================  =====================================
      payload (full buffer)                        calls of a step in the traces
====  ===========================================  =====================================
TP    activations, b·(s/c)·h in BF16               8·L·m gathers and scatters, or 4·L·m
                                                   all-reduces
CP    keys and values, 2·b·s·d_head·kv/t in BF16   L·m gathers and L·m scatters
FSDP  parameters of a layer over t in BF16, their  2·L·m gathers and L·m scatters, over
      gradients in FP32                            d·c ranks
DP    all gradients over t in FP32                 one all-reduce, over d·c ranks
EP    k copies of a rank's tokens in BF16          4·L·m all-to-alls
====  ===========================================  =====================================

b, s, h, k, L, m: sequences of a microbatch, tokens, width, experts of a token, layers and
microbatches. The model has no embedding, which `synth` does not gather either. Pipeline
parallelism is not compared: all ranks of a made-up job run one program, and stages do not.
"""

from dataclasses import dataclass, replace

import pytest

from synctax.collectives.load import load
from synctax.collectives.tax import measure
from synctax.planning.inputs.counted import counted
from synctax.planning.layout import Layout, Layouts
from synctax.planning.shape import Experts, Model
from synctax.planning.training import DIMENSIONS, Training
from synctax.planning.verify.job import Against, verify
from synctax.planning.verify.observed import observe
from synctax.planning.verify.plan_file import PlanRow
from synctax.planning.verify.planned import Planned
from synctax.planning.volumes import volumes
from synctax.synth import SynthJob, write

TOLERANCE = 0.01
LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, HEAD_DIM = 2, 1024, 2816, 16, 4, 64
SEQUENCE, STEPS = 2048, 2
TOP_K = 2
BF16, FP32 = 2, 4

LAYER = HIDDEN * HEAD_DIM * (2 * HEADS + 2 * KV_HEADS) + 3 * HIDDEN * FFN
"""Parameters of a layer: queries and output, keys and values, gate, up and down."""

MODEL = Model(
    name="made",
    layers=LAYERS,
    hidden=HIDDEN,
    heads=HEADS,
    kv_heads=KV_HEADS,
    ffn=FFN,
    vocabulary=1,
    parameters=float(LAYERS * LAYER),
    active_parameters=float(LAYERS * LAYER),
    gated=True,
    tied_embeddings=True,
    head_dim=HEAD_DIM,
)
EXPERTS = replace(MODEL, experts=Experts(8, TOP_K, 512))


@dataclass(frozen=True)
class Case:
    """A layout, how it is trained, and the dimensions whose bytes are compared."""

    layout: Layout
    compared: tuple[str, ...]
    microbatches: int = 1
    microbatch: int = 1
    sharding: str = "parameters"
    model: Model = MODEL
    options: tuple[tuple[str, object], ...] = ()
    told: Training | None = None

    @property
    def training(self) -> Training:
        batch = self.microbatch * self.microbatches * self.layout.dp
        return Training(batch, SEQUENCE, self.microbatch, sharding=self.sharding)

    def job(self) -> SynthJob:
        t, c = self.layout.tp, self.layout.cp
        tokens = self.microbatch * SEQUENCE // c
        reduced = self.layout.dp * c
        return SynthJob(
            tp=t,
            cp=c,
            ep=self.layout.ep,
            **({"fsdp": reduced} if self.sharding == "parameters" else
               {"fsdp": 1, "dp": reduced}),
            layers=LAYERS,
            steps=STEPS,
            microbatches=self.microbatches,
            tp_payload_bytes=BF16 * tokens * HIDDEN,
            cp_payload_bytes=BF16 * tokens * c * 2 * KV_HEADS * HEAD_DIM // t,
            fsdp_payload_bytes=BF16 * LAYER // t,
            fsdp_grad_payload_bytes=FP32 * LAYER // t,
            dp_payload_bytes=FP32 * LAYERS * LAYER // t,
            ep_payload_bytes=BF16 * tokens * TOP_K * HIDDEN // t,
            cpu_ops_per_kernel=0,
            **dict(self.options),
        )  # fmt: skip

    def predicted(self) -> dict[str, float]:
        training = self.told or self.training
        found = volumes(self.model, training, Layouts.of([self.layout]))
        return {name: float(getattr(found, f"{name}_bytes")[0]) for name in DIMENSIONS}


CASES = {
    "tp, gather and scatter": Case(Layout(4, 1, 1), ("tp",)),
    "tp, all-reduce": Case(
        Layout(4, 1, 1), ("tp",), microbatches=2, options=(("tp_op", "all_reduce"),)
    ),
    "fsdp": Case(Layout(1, 1, 4), ("dp",)),
    "fsdp, tp and microbatches": Case(
        Layout(2, 1, 4), ("tp", "dp"), microbatches=3, options=(("coalesced", 4),)
    ),
    "replicas": Case(
        Layout(2, 1, 4), ("tp", "dp"), microbatches=2, microbatch=2, sharding="none"
    ),
    "cp": Case(Layout(1, 1, 1, cp=4), ("cp", "dp")),
    "cp, tp and fsdp": Case(Layout(2, 1, 2, cp=2), ("tp", "cp", "dp"), microbatches=2),
    "cp in Megatron's groups": Case(
        Layout(2, 1, 2, cp=2), ("tp", "cp", "dp"), options=(("descriptions", "megatron"),)
    ),
    "ep": Case(Layout(1, 1, 4, ep=4), ("ep",), microbatches=2, model=EXPERTS),
    "ep of two with tp": Case(Layout(2, 1, 4, ep=2), ("ep",), model=EXPERTS),
}


def test_the_parameters_of_the_model_are_those_of_its_shape():
    embedding_and_norms = HIDDEN * (2 * LAYERS + 1 + 1)
    assert counted(MODEL).parameters - embedding_and_norms == MODEL.parameters


@pytest.fixture(scope="module", params=CASES)
def case_and_traces(request, tmp_path_factory):
    case = CASES[request.param]
    directory = tmp_path_factory.mktemp("made")
    write(case.job(), directory)
    read = load([str(directory)], workers=1)
    return case, read, measure(read)


def checked(found, predicted):
    """Bytes of each compared dimension, held against what is predicted."""
    case, read, tax = found
    row = PlanRow(
        case.layout, None, float(case.microbatches), float("nan"), predicted, feasible=True
    )
    against = Against(Planned(case.layout), row, bytes_tolerance=TOLERANCE)
    checks = verify(observe(read, tax.matches.groups), tax, against).checks
    return {one.role: one for one in checks if one.name == "bytes"}


def test_bytes_are_those_of_the_formulas_within_one_percent(case_and_traces):
    case = case_and_traces[0]
    found = checked(case_and_traces, case.predicted())
    assert {name: found[name].status for name in case.compared} == dict.fromkeys(
        case.compared, "ok"
    )


@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_two_percent_more_or_less_are_not(case_and_traces, factor):
    case = case_and_traces[0]
    other = {name: factor * value for name, value in case.predicted().items()}
    found = checked(case_and_traces, other)
    assert {found[name].status for name in case.compared} == {"broken"}


def test_calls_are_those_of_the_table(case_and_traces):
    case, _, tax = case_and_traces
    seen = tax.per_collective()
    passed = LAYERS * case.microbatches * STEPS
    calls = {
        "tp": 8 * passed,
        "cp": 2 * passed,
        "dp": 3 * passed,
        "ep": 4 * passed,
    }
    options = dict(case.options)
    if "tp_op" in options:
        calls["tp"] //= 2
    calls["dp"] += 2 * passed * (options.get("coalesced", 1) - 1)
    if case.sharding == "none":
        calls["dp"] = STEPS
    roles = {"dp": {"dp", "fsdp", "dp_cp"}}
    for name in case.compared:
        own = seen[seen.group.isin(roles.get(name, {name}))]
        counts = own.groupby("group_ranks").size()
        assert set(counts) == {calls[name]}


def test_another_sequence_is_told_of_what_depends_on_it(case_and_traces):
    case = case_and_traces[0]
    twice = replace(case.training, sequence=2 * SEQUENCE)
    found = checked(case_and_traces, replace(case, told=twice).predicted())
    for name in case.compared:
        assert found[name].status == ("ok" if name == "dp" else "broken")
        if name != "dp":
            assert found[name].because.startswith("2 times less")
