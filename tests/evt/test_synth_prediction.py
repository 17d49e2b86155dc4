"""From traces of 4 ranks to the tax of 8, 16 and 64: what is predicted is what comes."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax.evt.bootstrap import bootstrap
from synctax.evt.standard import standardise
from synctax.synth import SynthJob, expected_tau_us, truth
from tests.evt.made import fit_all
from tests.laws import quick
from tests.synth.block_times import from_traces, simulated

LAWS = ("gumbel", "frechet")
LARGER = (8, 16, 64)
JOB = SynthJob(
    tp=4,
    fsdp=1,
    tp_op="all_reduce",
    layers=2,
    steps=40,
    jitter_scope="block",
    cpu_ops_per_kernel=0,
    seed=11,
)


@pytest.fixture(scope="module")
def predicted():
    """Predictions from block times as simulated, which are those that traces tell."""
    n = np.array(LARGER, np.float64)
    return {
        law: bootstrap(
            standardise(simulated(replace(JOB, jitter_law=law))), n, resamples=60
        )
        for law in LAWS
    }


@pytest.mark.parametrize("law", LAWS)
def test_traces_tell_the_block_times_that_were_simulated(tmp_path, law):
    job = replace(JOB, jitter_law=law, steps=12 if quick() else JOB.steps)
    found, made = from_traces(job, tmp_path), simulated(job)
    told = found.times
    assert_allclose(told.us, made.us, rtol=0, atol=1e-9)
    assert_allclose(told.measured_us, made.measured_us, rtol=0, atol=1e-9)
    assert len(np.unique(told.block)) == len(made.blocks)
    assert found.coverage.share == found.coverage.tax_share == 1


@pytest.mark.parametrize(
    ("law", "method"), [("gumbel", "gumbel"), ("gumbel", "gev"), ("frechet", "gev")]
)
def test_the_tax_of_a_larger_job_lies_within_the_interval(predicted, law, method):
    lo_us, hi_us = predicted[law].interval_us(method)
    for n, lo, hi in zip(LARGER, lo_us, hi_us, strict=True):
        job = replace(JOB, tp=n, jitter_law=law, steps=120, seed=12)
        assert lo < simulated(job).measured_us.mean() < hi
        assert lo < expected_tau_us(job) < hi


def test_what_is_measured_in_a_larger_job_is_what_its_files_say():
    job = replace(JOB, tp=8, steps=3)
    rows = [row.tax_mean_us for row in truth(job).collectives() if row.status == "ok"]
    assert_allclose(simulated(job).measured_us, rows, rtol=0, atol=1e-9)


def test_the_gumbel_is_conservative_where_tails_are_heavy(predicted):
    _, hi_us = predicted["frechet"].interval_us("gumbel")
    assert hi_us[-1] < expected_tau_us(replace(JOB, jitter_law="frechet"), LARGER[-1])


def test_what_ranks_share_misleads_the_maxima_but_not_the_deviations():
    job = replace(JOB, jitter_law="normal", common_jitter=0.02, steps=250)
    fitted = fit_all(simulated(job))
    (gumbel,), (deviations,) = (
        fitted.tau_us(method, np.array([64.0])) for method in ("gumbel", "deviations")
    )
    true = expected_tau_us(job, 64)
    assert gumbel > 1.6 * true
    assert deviations == pytest.approx(true, rel=0.1)
