"""The runs of nccl-tests that measure the groups of a layout before a job does."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from synctax.errors import SynctaxError
from synctax.planning.crossings import Traffic, links
from synctax.planning.domains import place
from synctax.planning.grid import Axis, dense_axes, expert_axes, expert_split, laid
from synctax.planning.groups import Groups
from synctax.planning.layout import Layout, Layouts
from synctax.planning.nccl.groups import Selection, select
from synctax.planning.platform import Platform
from synctax.planning.setting import Setting
from synctax.planning.shape import BF16_BYTES, FP32_BYTES, Model
from synctax.planning.shards import shards
from synctax.planning.times import nics_of_all_to_all, over_nics
from synctax.planning.training import DIMENSIONS, ORDERS, Assumptions, Order, Training
from synctax.planning.volumes import key_value_width, volumes
from synctax.texts import BYTES_PER_GB

BUCKET_PARAMETERS: Final = 40_000_000
"""Parameters whose gradients are reduced at once, at the most: Megatron-Core's least
bucket (`DistributedDataParallelConfig.bucket_size`)."""

AROUND: Final = 4
"""How far below and above the layout's own payload sizes are measured."""

_LEAST_BYTES: Final = 1024

_TRAFFIC: Final[dict[str, Traffic]] = {"sendrecv": "pairs", "alltoall": "all"}

_FP32: Final = "float"
_BF16: Final = "bfloat16"


@dataclass(frozen=True, slots=True)
class Command:
    """One run of nccl-tests.

    Parameters
    ----------
    group : str
        The dimension: one of DIMENSIONS, or `edp` for replicas of experts.
    op : str
        As nccl-tests calls it: `all_reduce`, `sendrecv`, ...
    ranks : int
        Of one group.
    groups : int
        How many run at once, as in the job.
    payload_bytes : int
        Size, as nccl-tests say it, of the layout's own collective.
    busbw_gb_per_s : float
        What the links allow all groups at once, in GB/s (10^9 bytes): NICs of a group in a
        domain are used together, as NCCL's rings do.
    nic : bool
        Whether groups leave their domain.
    line : str
        For a shell, with Open MPI where it takes several processes.
    checks : str
        What it checks, in one sentence.
    """

    group: str
    op: str
    ranks: int
    groups: int
    payload_bytes: int
    busbw_gb_per_s: float
    nic: bool
    line: str
    checks: str


@dataclass(frozen=True, slots=True)
class _Test:
    """An operation that groups of a dimension run, and its payload."""

    group: str
    axes: tuple[str, ...]
    op: str
    payload_bytes: float
    datatype: str
    what: str


def nccl_tests_commands(
    model: Model,
    platform: Platform,
    training: Training,
    layout: Layout,
    assumptions: Assumptions | None = None,
) -> tuple[Command, ...]:
    """List the runs of nccl-tests that measure every group of a layout.

    All groups of a dimension run at once, as they do in the job; sizes lie around what the
    layout itself sends at once. Ranks are in the order of the plan, host after host, so
    the host file has to list the hosts as the job's launcher does. nccl-tests have to be
    built with MPI=1 for more than one host.

    Parameters
    ----------
    model : Model
    platform : Platform
    training : Training
    layout : Layout
    assumptions : Assumptions, optional
        Of which the efficiencies of links are used.

    Returns
    -------
    tuple of Command
        Those of TP, CP, EP, DP and PP, as far as the layout has them.

    Raises
    ------
    SynctaxError
        If experts do not spread evenly over the ranks.

    References
    ----------
    nccl-tests, README and doc/PERFORMANCE.md; placement paper, section "Verifying with
    NCCL tests and topology".

    Examples
    --------
    >>> from synctax.planning.inputs.named import read_model, read_platform
    >>> found = nccl_tests_commands(
    ...     read_model("llama3-405b"),
    ...     read_platform("dgx-h100"),
    ...     Training(batch=2048, sequence=8192),
    ...     Layout(tp=8, pp=16, dp=8),
    ... )
    >>> found[0].line
    'all_reduce_perf -b 67108864 -e 1073741824 -f 2 -d bfloat16 -g 8'
    """
    one = Layouts.of([layout])
    sent = volumes(model, training, one)
    table = np.array([getattr(sent, f"{name}_bytes") for name in DIMENSIONS])
    some = model.experts is not None
    order = ORDERS[int(place(platform, training, one, table, experts=some).order[0])]
    dense = dense_axes(layout, order)
    experts = _expert_axes(training, layout, order) if layout.ep > 1 else ()
    taken = assumptions or Assumptions()
    setting = Setting(model, platform, layout.gpus, training, taken)
    found = []
    for test in _tests(model, training, layout):
        grid = experts if test.group in ("ep", "edp") else dense
        selection = select(grid, test.axes)
        if selection is None:
            # nccl-tests cannot part all groups of CP and DP together; DP alone it can
            what = f"{test.what} (DP without CP)"
            test = replace(test, axes=("dp",), what=what)  # noqa: PLW2901
            selection = select(grid, test.axes)
        if selection is not None and selection.ranks > 1:
            link = _link(setting, test.op, laid(grid, test.axes))
            found.append(_command(test, platform, selection, link))
    return tuple(found)


def _link(setting: Setting, op: str, groups: Groups) -> tuple[float, bool]:
    """Tell the bus bandwidth that links allow all groups at once, in GB/s; if over NICs."""
    traffic = _TRAFFIC.get(op, "ring")
    found = links(setting.platform, groups, traffic)
    if found.inside[0]:
        return setting.nvlink_bytes_per_s / BYTES_PER_GB, False
    nics = {
        "ring": found.together.astype(np.float64),
        "pairs": np.ones(1),
        "all": nics_of_all_to_all(groups.degree, found.together),
    }
    rate = over_nics(setting, nics[traffic], found.crowding)
    return float(rate[0]) / BYTES_PER_GB, True


