"""A layout as torchtitan takes it: TOML for its releases, Python for its main branch."""

from collections.abc import Iterator
from itertools import product
from typing import Final

from synctax.planning.export.limits import plan_limits, refuse
from synctax.planning.grid import expert_split
from synctax.planning.layout import Layout
from synctax.planning.pipeline import split_layers
from synctax.planning.shape import Model
from synctax.planning.training import ORDERS, Training

Value = int | str | list[list[str]]

_FLAVORS: Final = {
    "llama3-8b": ("llama3", "8B"),
    "llama3-70b": ("llama3", "70B"),
    "llama3-405b": ("llama3", "405B"),
    "qwen3-32b": ("qwen3", "32B"),
    "deepseek-v3": ("deepseek_v3", "671B"),
    "deepseek-v2-lite": ("deepseek_v3", "16B"),
}
_OTHER_LIMITS: Final = ("kv_heads", "context", "sequence_parallel")
_RESHARD: Final = {"gradients": "never", "parameters": "always"}
_LIGHTER_ENDS: Final = 4
"""Layers less on the first or last stage that are tried before stages are listed."""


def torchtitan_toml(model: Model, training: Training, layout: Layout) -> str:
    """Write a layout as the TOML that releases of torchtitan up to 0.2.2 read.

    Selective recomputation is torchtitan's selection of operators, which recomputes half of
    the matrix products as well.

    Parameters
    ----------
    model : Model
        Only its name is written, where torchtitan has it; else a comment says so.
    training : Training
        Its `order` None is torchtitan's only one.
    layout : Layout

    Returns
    -------
    str
        Sections `model`, `training`, `parallelism` and `activation_checkpoint`.

    Raises
    ------
    SynctaxError
        If torchtitan has no words for it, or refuses to run it; with all reasons.

    References
    ----------
    torchtitan v0.2.2 (2026-02): torchtitan/config/job_config.py,
    torchtitan/distributed/parallel_dims.py, torchtitan/distributed/pipeline_parallel.py.
    """
    limits = [*_limits(model, training, layout)]
    if layout.tp > 1 and not training.sequence_parallel:
        limits.append("tp brings sequence parallelism along")
    refuse("torchtitan 0.2", layout, limits)
    local = training.batch // layout.dp if layout.pp > 1 else training.microbatch
    batch: dict[str, Value] = {
        "local_batch_size": local,
        "global_batch_size": training.batch,
        "seq_len": training.sequence,
    }
    degrees = _degrees(training, layout) | _stages(model, layout, "output")
    if layout.pp > 1:
        degrees["pipeline_parallel_microbatch_size"] = training.microbatch
    if layout.ep > 1:
        degrees["expert_tensor_parallel_degree"] = expert_split(
            layout, split=training.expert_tp
        )
    if layout.cp > 1:
        degrees["context_parallel_rotate_method"] = "allgather"
    checkpoint: dict[str, Value] = {"mode": training.recompute}
    if training.recompute == "selective":
        checkpoint["selective_ac_option"] = "op"
    sections = {
        "training": batch,
        "parallelism": degrees,
        "activation_checkpoint": checkpoint,
    }
    text = f"# {layout} of {layout.gpus:,} GPUs, for torchtitan 0.2\n\n[model]\n"
    name, flavor = _FLAVORS.get(model.name, ("", ""))
    text += f'name = "{name}"\nflavor = "{flavor}"\n' if name else "# not of torchtitan\n"
    for title, values in sections.items():
        lines = (f"{key} = {_literal(value)}" for key, value in values.items())
        text += f"\n[{title}]\n" + "\n".join(lines) + "\n"
    return text


def torchtitan_recipe(model: Model, training: Training, layout: Layout) -> str:
    """Write a layout as Python for torchtitan's main branch, which reads no TOML any more.

    Parameters
    ----------
    model : Model
    training : Training
        Its `order` None is torchtitan's only one.
    layout : Layout

    Returns
    -------
    str
        A module with one function, which puts the layout into a `Trainer.Config`.

    Raises
    ------
    SynctaxError
        If torchtitan has no words for it, or refuses to run it; with all reasons.

    References
    ----------
    torchtitan, commit b5bcd76 (2026-08): torchtitan/config/README.md and configs.py,
    torchtitan/trainer.py, torchtitan/distributed/activation_checkpoint.py.
    """
    limits = [*_limits(model, training, layout)]
    if layout.ep > 1 and layout.tp > 1 and training.expert_tp:
        limits.append("experts are not sharded over tp")
    refuse("torchtitan", layout, limits)
    tokens = training.microbatch * training.sequence
    batch: dict[str, Value] = {
        "max_context_length": training.sequence,
        "num_tokens_per_microbatch_per_dp_rank": tokens,
        "num_tokens_per_train_step": training.batch * training.sequence,
    }
    degrees = _degrees(training, layout) | _stages(model, layout, "lm_head")
    if layout.pp > 1:
        degrees["num_pp_microbatches"] = _microbatches(training, layout)
    lines = [f"config.training.{key} = {_literal(value)}" for key, value in batch.items()]
    lines += [f"config.parallelism.{key} = {_literal(one)}" for key, one in degrees.items()]
    if layout.tp > 1 and not training.sequence_parallel:
        lines.append("config.parallelism.enable_sequence_parallel = False")
    if layout.pp > 1 or layout.ep > 1:
        lines.append("config.training.disable_cuda_graphs = True")
    if layout.cp > 1:
        lines.append("# needs a model_spec with flex attention")
    policy = {"selective": "SelectiveAC", "full": "FullAC"}.get(training.recompute)
    chosen = f"{policy}.Config()" if policy else "None"
    lines.append(f"config.activation_checkpoint = {chosen}")
    head = f'"""{layout} of {layout.gpus:,} GPUs, for torchtitan."""\n\n'
    if policy:
        head += f"from torchtitan.distributed.activation_checkpoint import {policy}\n\n\n"
    name = str(layout).replace(",", "_")
    body = "\n".join(f"    {line}" for line in lines)
    return f"{head}def {name}(config):\n{body}\n    return config\n"


