from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

from synctax.collectives.load import load, require, survey
from synctax.errors import BadInputError, SynctaxError
from synctax.trace.discover import discover
from tests.attribution.examples import kept
from tests.collectives.traces import all_reduce, gemm, job, trace, write


def same(one, other):
    """Whether two ranks hold the same collectives under the same rank."""
    assert (one.rank, one.host, one.gpu, one.window) == (
        other.rank,
        other.host,
        other.gpu,
        other.window,
    )
    assert_array_equal(one.start_ns, other.start_ns)
    assert_array_equal(one.duration_ns, other.duration_ns)
    assert one.groups == other.groups
    return True


def reasons(found):
    return [note.reason for note in found.notes]


def test_a_folder_becomes_ranks_with_rank_host_and_gpu(tmp_path):
    job(
        tmp_path,
        ranks=2,
        host_name="node-a",
        deviceProperties=[{"id": i, "name": "NVIDIA H100"} for i in range(2)],
    )
    found = load([str(tmp_path)])
    assert [r.rank for r in found.ranks] == [0, 1]
    assert [r.host for r in found.ranks] == ["node-a", "node-a"]
    assert found.ranks[0].gpu == "0 (H100)"
    assert [len(r) for r in found.ranks] == [3, 3]
    assert found.world_size == 2
    assert [f.status for f in found.files] == ["used", "used"]
    assert not found.notes


def test_neither_workers_nor_order_nor_file_names_change_the_ranks(tmp_path):
    plain = load([str(job(tmp_path / "a"))], workers=1)
    pooled = load([str(tmp_path / "a")], workers=3)
    named = load([str(job(tmp_path / "b", name="x{}_20240101.json.gz"))])
    parts = sorted(map(str, (tmp_path / "a").iterdir()), reverse=True)
    turned = load(parts)
    for other in (pooled, named, turned):
        assert all(map(same, plain.ranks, other.ranks))
        assert len(plain.ranks) == len(other.ranks) == 4


def test_ranks_of_several_windows_stand_by_window_then_rank(tmp_path):
    job(tmp_path / "iteration_10", ranks=2)
    job(tmp_path / "iteration_9", ranks=2, start_us=10_000)
    found = load([str(tmp_path)])
    assert [(r.window, r.rank) for r in found.ranks] == [
        ("iteration_9", 0),
        ("iteration_9", 1),
        ("iteration_10", 0),
        ("iteration_10", 1),
    ]


def test_only_ranks_asked_for_are_in_use(tmp_path):
    found = load([str(job(tmp_path))], ranks={1, 3, 99})
    assert [r.rank for r in found.ranks] == [1, 3]
    assert [f.status for f in found.files] == ["not selected", "used"] * 2


def test_a_rank_asked_for_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(
        SynctaxError, match=r"no trace is of rank 9; there are the ranks 0-3"
    ):
        load([str(job(tmp_path))], ranks={9})


def test_a_broken_file_does_not_stop_the_others_and_is_named(tmp_path):
    job(tmp_path)
    (tmp_path / "rank1.json").write_bytes(b"")
    found = load([str(tmp_path)])
    assert [r.rank for r in found.ranks] == [0, 2, 3]
    broken = found.files[1]
    assert (broken.status, broken.facts, broken.collectives) == ("unreadable", None, None)
    assert "empty" in broken.reason
    (note,) = [n for n in found.notes if n.reason == "file_unreadable"]
    assert "rank1.json" in note.detail


def test_files_that_are_all_broken_are_bad_input_that_names_them(tmp_path):
    for rank in range(5):
        write(tmp_path / f"rank{rank}.json", "")
    with pytest.raises(BadInputError, match=r"none of 5 traces .*rank0\.json.*and 2 more"):
        load([str(tmp_path)])


def test_one_broken_file_is_bad_input_that_names_it(tmp_path):
    with pytest.raises(BadInputError, match=r"^the trace cannot be read: .*rank0\.json"):
        load([str(write(tmp_path / "rank0.json", ""))])


def test_a_trace_with_only_metadata_is_left_out_and_said(tmp_path):
    job(tmp_path)
    metadata = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
    write(tmp_path / "rank2.json", trace(metadata, rank=2, world=4))
    found = load([str(tmp_path)])
    assert [r.rank for r in found.ranks] == [0, 1, 3]
    assert found.files[2].status == "empty"
    assert "file_empty" in reasons(found)


