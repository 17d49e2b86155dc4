"""Four predictors behind one interface."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from synctax.errors import FitError
from synctax.evt.gev import fit_gev
from synctax.evt.gumbel import fit_gumbel
from synctax.evt.predict import fit_maxima
from synctax.evt.standard import standardise
from synctax.evt.tax import METHODS
from tests.evt.made import block_times, fit_all, normal_times
from tests.laws import examples

N = np.array([4.0, 16.0, 512.0])


def gumbel_times(instances: int, m: int, seed: int = 0):
    random = np.random.default_rng([seed, 102])
    return block_times(1_000 + 20 * random.gumbel(size=(instances, m)))


@settings(max_examples=examples(15))
@given(st.floats(0.1, 50), st.floats(0, 1e5), st.integers(0, 99))
def test_predictions_have_the_unit_of_the_times_and_forget_their_origin(scale, shift, seed):
    times = normal_times(60, 4, seed=seed)
    one, other = fit_all(times), fit_all(block_times(times.us * scale + shift))
    for method in one.methods:
        assert_allclose(other.tau_us(method, N), scale * one.tau_us(method, N), rtol=1e-4)


@settings(max_examples=examples(15))
@given(st.integers(0, 999))
def test_predictions_rise_with_n(seed):
    fitted = fit_all(normal_times(60, 4, seed=seed))
    for method in fitted.methods:
        assert (np.diff(fitted.tau_us(method, np.geomspace(4, 4e6, 20))) > -1e-9).all()


@settings(max_examples=examples(10))
@given(st.integers(0, 999))
def test_the_order_of_ranks_and_instances_changes_nothing(seed):
    times = normal_times(80, 4, seed=seed)
    random = np.random.default_rng(seed)
    shuffled = random.permutation(random.permuted(times.us, axis=1))
    one, other = fit_all(times), fit_all(block_times(shuffled))
    for method in METHODS:
        assert_allclose(other.tau_us(method, N), one.tau_us(method, N), rtol=1e-6)


def test_every_predictor_finds_the_wait_of_gumbel_ranks():
    fitted = fit_all(gumbel_times(4_000, 8))
    n = np.array([8.0, 32.0])
    assert fitted.methods == METHODS
    for method in METHODS:
        # the maximum of n Gumbel(0, 1) lies ln n above the mean of one
        assert_allclose(fitted.tau_us(method, n), 20 * np.log(n), rtol=0.05)


def test_the_formula_of_the_paper_is_kept():
    standard = standardise(normal_times(100, 4))
    fitted = fit_all(normal_times(100, 4))
    fit = fit_gumbel(standard.z)
    expected = standard.mean_b_us * (fit.loc + fit.scale * (np.euler_gamma + np.log(N / 4)))
    assert_allclose(fitted.tau_us("gumbel", N), expected)


@pytest.mark.parametrize("method", METHODS)
def test_fewer_ranks_than_were_fitted_are_refused(method):
    with pytest.raises(ValueError, match="fitted on groups of 4 ranks, asked for 3"):
        fit_all(normal_times(60, 4)).tau_us(method, np.array([8.0, 3.0]))


def test_a_method_that_cannot_be_fitted_leaves_the_others_alive():
    times = normal_times(40, 4)
    # maxima of so heavy a tail have no mean
    heavy = block_times(1 / np.random.default_rng(3).random((400, 4)) ** 1.7)
    fitted = fit_all(heavy)
    assert set(fitted.methods) >= {"gumbel", "lmoments"}
    assert "gev" not in fitted.methods
    with pytest.raises(FitError, match="no finite mean"):
        fitted.tau_us("gev", N)
    assert fitted.no_mean.shape >= 1
    assert fit_all(times).no_mean is None
    assert fit_all(times).refused == {}


def test_maxima_alone_tell_no_deviations():
    z = standardise(normal_times(60, 4)).z
    fitted = fit_maxima(z, m=4, b_us=20.0)
    assert fitted.methods == ("gumbel", "gev", "lmoments")
    with pytest.raises(FitError, match="give the times of all ranks"):
        fitted.tau_us("deviations", N)


def test_where_the_search_starts_does_not_move_the_gev():
    z = standardise(normal_times(200, 4)).z
    far = fit_gev(standardise(gumbel_times(200, 4)).z)
    one, other = fit_maxima(z, m=4, b_us=1.0), fit_maxima(z, m=4, b_us=1.0, start=far)
    assert one.gev is not None
    assert other.gev is not None
    assert other.gev.shape == pytest.approx(one.gev.shape, abs=1e-6)


def test_nothing_to_fit_is_refused_with_the_first_reason():
    assert fit_maxima(np.array([1.0, 2.0]), m=4, b_us=1.0).methods == ()
    with pytest.raises(FitError, match="needs 20 distinct block maxima"):
        fit_all(block_times(np.arange(12.0)[:, None] * np.ones(4)))


def test_notes_of_the_deviations_are_passed_on():
    assert [note.reason for note in fit_all(normal_times(50, 4)).notes] == ["no_tail"]
