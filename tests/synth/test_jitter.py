"""The laws of kernel times."""

import numpy as np
import pytest
from scipy import integrate, stats

from synctax.synth.jitter import expected_maximum, standard_draws
from synctax.synth.job import SynthJob
from synctax.synth.program import build
from synctax.synth.simulate import initial_state, simulate_step

N = 200_000
XI = 0.1


def draws(law, xi=XI):
    return standard_draws(np.random.default_rng(7), law, (N,), xi=xi)


LAWS = ["normal", "student", "gumbel", "frechet"]


@pytest.mark.parametrize("law", LAWS)
def test_every_law_has_mean_0_and_standard_deviation_1(law):
    z = draws(law)
    assert abs(z.mean()) < 0.01
    assert abs(z.std() - 1) < 0.02


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        ("normal", stats.norm()),
        ("student", stats.t(5)),
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
    assert expected_maximum("none", 9, xi=XI) == 0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [4, 64])
def test_the_largest_of_n_draws_is_as_expected(law, n):
    largest = draws(law)[: N // n * n].reshape(-1, n).max(axis=1)
    error = largest.std() / np.sqrt(largest.size)
    assert abs(largest.mean() - expected_maximum(law, n, xi=XI)) < 3.5 * error


@pytest.mark.parametrize("law", LAWS)
def test_the_largest_grows_with_their_number_from_0(law):
    expected = [expected_maximum(law, n, xi=XI) for n in (1, 2, 3, 16, 4096)]
    assert expected[0] == pytest.approx(0, abs=1e-12)
    assert (np.diff(expected) > 0.1).all()


@pytest.mark.parametrize(
    ("n", "published"),
    # Harter, Expected values of normal order statistics, Biometrika 48 (1961)
    [(2, 0.56419), (4, 1.02938), (10, 1.53875), (100, 2.50759)],
)
def test_the_largest_of_normal_draws_is_the_published_one(n, published):
    assert expected_maximum("normal", n, xi=XI) == pytest.approx(published, abs=6e-6)


@pytest.mark.parametrize(
    ("law", "reference"), [("gumbel", stats.gumbel_r()), ("frechet", stats.genextreme(-XI))]
)
def test_closed_forms_agree_with_the_integral_of_quantiles(law, reference):
    n = 16
    mean, _ = integrate.quad(lambda p: reference.ppf(p ** (1 / n)), 0, 1)
    expected = (mean - reference.mean()) / reference.std()
    assert expected_maximum(law, n, xi=XI) == pytest.approx(expected, rel=1e-6)


def test_there_is_no_largest_of_no_draws():
    with pytest.raises(ValueError, match="needs n of at least 1, got 0"):
        expected_maximum("gumbel", 0, xi=XI)


@pytest.mark.parametrize("law", LAWS)
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
