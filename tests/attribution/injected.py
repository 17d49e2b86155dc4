"""Draws made-up jobs with one delay in them, and judges what attribution says of it."""

import random
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from synctax.attribution.attribute import Attribution
from synctax.attribution.culprits import CLASSES, SIDES
from synctax.attribution.labels import culprit_items, culprit_text
from synctax.attribution.results import Known
from synctax.graph.model import NodeKind
from synctax.synth import Delay, InjectedTruth, SynthJob, Truth, write
from synctax.synth.program import Program, build
from tests.attribution.examples import attributed

SIDES_DRAWN = ("gpu", "gpu", "op", "gap", "call")
LEAST_SIGMA = 5
AMOUNT_SHARE = 0.05


@dataclass(frozen=True)
class Case:
    """A job with one delay."""

    job: SynthJob
    delay: Delay


@dataclass(frozen=True)
class Verdict:
    """What became of a delay: `ok`, or what was wrong; `hidden` if it reached nothing."""

    what: str
    detail: str = ""


def draw(seed: int) -> Case:
    """Draw a small job and a delay: any kernel, rank and side, of any size that shows."""
    rng = random.Random(seed)
    tp, fsdp = rng.choice([2, 4]), rng.choice([1, 2])
    job = SynthJob(
        tp=tp,
        fsdp=fsdp,
        ep=rng.choice([1, fsdp]),
        layers=2,
        steps=3,
        seed=seed,
        sync_records=rng.choice(["none", "full", "unresolved"]),
        autograd_thread=rng.random() < 0.5,
        run_ahead_steps=rng.choice([0, 1]),
        tp_op=rng.choice(["all_reduce", "reduce_scatter"]),
        cuda_graphs=rng.random() < 0.2,
        stream_step=rng.choice([0, 3]),
        hosts=rng.choice([1, 2]),
        clock_offset_us=250.0,
        jitter=rng.choice([0.005, 0.02]),
        truth_paths=True,
    )
    program = build(job)
    side = rng.choice(SIDES_DRAWN)
    kernel: int | None = rng.randrange(len(program.compute))
    collective = ""
    if side != "gpu" and rng.random() < 0.3:
        kernel, collective = None, f"tp:{rng.randrange(_tp_collectives(program))}"
    # what a host runs ahead by hides short delays
    amount = 10 ** rng.uniform(1.5, 3.8) if side == "gpu" else rng.uniform(3000, 30_000)
    rank = rng.randrange(job.world)
    delay = Delay(rank, rng.choice([1, 2]), kernel, amount, side, collective)
    return Case(replace(job, delays=(delay,)), delay)


def _tp_collectives(program: Program) -> int:
    keys = [dimension.key for dimension in program.dimensions]
    return program.per_step[keys.index("tp")]


@cache
def _path_sigma_us(jitter: float) -> float:
    """Standard deviation of a path between two collectives: some five kernels."""
    return jitter * 150 * 5**0.5


def judge(case: Case, found: Attribution, known: Truth) -> Verdict:
    """Say whether the delay's collective is blamed on it: rank, culprit, side, amount."""
    injected = known.injected[0]
    if injected.index is None or injected.slack_us is None:
        return Verdict("hidden", "it reaches no collective")
    excess_us = injected.delay_us - injected.slack_us
    if excess_us < LEAST_SIGMA * _path_sigma_us(case.job.jitter):
        return Verdict("hidden", f"of {injected.delay_us} µs {excess_us:.0f} show")
    number = _number(found, injected)
    if number is None:
        return Verdict("not attributed", str(injected))
    return _compare(case, found, (injected, known), number)


def _number(found: Attribution, injected: InjectedTruth) -> int | None:
    matches = found.tax.matches
    for number, slot in enumerate(found.results.slot.tolist()):
        group = matches.groups[matches.group[slot]]
        here = (group.role, group.ranks, int(matches.index[slot]))
        if here == (injected.group, injected.group_ranks, injected.index):
            return number
    return None


def _compare(
    case: Case, found: Attribution, true: tuple[InjectedTruth, Truth], number: int
) -> Verdict:
    injected, known = true
    results, delay = found.results, case.delay
    rank = found.tax.matches.ranks[found.slow.rank[number]].rank
    side = SIDES[results.culprit_side[number]] if results.culprit_side[number] >= 0 else ""
    text = culprit_text(found, number)
    told_us, tax_us = results.culprit_ns[number] / 1e3, results.tax_ns[number] / 1e3
    due_us = min(tax_us, _due_us(injected, known))
    wrong = [
        name
        for name, good in (
            ("known", results.known[number] == Known.OK),
            ("rank", rank == delay.rank),
            ("side", side == ("gpu" if delay.side == "gpu" else "cpu")),
            ("culprit", _is_it(found, injected, number)),
            ("amount", abs(told_us - due_us) <= AMOUNT_SHARE * due_us),
        )
        if not good
    ]
    kind = CLASSES[results.culprit_class[number]]
    detail = f"{delay}: rank {rank}, {side} {kind} {text}, {told_us} of {due_us} µs"
    return Verdict(" ".join(wrong) or "ok", detail)


def _due_us(injected: InjectedTruth, known: Truth) -> float:
    """What the delay, or of a kernel its jitter too, adds to the collective's lateness."""
    if injected.side != "gpu":
        return injected.delay_us - (injected.slack_us or 0)
    for one in known.collectives():
        here = (one.group, one.group_ranks, one.index)
        if here == (injected.group, injected.group_ranks, injected.index) and one.lateness:
            return max(
                item.variation_ns / 1e3
                for item in one.lateness.variations
                if item.item.name == injected.kernel
            )
    raise AssertionError("the truth does not know the collective that was reached")


def _is_it(found: Attribution, injected: InjectedTruth, number: int) -> bool:
    items, row = culprit_items(found, number), int(found.results.culprit[number])
    if row < 0:
        return False
    name = found.texts[items.name[row]]
    if injected.side == "gpu":
        return name == injected.kernel
    if injected.side == "gap":
        return items.kind[row] == NodeKind.GAP
    if injected.side == "call":
        return "Launch" in name
    return items.kind[row] == NodeKind.SLICE and "Launch" not in name


def run(case: Case, directory: Path, options: dict[str, str] | None = None) -> Verdict:
    """Write, measure, attribute and judge a case."""
    known = write(case.job, directory)
    return judge(case, attributed(directory, **(options or {})), known)
