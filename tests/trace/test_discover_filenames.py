import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.trace.filenames import NameClues, bare_ranks, read_name

LAYOUTS = {
    "torchtitan": (
        "dump/profiling/traces/iteration_100/rank3_trace.json.gz",
        NameClues(rank=3, window="iteration_100"),
    ),
    "torchtitan with leaf folder": (
        "dump/profiling/traces/iteration_100/replica_1/rank3_trace.json.gz",
        NameClues(rank=3, window="iteration_100"),
    ),
    "torchtitan, older": (
        "profile_trace/iteration_5/rank0_trace.json",
        NameClues(rank=0, window="iteration_5"),
    ),
    "tensorboard handler": (
        "log/gpu-a7.cluster_19488.1698954910154219890.pt.trace.json.gz",
        NameClues(host="gpu-a7.cluster", pid=19488),
    ),
    "tensorboard handler, ms": (
        "log/gpu-a7_19488.1698954910154.pt.trace.json",
        NameClues(host="gpu-a7", pid=19488),
    ),
    "tensorboard handler with worker name": (
        "worker0_step_12.1694128201545.pt.trace.json.gz",
        NameClues(rank=0, window="step_12"),
    ),
    "Megatron": ("torch_profile/rank-7.json.gz", NameClues(rank=7)),
    "torchtune": (
        "iteration_3/r0-2024-05-01-10-11-12.pt.trace.json",
        NameClues(rank=0, window="iteration_3"),
    ),
    "torchtune, rank0": (
        "iteration_3/rank0_trace.json",
        NameClues(rank=0, window="iteration_3"),
    ),
    "Primus": (
        "out/primus-exp[a]-rank[8].1698954910154.pt.trace.json.gz",
        NameClues(rank=8),
    ),
    "Primus in node folders": ("node1/rank[8].json.gz", NameClues(rank=8, host="node1")),
    "vLLM": ("rank0.1698954910154219890.pt.trace.json.gz", NameClues(rank=0)),
    "vLLM, newer": (
        "dp0_pp0_tp1_dcp0_ep1_rank5.1698954910154219890.pt.trace.json.gz",
        NameClues(rank=5, place=(("dp", 0), ("pp", 0), ("tp", 1), ("ep", 1))),
    ),
    "SGLang": ("1754500000.123-TP-3.trace.json.gz", NameClues(place=(("tp", 3),))),
    "SGLang, several axes": (
        "1754500000-TP-3-DP-1-PP-0-EP-2.trace.json.gz",
        NameClues(place=(("tp", 3), ("dp", 1), ("pp", 0), ("ep", 2))),
    ),
    "TensorRT-LLM": ("trace-rank-4.json", NameClues(rank=4)),
    "Kineto default": ("libkineto_activities_31337.json", NameClues(pid=31337)),
    "a folder a rank": ("run/rank_3/trace.json", NameClues(rank=3)),
    "a bare number": ("megatron_kineto_0.json.gz", NameClues(bare=("megatron_kineto_", 0))),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_known_layout_tells_what_it_holds(layout):
    path, clues = LAYOUTS[layout]
    assert read_name(path) == clues


@pytest.mark.parametrize(
    "name",
    [
        "trace_step_100.json",
        "iteration_3.json.gz",
        "profile_epoch3_step100.json",
        "libkineto_activities_0.json",
        "host_3.1698954910154219890.pt.trace.json",
        "trace_1698954910154219890.json",
        "run_20240501.json",
        "local_rank_3.json",
        "tp_rank_3.json",
        "node_rank_1.json",
        "frank3.json",
        "trace_pid_3.json",
        "large-2020-allreduces.json.gz",
        "mi250-rocm.json.gz",
        "1754500000-TP-3.trace.json.gz",
    ],
)
def test_an_iteration_process_time_or_local_rank_is_no_rank(name):
    assert read_name(name).rank is None


def test_the_file_name_counts_before_the_folder_and_the_nearest_folder_before_others():
    assert read_name("rank_1/iteration_5/rank2_iteration_6.json") == NameClues(
        rank=2, window="iteration_6"
    )
    assert read_name("rank_1/iteration_5/rank_3/iteration_6/t.json") == NameClues(
        rank=3, window="iteration_6"
    )


def test_bare_numbers_are_ranks_only_if_they_count_from_zero_without_a_gap():
    assert bare_ranks([2, 0, 1])
    assert not bare_ranks([0, 1, 3])
    assert not bare_ranks([1, 2])
    assert not bare_ranks([0])
    assert not bare_ranks([0, 0, 1])


@given(
    st.integers(0, 999_999), st.integers(0, 10**12), st.sampled_from(["", ".gz", ".zst"])
)
def test_rank_and_iteration_are_never_confused(rank, iteration, suffix):
    clues = read_name(f"iteration_{iteration}/rank{rank}_trace.json{suffix}")
    assert (clues.rank, clues.window) == (rank, f"iteration_{iteration}")


@given(st.text(max_size=60))
def test_no_path_breaks_the_reading_of_names(path):
    rank = read_name(path).rank
    assert rank is None or any(character.isdecimal() for character in path)
