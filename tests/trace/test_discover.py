import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synctax.errors import BadInputError
from synctax.trace.discover import discover, natural_key
from tests.laws import examples

TRACE = json.dumps(
    {
        "schemaVersion": 1,
        "traceEvents": [
            {
                "ph": "X",
                "cat": "kernel",
                "name": "gemm",
                "pid": 0,
                "tid": 7,
                "ts": 1,
                "dur": 2,
            }
        ],
    }
)


def write(path, text=TRACE):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def names(found, root):
    return [str(Path(file.path).relative_to(root)) for file in found.files]


# ------------------------------------------------------------------ targets


def test_a_folder_is_searched_with_its_subfolders_in_natural_order(tmp_path):
    for rank in (10, 2, 0):
        write(tmp_path / "iteration_5" / f"rank{rank}_trace.json.gz")
    write(tmp_path / "rank1_trace.json")
    write(tmp_path / ".hidden" / "rank9_trace.json")
    write(tmp_path / ".rank8_trace.json")
    assert names(discover([str(tmp_path)]), tmp_path) == [
        "iteration_5/rank0_trace.json.gz",
        "iteration_5/rank2_trace.json.gz",
        "iteration_5/rank10_trace.json.gz",
        "rank1_trace.json",
    ]


def test_one_path_needs_no_list(tmp_path):
    path = write(tmp_path / "rank0.json")
    assert discover(tmp_path) == discover(str(tmp_path)) == discover([path])


def test_a_file_reached_by_folder_pattern_link_and_name_counts_once(tmp_path):
    path = write(tmp_path / "rank0.json")
    (tmp_path / "latest.json").symlink_to(path)
    found = discover([str(tmp_path), str(path), str(tmp_path / "*.json")])
    assert len(found.files) == 1


def test_a_rank_behind_a_link_to_a_folder_is_found(tmp_path):
    write(tmp_path / "disk" / "deep" / "rank1.json")
    write(tmp_path / "disk" / "rank2.json")
    write(tmp_path / "run" / "rank0.json")
    (tmp_path / "run" / "node1").symlink_to(tmp_path / "disk")
    found = discover([str(tmp_path / "run")])
    assert [(Path(f.path).parent.name, f.rank_from_name) for f in found.files] == [
        ("deep", 1),
        ("node1", 2),
        ("run", 0),
    ]


def test_a_folder_that_is_inside_keeps_its_own_name_beside_a_link_to_it(tmp_path):
    write(tmp_path / "iteration_9" / "rank0.json")
    (tmp_path / "current").symlink_to(tmp_path / "iteration_9")
    (file,) = discover([str(tmp_path)]).files
    assert file.window == "iteration_9"


def test_links_in_a_circle_end(tmp_path):
    write(tmp_path / "a" / "run" / "rank0.json")
    write(tmp_path / "b" / "rank1.json")
    run = tmp_path / "a" / "run"
    (run / "up").symlink_to(tmp_path)
    (run / "here").symlink_to(run)
    (run / "b").symlink_to(tmp_path / "b")
    (run / "b2").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "back").symlink_to(run)
    (tmp_path / "b" / ".hidden").symlink_to(run)
    found = discover([str(run)])
    assert names(found, run) == ["b/rank1.json", "rank0.json"]


def test_what_synth_writes_beside_its_traces_is_passed_over_unless_it_is_named(tmp_path):
    write(tmp_path / "rank0.json")
    truth = write(tmp_path / "truth.json", '{"schema": "synctax.synth-truth/1"}')
    found = discover([str(tmp_path)])
    assert (len(found.files), found.skipped, found.ignored) == (1, (), 0)
    (skipped,) = discover([str(tmp_path / "rank0.json"), str(truth)]).skipped
    assert "true waits" in skipped.reason


def test_a_link_to_nothing_is_kept_so_that_reading_can_complain(tmp_path):
    write(tmp_path / "rank0.json")
    (tmp_path / "rank1.json").symlink_to(tmp_path / "gone.json")
    (tmp_path / "loop").symlink_to(tmp_path)
    found = discover([str(tmp_path)])
    assert [(f.rank_from_name, f.size_bytes > 0) for f in found.files] == [
        (0, True),
        (1, False),
    ]


def test_patterns_reach_files_and_folders(tmp_path):
    write(tmp_path / "run1" / "rank0.json")
    write(tmp_path / "run2" / "rank0.json")
    assert len(discover([str(tmp_path / "run*")]).files) == 2
    assert len(discover([str(tmp_path / "**" / "rank0.json")]).files) == 2


def test_a_file_whose_name_holds_brackets_is_itself_and_no_pattern(tmp_path):
    path = write(tmp_path / "job-rank[8].json")
    (file,) = discover([str(path)]).files
    assert (file.path, file.rank_from_name) == (str(path), 8)


