"""The laws of kernel times."""

import numpy as np
import pytest
from scipy import stats

from synctax.synth.jitter import standard_draws
from synctax.synth.job import SynthJob
from synctax.synth.program import build
from synctax.synth.simulate import initial_state, simulate_step

N = 200_000
XI = 0.1


def draws(law, xi=XI):
    return standard_draws(np.random.default_rng(7), law, (N,), xi=xi)


@pytest.mark.parametrize("law", ["normal", "gumbel", "frechet"])
def test_every_law_has_mean_0_and_standard_deviation_1(law):
    z = draws(law)
    assert abs(z.mean()) < 0.01
    assert abs(z.std() - 1) < 0.02


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        ("normal", stats.norm()),
        ("gumbel", stats.gumbel_r()),
        ("frechet", stats.genextreme(-XI)),
    ],
)
def test_a_law_is_the_one_it_is_called(law, reference):
    loc, scale = reference.mean(), reference.std()
    assert stats.kstest(draws(law) * scale + loc, reference.cdf).pvalue > 0.001


def test_a_larger_shape_has_a_heavier_tail():
    assert np.quantile(draws("frechet", 0.3), 0.9999) > np.quantile(draws("gumbel"), 0.9999)


def test_none_draws_nothing():
    assert not draws("none").any()


@pytest.mark.parametrize("law", ["normal", "gumbel", "frechet"])
def test_kernels_have_the_relative_deviation_that_was_asked_for(law):
    job = SynthJob(tp=8, fsdp=8, jitter_law=law, jitter=0.05, layers=16)
    program = build(job)
    times, _ = simulate_step(job, program, initial_state(job, program), 0, delays=())
    mean_ns = np.array([program.launches[i].kernel.mean_ns for i in program.compute])
    share = times.duration_ns[:, program.compute] / mean_ns
    assert abs(share.mean() - 1) < 0.002
    assert abs(share.std() - 0.05) < 0.002


def test_ranks_and_steps_have_their_own_draws():
    job = SynthJob(tp=2, fsdp=1)
    program = build(job)
    state = initial_state(job, program)
    first, second = (
        simulate_step(job, program, state, step, delays=())[0].duration_ns[
            :, program.compute
        ]
        for step in (0, 1)
    )
    assert (first[0] != first[1]).any()
    assert (first != second).any()


def test_no_kernel_is_shorter_than_a_tenth_of_its_mean():
    job = SynthJob(jitter_law="normal", jitter=3.0)
    program = build(job)
    times, _ = simulate_step(job, program, initial_state(job, program), 0, delays=())
    mean_ns = np.array([program.launches[i].kernel.mean_ns for i in program.compute])
    share = times.duration_ns[:, program.compute] / mean_ns
    assert share.min() == pytest.approx(0.1)


def test_launches_take_their_fixed_time_and_a_random_part():
    job = SynthJob(tp=8, fsdp=8, cpu_jitter=0.3, layers=16)
    program = build(job)
    times, _ = simulate_step(job, program, initial_state(job, program), 0, delays=())
    fixed_ns = np.array([slot.cpu_ns for slot in program.slots])
    share = (times.slot_end_ns - times.slot_ns) / fixed_ns
    assert share.min() >= 1
    assert abs(share.mean() - 1.3) < 0.005
    assert (times.call_ns[0] != times.call_ns[1]).all()