def _limits(model: Model, training: Training, layout: Layout) -> Iterator[str]:
    of_pipelines = ("interleaving",) if layout.pp > 1 else ()
    other = (*_OTHER_LIMITS, *of_pipelines)
    yield from plan_limits(model, training, layout, other=other)
    parts = 2 * layout.cp * layout.tp
    if training.sequence % parts:
        yield (
            f"a sequence of {training.sequence:,} does not divide into {parts} parts, two "
            "for each rank of CP and TP, even where cp is 1"
        )
    if model.latent is None and model.kv_heads % layout.tp:
        yield f"tp {layout.tp} does not divide the {model.kv_heads} KV heads"
    if training.recompute == "fit":
        yield "it recomputes all layers or none (choose full, selective or none)"
    yield from _pipeline_limits(model, training, layout)
    yield from _sharding_limits(training, layout)


def _pipeline_limits(model: Model, training: Training, layout: Layout) -> Iterator[str]:
    p, m = layout.pp, _microbatches(training, layout)
    if p == 1:
        return
    if model.tied_embeddings:
        yield f"{model.name} ties its embeddings, which a pipeline takes apart"
    rounds = max(1, m // p)
    if layout.virtual_stages > 1 and m % rounds:
        yield f"{m} microbatches are not {rounds} equal rounds of {p} or more"
    if training.order == ORDERS[1] and layout.dp > 1:
        yield f"pp is always the outermost dimension, and the order is {training.order}"
    if layout.tp > 1 and not training.scatter_gather:
        yield "a TP rank sends its own part to the next stage"


def _sharding_limits(training: Training, layout: Layout) -> Iterator[str]:
    if layout.dp * layout.cp == 1:
        return
    if training.sharding == "optimizer":
        yield (
            "there is no sharding of the optimizer alone (choose gradients or parameters)"
        )
    elif training.sharding == "none" and layout.gpus > layout.dp:
        yield "data parallelism without sharding (DDP) stands alone"
    elif training.shard_over == "d" and layout.cp > 1:
        yield "state is sharded over dp and cp, not over dp alone"


def _microbatches(training: Training, layout: Layout) -> int:
    """Count the microbatches of a step, m = B/(b·d), rounded down."""
    return training.batch // (training.microbatch * layout.dp)


def _degrees(training: Training, layout: Layout) -> dict[str, Value]:
    replicated = training.sharding == "none"
    degrees: dict[str, Value] = {
        "data_parallel_replicate_degree": layout.dp if replicated else 1,
        "data_parallel_shard_degree": 1 if replicated else layout.dp,
        "tensor_parallel_degree": layout.tp,
        "pipeline_parallel_degree": layout.pp,
        "context_parallel_degree": layout.cp,
        "expert_parallel_degree": layout.ep,
    }
    if training.sharding in _RESHARD:
        degrees["fsdp_reshard_after_forward"] = _RESHARD[training.sharding]
    return degrees


def _stages(model: Model, layout: Layout, output: str) -> dict[str, Value]:
    if layout.pp == 1:
        return {}
    interleaved = layout.virtual_stages > 1
    chunks = split_layers(model, layout.pp, layout.virtual_stages)
    stages: dict[str, Value] = {
        "pipeline_parallel_schedule": "Interleaved1F1B" if interleaved else "1F1B"
    }
    ends = _lighter_ends(chunks)
    if ends is None:
        return stages | {"module_fqns_per_model_part": _modules(chunks, output)}
    stages["pipeline_parallel_first_stage_less_layers"] = ends[0]
    stages["pipeline_parallel_last_stage_less_layers"] = ends[1]
    if layout.virtual_stages > 2:
        # two chunks a rank are its default
        stages["pipeline_parallel_layers_per_stage"] = _most(chunks, ends)
    return stages


def _lighter_ends(chunks: tuple[int, ...]) -> tuple[int, int] | None:
    """Find what to take from both ends so that torchtitan splits layers as here.

    It adds that to the layers, divides, gives what is left over to the first stages, takes
    it from the ends again, and must find the number of stages from the largest of them.
    """
    ends = product(range(_LIGHTER_ENDS), repeat=2)
    for first, last in sorted(ends, key=lambda end: (end[0] != end[1], sum(end))):
        total = sum(chunks) + first + last
        whole, over = divmod(total, len(chunks))
        split = [whole + (at < over) for at in range(len(chunks))]
        split[0] -= first
        split[-1] -= last
        stages = -(-total // _most(chunks, (first, last)))
        if (tuple(split), stages) == (chunks, len(chunks)) and max(first, last) <= whole:
            return first, last
    return None


def _most(chunks: tuple[int, ...], ends: tuple[int, int]) -> int:
    return -(-(sum(chunks) + sum(ends)) // len(chunks))


def _modules(chunks: tuple[int, ...], output: str) -> list[list[str]]:
    parts: list[list[str]] = []
    at = 0
    for count in chunks:
        parts.append([f"layers.{layer}" for layer in range(at, at + count)])
        at += count
    parts[0].insert(0, "tok_embeddings")
    parts[-1] += ["norm", output]
    return parts


def _literal(value: Value) -> str:
    """Write a value so that TOML and Python read the same."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, int):
        return str(value)
    rows = (f"[{', '.join(map(_literal, row))}]" for row in value)
    return f"[{', '.join(rows)}]"
