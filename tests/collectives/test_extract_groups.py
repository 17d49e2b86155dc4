"""Which group a participation belongs to: by metadata, neighbours or stream."""

import pytest

from synctax.collectives.extract import extract
from synctax.collectives.groups import visible_ranks
from synctax.collectives.model import Group, Op
from synctax.trace.model import GroupConfig, TraceMeta
from tests.collectives.build import call, described, kernel, op, rank_trace, reasons

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
MULTIMEM = "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>()"
EVERY_EIGHTH = tuple(range(0, 256, 8))


def groups_of(found):
    return [found.groups[code] for code in found.group.tolist()]


def one_group(args, *, groups=(), rank=None, events=()):
    trace = rank_trace(
        [kernel(ALL_REDUCE, 50, 1, correlation=5, **args), *events],
        TraceMeta(rank=rank, groups=groups),
    )
    found = extract(trace)
    assert len(found.groups) == 1
    return found.groups[0], reasons(found)


def named(**more):
    args = {"Process Group Name": "1", "Process Group Description": "mesh_tp", **more}
    return described("allreduce") | args


# --- names that siblings share


def test_siblings_of_one_name_are_different_groups_to_different_ranks():
    a, _ = one_group(named(**{"Process Group Ranks": "[0, 1]"}))
    b, _ = one_group(named(**{"Process Group Ranks": "[2, 3]"}))
    assert a == Group("1", (0, 1), "tp", 2, "kernel")
    assert b == Group("1", (2, 3), "tp", 2, "kernel")


def test_siblings_of_one_name_are_different_groups_within_one_trace():
    found = extract(
        rank_trace([
            kernel(ALL_REDUCE, 0, 1, **named(**{"Process Group Ranks": "[0, 1]"})),
            kernel(ALL_REDUCE, 5, 1, **named(**{"Process Group Ranks": "[2, 3]"})),
            kernel(ALL_REDUCE, 9, 1, **named(**{"Process Group Ranks": "[1, 0]"})),
        ])
    )  # fmt: skip
    assert found.group.tolist()[0] == found.group.tolist()[2] != found.group.tolist()[1]


def test_the_rank_in_a_record_is_no_rank_of_the_trace():
    events = [op("record_param_comms", 0, 10, Rank=3), call(2, 5)]
    found = extract(rank_trace([*events, kernel(ALL_REDUCE, 50, 1, correlation=5)]))
    assert found.rank == -1
    assert found.groups[0].ranks is None


# --- ranks that the text does not show


@pytest.mark.parametrize(
    ("text", "ranks", "complete"),
    [
        ("[0, 1]", (0, 1), True),
        ("[3]", (3,), True),
        ("[0,8]", (0, 8), True),
        ("[0, 8, 16, (27 more), ...]", (0, 8, 16), False),
        ("[0, 8, 16, ..., ...]", (0, 8, 16), False),
        ("[0, 8, 16, ...]", (0, 8, 16), False),
        ("[0, 8, 16, ...", (0, 8, 16), False),
        ('"[0, 8"', (0, 8), False),
        ("[]", (), False),
        ("", (), False),
    ],
)
def test_a_list_of_ranks_is_complete_only_if_nothing_stands_for_more(text, ranks, complete):
    seen = visible_ranks(text)
    assert (seen.ranks, seen.complete) == (ranks, complete)


TRUNCATED = named(**{"Process Group Ranks": "[0, 8, 16, (29 more), ...]", "Group size": 32})


def test_cut_ranks_are_completed_from_the_declared_groups():
    declared = GroupConfig("1", "mesh_tp", "", 32, EVERY_EIGHTH)
    group, notes = one_group(TRUNCATED, groups=(declared,))
    assert group == Group("1", EVERY_EIGHTH, "tp", 32, "pg_config")
    assert notes == {}


def test_a_declared_sibling_that_disagrees_with_what_is_seen_is_not_taken():
    siblings = tuple(
        GroupConfig("1", "mesh_tp", "", 32, tuple(r + i for r in EVERY_EIGHTH))
        for i in range(8)
    )
    other_size = GroupConfig("1", "mesh_dp", "", 64, tuple(range(0, 512, 8)))
    group, _ = one_group(TRUNCATED, groups=(*siblings[::-1], other_size))
    assert group.ranks == EVERY_EIGHTH
    assert group.role == "tp"


def test_among_siblings_that_agree_the_own_group_is_taken():
    a, b = (0, 8, 16, *range(100, 129)), (0, 8, 16, *range(200, 229))
    declared = tuple(GroupConfig("1", "", "", 32, ranks) for ranks in (a, b))
    group, _ = one_group(TRUNCATED, groups=declared, rank=205)
    assert group.ranks == b

    group, notes = one_group(TRUNCATED, groups=declared, rank=7)
    assert group.ranks is None
    assert notes["group_ranks_unknown"] == 1


