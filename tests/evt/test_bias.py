"""Predictors are biased where they are said to be, and a warning says so."""

import numpy as np
import pytest

from synctax.evt.predict import METHODS
from tests.bench.evt_bias import BIASED, SIZES, Result, laws, replicate, table


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {law.name: replicate(law, instances=1_000, replications=3) for law in laws()}


def bias(results, law, method, n):
    size = int(np.flatnonzero(n == SIZES)[0])
    at = METHODS.index(method)
    return results[law].bias[at, size], results[law].warned_share[at, size]


@pytest.mark.parametrize(
    ("law", "method", "n", "percent"),
    [
        ("iid normal", "gumbel", 512, 40),
        ("iid normal", "deviations", 16, 0),
        ("+ common variation", "gumbel", 16, 58),
        ("+ common variation", "gev", 16, 34),
        ("+ common variation", "deviations", 16, 0),
        ("Student t5", "gumbel", 512, -12),
        ("GEV 0.15", "gumbel", 512, -30),
        ("GEV 0.15", "gev", 16, 0),
        ("GEV 0.15", "deviations", 16, -9),
        ("uniform", "gumbel", 16, 35),
        ("uniform", "deviations", 16, 10),
    ],
)
def test_predictors_err_by_as_much_as_they_are_known_to(results, law, method, n, percent):
    found, _ = bias(results, law, method, n)
    assert 100 * found == pytest.approx(percent, abs=6)


def test_where_a_predictor_is_biased_a_warning_says_so(results):
    for name, result in results.items():
        silent = (abs(result.bias) >= BIASED) & (result.warned_share < 0.8)
        assert not silent.any(), name


def test_where_nothing_is_wrong_nothing_warns(results):
    for law, method in (
        ("iid normal", "gev"), ("iid normal", "deviations"), ("Gumbel", "gumbel"),
        ("GEV 0.15", "gev"), ("+ common variation", "deviations"),
    ):  # fmt: skip
        for n in (4, 16):
            found, warned = bias(results, law, method, n)
            assert abs(found) < BIASED
            assert warned < 0.4, (law, method)


def test_a_slow_rank_is_warned_of_whatever_the_future_holds(results):
    for law in ("slow, one of n", "slow, one of 4"):
        assert results[law].checks["rank_effect"] == 1
        assert results[law].checks["straggler"] == 1
        assert (results[law].warned_share == 1).all()


def test_the_table_marks_what_is_biased_in_silence(results):
    lines = table(results)
    assert len(lines) == 1 + len(results) * len(METHODS)
    assert not any("!" in line for line in lines)
    silent = {"x": Result(results["uniform"].error, np.zeros((4, 3, 3), bool), {})}
    assert any("!" in line for line in table(silent))
