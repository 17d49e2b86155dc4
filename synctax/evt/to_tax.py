"""From a fit to its tax model."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.evt.tax import (
    METHODS,
    Cov,
    Covered,
    Curve,
    Deviations,
    Gev,
    Gumbel,
    LMoments,
    Method,
    TaxModel,
)
from synctax.evt.tax_check import LARGEST_US

if TYPE_CHECKING:
    from synctax.evt.model import Coverage
    from synctax.evt.results import EvtFit


def tax_model(fit: "EvtFit") -> TaxModel:
    """Make the tax model of a fit: its laws, its intervals, what it is from.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    TaxModel
    """
    from synctax.evt.verdict import trusted

    standard = fit.inputs.standard
    # how far a prediction reaches depends on what is asked of the model later
    doubts = [one for one in fit.checked if one.fired and one.name != "reach"]
    return TaxModel(
        n_fit=fit.m,
        group=fit.inputs.group or None,
        blocks=None if standard is None else int(standard.a_us.size),
        maxima=int(fit.z.size),
        a_us=fit.a_us,
        r=fit.b_us / fit.a_us,
        b_us=fit.b_us,
        payload_bytes=fit.inputs.payload_bytes,
        gumbel=_gumbel(fit),
        gev=_gev(fit),
        lmoments=_lmoments(fit),
        deviations=_deviations(fit),
        gof=dict(fit.quality.gof),
        coverage=covered(fit.inputs.coverage),
        source=fit.inputs.source,
        reasons=_reasons(fit),
        warnings=tuple(one.message for one in doubts),
        concerns=tuple(one.methods for one in doubts),
        trusted=trusted(fit),
        blocks_detail=records(fit.per_block()),
        segments=records(fit.per_segment()),
    )


def covered(coverage: "Coverage | None") -> Covered | None:
    """Say in numbers what part of the tax a fit describes.

    Parameters
    ----------
    coverage : Coverage or None

    Returns
    -------
    Covered or None
    """
    if coverage is None:
        return None
    return Covered(
        share_of_collectives=_number(coverage.share),
        share_of_tax=_number(coverage.tax_share),
        collectives=coverage.collectives,
        entered=coverage.entered,
        tax_us=coverage.tax_us,
        entered_tax_us=coverage.entered_tax_us,
    )


def fits(model: TaxModel) -> dict[str, Any]:
    """Give the laws of a tax model without their curves, for the envelope.

    Parameters
    ----------
    model : TaxModel

    Returns
    -------
    dict
        By method; None where one is missing.
    """
    told: dict[str, Any] = {}
    for method in METHODS:
        part = getattr(model, method)
        told[method] = None
        if part is not None:
            told[method] = {k: v for k, v in asdict(part).items() if k != "curve"}
    return told


def _reasons(fit: "EvtFit") -> dict[str, str]:
    """Say why methods have no prediction, or one without an interval."""
    told = {str(method): why for method, why in fit.fitted.refused.items()}
    unbounded = {str(m): fit.no_interval(m) for m in fit.fitted.methods}
    return told | {method: why for method, why in unbounded.items() if why}


def _gumbel(fit: "EvtFit") -> Gumbel | None:
    law = fit.fitted.gumbel
    if law is None:
        return None
    return Gumbel(
        loc=law.loc,
        scale=law.scale,
        loc_se=law.loc_se,
        scale_se=law.scale_se,
        cov=_cov(law.cov),
        loglik=law.loglik,
        curve=_curve(fit, "gumbel"),
    )


def _gev(fit: "EvtFit") -> Gev | None:
    law = fit.fitted.gev
    if law is None:
        return None
    return Gev(
        loc=law.loc,
        scale=law.scale,
        shape=law.shape,
        loc_se=_number(law.loc_se),
        scale_se=_number(law.scale_se),
        shape_se=_number(law.shape_se),
        cov=None if law.cov is None else _cov(law.cov),
        shape_lo=_number(fit.quality.shape_lo),
        shape_hi=_number(fit.quality.shape_hi),
        loglik=law.loglik,
        lr_p=_number(fit.quality.lr_p),
        curve=_curve(fit, "gev"),
    )


def _lmoments(fit: "EvtFit") -> LMoments | None:
    law = fit.fitted.lmoments
    if law is None:
        return None
    return LMoments(law.loc, law.scale, _curve(fit, "lmoments"))


def _deviations(fit: "EvtFit") -> Deviations | None:
    found = fit.fitted.deviations
    standard = fit.inputs.standard
    if found is None or standard is None:
        return None
    law = found.law
    return Deviations(
        threshold=_number(law.threshold),
        scale=None if law.tail is None else law.tail.scale,
        shape=None if law.tail is None else law.tail.shape,
        unit_us=found.scale_us,
        tail_share=law.share,
        instances=int(standard.instances.sum()),
        curve=_curve(fit, "deviations"),
    )


def _curve(fit: "EvtFit", method: Method) -> Curve:
    resampled = fit.resampled
    lo, hi = fit.interval_us(method)
    return Curve(
        n=tuple(resampled.n.tolist()),
        tau_us=_numbers(resampled.tau_us[method]),
        tau_lo_us=_numbers(lo),
        # an upper end beyond every time is none
        tau_hi_us=_numbers(np.where(hi > LARGEST_US, np.nan, hi)),
        level=fit.options.level,
    )


def _cov(cov: F64) -> Cov:
    return tuple(tuple(row) for row in cov.tolist())


def _numbers(values: F64) -> tuple[float | None, ...]:
    return tuple(_number(value) for value in values.tolist())


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def records(frame: Any) -> tuple[dict[str, Any], ...]:
    """Turn a table into what JSON holds, null as None.

    Parameters
    ----------
    frame : DataFrame
    """
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return tuple({str(name): value for name, value in row.items()} for row in rows)
