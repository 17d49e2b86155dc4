"""Rules of whole numbers: what has to divide what, for a layout to run at all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from synctax.arrays import I64, Bool
from synctax.notes import Note
from synctax.planning.expert_rules import expert_rules
from synctax.planning.layout import Layouts
from synctax.planning.rule import Rule, Words, divisors, keyed, nearest
from synctax.planning.setting import Setting
from synctax.planning.shape import Model
from synctax.planning.training import Training

CHUNKS_WITHOUT_LAYERS: Final = 2
"""The first chunk may hold the embedding alone and the last one the output layer: so Llama
3 ran it (arXiv 2407.21783, section 3.3.2), and Megatron-LM where both count as layers."""


def divisibility(setting: Setting, layouts: Layouts) -> Iterator[Rule]:
    """Check layouts against the shape of a model, its batch and its sequence.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.

    Yields
    ------
    Rule

    References
    ----------
    Megatron-Core: attention.py and moe (exact `divide`), arguments.py, parallel_state.py,
    schedules.py (interleaving).
    """
    yield _gpus(setting, layouts)
    yield from split_evenly(room_of(setting), layouts)


@dataclass(frozen=True, slots=True)
class Room:
    """What layouts have to divide, and remedies may name.

    Parameters
    ----------
    model : Model
    training : Training
    gpus : int
        Of the job.
    domain : int or None
        GPUs that TP must not leave; None where it may.
    gpus_per_host : int
    """

    model: Model
    training: Training
    gpus: int
    domain: int | None = None
    gpus_per_host: int = 1


def room_of(setting: Setting) -> Room:
    """Tell what layouts of a setting have to divide."""
    platform = setting.platform
    domain = None if setting.assumptions.tp_across_domains else platform.domain
    return Room(
        setting.model, setting.training, setting.gpus, domain, platform.gpus_per_host
    )


def split_evenly(room: Room, layouts: Layouts) -> Iterator[Rule]:
    """Check layouts as `divisibility`, of whatever number of GPUs.

    Parameters
    ----------
    room : Room
    layouts : Layouts
        k of them.

    Yields
    ------
    Rule
    """
    model, training = room.model, room.training
    yield _heads(room, layouts)
    yield _kv_heads(room, layouts)
    yield from _widths(room, layouts)
    yield _layers(room, layouts)
    yield _batch(training, layouts)
    yield _interleaving(training, layouts)
    yield _context(room, layouts)
    yield _sequence(room, layouts)
    yield from expert_rules(model, training, layouts)


def fitting_tp(model: Model, training: Training, tp: I64) -> Bool:
    """Tell which degrees of tensor parallelism split a model evenly.

    Parameters
    ----------
    model : Model
    training : Training
    tp : (n,) int64

    Returns
    -------
    (n,) bool
        Copies of KV heads count as even.
    """
    even = model.heads % tp == 0
    if model.latent is None:
        even &= (model.kv_heads % tp == 0) | (tp % model.kv_heads == 0)
    for _, width, split in split_widths(model, training):
        if split:
            even &= width % tp == 0
    return np.asarray(even)


def split_widths(model: Model, training: Training) -> list[tuple[str, int, bool]]:
    """List the widths of MLPs, and whether TP splits them.

    Parameters
    ----------
    model : Model
    training : Training

    Returns
    -------
    list of (str, int, bool)
        What it is called, how wide it is, and whether TP splits it.
    """
    experts = model.experts
    found = []
    if experts is None or experts.dense_layers:
        found.append(("MLP", model.ffn, True))
    if experts is not None:
        found.append(("expert", experts.ffn, training.expert_tp))
        if experts.shared:
            found.append(("shared experts", experts.shared * experts.ffn, True))
    return found


def tp_remedy(room: Room, layouts: Layouts) -> Words:
    """Name the nearest degrees of TP that a model, the GPUs and a domain allow.

    Parameters
    ----------
    room : Room
    layouts : Layouts
        k of them; their PP and CP stay.

    Returns
    -------
    Words
    """

    def remedy(t: int, others: int) -> str:
        return f"tp {nearest(_degrees_of_tp(room, others), t)}{_on_whole_hosts(room)}"

    return keyed(remedy, layouts.tp, layouts.pp * layouts.cp)


def _degrees_of_tp(room: Room, others: int) -> I64:
    degrees = _left(room, others)
    possible = fitting_tp(room.model, room.training, degrees)
    if room.domain is not None:
        possible &= room.domain % degrees == 0
    return degrees[possible]


def _left(room: Room, others: int) -> I64:
    """List the degrees that divide the GPUs, beside those that stay where they divide."""
    whole, over = divmod(room.gpus, others)
    return divisors(room.gpus if over else whole)


def hosts_in_part(room: Room) -> int:
    """Count the GPUs beyond those of whole hosts, where a job has more than one."""
    return room.gpus % room.gpus_per_host if room.gpus > room.gpus_per_host else 0


def host_notes(setting: Setting) -> Iterator[Note]:
    """Note GPUs that whole hosts do not make up: such a number divides into little."""
    over = hosts_in_part(room_of(setting))
    if over:
        whole = setting.gpus - over
        host = setting.platform.gpus_per_host
        yield Note(
            "gpus_beyond_whole_hosts",
            over,
            f"GPUs beyond whole hosts of {host}: {whole:,} of the {setting.gpus:,} are "
            f"{whole // host:,} hosts, and divide into more layouts",
        )


def _on_whole_hosts(room: Room) -> str:
    over = hosts_in_part(room)
    return f", or {room.gpus - over:,} of the {room.gpus:,} GPUs" if over else ""


def _gpus(setting: Setting, layouts: Layouts) -> Rule:
    near = layouts.tp * layouts.pp * layouts.cp
    ranks = near * layouts.dp

    def remedy(near: int, ranks: int) -> str:
        if setting.gpus % near == 0:
            return f"dp {setting.gpus // near:,}"
        return f"{ranks:,} GPUs"

    return Rule(
        "gpus",
        ranks != setting.gpus,
        keyed(lambda n: f"tp·pp·dp·cp = {n:,}, not {setting.gpus:,} GPUs", ranks),
        keyed(remedy, near, ranks),
        f"tp·pp·dp·cp = {setting.gpus:,} GPUs",
    )


def _heads(room: Room, layouts: Layouts) -> Rule:
    heads = room.model.heads
    return Rule(
        "heads",
        heads % layouts.tp != 0,
        keyed(lambda t: f"{heads} heads mod tp {t} = {heads % t}", layouts.tp),
        tp_remedy(room, layouts),
        f"tp divides {heads} heads",
    )


def _kv_heads(room: Room, layouts: Layouts) -> Rule:
    kv = room.model.kv_heads

    def reason(t: int) -> str:
        return (
            f"{kv} KV heads mod tp {t} = {kv % t}, and tp mod {kv} = {t % kv}: neither "
            "split nor copied evenly"
        )

    even = (kv % layouts.tp == 0) | (layouts.tp % kv == 0) | (room.model.latent is not None)
    return Rule(
        "kv_heads",
        ~even,
        keyed(reason, layouts.tp),
        tp_remedy(room, layouts),
        f"tp divides {kv} KV heads, or is a multiple of them",
    )


def _widths(room: Room, layouts: Layouts) -> Iterator[Rule]:
    for name, width, split in split_widths(room.model, room.training):
        if split:
            yield _width(room, layouts, name, width)


def _width(room: Room, layouts: Layouts, name: str, width: int) -> Rule:
    return Rule(
        f"{name.replace(' ', '_').lower()}_width",
        width % layouts.tp != 0,
        keyed(lambda t: f"{name} width {width:,} mod tp {t} = {width % t}", layouts.tp),
        tp_remedy(room, layouts),
        f"tp divides the {name} width {width:,}",
    )


def _layers(room: Room, layouts: Layouts) -> Rule:
    model = room.model
    most = model.layers + CHUNKS_WITHOUT_LAYERS

    def reason(p: int, v: int) -> str:
        return (
            f"{model.layers} layers for pp·v = {p * v:,} chunks: less than one each, with "
            "the first and the last left to embedding and output"
        )

    def remedy(v: int, others: int) -> str:
        if v > most:
            return f"v up to {most}"
        degrees = _left(room, others)
        largest = degrees[degrees <= most // v][-1]
        if largest == 1 and v > 1:  # which has nothing to interleave
            return "no chunks (v 1)"
        return f"pp up to {largest:,}" + (f" with v {v}" if v > 1 else "")

    return Rule(
        "layers",
        layouts.pp * layouts.virtual_stages > most,
        keyed(reason, layouts.pp, layouts.virtual_stages),
        keyed(remedy, layouts.virtual_stages, layouts.tp * layouts.cp),
        f"pp·v ≤ {most}: {model.layers} layers, embedding and output",
    )


def _batch(training: Training, layouts: Layouts) -> Rule:
    batch, b = training.batch, training.microbatch

    def reason(d: int) -> str:
        return f"batch {batch:,} mod b·d = {b}·{d:,} is {batch % (b * d):,}"

    def remedy(d: int) -> str:
        below = batch // (b * d) * b * d
        above = below + b * d
        return f"batch {below:,} or {above:,}" if below else f"batch {above:,}"

    return Rule(
        "batch",
        batch % (b * layouts.dp) != 0,
        keyed(reason, layouts.dp),
        keyed(remedy, layouts.dp),
        f"b·d divides a batch of {batch:,}",
    )


def _interleaving(training: Training, layouts: Layouts) -> Rule:
    p, v = layouts.pp, layouts.virtual_stages
    together = training.microbatch * layouts.dp
    m = training.batch // together
    whole = training.batch % together == 0

    def reason(p: int, v: int, m: int) -> str:
        if p == 1:
            return f"v {v} with pp 1: there are no stages to interleave"
        return f"{m:,} microbatches mod pp {p} = {m % p}, and v is {v}"

    def remedy(p: int, together: int) -> str:
        if p == 1:
            return "v 1"
        below = training.batch // (together * p) * together * p
        return f"v 1, or batch {below or together * p:,}"

    return Rule(
        "interleaving",
        (v > 1) & ((p == 1) | (whole & (m % p != 0))),
        keyed(reason, p, v, m),
        keyed(remedy, p, together),
        "pp divides the microbatches where v > 1",
    )


def _context(room: Room, layouts: Layouts) -> Rule:
    tokens = room.training.sequence

    def reason(c: int) -> str:
        return f"sequence {tokens:,} mod 2·cp = 2·{c} is {tokens % (2 * c)}"

    def remedy(c: int, others: int) -> str:
        below = tokens // (2 * c) * 2 * c
        # nothing halves an odd number of tokens
        even = divisors(1 if tokens % 2 else tokens // 2)
        near = nearest(np.intersect1d(even, _left(room, others)), c)
        return f"cp {near}, or a sequence of {below or 2 * c:,}"

    return Rule(
        "context",
        (layouts.cp > 1) & (tokens % (2 * layouts.cp) != 0),
        keyed(reason, layouts.cp),
        keyed(remedy, layouts.cp, layouts.tp * layouts.pp),
        f"2·cp divides a sequence of {tokens:,}",
    )


def _sequence(room: Room, layouts: Layouts) -> Rule:
    training = room.training
    t, c = layouts.tp, layouts.cp
    tokens = training.sequence // c
    split = training.sequence_parallel & (t > 1) & (training.sequence % c == 0)

    def reason(t: int, tokens: int) -> str:
        return f"{tokens:,} tokens of a rank mod tp {t} = {tokens % t} (with SP)"

    def remedy(t: int, tokens: int, others: int) -> str:
        degrees = np.intersect1d(divisors(tokens), _degrees_of_tp(room, others))
        return f"tp {nearest(degrees, t)}, or no sequence parallelism"

    return Rule(
        "sequence_parallel",
        split & (tokens % t != 0),
        keyed(reason, t, tokens),
        keyed(remedy, t, tokens, layouts.pp * c),
        "tp divides the tokens of a rank of CP, with sequence parallelism",
    )
