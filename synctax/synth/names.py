"""What torch and NCCL call a collective, by era."""

from dataclasses import dataclass

from synctax.synth.job import NcclNames


@dataclass(frozen=True, slots=True)
class CommNames:
    """Names of one operation.

    Parameters
    ----------
    collective : str
        `Collective name` of the metadata.
    operator : str
        The dispatched operator on the CPU.
    annotation : str
        The range that the process group opens.
    nccl : str
        NCCL's word in kernel names; empty for all-to-all, which is send and receive.
    reduces : bool
        The kernel's name carries an operation and a type.
    symmetric : str
        Algorithm in the names of symmetric-memory kernels; empty where there is none.
    """

    collective: str
    operator: str
    annotation: str
    nccl: str = ""
    reduces: bool = False
    symmetric: str = ""


NAMES = {
    "all_reduce": CommNames(
        collective="allreduce",
        operator="c10d::allreduce_",
        annotation="nccl:all_reduce",
        nccl="AllReduce",
        reduces=True,
        symmetric="RSxLD_AGxST",
    ),
    "all_gather": CommNames(
        collective="_allgather_base",
        operator="c10d::_allgather_base_",
        annotation="nccl:_all_gather_base",
        nccl="AllGather",
        symmetric="STMC",
    ),
    "reduce_scatter": CommNames(
        collective="_reduce_scatter_base",
        operator="c10d::_reduce_scatter_base_",
        annotation="nccl:_reduce_scatter_base",
        nccl="ReduceScatter",
        reduces=True,
        symmetric="LDMC",
    ),
    "all_to_all": CommNames(
        collective="all_to_all",
        operator="c10d::alltoall_base_",
        annotation="nccl:all_to_all",
    ),
    "broadcast": CommNames(
        collective="broadcast",
        operator="c10d::broadcast_",
        annotation="nccl:broadcast",
        nccl="Broadcast",
    ),
}
INPUT_TYPES = {"BFloat16": "c10::BFloat16", "Float": "float"}
_NEW_TYPES = {"BFloat16": "bf16", "Float": "f32"}
_OLD_TYPES = {"BFloat16": "__nv_bfloat16", "Float": "float"}


def kernel_name(op: str, dtype: str, era: NcclNames) -> str:
    """Name the kernel of an operation as NCCL of that era does.

    Parameters
    ----------
    op : str
        `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all` or `broadcast`.
    dtype : str
        As torch writes it.
    era : {"new", "old", "symmetric"}
        NCCL from 2.20, before, or with symmetric memory (which has no kernel for
        all-to-all and broadcast: those keep the new names).

    Returns
    -------
    str
        The name, with the arguments CUPTI shows.
    """
    names = NAMES[op]
    if era == "old":
        arguments = "(ncclDevComm*, unsigned long, ncclWork*)"
        if not names.nccl:
            return f"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t{arguments}"
        kind = _OLD_TYPES[dtype] if names.reduces else "int8_t"
        return f"ncclKernel_{names.nccl}_RING_LL_Sum_{kind}{arguments}"
    if era == "symmetric" and names.symmetric:
        kind = f"_sum_{_NEW_TYPES[dtype]}" if names.reduces else ""
        return (
            f"ncclSymkDevKernel_{names.nccl}_{names.symmetric}{kind}(ncclSymkDevWorkArgs4K)"
        )
    arguments = "(ncclDevKernelArgsStorage<4096ul>)"
    if not names.nccl:
        return f"ncclDevKernel_SendRecv{arguments}"
    kind = f"_Sum_{_NEW_TYPES[dtype]}" if names.reduces else ""
    return f"ncclDevKernel_{names.nccl}{kind}_RING_LL{arguments}"
