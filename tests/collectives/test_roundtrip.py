"""What `synth` made is what `measure` finds, to the nanosecond, whatever the options."""

import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synctax.collectives.load import load
from synctax.collectives.summary import ranks_text
from synctax.collectives.tax import measure
from synctax.synth import SynthJob, write
from synctax.synth.job import Delay
from tests.laws import examples

NS = 1e-3
"""One ns in µs."""


NOT_TOGETHER = "ranks do not leave this operation together"


def differences(job: SynthJob, **options: object) -> list[str]:
    """Every way in which what is measured differs from the truth."""
    with tempfile.TemporaryDirectory() as folder:
        write(job, Path(folder))
        truth = json.loads((Path(folder) / "truth.json").read_bytes())
        tax = measure(load([folder], workers=1), **options)  # type: ignore[arg-type]
    frame = tax.per_collective().astype(object)
    frame = frame.where(frame.notna(), None)
    # groups of two dimensions may have the same ranks; without metadata roles are not told
    told = job.metadata == "full"
    found = {
        (row.group * told, row.group_ranks, row[3], row.op): row
        for row in frame.itertuples(index=False)
    }
    wanted = {
        (c["group"] * told, ranks_text(tuple(c["group_ranks"])), c["index"], c["op"]): c
        for c in truth["collectives"]
    }
    wrong = [f"not in truth: {key}" for key in found.keys() - wanted.keys()]
    wrong += [f"not found: {key}" for key in wanted.keys() - found.keys()]
    for key in found.keys() & wanted.keys():
        row, true = found[key], wanted[key]
        wrong += [f"{key} {text}" for text in compare(row, true)]
    return sorted(wrong)


def compare(row: object, true: dict[str, object]) -> list[str]:
    """What differs between a row of `--per-collective` and the truth of it."""
    wrong = []
    same = {"n_ranks": "n_ranks", "status": "status"}
    if row.reason == NOT_TOGETHER and true["status"] == "partial":  # type: ignore[attr-defined]
        del same["status"]  # both are true: `invalid` is what is told
    # Of what ranks do not leave together no tax is told, also at the window's head, nor
    # of what one rank alone recorded.
    told = (
        true["n_ranks"] != 1 and true["status"] != "invalid" and row.reason != NOT_TOGETHER
    )  # type: ignore[attr-defined]
    if told:
        same |= {"straggler_rank": "straggler_rank", "fastest_rank": "fastest_rank"}
        for name in ("tax_max_us", "tax_median_us", "tax_mean_us"):
            got, want = getattr(row, name), true[name]
            if not abs(got - want) <= NS:
                wrong.append(f"{name}: {got} is not {want}")
    for mine, theirs in same.items():
        got, want = getattr(row, mine), true[theirs]
        if got != want:
            wrong.append(f"{mine}: {got} is not {want}")
    return wrong


def lost(size: int) -> st.SearchStrategy[dict[int, int]]:
    return st.dictionaries(st.integers(0, size - 1), st.integers(0, 2), max_size=size)


@st.composite
def jobs(draw: st.DrawFn, *, metadata: str = "full") -> SynthJob:
    tp, fsdp = draw(st.sampled_from([(2, 1), (4, 1), (2, 2), (1, 4), (2, 4), (4, 2)]))
    world = tp * fsdp
    # Without metadata ends alone tell siblings apart, and they are a µs from each other
    # here: less than what a few ends leave unknown of a drifting clock, and the few
    # prefetched all-gathers that are left of a short window end all at once.
    told = metadata == "full"
    hosts = draw(st.sampled_from([1, 2])) if told else 1
    ep = draw(st.sampled_from([1, 2])) if fsdp % 2 == 0 and told else 1
    may_lose = told or 1 in (tp, fsdp)
    delays = draw(
        st.lists(
            st.builds(
                Delay,
                rank=st.integers(0, world - 1),
                step=st.integers(0, 1),
                kernel=st.integers(0, 5),
                delay_us=st.integers(1, 20_000),
                side=st.sampled_from(["gpu", "cpu"]),
            ),
            max_size=2,
        )
    )
    return SynthJob(
        tp=tp,
        fsdp=fsdp,
        ep=ep,
        cp=draw(st.sampled_from([1, 2])) if fsdp % 2 == 0 and told else 1,
        microbatches=draw(st.sampled_from([1, 1, 2])),
        layers=draw(st.integers(1 if told else 2, 3)),
        steps=draw(st.integers(2, 3)),
        seed=draw(st.integers(0, 2**31)),
        tp_op=draw(st.sampled_from(["reduce_scatter", "all_reduce"])),
        broadcast=draw(st.booleans()) if metadata == "full" else False,
        coalesced=draw(st.sampled_from([1, 1, 3])),
        uneven=draw(st.booleans()) if metadata == "full" else False,
        jitter_law=draw(st.sampled_from(["normal", "gumbel", "frechet"])),
        jitter=draw(st.sampled_from([0.01, 0.05])),
        delays=tuple(delays),
        metadata=metadata,  # type: ignore[arg-type]
        seq=draw(st.booleans()),
        comms_id=draw(st.booleans()),
        nccl_names=draw(st.sampled_from(["new", "old", "symmetric"])),
        descriptions=draw(st.sampled_from(["torchtitan", "megatron"])),
        sibling_names=draw(st.sampled_from(["same", "distinct"])),
        stream_step=draw(st.sampled_from([0, 4])),
        hosts=hosts,
        clock_offset_us=draw(st.sampled_from([0.0, 250.0, -80.0])) if hosts > 1 else 0.0,
        clock_drift_ppm=draw(st.sampled_from([0.0, 5.0])) if hosts > 1 else 0.0,
        lost_head=draw(lost(world)) if may_lose else {},
        lost_tail=draw(lost(world)) if may_lose else {},
        start_skew_ms=draw(st.sampled_from([0.0, 30.0])),
        cuda_graphs=draw(st.booleans()),
        absolute_ts=draw(st.booleans()),
        layout=draw(st.sampled_from(["torchtitan", "torchtitan-old", "megatron", "flat"])),
        compress=draw(st.sampled_from(["none", "gz", "zst"])),
    )


rounds = settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@rounds
@given(jobs())
def test_a_job_with_metadata_is_measured_as_it_was_made(job: SynthJob) -> None:
    assert differences(job) == []


@rounds
@given(jobs(metadata="none"))
def test_a_job_without_metadata_is_measured_as_it_was_made(job: SynthJob) -> None:
    assert differences(job) == []


def test_whole_microseconds_are_measured_as_they_are_written() -> None:
    wrong = differences(SynthJob(whole_us=True, absolute_ts=True, seq=False))
    # Within the resolution there is no straggler; the truth orders what is written.
    assert [
        text for text in wrong if not text.split(": None is not ")[0].endswith("_rank")
    ] == []


def test_the_head_counts_where_it_is_asked_for() -> None:
    wrong = differences(SynthJob(), include_head=True)
    assert wrong
    assert all(text.endswith("status: ok is not head") for text in wrong)
