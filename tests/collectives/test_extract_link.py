"""What a kernel without metadata gets from the ranges around its launch."""

from numpy.testing import assert_array_equal

from synctax.collectives.extract import extract
from tests.collectives.build import (
    call,
    described,
    dtypes,
    kernel,
    launched,
    op,
    ops,
    rank_trace,
    reasons,
)

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
OLD_ALL_REDUCE = (
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"
)
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
GENERIC = "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn"


def test_an_all_to_all_is_known_by_the_range_that_launched_its_send_recv():
    found = extract(rank_trace(launched(SEND_RECV, "nccl:all_to_all")))
    assert ops(found) == ["all_to_all"]
    assert found.named.all()
    assert found.payload_bytes[0] == 4 * 8 * 2


def test_a_kernel_takes_its_size_from_the_shapes_of_its_range():
    found = extract(rank_trace(launched(ALL_REDUCE, "nccl:all_reduce")))
    assert found.payload_bytes[0] == 4 * 8 * 2
    assert dtypes(found) == ["float16"]


def test_an_all_gather_counts_its_shard_once_a_rank_of_its_group():
    events = launched("ncclDevKernel_AllGather_RING_LL", "nccl:_all_gather_base")
    assert extract(rank_trace(events)).payload_bytes[0] == -1

    events[0]["args"] = {"Process Group Name": "1", "Group size": 8, "Rank": 0}
    assert extract(rank_trace(events)).payload_bytes[0] == 8 * 4 * 8 * 2


def test_a_reduce_scatter_is_given_the_full_buffer():
    events = launched(
        "ncclDevKernel_ReduceScatter_Sum_f16_RING_LL", "nccl:_reduce_scatter_base"
    )
    assert extract(rank_trace(events)).payload_bytes[0] == 4 * 8 * 2


def test_an_operator_lists_the_gathered_buffer_itself():
    shapes = {"Input Dims": "[[64], [8], []]", "Input type": '["float", "float", ""]'}
    found = extract(
        rank_trace([
            op("c10d::_allgather_base_", 0, 10, **shapes),
            call(3, 5),
            kernel("ncclDevKernel_AllGather_RING_LL", 20, 10, correlation=5),
        ])
    )  # fmt: skip
    assert found.payload_bytes[0] == 64 * 4


def test_tensors_of_a_coalesced_call_are_summed():
    dims, kind = "[[10], [20], []]", '["float", "c10::Half", "float"]'
    found = extract(
        rank_trace(launched(ALL_REDUCE, "nccl:all_reduce", dims=dims, kind=kind))
    )
    assert found.payload_bytes[0] == 10 * 4 + 20 * 2 + 4


def test_unknown_element_types_leave_the_size_unknown_and_counted():
    found = extract(
        rank_trace(launched(ALL_REDUCE, "nccl:all_reduce", kind='["TensorList"]'))
    )
    assert found.payload_bytes[0] == -1
    assert reasons(found)["payload_unknown"] == 1


def test_eight_bit_floats_count_one_byte():
    args = described("allreduce", n=1000, dtype="Float8_e4m3fn")
    found = extract(rank_trace([kernel(ALL_REDUCE, 0, 1, **args)]))
    assert found.payload_bytes[0] == 1000
    assert dtypes(found) == ["float8_e4m3fn"]


def test_the_innermost_range_of_the_thread_decides_and_not_that_of_another():
    found = extract(
        rank_trace([
            op("nccl:all_reduce", 0, 100, tid=2),
            op("nccl:broadcast", 0, 100),
            op("nccl:reduce", 10, 5),
            op("nccl:all_to_all", 20, 50),
            op("nccl:reduce", 30, 5),
            call(40, 5),
            kernel(GENERIC, 200, 10, correlation=5),
        ])
    )  # fmt: skip
    assert ops(found) == ["all_to_all"]


