"""What is trained how: batch, sequence, and everything a layout's cost is assumed on."""

from dataclasses import dataclass, field
from math import inf
from typing import Final, Literal, get_args

from synctax.planning.possible import (
    ImpossibleError,
    counts,
    flags,
    is_number,
    one_of,
    shares,
)

Sharding = Literal["none", "optimizer", "gradients", "parameters"]
"""What data parallelism shards: ZeRO stages 0 to 3."""

ShardOver = Literal["d", "d*c"]
Recompute = Literal["none", "selective", "full", "fit"]
"""Activations computed again in the backward pass; `fit`: as little as makes it fit."""

Order = Literal["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"]
ORDERS: Final[tuple[Order, ...]] = ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")
"""Which dimension is innermost: Megatron-Core's default, and that of
--use-tp-pp-dp-mapping."""

DEFAULT_MFU: Final = 0.40

DIMENSIONS: Final = ("tp", "pp", "dp", "cp", "ep")


@dataclass(frozen=True, slots=True)
class Exposed:
    """What share of a dimension's communication no computation hides, from 0 to 1.

    Parameters
    ----------
    tp, pp, cp, ep : float
        All of it unless it is known to be hidden.
    dp : float or None
        None: what takes longer than the computation it can run beside, which is one
        microbatch for the last reduction of a step, and the whole step for those before
        it and where parameters are sharded.
    """

    tp: float = 1.0
    pp: float = 1.0
    cp: float = 1.0
    ep: float = 1.0
    dp: float | None = None


@dataclass(frozen=True, slots=True)
class Training:
    """A training step and how it is run.

    Parameters
    ----------
    batch : int
        B: global batch in sequences.
    sequence : int
        s: tokens of a sequence.
    microbatch : int
        b: sequences of a microbatch.
    sequence_parallel : bool
        Shard what TP alone replicates (used where TP > 1).
    recompute : Recompute
    sharding : Sharding
        `optimizer` is Megatron's distributed optimizer; `gradients` what Llama 3 ran;
        `parameters` FSDP with resharding after the forward pass.
    shard_over : ShardOver
        Ranks that state is sharded and gradients are reduced over; `d*c` as Megatron-Core.
    order : Order or None
        Of ranks; None takes for each layout the one with less time on NICs.
    scatter_gather : bool
        Whether each TP rank sends its own part to the next stage.
    expert_tp : bool
        Whether experts are sharded over TP too, as Megatron-Core does by default.
    count_attention : bool
        Whether the operations of a step are those of attention's scores too, and not only
        6 for each parameter and token. Their share grows with the sequence.
    """

    batch: int
    sequence: int
    microbatch: int = 1
    sequence_parallel: bool = True
    recompute: Recompute = "selective"
    sharding: Sharding = "optimizer"
    shard_over: ShardOver = "d*c"
    order: Order | None = None
    scatter_gather: bool = True
    expert_tp: bool = True
    count_attention: bool = False


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is not known of a machine and has to be assumed.

    Parameters
    ----------
    mfu : float
        Share of the BF16 peak that computation alone reaches. Bubble, exposed
        communication and tax come on top, so it is above the MFU of a whole step.
    nvlink_efficiency, nic_efficiency : float
        Share of the line rate that collectives reach.
    exposed : Exposed
    reserve_bytes : float
        Memory of a GPU that is not to be used.
    tp_across_domains : bool
        Whether TP may leave the NVLink domain; else such a layout is eliminated.
    pooled_nics : bool
        Whether a group that leaves its domain uses the NICs of all its ranks there, as
        NCCL's rings do. Else it sends at the rate of one NIC, as the placement paper has
        it; that is the same where a group has one rank in each domain.
    """

    mfu: float = DEFAULT_MFU
    nvlink_efficiency: float = 1.0
    nic_efficiency: float = 1.0
    exposed: Exposed = field(default_factory=Exposed)
    reserve_bytes: float = 0.0
    tp_across_domains: bool = False
    pooled_nics: bool = False


def check(training: Training) -> None:
    """Refuse a step that cannot be.

    Parameters
    ----------
    training : Training

    Raises
    ------
    ImpossibleError
        Naming the field and its value.
    """
    counts(training, ("batch", "sequence", "microbatch"))
    one_of(training, "recompute", get_args(Recompute))
    one_of(training, "sharding", get_args(Sharding))
    one_of(training, "shard_over", get_args(ShardOver))
    one_of(training, "order", (None, *ORDERS))
    flags(
        training,
        ("sequence_parallel", "scatter_gather", "expert_tp", "count_attention"),
    )


def check_assumptions(assumptions: Assumptions) -> None:
    """Refuse assumptions of what cannot be.

    Parameters
    ----------
    assumptions : Assumptions

    Raises
    ------
    ImpossibleError
        Naming the field and its value.
    """
    shares(assumptions, ("mfu", "nvlink_efficiency", "nic_efficiency"))
    exposed = assumptions.exposed
    told = (name for name in DIMENSIONS if name != "dp" or exposed.dp is not None)
    shares(exposed, told, path="exposed.", zero=True)
    reserve_bytes = assumptions.reserve_bytes
    if not is_number(reserve_bytes) or not 0 <= reserve_bytes < inf:
        raise ImpossibleError("reserve_bytes", reserve_bytes, "a number of 0 or more")
    flags(assumptions, ("tp_across_domains", "pooled_nics"))
