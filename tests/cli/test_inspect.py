import csv
import io
import json

import pytest

from tests.collectives.traces import all_reduce, gemm, job, trace, write
from tests.conftest import assert_in_words
from tests.laws import quick


@pytest.fixture
def rows(run):
    """Rows of the JSON, by file name."""

    def rows(*args):
        found = json.loads(run("inspect", *args, "--format", "json").stdout)
        return {row["file"].rpartition("/")[2]: row for row in found["rows"]}

    return rows


# ------------------------------------------------------------------ what people see


def test_the_table_is_golden(run, tmp_path, monkeypatch, golden):
    monkeypatch.chdir(tmp_path)
    job(
        tmp_path / "traces",
        host_name="node-a",
        deviceProperties=[{"id": i, "name": "NVIDIA H100"} for i in range(4)],
        baseTimeNanoseconds=1_700_000_000_000_000_000,
    )
    write(tmp_path / "traces" / "chakra" / "rank0.json", '{"schema": "1.1.1", "nodes": []}')
    write(tmp_path / "traces" / "README.md", "# traces")
    result = run("inspect", "traces")
    assert result.exit_code == 0
    golden("inspect/tp4.txt", result.stdout)


def test_what_all_files_share_has_no_column(run, tmp_path):
    result = run("inspect", job(tmp_path, host_name="node-a"))
    head = result.stdout.splitlines()[1]
    assert "host node-a" in head
    assert "rank from content" in head
    assert "host" not in result.stdout.splitlines()[3].split()


def test_many_files_that_are_alike_are_counted_and_odd_ones_shown(run, tmp_path):
    job(tmp_path, ranks=30)
    (tmp_path / "rank20.json").write_bytes(b"")
    result = run("inspect", tmp_path)
    assert "… and 21 more alike; -v lists them" in result.stdout
    assert "rank20.json" in result.stdout
    assert "rank19.json" not in result.stdout
    assert "rank19.json" in run("inspect", tmp_path, "-v").stdout


def test_long_names_are_cut_to_what_tells_them_apart(run, tmp_path):
    job(
        tmp_path,
        ranks=2,
        name="gpu-a7.cluster.example.org_1948{}.169895491015.pt.trace.json",
    )
    result = run("inspect", tmp_path)
    assert "…_19480…" in result.stdout
    assert "gpu-a7.cluster.example.org_19480" in run("inspect", tmp_path, "-v").stdout


def test_long_names_with_nothing_in_common_stay_whole(run, tmp_path):
    job(tmp_path, ranks=1, name="a{}" + "b" * 50)
    job(tmp_path, ranks=1, name="c{}" + "d" * 50)
    names = [path.name for path in tmp_path.iterdir()]
    result = run("inspect", *(tmp_path / name for name in names))
    assert [name for name in names if name not in result.stdout] == []


def test_what_is_no_trace_is_told_with_what_to_do(run, tmp_path):
    job(tmp_path)
    for n in range(7):
        write(tmp_path / "chakra" / f"rank{n}.json", '{"schema": "1.1.1", "nodes": []}')
    write(tmp_path / "README.md", "# traces")
    result = run("inspect", tmp_path)
    assert "execution trace" in result.stdout
    assert "export_chrome_trace" in result.stdout
    assert "chakra/rank2.json and 4 more each is a PyTorch execution" in result.stdout
    assert "not read: 1 file that cannot be traces" in result.stdout
    assert "chakra/rank6.json" in run("inspect", tmp_path, "-v").stdout


# ------------------------------------------------------------------ the verdict


def test_a_job_of_two_ranks_can_be_measured(run, tmp_path):
    result = run("inspect", job(tmp_path, ranks=2))
    assert result.exit_code == 0
    assert "measure:   yes: 2 of 2 ranks; default (1 group of 2)" in result.stdout
    assert "matching:  by Seq" in result.stdout


def test_one_rank_has_nothing_to_compare(run, tmp_path):
    job(tmp_path, ranks=2)
    result = run("inspect", tmp_path / "rank0.json")
    assert result.exit_code == 1
    assert "at least two ranks of a group" in result.stdout
    assert "the job has 2 ranks, no file is of rank 1" in result.stdout


def test_two_ranks_without_kernels_have_nothing_to_compare(run, tmp_path):
    step = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "dur": 2}
    for rank in range(2):
        write(tmp_path / f"rank{rank}.json", trace({**step, "ts": 5 + rank}, rank=rank))
    result = run("inspect", tmp_path)
    assert result.exit_code == 1
    assert "none holds a kernel: record ProfilerActivity.CUDA too" in result.stdout


