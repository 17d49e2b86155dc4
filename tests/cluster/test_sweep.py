"""Many simulations of one trace."""

import os
import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.cluster.engine import simulate
from synctax.cluster.inputs.job_table import job_table
from synctax.cluster.inputs.read_jobs import jobs_of
from synctax.cluster.jobs import Jobs, simple_jobs
from synctax.cluster.machines import Cluster, uniform
from synctax.cluster.metrics import summary
from synctax.cluster.settings import Contention
from synctax.cluster.sweep import Choices, merged, of_nic, sweep
from synctax.cluster.sweep_lines import TIMES, interval, lines
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema.sweep import SUMMARY_COLUMNS, SWEEP

CLUSTER = uniform(2, 4, 1e9)

CHOICES = Choices(
    policies=("bin-packing", "load-balancing"),
    queues=("backfill",),
    nic_gb_per_s=(None, 0.5),
    models=("tiresias", "mosim"),
    bases=("iteration", "overlap"),
    seeds=(0, 1),
)


def load(cluster: Cluster, seed: int, *, n: int = 12) -> Jobs:
    """Jobs that the seed draws."""
    rng = np.random.default_rng(seed)
    rows = [
        (float(at), int(gpus), float(run))
        for at, gpus, run in zip(
            rng.uniform(0, 20, n), rng.integers(1, 7, n), rng.uniform(1, 30, n), strict=True
        )
    ]
    return simple_jobs(rows, compute_s=0.5, network_s=0.5, network_bytes=2e9)


def load_none_of_seed_1(cluster: Cluster, seed: int) -> Jobs:
    if seed == 1:
        raise SynctaxError("nothing of seed 1")
    return load(cluster, seed)


def test_a_row_is_what_the_simulation_of_its_setting_comes_to():
    found = sweep(CHOICES, CLUSTER, load, workers=1)
    assert len(found.combinations) == 2 * 1 * 2 * 3 * 2
    for one, told in zip(found.combinations, found.found, strict=True):
        cluster = of_nic(CLUSTER, one.nic_gb_per_s)
        how = Contention(model=one.model, basis=one.basis or "iteration")
        done = simulate(
            load(cluster, one.seed),
            cluster,
            contention=how,
            policy=one.policy,
            queue=one.queue,
        )
        assert told == summary(done).told()


def test_seeds_are_innermost_and_models_without_a_basis_run_once():
    order = [
        (one.policy, one.nic_gb_per_s, one.model, one.basis, one.seed)
        for one in CHOICES.combinations()
    ]
    assert order[:7] == [
        ("bin-packing", None, "tiresias", None, 0),
        ("bin-packing", None, "tiresias", None, 1),
        ("bin-packing", None, "mosim", "iteration", 0),
        ("bin-packing", None, "mosim", "iteration", 1),
        ("bin-packing", None, "mosim", "overlap", 0),
        ("bin-packing", None, "mosim", "overlap", 1),
        ("bin-packing", 0.5, "tiresias", None, 0),
    ]


def test_processes_change_nothing():
    few = replace(CHOICES, policies=("spread",), nic_gb_per_s=(None,))
    one, two = (sweep(few, CLUSTER, load, workers=n) for n in (1, 2))
    assert one == two


def test_every_combination_is_told_when_it_is_done():
    told = []
    sweep(CHOICES, CLUSTER, partial(load, n=2), workers=1, on_progress=told.append)
    assert told == [1] * len(CHOICES.combinations())


def test_what_fails_keeps_its_place_and_is_named():
    few = Choices(("spread",), ("fifo",), seeds=(0, 1, 2))
    found = sweep(few, CLUSTER, load_none_of_seed_1, workers=1)
    ((one, error),) = found.failed
    assert one.seed == 1
    assert str(error) == "spread, fifo, mosim, iteration, seed 1: nothing of seed 1"
    frame = found.to_frame()
    assert_array_equal(frame["jct_mean_s"].isna(), [False, True, False])
    assert frame["error"][1] == str(error)
    assert frame["error"].isna().tolist() == [True, False, True]