def _expert_axes(training: Training, layout: Layout, order: Order) -> tuple[Axis, ...]:
    grid = expert_axes(layout, order, split=training.expert_tp)
    if grid is None:
        across = expert_split(layout, split=training.expert_tp)
        raise SynctaxError(
            f"layout {layout}: experts of {across} times {layout.ep} ranks do not spread "
            f"evenly over tp·cp·dp = {layout.gpus // layout.pp} ranks that are a stage of "
            f"dense layers, too, in the order {order}"
        )
    return grid


def _tests(model: Model, training: Training, layout: Layout) -> Iterator[_Test]:
    yield from _inner_tests(model, training, layout)
    one = Layouts.of([layout])
    held = shards(model, training, one)
    names = ("cp", "dp") if training.shard_over == "d*c" and layout.cp > 1 else ("dp",)
    layers = model.layers / layout.pp
    yield from _state_tests("dp", names, training, float(held.dense[0]), layers)
    if layout.ep > 1:
        routed = float(held.experts[0])
        yield from _state_tests("edp", ("edp",), training, routed, layers)
    passed = _token_bytes(model, training, layout)
    if training.scatter_gather:
        passed /= layout.tp
    yield _Test("pp", ("pp",), "sendrecv", passed, _BF16, "activations from stage to stage")


def _inner_tests(model: Model, training: Training, layout: Layout) -> Iterator[_Test]:
    """Yield what a layer itself runs: TP, CP, EP."""
    tokens = _token_bytes(model, training, layout)
    ops = ("reduce_scatter", "all_gather") if training.sequence_parallel else ()
    for op in ("all_reduce", *ops):
        yield _Test("tp", ("tp",), op, tokens, _BF16, "activations of a layer")
    width = float(key_value_width(model, Layouts.of([layout]))[0])
    keys = training.microbatch * training.sequence * width * BF16_BYTES
    for op in ("all_gather", "reduce_scatter"):
        yield _Test("cp", ("cp",), op, keys, _BF16, "keys and values of a layer")
    if model.experts is not None and layout.ep > 1:
        parts = layout.tp if training.sequence_parallel else 1
        copies = tokens * model.experts.top_k / parts
        yield _Test("ep", ("ep",), "alltoall", copies, _BF16, "tokens to their experts")


def _state_tests(
    group: str, names: tuple[str, ...], training: Training, parameters: float, layers: float
) -> Iterator[_Test]:
    """Yield what replicas run: reducing gradients, gathering parameters."""
    if training.sharding == "parameters":
        at_once = parameters / layers
    else:
        at_once = min(parameters, BUCKET_PARAMETERS)
    if training.sharding == "none":
        size = at_once * FP32_BYTES
        yield _Test(group, names, "all_reduce", size, _FP32, "gradients")
        return
    size = at_once * FP32_BYTES
    yield _Test(group, names, "reduce_scatter", size, _FP32, "gradients")
    size = at_once * BF16_BYTES
    yield _Test(group, names, "all_gather", size, _BF16, "parameters")


def _token_bytes(model: Model, training: Training, layout: Layout) -> float:
    """Bytes of a microbatch's activations between layers."""
    tokens = training.microbatch * training.sequence / layout.cp
    return tokens * model.hidden * BF16_BYTES


def _command(
    test: _Test, platform: Platform, selection: Selection, link: tuple[float, bool]
) -> Command:
    payload = max(round(test.payload_bytes / AROUND) * AROUND, _LEAST_BYTES)
    alone = _alone(platform, selection)
    busbw, nic = link
    found = Command(
        group=test.group,
        op=test.op,
        ranks=selection.ranks,
        groups=1 if alone else selection.groups,
        payload_bytes=payload,
        busbw_gb_per_s=busbw,
        nic=nic,
        line=_line(test, platform, selection, payload),
        checks="",
    )
    parts = [_what(test, found, selection)]
    if test.op == "all_reduce" and not found.nic:
        parts.append("more where NVSwitches reduce (NVLS)")
    if alone and selection.groups > 1:
        parts.append("on every host")
    if selection.blocks > 1:
        parts.append(f"on each of the {selection.blocks} blocks of {selection.np} ranks")
    return replace(found, checks=", ".join(parts))


def _what(test: _Test, found: Command, selection: Selection) -> str:
    far = selection.members[1] - selection.members[0]
    apart = "neighbours" if far == 1 else f"{far} apart"
    where = "over NICs" if found.nic else "inside an NVLink domain"
    ranks = f"{found.ranks} ranks, {apart}"
    return (
        f"{test.group.upper()} ({ranks}) moves {test.what} {where}: at most "
        f"{found.busbw_gb_per_s:.4g} GB/s of busbw"
    )


def _alone(platform: Platform, selection: Selection) -> bool:
    """Whether a group is all ranks of a host, or of the job, and needs no MPI."""
    whole = selection.ranks == min(selection.np, platform.gpus_per_host)
    return whole and selection.members[-1] < selection.ranks


def _line(test: _Test, platform: Platform, selection: Selection, payload: int) -> str:
    sizes = f"-b {payload // AROUND} -e {payload * AROUND} -f 2 -d {test.datatype}"
    program = f"{test.op}_perf {sizes}"
    if _alone(platform, selection):
        return f"{program} -g {selection.ranks}"
    n, host = selection.np, platform.gpus_per_host
    split = f' -x NCCL_TESTS_SPLIT="{selection.split}"' if selection.split else ""
    files = " --hostfile hosts" if n > host else ""
    return f"mpirun -np {n}{files} --map-by ppr:{min(n, host)}:node{split} {program} -g 1"
