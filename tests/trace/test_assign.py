from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.trace.assign import assign
from synctax.trace.discover import TraceFile
from synctax.trace.facts import FileFacts
from synctax.trace.filenames import read_name
from synctax.trace.model import Device, TraceMeta
from synctax.trace.oddities import rank_text
from synctax.trace.windows import overlaps
from tests.laws import examples

SECOND_NS = 1_000_000_000
H100 = (Device(0, "NVIDIA H100"),)


def trace(
    path,
    *,
    content=None,
    world=None,
    host=None,
    job=None,
    pid=1,
    start_s=0.0,
    end_s=1.0,
    steps=(),
    kernels=5,
    devices=H100,
    given=None,
    given_host="",
):
    """One file as discovery and reading would describe it."""
    clues = read_name(path)
    file = TraceFile(
        path=path,
        size_bytes=100,
        rank_from_name=clues.rank,
        host_from_name=clues.host,
        pid_from_name=clues.pid,
        window=clues.window,
        rank_given=given,
        host_given=given_host,
        place=clues.place,
    )
    facts = FileFacts(
        path=path,
        meta=TraceMeta(rank=content, world_size=world, host=host, job=job),
        start_ns=int(start_s * SECOND_NS) if kernels else None,
        end_ns=int(end_s * SECOND_NS) if kernels else None,
        kinds=(("kernel", kernels),) if kernels else (),
        devices=devices,
        streams=((7, kernels),),
        steps=steps,
        processes=(pid,),
        comm_rows=0,
        sync_records=0,
        sync_calls=0,
        launches=kernels,
        whole_us=False,
        truncated=False,
        notes=(),
        bytes_read=1000 + pid,
    )
    return file, facts


def place(*traces):
    return assign([file for file, _ in traces], [facts for _, facts in traces])


def ranks(result):
    return [p.rank for p in result.placements]


def reasons(result):
    return {note.reason for note in result.notes}


# ------------------------------------------------------------------ where a rank comes from


def test_content_counts_before_the_name_and_the_manifest_before_both():
    result = place(
        trace("rank1.json", content=0, pid=1),
        trace("rank2.json", pid=2),
        trace("rank7.json", content=7, given=3, pid=3),
    )
    assert ranks(result) == [0, 2, 3]
    assert [p.rank_source for p in result.placements] == ["content", "name", "manifest"]
    assert not result.problems


def test_a_name_that_contradicts_the_content_is_reported_with_the_file():
    result = place(trace("rank1.json", content=0), trace("rank5.json", content=5, pid=2))
    (note,) = [n for n in result.notes if n.reason == "rank_in_name_differs"]
    assert note.count == 1
    assert "rank1.json holds rank 0" in note.detail


def test_a_manifest_that_contradicts_the_content_wins_and_is_reported():
    result = place(trace("a.json", content=0, given=1), trace("b.json", content=2, pid=2))
    assert ranks(result) == [1, 2]
    (note,) = [n for n in result.notes if n.reason == "rank_given_differs"]
    assert "a.json: 1, content 0" in note.detail


def test_files_without_any_rank_are_never_numbered_in_order():
    result = place(trace("a.json"), trace("b.json", pid=2))
    assert ranks(result) == [None, None]
    (problem,) = result.problems
    assert not problem.bad_input
    assert "a.json, b.json" in problem.message
    assert "--manifest" in problem.message


def test_one_file_without_rank_is_no_problem():
    result = place(trace("a.json"))
    assert ranks(result) == [None]
    assert not result.problems


def test_a_file_without_rank_among_others_is_left_out_with_a_note():
    result = place(trace("rank0.json"), trace("odd.json", pid=2))
    assert [p.status for p in result.placements] == ["used", "no rank"]
    assert "rank_unknown" in reasons(result)
    assert not result.problems


def test_tp_ranks_are_global_only_if_no_other_axis_is_named():
    alone = place(trace("1-TP-0.trace.json"), trace("1-TP-1.trace.json", pid=2))
    assert ranks(alone) == [0, 1]
    assert "rank_from_tp" in reasons(alone)
    mixed = place(
        trace("1-TP-0-DP-0.trace.json"),
        trace("1-TP-1-DP-0.trace.json", pid=2),
    )
    assert ranks(mixed) == [None, None]
    assert "no global ranks" in mixed.problems[0].message


# ------------------------------------------------------------------ one rank, several files


