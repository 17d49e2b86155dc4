"""Many simulations of one trace."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.cluster.engine import simulate
from synctax.cluster.jobs import Jobs, simple_jobs
from synctax.cluster.machines import Cluster, uniform
from synctax.cluster.metrics import summary
from synctax.cluster.settings import Contention
from synctax.cluster.sweep import Choices, interval, of_nic, sweep
from synctax.errors import SynctaxError
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


def test_notes_of_simulations_are_told_once_with_how_many_have_them():
    # a job that sends at 2 GB/s alone is slowed by its own traffic on slower NICs
    few = Choices(("spread",), ("fifo",), nic_gb_per_s=(9.0, 0.5), seeds=(0, 1))
    found = sweep(few, CLUSTER, load, workers=1)
    (note,) = found.notes
    assert (note.reason, note.count) == ("profile_exceeds_nic", 2)
    assert note.where == "spread, fifo, 0.5 GB/s, mosim, iteration, seed 0"
    assert note.detail.startswith("simulations with ")
