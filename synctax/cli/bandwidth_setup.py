"""What `bandwidth` computes with: tax, payload, latency, link, sizes, and where from."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from synctax.arrays import F64
from synctax.bandwidth.calibrate import MIN_LINES, Calibration, calibrate
from synctax.bandwidth.choices import (
    DEFAULT_ALPHA_US,
    DEFAULT_TOPOLOGIES,
    LARGEST_N,
    SMALLEST_N,
    TOPOLOGIES,
    Across,
    Op,
)
from synctax.bandwidth.crossing import Crossing, crossing
from synctax.bandwidth.hardware import Hardware, hardware
from synctax.bandwidth.nccl_tests import Measured, read_nccl_tests
from synctax.bandwidth.sweep import Link
from synctax.bandwidth.topology import Domain, Layout, carries, formula
from synctax.cli.bandwidth_tax import Tax
from synctax.errors import FitError, SynctaxError
from synctax.notes import Note

BUILT_IN_HARDWARE = "h200"
"""Where that was measured."""

DEFAULT_OP: Op = "all_reduce"


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """Outputs of nccl-tests, and which of their lines are fitted.

    Parameters
    ----------
    files : tuple of Path
    in_place : bool
    sizes : (low, high)
        Buffers from and to so many bytes.
    """

    files: tuple[Path, ...] = ()
    in_place: bool = False
    sizes: tuple[float, float] = (0.0, float("inf"))


@dataclass(frozen=True, slots=True)
class Asked:
    """Links as the command line describes them; None is not given."""

    topologies: tuple[str, ...] | None
    op: Op | None
    payload_bytes: int | None
    alpha_us: float | None
    link_gb_per_s: float | None
    hardware: str | None
    torus: tuple[int, ...] | None
    domain: int | None
    nic_gb_per_s: float | None
    nic_alpha_us: float | None
    across: Across
    benchmarks: Benchmarks = Benchmarks()


@dataclass(frozen=True, slots=True)
class Setup:
    """Links that are compared.

    Parameters
    ----------
    op : Op
    links : tuple of Link
    from_where : str
        Where today's rate is from; "" unknown.
    alpha_from : str
        Where the latency is from.
    fits : tuple of Calibration
    notes : tuple of Note
        Lines of nccl-tests, and topologies, that were left out.
    domain : int or None
        Ranks that today's link joins; None where that is not known.
    hardware : Hardware or None
        Given, or that of the built-in tax.
    """

    op: Op
    links: tuple[Link, ...]
    from_where: str
    alpha_from: str
    fits: tuple[Calibration, ...]
    notes: tuple[Note, ...]
    domain: int | None = None
    hardware: Hardware | None = None

    @property
    def levels(self) -> Domain | None:
        """Domains of hierarchical links, where there are some."""
        return next((link.layout.domain for link in self.links if link.layout.domain), None)


def set_up(asked: Asked, tax: Tax) -> Setup:
    """Complete what was asked by the tax, a preset and benchmarks.

    Raises
    ------
    SynctaxError
        If a payload, or what hierarchical links need, is neither given nor known; if a
        topology that was named has no such operation.
    """
    preset = None if asked.hardware is None else hardware(asked.hardware)
    if preset is None and tax.built_in:
        preset = hardware(BUILT_IN_HARDWARE)
    payload = _payload(asked, tax)
    lines, notes = _lines(asked)
    op = asked.op or _op_of(lines)
    layouts, left_out = _layouts(asked, preset, dict.fromkeys((op, *_ops(lines))))
    fits = tuple(_fit(lines, layout, asked.alpha_us) for layout in layouts if lines)
    rate, where = _link(asked, preset, tax)
    if preset is not None and rate is None and not fits:
        why = f"{preset.name}: no rate a GPU is stated; give --link-gb-per-s"
        left_out = (*left_out, Note("link_unknown", 1, why))
    if fits and asked.link_gb_per_s is None:
        where = "fitted to nccl-tests"
    alpha, alpha_from = _alpha(asked, tax)
    links = []
    for i, layout in enumerate(layouts):
        own, latency = rate, alpha
        if fits:
            own = fits[i].gb_per_s if asked.link_gb_per_s is None else rate
            latency = fits[i].alpha_us
        links.append(Link(layout, op, payload, latency, own))
    if fits and asked.alpha_us is None:
        alpha_from = "fitted to nccl-tests"
    return Setup(
        op,
        tuple(links),
        where,
        alpha_from,
        fits,
        (*left_out, *notes),
        _reach(asked, preset, where),
        preset,
    )


def _reach(asked: Asked, preset: Hardware | None, where: str) -> int | None:
    """Tell how many ranks today's link joins without another between."""
    if asked.domain is not None:
        return asked.domain
    named = preset is not None and (
        asked.hardware is not None or where.startswith(preset.title)
    )
    return preset.domain if preset is not None and named else None


def _payload(asked: Asked, tax: Tax) -> int:
    if asked.payload_bytes is not None:
        return asked.payload_bytes
    known = None if tax.model is None else tax.model.payload_bytes
    if known is None:
        lacks = (
            "without a tax nothing tells" if tax.model is None else "the tax model lacks"
        )
        raise SynctaxError(
            f"{lacks} payload_bytes, the size of the collective: give --payload-bytes, "
            "such as 256MiB"
        )
    return known


def _alpha(asked: Asked, tax: Tax) -> tuple[float, str]:
    if asked.alpha_us is not None:
        return asked.alpha_us, "given"
    known = None if tax.model is None else tax.model.alpha_us
    if known is not None:
        return known, "of the tax model"
    return DEFAULT_ALPHA_US, "default"


