"""Results of `bandwidth`: rows and envelope of each of its tables."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.bandwidth.basis import PER_DIRECTION, Setting, basis
from synctax.bandwidth.choices import DEFAULT_ELASTICITIES
from synctax.bandwidth.crossing import Crossing
from synctax.bandwidth.flops import Reading
from synctax.bandwidth.hardware import hardware
from synctax.bandwidth.sweep import Wait, sweep, sweep_flops
from synctax.bandwidth.tables import algorithm_table, residual_table
from synctax.bandwidth.topology import Domain
from synctax.bandwidth.verdict import flops_verdict, verdict
from synctax.cli.bandwidth_setup import BUILT_IN_HARDWARE, Asked, Setup, crossings
from synctax.cli.bandwidth_tax import Tax
from synctax.errors import SynctaxError
from synctax.evt.checks import MAX_REACH
from synctax.report.output import Result
from synctax.report.tables import records
from synctax.schema import (
    BANDWIDTH,
    BANDWIDTH_ALGORITHMS,
    BANDWIDTH_FLOPS,
    BANDWIDTH_RESIDUALS,
    Table,
)
from synctax.texts import number, rate_gb_per_s

if TYPE_CHECKING:
    import pandas as pd

    from synctax.bandwidth.calibrate import Calibration


def algorithms() -> Result:
    """List how p and q of every algorithm are written."""
    return Result(BANDWIDTH_ALGORITHMS, algorithm_table())


def residuals(setup: Setup, asked: Asked) -> Result:
    """List what every fit leaves of every line."""
    extra = {"calibrations": [_fit(fit) for fit in setup.fits]}
    frame = residual_table(setup.fits)
    return Result(BANDWIDTH_RESIDUALS, frame, _benchmarks(asked), setup.notes, extra)


def best(
    setup: Setup,
    tax: Tax,
    asked: Asked,
    wait: Wait,
    *,
    elasticities: tuple[float, ...] | None,
    price: float | None,
) -> tuple[Result, Setting]:
    """Solve for the best bandwidths."""
    chosen = elasticities or DEFAULT_ELASTICITIES
    frame = sweep(setup.links, chosen, wait, price_per_gb_per_s=price)
    setting = _setting(setup, tax, asked, crossings(setup, tax))
    own = {"elasticity": chosen, "price_per_gb_per_s": price}
    extra = {
        "crossings": [
            {"topology": topology, "n": found.n, "lasts": found.lasts}
            for topology, found in setting.crossings.items()
        ],
        "verdict": verdict(records(frame), setting),
        "basis": list(basis(records(frame), setting)),
    }
    parameters = {**_parameters(setup, tax, asked, wait), **own}
    return _result(BANDWIDTH, frame, parameters, setup, tax, extra), setting


def flops(
    setup: Setup,
    tax: Tax,
    asked: Asked,
    wait: Wait,
    *,
    growths: tuple[float, ...],
    compute_us: float | None,
    reading: Reading,
) -> tuple[Result, Setting]:
    """Solve for the bandwidths that grown FLOPS ask for.

    Raises
    ------
    SynctaxError
        If the computation, or today's link, is neither given nor known.
    """
    known = compute_us or (None if tax.model is None else tax.model.a_us)
    if known is None:
        lacks = (
            "without a tax nothing tells" if tax.model is None else "the tax model lacks"
        )
        raise SynctaxError(
            f"{lacks} a_us, the computation before a collective, which --flops-growth "
            "needs: give --compute-us"
        )
    if any(link.gb_per_s is None for link in setup.links):
        raise SynctaxError(
            "--flops-growth starts from today's link, which is not known: give "
            "--link-gb-per-s or --hardware"
        )
    frame = sweep_flops(setup.links, growths, wait, compute_us=known, asked=reading)
    setting = _setting(setup, tax, asked, {})
    own = {"flops_growth": growths, "compute_us": known, **asdict(reading)}
    extra = {
        "verdict": flops_verdict(records(frame)),
        "basis": list(basis(records(frame), setting)),
    }
    parameters = {**_parameters(setup, tax, asked, wait), **own}
    return _result(BANDWIDTH_FLOPS, frame, parameters, setup, tax, extra), setting


def _result(
    table: Table,
    frame: "pd.DataFrame",
    parameters: dict[str, Any],
    setup: Setup,
    tax: Tax,
    extra: dict[str, Any],
) -> Result:
    told = {
        "tax": tax.told(),
        "units": PER_DIRECTION,
        "calibrations": [_fit(fit) for fit in setup.fits],
    }
    return Result(table, frame, parameters, setup.notes, {**told, **extra})


def _setting(setup: Setup, tax: Tax, asked: Asked, found: dict[str, Crossing]) -> Setting:
    rates = dict.fromkeys(link.gb_per_s for link in setup.links)
    told = " or ".join(rate_gb_per_s(rate) for rate in rates if rate is not None)
    link = f"{told} ({setup.from_where})" if told else ""
    return Setting(
        tax.words,
        link,
        found,
        tax.largest_n,
        setup.fits,
        asked.torus or (),
        n_fit=None if tax.model is None else tax.model.n_fit,
        far=MAX_REACH,
        elsewhere=_elsewhere(setup, tax),
        levels=_levels(setup.levels),
        domain=setup.domain,
    )


def _elsewhere(setup: Setup, tax: Tax) -> str:
    """Say where the built-in tax was measured, if other hardware is asked about."""
    measured = hardware(BUILT_IN_HARDWARE)
    asked = setup.hardware
    if not tax.built_in or asked is None or asked == measured:
        return ""
    return (
        f"that tax was measured on {measured.title}, not on {asked.title}: shorter blocks "
        "of computation wait less; fit-evt fits the tax of a machine"
    )


def _levels(domain: Domain | None) -> str:
    if domain is None:
        return ""
    return (
        f"{domain.size} ranks a domain, {rate_gb_per_s(domain.nic_gb_per_s)} a GPU "
        f"and {number(domain.nic_alpha_us)} µs a message between domains "
        f"({domain.across}); B* is that of the links inside"
    )


def _parameters(setup: Setup, tax: Tax, asked: Asked, wait: Wait) -> dict[str, Any]:
    levels = setup.levels
    return {
        "topology": [link.layout.topology for link in setup.links],
        "op": setup.op,
        "n": wait.n.astype(np.int64).tolist(),
        "payload_bytes": setup.links[0].payload_bytes,
        "alpha_us": [link.alpha_us for link in setup.links],
        "alpha_from": setup.alpha_from,
        "tax": tax.name,
        "tax_method": None if tax.model is None else tax.method,
        "hardware": None if setup.hardware is None else setup.hardware.name,
        "link_gb_per_s": [link.gb_per_s for link in setup.links],
        "link_from": setup.from_where or None,
        "torus": asked.torus,
        "domain": None if levels is None else levels.size,
        "nic_gb_per_s": None if levels is None else levels.nic_gb_per_s,
        "nic_alpha_us": None if levels is None else levels.nic_alpha_us,
        "across": None if levels is None else levels.across,
        **_benchmarks(asked),
    }


def _benchmarks(asked: Asked) -> dict[str, Any]:
    wanted = asked.benchmarks
    return {
        "nccl_tests": wanted.files,
        "in_place": wanted.in_place,
        "nccl_bytes": [None if np.isinf(size) else size for size in wanted.sizes],
    }


def _fit(fit: "Calibration") -> dict[str, Any]:
    return {
        "topology": fit.layout.topology,
        "lines": len(fit.measured),
        "alpha_us": fit.alpha_us,
        "alpha_us_se": fit.alpha_us_se,
        "gb_per_s": fit.gb_per_s,
        "gb_per_s_se": fit.gb_per_s_se,
        "r2": fit.r2,
        "residual_max": float(np.abs(fit.residual).max()),
    }
