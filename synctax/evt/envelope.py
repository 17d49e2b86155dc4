"""What the JSON of a fit holds beside its rows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from synctax.evt.tau import doubling_us
from synctax.evt.to_tax import covered, fits, records
from synctax.evt.verdict import headline, trusted
from synctax.schema import (
    FIT_EVT,
    FIT_EVT_CHECKS,
    FIT_EVT_HOLDOUT,
    FIT_EVT_SEGMENTS,
    Table,
)

if TYPE_CHECKING:
    from synctax.evt.results import EvtFit


def envelope(fit: "EvtFit", shown: Table = FIT_EVT) -> dict[str, Any]:
    """Give everything that a program may want to know of a fit.

    Parameters
    ----------
    fit : EvtFit
    shown : Table, optional
        What the rows beside it are of; they are not repeated.

    Returns
    -------
    dict
        What JSON can hold; not-a-number stands for what is not known.
    """
    tables = {
        "segments": (FIT_EVT_SEGMENTS, fit.per_segment),
        "holdout": (FIT_EVT_HOLDOUT, fit.holdout),
        "checks": (FIT_EVT_CHECKS, fit.checks),
    }
    model = fit.tax_model()
    coverage = fit.inputs.coverage
    return {
        "verdict": [headline(fit), *fit.verdict()],
        "group": model.group,
        "n_fit": model.n_fit,
        "blocks": model.blocks,
        "maxima": model.maxima,
        "a_us": model.a_us,
        "b_us": model.b_us,
        "r": model.r,
        "payload_bytes": model.payload_bytes,
        "doubling_us": doubling_us(model),
        "predictor": trusted(fit),
        "coverage": None
        if coverage is None
        else {
            **_fields(covered(coverage)),
            "left_out": [_note(note) for note in coverage.left_out],
        },
        "fits": fits(model),
        "refused": dict(fit.fitted.refused),
        "lr": fit.quality.lr,
        "gof": dict(fit.quality.gof),
        "profile": [_profile(row) for row in fit.quality.profile],
        "resampling": {
            "resamples": fit.options.resamples,
            "block_length": fit.resampled.memory.block_length,
            "effective": fit.resampled.memory.effective,
        },
        **{
            name: list(records(frame()))
            for name, (table, frame) in tables.items()
            if table != shown
        },
    }


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


def _note(note: Any) -> dict[str, Any]:
    return {"reason": note.reason, "count": note.count, "detail": note.detail}


def _profile(row: Mapping[str, float | None]) -> dict[str, float | None]:
    """Name bounds apart from those of the rows, which hold b for uncertain too."""
    bounds = {
        name.replace("_lo_us", "_profile_lo_us").replace("_hi_us", "_profile_hi_us"): value
        for name, value in row.items()
        if name != "n"
    }
    return {"n": int(row["n"] or 0), **bounds}