def test_two_hosts_that_both_say_rank_0_are_a_problem_that_names_both():
    result = place(
        trace("a.json", content=0, host="node-a", pid=11),
        trace("b.json", content=0, host="node-b", pid=22),
    )
    (problem,) = result.problems
    assert problem.bad_input
    for word in ("rank 0", "a.json", "node-a", "process 11", "b.json", "node-b"):
        assert word in problem.message
    assert [p.status for p in result.placements] == ["clash", "clash"]


def test_ranks_repeated_in_the_content_are_placed_by_names_that_differ():
    result = place(
        trace("rank0.json", content=0, pid=11),
        trace("rank1.json", content=0, pid=22),
    )
    assert ranks(result) == [0, 1]
    assert not result.problems
    assert "rank_repeated" in reasons(result)
    assert "rank_in_name_differs" not in reasons(result)


def test_a_name_cannot_place_a_file_where_its_rank_is_taken():
    result = place(
        trace("rank0.json", content=0, pid=11),
        trace("rank1.json", content=0, pid=22),
        trace("other.json", content=1, pid=33),
    )
    assert result.problems
    assert ranks(result) == [0, 0, 1]


def test_the_same_trace_twice_is_used_once():
    result = place(
        trace("copy/rank0.json", content=0),
        trace("rank0.json.gz", content=0),
        trace("rank1.json.gz", content=1, pid=2),
    )
    assert sorted(p.status for p in result.placements) == ["copy", "used", "used"]
    (note,) = [n for n in result.notes if n.reason == "file_copy"]
    assert note.count == 1
    assert not result.problems


def test_one_trace_under_two_names_is_told():
    result = place(trace("rank0.json"), trace("rank1.json"))
    assert ranks(result) == [0, 1]
    assert "same_content" in reasons(result)


def test_local_ranks_in_node_folders_are_no_windows():
    result = place(
        *(
            trace(f"node{n}/rank{r}.json", pid=10 * n + r)
            for n in range(2)
            for r in range(2)
        )
    )
    assert len(result.problems) == 2
    assert {p.window for p in result.placements} == {""}


def test_two_lone_files_in_two_folders_are_a_clash_and_no_windows():
    result = place(
        trace("a/x.json", content=0, host="n1"),
        trace("b/x.json", content=0, host="n2", pid=2),
    )
    assert "2 files claim to be rank 0" in result.problems[0].message


def test_an_empty_trace_overlaps_nothing():
    (_, full), (_, empty) = trace("a.json"), trace("b.json", kernels=0)
    assert overlaps(full, full)
    assert not overlaps(full, empty)
    assert not overlaps(empty, full)


# ------------------------------------------------------------------ windows


def test_iteration_folders_are_windows():
    result = place(
        trace("iteration_10/rank0.json", pid=1),
        trace("iteration_10/rank1.json", pid=2),
        trace("iteration_20/rank0.json", pid=1, start_s=5, end_s=6),
        trace("iteration_20/rank1.json", pid=2, start_s=5, end_s=6),
    )
    assert [p.window for p in result.placements] == ["iteration_10"] * 2 + [
        "iteration_20"
    ] * 2
    assert "windows" in reasons(result)
    assert not result.problems


def test_one_iteration_folder_is_no_window_worth_a_name():
    result = place(
        trace("iteration_10/rank0.json"), trace("iteration_10/rank1.json", pid=2)
    )
    assert {p.window for p in result.placements} == {""}
    assert "windows" not in reasons(result)


def test_files_of_one_rank_are_told_apart_by_their_steps():
    result = place(
        trace("h_1.1000000000001.pt.trace.json", content=0, steps=(3, 4)),
        trace("h_1.1000000000002.pt.trace.json", content=0, steps=(13, 14)),
        trace("h_2.1000000000001.pt.trace.json", content=1, steps=(3, 4), pid=2),
        trace("h_2.1000000000002.pt.trace.json", content=1, steps=(13, 14), pid=2),
    )
    assert [p.window for p in result.placements] == ["steps_3-4", "steps_13-14"] * 2
    assert not result.problems


