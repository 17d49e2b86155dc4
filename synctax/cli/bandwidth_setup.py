"""What `bandwidth` computes with: tax, payload, latency, link, sizes, and where from."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import F64
from synctax.bandwidth.calibrate import Calibration, calibrate
from synctax.bandwidth.crossing import LARGEST_N, crossing
from synctax.bandwidth.hardware import Hardware, hardware
from synctax.bandwidth.nccl_tests import read_nccl_tests
from synctax.bandwidth.sweep import Link, Wait
from synctax.bandwidth.topology import (
    LEAST_RANKS,
    TOPOLOGIES,
    Across,
    Domain,
    Layout,
    Op,
    Topology,
    carries,
    formula,
)
from synctax.errors import SynctaxError
from synctax.notes import Note

if TYPE_CHECKING:
    from synctax.evt.tax import Method, TaxModel

BUILT_IN = "llama3-70b-h200"
"""The tax where no other was fitted or given."""

BUILT_IN_HARDWARE = "h200"
"""Where that was measured."""

DEFAULT_ALPHA_US = 5.0
"""The paper's latency of a message, from nccl-tests on a DGX H200."""

DEFAULT_TOPOLOGIES: tuple[Topology, ...] = ("ring", "torus3d", "switched")
"""The paper's."""

SMALLEST_N, LARGEST_ASKED_N = 8, 4096
"""Ends of the sizes that are shown where none are asked for."""

LITTLE = 0.5
"""A fit that describes a smaller share of the tax than this is not said in silence."""

NO_TAX = "none"


@dataclass(frozen=True, slots=True)
class Tax:
    """The tax model, or none, and how it is called in words.

    Parameters
    ----------
    model : TaxModel or None
    method : Method
    words : str
        What the user reads of it.
    notes : tuple of str
        Lines for stderr.
    built_in : bool
        Whether it is the paper's, measured on H200.
    """

    model: "TaxModel | None"
    method: "Method"
    words: str
    notes: tuple[str, ...] = ()
    built_in: bool = False

    def wait(self, n: tuple[int, ...]) -> Wait:
        """Predict the wait at these sizes."""
        sizes = np.array(n, np.float64)
        if self.model is None:
            return Wait.none(sizes)
        found = self.model.tau_us(sizes, self.method)
        return Wait(sizes, found.tau_us, found.lo_us, found.hi_us, self.model.n_fit)

    def tau_us(self, n: F64) -> F64:
        """Predict the wait at any sizes."""
        return (
            np.zeros_like(n)
            if self.model is None
            else self.model.tau_us(n, self.method).tau_us
        )

    @property
    def least_n(self) -> int:
        """Fewest ranks that it says something of."""
        return LEAST_RANKS if self.model is None else self.model.n_fit

    @property
    def largest_n(self) -> int:
        """Most ranks that it says something of, and no more than are looked through."""
        part = None if self.model is None else getattr(self.model, self.method)
        # a formula has no end; a predictor that is a curve only has that of the curve
        if self.method != "deviations" or part is None or part.curve is None:
            return LARGEST_N
        return int(min(LARGEST_N, part.curve.n[-1]))


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """Outputs of nccl-tests, and which of their lines are fitted.

    Parameters
    ----------
    files : tuple of Path
    in_place : bool
    sizes : (low, high)
        Buffers from and to so many bytes.
    op : Op or None
        Operation of outputs that do not tell theirs.
    """

    files: tuple[Path, ...] = ()
    in_place: bool = False
    sizes: tuple[float, float] = (0.0, float("inf"))
    op: Op | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Links as the command line describes them; None is not given."""

    topologies: tuple[str, ...] | None
    op: Op
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
    links : tuple of Link
    from_where : str
        Where today's rate is from; "" unknown.
    alpha_from : str
        Where the latency is from.
    fits : tuple of Calibration
    notes : tuple of Note
        Lines of nccl-tests, and topologies, that were left out.
    """

    links: tuple[Link, ...]
    from_where: str
    alpha_from: str
    fits: tuple[Calibration, ...]
    notes: tuple[Note, ...]


def find_tax(source: str | None, workspace: Path | None, method: "Method") -> Tax:
    """Find the tax: as given, else the fitted one, else the built-in one.

    Parameters
    ----------
    source : str or None
        A file, a built-in name, or "none".
    workspace : Path or None
        Where a fitted tax may lie; None for nowhere.
    method : Method

    Raises
    ------
    SynctaxError
        If the file is missing, or no tax model.
    """
    from synctax.cli.recall import tax_told
    from synctax.evt.tax_file import BUILTINS, builtin, read_tax
    from synctax.workspace import Workspace

    if source == NO_TAX:
        return Tax(None, method, "none (Hockney's model)")
    if source is not None:
        model, name = read_tax(source), source
        return _described(model, method, name, built_in=name in BUILTINS)
    space = None if workspace is None else Workspace(workspace)
    kept = None if space is None else space.tax()
    if space is None or kept is None:
        where = "the workspace is not used" if workspace is None else f"none in {workspace}"
        note = f"no fitted tax ({where}): using the built-in {BUILT_IN}"
        found = _described(builtin(BUILT_IN), method, BUILT_IN, built_in=True)
        return replace(found, notes=(note, *found.notes))
    group = f" of {kept.group}" if kept.group else ""
    found = _described(kept, method, f"fitted{group}", built_in=False)
    return replace(found, notes=(*tax_told(kept, space), *found.notes))