def test_a_group_of_another_name_is_never_taken():
    declared = GroupConfig("2", "mesh_tp", "", 32, EVERY_EIGHTH)
    group, _ = one_group(TRUNCATED, groups=(declared,))
    assert group.ranks is None


def record(**args):
    return [op("record_param_comms", 0, 10, **args), call(2, 5)]


def test_cut_ranks_follow_from_start_and_stride_where_no_group_is_declared():
    strided = record(**{"Global rank start": 0, "Global rank stride": 8})
    declared = GroupConfig("1", "mesh_tp", "", 32, None)
    group, _ = one_group(TRUNCATED, events=strided, groups=(declared,))
    assert group == Group("1", EVERY_EIGHTH, "tp", 32, "stride")


def test_a_stride_of_no_constant_step_gives_no_ranks():
    unseen = named(**{"Process Group Ranks": "[]", "Group size": 32})
    more = {"Global rank start": 0, "Global rank stride": -1}
    group, _ = one_group(unseen, events=record(**more))
    assert group.ranks is None

    group, _ = one_group({**unseen, "Group size": 1}, events=record(**more))
    assert group.ranks == (0,)


@pytest.mark.parametrize(
    "more",
    [
        {"Global rank start": 0, "Global rank stride": 4},
        {"Global rank start": 0, "Global rank stride": -1},
        {"Global rank stride": 8},
    ],
)
def test_a_stride_that_contradicts_the_ranks_seen_is_not_believed(more):
    group, notes = one_group(TRUNCATED, events=record(**more))
    assert group.ranks is None
    assert group.size == 32
    assert notes["group_ranks_unknown"] == 1


def test_a_list_shorter_than_the_group_is_cut_even_without_a_mark():
    short = named(**{"Process Group Ranks": "[0, 8, 16]", "Group size": 32})
    group, notes = one_group(short)
    assert group.ranks is None
    assert notes["group_ranks_unknown"] == 1

    declared = GroupConfig("1", "mesh_tp", "", 32, EVERY_EIGHTH)
    group, _ = one_group(short, groups=(declared,))
    assert group.ranks == EVERY_EIGHTH


def test_ranks_given_as_a_list_are_as_good_as_text():
    group, _ = one_group(named(**{"Process Group Ranks": [1, 0]}))
    assert group.ranks == (0, 1)


def test_a_declaration_describes_a_group_that_the_kernel_only_names():
    args = {"Collective name": "allreduce", "Process Group Name": "1"}
    declared = GroupConfig("1", "mesh_cp", "", None, (2, 3))
    group, _ = one_group(args, groups=(declared,))
    assert group == Group("1", (2, 3), "cp", 2, "pg_config")

    group, _ = one_group(args, groups=(GroupConfig("1", "mesh_cp", "", 4, None),))
    assert group == Group("1", None, "cp", 4, "kernel")


def test_ranks_seen_once_serve_the_kernels_that_only_name_the_group():
    bare = {"Collective name": "allreduce", "Process Group Name": "1"}
    found = extract(
        rank_trace([
            kernel(ALL_REDUCE, 0, 1, **bare),
            kernel(ALL_REDUCE, 5, 1, **named()),
        ])
    )  # fmt: skip
    assert found.group.tolist() == [0, 0]
    assert found.groups[0].ranks == (0, 1)


def test_the_group_of_a_record_serves_the_kernel_it_launched():
    events = record(
        **{"Process Group Name": "1", "Process Group Ranks": "[0, 1]", "Seq": 9}
    )
    found = extract(rank_trace([*events, kernel(ALL_REDUCE, 50, 1, correlation=5)]))
    assert found.groups[0].ranks == (0, 1)
    assert found.seq.tolist() == [9]


# --- kernels without metadata


def test_streams_without_metadata_are_groups_numbered_by_stream():
    found = extract(
        rank_trace([
            kernel(ALL_REDUCE, 0, 1, stream=28),
            kernel(ALL_REDUCE, 5, 1, stream=24),
            kernel(ALL_REDUCE, 9, 1, stream=28),
        ])
    )  # fmt: skip
    assert [g.stream for g in groups_of(found)] == [1, 0, 1]
    assert found.groups[0] == Group("", None, "unlabelled", None, "inferred", 0)
    assert reasons(found)["group_unlabelled"] == 3


def test_a_kernel_joins_the_one_group_of_its_stream():
    found = extract(
        rank_trace([
            kernel(ALL_REDUCE, 0, 1, stream=24, **named()),
            kernel(SEND_RECV, 5, 1, stream=24),
            kernel(ALL_REDUCE, 9, 1, stream=28, **named(**{"Process Group Name": "2"})),
        ])
    )  # fmt: skip
    assert [g.name for g in groups_of(found)] == ["1", "1", "2"]
    assert reasons(found)["group_inferred"] == 1