def test_files_of_one_rank_are_told_apart_by_their_times():
    result = place(
        trace("h_1.1000000000001.pt.trace.json", content=0),
        trace("h_1.1000000000002.pt.trace.json", content=0, start_s=5, end_s=6),
        trace("h_2.1000000000001.pt.trace.json", content=1, pid=2, start_s=0.5, end_s=1.5),
    )
    assert [p.window for p in result.placements] == ["window_1", "window_2", "window_1"]
    (note,) = [n for n in result.notes if n.reason == "window_incomplete"]
    assert "window_2 has no file of rank 1" in note.detail


def test_complete_sets_in_two_folders_are_two_windows():
    result = place(
        *(
            trace(f"out/{run}/traces/rank{r}.json", content=r, pid=r + 10 * i)
            for i, run in enumerate(("replica_0", "replica_1"))
            for r in range(2)
        )
    )
    assert [p.window for p in result.placements] == ["replica_0"] * 2 + ["replica_1"] * 2
    assert not result.problems


def test_a_step_in_each_name_makes_no_window_if_no_rank_repeats():
    result = place(trace("worker0_step_12.json"), trace("worker1_step_13.json", pid=2))
    assert {p.window for p in result.placements} == {""}


# ------------------------------------------------------------------ jobs and hosts


def test_ranks_of_jobs_of_unlike_size_are_a_problem():
    result = place(
        trace("rank0.json", content=0, world=8),
        trace("rank1.json", content=1, world=4, pid=2),
    )
    (problem,) = result.problems
    assert "4 ranks: rank1.json; 8 ranks: rank0.json" in problem.message
    assert result.world_size is None


