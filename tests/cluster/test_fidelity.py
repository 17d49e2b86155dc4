"""How near a simulation is to what was measured."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, wasserstein_distance

from synctax.cluster.fidelity import fidelity
from synctax.cluster.inputs.measured_times import read_measured
from synctax.cluster.measured import Measured
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
    assert found["jct_wasserstein_s"].value == pytest.approx(apart)
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
    assert found["jct_per_job"].value == pytest.approx(0.0625)
    assert found["training_per_job"].value == pytest.approx(0.0625)
    assert found["jct_mean"].value == pytest.approx(0.03)
    assert found["training_mean"].value == pytest.approx(0.03)
    assert found["jct_ks"].value == pytest.approx(0.25)
    assert found["jct_wasserstein_s"].value == pytest.approx(12.5)
    p99 = found["jct_p99"]
    assert (p99.measured_s, p99.simulated_s) == pytest.approx((397.0, 397.9))
    assert found["makespan"].value == 0
    for one in found.distances:
        assert one.lo <= one.hi


def test_a_draw_is_what_numpy_makes_of_the_drawn_jobs():
    ends, truth = [110.0, 190, 330, 400, 20], [100.0, 200, 300, 400, 25]
    found = fidelity(simulated(ends), measured(truth), resamples=200, seed=3)
    random = np.random.default_rng(3)
    pair, values = np.array([truth, ends]), {"jct_median": [], "jct_p99": [], "jct_ks": []}
    for _ in range(200):
        a, b = pair[:, random.integers(0, 5, 5)]
        for name, percent in (("jct_median", 50), ("jct_p99", 99)):
            real, made = np.percentile(a, percent), np.percentile(b, percent)
            values[name].append((made - real) / real)
        values["jct_ks"].append(gap(a, b))
    for name, drawn in values.items():
        ends = np.quantile(drawn, [0.025, 0.975])
        if ends[0] < 0:
            ends = np.array([0, np.abs(ends).max()])
        assert (found[name].lo, found[name].hi) == pytest.approx(tuple(ends))


def test_an_error_of_which_nobody_knows_the_sign_may_be_none():
    random, held = np.random.default_rng(1), 0
    for seed in range(40):
        truth = random.gamma(2.0, 50.0, 40)
        # each as likely too long as too short: the mean is right
        made = truth * np.exp(random.normal(0, 0.3, 40)) / np.exp(0.045)
        found = fidelity(simulated(made), measured(truth), resamples=100, seed=seed)
        held += found["jct_mean"].lo == 0
        assert found["jct_per_job"].lo > 0
    assert 32 <= held < 40
    twice = fidelity(simulated(truth / 2), measured(truth), resamples=50)["jct_mean"]
    assert (twice.lo, twice.hi) == pytest.approx((0.5, 0.5))


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
    assert found["jct_per_job"].value == pytest.approx(1)
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


def test_measured_times_before_submission_or_from_another_zero_are_noted():
    sample = simulated([100, 200])
    early = fidelity(sample, measured([50, 80], start_s=[-1.0, 0.0]), resamples=0)
    assert [(one.reason, one.count, one.where) for one in early.notes] == [
        ("measured_before_submission", 1, "job 0")
    ]
    zero = 1.7e9
    far = measured([zero + 100, zero + 250], start_s=[zero, zero + 50])
    note = fidelity(sample, far, resamples=0).notes[0]
    assert (note.reason, note.count) == ("measured_from_another_zero", 2)
    # one job that started at once shows that the zero is right
    late = measured([100, zero + 250], start_s=[0.0, zero + 50])
    assert fidelity(sample, late, resamples=0).notes == ()


HEAD = "job_id,start_s,end_s"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_of_measured_times_is_read_like_a_trace(tmp_path, separator, pack):
    names = ["End_S", "job_id", "start_s", "submit_s"]
    rows = [["5", "a", "1.5", ""], ["7", "b", "2", "1"]]
    path = tmp_path / "measured.csv"
    text = "\n".join(separator.join(row) for row in (names, *rows))
    path.write_bytes(pack(text.encode()))
    found = read_measured(path)
    assert found.job_id == ("a", "b")
    assert found.end_s.tolist() == [5, 7]
    assert found.start_s.tolist() == [1.5, 2]
    assert np.isnan(found.submit_s[0])
    assert found.submit_s[1] == 1
    assert found.notes == ()


def test_columns_that_say_nothing_are_noted_but_for_those_of_results(tmp_path):
    path = tmp_path / "measured.csv"
    path.write_text(f"{HEAD},submitted_s,slowdown\na,1,2,0,1\n")
    truth = read_measured(path)
    (note,) = truth.notes
    assert (note.reason, note.count) == ("columns_unknown", 1)
    assert "submitted_s (submit_s?)" in note.detail
    sample = ran([(0, 0, 5, ((0, 1),))])
    named = Measured(("0",), truth.submit_s, truth.start_s, truth.end_s, truth.notes)
    assert fidelity(sample, named, resamples=0).notes[0] == note


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found an empty file"),
        ("job_id,end_s\n", "no column start_s; expected a CSV of measured times"),
        (f"{HEAD}\n", "no job below the header"),
        (f"{HEAD}\n,1,2\n", "line 2: job_id is empty"),
        (f"{HEAD}\na,1,2\na,1,2\n", "line 3: job_id is 'a' as in line 2"),
        (f"{HEAD}\na,3,2\n", "line 2: end_s is '2'; expected no time before start_s"),
        (f"{HEAD}\na,,2\n", "line 2: start_s is empty; expected a time"),
        (f"{HEAD}\na\n", "1 row with other numbers of values"),
        (f"{HEAD}\na,1,noon\n", "end_s is 'noon'; expected a time"),
        (f"{HEAD}\na,1,nan\n", "end_s is 'nan'; expected a time"),
        (f"{HEAD}\n" + ",1,2\n" * 7, "and 2 more"),
        (f"{HEAD}\n" + "a" * 200_000, "line 2: field larger"),
        ("{}", "found JSON; expected a CSV of measured times"),
        (b"\xff\xfe\x00", "no UTF-8"),
        (None, "no such file"),
    ],
)
def test_a_file_that_is_none_is_refused_with_line_value_and_what_was_expected(
    tmp_path, text, said
):
    path = tmp_path / "measured.csv"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInputError, match=said):
        read_measured(path)
