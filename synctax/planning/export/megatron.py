"""Flags of Megatron-LM that make it run a layout."""

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from synctax.errors import SynctaxError
from synctax.planning.domains import dp_may_be_last
from synctax.planning.export.limits import plan_limits, refuse
from synctax.planning.grid import expert_split
from synctax.planning.layout import Layout, Layouts
from synctax.planning.pipeline import split_layers
from synctax.planning.shape import Model
from synctax.planning.training import ORDERS, Training

_FSDP: Final = {"gradients": "optim_grads", "parameters": "optim_grads_params"}


def megatron_flags(
    model: Model,
    training: Training,
    layout: Layout,
    *,
    recomputed_layers: float | None = None,
) -> tuple[str, ...]:
    """Write a layout, and the model it is for, as flags of `pretrain_gpt.py`.

    Parameters
    ----------
    model : Model
    training : Training
        Its `order` None is Megatron's default; where a plan chose one, put that in.
    layout : Layout
    recomputed_layers : float, optional
        Layers of a stage that are recomputed in full, for `recompute="fit"`.

    Returns
    -------
    tuple of str
        A flag with its value each, quoted for a shell: joined by spaces they are a command
        line.

    Raises
    ------
    SynctaxError
        If Megatron-LM has no flags for it, or refuses to run it; with all reasons.
    ValueError
        If `recompute` is `fit` and the layers are not told.

    References
    ----------
    Megatron-LM, commit d98e8a6 (2026-08): megatron/training/arguments.py,
    megatron/training/config, megatron/core/transformer/transformer_config.py,
    megatron/core/model_parallel_config.py, megatron/core/parallel_state.py.

    Examples
    --------
    >>> from synctax.planning.inputs.named import read_model
    >>> flags = megatron_flags(
    ...     read_model("llama3-8b"), Training(128, 8192), Layout(tp=2, pp=1, dp=4)
    ... )
    >>> flags[:2]
    ('--tensor-model-parallel-size 2', '--pipeline-model-parallel-size 1')
    """
    limits = (*plan_limits(model, training, layout), *_limits(model, training, layout))
    refuse("Megatron-LM", layout, limits)
    return (
        *_parallel(model, training, layout),
        *_stages(model, layout),
        *_sharding(training),
        f"--micro-batch-size {training.microbatch}",
        f"--global-batch-size {training.batch}",
        f"--seq-length {training.sequence}",
        f"--max-position-embeddings {training.sequence}",
        "--bf16",
        *_recompute(training, layout, recomputed_layers),
        *_shape(model),
        *_experts(model),
    )


def _limits(model: Model, training: Training, layout: Layout) -> Iterator[str]:
    yield from _sharding_limits(training, layout)
    yield from _order_limits(model, training, layout)
    if layout.pp > 1 and layout.tp > 1:
        yield from _sending_limits(training)


def _sending_limits(training: Training) -> Iterator[str]:
    if training.sequence_parallel != training.scatter_gather:
        sends = "its own part" if training.sequence_parallel else "the whole tensor"
        kind = "with" if training.sequence_parallel else "without"
        yield f"a TP rank sends {sends} to the next stage {kind} sequence parallelism"


def _sharding_limits(training: Training, layout: Layout) -> Iterator[str]:
    if training.sharding == "none":
        return
    if training.shard_over == "d" and layout.cp > 1:
        yield "state is sharded over dp and cp, not over dp alone"
    if training.sharding in _FSDP and layout.pp > 1:
        yield (
            f"sharding of {training.sharding} is its FSDP, which is neither documented nor "
            "tested with a pipeline"
        )


def _order_limits(model: Model, training: Training, layout: Layout) -> Iterator[str]:
    one, some = Layouts.of([layout]), model.experts is not None
    if training.order == ORDERS[1] and not dp_may_be_last(training, one, experts=some)[0]:
        yield (
            f"in the order {training.order} experts have to be replicated dp = {layout.dp} "
            "times, which they are not, even where there are none"
        )


def _parallel(model: Model, training: Training, layout: Layout) -> Iterator[str]:
    yield f"--tensor-model-parallel-size {layout.tp}"
    yield f"--pipeline-model-parallel-size {layout.pp}"
    yield f"--context-parallel-size {layout.cp}"
    if layout.tp > 1 and training.sequence_parallel:
        yield "--sequence-parallel"
    if training.order == ORDERS[1]:
        yield "--use-tp-pp-dp-mapping"
    if layout.ep > 1:
        yield f"--expert-model-parallel-size {layout.ep}"
        split = expert_split(layout, split=training.expert_tp)
        yield f"--expert-tensor-parallel-size {split}"
        # its default gathers all tokens instead
        yield "--moe-token-dispatcher-type alltoall"
    elif model.experts is not None and layout.tp > 1 and not training.expert_tp:
        # its default is that of TP
        yield "--expert-tensor-parallel-size 1"


