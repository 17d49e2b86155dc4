"""The command `sweep` as users meet it."""

import io
import json

import pandas as pd
import pytest

from synctax.schema.sweep import SWEEP
from tests.conftest import assert_in_words

TRACE = """\
job_id,submit_s,gpus,duration_s,compute_s,network_s,network_bytes
a,0,8,1000,0.5,0.5,12
b,0,8,400,0.3,0.5,16
"""
DRAWN = """\
job_id,submit_s,gpus,duration_s
a,0,6,1000
b,0,6,400
c,10,4,300
"""
CLUSTER = "servers: [{count: 2, gpus: 8, nic_bytes_per_s: 5}]\n"
POLICY = """\
def first(free, job, state):
    fits = [at for at, n in enumerate(free) if n >= job.gpus]
    return {fits[0]: job.gpus} if fits else None

def wrong(free, job, state):
    return {99: job.gpus}
"""


@pytest.fixture
def sweep(run, tmp_path, monkeypatch):
    """Run the command in a folder with traces, a cluster and policies."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("trace.csv", TRACE),
        ("drawn.csv", DRAWN),
        ("cluster.yaml", CLUSTER),
        ("own.py", POLICY),
    ):
        (tmp_path / name).write_text(text)

    def sweep(*args: object, **options: object):
        return run("sweep", *args, **options)

    return sweep


def rows(result) -> list[dict]:
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["schema"] == SWEEP.schema
    return told["rows"]


MANY = ",".join(map(str, range(1, 12)))
BOTH = ("--cluster", "cluster.yaml", "--policies", "load-balancing")


def test_a_hand_example_comes_out_of_every_model(sweep):
    told = rows(
        sweep(
            "trace.csv",
            *BOTH,
            *("--models", "tiresias,pollux,mosim", "--format", "json"),
        )
    )
    by_model = {row["model"]: row for row in told}
    # the mean of 1000 and 400 s, of 1040 and 440, and of 1126.92 and 550 s
    assert by_model["tiresias"]["jct_mean_s"] == 700
    assert by_model["pollux"]["jct_mean_s"] == pytest.approx(740)
    assert by_model["mosim"]["jct_mean_s"] == pytest.approx((1126.923076923 + 550) / 2)
    assert by_model["mosim"]["demand_basis"] == "iteration"
    assert by_model["pollux"]["demand_basis"] is None


def test_every_combination_has_a_row_in_order(sweep):
    frame = pd.read_csv(
        io.StringIO(
            sweep(
                *("philly-like", "--jobs", 6, "--cluster", "mosim-2x8"),
                *("--policies", "bin-packing,spread", "--queues", "fifo,easy"),
                *("--nic-gb-per-s", "0.625,12.5", "--seeds", "0:2,7"),
                *("--workers", 1, "--format", "csv"),
            ).stdout
        )
    )
    assert tuple(frame) == SWEEP.names
    assert len(frame) == 2 * 2 * 2 * 3
    assert frame["seed"].tolist() == [0, 1, 7] * 8
    assert frame["policy"].tolist() == ["bin-packing"] * 12 + ["spread"] * 12
    assert frame["nic_gb_per_s"].tolist()[:6] == [0.625] * 3 + [12.5] * 3
    assert frame["error"].isna().all()


def test_a_faster_nic_leaves_less_contention(sweep):
    told = rows(
        sweep(*("trace.csv", *BOTH, "--nic-gb-per-s", "1e-6,1", "--format", "json"))
    )
    assert [row["contention_mean"] for row in told] == [1, 1]
    slow = rows(sweep("trace.csv", *BOTH, "--format", "json"))
    assert slow[0]["contention_mean"] == pytest.approx(1.6, rel=0.2)


@pytest.mark.parametrize("trace", ["drawn.csv", "philly-like"])
def test_seeds_draw_other_workloads_and_other_made_up_jobs(sweep, trace):
    told = rows(
        sweep(
            *(trace, "--cluster", "mosim-2x8", "--policies", "load-balancing"),
            *("--seeds", "0:3", "--format", "json"),
        )
    )
    assert [row["seed"] for row in told] == [0, 1, 2]
    assert len({row["jct_mean_s"] for row in told}) == 3
    assert {row["jobs"] for row in told} == {3 if trace == "drawn.csv" else 60}


def test_seeds_that_draw_nothing_are_told(sweep):
    result = sweep("trace.csv", *BOTH, "--seeds", "0:3")
    assert "nothing of trace.csv is drawn: all 3 seeds are alike" in result.stderr
    assert "nothing" not in sweep("trace.csv", *BOTH).stderr


def test_the_table_has_a_line_for_each_setting(sweep, golden):
    text = sweep(
        *("philly-like", "--jobs", 12, "--cluster", "mosim-2x8", "--seeds", "0:3"),
        *("--policies", "bin-packing,load-balancing", "--models", "tiresias,mosim"),
    ).stdout
    golden("sweep/table.txt", text)


def test_one_seed_has_no_intervals_and_one_line_no_ratio(sweep):
    shown = sweep("trace.csv", *BOTH).stdout
    assert "±" not in shown
    assert "× first" not in shown
    assert "--seeds 0:10 has them" in shown
    assert "queue backfill, model mosim, basis iteration" in shown


def test_a_policy_of_ones_own_runs_in_worker_processes(sweep):
    told = rows(
        sweep(
            *("philly-like", "--jobs", 5, "--cluster", "mosim-2x8", "--seeds", "0:2"),
            *("--policies", "own.py:first", "--workers", 2, "--format", "json"),
        )
    )
    assert [row["policy"] for row in told] == ["own.py:first"] * 2


def test_what_fails_is_named_and_the_others_are_kept(sweep):
    result = sweep(
        *("trace.csv", "--cluster", "mosim-2x8", "--format", "json"),
        *("--policies", "bin-packing,own.py:wrong"),
    )
    assert result.exit_code == 1
    assert "1 of 2 combinations failed, first own.py:wrong, backfill" in result.stderr
    good, bad = json.loads(result.stdout)["rows"]
    assert good["error"] is None
    assert good["jct_mean_s"] == 700
    assert bad["jct_mean_s"] is None
    assert bad["error"].startswith("own.py:wrong, backfill, mosim, iteration, seed 0:")
    shown = sweep(
        *("trace.csv", "--cluster", "mosim-2x8"),
        *("--policies", "bin-packing,own.py:wrong"),
    )
    assert "failed: own.py:wrong" in shown.stdout
    assert_in_words(shown)


def test_where_all_fail_nothing_is_written(sweep, tmp_path):
    result = sweep(
        *("trace.csv", "--cluster", "mosim-2x8", "--policies", "own.py:wrong"),
        *("-o", "rows.csv"),
    )
    assert result.exit_code == 1
    assert "own.py:wrong, backfill" in result.stderr
    assert not (tmp_path / "rows.csv").exists()


def test_the_envelope_tells_what_was_asked(sweep):
    told = json.loads(
        sweep(
            *("drawn.csv", "--cluster", "mosim-2x8", "--tax", "llama3-70b-h200"),
            *("--format", "json"),
        ).stdout
    )
    asked = told["parameters"]
    assert (asked["trace"], asked["jobs"]) == ("drawn.csv", 3)
    assert (asked["policies"], asked["queues"]) == (["bin-packing"], ["backfill"])
    assert asked["nic_gb_per_s"] == [None]
    assert asked["tax"]["name"] == "llama3-70b-h200"
    assert told["failed"] == 0


SAME = ("jobs", "cluster", "counting", "pool", "tax", "trace")


def test_what_simulate_tells_of_what_was_asked_sweep_tells_alike(sweep, run):
    args = ("drawn.csv", "--cluster", "mosim-2x8", "--tax", "llama3-70b-h200")
    many, one = (
        json.loads(made(*args, "--format", "json").stdout)["parameters"]
        for made in (sweep, lambda *args: run("simulate", *args))
    )
    assert {name: many[name] for name in SAME} == {name: one[name] for name in SAME}
    assert many["contention"].items() <= one["contention"].items()


def test_the_envelope_has_the_lines_of_the_table(sweep):
    told = json.loads(
        sweep(
            *("philly-like", "--jobs", 6, "--cluster", "mosim-2x8", "--seeds", "0:3"),
            *("--models", "tiresias,mosim", "--policies", "load-balancing"),
            *("--format", "json"),
        ).stdout
    )
    free, shared = told["lines"]
    assert (free["model"], free["demand_basis"]) == ("tiresias", None)
    assert (shared["model"], shared["demand_basis"]) == ("mosim", "iteration")
    assert (shared["seeds"], shared["failed"]) == (3, 0)
    jct = [row["jct_mean_s"] for row in told["rows"]]
    assert free["means"]["jct_mean_s"]["mean"] == pytest.approx(sum(jct[:3]) / 3)
    over = shared["over_first"]["jct_mean_s"]
    ratios = [jct[at + 3] / jct[at] for at in range(3)]
    assert over["mean"] == pytest.approx(sum(ratios) / 3)
    assert over["lo"] < over["mean"] < over["hi"]
    assert free["over_first"]["jct_mean_s"]["mean"] == 1


def test_rates_that_read_alike_are_written_in_full(sweep):
    shown = sweep("trace.csv", *BOTH, "--nic-gb-per-s", "0.625,0.6250001").stdout
    assert "0.6250001 GB/s" in shown
    assert "0.625 GB/s" in shown


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--models", "mosim,ns3"), "'ns3' is none of"),
        (("--queues", ""), "no list of names"),
        (("--policies", "nearest"), "policy is 'nearest'"),
        (("--nic-gb-per-s", "5,fast"), "fast"),
        (("--seeds", "3:3"), "the end is not included"),
        (("--seeds", "0:20000"), "more than 10,000 seeds"),
        (("--seeds", "a"), "no list of seeds"),
        (("--seeds", "0:3,1"), "seed 1 is there twice"),
        (("--nic-gb-per-s", "1,2,1.0"), "1.0 is there twice"),
        (("--policies", "spread,spread"), "spread is there twice"),
        (("--policies", "load-balancing,least-allocated"), "also load-balancing"),
        (("--models", "mosim,Mosim"), "mosim is there twice"),
        (("--seeds", "99999999999"), "is above"),
        (("--models", "tiresias", "--demand-bases", "overlap"), "--models mosim"),
        (("--static-factor", "1.2"), "pollux"),
        (("--jobs", "5"), "--jobs is for philly-like"),
        (("--tax-method", "gumbel"), "--tax-method"),
        (
            ("--seeds", "0:9999", "--nic-gb-per-s", "1,2,3,4,5,6,7,8,9,10,11"),
            "are more than",
        ),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage(sweep, args, said):
    result = sweep("trace.csv", "--cluster", "cluster.yaml", *args)
    assert result.exit_code == 2
    assert said in result.stderr
    assert_in_words(result)


def test_counting_is_not_for_jobs_that_are_made_up(sweep):
    result = sweep("philly-like", "--cluster", "mosim-2x8", "--counting", "sent")
    assert result.exit_code == 2
    assert "--counting is for network_bytes of a file" in result.stderr


def test_a_bad_trace_is_told_before_anything_runs(sweep, tmp_path):
    (tmp_path / "bad.csv").write_text(TRACE.replace("b,0,8", "b,0,99"))
    result = sweep("bad.csv", "--cluster", "cluster.yaml", "--seeds", "0:3")
    assert result.exit_code == 3
    assert "99" in result.stderr
    assert "seed" not in result.stderr


def test_a_pool_tells_the_speeds_of_a_mixed_cluster_as_it_does_in_simulate(
    sweep, run, tmp_path
):
    (tmp_path / "mixed.yaml").write_text(
        "servers:\n"
        "  - {count: 1, gpus: 8, gpu_type: v100, nic_bytes_per_s: 625e6}\n"
        "  - {count: 1, gpus: 8, gpu_type: p100, nic_bytes_per_s: 625e6}\n"
    )
    (tmp_path / "pool.yaml").write_text(
        "workloads: [{name: mine, flop_per_sample: 1e12, batch_per_gpu: 8, "
        "parameters: 1e6, gradient_bytes: 4e6, dtype: fp16}]\n"
    )
    args = ("drawn.csv", "--cluster", "mixed.yaml", "--pool", "pool.yaml")
    (row,) = rows(sweep(*args, "--format", "json"))
    one = json.loads(run("simulate", *args, "--format", "json").stdout)
    assert row["jct_mean_s"] == one["jct_mean_s"]


def test_the_table_says_on_what_and_by_which_assumptions(sweep):
    shown = sweep(
        *("drawn.csv", "--cluster", "mosim-2x8", "--models", "mosim,pollux"),
        *("--static-factor", "1.2", "--min-bandwidth-share", "0.05"),
    ).stdout
    text = " ".join(shown.split())
    assert "16 GPUs of mosim-2x8 (2 servers); NICs carry 625 MB a second" in text
    assert "mosim: at least 5 % of a NIC a job; pollux: iterations × 1.2" in text
    assert "profiles of 3 jobs are of the pool default" in text
    other = sweep("trace.csv", *BOTH, "--normalise-solo", "--placement-aware").stdout
    assert "factors over those alone; NVLink within servers" in " ".join(other.split())
    swept = sweep("trace.csv", *BOTH, "--nic-gb-per-s", "1,2", "--models", "tiresias")
    assert "NICs carry" not in swept.stdout
    assert "mosim:" not in swept.stdout


def test_what_ran_is_held_against_the_first_line_that_ran(sweep):
    shown = sweep(
        *("trace.csv", "--cluster", "mosim-2x8", "--seeds", "0:2"),
        *("--policies", "own.py:wrong,bin-packing,spread"),
    ).stdout
    assert "× first: over the first line that ran" in " ".join(shown.split())
    ratios = [line.split() for line in shown.splitlines()[2:5]]
    assert ratios[0][1:6] == ["0", "of", "2", "–", "–"]
    assert ratios[1][1:4] == ["2", "of", "2"]
    assert ratios[1][6] == "1"
    assert "seed 0 (and 1 more): policy own.py:wrong" in " ".join(shown.split())