def test_traces_with_only_metadata_cannot_be_served(tmp_path):
    metadata = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
    for rank in range(2):
        write(tmp_path / f"rank{rank}.json", trace(metadata, rank=rank))
    with pytest.raises(SynctaxError, match="no trace holds an event") as error:
        load([str(tmp_path)])
    assert error.value.exit_code == 1


def test_a_file_cut_off_is_used_up_to_the_cut_and_said(tmp_path):
    job(tmp_path)
    text = (tmp_path / "rank3.json").read_text()
    (tmp_path / "rank3.json").write_text(text[:-100])
    found = load([str(tmp_path)])
    assert len(found.ranks[3]) == 2
    (note,) = [n for n in found.notes if n.reason == "file_truncated"]
    assert "rank3.json" in note.detail


def test_files_without_rank_are_refused_unless_a_manifest_places_them(tmp_path):
    for letter in "ab":
        events = [all_reduce(10, 5 + ord(letter), ranks=(0, 1))]
        write(tmp_path / f"{letter}.json", trace(*events))
    with pytest.raises(SynctaxError, match=r"no file tells its rank.*--manifest") as error:
        load([str(tmp_path)])
    assert error.value.exit_code == 1
    manifest = write(tmp_path / "ranks.csv", "file,rank,host\na.json,1,n1\nb.json,0,n2\n")
    found = load([str(tmp_path)], manifest=str(manifest))
    assert [(r.rank, r.host, Path(r.path).name) for r in found.ranks] == [
        (0, "n2", "b.json"),
        (1, "n1", "a.json"),
    ]


def test_one_file_without_rank_is_loaded_as_rank_unknown(tmp_path):
    found = load([str(write(tmp_path / "profile.json", trace(gemm())))])
    assert [r.rank for r in found.ranks] == [-1]
    assert found.files[0].rank is None


def test_a_file_without_rank_among_files_with_one_is_never_rank_0(tmp_path):
    job(tmp_path, ranks=2)
    write(tmp_path / "odd.json", trace(gemm()))
    found = load([str(tmp_path)])
    assert [r.rank for r in found.ranks] == [0, 1]
    assert "rank_unknown" in reasons(found)


def test_two_hosts_writing_rank_0_are_bad_input(tmp_path):
    for letter in "ab":
        write(
            tmp_path / f"{letter}.json",
            trace(gemm(dur_us=ord(letter)), rank=0, host_name=f"node-{letter}"),
        )
    with pytest.raises(BadInputError, match=r"claim to be rank 0: .*node-a.*node-b"):
        load([str(tmp_path)])


def test_a_survey_lists_the_problems_that_loading_raises(tmp_path):
    job(tmp_path, ranks=2, world=2)
    write(tmp_path / "rank5.json", trace(gemm(), rank=5, world=8))
    found = survey(discover([str(tmp_path)]))
    (problem,) = found.problems
    assert problem.bad_input
    with pytest.raises(BadInputError, match="different jobs"):
        require(found)


def test_what_remains_after_all_exclusions_may_be_nothing(tmp_path):
    write(tmp_path / "odd.json", trace(gemm()))
    write(tmp_path / "rank1.json", trace({"ph": "M", "name": "x", "pid": 1}, rank=1))
    with pytest.raises(SynctaxError, match=r"odd\.json \(no rank\).*rank1\.json \(empty\)"):
        load([str(tmp_path)])


def test_columns_come_from_a_cache_if_there_is_one(tmp_path):
    from synctax.workspace import Workspace

    cache = Workspace(tmp_path / ".synctax")
    first = load([str(job(tmp_path / "traces"))], cache=cache, workers=1)
    for path in (tmp_path / "traces").iterdir():
        assert cache.cached(str(path)) is not None
    again = load([str(tmp_path / "traces")], cache=cache, workers=2)
    assert all(map(same, first.ranks, again.ranks))


