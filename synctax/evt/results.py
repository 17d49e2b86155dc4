"""What `fit_evt` returns: the fit, what checks say of it, and its tables."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.evt.bootstrap import Bootstrap
from synctax.evt.doubts import Check
from synctax.evt.holdout import HoldOut
from synctax.evt.inputs import Inputs
from synctax.evt.measured import mean_known, measured_us
from synctax.evt.options import Options
from synctax.evt.predict import Predictors
from synctax.evt.segments import Segment
from synctax.evt.tax import Method
from synctax.notes import Note
from synctax.schema import (
    FIT_EVT,
    FIT_EVT_BLOCKS,
    FIT_EVT_CHECKS,
    FIT_EVT_HOLDOUT,
    FIT_EVT_INSTANCES,
    FIT_EVT_POINTS,
    FIT_EVT_SEGMENTS,
)
from synctax.schema.html import Shown

if TYPE_CHECKING:
    import pandas as pd

    from synctax.evt.tax import TaxModel


BIASED = ("skew", "light_tail")
"""Checks that tell of a bias of the deviations that no resample shows."""


SAME_SPREAD = 0.1
"""Waits of some sets stand beside a prediction for all where spreads b are so near."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How well the laws of maxima fit.

    Parameters
    ----------
    lr, lr_p : float
        Likelihood-ratio statistic of ξ = 0, and its p; NaN without a GEV.
    shape_lo, shape_hi : float
        Profile-likelihood interval of ξ; NaN where there is none.
    gof : mapping
        For each law the relative error of the mean, D and A², with the ends between
        which their p lie; empty where times are too coarse for tests.
    profile : tuple of mapping
        Profile-likelihood intervals of τ, one a number of ranks.
    notes : tuple of Note
        Tests that could not be made.
    """

    lr: float
    lr_p: float
    shape_lo: float
    shape_hi: float
    gof: dict[str, float | None]
    profile: tuple[dict[str, float | None], ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class EvtFit(Shown):
    """How the wait grows with the ranks, and how far that can be trusted.

    Parameters
    ----------
    options : Options
    inputs : Inputs
        What was fitted.
    z : (i,) float64
        Standardised block maxima.
    a_us, b_us : float
        Mean and spread of the blocks.
    fitted : Predictors
        The laws.
    quality : Quality
    resampled : Bootstrap
        Predictions over many n, with those of resamples.
    n : (k,) float64
        Ranks of the rows.
    segments : tuple of Segment
        Prediction beside measurement; empty of maxima.
    held_out : tuple of HoldOut
    checked : tuple of Check
        What the checks of the fit found.
    notes : tuple of Note
        What was left out or inferred, from reading on.
    """

    options: Options
    inputs: Inputs
    z: F64
    a_us: float
    b_us: float
    fitted: Predictors
    quality: Quality
    resampled: Bootstrap
    n: F64
    segments: tuple[Segment, ...] = ()
    held_out: tuple[HoldOut, ...] = ()
    checked: tuple[Check, ...] = ()
    notes: tuple[Note, ...] = field(default=())

    @property
    def m(self) -> int:
        """Ranks of the groups whose maxima were fitted."""
        return self.inputs.m

    def __repr__(self) -> str:
        return f"<EvtFit: {self.z.size:,} maxima of {self.m} ranks>"

    def to_frame(self) -> "pd.DataFrame":
        """Predict: one row per number of ranks.

        Returns
        -------
        DataFrame
            `schema.FIT_EVT`.
        """
        gumbel, gev = self.predicted("gumbel"), self.predicted("gev")
        deviations = self.predicted("deviations")
        columns = {
            "n": self.n.astype(np.int64),
            "tau_us": gumbel[0],
            "tau_lo_us": gumbel[1],
            "tau_hi_us": gumbel[2],
            "tau_gev_us": gev[0],
            "tau_gev_lo_us": gev[1],
            "tau_gev_hi_us": gev[2],
            "measured_us": self._measured_us(),
            "tau_lmoments_us": self.predicted("lmoments")[0],
            "tau_deviations_us": deviations[0],
            "tau_deviations_lo_us": deviations[1],
            "tau_deviations_hi_us": deviations[2],
            "tax_mean_us": np.array([self._tax_mean_us(int(n)) for n in self.n]),
            "reach": self.n / self.m,
        }
        return FIT_EVT.to_frame(columns)

    def predicted(self, method: Method) -> tuple[F64, F64, F64]:
        """Give τ and its interval at `n`, in µs; NaN where the method has no fit.

        Parameters
        ----------
        method : {"gumbel", "gev", "lmoments", "deviations"}

        Returns
        -------
        tau, lo, hi : (k,) float64
        """
        if method not in self.resampled.tau_us:
            none = np.full(self.n.shape, np.nan)
            return none, none, none
        at = np.searchsorted(self.resampled.n, self.n)
        lo, hi = self.interval_us(method)
        return self.resampled.tau_us[method][at], lo[at], hi[at]

    def interval_us(self, method: Method) -> tuple[F64, F64]:
        """Bound the true mean wait, for each n of `resampled`.

        Parameters
        ----------
        method : {"gumbel", "gev", "lmoments", "deviations"}
            One that has a prediction.

        Returns
        -------
        lo, hi : (k,) float64
            In µs; NaN where there is none, as for `no_interval`.
        """
        if self.no_interval(method):
            none = np.full(self.resampled.n.shape, np.nan)
            return none, none
        return self.resampled.interval_us(method, level=self.options.level)

    def no_interval(self, method: Method) -> str:
        """Say why a prediction has no interval although it was resampled.

        Deviations of skewed or closely bounded ranks are off by more than they vary: the
        more data, the surer an interval of them would miss.

        Parameters
        ----------
        method : {"gumbel", "gev", "lmoments", "deviations"}

        Returns
        -------
        str
            "" where it has one.
        """
        if method != "deviations":
            return ""
        why = [one.message for one in self.checked if one.fired and one.name in BIASED]
        return f"no interval: {'; '.join(why)}" if why else ""

    def per_block(self) -> "pd.DataFrame":
        """Tell what was fitted: one row per compute block.

        Returns
        -------
        DataFrame
            `schema.FIT_EVT_BLOCKS`; empty of maxima.
        """
        from synctax.evt.rows import block_rows

        return FIT_EVT_BLOCKS.to_frame(_columns(FIT_EVT_BLOCKS.names, block_rows(self)))

    def per_segment(self) -> "pd.DataFrame":
        """Compare prediction and measurement: one row per kind of block.

        Returns
        -------
        DataFrame
            `schema.FIT_EVT_SEGMENTS`; empty of maxima.
        """
        names = FIT_EVT_SEGMENTS.names
        rows = [{name: _known(getattr(s, name)) for name in names} for s in self.segments]
        return FIT_EVT_SEGMENTS.to_frame(_columns(names, rows))

    def holdout(self) -> "pd.DataFrame":
        """Tell how far predictors miss what was not fitted.

        Returns
        -------
        DataFrame
            `schema.FIT_EVT_HOLDOUT`.
        """
        names = FIT_EVT_HOLDOUT.names
        rows = [{name: getattr(one, name) for name in names} for one in self.held_out]
        return FIT_EVT_HOLDOUT.to_frame(_columns(names, rows))

    def checks(self) -> "pd.DataFrame":
        """Tell what the fit assumes, and how far the data are from it.

        Returns
        -------
        DataFrame
            `schema.FIT_EVT_CHECKS`.
        """
        rows = [
            {
                "check": one.name,
                "effect": one.effect,
                "threshold": one.threshold,
                "unit": one.question.unit,
                "direction": one.question.direction,
                "p": one.p,
                "fired": one.fired,
                "message": one.message,
            }
            for one in self.checked
        ]
        return FIT_EVT_CHECKS.to_frame(_columns(FIT_EVT_CHECKS.names, rows))

    def per_instance(self) -> "pd.DataFrame":
        """List every block time that was fitted, before groups were cut.

        Returns
        -------
        DataFrame
            `schema.FIT_EVT_INSTANCES`; empty of maxima.
        """
        from synctax.evt.rows import instance_columns

        return FIT_EVT_INSTANCES.to_frame(instance_columns(self))

    def points(self, kind: str) -> "pd.DataFrame":
        """List what a diagnostic plot shows.

        Parameters
        ----------
        kind : {"pdf", "qq", "return-level"}

        Returns
        -------
        DataFrame
            Of the table `schema.FIT_EVT_POINTS[kind]`.
        """
        from synctax.evt.rows import point_columns

        return FIT_EVT_POINTS[kind].to_frame(point_columns(self, kind))

    def tax_model(self) -> "TaxModel":
        """Make the tax model: what to keep, hand on and ask.

        Returns
        -------
        TaxModel
        """
        from synctax.evt.to_tax import tax_model

        return tax_model(self)

    def verdict(self) -> tuple[str, ...]:
        """Say in a few sentences what was found; without a full stop.

        Returns
        -------
        tuple of str
        """
        from synctax.evt.verdict import sentences

        return sentences(self)

    def _measured_us(self) -> F64:
        """Mean wait by block times among `n` ranks, over all sets with so many."""
        n = self.n.astype(np.int64)
        total_us, instances = np.zeros(n.size), np.zeros(n.size)
        for one in self.inputs.sets:
            seen = n <= one.m
            total_us[seen] += len(one) * measured_us(one, n[seen])
            instances[seen] += len(one)
        alike = np.array([self._alike([one.m >= k for one in self.inputs.sets]) for k in n])
        known = (instances > 0) & alike
        return np.where(known, total_us / np.maximum(instances, 1), np.nan)

    def _tax_mean_us(self, n: int) -> float:
        """Mean wait measured at collectives of n ranks, of those where it is known."""
        of = [one.m == n for one in self.inputs.sets]
        sets = [
            one.measured_us for one, yes in zip(self.inputs.sets, of, strict=True) if yes
        ]
        known = sets and self._alike(of)
        return mean_known(np.concatenate(sets)) if known else float("nan")

    def _alike(self, of: list[bool]) -> bool:
        """Whether blocks of some sets vary as much as all, for which τ is predicted."""
        standard = self.inputs.standard
        if standard is None or all(of) or not any(of):
            return True
        some = np.repeat(of, [len(one.blocks) for one in self.inputs.sets])
        own_us = np.average(standard.b_us[some], weights=standard.instances[some])
        return bool(abs(own_us / self.b_us - 1) <= SAME_SPREAD)


def _columns(names: tuple[str, ...], rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}


def _known(value: Any) -> Any:
    return None if value == "" else value
