"""`simulate --pairs` as users meet it."""

import io
import json

import pandas as pd
import pytest

from synctax.schema.pairs import PAIRS
from tests.conftest import assert_in_words

JSON = ("--format", "json")

POOL = """\
workloads:
  - {name: half, compute_s: 0.5, network_s: 0.5, sent_bytes_per_worker: 312500000,
     measured_gpus: 8, gradient_bytes: 178571428}
  - {name: always, compute_s: 0.1, network_s: 2.0, sent_bytes_per_worker: 1250000000,
     measured_gpus: 8, gradient_bytes: 714285714}
  - {name: a-workload-with-a-long-name, compute_s: 4.0, network_s: 0.5,
     sent_bytes_per_worker: 312500000, measured_gpus: 8, gradient_bytes: 178571428}
"""


@pytest.fixture
def pairs(run, tmp_path):
    """Run it with a pool of three."""
    pool = tmp_path / "pool.yaml"
    pool.write_text(POOL)

    def pairs(*args: object, **options: object):
        return run("simulate", "--pairs", "--pool", pool, *args, **options)

    return pairs


def test_rows_are_all_ordered_pairs_and_the_envelope_sums_them_up(pairs):
    told = json.loads(pairs("--demand-basis", "overlap", "--format", "json").stdout)
    assert told["schema"] == PAIRS.schema
    rows = {(row["workload"], row["other"]): row for row in told["rows"]}
    assert len(rows) == told["pairs"] == 9
    beside = rows["half", "always"]
    # it sends at line rate, and of the other 2 s of 2.1 s
    assert beside["factor"] == pytest.approx(1 + 2 / 2.1)
    assert beside["iteration_change"] == pytest.approx(1 + 0.5 * (2 / 2.1))
    assert told["iteration_change_max"] == max(r["iteration_change"] for r in told["rows"])
    assert told["network_share_mean"] == 1
    assert [(one["model"], one["demand_basis"]) for one in told["models"]][-1] == (
        "mosim",
        "overlap",
    )
    assert [one["workload"] for one in told["profiles"]][:2] == ["half", "always"]
    assert told["parameters"]["gpus"] == 8


def test_csv_has_the_declared_columns(pairs):
    frame = pd.read_csv(io.StringIO(pairs("--format", "csv").stdout))
    assert tuple(frame) == PAIRS.names
    assert len(frame) == 9


def test_the_table_of_a_pool(pairs, golden):
    golden("simulate/pairs.txt", pairs("--demand-basis", "overlap").stdout)


def test_a_penalty_on_iterations_is_told_as_such(pairs):
    shown = pairs("--model", "pollux").stdout
    assert "the factor is on whole iterations" in shown
    assert "by construction" not in shown


def test_without_contention_nothing_is_said_of_its_parts(pairs):
    shown = pairs("--model", "tiresias").stdout
    assert "an iteration takes 1 times what it takes alone" in shown
    assert "of the change" not in shown


def test_the_built_in_pool_fits_a_terminal_of_80(run):
    shown = run("simulate", "--pairs", env={"COLUMNS": "80"}).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "wider terminal" not in shown


def test_a_large_pool_is_shown_a_dozen_columns_at_a_time(run, tmp_path):
    pool = tmp_path / "pool.yaml"
    lines = [
        f"  - {{name: w{at}, compute_s: 1.0, gradient_bytes: 1e6}}" for at in range(14)
    ]
    pool.write_text("workloads:\n" + "\n".join(lines) + "\n")
    shown = run("simulate", "--pairs", "--pool", pool).stdout.splitlines()
    heads = [line.split() for line in shown if line.strip().startswith(("1 ", "13 "))]
    assert heads[0] == [str(at) for at in range(1, 13)]
    assert ["13", "14"] in heads


MIXED = """\
servers:
  - {count: 1, gpus: 8, gpu_type: t4, nic_bytes_per_s: 1250e6}
  - {count: 2, gpus: 8, gpu_type: h100, nic_bytes_per_s: 625e6}
tiers: [{servers: 2, oversubscription: 2}]
reference_gpu: h100
"""


def test_profiles_are_those_of_a_simulation_and_the_rest_of_a_cluster_is_noted(
    run, tmp_path
):
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED)
    told = json.loads(run("simulate", "--pairs", "--cluster", path, "-q", *JSON).stdout)
    asked = told["parameters"]
    assert (asked["gpu_type"], asked["nic_bytes_per_s"]) == ("h100", 625e6)
    assert [one["gpu_type"] for one in asked["cluster"]["servers"]] == ["t4", "h100"]
    assert (asked["pool"], asked["contention"]["demand_basis"]) == ("default", "iteration")
    noted = {note["reason"]: note["count"] for note in told["excluded"]}
    assert noted == {"gpus_left_out": 1, "nics_left_out": 1, "tiers_left_out": 1}
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("job_id,submit_s,gpus,duration_s,workload\na,0,8,60,resnet-50\n")
    alone = json.loads(run("simulate", jobs, "--cluster", path, "-q", *JSON).stdout)
    (profile,) = alone["profiles"]
    assert profile in told["profiles"]


@pytest.mark.parametrize(
    ("gpu", "said"),
    [("", "has no gpu_type"), (", gpu_type: abacus", "of which no peak is known")],
)
def test_gpus_of_which_nothing_is_known_compute_only_what_a_pool_tells(
    pairs, run, tmp_path, gpu, said
):
    path = tmp_path / "unknown.yaml"
    path.write_text(f"servers: [{{count: 2, gpus: 8, nic_bytes_per_s: 625e6{gpu}}}]\n")
    refused = run("simulate", "--pairs", "--cluster", path)
    assert refused.exit_code in (1, 3)
    assert said in refused.stderr
    assert_in_words(refused)
    # compute_s of each is given
    assert pairs("--cluster", path).exit_code == 0


@pytest.mark.parametrize("gpus", ["1", "7"])
def test_jobs_without_two_equal_halves_are_wrong_usage(pairs, gpus):
    result = pairs("--gpus", gpus)
    assert result.exit_code == 2
    assert "half of a job on each server" in result.stderr
    assert_in_words(result)