def test_every_nic_is_set_and_none_keeps_them():
    mixed = replace(CLUSTER, nic_bytes_per_s=np.array([1e9, 3e9]))
    assert of_nic(mixed, None) is mixed
    assert of_nic(mixed, 0.625).nic_bytes_per_s.tolist() == [625e6, 625e6]


def test_jobs_are_made_for_the_cluster_as_it_is_swept():
    seen = []

    def watch(cluster: Cluster, seed: int) -> Jobs:
        seen.append((cluster.nic_bytes_per_s[0], seed))
        return load(cluster, seed)

    few = Choices(("spread",), ("fifo",), nic_gb_per_s=(None, 2.0), seeds=(3,))
    sweep(few, CLUSTER, watch, workers=1)
    assert seen == [(1e9, 3), (2e9, 3)]


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        (Choices((), ("fifo",)), "nothing"),
        (Choices(("spread", "spread"), ("fifo",)), "twice"),
        (Choices(("spread",), ("fifo",), seeds=(1, 1)), "twice"),
        (Choices(("spread",), ("fifo",), models=("mosim",), bases=()), "nothing"),
        (Choices(("load-balancing", "least-allocated"), ("fifo",)), "twice"),
    ],
)
def test_choices_that_are_none_are_refused(choices, said):
    with pytest.raises(ValueError, match=said):
        sweep(choices, CLUSTER, load)


def test_numbers_of_a_row_are_numbers_of_the_summary_in_its_order():
    told = list(summary(simulate(load(CLUSTER, 0), CLUSTER)).told())
    names = [column.name for column in SUMMARY_COLUMNS]
    assert names == [name for name in told if name in names]
    assert names[:6] == told[:6]
    assert set(names) <= set(SWEEP.names)


def test_the_interval_is_that_of_students_table():
    # 2.776 is the 97.5th percentile of t with 4 degrees of freedom
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    found = interval(values)
    assert found.mean == 3
    assert found.half == pytest.approx(2.776 * values.std(ddof=1) / 5**0.5, rel=1e-3)


def test_a_single_value_has_no_interval_and_absent_ones_do_not_count():
    one = interval(np.array([3.0, np.nan]))
    assert one.mean == 3
    assert np.isnan(one.half)
    none = interval(np.array([np.nan]))
    assert np.isnan(none.mean)


def test_rates_that_differ_in_later_digits_are_told_apart():
    rates = (0.625, 0.6250001, float(np.nextafter(0.625, 1)))
    few = Choices(("spread",), ("fifo",), nic_gb_per_s=rates)
    found = sweep(few, CLUSTER, load, workers=1)
    assert [row["nic_gb_per_s"] for row in found.records()] == list(rates)
    assert len(set(map(str, found.combinations))) == 3
    assert len(lines(found)) == 3


def test_another_name_of_a_policy_is_that_policy():
    (one,) = Choices(("least-allocated",), ("fifo",)).combinations()
    assert one.policy == "load-balancing"


def test_lines_are_means_over_seeds_and_over_the_first_line_seed_by_seed():
    found = sweep(replace(CHOICES, seeds=(0, 1, 2)), CLUSTER, load, workers=1)
    frame = found.to_frame()
    told = lines(found)
    assert len(told) == 2 * 2 * 3
    first = frame["jct_mean_s"].to_numpy()[:3]
    for at, one in enumerate(told):
        mine = frame["jct_mean_s"].to_numpy()[3 * at : 3 * at + 3]
        assert one.seeds == (0, 1, 2)
        assert one.setting["policy"] == frame["policy"][3 * at]
        assert one.means["jct_mean_s"] == interval(mine)
        assert one.over_first["jct_mean_s"] == interval(mine / first)
        assert set(one.over_first) == set(TIMES)
    ends = told[-1].told()["means"]["jct_mean_s"]
    assert ends["lo"] < ends["mean"] < ends["hi"]


