"""What stands in the files: names, metadata, launches, clocks and edges."""

import json
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from synctax.synth import Delay, SynthJob, truth, write
from synctax.synth.names import kernel_name
from synctax.synth.window import BASE_TIME_NS
from tests.synth import oracle

SMALL = SynthJob(layers=1, steps=2, layout="flat", marker=True)


@pytest.fixture
def made(tmp_path):
    """Write a job and read a rank back."""

    def made(job, rank=0):
        known = write(job, tmp_path / "made", overwrite=True)
        described = next(found for found in known.ranks if found.rank == rank)
        return oracle.read(tmp_path / "made" / described.file)

    return made


def comm_kernels(trace):
    return [event for event in oracle.kernels(trace) if event["name"].startswith("nccl")]


def times_ns(event):
    start = oracle.ns(event["ts"])
    return start, start + oracle.ns(event["dur"])


def test_every_kernel_is_launched_by_one_call_before_it(made):
    trace = made(SMALL)
    calls = {
        call["args"]["correlation"]: call
        for call in oracle.of_kind(trace, "cuda_runtime")
        if "Launch" in call["name"]
    }
    kernels = oracle.kernels(trace)
    assert len(calls) == len(kernels)
    for kernel in kernels:
        call = calls.pop(kernel["args"]["correlation"])
        assert call["ts"] < kernel["ts"]
        assert call["args"]["External id"] == kernel["args"]["External id"]
    assert not calls


def test_flows_join_the_launch_with_the_kernel(made):
    trace = made(SMALL)
    events = trace["traceEvents"]
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    for kernel in oracle.kernels(trace):
        end = ends.pop(kernel["args"]["correlation"])
        assert (end["pid"], end["tid"], end["ts"]) == (
            kernel["pid"],
            kernel["tid"],
            kernel["ts"],
        )
    assert not ends


def test_a_graph_launches_many_kernels(made):
    trace = made(replace(SMALL, cuda_graphs=True))
    compute = [k for k in oracle.kernels(trace) if not k["name"].startswith("nccl")]
    launches = Counter(kernel["args"]["correlation"] for kernel in compute)
    assert max(launches.values()) > 3
    names = Counter(call["name"] for call in oracle.of_kind(trace, "cuda_runtime"))
    assert names["cudaGraphLaunch"] == len(launches)
    nodes = defaultdict(set)
    for kernel in compute:
        nodes[kernel["args"]["correlation"]].add(kernel["args"]["graph node id"])
    assert sum(map(len, nodes.values())) == len(compute)


@pytest.mark.parametrize("cpu_ops", [0, 1, 2, 6])
def test_launches_lie_in_the_operators_asked_for(made, cpu_ops):
    trace = made(replace(SMALL, cpu_ops_per_kernel=cpu_ops, python_functions=1))
    operators = [
        event
        for event in oracle.of_kind(trace, "cpu_op")
        if not event["name"].startswith(("c10d", "record_param"))
    ]
    calls = [
        call
        for call in oracle.of_kind(trace, "cuda_runtime")
        if call["name"] == "cudaLaunchKernel"
    ]
    assert len(operators) == cpu_ops * len(calls)
    spans = [(op["tid"], *times_ns(op)) for op in operators]
    for call in calls:
        start, end = times_ns(call)
        around = [s for s in spans if s[0] == call["tid"] and s[1] <= start and end <= s[2]]
        assert len(around) == cpu_ops
    python = oracle.of_kind(trace, "python_function")
    slots = [c for c in oracle.of_kind(trace, "cuda_runtime") if "Launch" in c["name"]]
    assert len(python) == len(slots)


def test_ranges_of_a_thread_nest(made):
    trace = made(replace(SMALL, cpu_ops_per_kernel=3, python_functions=2))
    lanes = defaultdict(list)
    for kind in ("cpu_op", "user_annotation", "cuda_runtime", "python_function"):
        for event in oracle.of_kind(trace, kind):
            lanes[event["tid"]].append(times_ns(event))
    assert len(lanes) == 2
    for spans in lanes.values():
        ends = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or end <= ends[-1]
            ends.append(end)


