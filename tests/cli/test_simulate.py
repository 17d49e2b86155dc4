"""The command `simulate` as users meet it."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synctax.cluster.inputs.named import cluster_names
from synctax.cluster.jobs import placement_text
from synctax.evt.tax import Origin, TaxModel
from synctax.evt.tax_file import to_json
from synctax.schema.simulate import SIMULATE, SIMULATE_CLUSTERS
from synctax.workspace import Workspace
from tests.conftest import ROOT, assert_in_words
from tests.fitted import fitted

EXAMPLES = ROOT / "examples" / "cluster"
TWO = (EXAMPLES / "two-jobs.csv", "--cluster", EXAMPLES / "two-servers.yaml")
RACKS = (EXAMPLES / "contended.csv", "--cluster", EXAMPLES / "racks.yaml")
MADE_UP = ("philly-like", "--jobs", 8, "--cluster", "mosim-2x8")

ONE_SERVER = "servers: [{count: 1, gpus: 8, gpu_type: v100, nic_bytes_per_s: 625e6}]\n"
THREE = "job_id,submit_s,gpus,duration_s\nJ1,0,6,100\nJ2,1,4,50\nJ3,2,2,30\n"

FITTED = fitted(8)


@pytest.fixture
def simulate(run, tmp_path, monkeypatch):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def simulate(*args: object, **options: object):
        return run("simulate", *args, **options)

    return simulate


@pytest.fixture
def told(simulate):
    """The envelope of a simulation, and its rows by job."""

    def told(*args: object) -> tuple[dict, dict[str, dict]]:
        result = simulate(*args, "--format", "json")
        assert result.exit_code == 0, result.stderr
        found = json.loads(result.stdout)
        return found, {row["job_id"]: row for row in found["rows"]}

    return told


@pytest.fixture
def three(simulate):
    """Three jobs on one server, as files in the folder that commands run in."""
    Path("jobs.csv").write_text(THREE)
    Path("one.yaml").write_text(ONE_SERVER)
    return ("jobs.csv", "--cluster", "one.yaml")


def refused(result, code: int) -> str:
    assert_in_words(result)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    return result.stderr


# hand examples, through the command line


def test_two_jobs_that_share_nics_in_bytes_and_seconds(told):
    found, rows = told(*TWO)
    assert rows["B"]["contention"] == pytest.approx(1.6)
    assert rows["B"]["end_s"] == pytest.approx(550)
    assert rows["A"]["end_s"] == pytest.approx(1126.923077)
    assert rows["A"]["slowdown"] == pytest.approx(1.126923077)
    assert rows["A"]["servers"] == "0:4;1:4" == placement_text(((0, 4), (1, 4)))
    assert found["jct_mean_s"] == pytest.approx((550 + 1126.923077) / 2)
    assert found["makespan_s"] == rows["A"]["end_s"]
    assert found["jobs_slowed"] == 2
    by = {(pair["job_id"], pair["by"]): pair["lost_s"] for pair in found["interference"]}
    assert by == {("B", "A"): pytest.approx(150), ("A", "B"): pytest.approx(126.923077)}
    nics = [(link["link"], link["oversubscribed_s"]) for link in found["links"]]
    assert nics == [("server 0", 550), ("server 1", 550)]


@pytest.mark.parametrize(
    ("options", "a_s", "b_s"),
    [
        (("--model", "tiresias"), 1000, 400),
        (("--model", "pollux"), 1040, 440),
        (("--model", "pollux", "--static-scope", "network"), 1020.2381, 425),
        (("--model", "pollux", "--static-factor", "1"), 1000, 400),
        (("--counting", "sent"), 1000, 400),
        (("--min-bandwidth-share", "0.9"), 1000, 400 + 400 / 0.8 * 0.5 * (5 / 4.5 - 1)),
    ],
)
def test_the_same_under_other_models_and_countings(told, options, a_s, b_s):
    _, rows = told(*TWO, *options)
    assert rows["A"]["end_s"] == pytest.approx(a_s, abs=1e-4)
    assert rows["B"]["end_s"] == pytest.approx(b_s, abs=1e-4)


@pytest.mark.parametrize(("queue", "end_s"), [("backfill", 32), ("fifo", 130)])
def test_a_queue_starts_what_fits_or_nobody_before_the_first(told, three, queue, end_s):
    _, rows = told(*three, "--queue", queue)
    assert rows["J3"]["end_s"] == end_s
    assert rows["J2"]["end_s"] == 150
    assert rows["J2"]["wait_s"] == 99


# files


def test_json_has_what_programs_rely_on_first(told):
    found, rows = told(*RACKS)
    assert found["schema"] == "synctax.simulate/1"
    assert list(found)[:9] == [
        *("schema", "parameters", "excluded", "jct_mean_s", "jct_median_s", "jct_p90_s"),
        *("jct_p99_s", "makespan_s", "utilisation"),
    ]
    assert tuple(rows["tiny"]) == SIMULATE.names
    assert found["parameters"]["cluster"]["tiers"] == [
        {"servers": 2, "oversubscription": 2}
    ]
    groups = found["parameters"]["cluster"]["servers"]
    assert [(one["count"], one["gpu_type"]) for one in groups] == [(2, "v100"), (2, "a100")]
    assert found["parameters"]["pool"] == "default"
    assert found["parameters"]["contention"]["demand_basis"] == "iteration"
    assert found["parameters"]["counting"] == [{"counting": "sent", "jobs": 9}]
    reasons = {note["reason"] for note in found["excluded"]}
    assert "speed_of_roofline" in reasons
    assert found["interference_pairs"] == len(found["interference"])
    assert found["culprits"][0]["lost_s"] >= found["culprits"][-1]["lost_s"]
    assert sum(width["jobs"] for width in found["widths"]) == 9
    assert {one["workload"] for one in found["profiles"]} >= {"bert-base", "whisper"}
    assert found["verdict"]


def test_csv_and_parquet_hold_the_same_rows(simulate):
    for name in ("rows.csv", "rows.parquet"):
        assert simulate(*RACKS, "-q", "-o", name).exit_code == 0
    one, other = pd.read_csv("rows.csv"), pd.read_parquet("rows.parquet")
    assert tuple(one) == tuple(other) == SIMULATE.names
    assert one["jct_s"].tolist() == other["jct_s"].tolist()
    # measured times come from the files of other runs, this one's among them
    near = simulate(*RACKS, "--measured", "rows.csv", "--resamples", 20)
    assert near.exit_code == 0
    assert "mean JCT is off by 0 %" in near.stdout


@pytest.mark.parametrize("args", [RACKS, MADE_UP, TWO, (*RACKS, "--placement-aware")])
def test_rows_of_a_result_are_a_trace_with_the_same_result(simulate, told, args):
    assert simulate(*args, "-o", "rows.csv").exit_code == 0
    found, rows = told("rows.csv", *args[args.index("--cluster") :])
    first = pd.read_csv("rows.csv").set_index("job_id")
    for name in ("start_s", "end_s", "nic_bytes", "solo_s", "contention"):
        again = [rows[job][name] for job in first.index]
        assert again == pytest.approx(first[name].tolist(), rel=1e-12)
    assert [rows[job]["counting"] for job in first.index] == first["counting"].tolist()
    # what it takes of the result is said
    assert found["fidelity"]["errors"][0]["error"] == 0
    assert "measured_in_trace" in {note["reason"] for note in found["excluded"]}
    assert f"servers of {len(first)} jobs" in found["assumed"][-1]


def test_what_bytes_are_counted_as_is_said_beside_the_model_and_the_nics(simulate):
    def last(*args: object) -> list[str]:
        return simulate(*args, "-q").stdout.splitlines()[-3:]

    paper, sent = last(*TWO), last(*TWO, "--counting", "sent")
    assert paper[:2] == sent[:2]
    assert paper[2].startswith("network_bytes are counted as paper; the trace names")
    assert sent[2].startswith("network_bytes are counted as sent;")
    assert "profiles of 8 jobs are of the pool default" in last(*MADE_UP)[2]
    text = (EXAMPLES / "two-jobs.csv").read_text().splitlines()
    Path("mixed.csv").write_text(f"{text[0]},counting\n{text[1]},sent\n{text[2]},\n")
    mixed = last("mixed.csv", *TWO[1:])[2]
    assert "counted as sent (1 job), paper (1 job)" in mixed


def test_the_spread_that_is_shown_is_in_json(told):
    found, rows = told(*RACKS)
    for name in ("jct_s", "wait_s", "training_s", "solo_s", "slowdown"):
        values = [row[name] for row in rows.values()]
        spread = found["spread"][name]
        assert list(spread) == ["mean", "median", "p90", "p99", "max"]
        assert spread["max"] == max(values)
        assert spread["p90"] == pytest.approx(np.percentile(values, 90))
    assert found["spread"]["jct_s"]["mean"] == found["jct_mean_s"]


def test_culprits_that_are_left_out_are_counted(told, monkeypatch):
    monkeypatch.setattr("synctax.cli.simulate_results.MOST_PAIRS", 1)
    found, _ = told(*TWO)
    assert (len(found["culprits"]), found["culprit_jobs"]) == (1, 2)
    assert (len(found["interference"]), found["interference_pairs"]) == (1, 2)


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_jobs(simulate):
    one, same, other = (
        simulate(*MADE_UP, "--seed", seed, "--format", "csv").stdout for seed in (1, 1, 2)
    )
    assert one == same != other
    assert len(one.splitlines()) == 9


def test_the_table_says_how_long_jobs_wait_and_who_slowed_them(simulate):
    shown = simulate(*RACKS, env={"COLUMNS": "80"}).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.startswith("9 jobs on 32 GPUs of racks (4 servers), load-balancing")
    assert "waiting (33 %)" in shown
    assert "contention stretched training by" in shown
    assert "mostly by language (gpt-2)" in shown
    assert "uplinks of 1/2" in shown
    assert "6 more, slowed no more" in simulate(*RACKS, "--top", 3).stdout


def test_servers_of_a_job_are_listed_while_they_are_few(simulate):
    Path("t.csv").write_text(
        "job_id,submit_s,gpus,duration_s\na,0,32,10\nb,20,40,10\nc,40,8,10\n"
    )
    Path("c.yaml").write_text(
        "servers: [{count: 5, gpus: 8, gpu_type: v100, nic_bytes_per_s: 625e6}]\n"
    )
    shown = simulate("t.csv", "--cluster", "c.yaml").stdout
    assert "0:8;1:8;2:8;3:8 " in shown
    assert "5 servers " in shown


def test_nobody_is_blamed_where_many_slow_each_other(simulate):
    rows = "".join(f"j{at},0,4,100,0.1,0.9,4,0:2;1:2\n" for at in range(12))
    head = "job_id,submit_s,gpus,duration_s,compute_s,network_s,network_bytes,servers\n"
    Path("many.csv").write_text(head + rows)
    Path("wide.yaml").write_text(
        "servers: [{count: 2, gpus: 24, gpu_type: v100, nic_bytes_per_s: 8}]\n"
    )
    shown = simulate("many.csv", "--cluster", "wide.yaml").stdout
    assert "no job stands out as the cause: 12 jobs slowed others" in shown


def test_who_slowed_whom_of_many_jobs_is_found_if_asked_for(simulate, monkeypatch):
    monkeypatch.setattr("synctax.cli.simulate.INTERFERENCE_JOBS", 1)
    silent = simulate(*TWO)
    assert "only with --interference" in silent.stderr
    assert "mostly by" not in silent.stdout
    assert "mostly by A" in simulate(*TWO, "--interference").stdout


def test_jobs_of_no_length_have_no_relative_error_to_show(simulate):
    Path("t.csv").write_text("job_id,submit_s,gpus,duration_s,start_s,end_s\na,0,4,0,0,0\n")
    shown = simulate("t.csv", "--cluster", "mosim-2x8").stdout
    assert "mean JCT is off by –" in shown
    assert "were in use" not in shown


def test_a_table_leaves_out_what_there_is_nothing_of(simulate, three):
    calm = simulate(*three).stdout
    assert "no job was slowed by traffic of others" in calm
    assert "oversubscribed" not in calm
    assert "mosim, demand basis iteration" in calm
    none = simulate(*TWO, "--model", "tiresias").stdout
    assert "none is modelled (tiresias)" in none
    assert "wait on average" not in none
    quiet = simulate(*TWO, "--no-interference").stdout
    assert "mostly by" not in quiet
    assert "while sharing" not in quiet


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "pollux"), "pollux, iterations × 1.1 while a NIC is shared"),
        (("--demand-basis", "overlap", "--normalise-solo"), "factors over those alone"),
        (("--placement-aware", "--min-bandwidth-share", 0), "NVLink within servers"),
    ],
)
def test_what_was_assumed_is_said(simulate, options, said):
    assert said in simulate(*TWO, *options).stdout


# measured times


def test_measured_times_are_compared_by_every_distance(simulate, told):
    Path("m.csv").write_text("job_id,start_s,end_s\nA,0,1200\nB,0,500\nC,0,1\n")
    found, rows = told(*TWO, "--measured", "m.csv", "--resamples", 50, "--seed", 4)
    near = found["fidelity"]
    assert (near["jobs"], near["resamples"], near["seed"]) == (2, 50, 4)
    values = {one["name"]: one for one in near["errors"]}
    assert values["jct_mean"]["measured_s"] == 850
    assert values["makespan"]["error"] == pytest.approx((1200 - 1126.923077) / 1200)
    assert rows["A"]["measured_jct_s"] == 1200
    missing = found["excluded"][-1]
    assert (missing["reason"], missing["count"]) == ("not_simulated", 1)
    shown = simulate(*TWO, "--measured", "m.csv", "--resamples", 0).stdout
    assert "against measured times of 2 jobs" in shown
    assert "interval" not in shown
    assert "95 % interval" in simulate(*TWO, "--measured", "m.csv").stdout


def test_the_hand_example_of_distances(told):
    ends, truth = (110, 190, 330, 400), (100, 200, 300, 400)
    jobs = [f"j{at},0,1,{end}" for at, end in enumerate(ends)]
    real = [f"j{at},0,{end}" for at, end in enumerate(truth)]
    Path("jobs.csv").write_text(f"{THREE.splitlines()[0]}\n" + "\n".join(jobs))
    Path("real.csv").write_text("job_id,start_s,end_s\n" + "\n".join(real))
    found, _ = told("jobs.csv", "--cluster", "mosim-2x8", "--measured", "real.csv")
    near = found["fidelity"]
    values = {one["name"]: one for one in near["errors"]}
    assert values["jct_per_job"]["error"] == pytest.approx(0.0625)
    assert values["jct_mean"]["error"] == pytest.approx(0.03)
    assert near["jct_ks"] == pytest.approx(0.25)
    assert near["jct_wasserstein_s"] == pytest.approx(12.5)
    assert near["jct_wasserstein_lo_s"] <= 12.5 <= near["jct_wasserstein_hi_s"]
    p99 = values["jct_p99"]
    assert (p99["measured_s"], p99["simulated_s"]) == pytest.approx((397.0, 397.9))


def test_a_trace_may_tell_measured_times_itself(told, simulate):
    Path("t.csv").write_text(
        "job_id,submit_s,gpus,duration_s,start_s,end_s\na,0,4,10,0,11\nb,5,4,20,,\n"
    )
    found, rows = told("t.csv", "--cluster", "mosim-2x8")
    assert found["fidelity"]["jobs"] == 1
    assert rows["a"]["measured_training_s"] == 11
    assert rows["b"]["measured_training_s"] is None


# tax


def test_the_tax_is_in_proportion_to_a_jobs_own_computation(told, simulate):
    Path("tax.json").write_bytes(to_json(FITTED))
    found, rows = told(*TWO, "--tax", "tax.json")
    wait = FITTED.tau_us(8.0).tau_us[0] / 10_000
    assert rows["A"]["tax_s"] == pytest.approx(0.5 * wait)
    assert rows["B"]["tax_s"] == pytest.approx(0.3 * wait)
    assert found["parameters"]["tax"]["a_us"] == 10_000
    # it belongs to the time alone, and demands of longer iterations are lower
    assert rows["A"]["solo_s"] == 1000
    assert rows["A"]["training_s"] < 1126.92
    assert "iterations of 2 jobs hold tax" in simulate(*TWO, "--tax", "tax.json").stdout
    twice, _ = told(*TWO, "--tax", "tax.json", "--tax-compute-us", 5_000)
    assert twice["rows"][0]["tax_s"] == pytest.approx(2 * 0.5 * wait)


def test_the_fitted_tax_is_taken_from_the_workspace(told, simulate):
    space = Workspace(Path(".synctax"))
    space.prepare()
    space.keep_tax(FITTED)
    found, _ = told(*TWO, "--tax", "fitted")
    assert found["parameters"]["tax"]["n_fit"] == 8
    built_in = simulate(*TWO, "--tax", "fitted", "--no-cache")
    assert "using the built-in llama3-70b-h200" in built_in.stderr


def test_a_tax_that_is_in_proportion_to_nothing_is_refused(simulate):
    told = TaxModel(
        n_fit=4,
        group="tp",
        source=Origin("by hand", ("x",)),
        gumbel=FITTED.gumbel,
        b_us=1.0,
    )
    Path("tax.json").write_bytes(to_json(told))
    assert "--tax-compute-us tells it" in refused(simulate(*TWO, "--tax", "tax.json"), 1)


# timeline


def test_a_timeline_is_written_and_the_same_each_time(simulate):
    for name in ("a.json", "b.json.gz", "c.json.gz"):
        assert simulate(*TWO, "--timeline", name, "-q").exit_code == 0
    text = Path("a.json").read_bytes()
    assert gzip.decompress(Path("b.json.gz").read_bytes()) == text
    assert Path("b.json.gz").read_bytes() == Path("c.json.gz").read_bytes()
    slices = [one for one in json.loads(text)["traceEvents"] if one["ph"] == "X"]
    assert len(slices) == 16
    simulate(*TWO, "--timeline", "a.json", "--timeline-servers", "1")
    found = json.loads(Path("a.json").read_bytes())["traceEvents"]
    assert len([one for one in found if one["ph"] == "X"]) == 8


def test_a_timeline_that_viewers_cannot_take_is_said_to_be_one(simulate, monkeypatch):
    monkeypatch.setattr("synctax.cli.simulate_results.MANY_SLICES", 10)
    said = simulate(*TWO, "--timeline", "a.json").stderr
    assert "16 slices" in said
    assert "--timeline-servers" in said


# lists and pairs


def test_clusters_that_are_built_in_are_listed(simulate):
    shown = simulate("--list-clusters").stdout
    found = json.loads(simulate("--list-clusters", "--format", "json").stdout)
    assert found["schema"] == SIMULATE_CLUSTERS.schema
    assert [row["cluster"] for row in found["rows"]] == list(cluster_names())
    assert all(name in shown for name in cluster_names())


def test_pairs_of_workloads_take_gpus_and_nics_of_the_cluster(simulate):
    shown = simulate("--pairs", "--gpus", 4, "--cluster", EXAMPLES / "racks.yaml", "-q")
    assert shown.exit_code == 0, shown.stderr
    assert "144 pairs of jobs of 4 GPUs" in shown.stdout
    assert "1.25 GB/s" in shown.stdout


# what is refused


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "missing TRACE and --cluster"),
        (TWO[:1], "missing --cluster"),
        ((*TWO, "--static-factor", 2), "--static-factor is for --model pollux"),
        ((*TWO, "--static-scope", "time"), "--static-scope is for --model pollux"),
        ((*TWO, "--model", "tiresias", "--normalise-solo"), "is for --model mosim"),
        ((*TWO, "--model", "pollux", "--demand-basis", "overlap"), "for --model mosim"),
        ((*TWO, "--model", "pollux", "--min-bandwidth-share", 0.1), "for --model mosim"),
        ((*TWO, "--model", "tiresias", "--interference"), "has no interference"),
        ((*TWO, "--jobs", 3), "--jobs is for philly-like"),
        ((*MADE_UP, "--counting", "sent"), "--counting is for network_bytes of a file"),
        ((*TWO, "--tax-method", "gev"), "--tax-method is for --tax SOURCE"),
        ((*TWO, "--no-cache"), "--no-cache is for --tax fitted"),
        ((*TWO, "--timeline-servers", "0"), "--timeline-servers is for --timeline"),
        ((*TWO, "--timeline", "x.txt"), "ends neither in .json nor in .json.gz"),
        ((*TWO, "--timeline", "none/x.json"), "none is no folder"),
        ((*TWO, "--timeline", "x.json", "--timeline-servers", "2"), "servers 0 to 1"),
        ((*TWO, "--timeline", "x.json", "-o", "x.json"), "both name x.json"),
        ((*TWO, "--resamples", 50), "--resamples is for measured times"),
        ((*TWO, "--resamples", 1), "1 draws make no interval; give 20 or more, or 0"),
        ((*TWO, "--resamples", 1_000_000), "not in the range"),
        ((*TWO, "--timeline-servers", "x"), "'x' is no list of servers like 0-7,12"),
        (("--list-clusters", TWO[0]), "TRACE changes nothing of --list-clusters"),
        (("--list-clusters", "--seed", 1), "--seed changes nothing of --list-clusters"),
        (("--pairs", "--gpus", 10), "none has 10 GPUs; give --gpus up to 8"),
        ((*TWO, "-o", ""), "the name of the file is empty"),
        ((*TWO, "--gpus", 8), "--gpus is for --pairs"),
        ((*TWO, "--static-factor", 0.5, "--model", "pollux"), "give from 1"),
        ((*TWO, "--min-bandwidth-share", 1.5), "give from 1e-09 to 1, or 0"),
        ((*TWO, "--policy", "nearest"), "Invalid value for --policy"),
        ((*TWO, "--pool", "none.yaml"), "Invalid value for --pool"),
        ((*TWO, "--measured", "none.csv"), "Invalid value for --measured"),
        ((TWO[0], "--cluster", "mosim-9x8"), "did you mean mosim-"),
        (("philly", "--cluster", "mosim-2x8"), "did you mean philly-like?"),
        (("--pairs", *TWO), "TRACE changes nothing of --pairs"),
        (("--pairs", "--queue", "fifo"), "--queue changes nothing of --pairs"),
        (("--pairs", "--placement-aware"), "--placement-aware changes nothing of"),
        (("--pairs", "--gpus", 3), "half of a job"),
    ],
)
def test_options_that_cannot_be_or_change_nothing_are_wrong_usage(simulate, args, said):
    assert said in refused(simulate(*args), 2)


def test_a_job_larger_than_the_cluster_is_refused_by_its_name(simulate, three):
    Path("jobs.csv").write_text(f"{THREE}huge,3,9,10\n")
    said = refused(simulate(*three), 3)
    assert "line 5" in said
    assert "'huge' asks for 9 GPUs" in said


def test_progress_is_told_in_lines_where_asked_for(simulate):
    assert "simulating: 2 of 2 jobs" in simulate(*TWO, "-v").stderr


def test_a_trace_that_is_none_is_refused(simulate):
    assert "no such file" in refused(simulate("none.csv", *TWO[1:]), 3).lower()
    Path("odd.csv").write_text("a,b\n1,2\n")
    assert "no column job_id" in refused(simulate("odd.csv", *TWO[1:]), 3)


def test_the_counting_of_mixed_rows_is_said(simulate):
    text = (EXAMPLES / "two-jobs.csv").read_text().splitlines()
    rows = [f"{text[0]},counting", f"{text[1]},sent", f"{text[2]},"]
    Path("mixed.csv").write_text("\n".join(rows) + "\n")
    said = simulate("mixed.csv", *TWO[1:]).stderr
    assert "counted in several ways: paper (1), sent (1)" in said


def test_what_was_asked_has_one_shape_for_simulations_sweeps_and_pairs(simulate, run):
    Path("tax.json").write_bytes(to_json(FITTED))
    rest = ("--format", "json", "-q")

    def asked(*args: object) -> dict:
        return json.loads(run(*args, *rest).stdout)["parameters"]

    one = asked("simulate", *RACKS, "--tax", "tax.json")
    many = asked("sweep", *RACKS, "--tax", "tax.json", "--workers", 1)
    pairs = asked("simulate", "--pairs", *RACKS[1:])
    for name in ("trace", "jobs", "counting", "pool", "cluster", "tax"):
        assert one[name] == many[name], name
    assert pairs["cluster"] == one["cluster"]
    assert pairs["pool"] == one["pool"]
    assert pairs["contention"] == one["contention"]
    # a sweep has several models and bases, and shares the rest
    assert many["contention"].items() < one["contention"].items()


def test_times_of_a_table_are_in_one_unit(simulate):
    text = simulate(*RACKS).stdout
    jobs = text[text.index("\njob ") : text.index("\nGPUs ")].splitlines()[3:]
    units = [re.findall(r"[\d.,]+ (s|h)\b", line) for line in jobs]
    assert [unit[-2:] for unit in units] == [["h", "h"]] * 9
    assert "0.833 h" in text
    assert "3,000 s" not in text