def test_two_ranks_that_only_compute_have_nothing_to_compare(run, tmp_path):
    for rank in range(2):
        write(tmp_path / f"rank{rank}.json", trace(gemm(100 + rank), rank=rank))
    result = run("inspect", tmp_path)
    assert result.exit_code == 1
    assert "kernels, but none that communicates" in result.stdout
    assert "no communication kernel in any trace\n" in result.stdout


def test_collectives_of_a_cpu_backend_are_no_missing_gpu(run, tmp_path):
    span = {
        "ph": "X",
        "cat": "user_annotation",
        "name": "gloo:all_reduce",
        "pid": 1,
        "tid": 9,
    }
    for rank in range(2):
        events = [{**span, "ts": 100 * k - rank, "dur": 20 + rank} for k in (1, 2, 3)]
        write(tmp_path / f"rank{rank}.json", trace(*events, rank=rank, world=2))
    result = run("inspect", tmp_path)
    assert result.exit_code == 0
    assert "those of a CPU backend (gloo)" in result.stdout
    assert "recorded no GPU" not in result.stdout


def test_ranks_of_no_common_group_cannot_be_compared(run, tmp_path):
    for rank, group in ((0, (0, 1)), (2, (2, 3))):
        events = [all_reduce(10 + rank, 5, ranks=group, name=str(rank))]
        write(tmp_path / f"rank{rank}.json", trace(*events, rank=rank, world=4))
    result = run("inspect", tmp_path)
    assert result.exit_code == 1
    assert "no group has two of the ranks 0,2" in result.stdout


def test_a_rank_with_fewer_collectives_is_named(run, tmp_path):
    job(tmp_path, ranks=3)
    events = [all_reduce(2000, 30, ranks=range(3), seq=1)]
    write(tmp_path / "rank1.json", trace(*events, rank=1, world=3))
    result = run("inspect", tmp_path)
    assert result.exit_code == 0
    assert "default all_reduce: rank 1 has 1, others 3" in result.stdout
    assert "1 to 3" in result.stdout


def test_a_rank_whose_collectives_were_cut_off_is_not_counted(run, tmp_path):
    job(tmp_path, ranks=3)
    cpu = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::mm",
        "pid": 1,
        "tid": 1,
        "ts": 5,
        "dur": 2,
    }
    whole = trace(cpu, *[all_reduce(1000, 20, ranks=range(3))], rank=1, world=3)
    write(tmp_path / "rank1.json", whole[: whole.index("nccl") - 30])
    result = run("inspect", tmp_path)
    assert "measure:   yes: 2 of 3 ranks" in result.stdout
    assert "used (cut off)" in result.stdout
    assert "rank 1 has 0, others 3" in result.stdout
    assert "recorded no GPU" not in result.stdout


def test_kernels_with_and_without_seq_are_told_by_their_share(run, tmp_path):
    for rank in range(2):
        events = [all_reduce(100, 10 + rank, ranks=(0, 1), seq=0)]
        events += [all_reduce(100 * k, 10 + rank, ranks=(0, 1)) for k in (2, 3, 4)]
        write(tmp_path / f"rank{rank}.json", trace(*events, rank=rank))
    result = run("inspect", tmp_path)
    assert "matching:  25 % by Seq, 75 % by order, operation and size" in result.stdout


def test_hosts_decide_what_is_said_of_clocks(run, tmp_path):
    assert "hosts unknown" in run("inspect", job(tmp_path / "a")).stdout
    assert "one host (n1)" in run("inspect", job(tmp_path / "b", host_name="n1")).stdout
    job(tmp_path / "c", ranks=2, host_name="n1")
    events = [all_reduce(980, 20, ranks=range(2), seq=0)]
    write(tmp_path / "c" / "rank1.json", trace(*events, rank=1, world=2, host_name="n2"))
    assert "2 hosts: clocks are aligned" in run("inspect", tmp_path / "c").stdout


def test_metadata_decides_what_is_said_of_matching(run, tmp_path):
    for folder, known in (("order", {"ranks": (0, 1)}), ("none", {})):
        for rank in range(2):
            events = [all_reduce(100 * k, 10 + rank, **known) for k in range(1, 4)]
            text = trace(*events, rank=rank)
            write(tmp_path / folder / f"rank{rank}.json", text)
    assert "by order, operation and size" in run("inspect", tmp_path / "order").stdout
    none = run("inspect", tmp_path / "none").stdout
    assert "no collective metadata on kernels" in none
    assert "by order within each stream" in none


