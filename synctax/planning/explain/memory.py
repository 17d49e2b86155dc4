"""What memory a layout needs, part by part."""

from collections.abc import Iterator
from typing import Final

from synctax.planning.activations import (
    by_tensors_alone,
    layer_bytes,
    layer_counts,
)
from synctax.planning.explain.terms import Row, Terms
from synctax.planning.state import BYTES_PER_PARAMETER, GATHERED_LAYERS
from synctax.texts import number, size_bytes

_SECTION: Final = "memory"

_COUNTS: Final = (
    ("activation_layer_bytes", "by the published coefficients"),
    ("activation_layer_by_width_bytes", "by the width of the MLP"),
    (
        "activation_layer_by_tensors_bytes",
        "by its tensors (gate, KV heads)",
    ),
)


def memory_rows(known: Terms) -> Iterator[Row]:
    """Explain state, activations by each count, what is recomputed, and what is left.

    Parameters
    ----------
    known : Terms

    Yields
    ------
    Row
    """
    held, at = known.plan.costs.memory, known.at
    yield _state(known)
    yield from _layer(known)
    yield _in_flight(known)
    yield _activations(known)
    known = known.with_symbols(
        state=float(held.state_bytes[at]), activations=float(held.activation_bytes[at])
    )
    total = float(held.memory_bytes[at])
    budget = known.plan.setting.budget_bytes
    yield known.row(_SECTION, "memory_bytes", total, "bytes", "{state} + {activations}")
    smallest = "by the smallest of the counts"
    if by_tensors_alone(known.plan.setting.model):
        smallest = "by the average layer, dense ones among them"
    for name, what in (
        ("memory_lo_bytes", smallest),
        (
            "memory_hi_bytes",
            "by the largest, of the fullest stage, with embedding and logits",
        ),
    ):
        value = float(getattr(held, name)[at])
        yield Row(_SECTION, name, value, "bytes", words=f"{size_bytes(value)} {what}")
    left = budget - total
    said = f"{size_bytes(abs(left))} {'left' if left >= 0 else 'missing'}"
    yield Row(
        _SECTION, "budget_bytes", budget, "bytes", words=f"{size_bytes(budget)}: {said}"
    )


def _state(known: Terms) -> Row:
    setting = known.plan.setting
    own, shared = BYTES_PER_PARAMETER[setting.training.sharding]
    known = known.with_symbols(own=own, shared=shared)
    template = "{P_dense}/({t}·{p})·({own} + {shared}/{g}"
    experts = "{P_experts}/({e}·{t_experts}·{p})·({own} + {shared}/{g_experts}"
    end = ")"
    if setting.training.sharding == "parameters":
        # what of the layers at work other ranks hold is gathered
        at_work = min(GATHERED_LAYERS / known.symbols["l"], 1.0)
        known = known.with_symbols(at_work=at_work)
        end = " + 2·{at_work}·(1 − 1/{%s}))"
    template += end.replace("%s", "g")
    if setting.model.experts is not None:
        template += f" + {experts}{end.replace('%s', 'g_experts')}"
    value = known.plan.costs.memory.state_bytes[known.at]
    return known.row(_SECTION, "state_bytes", value, "bytes", template)


def _layer(known: Terms) -> Iterator[Row]:
    model, training = known.plan.setting.model, known.plan.setting.training
    unit = "{b}·{s}/{c}·{h}"
    size = {key: known.symbols[key] for key in ("b", "s", "c", "h", "t")}
    tokens = size["b"] * size["s"] / size["c"] * size["h"] / size["t"]
    if by_tensors_alone(model):
        likely = float(layer_bytes(model, training, known.layouts).likely[0])
        known = known.with_symbols(tensors=likely / tokens)
        yield known.row(
            _SECTION, _COUNTS[0][0], likely, "bytes", f"{unit}·{{tensors}}/{{t}}"
        )
        return
    counts = layer_counts(model, training, known.layouts)[:, 0].tolist()
    split = "34/{t}" if training.sequence_parallel else "(10 + 24/{t})"
    scores = ""
    if training.recompute == "none":
        known = known.with_symbols(a=model.heads)
        scores = " + 5·{a}·{s}/({h}·{t})"
    template = f"{unit}·({split}{scores})" if scores else f"{unit}·{split}"
    yield known.row(_SECTION, _COUNTS[0][0], counts[0], "bytes", template)
    for (name, what), value in zip(_COUNTS[1:], counts[1:], strict=True):
        said = (
            f"{what}: {number(value / tokens)}/t in place of {number(counts[0] / tokens)}/t"
        )
        yield Row(_SECTION, name, value, "bytes", words=said)


def _in_flight(known: Terms) -> Row:
    chunks = "({p}·{v} + {p} − 1)/{v}" if known.symbols["v"] > 1 else "{p}"
    held = known.symbols["held"]
    return known.row(
        _SECTION, "microbatches_in_flight", held, None, f"min({chunks}, {{m}})"
    )


def _activations(known: Terms) -> Row:
    setting = known.plan.setting
    one = layer_bytes(setting.model, setting.training, known.layouts)
    known = known.with_symbols(layer=float(one.likely[0]), kept=float(one.recomputed[0]))
    template = "{layer}·{l}·{held}"
    if known.symbols["r"]:
        template = "(({l} − {r})·{layer} + {r}·{kept})·{held} + {layer}"
    value = known.plan.costs.memory.activation_bytes[known.at]
    return known.row(_SECTION, "activation_bytes", value, "bytes", template)