def _described(model: "TaxModel", method: "Method", name: str, *, built_in: bool) -> Tax:
    words = f"{name}, {method}, fitted on {model.n_fit} ranks"
    at_fit = model.tau_us(float(model.n_fit), method)
    kind, level = at_fit.interval, f"{100 * at_fit.level:g} %"
    words += ", no interval" if kind == "none" else f", {level} interval ({kind})"
    notes = []
    share = None if model.coverage is None else model.coverage.share_of_tax
    if share is not None and share < LITTLE:
        notes.append(
            f"the tax model describes {100 * share:.1f} % of the tax that was measured"
        )
    if model.warnings:
        count = len(model.warnings)
        doubts = "a doubt" if count == 1 else f"{count} doubts"
        notes.append(
            f"the fit of this tax came with {doubts}, such as: {model.warnings[0]}"
        )
    return Tax(model, method, words, tuple(notes), built_in)


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
    layouts, left_out = _layouts(asked, preset)
    fits, notes = _fits(asked, layouts)
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
        links.append(Link(layout, asked.op, payload, latency, own))
    if fits and asked.alpha_us is None:
        alpha_from = "fitted to nccl-tests"
    return Setup(tuple(links), where, alpha_from, fits, (*left_out, *notes))


def _payload(asked: Asked, tax: Tax) -> int:
    if asked.payload_bytes is not None:
        return asked.payload_bytes
    known = None if tax.model is None else tax.model.payload_bytes
    if known is None:
        raise SynctaxError(
            "the tax model does not tell payload_bytes, the size of the collective: give "
            "--payload-bytes, such as 256MiB"
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


def _layouts(
    asked: Asked, preset: Hardware | None
) -> tuple[tuple[Layout, ...], tuple[Note, ...]]:
    """Lay out the topologies that carry the operation."""
    domain = asked.domain
    if domain is None and asked.hardware is not None and preset is not None:
        domain = preset.domain
    levels = None
    if domain is not None and asked.nic_gb_per_s is not None:
        levels = Domain(domain, asked.nic_gb_per_s, across=asked.across)
        if asked.nic_alpha_us is not None:
            levels = replace(levels, nic_alpha_us=asked.nic_alpha_us)
    names = DEFAULT_TOPOLOGIES if asked.topologies is None else asked.topologies
    every = names == ("all",)
    found: list[Layout] = []
    notes: list[Note] = []
    for name in TOPOLOGIES if every else names:
        topology = next(one for one in TOPOLOGIES if one == name)
        named = asked.topologies is not None and not every
        if not named and not carries(topology, asked.op):
            why = f"{topology} has no {asked.op}"
            notes.append(Note("topology_without_op", 1, why))
            continue
        formula(topology, asked.op)
        if topology != "hierarchical":
            found.append(Layout(topology, asked.torus or ()))
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


def _fits(
    asked: Asked, layouts: tuple[Layout, ...]
) -> tuple[tuple[Calibration, ...], tuple[Note, ...]]:
    wanted = asked.benchmarks
    if not wanted.files:
        return (), ()
    lines, notes = read_nccl_tests(wanted.files, op=wanted.op, in_place=wanted.in_place)
    low, high = wanted.sizes
    chosen = [line for line in lines if low <= line.payload_bytes <= high]
    if len(chosen) < len(lines):
        why = "lines of other sizes than --nccl-bytes"
        notes = (*notes, Note("nccl_size_not_asked", len(lines) - len(chosen), why))
    return tuple(
        calibrate(chosen, _inside(layout), alpha_us=asked.alpha_us) for layout in layouts
    ), notes


def _inside(layout: Layout) -> Layout:
    """Return the wiring that a benchmark within one domain has; cubes of any size."""
    if layout.topology == "hierarchical":
        return Layout("switched")
    return replace(layout, torus=())


def sizes(asked: Asked, given: tuple[int, ...] | None, tax: Tax) -> tuple[int, ...]:
    """Choose the numbers of ranks: given, of the torus, of the domain, or 8 to 4,096."""
    if given is not None:
        return given
    if asked.torus is not None:
        return (int(np.prod(asked.torus)),)
    if asked.hardware is not None:
        return (hardware(asked.hardware).domain,)
    first = asked.domain or SMALLEST_N
    while first < tax.least_n:
        first *= 2
    found: list[int] = []
    while first <= LARGEST_ASKED_N or not found:
        found.append(first)
        first *= 2
    return tuple(found)


def crossings(setup: Setup, tax: Tax) -> dict[str, int | None]:
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