def test_a_call_between_nested_ranges_belongs_to_the_outer_one():
    found = extract(
        rank_trace([
            op("nccl:broadcast", 0, 100),
            op("nccl:reduce", 10, 5),
            op("nccl:reduce", 30, 5),
            call(40, 5),
            kernel(GENERIC, 200, 10, correlation=5),
        ])
    )  # fmt: skip
    assert ops(found) == ["broadcast"]


def test_whole_microseconds_may_cut_a_range_short_of_its_launch():
    exchange = kernel("nvshmem_exchange", 20, 5, correlation=5)
    late = [op("nccl:all_to_all", 9, 1), call(11, 5), exchange]
    assert ops(extract(rank_trace(late))) == ["all_to_all"]

    exact = [op("nccl:all_to_all", 9.25, 1), *late[1:]]
    assert ops(extract(rank_trace(exact))) == ["unknown"]


def test_an_external_id_links_where_the_launch_is_missing():
    shapes = {"Input Dims": "[[10]]", "Input type": '["float"]'}
    found = extract(
        rank_trace([
            op("nccl:all_to_all", 0, 10, **{"External id": 77}, **shapes),
            kernel(SEND_RECV, 20, 10, correlation=5, **{"External id": 77}),
        ])
    )  # fmt: skip
    assert ops(found) == ["all_to_all"]


def test_an_external_id_that_repeats_the_correlation_links_nothing():
    found = extract(
        rank_trace([
            op("nccl:all_to_all", 0, 10, **{"External id": 5}),
            kernel(SEND_RECV, 20, 10, correlation=5, **{"External id": 5}),
        ])
    )  # fmt: skip
    assert ops(found) == ["send_recv"]
    assert not found.named.any()
    assert reasons(found)["op_guessed"] == 1


def test_external_ids_are_judged_kernel_by_kernel():
    found = extract(
        rank_trace([
            op("nccl:all_to_all", 0, 10, **{"External id": 77}),
            op("nccl:broadcast", 10, 10, **{"External id": 6}),
            kernel(GENERIC, 20, 10, correlation=5, **{"External id": 77}),
            kernel("rcclGenericKernel", 40, 10, correlation=6, **{"External id": 6}),
        ])
    )  # fmt: skip
    assert ops(found) == ["all_to_all", "unknown"]


def test_kernels_of_a_graph_have_no_range_and_keep_the_name_of_the_kernel():
    found = extract(
        rank_trace([
            call(3, 5, name="cudaGraphLaunch"),
            kernel(ALL_REDUCE, 20, 10, correlation=5),
            kernel(ALL_REDUCE, 40, 10, correlation=5),
            kernel(GENERIC, 60, 10, correlation=5),
        ])
    )  # fmt: skip
    assert ops(found) == ["all_reduce", "all_reduce", "unknown"]
    assert_array_equal(found.named, [True, True, False])
    assert reasons(found)["op_unknown"] == 1


def test_a_kernel_launched_before_the_window_does_what_its_like_do():
    events = launched(SEND_RECV, "nccl:all_to_all", ts=100)
    found = extract(rank_trace([kernel(SEND_RECV, 50, 10), *events]))
    assert ops(found) == ["all_to_all", "all_to_all"]
    assert_array_equal(found.named, [False, True])


def test_like_kernels_that_disagree_leave_the_guess_alone():
    events = [
        *launched(SEND_RECV, "nccl:all_to_all", ts=100, corr=5),
        *launched(SEND_RECV, "nccl:send 0->1", ts=200, corr=6),
    ]
    found = extract(rank_trace([kernel(SEND_RECV, 50, 10), *events]))
    assert ops(found) == ["send_recv", "all_to_all", "send_recv"]


def test_a_kernel_of_unknown_name_counts_if_its_metadata_says_so():
    found = extract(
        rank_trace([
            kernel("my_ring_kernel", 0, 1, **described("allreduce")),
            kernel("vectorized_elementwise_kernel", 5, 1, **described("allreduce")),
            kernel("my_other_kernel", 9, 1),
        ])
    )  # fmt: skip
    assert ops(found) == ["all_reduce"]
    assert reasons(found)["kernel_by_metadata"] == 1