def test_synchronisation_records_and_launches_are_reported(run, tmp_path):
    launch = {"ph": "X", "cat": "cuda_runtime", "pid": 9, "tid": 9, "dur": 1}
    for rank in range(2):
        events = [
            {**launch, "name": "cudaLaunchKernel", "ts": 5, "args": {"correlation": 3}},
            {**launch, "name": "cudaEventRecord", "ts": 7, "args": {"correlation": 4}},
            all_reduce(10, 5 + rank, ranks=(0, 1), correlation=3),
        ]
        write(tmp_path / "calls" / f"rank{rank}.json", trace(*events, rank=rank))
        sync = {"ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": 7}
        events.append({**sync, "ts": 8, "dur": 1, "args": {"stream": 7, "correlation": 4}})
        write(tmp_path / "records" / f"rank{rank}.json", trace(*events, rank=rank))
    calls = run("inspect", tmp_path / "calls").stdout
    assert "attribute: yes: launches of 100 % of GPU events" in calls
    assert "2 calls that record" in calls
    assert "2 cuda_sync records" in run("inspect", tmp_path / "records").stdout


# ------------------------------------------------------------------ files at fault


def test_two_files_of_one_rank_are_shown_and_exit_3(run, tmp_path):
    for letter in "ab":
        text = trace(gemm(dur_us=ord(letter)), rank=0, host_name=f"node-{letter}")
        write(tmp_path / f"{letter}.json", text)
    result = run("inspect", tmp_path)
    assert result.exit_code == 3
    assert "clash" in result.stdout
    assert "measure:   no: 2 files claim to be rank 0" in result.stdout


def test_a_file_that_two_processes_wrote_is_said(run, tmp_path):
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 1, "dur": 2}
    events = [{**op, "pid": pid, "ts": pid} for pid in (11, 22)]
    result = run("inspect", write(tmp_path / "rank0.json", trace(gemm(), *events, rank=0)))
    assert "CPU events of several processes" in result.stdout
    result = run(
        "inspect", write(tmp_path / "rank0.json", trace(gemm(), events[0], rank=0))
    )
    assert "CPU events of several processes" not in result.stdout


def test_files_without_rank_are_shown_and_exit_1_with_a_manifest_to_copy(run, tmp_path):
    for letter in "ab":
        write(tmp_path / f"{letter}.json", trace(gemm(dur_us=ord(letter))))
    result = run("inspect", tmp_path)
    assert result.exit_code == 1
    assert "a.json,0,host-a" in result.stdout
    assert "distributedInfo" in result.stdout


def test_a_manifest_gives_ranks(run, tmp_path):
    for letter in "ab":
        events = [all_reduce(10, 5 + ord(letter), ranks=(0, 1))]
        write(tmp_path / f"{letter}.json", trace(*events))
    manifest = write(tmp_path / "ranks.csv", "file,rank,host\na.json,1,n1\nb.json,0,n1\n")
    result = run("inspect", tmp_path, "--manifest", manifest)
    assert result.exit_code == 0
    assert "rank from manifest" in result.stdout


def test_an_empty_trace_is_shown_with_its_reason_and_exits_1(run, tmp_path):
    metadata = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
    result = run("inspect", write(tmp_path / "rank0.json", trace(metadata, rank=0)))
    assert result.exit_code == 1
    assert "no trace holds an event, only metadata: rank0.json" in result.stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (None, "", "no file at all"),
        ("junk.txt", "junk", "1 other files"),
        ("rank0.json", "", "rank0.json"),
        ("rank0.json", "{}", "rank0.json"),
        ("et.json", '{"schema": "1.1.1", "nodes": []}', "execution trace"),
    ],
)
def test_input_that_holds_no_trace_ends_in_one_line_and_exit_3(
    run, tmp_path, name, content, message
):
    if name:
        write(tmp_path / name, content)
    result = run("inspect", tmp_path)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert_in_words(result)


def test_a_missing_path_is_named(run):
    result = run("inspect", "no/such/folder")
    assert result.exit_code == 3
    assert "no/such/folder does not exist" in result.stderr


# ------------------------------------------------------------------ formats


