"""What the data file says of names that libraries really use, era by era."""

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from synctax.collectives.model import Op
from synctax.trace import names

TABLE = Path(__file__).with_name("kernel_names.tsv").read_text("utf-8").splitlines()
KERNELS = [tuple(line.split("\t")) for line in TABLE if not line.startswith("#")]


@pytest.mark.parametrize(("name", "kind", "op", "dtype"), KERNELS)
def test_a_kernel_is_known_by_its_name(name, kind, op, dtype):
    known = names.kernel(name)
    assert (known.kind, known.op or "-", known.dtype or "-") == (kind, op, dtype)


def test_an_empty_name_is_no_kernel_of_ours():
    assert names.kernel("").kind == "other"


def test_only_send_recv_is_a_guess_among_the_kernels_of_nccl():
    guessed = {name for name, *_ in KERNELS if names.kernel(name).guess}
    assert len(guessed) == 2
    assert all("SendRecv" in name for name in guessed)


SPELLINGS = {
    "all_reduce": """allreduce allreduce_coalesced nccl:all_reduce c10d::allreduce_
        gloo:all_reduce symm_mem::multimem_all_reduce _c10d_functional::all_reduce""",
    "all_gather": """_allgather_base all_gather nccl:_all_gather_base allgather
        allgather_into_tensor_coalesced nccl:all_gather_into_tensor_coalesced
        c10d::_allgather_base_""",
    "reduce_scatter": """_reduce_scatter_base reduce_scatter_tensor_coalesced
        nccl:_reduce_scatter_base c10d::reduce_scatter_""",
    "all_to_all": """all_to_allv all_to_all alltoall_base nccl:all_to_all
        c10d::alltoall_base_ c10d::alltoall_""",
    "broadcast": "broadcast _broadcast_oop nccl:_broadcast_oop c10d::broadcast_",
    "reduce": "reduce _reduce_oop c10d::reduce_",
    "gather": "gather c10d::gather_",
    "scatter": "scatter c10d::scatter_",
    "send_recv": "send recv c10d::send c10d::recv_ recvAnysource",
    "barrier": "barrier nccl:all_reduce_barrier c10d::barrier symm_mem::barrier",
}


@pytest.mark.parametrize("op", SPELLINGS)
def test_an_operation_has_many_spellings(op):
    assert {names.operation(text) for text in SPELLINGS[op].split()} == {op}


def test_a_send_names_its_ranks_and_remains_a_send():
    assert names.operation("nccl:send 0->1") == "send_recv"
    assert names.operation("nccl:recv 3<-0") == "send_recv"


@pytest.mark.parametrize("name", ["wait", "nccl:coalesced", "record_param_comms", ""])
def test_what_is_no_operation_has_none(name):
    assert names.operation(name) is None


@pytest.mark.parametrize(
    ("size", "spellings"),
    [
        (1, "Byte Char Bool Float8_e4m3fn Float8_e5m2 c10::Float8_e4m3fn u8 int8_t"),
        (2, "Half BFloat16 c10::Half c10::BFloat16 __nv_bfloat16 f16 bf16 half Short"),
        (4, "Float Int float int f32 i32 int32_t"),
        (8, "Double Long double f64 i64 int64_t"),
    ],
)
def test_every_spelling_of_an_element_type_has_its_size(size, spellings):
    assert {names.dtype(text).bytes for text in spellings.split()} == {size}


def test_spellings_with_spaces_are_known_and_nonsense_is_not():
    assert names.dtype("long int").name == "int64"
    assert names.dtype("unsigned char").name == "uint8"
    assert names.dtype("TensorList") is None


@pytest.mark.parametrize(
    ("role", "description"),
    [
        ("tp", "mesh_tp"), ("tp", "TENSOR_MODEL_PARALLEL_GROUP"), ("tp", "tp:0"),
        ("fsdp", "mesh_fsdp"), ("fsdp", "mesh_dp_shard"), ("fsdp", "mesh_dp_shard_cp"),
        ("dp_replicate", "mesh_dp_replicate"), ("dp", "DATA_PARALLEL_GROUP"),
        ("dp", "DATA_PARALLEL_GROUP_GLOO"), ("dp_cp", "DATA_PARALLEL_GROUP_WITH_CP"),
        ("dp_cp", "DATA_PARALLEL_GROUP_WITH_CP_AG"), ("dp_cp", "mesh_dp_cp"),
        ("pp", "mesh_pp"), ("pp", "PIPELINE_MODEL_PARALLEL_GROUP"), ("pp", "pp:0"),
        ("cp", "mesh_cp"), ("cp", "CONTEXT_PARALLEL_GROUP"),
        ("ep", "mesh_ep"), ("ep", "EXPERT_MODEL_PARALLEL_GROUP"),
        ("edp", "EXPERT_DATA_PARALLEL_GROUP"), ("edp", "mesh_dp_shard_in_ep"),
        ("tp_ep", "EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP"),
        ("tp_dp_cp", "TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP"),
        ("mp", "MODEL_PARALLEL_GROUP"), ("embedding", "EMBEDDING_GROUP"),
        ("default", "default_pg"), ("default", "mesh_default"),
        ("my ring", "my ring"), ("pg 7", "undefined"), ("pg 7", ""),
    ],
)  # fmt: skip
def test_a_description_tells_what_a_group_is_for(role, description):
    assert names.role(description, "7") == role


def test_a_name_stands_in_for_a_missing_description():
    assert names.role("undefined", "tp:0") == "tp"
    assert names.role("", "") == "unlabelled"


def test_a_copy_between_gpus_is_told_from_a_copy_on_one():
    assert names.copy_engine("Memcpy PtoP (Device -> Device)")
    assert not names.copy_engine("Memcpy DtoD (Device -> Device)")


def test_every_operation_in_the_file_is_one_the_model_has():
    data = tomllib.loads(files("synctax.trace").joinpath("names.toml").read_text("utf-8"))
    labels = {op.label for op in Op}
    assert set(data["op"]) <= labels
    assert {rule["op"] for rule in data["kernel"] if "op" in rule} <= labels


def test_no_spelling_in_the_file_means_two_things():
    data = tomllib.loads(files("synctax.trace").joinpath("names.toml").read_text("utf-8"))
    for table in (
        list(data["op"].values()),
        [entry["names"] for entry in data["dtype"].values()],
        list(data["role"].values()),
    ):
        spellings = [name for names_ in table for name in names_]
        assert len(spellings) == len(set(spellings))
