"""Strategies: jobs with any mix of the options."""

from dataclasses import replace

from hypothesis import strategies as st

from synctax.synth import Delay, SynthJob
from synctax.synth.program import build

_PPM = st.sampled_from([-40.0, -3.5, 0.0, 7.25, 60.0])
_US = st.sampled_from([-1234.567, 0.0, 0.3, 250.0])


@st.composite
def jobs(draw):
    fsdp = draw(st.sampled_from([1, 2, 4]))
    job = SynthJob(
        tp=draw(st.integers(1, 3)),
        fsdp=fsdp,
        ep=draw(st.sampled_from([ep for ep in (1, 2, 4) if fsdp % ep == 0])),
        dp=draw(st.integers(1, 2)),
        cp=draw(st.sampled_from([cp for cp in (1, 2, 4) if fsdp % cp == 0])),
        layers=draw(st.integers(1, 2)),
        steps=draw(st.integers(1, 3)),
        microbatches=draw(st.sampled_from([1, 1, 2])),
        first_step=draw(st.integers(0, 12)),
        seed=draw(st.integers(0, 99)),
        tp_op=draw(st.sampled_from(["reduce_scatter", "all_reduce"])),
        broadcast=draw(st.booleans()),
        coalesced=draw(st.integers(1, 3)),
        uneven=draw(st.booleans()),
        jitter_law=draw(
            st.sampled_from(["normal", "student", "gumbel", "frechet", "none"])
        ),
        jitter=draw(st.sampled_from([0.0, 0.02, 0.3])),
        common_jitter=draw(st.sampled_from([0.0, 0.1])),
        rank_jitter=draw(st.sampled_from([0.0, 0.1])),
        cpu_jitter=draw(st.sampled_from([0.0, 0.1, 2.0])),
        fsdp_grad_payload_bytes=draw(st.sampled_from([None, 1, 50_000_000])),
        autograd_thread=draw(st.booleans()),
        run_ahead_steps=draw(st.integers(0, 2)),
        metadata=draw(st.sampled_from(["full", "none"])),
        seq=draw(st.booleans()),
        comms_id=draw(st.booleans()),
        distributed_info=draw(st.booleans()),
        nccl_names=draw(st.sampled_from(["new", "old", "symmetric"])),
        descriptions=draw(st.sampled_from(["torchtitan", "megatron"])),
        sibling_names=draw(st.sampled_from(["same", "distinct"])),
        truncate_ranks=draw(st.booleans()),
        stream_step=draw(st.integers(0, 2)),
        clock_offset_us=draw(_US),
        clock_drift_ppm=draw(_PPM),
        start_skew_ms=draw(st.sampled_from([0.0, 40.0])),
        cuda_graphs=draw(st.booleans()),
        sync_records=draw(st.sampled_from(["none", "full", "unresolved"])),
        absolute_ts=draw(st.booleans()),
        whole_us=draw(st.booleans()),
        layout=draw(
            st.sampled_from(
                ["torchtitan", "torchtitan-old", "tensorboard", "megatron", "flat"]
            )
        ),
        compress=draw(st.sampled_from(["none", "gz", "zst"])),
        cpu_ops_per_kernel=draw(st.integers(0, 5)),
        python_functions=draw(st.integers(0, 2)),
        truth_paths=draw(st.booleans()),
        marker=True,
    )
    ranks = st.integers(0, job.world - 1)
    scopes = ["kernel", "block"] if job.tp > 1 else ["kernel"]
    return replace(
        job,
        jitter_scope=draw(st.sampled_from(scopes)),
        hosts=draw(st.integers(1, min(3, job.world))),
        rank_clock_offset_us=draw(st.dictionaries(ranks, _US, max_size=2)),
        rank_clock_drift_ppm=draw(st.dictionaries(ranks, _PPM, max_size=2)),
        lost_head=draw(st.dictionaries(ranks, st.integers(0, 4), max_size=3)),
        lost_tail=draw(st.dictionaries(ranks, st.integers(0, 4), max_size=3)),
        write_ranks=draw(st.none() | st.lists(ranks, min_size=1).map(tuple)),
        delays=draw(
            st.lists(
                delays(job),
                max_size=2,
            ).map(tuple)
        ),
    )


def delays(job):
    rank, step = st.integers(0, job.world - 1), st.integers(0, job.steps - 1)
    delay_us = st.sampled_from([0.0, 300.0, 5_000.0])
    cpu = st.sampled_from(["cpu", "op", "gap", "call"])
    kernels = st.builds(
        Delay, rank, step, st.integers(0, 20), delay_us, st.just("gpu") | cpu
    )
    known = [
        f"{dimension.key}:{number}"
        for dimension, count in zip(*_counts(job), strict=True)
        for number in range(count)
    ]
    if not known:
        return kernels
    place = st.sampled_from(known)
    return kernels | st.builds(Delay, rank, step, st.none(), delay_us, cpu, place)


def _counts(job):
    program = build(job)
    return program.dimensions, program.per_step