def test_ranks_of_two_named_jobs_are_a_problem_but_an_id_per_process_is_not():
    two_jobs = place(*(trace(f"rank{r}.json", job="ab"[r // 2], pid=r) for r in range(4)))
    assert "different jobs" in two_jobs.problems[0].message
    own_id = place(*(trace(f"rank{r}.json", job=f"id{r}", pid=r) for r in range(4)))
    assert not own_id.problems


def test_missing_ranks_are_said_and_no_problem():
    result = place(
        trace("rank0.json", content=0, world=8),
        trace("rank5.json", content=5, world=8, pid=2),
    )
    (note,) = [n for n in result.notes if n.reason == "ranks_missing"]
    assert note.count == 6
    assert "rank 1-4,6-7" in note.detail
    assert result.world_size == 8
    assert not result.problems


def test_a_rank_beyond_the_job_is_said():
    result = place(trace("rank9.json", world=8), trace("rank0.json", world=8, pid=2))
    assert "ranks_beyond" in reasons(result)


def test_a_rank_recorded_when_no_other_was_is_said():
    result = place(
        trace("rank0.json"),
        trace("rank1.json", pid=2),
        trace("rank2.json", pid=3, start_s=100, end_s=101),
    )
    (note,) = [n for n in result.notes if n.reason == "apart_in_time"]
    assert note.detail.startswith("rank 2 was recorded")


def test_the_host_comes_from_manifest_then_content_then_name():
    result = place(
        trace("node1/rank0.json", host="a", given_host="given"),
        trace("node1/rank1.json", host="a", pid=2),
        trace("node1/rank2.json", pid=3),
        trace("rank3.json", pid=4),
    )
    assert [(p.host, p.host_source) for p in result.placements] == [
        ("given", "manifest"),
        ("a", "content"),
        ("node1", "name"),
        ("", ""),
    ]


def test_the_gpu_is_named_as_far_as_the_trace_tells():
    result = place(
        trace("rank0.json", devices=(Device(3, "NVIDIA A100-SXM4-80GB"),)),
        trace("rank1.json", devices=(Device(2, ""),), pid=2),
        trace("rank2.json", devices=(), pid=3),
        trace("rank3.json", devices=(Device(0, "V100"), Device(1, "V100")), pid=4),
    )
    assert [p.gpu for p in result.placements] == [
        "3 (A100-SXM4-80GB)",
        "2",
        "",
        "0,1 (V100)",
    ]
    assert "gpu_models" in reasons(result)


def test_a_trace_without_events_has_its_rank_and_no_time():
    result = place(trace("rank0.json", kernels=0), trace("rank1.json", pid=2))
    assert ranks(result) == [0, 1]
    assert "apart_in_time" not in reasons(result)


def test_files_and_facts_must_be_of_one_length():
    file, facts = trace("rank0.json")
    with pytest.raises(ValueError, match="argument 2"):
        assign([file], [facts, facts])


@settings(max_examples=examples(30))
@given(
    st.permutations(
        [(rank, window) for window in range(2) for rank in range(3)],
    )
)
def test_the_order_of_files_changes_no_rank_and_no_window(order):
    traces = [
        trace(f"x{r}{w}.json", content=r, pid=r, start_s=10 * w, end_s=10 * w + 1)
        for r, w in order
    ]
    result = place(*traces)
    assert {p.path: (p.rank, p.window) for p in result.placements} == {
        f"x{r}{w}.json": (r, f"window_{w + 1}") for r, w in order
    }


@given(st.sets(st.integers(0, 300), min_size=1))
def test_ranks_as_text_lose_none(ranks):
    text = rank_text(ranks)
    told = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        told |= set(range(int(first), int(last or first) + 1))
    assert told == ranks


def test_a_changed_time_is_a_different_trace():
    file, facts = trace("a.json", content=0)
    later = replace(facts, path="b.json", start_ns=7)
    result = assign([file, replace(file, path="b.json")], [facts, later])
    assert result.problems


# ------------------------------------------------------------------ runs that were mixed


def test_a_rank_on_another_gpu_model_in_another_window_is_another_job():
    result = place(
        trace("rank0.json", content=0, devices=(Device(0, "A100"),)),
        trace("old.json", content=0, devices=(Device(0, "V100"),), start_s=9, end_s=10),
    )
    (problem,) = result.problems
    assert "A100: rank0.json; V100: old.json" in problem.message


def test_unlike_gpus_of_different_ranks_are_one_job():
    result = place(
        trace("rank0.json", content=0, devices=(Device(0, "A100"),)),
        trace("rank1.json", content=1, devices=(Device(0, "H100"),), pid=2),
    )
    assert not result.problems
    assert "gpu_models" in reasons(result)


@pytest.mark.parametrize(("later_pid", "said"), [(1, False), (7, True)])
def test_windows_that_no_process_lived_through_are_said_to_be_other_runs(later_pid, said):
    result = place(
        trace("iteration_1/rank0.json", pid=1),
        trace("iteration_2/rank0.json", pid=later_pid, start_s=9, end_s=10),
    )
    assert ("windows_of_other_processes" in reasons(result)) is said


def test_of_two_copies_the_one_nearest_the_top_is_kept():
    result = place(trace("a_backup/rank0.json"), trace("rank0.json"))
    assert {p.path: p.status for p in result.placements} == {
        "a_backup/rank0.json": "copy",
        "rank0.json": "used",
    }
    assert [p.rank_source for p in result.placements] == ["name", "name"]


def test_crowded_folders_of_name_ranks_are_windows_only_if_recorded_apart():
    def runs(gap_s):
        return place(
            *(
                trace(
                    f"{run}/rank{r}.json",
                    pid=10 * i + r,
                    start_s=gap_s * i,
                    end_s=gap_s * i + 1,
                )
                for i, run in enumerate(("monday", "tuesday"))
                for r in range(2)
            )
        )

    apart = runs(gap_s=100)
    assert [p.window for p in apart.placements] == ["monday"] * 2 + ["tuesday"] * 2
    assert runs(gap_s=0).problems


def test_windows_without_and_with_a_name_are_both_named_in_the_note():
    result = place(trace("rank0.json"), trace("iteration_5/rank0.json", start_s=5, end_s=6))
    (note,) = [n for n in result.notes if n.reason == "windows"]
    assert "(unnamed, iteration_5)" in note.detail


def test_empty_traces_of_one_rank_are_no_copies_of_each_other():
    result = place(
        trace("a.json", content=0, kernels=0), trace("b.json", content=0, kernels=0)
    )
    assert "file_copy" not in reasons(result)
    assert result.problems


@pytest.mark.parametrize("damaged", [-1, 2**40, 10**30])
def test_a_damaged_rank_in_the_content_is_said_and_the_name_counts(damaged):
    result = place(trace("rank3.json", content=damaged), trace("rank4.json", pid=2))
    assert ranks(result) == [3, 4]
    (note,) = [n for n in result.notes if n.reason == "rank_invalid"]
    assert f"rank3.json: {damaged}" in note.detail


def test_a_damaged_size_of_the_job_costs_no_memory():
    result = place(trace("rank0.json", content=0, world=10**15))
    (note,) = [n for n in result.notes if n.reason == "ranks_missing"]
    assert "rank 1-999999999999999" in note.detail