def test_lines_say_how_many_seeds_failed_and_do_not_count_them():
    few = Choices(("spread",), ("fifo",), seeds=(0, 1, 2))
    (one,) = lines(sweep(few, CLUSTER, load_none_of_seed_1, workers=1))
    assert one.failed == 1
    (whole,) = lines(sweep(replace(few, seeds=(0, 2)), CLUSTER, load, workers=1))
    assert one.means == whole.means


def no_time(cluster: Cluster, seed: int) -> Jobs:
    return simple_jobs([(0, 1, 0.0)])


@pytest.mark.filterwarnings("error")
def test_what_is_0_in_the_first_line_has_no_ratio_and_warns_of_nothing():
    few = replace(CHOICES, nic_gb_per_s=(None,))
    for one in lines(sweep(few, CLUSTER, no_time, workers=1)):
        assert one.means["jct_mean_s"].mean == 0
        assert one.told()["over_first"]["jct_mean_s"] == {
            "mean": None,
            "lo": None,
            "hi": None,
        }


def test_notes_of_simulations_are_told_once_with_how_many_have_them():
    # a job that sends at 2 GB/s alone is slowed by its own traffic on slower NICs
    few = Choices(("spread",), ("fifo",), nic_gb_per_s=(9.0, 0.5), seeds=(0, 1))
    found = sweep(few, CLUSTER, load, workers=1)
    (note,) = found.notes
    assert (note.reason, note.count) == ("profile_exceeds_nic", 2)
    assert note.where == "spread, fifo, 0.5 GB/s, mosim, iteration, seed 0"
    assert note.detail.startswith("simulations of 4, each with ")


def test_notes_of_reading_are_those_of_every_seed_and_nic():
    columns = {"job_id": ["a"], "submit_s": [0], "gpus": [8], "duration_s": [9]}
    load = partial(read, job_table(columns, name="x"))
    cluster = uniform(2, 4, 1e9, gpu_type="v100")
    few = Choices(("spread",), ("fifo",), seeds=(0, 1))
    both = sweep(few, cluster, load, workers=1)
    (drawn,) = (note for note in both.notes if note.reason == "jobs_drawn")
    assert drawn.count == 2
    assert "simulations of 2, each with 1 × " in drawn.detail
    assert "(the first; others differ)" in drawn.detail
    one = sweep(replace(few, seeds=(1,)), cluster, load, workers=1)
    (alone,) = (note for note in one.notes if note.reason == "jobs_drawn")
    assert (alone.count, "simulations" in alone.detail) == (1, False)


def read(table, cluster: Cluster, seed: int):
    return jobs_of(table, cluster, seed=seed)


ODD = Note("odd", 3, "odd jobs", "line 2")


@pytest.mark.parametrize(
    ("noted", "told"),
    [
        ([(ODD,), (ODD,)], [ODD]),
        ([(ODD,), None], [ODD]),
        ([(ODD, ODD), (ODD, ODD)], [ODD, ODD]),
        ([(), (ODD,)], [Note("odd", 1, "simulations of 2, each with 3 × odd jobs", "b")]),
        (
            [(ODD,), (replace(ODD, count=5),)],
            [Note("odd", 2, "simulations of 2, each with 3 to 5 × odd jobs", "a")],
        ),
        ([None, None], []),
    ],
)
def test_notes_of_many_runs_say_how_many_have_what(noted, told):
    assert list(merged("ab", noted)) == told


def killed_of_seed_1(cluster: Cluster, seed: int) -> Jobs:
    if seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return load(cluster, seed)


def test_a_combination_whose_process_is_killed_keeps_its_place():
    few = Choices(("spread",), ("fifo",), seeds=(0, 1, 2, 3))
    found = sweep(few, CLUSTER, killed_of_seed_1, workers=2)
    ((one, error),) = found.failed
    assert one.seed == 1
    where = "spread, fifo, mosim, iteration, seed 1"
    assert f"killed by SIGKILL while at work on {where};" in str(error)
    whole = sweep(replace(few, seeds=(0, 2, 3)), CLUSTER, load, workers=1)
    assert [told for told in found.found if told is not error] == list(whole.found)
