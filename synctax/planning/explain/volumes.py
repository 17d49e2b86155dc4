"""What a layout sends and how often its ranks meet, formula by formula."""

from collections.abc import Iterator
from typing import Final

from synctax.planning.barriers import BARRIER_GROUPS
from synctax.planning.explain.terms import Row, Terms
from synctax.planning.pipeline import TWO_STAGES
from synctax.planning.volumes import (
    dp_bytes_per_parameter,
    key_value_width,
    tp_tensors,
)

_SECTION: Final = "volumes"


def volume_rows(known: Terms) -> Iterator[Row]:
    """Explain the bytes of every dimension that has more than one rank, and the barriers.

    Parameters
    ----------
    known : Terms

    Yields
    ------
    Row
    """
    if known.symbols["t"] > 1:
        yield _tp(known)
    if known.symbols["p"] > 1:
        yield _pp(known)
    if known.plan.costs.volumes.dp_bytes[known.at]:
        yield _dp(known)
    if known.symbols["c"] > 1:
        yield _cp(known)
    if known.symbols["e"] > 1:
        yield _ep(known)
    yield from _barriers(known)


def _again(known: Terms, template: str) -> str:
    """Add what the backward pass sends again for layers that are recomputed."""
    return f"{template}·(1 + {{r}}/(2·{{l}}))" if known.symbols["r"] else template


def _tp(known: Terms) -> Row:
    sent = float(known.plan.costs.volumes.tp_bytes[known.at])
    if known.plan.setting.model.experts is None:
        template = "16·{L}·{B}·{s}·{h}·({t} − 1)/{n}"
    else:
        setting = known.plan.setting
        known = known.with_symbols(tensors=tp_tensors(setting.model, setting.training))
        template = "{tensors}·{b}·{s}/{c}·{h}·({t} − 1)/{t}·{l}·{m}·2"
    return known.row(_SECTION, "tp_bytes", sent, "bytes", _again(known, template))


def _pp(known: Terms) -> Row:
    parts = "/{t}" if known.plan.setting.training.scatter_gather else ""
    between = known.symbols["p"] > TWO_STAGES
    passes = "2·{v}" if between else "(2·{v} − 1)"
    template = f"{passes}·{{m}}·{{b}}·{{s}}/{{c}}·{{h}}{parts}·2"
    sent = known.plan.costs.volumes.pp_bytes[known.at]
    return known.row(_SECTION, "pp_bytes", sent, "bytes", template)


def _dp(known: Terms) -> Row:
    setting = known.plan.setting
    sent = float(known.plan.costs.volumes.dp_bytes[known.at])
    each = dp_bytes_per_parameter(setting.training, known.layouts)
    known = known.with_symbols(each=float(each[0]))
    template = "{P_dense}/({t}·{p})·({g} − 1)/{g}"
    if setting.model.experts is not None:
        template += " + {P_experts}/({e}·{t_experts}·{p})·({g_experts} − 1)/{g_experts}"
    return known.row(_SECTION, "dp_bytes", sent, "bytes", f"({template})·{{each}}")


def _cp(known: Terms) -> Row:
    model = known.plan.setting.model
    sent = float(known.plan.costs.volumes.cp_bytes[known.at])
    passes = "(2 + {r}/{l})" if known.symbols["r"] else "2"
    if model.latent is None and known.symbols["t"] <= model.kv_heads:
        width = "2·{h_kv}/{t}"
        known = known.with_symbols(h_kv=model.kv_heads * model.head_dim)
    else:
        width = "{w_kv}"
        wide = key_value_width(model, known.layouts)
        known = known.with_symbols(w_kv=float(wide[0]))
    template = f"{{b}}·{{s}}·{width}·({{c}} − 1)/{{c}}·{{l}}·{{m}}·2·{passes}"
    return known.row(_SECTION, "cp_bytes", sent, "bytes", template)


def _ep(known: Terms) -> Row:
    model = known.plan.setting.model
    parts = "·{t}" if known.plan.setting.training.sequence_parallel else ""
    visited = 0 if model.experts is None else model.experts.top_k
    known = known.with_symbols(k=visited, L_experts=model.moe_layers)
    template = (
        f"4·{{B}}·{{s}}/({{d}}·{{c}}{parts})·{{k}}·{{h}}·({{e}} − 1)/{{e}}·2·"
        "{L_experts}/{p}"
    )
    sent = known.plan.costs.volumes.ep_bytes[known.at]
    return known.row(_SECTION, "ep_bytes", sent, "bytes", _again(known, template))


def _barriers(known: Terms) -> Iterator[Row]:
    met, training = known.plan.costs.barriers, known.plan.setting.training
    group = BARRIER_GROUPS[int(met.group[known.at])]
    n, again = int(met.n[known.at]), bool(known.symbols["r"])
    if group == "none":
        yield Row(_SECTION, "barriers", 0.0, words="no rank waits for another")
        return
    known = known.with_symbols(L_experts=known.plan.setting.model.moe_layers)
    template = {
        "tp": "(4·{l} + 2·{r})·{m}" if again else "4·{l}·{m}",
        "ep": "4·{L_experts}/{p}·{m}" + ("·(1 + {r}/(2·{l}))" if again else ""),
        "cp": "(2·{l} + {r})·{m}" if again else "2·{l}·{m}",
        "dp": "2·{l}·{m}" if training.sharding == "parameters" else "1",
    }[group]
    yield known.row(_SECTION, "barriers", met.count[known.at], None, template)
    tax = known.plan.setting.tax
    said = f"{n:,} ranks of {group.upper()} meet"
    if tax is not None and tax.joined == "layer":
        said = f"{n:,} ranks meet, all that a collective of a layer joins"
    yield Row(_SECTION, "barrier_n", float(n), words=said)