def _link(asked: Asked, preset: Hardware | None, tax: Tax) -> tuple[float | None, str]:
    if asked.link_gb_per_s is not None:
        return asked.link_gb_per_s, "given"
    if preset is None:
        return None, ""
    if preset.link_gb_per_s is None:
        return None, ""
    by_default = asked.hardware is None and tax.built_in
    return preset.link_gb_per_s, (
        f"{preset.title}, where the tax was measured" if by_default else preset.title
    )


def _levels(asked: Asked, preset: Hardware | None) -> Domain | None:
    domain = asked.domain
    if domain is None and asked.hardware is not None and preset is not None:
        domain = preset.domain
    if domain is None or asked.nic_gb_per_s is None:
        return None
    levels = Domain(domain, asked.nic_gb_per_s, across=asked.across)
    if asked.nic_alpha_us is None:
        return levels
    return replace(levels, nic_alpha_us=asked.nic_alpha_us)


def _layouts(
    asked: Asked, preset: Hardware | None, ops: Iterable[Op]
) -> tuple[tuple[Layout, ...], tuple[Note, ...]]:
    """Lay out the topologies that carry the operation, and those of benchmarks."""
    levels = _levels(asked, preset)
    names = DEFAULT_TOPOLOGIES if asked.topologies is None else asked.topologies
    every = names == ("all",)
    found: list[Layout] = []
    notes: list[Note] = []
    for name in TOPOLOGIES if every else names:
        topology = next(one for one in TOPOLOGIES if one == name)
        named = asked.topologies is not None and not every
        lacks = [op for op in ops if not carries(topology, op)]
        if lacks and named:
            formula(topology, lacks[0])
        if lacks:
            why = f"{topology} has no {lacks[0]}"
            notes.append(Note("topology_without_op", 1, why))
            continue
        if topology != "hierarchical":
            dims = asked.torus if topology == "torus3d" else None
            found.append(Layout(topology, dims or ()))
        elif levels is not None:
            found.append(Layout(topology, domain=levels))
        elif named:
            raise SynctaxError(
                "hierarchical links need the ranks of a domain and the link between them: "
                "give --domain (or --hardware) and --nic-gb-per-s"
            )
        else:
            why = "hierarchical needs --domain and --nic-gb-per-s"
            notes.append(Note("topology_not_described", 1, why))
    return tuple(found), tuple(notes)


def _lines(asked: Asked) -> tuple[tuple[Measured, ...], tuple[Note, ...]]:
    """Read the lines of benchmarks that are fitted."""
    wanted = asked.benchmarks
    if not wanted.files:
        return (), ()
    lines, notes = read_nccl_tests(wanted.files, op=asked.op, in_place=wanted.in_place)
    low, high = wanted.sizes
    chosen = tuple(line for line in lines if low <= line.payload_bytes <= high)
    if len(chosen) < len(lines):
        why = "lines of other sizes than --nccl-bytes"
        notes = (*notes, Note("nccl_size_not_asked", len(lines) - len(chosen), why))
    if len(chosen) < MIN_LINES and notes:
        left_out = "; ".join(
            f"{note.count} × {note.detail}{f' ({note.where})' if note.where else ''}"
            for note in notes
        )
        raise FitError(
            f"a fit of latency and bandwidth needs {MIN_LINES} lines of nccl-tests, got "
            f"{len(chosen)}; left out: {left_out}"
        )
    return chosen, notes


def _ops(lines: Iterable[Measured]) -> tuple[Op, ...]:
    return tuple(dict.fromkeys(line.op for line in lines))


def _op_of(lines: Iterable[Measured]) -> Op:
    """Take the operation of benchmarks, where they have one and none is asked for."""
    ops = _ops(lines)
    return ops[0] if len(ops) == 1 else DEFAULT_OP


def _fit(chosen: Sequence[Measured], layout: Layout, alpha_us: float | None) -> Calibration:
    if layout.domain is not None:
        for line in chosen:
            if line.n > layout.domain.size:
                raise FitError(
                    f"{line.file} ran over {line.n} ranks, more than a domain of "
                    f"{layout.domain.size}: its times are not those of the link inside; "
                    "give a benchmark within a domain, or another --domain"
                )
    return calibrate(chosen, _inside(layout), alpha_us=alpha_us)


def _inside(layout: Layout) -> Layout:
    """Return the wiring that a benchmark within one domain has; cubes of any size."""
    if layout.topology == "hierarchical":
        return Layout("switched")
    return replace(layout, torus=())


def sizes(
    asked: Asked, setup: Setup, given: tuple[int, ...] | None, tax: Tax
) -> tuple[int, ...]:
    """Choose the numbers of ranks: given, of the torus, of the domain, or 8 to 4,096.

    With hierarchical links they are whole domains, from one on.
    """
    if given is not None:
        return given
    if asked.torus is not None:
        return (int(np.prod(asked.torus)),)
    levels = setup.levels
    if asked.hardware is not None and levels is None:
        return (hardware(asked.hardware).domain,)
    first = SMALLEST_N if levels is None else levels.size
    while first < tax.least_n:
        first *= 2
    found: list[int] = []
    while first <= LARGEST_N or not found:
        found.append(first)
        first *= 2
    return tuple(found)


def crossings(setup: Setup, tax: Tax) -> dict[str, Crossing]:
    """Find from how many ranks on the tax outweighs the transfer, where a link is known."""
    if tax.model is None:
        return {}
    predict: Callable[[F64], F64] = tax.tau_us
    return {
        link.layout.topology: crossing(
            link, predict, least_n=tax.least_n, largest_n=tax.largest_n
        )
        for link in setup.links
        if link.gb_per_s is not None and not link.layout.torus
    }