def test_progress_adds_up_to_the_bytes_of_the_files(tmp_path):
    job(tmp_path)
    seen = {}
    load(
        [str(tmp_path)],
        on_progress=lambda path, n: seen.__setitem__(path, seen.get(path, 0) + n),
    )
    assert seen == {str(p): p.stat().st_size for p in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "names",
    [
        ("traces/iteration_10/rank{}_trace.json.gz",),
        ("traces/iteration_10/leaf/rank{}_trace.json.gz",),
        ("profile_trace/iteration_10/rank{}_trace.json",),
        ("worker{}_step_12.1694128201545.pt.trace.json.gz",),
        ("torch_profile/rank-{}.json.gz", "chakra/rank-{}.json.gz"),
        ("iteration_3/r{}-2024-05-01-10-11-12.pt.trace.json",),
        ("node1/exp-rank[{}].1698954910154.pt.trace.json.gz",),
        ("rank{}.1698954910154219890.pt.trace.json.gz",),
        ("1754500000.12-TP-{}.trace.json.gz",),
        ("trace-rank-{}.json",),
        ("megatron_kineto_{}.json.gz",),
        ("run/rank_{}/trace.json",),
    ],
)
def test_every_layout_that_names_ranks_gives_them_without_help(tmp_path, names):
    for rank in range(2):
        events = [all_reduce(100 - rank, 10 + rank, ranks=(0, 1), device=rank)]
        write(tmp_path / names[0].format(rank), trace(*events))
        for twin in names[1:]:
            write(tmp_path / twin.format(rank), '{"schema": "1.1.1", "nodes": []}')
    found = load([str(tmp_path)])
    assert [r.rank for r in found.ranks] == [0, 1]
    assert {r.window for r in found.ranks} == {""}
    assert len(found.skipped) == 2 * (len(names) - 1)
    assert "not_a_trace" not in reasons(found)


@pytest.mark.parametrize(
    "name",
    [
        "gpu-a7_1948{}.1698954910154219890.pt.trace.json.gz",
        "libkineto_activities_31{}.json",
        "175450000{}-TP-0-DP-0.trace.json.gz",
        "trace_step_{}.json",
        "run_{}00.json",
    ],
)
def test_a_layout_that_names_no_rank_needs_the_content_or_a_manifest(tmp_path, name):
    for rank in range(2):
        events = [all_reduce(100 - rank, 10 + rank, ranks=(0, 1), device=rank)]
        write(tmp_path / "bare" / name.format(rank), trace(*events))
        write(tmp_path / "full" / name.format(rank), trace(*events, rank=1 - rank))
    with pytest.raises(SynctaxError, match="no file tells its rank"):
        load([str(tmp_path / "bare")])
    assert [r.rank for r in load([str(tmp_path / "full")]).ranks] == [0, 1]


def test_a_file_of_junk_beside_a_broken_one_is_named_too(tmp_path):
    write(tmp_path / "rank0.json", "")
    write(tmp_path / "truth.json", '{"a": 1}')
    with pytest.raises(
        BadInputError, match=r"what else is there is no trace: .*truth\.json"
    ):
        load([str(tmp_path)])


def test_a_file_that_may_have_been_a_rank_is_noted(tmp_path):
    job(tmp_path, ranks=3)
    (tmp_path / "rank2.json").rename(tmp_path / "rank2.json.tmp")
    (note,) = [n for n in load([str(tmp_path)]).notes if n.reason == "not_a_trace"]
    assert "rank2.json.tmp is still being written" in note.detail


def test_a_link_to_nothing_is_a_rank_that_cannot_be_read(tmp_path):
    job(tmp_path, ranks=3)
    (tmp_path / "rank1.json").unlink()
    (tmp_path / "rank1.json").symlink_to(tmp_path / "gone.json")
    found = load([str(tmp_path)])
    assert [f.status for f in found.files] == ["used", "unreadable", "used"]


@pytest.mark.parametrize(
    ("folder", "ranks", "kernels"),
    [
        ("megatron-tp8-a100", 8, {84}),
        ("ddp4-mi300", 4, {21}),
        ("dlrm8-v100", 8, {8}),
        ("torchrec4-sleep-rank2", 4, {12, 13}),
    ],
)
def test_real_jobs_load_with_ranks_from_their_content(
    shared_traces, folder, ranks, kernels
):
    path = shared_traces / folder
    found = load([str(path)], cache=kept(path))
    assert [r.rank for r in found.ranks] == list(range(ranks))
    assert {r.comm_kernels for r in found.ranks} == kernels
    assert {f.rank_source for f in found.files} == {"content"}
    assert found.world_size == ranks


def test_a_job_shows_itself_in_one_line(tmp_path):
    from synctax.synth import SynthJob, write

    write(SynthJob(tp=2, fsdp=1, layers=1, steps=1), tmp_path)
    assert repr(load(tmp_path)).startswith("<Job: 2 ranks from 2 files, ")