def test_a_named_file_needs_no_suffix(tmp_path):
    path = write(tmp_path / "profile")
    assert len(discover([str(path)]).files) == 1


def test_names_sizes_hosts_and_windows_stand_in_the_result(tmp_path):
    path = write(tmp_path / "iteration_7" / "a7_99.1698954910154219890.pt.trace.json")
    (file,) = discover([str(tmp_path)]).files
    assert file.size_bytes == path.stat().st_size
    assert (file.host_from_name, file.pid_from_name, file.window) == (
        "a7",
        99,
        "iteration_7",
    )


def test_bare_numbers_of_like_named_neighbours_are_ranks_if_they_count_from_zero(tmp_path):
    for number in range(3):
        write(tmp_path / f"megatron_kineto_{number}.json.gz")
    for number in (100, 200):
        write(tmp_path / f"other_{number}.json.gz")
    found = discover([str(tmp_path)])
    assert [file.rank_from_name for file in found.files] == [0, 1, 2, None, None]


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(st.permutations(["a/rank0.json", "a/rank1.json", "b/rank10.json", "b/rank2.json"]))
def test_the_order_of_arguments_changes_nothing(tmp_path, order):
    paths = [str(write(tmp_path / name)) for name in order]
    assert names(discover(paths), tmp_path) == [
        "a/rank0.json",
        "a/rank1.json",
        "b/rank2.json",
        "b/rank10.json",
    ]


@given(st.lists(st.integers(0, 10**6), unique=True))
def test_natural_order_is_the_order_of_the_numbers(numbers):
    ordered = sorted((f"rank{n}.json" for n in numbers), key=natural_key)
    assert ordered == [f"rank{n}.json" for n in sorted(numbers)]


# ------------------------------------------------------------------ what is no trace


def test_what_lies_beside_traces_is_named_or_counted(tmp_path):
    write(tmp_path / "torch_profile" / "rank-0.json")
    write(tmp_path / "chakra" / "rank-0.json", '{"schema": "1.1.1-chakra", "nodes": []}')
    write(tmp_path / "truth.json", '{"stragglers": [1, 2]}')
    write(tmp_path / "rank0_stacks.txt", "main;step 12\n")
    write(tmp_path / "README.md", "# traces")
    found = discover([str(tmp_path)])
    assert names(found, tmp_path) == ["torch_profile/rank-0.json"]
    assert sorted(
        Path(s.path).parent.name + "/" + Path(s.path).name for s in found.skipped
    ) == [
        "chakra/rank-0.json",
        f"{tmp_path.name}/truth.json",
    ]
    assert all(s.reason for s in found.skipped)
    assert found.ignored == 2


def test_a_file_being_written_is_left_out_and_said(tmp_path):
    write(tmp_path / "rank0.json")
    write(tmp_path / "libkineto_activities_5.json.tmp")
    (skipped,) = discover([str(tmp_path)]).skipped
    assert "still being written" in skipped.reason


def test_an_archive_is_to_be_unpacked(tmp_path):
    write(tmp_path / "rank0.json")
    (tmp_path / "traces.tar.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (skipped,) = discover([str(tmp_path)]).skipped
    assert "unpack" in skipped.remedy


def test_a_protobuf_trace_is_recognised_by_its_bytes(tmp_path):
    write(tmp_path / "rank0.json")
    (tmp_path / "rank1.pftrace").write_bytes(
        bytes.fromhex("0a1a080110ffb2c3d4e5f601521008")
    )
    (skipped,) = discover([str(tmp_path)]).skipped
    assert skipped.path.endswith("rank1.pftrace")


# ------------------------------------------------------------------ nothing to read


def test_an_empty_folder_is_said_to_be_empty(tmp_path):
    with pytest.raises(BadInputError, match="no file at all"):
        discover([str(tmp_path)])


def test_a_folder_of_junk_says_what_is_there_and_what_was_expected(tmp_path):
    for name in ("a.txt", "b.png", "c.log"):
        write(tmp_path / name, "junk")
    with pytest.raises(BadInputError, match=r"3 other files.*expected PyTorch-profiler"):
        discover([str(tmp_path)])


def test_a_file_that_is_named_and_no_trace_is_named_once(tmp_path):
    lone = tmp_path / "notes"
    lone.write_text("some words")
    with pytest.raises(BadInputError) as caught:
        discover([str(lone)])
    assert str(caught.value).startswith(f"no trace in {lone}: it is text: ")
    assert str(caught.value).count(str(lone)) == 1


def test_a_folder_of_other_json_says_why_each_is_no_trace(tmp_path):
    write(tmp_path / "a.json", '{"nodes": [], "schema": "1.1.1"}')
    with pytest.raises(BadInputError, match=r"a\.json"):
        discover([str(tmp_path)])


def test_a_path_that_does_not_exist_is_named():
    with pytest.raises(BadInputError, match=r"no/such/folder does not exist"):
        discover(["no/such/folder"])


def test_a_pattern_without_match_is_named(tmp_path):
    with pytest.raises(BadInputError, match=r"no file matches .*rank\*"):
        discover([str(tmp_path / "rank*")])


def test_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def refuse(folder, onerror):
        onerror(PermissionError(13, "Permission denied", folder))
        return iter(())

    monkeypatch.setattr("synctax.trace.discover.os.walk", refuse)
    with pytest.raises(BadInputError, match=r"cannot be read \(Permission denied\)"):
        discover([str(tmp_path)])


def test_a_file_whose_folder_may_not_be_entered_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "rank0.json")

    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("synctax.trace.discover.Path.stat", lambda self, **_: refuse(self))
    monkeypatch.setattr("synctax.trace.discover.Path.is_dir", lambda _: False)
    monkeypatch.setattr("synctax.trace.discover.Path.exists", lambda _: True)
    with pytest.raises(BadInputError, match=r"rank0\.json cannot be read"):
        discover([str(path)])