def test_the_only_group_of_a_process_owns_kernels_without_metadata():
    world = GroupConfig("0", "default_pg", "cuda:nccl", 4, (0, 1, 2, 3))
    events = [kernel(ALL_REDUCE, 0, 1, stream=24), kernel(ALL_REDUCE, 5, 1, stream=28)]
    found = extract(rank_trace(events, TraceMeta(rank=0, groups=(world,))))
    assert [(g.role, g.origin) for g in found.groups] == [("default", "pg_config")]
    assert reasons(found) == {"group_inferred": 2, "payload_unknown": 2}

    seen_on_demand = GroupConfig("0", "default_pg", "", 4, None)
    for declared in (
        (world, GroupConfig("1", "mesh_tp", "", 2, (0, 1))),
        (seen_on_demand,),
    ):
        found = extract(rank_trace(events, TraceMeta(rank=0, groups=declared)))
        assert {g.role for g in found.groups} == {"unlabelled"}


def test_a_kernel_on_a_stream_of_two_groups_joins_neither():
    found = extract(
        rank_trace([
            kernel(ALL_REDUCE, 0, 1, **named()),
            kernel(ALL_REDUCE, 5, 1, **named(**{"Process Group Name": "2"})),
            kernel(SEND_RECV, 9, 1),
        ])
    )  # fmt: skip
    assert [g.role for g in groups_of(found)] == ["tp", "tp", "unlabelled"]


def test_a_kernel_of_another_library_is_no_neighbour():
    found = extract(
        rank_trace(
            [
                kernel(ALL_GATHER, 0, 1, stream=7, **named()),
                kernel(MULTIMEM, 5, 1, stream=7),
            ]
        )
    )
    assert [g.role for g in groups_of(found)] == ["tp", "unlabelled"]


# --- kernels that a group of calls launches at its end


def p2p(kind, ts, peer):
    who = "Dst Rank" if kind == "send" else "Src Rank"
    group = {"Process Group Name": "9", "Process Group Ranks": "[0, 4]", "Group size": 2}
    args = {
        "Collective name": kind,
        "dtype": "Half",
        "In msg nelems": 10,
        who: peer,
        **group,
    }
    return [op("record_param_comms", ts, 4, **args), op(f"nccl:{kind} 0->1", ts + 1, 2)]


def test_grouped_sends_and_receives_describe_the_kernel_launched_after_them():
    found = extract(
        rank_trace([
            *p2p("send", 0, 4),
            *p2p("recv", 5, 4),
            call(12, 5),
            kernel(SEND_RECV, 20, 9, stream=7, correlation=5),
        ])
    )  # fmt: skip
    assert Op(int(found.op[0])) == Op.SEND_RECV
    assert found.named.all()
    assert found.groups[0].ranks == (0, 4)
    assert found.peer.tolist() == [-1]
    assert found.payload_bytes.tolist() == [-1]
    assert reasons(found)["group_inferred"] == 1


def test_a_lone_send_before_its_kernel_gives_size_and_peer_too():
    found = extract(
        rank_trace([
            *p2p("send", 0, 4),
            call(12, 5),
            kernel(SEND_RECV, 20, 9, correlation=5),
        ])
    )  # fmt: skip
    assert found.peer.tolist() == [4]
    assert found.payload_bytes.tolist() == [20]


def test_calls_before_the_launch_before_describe_another_kernel():
    found = extract(
        rank_trace([
            *p2p("send", 0, 4),
            call(12, 5),
            call(15, 6),
            kernel(SEND_RECV, 20, 9, correlation=5, stream=20),
            kernel(SEND_RECV, 30, 9, correlation=6, stream=24),
        ])
    )  # fmt: skip
    assert [g.name for g in groups_of(found)] == ["9", ""]


def test_calls_of_another_thread_describe_no_kernel_of_this_one():
    sends = [{**event, "tid": 2} for event in p2p("send", 0, 4)]
    found = extract(
        rank_trace([*sends, call(12, 5), kernel(SEND_RECV, 20, 9, correlation=5)])
    )
    assert found.groups[0].role == "unlabelled"


def test_coalesced_collectives_describe_the_kernel_of_their_operation_only():
    args = named(**{"Collective name": "_allgather_base"})
    gathers = [op("record_param_comms", ts, 3, **args) for ts in (0, 5)]
    end = [op("nccl:coalesced", 10, 5), call(12, 5)]
    found = extract(rank_trace([*gathers, *end, kernel(ALL_GATHER, 20, 9, correlation=5)]))
    assert found.groups[0].role == "tp"
    assert found.payload_bytes.tolist() == [-1]

    found = extract(rank_trace([*gathers, *end, kernel(ALL_REDUCE, 20, 9, correlation=5)]))
    assert found.groups[0].role == "unlabelled"


def test_coalesced_kernels_share_a_sequence_number():
    kernels = [kernel(ALL_REDUCE, t, 1, **named(Seq=4)) for t in (0, 5, 9)]
    assert extract(rank_trace(kernels)).seq.tolist() == [4, 4, 4]