def _stages(model: Model, layout: Layout) -> Iterator[str]:
    if layout.pp == 1:
        return
    v = layout.virtual_stages
    chunks = split_layers(model, layout.pp, v)
    if len(set(chunks)) == 1:
        if v > 1:
            yield f"--num-virtual-stages-per-pipeline-rank {v}"
    elif v == 1 and len(set(chunks[1:-1])) <= 1 and chunks[0] and chunks[-1]:
        yield f"--decoder-first-pipeline-num-layers {chunks[0]}"
        yield f"--decoder-last-pipeline-num-layers {chunks[-1]}"
    else:
        yield f"--pipeline-model-parallel-layout '{_chain(chunks)}'"


def _chain(chunks: tuple[int, ...]) -> str:
    """Write chunks of layers as `Et*7|(t*8|)*14t*7L`: embedding, layers, loss.

    Chunks stand in the order of the layers; a rank holds every pp-th of them. The first and
    the last one may have no layer: `E|(t|)*126L`.

    References
    ----------
    Megatron-LM, docs/user-guide/features/pipeline_parallel_layout.md.
    """
    few = ("", "t")
    layers = [few[count] if count < len(few) else f"t*{count}" for count in chunks]
    text = f"E{layers[0]}|"
    for layer, run in groupby(layers[1:-1]):
        count = len(list(run))
        text += f"({layer}|)*{count}" if count > 1 else f"{layer}|"
    return f"{text}{layers[-1]}L"


def _sharding(training: Training) -> Iterator[str]:
    if training.sharding == "none":
        return
    yield "--use-distributed-optimizer"
    if training.sharding in _FSDP:
        yield "--use-megatron-fsdp"
        yield f"--data-parallel-sharding-strategy {_FSDP[training.sharding]}"
        yield "--ckpt-format fsdp_dtensor"


def _recompute(
    training: Training, layout: Layout, recomputed_layers: float | None
) -> Iterator[str]:
    how = training.recompute
    layers = 0
    if how == "fit":
        if recomputed_layers is None:
            raise ValueError("recompute is 'fit', and recomputed_layers is not given")
        if math.isnan(recomputed_layers):
            raise SynctaxError(
                f"{layout} does not fit even where every layer is recomputed in full"
            )
        # counted in each chunk
        layers = math.ceil(recomputed_layers / layout.virtual_stages)
        how = "full" if layers else "selective"
    if how == "none":
        return
    yield f"--recompute-granularity {how}"
    if how == "full":
        yield f"--recompute-method {'block' if layers else 'uniform'}"
        yield f"--recompute-num-layers {layers or 1}"


def _shape(model: Model) -> Iterator[str]:
    yield f"--num-layers {model.layers}"
    yield f"--hidden-size {model.hidden}"
    yield f"--ffn-hidden-size {model.ffn}"
    yield f"--num-attention-heads {model.heads}"
    if model.heads * model.head_dim != model.hidden:
        yield f"--kv-channels {model.head_dim}"
    if model.latent is not None:
        yield "--multi-latent-attention"
        if model.latent.q_rank is not None:
            yield f"--q-lora-rank {model.latent.q_rank}"
        yield f"--kv-lora-rank {model.latent.kv_rank}"
        yield f"--qk-head-dim {model.latent.nope_dim}"
        yield f"--qk-pos-emb-head-dim {model.latent.rope_dim}"
        yield f"--v-head-dim {model.latent.v_dim}"
    elif model.kv_heads != model.heads:
        yield "--group-query-attention"
        yield f"--num-query-groups {model.kv_heads}"
    if model.gated:
        yield "--swiglu"
    if not model.tied_embeddings:
        yield "--untie-embeddings-and-output-weights"
    yield f"--vocab-size {model.vocabulary}"


def _experts(model: Model) -> Iterator[str]:
    experts = model.experts
    if experts is None:
        return
    yield f"--num-experts {experts.count}"
    yield f"--moe-router-topk {experts.top_k}"
    yield f"--moe-ffn-hidden-size {experts.ffn}"
    if experts.shared:
        yield f"--moe-shared-expert-intermediate-size {experts.shared * experts.ffn}"
    if experts.dense_layers:
        pattern = f"([0]*{experts.dense_layers}+[1]*{model.moe_layers})"
        yield f"--moe-layer-freq '{pattern}'"
