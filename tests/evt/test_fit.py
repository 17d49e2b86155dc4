"""From block times to a fit: laws, closed forms, refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

from synctax.errors import FitError, SynctaxError
from synctax.evt.envelope import envelope
from synctax.evt.fit import fit_evt, fit_evt_maxima
from synctax.evt.inputs import Given, pooled
from synctax.evt.intervals import interval
from synctax.evt.model import Coverage
from synctax.evt.options import Options
from synctax.evt.read_csv import read_block_times
from synctax.evt.tax import Origin
from synctax.evt.tax_file import from_json, to_json
from synctax.notes import Note
from synctax.schema import FIT_EVT
from tests.evt.simulated import SCALE_US, block_times, gumbel_ranks
from tests.laws import examples

QUICK = Options(resamples=4, n=(4, 8, 64))
"""Few resamples: where only point estimates count."""


@pytest.fixture(scope="module")
def fit():
    """Ranks by a Gumbel law, 8 a group, fitted on 4."""
    return fit_evt(gumbel_ranks(), options=Options(fit_ranks=4, resamples=60))


@pytest.fixture(scope="module")
def of_maxima():
    """Maxima of 4 ranks by a Gumbel law of known parameters."""
    z = np.random.default_rng(3).gumbel(0.8, 0.65, 400)
    return fit_evt_maxima(z, n_fit=4, a_us=10_000.0, r=0.02, options=Options(resamples=60))


# -------------------------------------------------------------------------- laws


@settings(max_examples=examples(5))
@given(st.floats(1e-3, 1e6))
def test_the_tax_is_in_the_unit_of_the_times(factor):
    times = gumbel_ranks(60, 4)
    one = fit_evt(times, options=QUICK)
    other = fit_evt(replace(times, us=factor * times.us), options=QUICK)
    for method in ("gumbel", "lmoments", "deviations"):
        assert_allclose(
            other.predicted(method)[0], factor * one.predicted(method)[0], rtol=1e-5
        )


@settings(max_examples=examples(5))
@given(st.permutations(range(4)))
def test_names_of_ranks_change_no_law(order):
    times = gumbel_ranks(60, 4)
    one, other = (
        fit_evt(replace(times, us=us), options=QUICK)
        for us in (times.us, times.us[:, order])
    )
    assert_allclose(one.z, other.z, rtol=1e-9)
    assert_allclose(one.predicted("gumbel")[0], other.predicted("gumbel")[0], rtol=1e-6)


@settings(max_examples=examples(5))
@given(st.floats(0, 1e5))
def test_a_longer_block_makes_nobody_wait_longer(more_us):
    times = gumbel_ranks(60, 4)
    one = fit_evt(times, options=QUICK)
    other = fit_evt(replace(times, us=times.us + more_us), options=QUICK)
    assert_allclose(other.predicted("gumbel")[0], one.predicted("gumbel")[0], rtol=1e-6)
    assert other.a_us == pytest.approx(one.a_us + more_us)


def test_the_same_seed_gives_the_same_bytes():
    one, again, other = (
        to_json(fit_evt(gumbel_ranks(60, 4), options=replace(QUICK, seed=seed)).tax_model())
        for seed in (0, 0, 1)
    )
    assert again == one
    assert other != one


def test_resamples_of_all_stages_are_told_of():
    told = []
    options = replace(QUICK, resamples=8)
    times = gumbel_ranks(60, 8), gumbel_ranks(60, 4, seed=2)
    fit_evt(*times, options=options, on_resample=lambda *done: told.append(done))
    done, totals = zip(*told, strict=True)
    # intervals, comparison; two sizes, each held out over ranks and time
    assert set(totals) == {8 + 8 + 4 * 2}
    assert list(done) == sorted(done)
    assert done[-1] == totals[-1]


# ------------------------------------------------------------------ what is known


def test_what_is_true_lies_in_the_interval(fit):
    # the mean wait of n ranks by a Gumbel law of scale s is s·ln n
    true_us = SCALE_US * np.log(fit.n)
    for method in ("gumbel", "gev"):
        tau, lo, hi = fit.predicted(method)
        assert ((lo < true_us) & (true_us < hi)).all(), method
        assert ((lo < tau) & (tau < hi)).all()


def test_deviations_of_skewed_ranks_have_no_interval_and_say_why(fit):
    # deviations from a mean of 4 hide how skewed ranks are: more data, same error
    assert fit.no_interval("deviations").startswith("no interval: times of ranks are skew")
    tau, lo, hi = fit.predicted("deviations")
    assert np.isfinite(tau).all()
    assert np.isnan([lo, hi]).all()
    frame = fit.to_frame()
    assert frame[["tau_deviations_lo_us", "tau_deviations_hi_us"]].isna().all(axis=None)
    model = from_json(to_json(fit.tax_model()), name="tax.json")
    curve = model.deviations.curve
    assert set(curve.tau_lo_us) == set(curve.tau_hi_us) == {None}
    assert None not in curve.tau_us
    assert model.reasons == {"deviations": fit.no_interval("deviations")}
    assert envelope(fit, FIT_EVT)["refused"] == {}


def test_deviations_of_bounded_ranks_have_no_interval_those_of_normal_ones_do():
    random = np.random.default_rng(1)
    bounded, normal = (
        fit_evt(block_times(1_000 + x), options=QUICK)
        for x in (random.uniform(-30, 30, (800, 4)), random.normal(0, 20, (800, 4)))
    )
    assert "end sooner than a normal" in bounded.no_interval("deviations")
    assert np.isnan(bounded.predicted("deviations")[1]).all()
    assert normal.no_interval("deviations") == ""
    assert np.isfinite(normal.predicted("deviations")[1:]).all()
    assert "deviations" not in normal.tax_model().reasons
    assert bounded.no_interval("gumbel") == ""


def test_no_lower_end_falls_with_more_ranks():
    # a light tail that few maxima tell badly: its intervals widen below, too
    z = np.random.default_rng(11).weibull(6.0, 40)
    found = fit_evt_maxima(z, n_fit=4, a_us=10_000.0, r=0.02, options=Options(resamples=60))
    tau, lo, _ = found.predicted("gev")
    assert (np.diff(lo) >= 0).all()
    raw, _ = interval(
        found.resampled.tau_us["gev"],
        found.resampled.resampled_us["gev"],
        blocks=found.resampled.memory.blocks,
        errors=found.resampled.log_errors["gev"],
    )
    assert (np.diff(raw) < 0).any()
    assert (lo <= tau).all()
    for name in ("tau_lo_us", "tau_gev_lo_us"):
        ends = [row[name] for row in found.quality.profile if row[name] is not None]
        assert (np.diff(ends) >= 0).all()


def test_of_very_many_instances_all_stages_take_some(monkeypatch):
    times = gumbel_ranks(400, 8)
    options = Options(resamples=80, n=(4, 8), fit_ranks=4)
    whole = fit_evt(times, options=options)
    monkeypatch.setattr("synctax.evt.resample.MOST_ROWS", 200)
    monkeypatch.setattr("synctax.evt.quality.MOST_ROWS", 200)
    some = fit_evt(times, options=options)
    details = {note.reason: (note.count, note.detail) for note in some.notes}
    assert details.keys() == {"resample_of_some", "gev_tests_of_some"}
    assert details["gev_tests_of_some"][0] == 800
    assert "the tests of the GEV take 200" in details["gev_tests_of_some"][1]
    for one, other in zip(whole.held_out, some.held_out, strict=True):
        assert one.error == other.error
        width, again = (x.error_hi - x.error_lo for x in (one, other))
        assert again == pytest.approx(width, rel=0.6)
    for one, other in zip(whole.segments, some.segments, strict=True):
        assert one.ratio == other.ratio
        width, again = (x.ratio_hi - x.ratio_lo for x in (one, other))
        assert again == pytest.approx(width, rel=0.4)


def test_scenarios_of_slow_ranks_stay_where_deviations_were_seen():
    random = np.random.default_rng(2)
    us = 1_000 + 20 * random.normal(size=(300, 4))
    us[:, 3] += 40
    found = fit_evt(block_times(us), options=Options(resamples=4))
    (said,) = [one.message for one in found.checked if one.name == "rank_effect"]
    # of 1,200 times a tenth: 72 ranks are the most of those asked for
    assert "with one such rank 72 wait" in said
    few = fit_evt(block_times(us[:30]), options=Options(resamples=4, n=(64,)))
    (said,) = [one.message for one in few.checked if one.name == "rank_effect"]
    assert "with one such rank 4 wait" in said


def test_parameters_of_maxima_are_found_again(of_maxima):
    law, n = of_maxima.fitted.gumbel, of_maxima.n
    assert abs(law.loc - 0.8) < 3 * law.loc_se
    assert abs(law.scale - 0.65) < 3 * law.scale_se
    tau, lo, hi = of_maxima.predicted("gumbel")
    true_us = 200 * (0.8 + 0.65 * (np.euler_gamma + np.log(n / 4)))
    assert ((lo < true_us) & (true_us < hi)).all()
    assert_allclose(tau, 200 * law.mean_z(n / 4))


def test_rows_go_from_the_fit_to_4096_by_doubling_with_landmarks(fit):
    assert fit.n.tolist() == [4, 8, 16, 32, 64, 72, 128, 256, 512, 1024, 2048, 4096]
    frame = fit.to_frame()
    assert tuple(frame.columns) == FIT_EVT.names
    assert frame["n"].tolist() == fit.n.tolist()
    assert_allclose(frame["reach"], fit.n / fit.m)


def test_the_size_of_the_group_is_among_the_rows():
    found = fit_evt(gumbel_ranks(60, 6), options=Options(fit_ranks=3, resamples=20))
    assert found.n.tolist()[:4] == [3, 6, 12, 24]
    assert {72, 512, 4096} <= set(found.n.tolist())
    odd = fit_evt(gumbel_ranks(60, 5), options=Options(fit_ranks=2, resamples=20))
    assert 5 in odd.n.tolist()


def test_measured_is_what_subsets_of_ranks_waited(fit):
    frame = fit.to_frame().set_index("n")
    us = gumbel_ranks().us
    assert frame["measured_us"][8] == pytest.approx((us.max(1) - us.mean(1)).mean())
    assert 0 < frame["measured_us"][4] < frame["measured_us"][8]
    assert frame["measured_us"][16:].isna().all()
    assert frame["tax_mean_us"].notna().tolist() == [n == 8 for n in frame.index]


def test_sizes_that_are_asked_for_are_answered():
    found = fit_evt(gumbel_ranks(60, 4), options=replace(QUICK, n=(512, 4, 100)))
    assert found.to_frame()["n"].tolist() == [4, 100, 512]


def test_the_tax_model_says_what_the_fit_says(fit):
    model = fit.tax_model()
    for method in ("gumbel", "gev", "lmoments", "deviations"):
        told, tau = model.tau_us(fit.n, method), fit.predicted(method)
        assert_allclose(told.tau_us, tau[0], rtol=1e-6)
        assert_allclose([told.lo_us, told.hi_us], tau[1:], rtol=1e-6)
    assert model.tau_us(100.0).interval == "bootstrap"
    assert (model.n_fit, model.blocks, model.maxima, model.group) == (4, 1, 400, "tp")
    assert model.r == pytest.approx(model.b_us / model.a_us)
    assert from_json(to_json(model), name="x") == model


def test_an_upper_end_beyond_every_time_is_none(fit):
    wild = {
        method: us * np.where(np.arange(len(us)) % 2, 1e20, 1e-20)[:, None]
        for method, us in fit.resampled.resampled_us.items()
    }
    resampled = replace(fit.resampled, resampled_us=wild, log_errors={})
    curve = replace(fit, resampled=resampled).tax_model().gumbel.curve
    assert set(curve.tau_hi_us) == {None}
    assert all(0 < lo < tau for lo, tau in zip(curve.tau_lo_us, curve.tau_us, strict=True))


def test_the_profile_of_the_gumbel_holds_its_prediction(fit):
    tau, _, _ = fit.predicted("gumbel")
    for row, value in zip(fit.quality.profile, tau, strict=True):
        assert row["tau_lo_us"] < value < row["tau_hi_us"]
    assert fit.quality.shape_lo < fit.fitted.gev.shape < fit.quality.shape_hi
    assert fit.quality.lr_p > 0.01


# ------------------------------------------------------------------------- pooling


def test_sets_are_pooled_by_cutting_to_the_smallest():
    found = fit_evt(gumbel_ranks(60, 8), gumbel_ranks(60, 4, seed=2), options=QUICK)
    assert found.m == 4
    assert found.z.size == 60 * 2 + 60
    frame = found.to_frame().set_index("n")
    assert frame["tax_mean_us"].notna().tolist() == [True, True, False]
    assert found.per_block()["n"].tolist() == [8, 4]
    assert {(one.n_fit, one.n) for one in found.held_out if one.kind == "ranks"} == {
        (2, 4),
        (4, 8),
    }
    assert set(found.per_instance()["block"]) == {"1: all_reduce 1", "2: all_reduce 1"}


def test_no_wait_of_other_blocks_stands_beside_a_prediction():
    random = np.random.default_rng(1)
    wide = block_times(5_000 + 100 * random.gumbel(size=(400, 4)))
    narrow, alike = (
        block_times(300 + spread_us * random.gumbel(size=(100, 8)))
        for spread_us in (5, 100)
    )
    # of 8 ranks only the narrow block was measured, of 4 both
    frame = fit_evt(wide, narrow, options=QUICK).to_frame()
    assert frame["measured_us"].isna().tolist() == [False, True, True]
    assert frame["tax_mean_us"].isna().tolist() == [True, True, True]
    frame = fit_evt(wide, alike, options=QUICK).to_frame()
    assert frame["measured_us"].isna().tolist() == [False, False, True]
    assert_allclose(frame["measured_us"][:2], frame["tau_us"][:2], rtol=0.1)


def test_a_set_that_carries_nothing_is_left_out_and_counted():
    found = fit_evt(gumbel_ranks(60, 4), gumbel_ranks(5, 4), Given(None), options=QUICK)
    assert found.z.size == 60
    note = next(one for one in found.notes if one.reason == "set_without_blocks")
    assert note.count == 2
    assert "needs 10 instances" in note.detail


def test_a_block_that_differs_only_on_ranks_that_are_cut_away_is_left_out():
    us = np.full((15, 3), 100.0)
    us[0, 2] = 101.0
    times = gumbel_ranks(60, 3)
    mixed = block_times(np.concatenate([times.us, us]), blocks=1)
    mixed = replace(mixed, blocks=(mixed.blocks[0], replace(mixed.blocks[0], name="flat")))
    mixed = replace(mixed, block=np.repeat([0, 1], [60, 15]))
    for seed in range(12):
        found = fit_evt(mixed, options=replace(QUICK, fit_ranks=2, seed=seed, n=(2, 3)))
        assert len(found.per_block()) == len(found.inputs.standard.times.blocks)
        if len(found.per_block()) == 1:
            break
    assert found.per_block()["block"].tolist() == ["all_reduce 1"]
    assert found.per_block()["instances"].tolist() == [60]


def test_coverage_sums_up_over_sets_that_tell():
    one = Coverage(10, 4, 200.0, 50.0, (Note("through_cpu", 6, "CPU"),))
    both = pooled([one, one])
    assert (both.collectives, both.entered, both.tax_share) == (20, 8, 0.25)
    assert len(both.left_out) == 2
    assert pooled([one]) is one
    assert pooled([one, None]) is pooled([]) is None


def test_what_a_set_tells_reaches_the_tax():
    one = Given(gumbel_ranks(60, 4), Coverage(100, 60, 9e3, 8e3), "tp", 4096)
    two = Given(gumbel_ranks(60, 4, seed=2), Coverage(100, 60, 9e3, 8e3), "dp", 8192)
    source = Origin("traces", ("a", "b"))
    model = fit_evt(one, two, options=QUICK, source=source).tax_model()
    assert model.group == "tp, dp"
    assert model.payload_bytes == 8192
    assert model.coverage.share_of_tax == pytest.approx(8 / 9)
    assert model.coverage.entered == 120
    assert model.source == source


# ------------------------------------------------------------------------ segments


def test_prediction_stands_beside_measurement_by_kind_of_block():
    slow = gumbel_ranks(100, 4, gpu="A100", dtype="fp32", phase="forward")
    slow = replace(slow, us=3 * slow.us, measured_us=3 * slow.measured_us)
    fast = gumbel_ranks(200, 4, seed=2, gpu="H200", dtype="bf16", phase="backward")
    found = fit_evt(slow, fast, options=replace(QUICK, resamples=60))
    frame = found.per_segment()
    assert frame["group"].tolist() == ["all", "tp", "tp"]
    assert frame["gpu"].tolist() == [None, "A100", "H200"]
    assert frame["instances"].tolist() == [300, 100, 200]
    assert frame["n"].tolist() == [4, 4, 4]
    assert_allclose(frame["ratio"], frame["tau_us"] / frame["tax_mean_us"])
    assert_allclose(frame["blocks_ratio"], frame["ratio"])
    assert ((frame["ratio_lo"] < 1) & (frame["ratio_hi"] > 1)).all()
    assert frame["b_us"][1] == pytest.approx(3 * frame["b_us"][2], rel=0.2)
    assert (frame["max_us_p99"] > frame["max_us_median"]).all()


def test_segments_of_groups_of_other_sizes_stand_apart():
    found = fit_evt(gumbel_ranks(60, 8), gumbel_ranks(60, 4, seed=2), options=QUICK)
    frame = found.per_segment()
    assert frame["n"].isna().tolist() == [True, False, False]
    assert frame["n"].tolist()[1:] == [8, 4]
    law, b_us = found.fitted.gumbel, found.inputs.standard.b_us
    assert frame["tau_us"][1] == pytest.approx(b_us[0] * law.mean_z(2.0))
    assert frame["tau_us"][2] == pytest.approx(b_us[1] * law.mean_z(1.0))


def test_without_measured_collectives_blocks_alone_are_compared():
    frame = fit_evt(gumbel_ranks(60, 4, tax_mean=False), options=QUICK).per_segment()
    assert frame[["tax_mean_us", "ratio", "ratio_lo"]].isna().all(axis=None)
    assert frame["blocks_ratio_lo"].notna().all()


@settings(max_examples=examples(5))
@given(st.sets(st.integers(0, 59), min_size=1, max_size=40))
def test_waits_that_were_not_measured_are_left_out_of_comparisons_and_counted(lost):
    times = gumbel_ranks(60, 4)
    times.measured_us[list(lost)] = np.nan
    found = fit_evt(times, options=QUICK)
    known_us = np.delete(times.wait_us, list(lost)).mean()
    frame = found.to_frame().set_index("n")
    assert frame["tax_mean_us"][4] == pytest.approx(known_us)
    overall = found.per_segment().iloc[0]
    assert overall["tax_mean_us"] == pytest.approx(known_us)
    assert overall["ratio"] == pytest.approx(overall["tau_us"] / known_us)
    assert overall["ratio_lo"] < overall["ratio"] < overall["ratio_hi"]
    assert found.per_block()["tax_mean_us"].tolist() == [pytest.approx(known_us)]
    note = next(one for one in found.notes if one.reason == "wait_not_measured")
    assert note.count == len(lost)


def test_prediction_and_measurement_are_of_the_same_collectives():
    calm = gumbel_ranks(60, 4, tax_mean=False)
    wild = gumbel_ranks(60, 4, seed=2, gpu="A100")
    wild = replace(wild, us=3 * wild.us, measured_us=3 * wild.measured_us)
    frame = fit_evt(calm, wild, options=replace(QUICK, resamples=20)).per_segment()
    overall, _, of_wild = (row for _, row in frame.iterrows())
    assert overall["ratio"] == pytest.approx(of_wild["ratio"])
    assert overall["tax_mean_us"] == pytest.approx(of_wild["tax_mean_us"])
    assert overall["tau_us"] < 0.8 * of_wild["tau_us"]
    assert "wait_not_measured" not in {
        note.reason for note in fit_evt(calm, options=QUICK).notes
    }


# -------------------------------------------------------------------------- tables


def test_blocks_are_told_with_what_they_were_predicted(fit):
    frame = fit.per_block()
    us = gumbel_ranks().us
    row = frame.iloc[0]
    assert (row["block"], row["n"], row["instances"]) == ("all_reduce 1", 8, 200)
    assert row["a_us"] == pytest.approx(us.mean())
    assert row["b_us"] == pytest.approx(us.std(ddof=1))
    assert row["tau_us"] == pytest.approx(row["b_us"] * fit.fitted.gumbel.mean_z(2.0))
    assert row["measured_us"] == pytest.approx(row["tax_mean_us"])


def test_block_times_that_are_written_are_read_back(fit, tmp_path):
    path = tmp_path / "times.csv"
    fit.per_instance().to_csv(path, index=False)
    times, notes = read_block_times(path)
    assert notes == ()
    again = fit_evt(times, options=fit.options)
    assert_frame_equal(again.to_frame(), fit.to_frame())


def test_checks_and_errors_are_rows(fit):
    assert {"reach", "shape", "common_variation"} <= set(fit.checks()["check"])
    assert fit.checks().set_index("check")["fired"]["reach"]
    errors = fit.holdout()
    assert_allclose(errors["error"], errors["predicted_us"] / errors["measured_us"] - 1)
    assert set(errors["kind"]) == {"ranks", "time"}


def test_the_envelope_is_json_with_everything(fit):
    import orjson

    told = json.loads(orjson.dumps(envelope(fit), option=orjson.OPT_SERIALIZE_NUMPY))
    assert told["fits"]["gumbel"]["scale"] == fit.fitted.gumbel.scale
    assert "curve" not in told["fits"]["gumbel"]
    assert told["predictor"] in ("gumbel", "gev", "deviations")
    assert len(told["checks"]) == len(fit.checked)
    assert len(told["segments"]) == len(fit.segments)
    assert told["coverage"] is None
    assert told["doubling_us"] == pytest.approx(
        fit.b_us * fit.fitted.gumbel.scale * np.log(2)
    )


def test_maxima_alone_have_no_ranks_to_tell_of(of_maxima):
    assert len(of_maxima.per_block()) == len(of_maxima.per_instance()) == 0
    assert of_maxima.segments == of_maxima.held_out == ()
    assert "deviations" in of_maxima.fitted.refused
    frame = of_maxima.to_frame()
    assert frame[["measured_us", "tau_deviations_us"]].isna().all(axis=None)
    assert {one.name for one in of_maxima.checked} == {"shape", "reach"}
    model = of_maxima.tax_model()
    assert (model.blocks, model.deviations) == (None, None)
    assert "maxima alone" in model.reasons["deviations"]


def test_the_gev_of_maxima_alone_has_the_interval_of_one_of_ranks(of_maxima, fit):
    for found in (of_maxima, fit):
        assert set(found.resampled.log_errors) == {"gev"}
        tau, lo, hi = found.predicted("gev")
        # not symmetric in the logarithm
        assert (abs(np.log(hi / tau) / np.log(tau / lo) - 1) > 0.01).any()


# ------------------------------------------------------------------------ refusals


def abrupt(instances=100):
    """Maxima that end abruptly: the shape of their GEV runs to its bound."""
    us = np.random.default_rng(0).uniform(0, 1, (instances, 4))
    us[:, 3] = 2 - np.random.default_rng(1).uniform(0, 1, instances) ** 4
    return block_times(us)


@pytest.mark.parametrize(
    ("times", "options", "words"),
    [
        (gumbel_ranks(9, 4), {}, "needs 10 instances of a compute block.*has 9; profile"),
        (gumbel_ranks(15, 4), {}, "needs 20 distinct block maxima, got 15"),
        (block_times(np.ones((60, 4))), {}, "all times of a block are equal"),
        (block_times(np.arange(240).reshape(60, 4) % 7), {}, "distinct block maxima"),
        (gumbel_ranks(60, 4), {"fit_ranks": 8}, r"groups of 4 ranks to 8 \(--fit-ranks\)"),
        (gumbel_ranks(60, 4), {"n": (3, 8)}, "n = 3 is below the 4 ranks of the fit"),
        (gumbel_ranks(60, 1), {}, "single ranks, where nobody waits"),
    ],
)
def test_what_the_data_do_not_carry_is_refused(times, options, words):
    with pytest.raises(SynctaxError, match=words) as caught:
        fit_evt(times, options=replace(QUICK, **{"n": None, **options}))
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("instances", [19, 60])
def test_steps_that_are_too_coarse_are_named_where_they_leave_no_fit(instances):
    times = gumbel_ranks(instances, 4)
    times = replace(times, us=40 * np.round(times.us / 40), resolution_us=40.0)
    advice = "profile more steps" if instances < 20 else "told in finer steps would help"
    with pytest.raises(FitError, match=rf"{advice} \(times vary .* in steps of 40 µs\)"):
        fit_evt(times, options=QUICK)


def test_a_refusal_says_of_what_the_fit_would_have_been():
    left_out = (Note("through_cpu", 51, "the path runs through the CPU; 99.7% of the tax"),)
    coverage = Coverage(83, 32, 405_047.0, 1_123.0, left_out)
    for times in (gumbel_ranks(9, 4), gumbel_ranks(15, 4), None):
        with pytest.raises(FitError) as caught:
            fit_evt(Given(times, coverage), options=QUICK)
        assert "0.3 % of the tax (32 of 83 collectives)" in str(caught.value)
        assert "51 × the path runs through the CPU" in str(caught.value)


def test_a_shape_at_its_bound_leaves_the_gumbel_alive():
    found = fit_evt(abrupt(), options=QUICK)
    assert "bound" in found.fitted.refused["gev"]
    frame = found.to_frame()
    assert frame["tau_us"].notna().all()
    assert frame["tau_gev_us"].isna().all()
    model = found.tax_model()
    assert model.gev is None
    with pytest.raises(SynctaxError, match=r"no gev prediction \(the GEV shape"):
        model.tau_us(8, "gev")
    assert envelope(found)["fits"]["gev"] is None


def test_too_few_maxima_are_refused():
    with pytest.raises(FitError, match="needs 20 distinct block maxima"):
        fit_evt_maxima(np.linspace(0, 2, 19), n_fit=4, a_us=1.0, r=0.1)


@pytest.mark.parametrize(
    "wrong", [{"n_fit": 1}, {"a_us": 0.0}, {"r": 0.0}, {"a_us": float("nan")}]
)
def test_a_wrong_call_is_told(wrong):
    with pytest.raises(ValueError, match="cannot be"):
        fit_evt_maxima(np.arange(30.0), **{"n_fit": 4, "a_us": 1.0, "r": 0.1, **wrong})


def test_nothing_to_fit_is_a_wrong_call():
    with pytest.raises(ValueError, match="no block times"):
        fit_evt()


# ------------------------------------------------------------- what fails on the way


def test_a_tail_without_a_mean_leaves_the_laws_of_maxima_alive():
    us = 100 + np.random.default_rng(0).pareto(0.5, (100, 4)).clip(max=1e9)
    found = fit_evt(block_times(us), options=QUICK)
    assert "no mean" in found.fitted.refused["deviations"]
    assert found.to_frame()["tau_us"].notna().all()
    assert found.to_frame()["tau_deviations_us"].isna().all()
    assert found.tax_model().deviations is None
    assert "rank_effect" in set(found.checks()["check"])


def test_laws_that_are_missing_are_missing_in_the_tax(fit):
    less = replace(fit, fitted=replace(fit.fitted, gumbel=None, lmoments=None))
    model = less.tax_model()
    assert model.methods == ("gev", "deviations")


def test_tests_of_the_gev_that_fail_are_counted(monkeypatch):
    def nothing(*_args, **_more):
        raise FitError("none of 199 samples carries a fit")

    monkeypatch.setattr("synctax.evt.quality.gev_goodness", nothing)
    found = fit_evt(gumbel_ranks(60, 4), options=QUICK)
    assert "no_goodness_of_gev" in {note.reason for note in found.notes}
    assert "gumbel_d" in found.quality.gof
    assert "gev_d" not in found.quality.gof


def test_segments_have_no_interval_where_resamples_carry_no_fit(monkeypatch):
    from synctax.evt import segments

    calls = []

    def once(z, **more):
        calls.append(z)
        if len(calls) > 1:
            raise FitError("a few values over and over again")
        return segments_fit(z, **more)

    segments_fit = segments.fit_gumbel
    monkeypatch.setattr(segments, "fit_gumbel", once)
    frame = fit_evt(gumbel_ranks(60, 4), options=QUICK).per_segment()
    assert frame["ratio"].notna().all()
    assert frame["ratio_lo"].isna().all()