# ------------------------------------------------------------------ manifest


def test_a_manifest_gives_ranks_and_hosts_with_paths_relative_to_it(tmp_path):
    write(tmp_path / "data" / "a.json")
    write(tmp_path / "data" / "b.json")
    manifest = write(
        tmp_path / "ranks.csv", "file,rank,host\ndata/a.json,3,node-a\ndata/b.json, 4,\n"
    )
    found = discover([], manifest=str(manifest))
    assert [(f.rank_given, f.host_given) for f in found.files] == [(3, "node-a"), (4, "")]


def test_a_csv_among_the_targets_is_a_manifest(tmp_path):
    write(tmp_path / "a.json")
    manifest = write(tmp_path / "ranks.csv", "\ufefffile,rank\na.json,3\n")
    (file,) = discover([str(manifest)]).files
    assert file.rank_given == 3


def test_a_manifest_adds_to_what_the_folder_holds(tmp_path):
    write(tmp_path / "a.json")
    write(tmp_path / "b.json")
    manifest = write(tmp_path / "ranks.csv", "rank,file\n3,a.json\n")
    found = discover([str(tmp_path)], manifest=str(manifest))
    assert [f.rank_given for f in found.files] == [3, None]
    assert found.ignored == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"columns \(none\)"),
        ("path,rank\na.json,0\n", "columns path,rank"),
        ("file,rank,gpu\na.json,0,1\n", "columns file,rank,gpu"),
        ("file,rank\na.json,zero\n", "line 2 .* rank 'zero'"),
        ("file,rank\na.json,-1\n", "line 2 .* rank '-1'"),
        ("file,rank\n,1\n", "line 2"),
        (f"file,rank\na.json,{10**30}\n", "line 2"),
        (
            "file,rank\na.json,0\nmissing.json,1\n",
            r"line 3 .*missing\.json, which is no file",
        ),
        ("file,rank\na.json,0\na.json,1\n", r"ranks \[0, 1\]"),
        ("file,host\na.json,x\na.json,y\n", r"hosts \['x', 'y'\]"),
    ],
)
def test_a_malformed_manifest_is_refused_with_its_line(tmp_path, text, message):
    write(tmp_path / "a.json")
    manifest = write(tmp_path / "ranks.csv", text)
    with pytest.raises(BadInputError, match=message):
        discover([], manifest=str(manifest))


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_manifest_that_cannot_be_read_is_named(tmp_path, content):
    manifest = tmp_path / "ranks.csv"
    if content is not None:
        manifest.write_bytes(content)
    with pytest.raises(BadInputError, match=r"ranks\.csv cannot be read"):
        discover([], manifest=str(manifest))


# ------------------------------------------------------------------ URLs


def test_a_url_without_fsspec_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(BadInputError, match=r"needs fsspec; install synctax\[cloud\]"):
        discover(["s3://bucket/traces"])


def test_urls_of_folders_patterns_and_files_are_searched():
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    for rank in range(2):
        memory.pipe(f"/run/rank{rank}.json", TRACE.encode())
    memory.pipe("/run/notes.txt", b"x")
    for target in ("memory://run", "memory://run/*.json"):
        found = discover([target])
        assert [f.path for f in found.files] == [
            "memory:///run/rank0.json",
            "memory:///run/rank1.json",
        ]
        assert [f.rank_from_name for f in found.files] == [0, 1]
    assert len(discover(["memory://run/rank0.json"]).files) == 1
    with pytest.raises(BadInputError, match="cannot be read"):
        discover(["memory://run/rank7.json"])


def test_a_folder_that_vanishes_or_is_locked_is_named(tmp_path, monkeypatch):
    write(tmp_path / "gone" / "rank0.json")
    stat = Path.stat

    def refuse(path, **options):
        if path.name == "gone" and options.get("follow_symlinks", True):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(BadInputError, match=r"gone cannot be read \(Permission denied\)"):
        discover([str(tmp_path)])
