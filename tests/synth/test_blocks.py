"""Compute blocks whose time has a law that is known."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from synctax.synth import TRUTH_FILE, SynthJob, block_laws, expected_tau_us, truth, write
from synctax.synth.blocks import ended_blocks, mean_times_ns
from synctax.synth.program import build
from synctax.synth.simulate import initial_state, simulate_step
from tests.laws import examples
from tests.synth.block_times import simulated

JOB = SynthJob(
    tp=4, fsdp=1, layers=1, steps=4, tp_op="all_reduce", jitter_scope="block", seed=5
)
ROUNDING_US = 0.002


def kernel_times(job):
    """Times of all compute kernels (world, kernels), their means, and their blocks."""
    program = build(job)
    state = initial_state(job, program)
    times, means, block = [], [], []
    per_step = len(block_laws(job, program))
    for step in range(job.steps):
        made, state = simulate_step(job, program, state, step, delays=job.delays)
        times.append(made.duration_ns[:, program.compute])
        means.append(mean_times_ns(program))
        block.append(ended_blocks(program) + step * per_step)
    return np.hstack(times), np.concatenate(means), np.concatenate(block)


def block_times(job):
    """Times of all blocks in ns (world, blocks), and their means; the last one is open."""
    times, means, block = kernel_times(job)
    first = np.flatnonzero(np.diff(block, prepend=-1))  # a broadcast may open the job
    return np.add.reduceat(times, first, axis=1), np.add.reduceat(means, first)


def waits(job):
    return [row for row in truth(job).collectives() if row.status == "ok"]


@settings(max_examples=examples(10), deadline=None)
@given(
    st.builds(
        SynthJob,
        tp=st.integers(2, 3),
        fsdp=st.integers(1, 2),
        layers=st.integers(1, 2),
        steps=st.just(3),
        seed=st.integers(0, 99),
        tp_op=st.sampled_from(["all_reduce", "reduce_scatter"]),
        broadcast=st.booleans(),
        jitter=st.sampled_from([0.02, 0.3]),
        jitter_scope=st.just("block"),
        common_jitter=st.sampled_from([0.0, 0.05]),
        rank_jitter=st.sampled_from([0.0, 0.05]),
    )
)
def test_kernels_of_a_block_take_one_share_of_their_means(job):
    times, means, block = kernel_times(job)
    totals, mean_totals = block_times(job)
    share = (totals / mean_totals)[:, np.unique(block, return_inverse=True)[1]]
    # a kernel's two ends, and those of the block's two parts, are off by half a ns each
    assert (np.abs(times - means * share) <= 2.0).all()


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        ("normal", stats.norm()),
        ("student", stats.t(5)),
        ("gumbel", stats.gumbel_r()),
        ("frechet", stats.genextreme(-0.15)),
    ],
)
def test_block_times_have_the_law_that_was_asked_for(law, reference):
    job = replace(JOB, tp=64, steps=12, jitter_law=law, jitter=0.03)
    totals, means = block_times(job)
    z = (totals[:, :-1] / means[:-1] - 1) / 0.03
    draws = z.ravel() * reference.std() + reference.mean()
    assert stats.kstest(draws, reference.cdf).pvalue > 0.001
    assert z.std() == pytest.approx(1, abs=0.1)


def test_a_block_goes_on_into_the_next_step():
    totals, means = block_times(JOB)
    laws = block_laws(JOB)
    assert len(means) == JOB.steps * len(laws) + 1
    a_us = np.array([law.a_us for law in laws] * JOB.steps)
    assert_allclose(means[1:-1] / 1000, a_us[1:])
    # at the edges of the window one part of it is there
    assert (means[0] + means[-1]) / 1000 == a_us[0]
    assert len(np.unique(totals[:, 1:-1])) == totals[:, 1:-1].size


def test_ranks_wait_for_the_largest_block_time_and_for_nothing_else():
    totals, _ = block_times(JOB)
    rows = waits(JOB)
    assert len(rows) == totals.shape[1] - 2
    for row, total in zip(rows, totals[:, 1:-1].T, strict=True):
        assert row.tax_mean_us == pytest.approx((total.max() - total.mean()) / 1000)
        assert row.tax_max_us == (total.max() - total.min()) / 1000


@pytest.mark.parametrize("law", ["normal", "student", "gumbel", "frechet"])
@pytest.mark.parametrize("tp", [4, 16])
def test_the_tax_is_as_expected(law, tp):
    job = replace(JOB, tp=tp, steps=150, jitter_law=law)
    laws = block_laws(job)
    b_us = [law.b_us for law in laws] * job.steps
    z = simulated(job).measured_us / b_us[1:]  # the first is the head of the window
    expected = laws[0].tau_us(tp) / laws[0].b_us
    assert abs(np.mean(z) - expected) < 3.5 * np.std(z) / np.sqrt(len(z))


def test_the_expected_tax_is_the_mean_over_the_blocks_of_a_step():
    laws = block_laws(JOB)
    ten = expected_tau_us(JOB, 10)
    assert ten == pytest.approx(np.mean([law.tau_us(10) for law in laws]))
    assert expected_tau_us(JOB) == expected_tau_us(JOB, 4)


def test_every_block_has_a_gemm_where_layers_end_in_all_reduces():
    program = build(JOB)
    block = ended_blocks(program) % len(block_laws(JOB))
    names = [program.launches[i].kernel.name for i in program.compute]
    gemms = {b for b, name in zip(block, names, strict=True) if "nvjet" in name}
    gemms |= {b for b, name in zip(block, names, strict=True) if "gemm" in name}
    assert gemms == set(block)


def test_what_all_ranks_share_changes_no_wait():
    alone, shared = waits(JOB), waits(replace(JOB, common_jitter=0.1))
    assert_allclose(
        [row.tax_mean_us for row in alone],
        [row.tax_mean_us for row in shared],
        atol=ROUNDING_US,
    )
    alone, shared = (
        block_times(job)[0] for job in (JOB, replace(JOB, common_jitter=0.1, jitter=0))
    )
    assert np.ptp(shared, axis=0).max() == 0
    assert np.std(shared / shared.mean()) > np.std(alone / alone.mean())


def test_what_a_rank_keeps_makes_the_same_rank_last():
    rows = waits(replace(JOB, jitter=0, rank_jitter=0.05))
    assert len({row.straggler_rank for row in rows}) == 1
    with pytest.raises(ValueError, match="rank_jitter"):
        expected_tau_us(replace(JOB, rank_jitter=0.05))


def test_nothing_is_random_without_a_law():
    job = replace(JOB, jitter_law="none", common_jitter=0.1, rank_jitter=0.1)
    totals, means = block_times(job)
    assert_array_equal(totals, np.broadcast_to(means, totals.shape))
    assert {row.tax_max_us for row in waits(job)} == {0.0}
    assert expected_tau_us(replace(job, rank_jitter=0)) == 0


def test_the_truth_file_says_the_laws_of_blocks(tmp_path):
    write(JOB, tmp_path)
    known = json.loads((tmp_path / TRUTH_FILE).read_bytes())
    first = block_laws(JOB)[0]
    assert known["parameters"]["jitter_scope"] == "block"
    assert len(known["blocks"]) == 4
    assert known["blocks"][0] == {
        "number": 0,
        "op": "all_reduce",
        "kernels": 9,
        "a_us": first.a_us,
        "b_us": pytest.approx(0.02 * first.a_us),
        "law": "gumbel",
        "xi": 0.15,
    }


def test_the_truth_file_says_nothing_of_blocks_where_kernels_vary(tmp_path):
    write(replace(JOB, jitter_scope="kernel"), tmp_path)
    known = json.loads((tmp_path / TRUTH_FILE).read_bytes())
    assert "blocks" not in known
    assert not {"jitter_scope", "common_jitter"} & known["parameters"].keys()


def test_blocks_have_no_law_where_kernels_vary_one_by_one():
    with pytest.raises(ValueError, match="jitter_scope block"):
        block_laws(replace(JOB, jitter_scope="kernel"))


def test_blocks_need_collectives_between_them():
    with pytest.raises(ValueError, match="needs tp collectives between blocks, got tp 1"):
        replace(JOB, tp=1)