def test_backward_is_launched_from_the_autograd_thread(made):
    trace = made(SMALL)
    threads = {
        event["args"]["name"]: event["tid"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }
    (autograd,) = (tid for name, tid in threads.items() if "pt_autograd" in name)
    backward = [op for op in oracle.of_kind(trace, "cpu_op") if "Backward" in op["name"]]
    assert {op["tid"] for op in backward} == {autograd}
    alone = made(replace(SMALL, autograd_thread=False))
    assert len({op["tid"] for op in oracle.of_kind(alone, "cpu_op")}) == 1


def test_steps_hold_the_calls_that_launch_them(made):
    trace = made(replace(SMALL, first_step=7))
    steps = {
        event["name"]: times_ns(event)
        for event in oracle.of_kind(trace, "user_annotation")
        if event["name"].startswith("ProfilerStep")
    }
    assert list(steps) == ["ProfilerStep#7", "ProfilerStep#8"]
    calls = [times_ns(call) for call in oracle.of_kind(trace, "cuda_runtime")]
    for start, end in calls:
        assert any(first <= start and end <= last for first, last in steps.values())
    assert steps["ProfilerStep#7"][1] <= steps["ProfilerStep#8"][0]
    assert {row.step for row in truth(replace(SMALL, first_step=7)).collectives()} == {7, 8}


def test_metadata_is_as_kineto_writes_it(made):
    kernel = comm_kernels(made(replace(SMALL, tp=4, fsdp=1, marker=False)))[0]
    args = kernel["args"]
    assert (
        list(args)[-10:]
        == [
            "Collective name",
            "In msg nelems",
            "Out msg nelems",
            "Group size",
            "dtype",
            "In split size",
            "Out split size",
            "Process Group Name",
            "Process Group Description",
            "Process Group Ranks",
        ]
        or list(args)[-1] == "Seq"
    )
    assert args["Collective name"] == "_allgather_base"
    assert args["In msg nelems"] * 4 == args["Out msg nelems"] == 16_777_216
    assert args["Process Group Ranks"] == "[0, 1, 2, 3]"
    assert args["Process Group Description"] == "mesh_tp"
    assert args["stream"] == kernel["tid"] == 20
    assert args["Seq"] == 1


def test_without_metadata_only_the_cpu_knows_the_sizes(made):
    trace = made(replace(SMALL, metadata="none", marker=False))
    for kernel in comm_kernels(trace):
        assert not {"Collective name", "Process Group Name", "Seq"} & kernel["args"].keys()
        assert {"stream", "correlation"} <= kernel["args"].keys()
    records = [
        e for e in oracle.of_kind(trace, "cpu_op") if e["name"] == "record_param_comms"
    ]
    assert records
    assert all("dtype" not in record["args"] for record in records)
    ranges = [
        e for e in oracle.of_kind(trace, "user_annotation") if e["name"].startswith("nccl:")
    ]
    assert all(event["args"]["Input Dims"][0][0] > 0 for event in ranges)
    assert {row.seq for row in truth(replace(SMALL, metadata="none")).collectives()} == {
        None
    }


def test_uneven_splits_add_up(tmp_path):
    job = replace(SMALL, tp=1, fsdp=3, ep=3, uneven=True, steps=1)
    known = write(job, tmp_path)
    by_rank = {rank.rank: oracle.read(tmp_path / rank.file) for rank in known.ranks}
    for (dimension, _), found in oracle.collectives(by_rank).items():
        for _, events in found if dimension == "ep" else ():
            sent = [json.loads(events[r]["args"]["In split size"]) for r in range(3)]
            got = [json.loads(events[r]["args"]["Out split size"]) for r in range(3)]
            assert got == [list(column) for column in zip(*sent, strict=True)]
            for rank, event in events.items():
                assert event["args"]["In msg nelems"] == sum(sent[rank])
                assert event["args"]["Out msg nelems"] == sum(got[rank])
                assert event["args"]["Collective name"] == "all_to_allv"
    rows = [row for row in known.collectives() if row.op == "all_to_all" and row.index]
    assert {row.status for row in rows} == {"invalid"}


@pytest.mark.parametrize(
    ("op", "dtype", "era", "name"),
    [
        ("all_reduce", "BFloat16", "new", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
        ("all_gather", "BFloat16", "new", "ncclDevKernel_AllGather_RING_LL"),
        ("all_reduce", "Float", "old", "ncclKernel_AllReduce_RING_LL_Sum_float"),
        ("broadcast", "Float", "old", "ncclKernel_Broadcast_RING_LL_Sum_int8_t"),
        ("all_to_all", "Float", "old", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t"),
        ("all_gather", "Float", "symmetric", "ncclSymkDevKernel_AllGather_STMC"),
        (
            "reduce_scatter",
            "Float",
            "symmetric",
            "ncclSymkDevKernel_ReduceScatter_LDMC_sum_f32",
        ),
        ("all_to_all", "Float", "symmetric", "ncclDevKernel_SendRecv"),
    ],
)
def test_kernels_have_the_names_of_their_era(op, dtype, era, name):
    assert kernel_name(op, dtype, era).partition("(")[0] == name


@pytest.mark.parametrize("truncate", [True, False])
def test_long_lists_of_ranks_are_cut_on_events_and_whole_in_the_header(made, truncate):
    trace = made(replace(SMALL, tp=32, fsdp=1, steps=1, truncate_ranks=truncate))
    shown = comm_kernels(trace)[0]["args"]["Process Group Ranks"]
    whole = f"[{', '.join(map(str, range(32)))}]"
    assert shown == (f"[{', '.join(map(str, range(30)))}, ...]" if truncate else whole)
    config = {c["pg_desc"]: c for c in trace["distributedInfo"]["pg_config"]}
    assert config["mesh_tp"]["ranks"] == list(range(32))
    assert config["mesh_tp"]["pg_size"] == 32


@pytest.mark.parametrize(("names", "count"), [("same", 1), ("distinct", 2)])
def test_sibling_groups_share_a_name_or_not(names, count):
    rows = truth(replace(SMALL, sibling_names=names)).collectives()
    assert len({row.group_name for row in rows if row.group == "tp"}) == count


def test_megatron_describes_the_groups_its_own_way(made):
    trace = made(replace(SMALL, descriptions="megatron"))
    found = {kernel["args"]["Process Group Description"] for kernel in comm_kernels(trace)}
    assert found == {"TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP"}
    roles = {
        row.group for row in truth(replace(SMALL, descriptions="megatron")).collectives()
    }
    assert roles == {"tp", "dp"}
    trace = made(replace(SMALL, descriptions="megatron", cp=2))
    found = {kernel["args"]["Process Group Description"] for kernel in comm_kernels(trace)}
    assert found == {
        "TENSOR_MODEL_PARALLEL_GROUP",
        "CONTEXT_PARALLEL_GROUP",
        "DATA_PARALLEL_GROUP_WITH_CP",
    }


def test_comms_ids_name_one_collective_and_outgrow_int64(made):
    job = replace(SMALL, comms_id=True)
    first, second = (comm_kernels(made(job, rank)) for rank in (0, 1))
    tp = [
        [k["args"]["Comms Id"] for k in kernels if k["args"]["stream"] == 20]
        for kernels in (first, second)
    ]
    assert tp[0] == tp[1]
    assert len(set(tp[0])) == len(tp[0])
    assert max(tp[0]) > 2**63


def test_hosts_hold_blocks_of_ranks_with_clocks_of_their_own(made):
    job = replace(
        SMALL, hosts=2, clock_offset_us=300.0, clock_drift_ppm=50.0, jitter_law="none"
    )
    known = truth(job)
    assert [rank.host for rank in known.ranks] == ["node-0"] * 4 + ["node-1"] * 4
    assert [rank.clock_offset_ns for rank in known.ranks] == [0] * 4 + [300_000] * 4
    near, far = (comm_kernels(made(job, rank)) for rank in (0, 4))
    assert far[0]["pid"] == 0
    for ours, theirs in zip(near, far, strict=True):
        (start, end), (start_far, end_far) = times_ns(ours), times_ns(theirs)
        true_ns = start - 3_141_592 * 10**9
        assert start_far - start == 300_000 + round(true_ns * 50e-6)
        assert end_far - end == 300_000 + round((true_ns + end - start) * 50e-6)


def test_a_rank_may_have_its_own_clock():
    job = replace(SMALL, hosts=2, clock_offset_us=300.0, rank_clock_offset_us={5: -7.5})
    offsets = [rank.clock_offset_ns for rank in truth(job).ranks]
    assert offsets[4:] == [300_000, -7_500, 300_000, 300_000]


def test_absolute_times_need_no_base(made):
    relative, absolute = made(SMALL), made(replace(SMALL, absolute_ts=True))
    assert relative["baseTimeNanoseconds"] == BASE_TIME_NS
    assert "baseTimeNanoseconds" not in absolute
    for ours, theirs in zip(
        oracle.kernels(relative), oracle.kernels(absolute), strict=True
    ):
        assert oracle.ns(theirs["ts"]) - oracle.ns(ours["ts"]) == BASE_TIME_NS
        assert theirs["dur"] == ours["dur"]


def test_whole_microseconds_cut_start_and_end(made):
    exact, cut = made(SMALL), made(replace(SMALL, whole_us=True))
    for fine, coarse in zip(oracle.kernels(exact), oracle.kernels(cut), strict=True):
        start, end = times_ns(fine)
        assert coarse["ts"] == start // 1000
        assert coarse["ts"] + coarse["dur"] == end // 1000
        assert isinstance(coarse["dur"], int)


def test_lost_heads_and_tails_shift_the_truth_and_leave_the_calls(made):
    job = replace(SMALL, lost_head={2: 2}, lost_tail={1: 1})
    whole, lost = made(SMALL, 2), made(job, 2)
    calls = [oracle.of_kind(trace, "cuda_runtime") for trace in (whole, lost)]
    assert len(calls[0]) == len(calls[1])
    by_stream = [Counter(k["tid"] for k in comm_kernels(trace)) for trace in (whole, lost)]
    assert by_stream[0] - by_stream[1] == Counter({20: 2, 24: 2})
    first = min(kernel["ts"] for kernel in comm_kernels(lost))
    compute = [k["ts"] for k in oracle.kernels(lost) if not k["name"].startswith("nccl")]
    assert len(compute) < len(oracle.kernels(whole)) - len(comm_kernels(whole))
    assert min(compute) < first
    tp = [row for row in truth(job).collectives() if row.group_ranks == (0, 1, 2, 3)]
    assert [row.n_ranks for row in tp[:3]] == [3, 3, 4]
    assert [row.status for row in tp[:3]] == ["head", "partial", "ok"]
    assert (tp[-1].n_ranks, tp[-1].status) == (3, "partial")
    assert set(tp[-1].duration_ns) == {0, 2, 3}


def test_collectives_that_every_rank_lost_are_not_counted():
    job = replace(SMALL, lost_head=dict.fromkeys(range(8), 3) | {1: 4})
    tp = [row for row in truth(job).collectives() if row.group_ranks == (0, 1, 2, 3)]
    whole = [row for row in truth(SMALL).collectives() if row.group_ranks == (0, 1, 2, 3)]
    assert [row.index for row in tp] == list(range(len(whole) - 3))
    assert tp[0].seq == 4
    assert (tp[0].status, tp[0].n_ranks) == ("head", 3)


def test_the_index_counts_only_what_somebody_recorded():
    # Of the two replicas, one keeps only the end of the window, the other its start.
    job = SynthJob(tp=1, fsdp=1, dp=2, steps=9, lost_head={0: 6}, lost_tail={1: 7})
    rows = list(truth(job).collectives())
    assert [(row.step, row.index, row.n_ranks) for row in rows] == [
        (0, 0, 1),
        (1, 1, 1),
        (6, 2, 1),
        (7, 3, 1),
        (8, 4, 1),
    ]
    late = truth(replace(job, delays=(Delay(0, 7, 0, 5.0), Delay(0, 4, 0, 5.0))))
    assert [injected.index for injected in late.injected] == [None, 3]


def test_a_rank_may_lose_everything(made):
    trace = made(replace(SMALL, lost_head={0: 10_000}), 0)
    assert comm_kernels(trace) == []
    trace = made(replace(SMALL, lost_tail={0: 10_000}), 0)
    assert comm_kernels(trace) == []


def test_a_delay_that_reaches_a_lost_collective_has_no_index():
    lost = dict.fromkeys(range(8), 2)
    (injected,) = truth(
        replace(SMALL, lost_head=lost, delays=(Delay(1, 0, 0, 9.0),))
    ).injected
    assert injected.op == "all_gather"
    assert injected.index is None


def test_streams_differ_by_rank_when_asked(made):
    trace = made(replace(SMALL, stream_step=3), 2)
    assert {kernel["tid"] for kernel in oracle.kernels(trace)} == {13, 26, 30}