def test_json_holds_files_groups_verdicts_and_what_was_left_out(run, tmp_path):
    job(tmp_path, ranks=2)
    write(tmp_path / "truth.json", '{"stragglers": []}')
    found = json.loads(run("inspect", tmp_path, "--format", "json").stdout)
    assert found["schema"] == "synctax.inspect/1"
    assert [row["rank"] for row in found["rows"]] == [0, 1]
    assert found["world_size"] == 2
    (group,) = found["groups"]
    assert (group["op"], group["ranks"], group["collectives_max"]) == (
        "all_reduce",
        "0-1",
        3,
    )
    assert found["verdicts"][0]["answer"] == "yes"
    assert found["skipped"][0]["file"].endswith("truth.json")
    assert found["problems"] == []


def test_rows_tell_repairs_steps_and_times(rows, tmp_path):
    step = {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "dur": 10}
    events = [{**step, "name": f"ProfilerStep#{n}", "ts": 10 * n} for n in (3, 4, 5)]
    unfinished = {**gemm(), "dur": -1}
    text = trace(gemm(), unfinished, *events, rank=0, host_name="n1")
    row = rows(write(tmp_path / "rank1.json", text))["rank1.json"]
    assert (row["rank"], row["rank_source"], row["host"]) == (0, "content", "n1")
    assert (row["steps"], row["repairs"], row["compute_kernels"]) == ("3-5", 1, 1)
    assert row["span_us"] == 120
    assert row["size_bytes"] == (tmp_path / "rank1.json").stat().st_size


def test_csv_has_one_line_a_file(run, tmp_path):
    result = run("inspect", job(tmp_path), "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [line["rank"] for line in lines] == ["0", "1", "2", "3"]
    assert [line["comm_kernels"] for line in lines] == ["3"] * 4
    assert "note: 4 × every file: times are whole µs" in result.stderr


def test_the_result_does_not_depend_on_workers(run, tmp_path):
    job(tmp_path)
    one = run("inspect", tmp_path, "--workers", 1)
    three = run("inspect", tmp_path, "--workers", 3)
    assert one.stdout == three.stdout


# ------------------------------------------------------------------ real traces


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (
            "megatron-tp8-a100",
            [
                "a job of 8 ranks",
                "0 (A100-SXM4-80GB)",
                "no collective metadata on kernels",
                "times are whole µs",
                "no baseTimeNanoseconds",
                "measure:   yes: 8 of 8 ranks; unlabelled (1 group of 8)",
            ],
        ),
        (
            "ddp4-mi300",
            [
                "every communication kernel is Generic",
                "does not name the GPUs",
                "measure:   yes: 4 of 4 ranks; default (1 group of 4)",
                "by order, operation and size",
            ],
        ),
        (
            "dlrm8-v100",
            ["kernel names of NCCL before 2.19", "no collective metadata", "all_to_all"],
        ),
        (
            "torchrec4-sleep-rank2",
            [
                "rank 2 has 12, others 13",
                "one host (ip-172-31-16-248.us-east-2.compute.internal)",
                "12 to 13",
            ],
        ),
    ],
)
def test_the_oddities_of_real_jobs_are_said(run, shared_traces, folder, said):
    result = run("inspect", shared_traces / folder)
    assert result.exit_code == 0
    assert [text for text in said if text not in result.stdout] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("alexnet-one-gpu", "kernels, but none that communicates"),
        ("b200-symmetric-memory-allreduce", "not only by NCCL or RCCL"),
        ("collective-metadata-a100-rank0of2", "no file is of rank 1"),
        ("cuda-event-sync-multi-stream", "cuda_sync records"),
        ("large-2020-allreduces", "one rank only (2,020 communication kernels)"),
        ("mi250-rocm", "no distributedInfo"),
        ("no-distributed-info", "no kernel: the profiler recorded no GPU"),
    ],
)
def test_the_oddity_of_a_real_single_file_is_said(run, shared_traces, name, said):
    result = run("inspect", shared_traces / "single" / f"{name}.json.gz")
    assert result.exit_code == 1
    assert said in result.stdout


def test_a_folder_of_unrelated_real_files_is_said_to_be_of_different_jobs(
    run, shared_traces, tmp_path
):
    for path in (shared_traces / "single").iterdir():
        if not quick() or path.stat().st_size < 1_000_000:
            (tmp_path / path.name).symlink_to(path)
    result = run("inspect", tmp_path)
    assert result.exit_code == 3
    assert "files of different jobs" in result.stdout
