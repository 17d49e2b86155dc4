"""The command `characterize` as users meet it."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synctax.cluster.characterize.gpus import gpu_types
from synctax.cluster.characterize.pool import default_pool
from synctax.cluster.inputs.read_jobs import read_jobs
from synctax.cluster.machines import uniform
from synctax.schema.characterize import (
    CHARACTERIZE,
    CHARACTERIZE_GPUS,
    CHARACTERIZE_WORKLOADS,
)
from tests.conftest import ROOT, assert_in_words

JOB = ROOT / "examples" / "tp4-fsdp2"
GLOO = ROOT / "examples" / "gloo-tp2-fsdp2"
ASTRA_LOG = """\
sys[0] finished, 281004516 cycles, exposed communication 261004516 cycles.
sys[1] finished, 281004516 cycles, exposed communication 261004516 cycles.
"""
SIMAI_TIMES = (
    "File name, Expose DP comm, Expose DP_EP comm, Expose TP comm, Expose_EP_comm, "
    "Expose_PP_comm, bubble time, total comp, total exposed comm, Total time\n"
    "a,run, 0 (0.00%), 0 (0.00%), 300 (33.33%), 0 (0.00%), 0 (0.00%), 0 (0.00%), "
    "600 (66.67%), 300 (33.33%), 900\n"
    "layer_name,a,run,fwd compute,wg compute,ig compute,fwd exposed comm,wg exposed comm,"
    "ig exposed comm,fwd total comm,algbw,busbw,wg total comm,algbw,busbw,ig total comm,"
    "algbw,busbw\n"
    "attention,a,run,500,100,0,300,0,0,1,0.00,0.00,1,0.00,0.00,1,0.00,0.00\n"
)
AICB_WORKLOAD = """\
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 \
all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0
1
attention -1 500 ALLREDUCE 800 1 NONE 0 1 NONE 0 100
"""


@pytest.fixture
def characterize(run, tmp_path, monkeypatch):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def characterize(*args: object, **options: object):
        return run("characterize", *args, **options)

    return characterize


@pytest.fixture
def rows(characterize):
    """Its rows, as JSON tells them."""

    def rows(*args: object) -> list[dict]:
        return envelope(characterize(*args, "--format", "json"))["rows"]

    return rows


def envelope(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(result, code: int) -> str:
    assert_in_words(result)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    return result.stderr


# computed


def test_all_of_the_pool_is_told_for_the_papers_sizes_of_jobs(rows):
    told = rows()
    sizes = [(row["workload"], row["gpus"]) for row in told]
    assert sizes == [(one.name, n) for one in default_pool() for n in (2, 4, 8)]
    assert all(row["gpu_type"] == "v100" for row in told)


def test_numbers_come_with_where_they_are_from(rows):
    (one,) = rows("--workload", "resnet-50", "--gpus", 8)
    assert one["network_s"] == pytest.approx(2 * 7 / 8 * 4 * 25_557_032 / 625e6 + 14 * 5e-6)
    assert one["network_bytes"] == 14 * 4 * 25_557_032 == 8 * one["sent_bytes"]
    assert one["nic_gb_per_s"] == pytest.approx(0.625, rel=1e-3)
    assert one["iteration_s"] == one["compute_s"] + one["network_s"]
    assert one["network_share"] == one["network_s"] / one["iteration_s"]
    assert one["flop_per_gpu"] == pytest.approx(64 * 6 * 4.089e9, rel=1e-3)
    assert one["tax_s"] is None
    assert one["compute_from"].startswith("roofline: 0.65 of 15.7 TFLOPS fp32")
    assert one["network_from"].startswith("ring: 0.625 GB/s")
    assert one["bytes_from"] == "ring of 102 MB of gradients"


def test_options_change_what_they_name(rows):
    asked = ("--workload", "resnet-50", "--gpus", 8)
    (usual,) = rows(*asked)

    def changed(*options: object) -> dict:
        (one,) = rows(*asked, *options)
        return {name for name in one if one[name] != usual[name]} - {
            *("iteration_s", "network_share", "nic_gb_per_s", "flop_per_gpu")
        }

    compute = {"compute_s", "compute_from"}
    network = {"network_s", "network_from"}
    assert changed("--efficiency", 0.5) == compute
    assert changed("--memory-efficiency", 0.5) == compute
    assert changed("--dtype", "fp16") == {"dtype", *compute}
    assert changed("--batch-per-gpu", 32) == {"batch_per_gpu", "compute_s"}
    assert changed("--nic-gb-per-s", 12.5) == network
    assert changed("--latency-us", 50) == {"local_network_s", *network}
    assert changed("--nvlink-gb-per-s", 10) == {"local_network_s"}
    assert changed("--gpu-type", "H100") == {"gpu_type", "local_network_s", *compute}
    sends = {"sent_bytes", "network_bytes", "bytes_from"}
    assert changed("--gpus-per-server", 4) == {*network, *sends}


def test_a_profile_that_holds_for_one_placement_says_so_once(characterize):
    said = characterize("--gpus", "4,8", "--gpus-per-server", 4)
    assert said.exit_code == 0
    assert said.stderr == (
        "note: 24 × profiles that hold only where a job has 4 GPUs on each of its servers "
        "[placement_assumed]\n"
    )


@pytest.mark.parametrize(("per_server", "gpus"), [(1, [2, 4, 8]), (4, [8]), (8, [16])])
def test_jobs_fill_several_servers_where_no_number_of_gpus_is_asked_for(
    rows, per_server, gpus
):
    found = rows("--workload", "vgg-16", "--gpus-per-server", per_server)
    assert [one["gpus"] for one in found] == gpus


def test_a_transformer_of_plan_is_trained_data_parallel(rows):
    asked = ("--model", "llama3-8b", "--sequence", 8192, "--gpu-type", "h100")
    one, _, _ = rows(*asked)
    assert (one["workload"], one["batch_per_gpu"], one["dtype"]) == ("llama3-8b", 1, "bf16")
    assert one["compute_s"] == pytest.approx(one["flop_per_gpu"] / 0.4 / 989e12)
    two, _, _ = rows(*asked, "--batch-per-gpu", 2)
    assert two["compute_s"] == 2 * one["compute_s"]


def test_workloads_of_ones_own_are_read_and_known_times_kept(rows, tmp_path):
    (tmp_path / "pool.yaml").write_text(
        "workloads:\n"
        "  - {name: mine, compute_s: 0.2, network_s: 0.1, sent_bytes_per_worker: 5e6}\n"
    )
    (one,) = rows("--pool", "pool.yaml", "--gpus", 4)
    assert (one["compute_s"], one["network_s"], one["network_bytes"]) == (0.2, 0.1, 2e7)
    assert one["compute_from"] == one["network_from"] == one["bytes_from"] == "given"


def test_csv_can_be_put_into_a_file_of_jobs(characterize, tmp_path):
    told = characterize("--workload", "vgg-16", "--workload", "gpt-2", "--format", "csv")
    profiles = pd.read_csv(StringIO(told.stdout))
    assert tuple(profiles.columns) == CHARACTERIZE.names
    jobs = pd.DataFrame(
        {
            "job_id": [f"job {at}" for at in range(len(profiles))],
            "submit_s": 0.0,
            "duration_s": 100.0,
        }
    ).join(profiles)
    jobs.to_csv(tmp_path / "jobs.csv", index=False)
    cluster = uniform(2, 8, 625e6)
    read = read_jobs(tmp_path / "jobs.csv", cluster).jobs
    assert read.workload == tuple(profiles.workload)
    np.testing.assert_array_equal(read.compute_s, profiles.compute_s)
    np.testing.assert_array_equal(read.network_s, profiles.network_s)
    np.testing.assert_allclose(read.nic_bytes, profiles.sent_bytes)
    np.testing.assert_array_equal(read.local_network_s, profiles.local_network_s)


def test_parquet_and_csv_hold_the_same_rows(characterize, tmp_path):
    for name in ("a.parquet", "a.csv"):
        assert characterize("--gpus", 8, "-o", name).exit_code == 0
    whole, text = pd.read_parquet(tmp_path / "a.parquet"), pd.read_csv(tmp_path / "a.csv")
    assert whole.sent_bytes.tolist() == text.sent_bytes.tolist()
    assert len(whole) == 12


def test_the_table_is_golden(characterize, golden):
    told = characterize(
        "--workload", "resnet-50", "--workload", "bert-base", "--gpus", "1,8"
    )
    golden("characterize/two.txt", told.stdout)


def test_what_was_asked_is_in_the_envelope(characterize):
    told = envelope(
        characterize("--workload", "gpt-2", "--gpus", "8,2,2", "--format", "json")
    )
    assert told["schema"] == CHARACTERIZE.schema
    assert told["parameters"] == {
        "workloads": ["gpt-2"],
        "gpus": [2, 8],
        "gpu_type": "v100",
        "dtype": None,
        "nic_gb_per_s": 0.625,
        "nvlink_gb_per_s": 150.0,
        "efficiency": None,
        "memory_efficiency": 0.75,
        "latency_s": 5e-6,
        "gpus_per_server": None,
    }


def test_a_table_has_a_line_a_workload_and_fits_a_terminal(characterize):
    told = characterize().stdout
    assert told.count("\nresnet-50") == told.count("\nvgg-16") == 1
    assert "jobs of 2 and 4 GPUs: --gpus 2,4" in told
    assert len(told.splitlines()) <= 20
    asked = characterize("--gpus", "2,8").stdout
    assert asked.count("\nvgg-16") == 2
    assert "jobs of" not in asked


@pytest.mark.parametrize(
    ("text", "sizes"), [("8", [8]), ("2:16", [2, 4, 8, 16]), ("3,6:20", [3, 6, 12, 20])]
)
def test_sizes_of_jobs_are_listed_or_doubled(rows, text, sizes):
    told = rows("--workload", "alexnet", "--gpus", text)
    assert [row["gpus"] for row in told] == sizes


def test_a_rate_is_told_only_where_nothing_may_be_hidden(rows, tmp_path):
    (tmp_path / "run.log").write_text(ASTRA_LOG)
    assert rows("--astra-log", "run.log")[0]["nic_gb_per_s"] is None
    assert rows(JOB)[0]["nic_gb_per_s"] is None


def test_a_profile_of_a_faster_network_is_noted(characterize, tmp_path):
    (tmp_path / "pool.yaml").write_text(
        "workloads:\n"
        "  - {name: mine, compute_s: 0.2, network_s: 0.1, sent_bytes_per_worker: 9e7}\n"
    )
    asked = ("--pool", "pool.yaml", "--gpus", 4)
    assert "[rate_above_nic]" in characterize(*asked).stderr
    assert characterize(*asked, "--nic-gb-per-s", 1).stderr == ""


# read


def test_traces_tell_a_profile_with_its_tax(characterize, rows):
    (one,) = rows(JOB, "--gpus", 8)
    assert (one["workload"], one["gpus"]) == ("tp4-fsdp2", 8)
    parts = one["compute_s"], one["network_s"], one["tax_s"]
    assert min(parts) > 0
    assert one["iteration_s"] == pytest.approx(sum(parts))
    assert one["compute_from"].startswith("traces of 8 ranks")
    table = characterize(JOB, "--workload", "mine", "-q").stdout
    assert "mine" in table
    assert "tax" in table
    assert "batch" not in table
    (dp,) = rows(JOB, "--group", "fsdp")
    assert 0 < dp["sent_bytes"] < one["sent_bytes"]
    assert dp["compute_s"] > one["compute_s"]


def test_what_was_measured_last_is_characterized_without_naming_it(characterize, run, rows):
    assert "nothing was measured" in refused(characterize("--measured"), 1)
    assert run("measure", GLOO).exit_code == 0
    assert rows("--measured") == rows(GLOO, "--no-cache")


def test_a_log_of_astra_sim_is_taken(characterize, rows, tmp_path):
    (tmp_path / "run.log").write_text(ASTRA_LOG)
    (one,) = rows("--astra-log", "run.log", "--workload", "mine")
    assert (one["workload"], one["gpus"]) == ("mine", 2)
    assert (one["compute_s"], one["network_s"]) == (0.02, 0.261004516)
    assert one["network_bytes"] is None
    (half,) = rows("--astra-log", "run.log", "--iterations", 2)
    assert half["compute_s"] == 0.01
    asked = envelope(characterize("--astra-log", "run.log", "--format", "json"))
    assert asked["parameters"]["astra"] == {"log": "run.log"}
    table = characterize("--astra-log", "run.log")
    assert "–" in table.stdout


def test_an_astra_sim_of_ones_own_is_run_on_its_files(characterize, shared_traces, rows):
    files = shared_traces.parent / "astra-sim"
    if not files.is_dir():
        pytest.skip("ASTRA-sim's files are not at ../shared/astra-sim")
    program = Path("astra")
    log = files / "dp8_20ms_100MB_ring8_0.625.log"
    program.write_text(f"#!/bin/sh\ncat {log}\n")
    program.chmod(0o755)
    network = ("--astra-et", files / "dp8", "--astra-network", files / "ring5g.yml")
    memory = files / "no_memory_expansion.json"
    other = ("--astra-system", files / "sys1d.json", "--astra-memory", memory)
    (ran,) = rows("--astra-sim", program, *network, *other)
    (read,) = rows("--astra-log", log, *network)
    assert ran == read
    assert (ran["compute_s"], ran["network_s"]) == (0.02, 0.261004516)
    assert ran["network_bytes"] == 1.4e9
    (modelled,) = rows(*network)
    assert modelled["network_s"] == pytest.approx(ran["network_s"], rel=7e-4)


def test_times_of_simai_are_taken_with_the_bytes_of_its_workload(characterize, rows):
    Path("EndToEnd.csv").write_text(SIMAI_TIMES)
    Path("aicb.txt").write_text(AICB_WORKLOAD)
    (one,) = rows("--simai", "EndToEnd.csv", "--gpus", 8)
    assert (one["workload"], one["gpus"]) == ("EndToEnd", 8)
    assert (one["compute_s"], one["network_s"]) == pytest.approx((600e-6, 300e-6))
    assert one["network_bytes"] is None
    (two,) = rows("--simai", "EndToEnd.csv", "--simai-workload", "aicb.txt")
    assert (two["gpus"], two["sent_bytes"]) == (8, 800 * 2 * 7 / 8)
    said = refused(characterize("--simai", "EndToEnd.csv"), 1)
    assert "how many GPUs" in said


# lists


def test_the_pool_is_listed(characterize):
    told = envelope(characterize("--list-workloads", "--format", "json"))
    assert told["schema"] == CHARACTERIZE_WORKLOADS.schema
    assert [row["workload"] for row in told["rows"]] == [one.name for one in default_pool()]
    assert "25.6 M" in characterize("--list-workloads").stdout


def test_a_pool_of_ones_own_is_listed_with_what_it_gives(characterize, tmp_path):
    (tmp_path / "pool.yaml").write_text(
        "workloads: [{name: mine, compute_s: 0.2, gradient_bytes: 4e8}]\n"
    )
    listed = characterize("--list-workloads", "--pool", "pool.yaml").stdout
    assert "compute" in listed
    assert "200 ms" in listed


def test_kinds_of_gpus_are_listed(characterize):
    told = envelope(characterize("--list-gpu-types", "--format", "json"))
    assert told["schema"] == CHARACTERIZE_GPUS.schema
    assert [row["gpu_type"] for row in told["rows"]] == [one.name for one in gpu_types()]
    of = {row["gpu_type"]: row for row in told["rows"]}
    assert (of["v100"]["tensor_cores"], of["p100"]["tensor_cores"]) == ("fp16", None)
    assert of["h100"]["memory_bytes"] == 80e9
    assert "MI300X" in characterize("--list-gpu-types").stdout


# refused


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--workload", "resnet-5O"), "no workload 'resnet-5O' in the pool default"),
        (("--pool", "none.yaml"), "none.yaml"),
        (("--model", "llama3-8b"), "--model needs --sequence"),
        (("--model", "llama9", "--sequence", 8), "no model 'llama9' is built in"),
        (("--sequence", 8), "--sequence: for --model, TRACES, ASTRA-sim or SimAI only"),
        (("--gpu-type", "a1000"), "no GPU type 'a1000'; there are k80"),
        (("--gpus", "2,x"), "'x' is no number of GPUs"),
        (("--gpus", "0"), "'0' begins with 0"),
        (("--gpus", "1,024"), "'024' begins with 0: sizes are 4096, not 4,096"),
        (("--gpus", "8:2"), "'8:2' runs backwards"),
        (("--gpus", ""), "'' is no number of GPUs; give 512, 8,72 or 8:4096"),
        (("--dtype", "bf16"), "v100 has no units for bf16"),
        (("--list-workloads", "--list-gpu-types"), "one list at a time"),
        (("--list-gpu-types", "--gpus", 4), "--gpus: of no use with --list-gpu-types"),
        ((JOB, "--list-workloads"), "TRACES: of no use with --list-workloads"),
        (("--efficiency", 0), "not above 0"),
        (("--memory-efficiency", 2), "give from 1e-06 to 1"),
        (("--model", "llama3-8b", "--sequence", 8, "--pool", "x"), "no use with --model"),
        ((JOB, "--efficiency", 0.5), "--efficiency: of no use with TRACES; leave it out"),
        ((JOB, "--measured"), "leave out TRACES"),
        (("--group", "dp"), "--group: for --model, TRACES, ASTRA-sim or SimAI only"),
        ((JOB, "--simai", "x.csv"), "--simai: of no use with TRACES"),
        ((JOB, "--gpus", "2,4"), "one number of --gpus"),
        ((JOB, "--workload", "a", "--workload", "b"), "one --workload to name it"),
        (("--astra-log", "x", "--gpus", 8), "--gpus: of no use with --astra-log"),
        (("--astra-et", "x"), "give --astra-log, or --astra-sim, or --astra-et with"),
        (("--astra-log", "x", "--astra-groups", "y"), "--astra-groups is for --astra-et"),
        (("--astra-log", "x", "--astra-system", "y"), "--astra-system is for --astra-sim"),
        (("--astra-sim", "x", "--astra-log", "y"), "leave out --astra-log"),
        (
            ("--astra-sim", "x", "--astra-et", "y"),
            "needs --astra-network, --astra-system, ",
        ),
        (("--simai-workload", "x"), "--simai-workload tells no times; give --simai too"),
    ],
)
def test_wrong_usage_is_refused(characterize, args, said):
    assert said in refused(characterize(*args), 2)


def test_a_batch_of_a_known_time_cannot_be_changed(characterize, tmp_path):
    (tmp_path / "pool.yaml").write_text(
        "workloads: [{name: mine, compute_s: 0.2, gradient_bytes: 4e8}]\n"
    )
    said = refused(characterize("--pool", "pool.yaml", "--batch-per-gpu", 4), 2)
    assert "compute_s of mine is given in the pool" in said


def test_a_gpu_that_lacks_a_precision_is_refused_with_those_it_has(characterize):
    said = refused(characterize("--model", "llama3-8b", "--sequence", 8192), 1)
    assert "v100 has no units for bf16; it computes in fp32, fp16" in said


@pytest.mark.parametrize("option", ["--astra-log", "--simai", "--pool"])
def test_bad_files_are_refused_by_name(characterize, tmp_path, option):
    (tmp_path / "bad").write_text("no such thing\n")
    assert "bad" in refused(characterize(option, "bad"), 3)
