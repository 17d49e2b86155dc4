"""Collectives that run on the CPU: the range on the backend's thread is the collective.

The events are a real two-rank run's (torch 2.13, gloo), cut down: the program's thread
issues `c10d::` operators, two threads a group run `gloo:` ranges, nothing names the group.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.collectives.extract import extract
from synctax.collectives.model import Op
from synctax.trace.model import GroupConfig, TraceMeta
from tests.collectives.build import kernel, op, rank_trace, reasons

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
MAIN = 5960
DEFAULT, TP, DP = (
    GroupConfig("0", "default_pg", "cpu:gloo", 2, (0, 1)),
    GroupConfig("1", "mesh_tp", "cpu:gloo", 2, (0, 1)),
    GroupConfig("2", "DATA_PARALLEL_GROUP", "cpu:gloo", 2, (0, 1)),
)


def tensor(n, kind="float"):
    return {"Input Dims": f"[[{n}]]", "Input type": f'["{kind}"]'}


def two_reductions(*, threads=(5975, 5981), shapes=True):
    first, second = (tensor(1000), tensor(500, "c10::BFloat16")) if shapes else ({}, {})
    return [
        op("ProfilerStep#1", 442.563, 25096.521, tid=MAIN),
        op("c10d::allreduce_", 500.84, 17.025, tid=MAIN),
        op("c10d::allreduce_", 523.353, 692.333, tid=MAIN),
        op("gloo:all_reduce", 1157.569, 371.855, tid=threads[1], **second),
        op("gloo:all_reduce", 1319.171, 887.944, tid=threads[0], **first),
    ]


def roles(found):
    return [found.groups[code].role for code in found.group.tolist()]


def test_the_range_on_the_backends_thread_is_the_collective():
    found = extract(rank_trace(two_reductions(), TraceMeta(rank=1, groups=(DEFAULT,))))
    assert [Op(code) for code in found.op] == [Op.ALL_REDUCE] * 2
    assert_array_equal(found.start_ns, [1_157_569, 1_319_171])
    assert_array_equal(found.duration_ns, [371_855, 887_944])
    assert_array_equal(found.payload_bytes, [1000, 4000])
    assert_array_equal(found.stream, [5981, 5975])
    assert_array_equal(found.step, [1, 1])
    assert found.named.all()
    assert (found.comm_kernels, found.busy_start_ns.size) == (0, 0)


def test_the_only_group_of_the_rank_owns_every_range():
    elsewhere = GroupConfig("7", "mesh_tp", "cpu:gloo", 2, (2, 3))
    meta = TraceMeta(rank=1, groups=(DEFAULT, elsewhere))
    found = extract(rank_trace(two_reductions(), meta))
    assert roles(found) == ["default", "default"]
    assert found.groups[0].origin == "pg_config"
    assert found.notes == ()


def test_threads_tell_groups_apart_where_each_group_shows_two():
    events = [
        *two_reductions(),
        op("gloo:all_gather", 2905, 281, tid=5973, **tensor(1000)),
        op("gloo:broadcast", 7746, 116, tid=5970, **tensor(1000)),
        op("gloo:reduce", 8857, 115, tid=5971, **tensor(1000)),
        op("gloo:all_reduce", 9000, 50, tid=5979, **tensor(1000)),
        op("c10d::send", 9990, 60, tid=MAIN),
        op("gloo:send", 10000, 50, tid=MAIN, **tensor(1000)),
    ]
    meta = TraceMeta(rank=0, groups=(DEFAULT, TP, DP))
    found = extract(rank_trace(events, meta))
    assert roles(found) == ["dp", "tp", "tp", "default", "default", "dp", "unlabelled"]
    assert reasons(found) == {"group_inferred": 6, "group_unlabelled": 1}
    # An all-gather's range shows the shard.
    assert_array_equal(found.payload_bytes[2], 2 * 4000)


def test_fewer_threads_than_the_groups_should_have_tell_nothing():
    found = extract(rank_trace(two_reductions(), TraceMeta(rank=0, groups=(DEFAULT, TP))))
    assert roles(found) == ["unlabelled", "unlabelled"]
    assert reasons(found) == {"group_unlabelled": 2}


def test_listed_threads_tell_groups_apart_though_some_ran_nothing():
    """The default group has run nothing; its threads are the two oldest."""
    listed = (5960, 5961, 5975, 5976, 5981, 5982)
    meta = TraceMeta(rank=0, groups=(DEFAULT, TP, DP), runner_threads=listed)
    found = extract(rank_trace(two_reductions(), meta))
    assert roles(found) == ["dp", "tp"]
    assert reasons(found) == {"group_inferred": 2}


@pytest.mark.parametrize("listed", [(5960, 5961, 5975, 5976), (1, 2, 3, 4, 5, 5975)])
def test_listed_threads_that_do_not_fit_tell_nothing(listed):
    meta = TraceMeta(rank=0, groups=(DEFAULT, TP, DP), runner_threads=listed)
    found = extract(rank_trace(two_reductions(), meta))
    assert roles(found) == ["unlabelled", "unlabelled"]


def test_more_listed_threads_than_the_one_group_that_is_told_of_has_tell_nothing():
    """Groups that were made later are missing from the trace's list."""
    meta = TraceMeta(rank=0, groups=(DEFAULT,), runner_threads=(5975, 5976, 5981, 5982))
    assert set(roles(extract(rank_trace(two_reductions(), meta)))) == {"unlabelled"}


