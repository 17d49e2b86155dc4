"""The tax model: what it predicts, what it refuses, and that a file gives it back."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

from synctax.errors import BadInputError, SynctaxError
from synctax.evt.fit import fit_evt_maxima
from synctax.evt.growth import growth_of_mean
from synctax.evt.options import Options
from synctax.evt.tau import doubling_us
from synctax.evt.tax import (
    METHODS,
    Covered,
    Curve,
    Deviations,
    Gev,
    Gumbel,
    LMoments,
    Origin,
    TaxModel,
)
from synctax.evt.tax_file import BUILTINS, builtin, from_json, read_tax, to_json
from synctax.workspace import Workspace
from tests.laws import examples

finite = st.floats(-1e6, 1e6)
positive = st.floats(1e-6, 1e6)
LLAMA = builtin("llama3-70b-h200")


@st.composite
def curves(draw):
    count = draw(st.integers(1, 5))
    ns = sorted(draw(st.sets(st.floats(2, 1e6), min_size=count, max_size=count)))
    value = st.lists(st.none() | positive, min_size=count, max_size=count)
    tau, width = draw(value), draw(value)
    lo = [
        None if t is None or w is None else t - w for t, w in zip(tau, width, strict=True)
    ]
    return Curve(tuple(ns), tuple(tau), tuple(lo), tuple(tau), draw(st.floats(0.1, 0.9)))


@st.composite
def covariances(draw, size):
    """Of any errors, and of parameters that go together, or not at all."""
    errors = draw(st.lists(st.floats(1e-3, 1e3), min_size=size, max_size=size))
    rho = draw(st.floats(0, 0.99))
    return tuple(
        tuple(a * b * (1.0 if i == j else rho) for j, b in enumerate(errors))
        for i, a in enumerate(errors)
    )


def cov(size):
    return st.none() | covariances(size)


models = st.builds(
    TaxModel,
    n_fit=st.integers(2, 64),
    group=st.none() | st.text(),
    blocks=st.none() | st.integers(0, 10**6),
    a_us=st.none() | positive,
    b_us=st.none() | positive,
    payload_bytes=st.none() | st.integers(1, 2**60),
    gumbel=st.builds(
        Gumbel,
        loc=finite,
        scale=positive,
        cov=cov(2),
        loglik=st.none() | finite,
    ),
    gev=st.none()
    | st.builds(Gev, loc=finite, scale=positive, shape=st.floats(-9, 9), cov=cov(3)),
    lmoments=st.none()
    | st.builds(LMoments, loc=finite, scale=positive, curve=st.none() | curves()),
    deviations=st.none() | st.builds(Deviations, threshold=finite, curve=curves()),
    gof=st.dictionaries(st.text(), st.none() | finite),
    coverage=st.none() | st.builds(Covered, share_of_tax=st.floats(0, 1)),
    source=st.builds(Origin, kind=st.text(), names=st.tuples(st.text())),
    reasons=st.dictionaries(st.sampled_from(METHODS), st.text()),
    warnings=st.tuples(st.text()),
    trusted=st.none() | st.just("gumbel"),
    segments=st.just(({"gpu": "H200", "tau_us": 3.25, "n": None},)),
)


def law(shape=0.1, **more):
    """A model that knows a law, by three methods."""
    return TaxModel(
        4,
        b_us=200.0,
        gumbel=Gumbel(0.8, 0.65),
        gev=Gev(0.8, 0.6, shape),
        lmoments=LMoments(0.81, 0.64),
        **more,
    )


# --------------------------------------------------------------------- prediction


@settings(max_examples=examples(40))
@given(models.filter(lambda m: m.b_us), st.floats(1, 1e5), st.floats(1, 1e5))
def test_the_gumbel_tax_never_falls_with_the_ranks(model, one, other):
    low, high = sorted([one, other])
    tau = model.tau_us(np.array([low, high]) * model.n_fit).tau_us
    assert tau[0] <= tau[1]


@given(st.integers(2, 4096), st.floats(0.01, 100), st.floats(-5, 5))
def test_every_doubling_adds_the_same(n_fit, scale, loc):
    model = TaxModel(n_fit, b_us=10.0, gumbel=Gumbel(loc, scale))
    tau = model.tau_us(n_fit * 2.0 ** np.arange(6)).tau_us
    assert_allclose(np.diff(tau), 10 * scale * np.log(2), rtol=1e-9, atol=1e-9)
    assert doubling_us(model) == pytest.approx(tau[1] - tau[0])


@settings(max_examples=examples(40))
@given(models.filter(lambda m: m.b_us), st.floats(0.1, 100))
def test_prediction_and_interval_scale_with_b(model, factor):
    n = model.n_fit * np.array([1.0, 3.0])
    model = replace(model, gumbel=replace(model.gumbel, curve=None))
    one, other = model.tau_us(n), replace(model, b_us=factor * model.b_us).tau_us(n)
    assert_allclose(other.tau_us, factor * one.tau_us, rtol=1e-9)
    assert_allclose(other.hi_us, factor * one.hi_us, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [-0.4, -1e-7, 0.0, 1e-7, 9e-6, 1.1e-5, 0.15, 0.5])
@pytest.mark.parametrize("k", [1, 2, 32])
def test_the_mean_of_a_gev_is_that_of_the_law(shape, k):
    law = stats.genextreme(-shape, 0.8, 0.6)
    mean, _ = integrate.quad(lambda p: law.ppf(p) * k * p ** (k - 1), 0, 1, limit=500)
    model = TaxModel(4, b_us=2.0, gev=Gev(0.8, 0.6, shape))
    assert model.tau_us(4.0 * k, "gev").tau_us[0] == pytest.approx(2 * mean, 1e-4)


def test_a_gev_without_shape_is_the_gumbel():
    model = replace(law(shape=0.0), gumbel=Gumbel(0.8, 0.6))
    n = np.array([4.0, 100.0])
    assert_allclose(model.tau_us(n, "gev").tau_us, model.tau_us(n).tau_us)


def test_the_built_in_tax_has_the_numbers_that_the_paper_implies():
    assert LLAMA.n_fit == 4
    assert LLAMA.payload_bytes == 268_435_456
    assert LLAMA.alpha_us == 5
    assert_allclose(
        LLAMA.tau_us([4, 128, 4096]).tau_us, [301.194, 754.27, 1207.346], atol=0.001
    )
    tau = LLAMA.tau_us(128)
    assert np.isnan(tau.lo_us).all()
    assert tau.interval == "none"
    assert LLAMA.methods == ("gumbel",)
    assert LLAMA.a_us is LLAMA.b_us is LLAMA.r is LLAMA.gumbel.loc is None


@pytest.mark.parametrize(
    ("n", "method", "words"),
    [
        (3, "gumbel", "n = 3 is below the 4 ranks of the fit"),
        (8, "gev", "has no gev prediction; it has gumbel"),
        (8, "deviations", "has no deviations prediction"),
    ],
)
def test_what_it_cannot_know_is_refused(n, method, words):
    with pytest.raises(SynctaxError, match=words):
        LLAMA.tau_us(n, method)


def test_the_reason_of_a_missing_prediction_is_said():
    model = replace(LLAMA, reasons={"gev": "ξ at its bound"})
    with pytest.raises(SynctaxError, match=r"no gev prediction \(ξ at its bound\)"):
        model.tau_us(8, "gev")


@pytest.mark.parametrize(
    ("model", "method", "name"),
    [
        (replace(law(), b_us=None), "gumbel", "b_us"),
        (replace(law(), b_us=None), "gev", "b_us"),
        (replace(law(), lmoments=LMoments(1.0)), "lmoments", "lmoments.scale"),
        (replace(law(), gev=Gev(1.0, 1.0)), "gev", "gev.shape"),
        (replace(law(), deviations=Deviations()), "deviations", "deviations.curve"),
    ],
)
def test_a_field_that_is_missing_is_named(model, method, name):
    with pytest.raises(SynctaxError, match=f"does not tell {name}, which"):
        model.tau_us(8, method)


def test_a_law_without_a_mean_predicts_nothing():
    with pytest.raises(SynctaxError, match="shape 1 has no mean"):
        law(shape=1.0).tau_us(8, "gev")


@pytest.mark.parametrize("n", [np.nan, np.inf])
def test_ranks_are_finite(n):
    with pytest.raises(ValueError, match="finite"):
        LLAMA.tau_us(n)


# ---------------------------------------------------------------------- intervals


def test_the_interval_of_the_gumbel_is_that_of_its_covariance():
    cov = ((0.02, 0.003), (0.003, 0.01))
    model = TaxModel(4, b_us=200.0, gumbel=Gumbel(0.8, 0.65, cov=cov))
    tau = model.tau_us(32, level=0.9)
    slope = np.array([1, np.euler_gamma + np.log(8)])
    error = 200 * np.sqrt(slope @ np.array(cov) @ slope)
    assert tau.interval == "delta"
    assert tau.level == 0.9
    assert_allclose(tau.hi_us - tau.tau_us, 1.6448536 * error, rtol=1e-6)
    assert_allclose(tau.tau_us - tau.lo_us, 1.6448536 * error, rtol=1e-6)


@pytest.mark.parametrize("shape", [0.0, 0.15])
def test_the_interval_of_the_gev_is_that_of_drawn_parameters(shape):
    cov = np.diag([1e-4, 4e-4, 9e-4])
    part = Gev(0.8, 0.65, shape, cov=tuple(map(tuple, cov)))
    tau = TaxModel(4, b_us=200.0, gev=part).tau_us(32, "gev")
    drawn = np.random.default_rng(1).multivariate_normal([0.8, 0.65, shape], cov, 4000)
    means = [200 * (one[0] + one[1] * growth_of_mean(np.log(8.0), one[2])) for one in drawn]
    assert (tau.hi_us - tau.tau_us)[0] == pytest.approx(1.96 * np.std(means), rel=0.06)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_lies_between_0_and_1(level):
    model = TaxModel(4, b_us=200.0, gumbel=Gumbel(0.8, 0.65, cov=((1, 0), (0, 1))))
    with pytest.raises(ValueError, match="level"):
        model.tau_us(8, level=level)


def test_a_curve_is_read_between_its_points_by_the_logarithm():
    curve = Curve((4, 16, 64), (10, 20, 30), (9, 18, None), (11, 22, 34), 0.9)
    model = law(deviations=Deviations(curve=curve))
    tau = model.tau_us([4, 8, 16, 32], "deviations")
    assert_allclose(tau.tau_us, [10, 15, 20, 25])
    assert_allclose(tau.hi_us, [11, 16.5, 22, 25 * np.sqrt(1.1 * 34 / 30)])
    assert_allclose(tau.lo_us, [9, 13.5, 18, np.nan])
    assert (tau.interval, tau.level) == ("bootstrap", 0.9)
    with pytest.raises(SynctaxError, match=r"n = 65 lies outside .*\(4 to 64 ranks\)"):
        model.tau_us(65, "deviations")


@given(st.floats(0.01, 0.9), st.floats(4, 64))
def test_between_its_points_an_interval_stays_the_same_factor_off(width, n):
    at, own = np.array([4.0, 64.0]), law(gof={})
    tau = own.tau_us(at, "gev").tau_us
    curve = Curve((4, 64), tuple(tau), tuple(tau * (1 - width)), tuple(tau / (1 - width)))
    bounded = replace(own, gev=replace(own.gev, curve=curve)).tau_us(n, "gev")
    assert_allclose(bounded.lo_us, bounded.tau_us * (1 - width))
    assert_allclose(bounded.hi_us, bounded.tau_us / (1 - width))


@pytest.mark.parametrize(
    "of_a_rank", [stats.norm(), stats.genpareto(0.2), stats.uniform(-1, 2)]
)
def test_a_curve_that_doubles_tells_what_lies_between(of_a_rank):
    def longest(n):
        return integrate.quad(lambda p: of_a_rank.ppf(p) * n * p ** (n - 1), 0, 1)[0]

    at = tuple(4 * 2.0 ** np.arange(6))
    none = (None,) * len(at)
    model = TaxModel(
        4, deviations=Deviations(curve=Curve(at, tuple(map(longest, at)), none, none))
    )
    between = [5.0, 6.0, 11.0, 90.0]
    found = model.tau_us(between, "deviations").tau_us
    assert_allclose(found, [longest(n) for n in between], rtol=1.5e-3)


def test_a_gap_of_a_curve_tells_nothing_of_what_lies_within():
    curve = Curve((4, 8, 16, 32, 64), (1, None, 3, 4, 5), *((None,) * 5,) * 2)
    model = TaxModel(4, deviations=Deviations(curve=curve))
    assert model.tau_us([16, 64], "deviations").tau_us.tolist() == [3, 5]
    with pytest.raises(SynctaxError, match="tells no tax at n = 6"):
        model.tau_us(6, "deviations")


def test_an_end_that_has_no_logarithm_is_read_straight():
    curve = Curve((4, 16), (10, 20), (-4, 0), (11, 22))
    tau = TaxModel(4, deviations=Deviations(curve=curve)).tau_us(8, "deviations")
    assert_allclose(tau.lo_us, -2)


def test_beyond_its_curve_a_law_still_predicts_but_has_no_interval():
    curve = Curve((4, 16), (10, 20), (9, 18), (11, 22))
    model = replace(law(), gumbel=Gumbel(0.8, 0.65, cov=((1, 0), (0, 1)), curve=curve))
    tau = model.tau_us([8, 17])
    assert np.isfinite(tau.tau_us).all()
    assert np.isfinite(tau.lo_us).tolist() == [True, False]


@pytest.mark.parametrize(
    ("part", "method"),
    [
        ({"lmoments": LMoments(0.8, 0.6)}, "lmoments"),
        (
            {"gumbel": Gumbel(b_scale_us=1.0, tau_us=9.0, n=8, cov=((1, 0), (0, 1)))},
            "gumbel",
        ),
    ],
)
def test_without_a_covariance_of_what_is_used_there_is_no_interval(part, method):
    tau = TaxModel(4, b_us=2.0, **part).tau_us(8, method)
    assert tau.interval == "none"
    assert np.isnan([tau.lo_us, tau.hi_us]).all()


# --------------------------------------------------------------------------- files


@settings(max_examples=examples(40))
@given(models)
def test_a_file_gives_the_same_model_back(model):
    text = to_json(model)
    assert from_json(text, name="x") == model
    assert to_json(from_json(text, name="x")) == text


def test_every_field_is_written_and_what_is_unknown_is_null():
    told = json.loads(to_json(LLAMA))
    assert list(told)[:12] == [
        "schema", "n_fit", "group", "blocks", "maxima", "a_us", "r", "b_us",
        "payload_bytes", "alpha_us", "gumbel", "gev",
    ]  # fmt: skip
    assert told["schema"] == "synctax.tax/1"
    assert told["a_us"] is None
    assert told["gumbel"]["cov"] is None
    assert "unknown" not in told


def test_a_file_or_a_name_is_read(tmp_path):
    path = tmp_path / "tax.json"
    path.write_bytes(to_json(LLAMA))
    assert read_tax(path) == read_tax("llama3-70b-h200") == BUILTINS["llama3-70b-h200"]


def test_what_a_person_writes_by_hand_may_be_short():
    text = b"""{"schema": "synctax.tax/1", "n_fit": 4, "source": "a colleague",
        "gumbel": {"b_scale_us": 130.73, "tau_us": 754.27, "n": 128}, "gev": null}"""
    model = from_json(text, name="x")
    assert model.source == Origin("written", ("a colleague",))
    assert model.tau_us(128).tau_us[0] == 754.27


def test_keys_that_mean_nothing_are_named():
    text = b"""{"schema": "synctax.tax/1", "n_fit": 4, "colour": "red",
        "gumbel": {"loc": 1, "scale": 1, "xi": 0, "curve": null}, "gof": {"d": 0.1}}"""
    assert from_json(text, name="x").unknown == ("colour", "gumbel.xi")


def test_there_is_no_other_built_in_tax():
    with pytest.raises(SynctaxError, match="no built-in tax 'gpt5'; there is llama3"):
        builtin("gpt5")


def test_a_name_that_is_no_file_is_refused_with_the_names_there_are(tmp_path):
    with pytest.raises(SynctaxError, match=r"no such file.*llama3-70b-h200") as caught:
        read_tax(tmp_path / "none.json")
    assert caught.value.exit_code == 1
    with pytest.raises(SynctaxError, match="is a directory"):
        read_tax(tmp_path)


def test_a_file_too_large_to_be_a_tax_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("synctax.evt.tax_file.LARGEST_FILE_BYTES", 10)
    (tmp_path / "tax.json").write_bytes(bytes(11))
    with pytest.raises(BadInputError, match="more than 64 MiB"):
        read_tax(tmp_path / "tax.json")


GOOD = {
    "schema": "synctax.tax/1",
    "n_fit": 4,
    "b_us": 2.0,
    "gumbel": {"loc": 1.0, "scale": 1.0},
}


def curve(**changed):
    return {
        "n": [4, 8],
        "tau_us": [1, 2],
        "tau_lo_us": [0, 1],
        "tau_hi_us": [2, 3],
        "level": 0.9,
        **changed,
    }


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"schema": None}, 'with "schema": "synctax.tax/1", found no schema'),
        ({"schema": "synctax.measure/1"}, "found schema 'synctax.measure/1'"),
        ({"schema": "synctax.tax/2"}, "expected synctax.tax/1, found synctax.tax/2"),
        ({"schema": 3}, "found schema '3'"),
        ({"n_fit": None}, "missing required field n_fit"),
        ({"n_fit": 1}, "n_fit: expected 2 ranks or more.*, found 1"),
        ({"n_fit": 4.5}, "n_fit: expected int, found float"),
        ({"b_us": -1}, r"b_us: expected 1e-09 to 1e\+15 µs, found -1"),
        ({"b_us": "2 µs"}, r"b_us: expected float \| null, found str"),
        ({"payload_bytes": 0}, "payload_bytes: expected 1 byte to"),
        ({"alpha_us": -5}, "alpha_us: expected 0, or 1e-06 to"),
        ({"gumbel": None}, "at least one of gumbel, gev"),
        ({"gumbel": {}}, "gumbel: expected loc and scale.*; loc and scale missing"),
        ({"gumbel": {"loc": 1.0}}, "expected loc and scale.*scale missing"),
        ({"gumbel": {"tau_us": 1, "n": 8}}, "gumbel: expected .*; b_scale_us missing"),
        ({"gumbel": {"loc": 1, "scale": 0}}, "gumbel.scale: expected 1e-09 to"),
        ({"gumbel": {"loc": 1, "scale": 1, "n": 1}}, "gumbel.n: expected 2 ranks"),
        ({"gumbel": {"loc": 1, "scale": 1, "cov": [[1]]}}, "2 rows of 2 numbers, found 1"),
        ({"gumbel": {"loc": 1, "scale": 1, "cov": []}}, "2 rows of 2 numbers, found 0"),
        (
            {"gumbel": {"loc": 1, "scale": 1, "cov": [[-1, 0], [0, 1]]}},
            "gumbel.cov: expected variances",
        ),
        ({"gev": {"loc": [1]}}, r"gev.loc: expected float \| null, found array"),
        ({"gev": {"lr_p": 2}}, "gev.lr_p: expected a share from 0 to 1, found 2"),
        ({"coverage": {"share_of_tax": 1.5}}, "coverage.share_of_tax: expected a share"),
        ({"lmoments": {"curve": curve(n=[8, 4])}}, "lmoments.curve.n: expected ascending"),
        ({"lmoments": {"curve": curve(n=[0, 4])}}, "lmoments.curve.n: expected ascending"),
        ({"lmoments": {"curve": curve(n=[4])}}, "found 1 n, 2 tau_us, 2 tau_lo_us"),
        ({"lmoments": {"curve": curve(level=95)}}, "curve.level: expected a level"),
        (
            {"lmoments": {"curve": curve(tau_lo_us=[3, 1])}},
            "lo, tau, hi to ascend, found 3, 1, 2",
        ),
        ({"gof": {"d": "small"}}, "expected float"),
        ({"n_fit": 10**30}, "n_fit: expected "),
        ({"payload_bytes": 10**40}, "payload_bytes: expected "),
        ({"b_us": 1e300}, "b_us: expected 1e-09 to"),
        ({"alpha_us": 1e-300}, "alpha_us: expected 0, or 1e-06 to"),
        ({"gumbel": {"loc": 1e300, "scale": 1}}, "gumbel.loc: expected"),
        (
            {"gumbel": {"b_scale_us": 1, "tau_us": 1e308, "n": 8}},
            "gumbel.tau_us: expected",
        ),
        ({"gev": {"shape": -30}}, "gev.shape: expected -10 to 10, found -30"),
        ({"lmoments": {"curve": curve(tau_hi_us=[2, 1e300])}}, "more at n = 8"),
        (
            {"gumbel": {"loc": 1, "scale": 1, "cov": [[0.01, 0.5], [-0.9, 0.01]]}},
            "gumbel.cov: expected a covariance, symmetric",
        ),
        (
            {"gumbel": {"loc": 1, "scale": 1, "cov": [[1, 2], [2, 1]]}},
            "without negative eigenvalues",
        ),
        (
            {"gumbel": {"loc": 1, "scale": 1, "cov": [[1, 1e200], [1e200, 1]]}},
            "gumbel.cov: expected a covariance",
        ),
        (
            {"gumbel": {"loc": 1, "scale": 1, "b_scale_us": 9, "tau_us": 50, "n": 8}},
            "loc and scale give 4.54.* µs at n = 8, but b_scale_us and tau_us 50 µs",
        ),
        (
            {"gumbel": {"loc": 1, "scale": 1, "curve": curve(tau_lo_us=[0, 0])}},
            "interval at n = 4 does not hold the 3.15",
        ),
        ({"warnings": ["odd"], "concerns": [["gev"], []]}, "concerns: expected one entry"),
        ({"trusted": "gev"}, "trusted: expected one of the predictors in it, found gev"),
    ],
)
def test_what_cannot_be_is_refused_by_file_and_key(changed, words):
    document = {k: v for k, v in {**GOOD, **changed}.items() if v is not None}
    with pytest.raises(BadInputError, match=words) as caught:
        from_json(json.dumps(document).encode(), name="mine.json")
    assert str(caught.value).startswith("mine.json: ")


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff\xfe", b"[1]", b"null", b"[" * 100_000, b'{"n_fit": NaN}', b"a,b\n1"],
)
def test_what_is_no_json_object_is_refused(text):
    with pytest.raises(BadInputError, match=r"mine.json: expected a tax model"):
        from_json(text, name="mine.json")


def test_numbers_that_no_float_holds_are_refused():
    text = b'{"schema": "synctax.tax/1", "n_fit": 4, "b_us": 1e999, "gumbel": {}}'
    with pytest.raises(BadInputError, match=r"mine.json: (b_us: )?.*out of range"):
        from_json(text, name="mine.json")


def test_a_file_cut_anywhere_is_refused():
    text = to_json(LLAMA).rstrip()
    for end in range(len(text)):
        with pytest.raises(BadInputError):
            from_json(text[:end], name="x")


# ----------------------------------------------------------------- files by hand


def test_one_law_told_in_two_ways_is_no_contradiction():
    law = TaxModel(4, b_us=2.0, gumbel=Gumbel(1.0, 0.5))
    told = round(float(law.tau_us(64.0).tau_us[0]), 2)
    both = {"loc": 1, "scale": 0.5, "b_scale_us": 1, "tau_us": told, "n": 64}
    read = from_json(json.dumps({**GOOD, "gumbel": both}).encode(), name="x")
    assert_allclose(read.tau_us([4, 4096]).tau_us, law.tau_us([4, 4096]).tau_us)


def test_a_law_without_b_is_told_by_its_slope():
    part = Gumbel(1.0, 0.5, b_scale_us=10.0, tau_us=100.0, n=8)
    assert TaxModel(4, gumbel=part).tau_us(8).tau_us[0] == 100


def test_a_key_that_stands_twice_is_refused():
    text = json.dumps(GOOD)[:-1] + ', "n_fit": 8}'
    with pytest.raises(BadInputError, match="the key 'n_fit' stands twice"):
        from_json(text.encode(), name="x")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_editors_are_taken_off(encoding):
    assert from_json(json.dumps(GOOD).encode(encoding), name="x").n_fit == 4


def test_what_is_no_json_is_said_with_its_name():
    with pytest.raises(BadInputError, match="found no JSON: JSON is malformed"):
        from_json(b"nonsense", name="x")


def test_no_name_and_no_regular_file_are_refused(tmp_path):
    with pytest.raises(SynctaxError, match="the name of the tax is empty"):
        read_tax("")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SynctaxError, match="pipe: no regular file"):
        read_tax(tmp_path / "pipe")
    (tmp_path / "tax.json").symlink_to("pipe")
    with pytest.raises(SynctaxError, match="is no regular file; remove it"):
        Workspace(tmp_path).tax()


def test_a_curve_with_one_end_only_has_no_interval():
    curve = Curve((4, 64), (1, 2), (0.5, 1), (None, None))
    tau = TaxModel(4, deviations=Deviations(curve=curve)).tau_us(8, "deviations")
    assert tau.interval == "none"


def test_a_gap_of_a_curve_is_not_its_end():
    curve = Curve((4, 8), (None, None), (None, None), (None, None))
    model = TaxModel(4, deviations=Deviations(curve=curve))
    with pytest.raises(SynctaxError, match="tells no tax at n = 4"):
        model.tau_us(4, "deviations")


def test_the_interval_of_a_tail_at_the_end_of_means_is_finite():
    model = TaxModel(
        4, b_us=1.0, gev=Gev(0.0, 1.0, 1 - 1e-6, cov=tuple(map(tuple, np.eye(3) * 1e-9)))
    )
    tau = model.tau_us(8, "gev")
    assert np.isfinite([tau.tau_us, tau.lo_us, tau.hi_us]).all()


def test_doubts_are_those_of_the_method_where_that_is_known():
    model = TaxModel(4, warnings=("a", "b"), concerns=(("gev",), ("gumbel", "gev")))
    assert model.doubts("gumbel") == ("b",)
    assert model.doubts("gev") == ("a", "b")
    assert replace(model, concerns=()).doubts("gumbel") == ("a", "b")
    text = to_json(replace(model, gumbel=Gumbel(1.0, 1.0)))
    assert from_json(text, name="x").concerns == model.concerns


def test_a_model_keeps_whom_a_fit_trusts_and_no_doubt_of_how_far_it_was_asked():
    z = np.random.default_rng(1).gumbel(0.9, 0.6, 200)
    fit = fit_evt_maxima(z, n_fit=4, a_us=1e4, r=0.02, options=Options(resamples=20))
    assert "reach" in [one.name for one in fit.checked if one.fired]
    model = fit.tax_model()
    assert model.trusted == "gumbel"
    assert not any("the law decides" in text for text in model.warnings)
    assert len(model.concerns) == len(model.warnings)
