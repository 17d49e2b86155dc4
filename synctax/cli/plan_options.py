"""Options of `plan` by what they are about: the job, the machine, the tax."""

import click

from synctax.cli.options import MAX_RANKS, together
from synctax.cli.plan_types import (
    BLOCK_US,
    MEMORY_GB,
    RATE_GB_PER_S,
    RATE_TFLOPS,
    RESERVE_GB,
    SHARE,
    Count,
    Exposures,
    ShardedOver,
)
from synctax.evt.methods import METHODS

training_options = together(
    click.option(
        "--sharding",
        type=click.Choice(("none", "optimizer", "gradients", "parameters")),
        default="optimizer",
        show_default=True,
        help="What data-parallel ranks share out, as ZeRO stages 0 to 3: optimizer is "
        "Megatron's distributed optimizer, parameters is FSDP.",
    ),
    click.option(
        "--shard-over",
        type=ShardedOver(),
        default="dp-cp",
        show_default=True,
        metavar="dp|dp-cp",
        help="Whether context-parallel ranks share it out too, as in Megatron-Core.",
    ),
    click.option(
        "--recompute",
        type=click.Choice(("none", "selective", "full", "fit")),
        default="selective",
        show_default=True,
        help="What is computed twice instead of kept; fit: as many whole layers as memory "
        "asks.",
    ),
    click.option("--no-sequence-parallel", is_flag=True, help="Without it where TP > 1."),
    click.option(
        "--order",
        type=click.Choice(("auto", "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")),
        default="auto",
        show_default=True,
        help="Of ranks, innermost first; auto takes what keeps NICs less busy.",
    ),
    click.option(
        "--no-scatter-gather",
        is_flag=True,
        help="Each TP rank sends the whole activation to the next stage, not its part.",
    ),
    click.option(
        "--expert-tp/--no-expert-tp",
        default=True,
        show_default=True,
        help="Whether TP shards experts too.",
    ),
    click.option(
        "--count-attention",
        is_flag=True,
        help="Add the scores of causal attention to the 6 operations for each parameter "
        "and token.",
    ),
)
"""How the job is run: what is sharded, recomputed, in which order ranks are numbered."""

machine_options = together(
    click.option(
        "--domain",
        type=Count(MAX_RANKS),
        metavar="N",
        help="GPUs that NVLink joins.",
    ),
    click.option(
        "--nic-gb-per-s",
        type=RATE_GB_PER_S,
        metavar="RATE",
        help="NIC of a GPU, 10^9 bytes/s per direction.",
    ),
    click.option("--memory-gb", type=MEMORY_GB, metavar="GB", help="Of a GPU, 10^9 bytes."),
    click.option(
        "--reserve-gb",
        type=RESERVE_GB,
        metavar="GB",
        default=0.0,
        show_default=True,
        help="Of it, not to be used: buffers of NCCL, fragmentation.",
    ),
    click.option(
        "--mfu",
        type=SHARE,
        metavar="SHARE",
        help="Of the BF16 peak, reached by computation alone.  [default: 0.4]",
    ),
    click.option(
        "--tflops", type=RATE_TFLOPS, metavar="RATE", help="The same as 10^12 operations/s."
    ),
    click.option(
        "--exposed",
        type=Exposures(),
        metavar="LIST",
        help="Shares of communication that no computation hides, such as tp=1,dp=0.2.  "
        "[default: 1; of dp what is longer than the computation beside it]",
    ),
    click.option(
        "--nvlink-efficiency",
        type=SHARE,
        metavar="SHARE",
        default=1.0,
        show_default=True,
        help="Of the line rate.",
    ),
    click.option(
        "--nic-efficiency",
        type=SHARE,
        metavar="SHARE",
        default=1.0,
        show_default=True,
        help="Of the line rate.",
    ),
    click.option(
        "--allow-tp-across-domains",
        is_flag=True,
        help="Keep layouts whose TP groups leave the domain.",
    ),
    click.option(
        "--pool-nics",
        is_flag=True,
        help="Groups that leave a domain use the NICs of all their ranks there, as rings "
        "of NCCL do; else the rate of one, as in the placement paper.",
    ),
)
"""What the machine has, and what is assumed of it."""

tax_method_option = click.option(
    "--tax-method", type=click.Choice(METHODS), help="Which of its predictors."
)

tax_compute_option = click.option(
    "--tax-compute-us",
    type=BLOCK_US,
    metavar="US",
    help="Computation before a barrier of the workload that was fitted.  [default: of the "
    "tax model]",
)

charge_options = together(
    click.option(
        "--tax",
        "source",
        metavar="SOURCE",
        help="A file that fit-evt --tax FILE wrote, llama3-70b-h200, or none.  [default: "
        "what was fitted last, else llama3-70b-h200]",
    ),
    tax_method_option,
    click.option(
        "--tax-form",
        type=click.Choice(("proportional", "absolute")),
        default="proportional",
        show_default=True,
        help="Whether the wait at a barrier is a share of the computation before it, or "
        "the microseconds of the workload that was fitted.",
    ),
    click.option(
        "--tax-ranks",
        type=click.Choice(("inner", "layer")),
        default="inner",
        show_default=True,
        help="Whose ranks wait at a barrier: those of the innermost dimension, or all that "
        "some collective of a layer joins, such as tp times cp.",
    ),
    tax_compute_option,
)
"""What waiting at barriers costs."""