def test_a_collective_was_launched_when_its_operator_issued_it():
    found = extract(rank_trace(two_reductions(), TraceMeta(rank=0, groups=(DEFAULT,))))
    assert_array_equal(found.launch_ns, [500_840, 523_353])
    (alone,) = extract(rank_trace([op("gloo:broadcast", 7, 1, tid=5)])).launch_ns
    assert alone == 7_000


def test_a_group_of_another_backend_has_no_threads():
    nccl = GroupConfig("3", "mesh_ep", "cuda:nccl", 2, (0, 1))
    found = extract(rank_trace(two_reductions(), TraceMeta(rank=0, groups=(TP, nccl))))
    assert roles(found) == ["tp", "tp"]


def record(ts, group, collective="allreduce"):
    return op("record_param_comms", ts, 5, tid=MAIN, **{
        "Collective name": collective, "Process Group Name": group,
        "Process Group Ranks": "[0, 1]", "Group size": 2,
        "Process Group Description": {"1": "mesh_tp", "2": "mesh_dp"}[group],
    })  # fmt: skip


def test_records_pair_with_ranges_of_their_operation_in_order():
    events = [*two_reductions(), record(505, "1"), record(530, "2")]
    found = extract(rank_trace(events))
    assert roles(found) == ["tp", "dp"]
    assert reasons(found)["group_inferred"] == 2


def test_records_that_agree_on_the_group_need_not_be_as_many():
    found = extract(rank_trace([*two_reductions(), record(505, "1")]))
    assert roles(found) == ["tp", "tp"]


def test_records_that_disagree_in_group_and_number_tell_nothing():
    events = [*two_reductions(), record(505, "1"), record(530, "2"), record(540, "2")]
    assert roles(extract(rank_trace(events))) == ["unlabelled", "unlabelled"]


def test_a_record_around_a_range_names_its_group():
    events = [record(9990, "1", "send"), op("gloo:send", 9991, 2, tid=MAIN)]
    found = extract(rank_trace(events))
    assert roles(found) == ["tp"]
    assert "group_inferred" not in reasons(found)


def test_a_barrier_has_no_payload_and_ranges_without_shapes_an_unknown_one():
    barrier = op("gloo:barrier", 2000, 90, tid=5970)
    found = extract(rank_trace([*two_reductions(shapes=False), barrier]))
    assert_array_equal(found.payload_bytes, [-1, -1, 0])
    assert reasons(found)["payload_unknown"] == 2


def test_beside_kernels_that_communicate_ranges_on_the_cpu_are_left_out_and_counted():
    found = extract(rank_trace([*two_reductions(), kernel(ALL_REDUCE, 0, 1)]))
    assert len(found) == 1
    assert reasons(found)["cpu_collective"] == 2


@pytest.mark.parametrize("backend", ["gloo", "mpi", "ucc"])
def test_ranges_of_every_backend_on_the_cpu_count(backend):
    found = extract(rank_trace([op(f"{backend}:all_to_all", 0, 5)]))
    assert np.all(found.op == Op.ALL_TO_ALL)


def test_ranges_of_a_backend_on_the_gpu_are_no_collectives_themselves():
    assert len(extract(rank_trace([op("nccl:all_to_all", 0, 5)]))) == 0
