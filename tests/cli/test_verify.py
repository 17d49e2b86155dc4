"""The command `verify` as users meet it."""

import json
import re

import pandas as pd
import pytest

from synctax.schema import VERIFY, VERIFY_GROUPS
from synctax.synth import SynthJob, write
from tests.collectives.traces import kernel
from tests.conftest import ROOT, assert_in_words
from tests.laws import some
from tests.planning.nccl_writing import Job

RANKS, HOSTS = 16, 4
TOPOLOGY = ROOT / "tests" / "planning" / "nccl_files" / "hgx.xml"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Traces of 16 ranks, TP 4 on each of four hosts."""
    folder = tmp_path_factory.mktemp("verify") / "made"
    write(SynthJob(tp=4, fsdp=4, hosts=HOSTS, layers=1, steps=2), folder)
    return folder


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    return tmp_path_factory.mktemp("space")


@pytest.fixture
def verify(run, made, space):
    def verify(*args, traces=made):
        return run("verify", traces, *args, "--workspace", space)

    return verify


@pytest.fixture
def plan(run, tmp_path):
    """Write a plan of 16 GPUs for a model whose TP sends what the made-up job does."""
    model = tmp_path / "tiny.yaml"
    model.write_text(
        "name: tiny\nlayers: 1\nhidden: 4096\nheads: 32\nkv_heads: 8\nffn: 14336\n"
        "vocabulary: 32000\n"
    )

    def plan(*layouts, batch=4):
        path = tmp_path / "plan.json"
        named = [part for one in layouts for part in ("--layout", one)]
        result = run(
            "plan", "--model", model, "--hardware", "dgx-h100", "--gpus", RANKS,
            "--sequence", 4096, "--batch", batch, *named, "--tax", "none", "-o", path,
        )  # fmt: skip
        assert result.exit_code == 0, result.stderr
        return path

    return plan


def hosts_csv(tmp_path, host_of):
    path = tmp_path / "map.csv"
    lines = [f"{rank},{host_of(rank)}" for rank in range(RANKS)]
    path.write_text("\n".join(["rank,host", *lines]) + "\n")
    return path


def envelope(result, code=0):
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


def statuses(found):
    return {(row["check"], row["group"]): row["status"] for row in found["rows"]}


def test_a_job_that_sits_as_it_should_is_told_so(verify):
    result = verify()
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "16 ranks of 16 read on 4 hosts; the groups are those of tp4,pp1,dp4, ranks as "
        "tp-cp-ep-dp-pp"
    )
    assert lines[1] == "every rule that can be checked holds"


def test_table_is_golden(verify, made, golden, tmp_path):
    result = verify("--hosts", hosts_csv(tmp_path, lambda rank: f"host-{rank % HOSTS}"))
    golden("verify/round-robin.txt", result.stdout)


def test_a_launcher_that_deals_ranks_out_fails_with_its_hosts(verify, tmp_path):
    path = hosts_csv(tmp_path, lambda rank: f"host-{rank % HOSTS}")
    result = verify("--hosts", path, "--format", "json")
    found = envelope(result, 4)
    assert result.stderr.endswith("error: the job does not sit as it should: tp domain\n")
    assert found["failed"]
    assert [one["ranks"] for one in found["broken"]] == [
        list(range(at, at + 4)) for at in range(0, RANKS, 4)
    ]
    for one in found["broken"]:
        assert (one["check"], one["group"]) == ("domain", "tp")
        assert one["hosts"] == [f"host-{at}" for at in range(HOSTS)]
    assert "rank r on host r mod 4" in found["verdict"][1]


def test_hosts_in_the_traces_tell_the_same(run, made, tmp_path):
    (folder,) = {path.parent for path in made.rglob("rank*_trace.json")}
    for path in folder.iterdir():
        rank = int(re.search(r"rank(\d+)", path.name)[1])
        text = path.read_text().replace(
            f'"host_name": "node-{rank // HOSTS}"', f'"host_name": "node-{rank % HOSTS}"'
        )
        (tmp_path / path.name).write_text(text)
    result = run("verify", tmp_path, "--no-cache", "--format", "json")
    found = envelope(result, 4)
    assert len(found["broken"]) == 4
    assert statuses(found)["domain", "tp"] == "broken"
    # two processes saw GPUs of one number on one host, so order tells their place
    assert {note["reason"] for note in found["excluded"]} >= {"local_index_from_order"}


def test_racks_of_several_hosts_hold_what_a_host_does_not(verify, tmp_path):
    path = hosts_csv(tmp_path, lambda rank: f"host-{rank // 2}")
    assert verify("--hosts", path).exit_code == 4
    found = envelope(verify("--hosts", path, "--domain", 16, "--format", "json"))
    # the traces show four GPUs on a host
    assert found["domains_known_by"].startswith("every 4 consecutive hosts of 4 GPUs")
    assert statuses(found)["domain", "tp"] == "ok"


def test_a_plan_is_held_against_the_job(verify, plan):
    result = verify("--plan", plan("tp4,dp4"), "--format", "json")
    found = envelope(result)
    told = statuses(found)
    assert (
        told["bytes", "tp"] == told["microbatches", "tp"] == told["members", "fsdp"] == "ok"
    )
    # Megatron's distributed optimizer is planned, FSDP was run
    assert told["bytes", "dp"] == "broken"
    assert not found["failed"]
    assert [one["op"] for one in found["nccl_tests_commands"]][:3] == [
        "all_reduce",
        "reduce_scatter",
        "all_gather",
    ]


def test_warnings_fail_where_it_is_asked_for(verify, plan):
    path = plan("tp4,dp4")
    result = verify("--plan", path, "--strict")
    assert result.exit_code == 4
    assert result.stderr.endswith("error: the job does not sit as it should: dp bytes\n")
    assert "broken: dp bytes" in result.stdout
    assert "warning: dp bytes" in verify("--plan", path).stdout


def test_the_runs_of_nccl_tests_are_printed_until_they_were_run(verify, plan, tmp_path):
    path = plan("tp4,dp4")
    result = verify("--plan", path)
    assert "to measure the planned groups (--nccl-tests FILE):" in result.stdout
    assert 'NCCL_TESTS_SPLIT="DIV 4" all_reduce_perf' in result.stdout
    output = tmp_path / "all_gather.txt"
    output.write_text(NCCL_TESTS)
    result = verify("--plan", path, "--nccl-tests", output)
    assert "to measure" not in result.stdout
    assert "nccl-tests" in result.stdout


def test_another_layout_than_planned_is_broken_and_named(verify, plan):
    path = plan("tp2,dp8", "tp4,dp4")
    result = verify("--plan", path, "--layout", "tp2,dp8", "--format", "json")
    found = envelope(result, 4)
    assert statuses(found)["size", "tp"] == "broken"
    result = verify("--plan", path)
    assert "--layout" in result.stderr
    missing = verify("--plan", path, "--layout", "tp8,dp2")
    assert missing.exit_code == 1
    assert "has no layout tp8,pp1,dp2; it has tp" in missing.stderr


def test_a_layout_of_the_plan_may_leave_out_dp(verify, plan):
    path = plan("tp2,dp8", "tp4,dp4")
    found = envelope(verify("--plan", path, "--layout", "tp4", "--format", "json"))
    assert statuses(found)["members", "tp"] == "ok"


def test_a_plan_that_was_edited_into_nonsense_names_its_place(verify, plan):
    path = plan("tp4,dp4")
    for key, value in (("microbatches", 0), ("tp", 10**30), ("tp_bytes", -5), ("ep", 3)):
        document = json.loads(path.read_text())
        document["rows"][0][key] = value
        edited = path.with_name("edited.json")
        edited.write_text(json.dumps(document))
        result = verify("--plan", edited)
        assert (result.exit_code, result.stdout) == (3, ""), key
        assert "row 1" in result.stderr
        assert_in_words(result)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("tp8,pp100000,dp100000", "80,000,000,000 ranks; expected 4,194,304 at most"),
        ("tp4,dp4,ep3", "ep 3 divides neither dp·cp = 4 nor tp·dp·cp = 16"),
    ],
)
def test_a_layout_that_cannot_be_is_refused_before_it_is_listed(verify, layout, said):
    result = verify("--layout", layout, "--hardware", "dgx-h100")
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr


def test_a_row_of_the_plan_that_fits_the_job_is_named(verify, plan):
    result = verify("--plan", plan("tp2,dp8", "tp4,dp4", batch=64))
    if result.exit_code:
        assert "are those of tp4,pp1,dp4, which the plan has too" in result.stderr
    assert "plan_layout_chosen" in result.stderr


@pytest.mark.parametrize("layout", ["tp4,dp4", "tp4", "tp4,pp1"])
def test_a_layout_needs_no_plan(verify, layout):
    found = envelope(verify("--layout", layout, "--format", "json"))
    assert statuses(found)["members", "tp"] == "ok"


def test_a_layout_of_other_ranks_is_told(verify):
    result = verify("--layout", "tp5")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "does not divide" in result.stderr
    assert verify("--layout", "tp4,dp8").exit_code == 4
    assert verify("--layout", "tensor4").exit_code == 1


def test_hardware_tells_what_links_carry(verify):
    found = envelope(verify("--hardware", "dgx-h100", "--format", "json"))
    rows = {(row["check"], row["group"]): row for row in found["rows"]}
    assert rows["busbw", "tp"]["expected"].startswith("link 450 GB/s")
    assert verify("--hardware", "dgx-x").exit_code in (1, 3)


def test_files_of_nccl_tell_hosts_rails_and_nics(run, made, space, tmp_path):
    job = Job(hosts=4, gpus=4, arrive=lambda nic: (nic + 1) % 4, cross_nic="1")
    log = tmp_path / "nccl.log"
    log.write_text("\n".join(line for rank in job.texts() for line in rank) + "\n")
    result = run(
        "verify", made, "--nccl-log", log, "--topology", TOPOLOGY, "--format", "json",
        "--workspace", space,
    )  # fmt: skip
    found = envelope(result)
    told = statuses(found)
    assert told["nic-rails", None] == told["nvlinks", None] == "broken"
    assert told["p2p", None] == told["rings", None] == "ok"
    assert found["hosts"] == [f"node-{host:02}" for host in range(4)]
    assert any("NCCL_CROSS_NIC is 1" in line for line in found["verdict"])
    # the topology's rates stand in for a machine
    rows = {(row["check"], row["group"]): row for row in found["rows"]}
    assert rows["busbw", "tp"]["expected"].startswith("link ")


def test_every_group_has_a_row(verify, tmp_path):
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        path = tmp_path / f"groups{suffix}"
        assert verify("--per-group", "-o", path).exit_code == 0
        frame = read(path)
        assert tuple(frame) == VERIFY_GROUPS.names
        assert frame.group.value_counts().to_dict() == {"tp": 4, "fsdp": 4, "default": 1}
    assert "busbw" in verify("--per-group").stdout


def test_json_is_an_envelope_with_the_promised_columns(verify):
    found = envelope(verify("--format", "json"))
    assert found["schema"] == "synctax.verify/1"
    assert list(found["rows"][0]) == list(VERIFY.names)
    assert found["parameters"]["strict"] is False
    assert (found["layout"], found["order"]) == ("tp4,pp1,dp4", "tp-cp-ep-dp-pp")
    assert (found["world_size"], found["ranks_read"]) == (16, 16)
    assert found["nccl_tests_commands"] == []


def test_ranks_that_were_not_read_are_unknown(verify):
    found = envelope(verify("--ranks", "0-5", "--format", "json"))
    assert statuses(found)["traced", None] == "unknown"
    assert statuses(found)["domain", "tp"] == "ok"
    assert "not read: rank 6-15" in found["rows"][0]["reason"]


def test_one_role_is_looked_at_alone(verify):
    found = envelope(verify("--group", "fsdp", "--format", "json"))
    assert {row["group"] for row in found["rows"]} == {None, "fsdp"}
    assert found["layout"] == "tp4,pp1,dp4"
    table = verify("--group", "fsdp", "--per-group", "--format", "json")
    assert {row["group"] for row in envelope(table)["rows"]} == {"fsdp"}
    assert verify("--group", "ep").exit_code == 1


def test_without_traces_those_measured_last_are_taken(run, made, tmp_path):
    here = tmp_path / "space"
    assert run("measure", made, "--workspace", here).exit_code == 0
    result = run("verify", "--workspace", here)
    assert result.exit_code == 0
    assert "as measured just now" in result.stderr
    assert run("verify", "--workspace", tmp_path / "none").exit_code == 1


def test_traces_without_a_collective_show_declared_groups(run, tmp_path):
    config = [{"pg_name": "1", "pg_desc": "mesh_tp", "pg_size": 2, "ranks": [0, 1]}]
    for rank in (0, 1):
        event = kernel("gemm", 1, 2, device=rank)
        document = {
            "host_name": f"node-{rank}",
            "distributedInfo": {"rank": rank, "world_size": 2, "pg_config": config},
            "traceEvents": [event],
        }
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    (tmp_path / "rank7.json.gz").write_bytes(b"\x1f\x8b\x08damaged")
    result = run("verify", tmp_path, "--no-cache", "--format", "json")
    found = envelope(result, 4)
    assert found["broken"][0]["hosts"] == ["node-0", "node-1"]
    assert "file_unreadable" in {note["reason"] for note in found["excluded"]}


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--domain", "0"], 2, "domain"),
        (["--slow-share", "1"], 2, "give one above 0 and below 1"),
        (["--bytes-tolerance", "x"], 2, "x"),
        (["--order", "pp-first"], 2, "order"),
        (["--plan", "none.json"], 2, "none.json"),
    ],
)
def test_nonsense_names_the_option_and_the_value(verify, options, code, said):
    result = verify(*options)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


def test_files_that_are_something_else_are_bad_input(verify, made):
    (trace,) = list(made.rglob("rank0_trace.json"))
    for option in ("--plan", "--hosts", "--nccl-tests", "--topology", "--nccl-log"):
        result = verify(option, trace)
        assert (result.exit_code, result.stdout) == (3, ""), option
        assert_in_words(result)


# ------------------------------------------------------------------ real traces

SETS = {
    "megatron-tp8-a100": ("unlabelled", None),
    "ddp4-mi300": ("default", None),
    "dlrm8-v100": ("unlabelled", None),
    "torchrec4-sleep-rank2": ("unlabelled", None),
}


@pytest.mark.parametrize("name", some(list(SETS)))
def test_real_traces_get_sensible_answers(run, columns, shared_traces, tmp_path, name):
    space = columns(shared_traces / name, tmp_path / "space")
    result = run("verify", shared_traces / name, "--workspace", space, "--format", "json")
    assert_in_words(result)
    found = envelope(result)
    assert found["layout"] == SETS[name][1]
    assert statuses(found)["world", None] == "unknown"
    assert statuses(found)["traced", None] == "ok"


def test_a_role_may_be_told_of_a_real_trace(run, columns, shared_traces, tmp_path):
    folder = shared_traces / "megatron-tp8-a100"
    space = columns(folder, tmp_path / "space")
    hosts = tmp_path / "map.csv"
    hosts.write_text("rank,host\n0-7,dgx\n")
    result = run(
        "verify", folder, "--layout", "tp8", "--hardware", "dgx-a100", "--hosts", hosts,
        "--workspace", space, "--format", "json",
    )  # fmt: skip
    found = envelope(result)
    told = statuses(found)
    assert told["domain", "tp"] == told["busbw", "tp"] == told["members", "tp"] == "ok"
    rows = {(row["check"], row["group"]): row for row in found["rows"]}
    assert rows["busbw", "tp"]["found"] == "median 195 GB/s (65 % of the link)"
    assert rows["straggler", "tp"]["found"].startswith("1 of 1 group, most 0-7: 89 % wait")


@pytest.mark.parametrize("name", ["tp4-fsdp2", "gloo-tp2-fsdp2", "tp2-injected"])
def test_examples_break_nothing(run, columns, tmp_path, name):
    folder = ROOT / "examples" / name
    space = columns(folder, tmp_path / "space")
    result = run("verify", folder, "--workspace", space, "--format", "json")
    assert_in_words(result)
    assert envelope(result)["failed"] is False


def test_single_traces_with_awkward_content_end_in_words(run, shared_traces):
    for path in some(sorted((shared_traces / "single").iterdir())):
        result = run("verify", path, "--no-cache")
        assert_in_words(result)
        assert result.exit_code in (0, 1, 3), path


NCCL_TESTS = """\
# nThread 1 nGpus 4 minBytes 8388608 maxBytes 134217728 step: 2(factor) warmup iters: 1
# Using devices
#  Rank  0 Group  0 Pid 100 on node-0 device  0 [0x01] NVIDIA H100
#  Rank  1 Group  0 Pid 100 on node-0 device  1 [0x02] NVIDIA H100
#  Rank  2 Group  0 Pid 100 on node-0 device  2 [0x03] NVIDIA H100
#  Rank  3 Group  0 Pid 100 on node-0 device  3 [0x04] NVIDIA H100
#
#                                                     out-of-place                       in-place
#       size         count    type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     8388608       1048576   float    none      -1    30.00  279.62  209.72      0    30.00  279.62  209.72      0
    33554432       4194304   float    none      -1   100.00  335.54  251.66      0   100.00  335.54  251.66      0
"""  # noqa: E501
