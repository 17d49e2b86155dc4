"""What the JSON of a fit holds beside its rows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from synctax.evt.tau import doubling_us
from synctax.evt.to_tax import covered, fits
from synctax.evt.verdict import headline, trusted

if TYPE_CHECKING:
    from synctax.evt.results import EvtFit


def envelope(fit: "EvtFit") -> dict[str, Any]:
    """Give everything that a program may want to know of a fit.

    Parameters
    ----------
    fit : EvtFit

    Returns
    -------
    dict
        What JSON can hold; not-a-number stands for what is not known.
    """
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
        "refused": dict(model.reasons),
        "lr": fit.quality.lr,
        "gof": dict(fit.quality.gof),
        "profile": list(fit.quality.profile),
        "resampling": {
            "resamples": fit.options.resamples,
            "block_length": fit.resampled.memory.block_length,
            "effective": fit.resampled.memory.effective,
        },
        "segments": _rows(fit.per_segment()),
        "holdout": _rows(fit.holdout()),
        "checks": _rows(fit.checks()),
    }


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


def _note(note: Any) -> dict[str, Any]:
    return {"reason": note.reason, "count": note.count, "detail": note.detail}


def _rows(frame: Any) -> list[Mapping[str, Any]]:
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in records]
