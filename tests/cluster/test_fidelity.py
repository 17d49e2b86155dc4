"""How near a simulation is to what was measured."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, wasserstein_distance

from synctax.cluster.fidelity import AGGREGATES, fidelity
from synctax.cluster.measured import Measured, read_measured
from synctax.errors import BadInputError, SynctaxError
from tests.cluster.simulations import ran


def simulated(ends):
    return ran([(0, 0, end, ((0, 1),)) for end in ends])


def measured(ends, **other):
    n = len(ends)
    return Measured(
        job_id=other.get("job_id", tuple(map(str, range(n)))),
        submit_s=np.array(other.get("submit_s", [np.nan] * n)),
        start_s=np.array(other.get("start_s", [0.0] * n)),
        end_s=np.array(ends, np.float64),
    )


def gap(a, b):
    """Return the largest distance between two distributions, over all values."""
    at = np.concatenate([a, b])[:, None]
    return np.abs((a <= at).mean(axis=1) - (b <= at).mean(axis=1)).max()


times = st.integers(1, 40).map(float)
samples = st.integers(2, 12).flatmap(
    lambda n: st.tuples(st.lists(times, min_size=n, max_size=n), st.permutations(range(n)))
)


@given(samples, st.lists(times, min_size=12, max_size=12))
def test_distances_are_those_of_scipy_ties_and_all(sample, others):
    ends, _ = sample
    truth = others[: len(ends)]
    found = fidelity(simulated(ends), measured(truth), resamples=0)
    assert found["jct_ks"].value == pytest.approx(
        ks_2samp(ends, truth, method="asymp").statistic
    )
    apart = wasserstein_distance(ends, truth)
    assert found["jct_wasserstein"].value == pytest.approx(apart)
    assert found["jct_p99"].simulated_s == pytest.approx(np.percentile(ends, 99))
    assert found["jct_median"].measured_s == pytest.approx(np.median(truth))


@given(samples)
def test_what_was_measured_is_at_no_distance_from_itself_in_any_order(sample):
    ends, order = sample
    truth = measured([ends[at] for at in order], job_id=tuple(map(str, order)))
    found = fidelity(simulated(ends), truth, resamples=20)
    for one in found.distances:
        assert one.value == pytest.approx(0, abs=1e-9)
        # jobs are drawn in pairs, so every draw is at none either
        assert one.hi == pytest.approx(0, abs=1e-9)


def test_the_hand_example():
    sample = (simulated([110, 190, 330, 400]), measured([100, 200, 300, 400]))
    found = fidelity(*sample, resamples=99)
    assert found["jct_per_job"].value == pytest.approx(6.25)
    assert found["training_per_job"].value == pytest.approx(6.25)
    assert found["jct_mean"].value == pytest.approx(3.0)
    assert found["training_mean"].value == pytest.approx(3.0)
    assert found["jct_ks"].value == pytest.approx(0.25)
    assert found["jct_wasserstein"].value == pytest.approx(12.5)
    p99 = found["jct_p99"]
    assert (p99.measured_s, p99.simulated_s) == pytest.approx((397.0, 397.9))
    assert found["makespan"].value == 0
    for one in found.distances:
        assert one.lo <= one.hi
        assert one.unit == (
            "%" if one.name in AGGREGATES or "per_job" in one.name else one.unit
        )


def test_a_draw_is_what_numpy_makes_of_the_drawn_jobs():
    ends, truth = [110.0, 190, 330, 400, 20], [100.0, 200, 300, 400, 25]
    found = fidelity(simulated(ends), measured(truth), resamples=200, seed=3)
    random = np.random.default_rng(3)
    pair, values = np.array([truth, ends]), {"jct_median": [], "jct_p99": [], "jct_ks": []}
    for _ in range(200):
        a, b = pair[:, random.integers(0, 5, 5)]
        for name, percent in (("jct_median", 50), ("jct_p99", 99)):
            real, made = np.percentile(a, percent), np.percentile(b, percent)
            values[name].append(100 * abs(made - real) / real)
        values["jct_ks"].append(gap(a, b))
    for name, drawn in values.items():
        ends = np.quantile(drawn, [0.025, 0.975])
        assert (found[name].lo, found[name].hi) == pytest.approx(tuple(ends))


def test_intervals_follow_the_seed():
    ends = [110, 190, 330, 400, 17, 3, 77.5, 1080]
    sample = (simulated(ends), measured([100, 200, 300, 400, 19, 5, 80, 1000]))
    one, same, other = (
        fidelity(*sample, resamples=99, seed=seed).distances for seed in (1, 1, 2)
    )
    assert one == same
    assert [d.value for d in one] == [d.value for d in other]
    assert one != other


def test_jobs_on_one_side_only_are_counted_and_named():
    truth = measured([100, 300, 7], job_id=("0", "2", "x"))
    found = fidelity(simulated([110, 190, 330]), truth, resamples=10)
    assert found.jobs == 2
    assert found.row.tolist() == [0, 2]
    assert found.measured_jct_s.tolist() == [100, 300]
    notes = {note.reason: (note.count, note.where) for note in found.notes}
    assert notes == {"not_measured": (1, "1"), "not_simulated": (1, "x")}


def test_measured_submissions_may_have_a_zero_of_their_own():
    truth = measured([1100, 1210], submit_s=[1000.0, 1010.0], start_s=[1000.0, 1010.0])
    found = fidelity(simulated([100, 200]), truth, resamples=0)
    assert found["jct_per_job"].value == pytest.approx(0)
    assert found["makespan"].measured_s == 210
    assert found["makespan"].simulated_s == 200
    assert np.isnan(found["jct_ks"].lo)


def test_jobs_of_no_measured_length_have_no_relative_error():
    found = fidelity(simulated([5, 20]), measured([0, 10]), resamples=50)
    assert found["jct_per_job"].value == pytest.approx(100)
    none = fidelity(simulated([5]), measured([0]), resamples=50)
    assert np.isnan(none["jct_per_job"].value)
    assert np.isnan(none["jct_mean"].hi)


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        (measured([1.0], job_id=("x",)), "none of the 1 jobs that were measured"),
        (measured([-5.0]), "end before they were submitted, such as 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(truth, said):
    with pytest.raises(SynctaxError, match=said):
        fidelity(simulated([100.0]), truth)


def test_a_file_of_measured_times_is_read(tmp_path):
    path = tmp_path / "measured.csv"
    path.write_text("end_s,job_id,start_s,node,submit_s\n5,a,1.5,n1,\n7,b,2,n2,1\n")
    found = read_measured(path)
    assert found.job_id == ("a", "b")
    assert found.end_s.tolist() == [5, 7]
    assert found.start_s.tolist() == [1.5, 2]
    assert np.isnan(found.submit_s[0])
    assert found.submit_s[1] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found an empty file: job_id, start_s, end_s missing"),
        ("job_id,end_s\n", "found job_id, end_s: start_s missing"),
        ("job_id,start_s,end_s\n", "found only the header"),
        ("job_id,start_s,end_s\n,1,2\n", "line 2: job_id is empty"),
        ("job_id,start_s,end_s\na,1,2\na,1,2\n", "line 3: job 'a' is there twice"),
        ("job_id,start_s,end_s\na,3,2\n", "line 2: end_s 2 is before start_s 3"),
        ("job_id,start_s,end_s\na,,2\n", "line 2: start_s is empty; expected a number"),
        ("job_id,start_s,end_s\na\n", "line 2: start_s is empty"),
        ("job_id,start_s,end_s\na,1,noon\n", "end_s is 'noon'; expected a number"),
        ("job_id,start_s,end_s\na,1,nan\n", "end_s is nan; expected .* at most 9.2e"),
        ("job_id,start_s,end_s\n" + ",1,2\n" * 5, "; and 2 more"),
        ("job_id,start_s,end_s\n" + "a" * 200_000, "found after line 1: field larger"),
    ],
)
def test_a_file_that_is_none_is_refused_with_line_value_and_what_was_expected(
    tmp_path, text, said
):
    path = tmp_path / "measured.csv"
    path.write_text(text)
    with pytest.raises(BadInputError, match=said):
        read_measured(path)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(SynctaxError, match="no such file"):
        read_measured(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInputError, match="no text"):
        read_measured(tmp_path / "bytes.csv")
