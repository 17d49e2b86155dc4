"""Four predictors of the mean wait of n ranks, behind one interface."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from synctax.arrays import F64
from synctax.errors import FitError
from synctax.evt.deviations import DeviationsFit, deviations_us, fit_deviations
from synctax.evt.gev import GevFit, fit_gev
from synctax.evt.growth import MAX_MEAN_SHAPE
from synctax.evt.gumbel import GumbelFit, fit_gumbel
from synctax.evt.lmoments import gumbel_lmoments
from synctax.evt.sample import MIN_DISTINCT_VALUES
from synctax.evt.standard import Standard
from synctax.evt.tax import METHODS, Method
from synctax.notes import Note

Fit = TypeVar("Fit")


@dataclass(frozen=True, slots=True)
class Predictors:
    """What was fitted to one set of block times.

    Parameters
    ----------
    m : int
        Ranks of the groups whose maxima were fitted.
    b_us : float
        Mean spread of the blocks, in µs: turns z-scores into waits.
    gumbel, lmoments : GumbelFit or None
        The paper's fit by maximum likelihood, and the one by L-moments.
    gev : GevFit or None
        The fit with a free shape.
    deviations : DeviationsFit or None
        The law of ranks' deviations from their instances.
    refused : mapping of method to str
        Why a method has no fit.
    notes : tuple of Note
        What the fits left out or replaced.
    no_mean : GevFit or None
        A fit with a free shape of 1 or more, where there is one: of so heavy a tail that
        there is no mean to predict; `gev` is then refused.
    """

    m: int
    b_us: float
    gumbel: GumbelFit | None = None
    gev: GevFit | None = None
    lmoments: GumbelFit | None = None
    deviations: DeviationsFit | None = None
    refused: Mapping[Method, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    no_mean: GevFit | None = None

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods that could be fitted."""
        return tuple(method for method in METHODS if method not in self.refused)

    def tau_us(self, method: Method, n: F64) -> F64:
        """Predict the mean wait of a rank, straggler included, in groups of n ranks.

        b · E[z_n], with the expectation of the fit for k = n/m groups; the deviations
        predict it from the law of single ranks.

        Parameters
        ----------
        method : {"gumbel", "gev", "lmoments", "deviations"}
        n : (k,) float64
            Ranks, at least m.

        Returns
        -------
        (k,) float64
            In µs; to be compared with `tax_mean_us` and nothing else.

        Raises
        ------
        ValueError
            If an n is below m: that is observed, not extrapolated.
        FitError
            If the method has no fit.

        References
        ----------
        Synchronization-tax paper, section 5.2.
        """
        n = np.asarray(n, np.float64)
        if not (n >= self.m).all():
            raise ValueError(f"fitted on groups of {self.m} ranks, asked for {n.min():g}")
        if method == "deviations" and self.deviations is not None:
            return self.deviations.tau_us(n)
        maxima = {"gumbel": self.gumbel, "gev": self.gev, "lmoments": self.lmoments}
        fit = maxima.get(method)
        if fit is None:
            raise FitError(self.refused[method])
        return self.b_us * fit.mean_z(n / self.m)

    def gev_log_se(self, n: F64) -> F64:
        """Tell the standard error of ln τ that the GEV fit itself knows of.

        Parameters
        ----------
        n : (k,) float64
            Ranks, at least m.

        Returns
        -------
        (k,) float64
            By the delta method, mean and spread of the blocks taken as known; NaN where
            there is no fit, or none with a covariance.
        """
        if self.gev is None:
            return np.full(n.shape, np.nan)
        return self.gev.mean_se(n / self.m) / self.gev.mean_z(n / self.m)


def fit_standard(standard: Standard) -> Predictors:
    """Fit every predictor to standardised block times.

    A method that cannot be fitted keeps its reason and leaves the others alive.

    Parameters
    ----------
    standard : Standard

    Returns
    -------
    Predictors

    Raises
    ------
    FitError
        If no predictor can be fitted: the reason of the first.
    """
    times = standard.times

    def deviations() -> DeviationsFit:
        weight = standard.instances.astype(np.float64)
        return fit_deviations(deviations_us(times), times.block, weight)

    fitted = fit_maxima(standard.z, deviations, m=times.m, b_us=standard.mean_b_us)
    if not fitted.methods:
        raise FitError(fitted.refused["gumbel"])
    return fitted


def fit_maxima(
    z: F64,
    deviations: Callable[[], DeviationsFit] | None = None,
    *,
    m: int,
    b_us: float,
    start: GevFit | None = None,
    min_distinct: int = MIN_DISTINCT_VALUES,
) -> Predictors:
    """Fit every predictor to standardised maxima, and to deviations where there are any.

    Parameters
    ----------
    z : (i,) float64
        Standardised maxima over groups of m ranks.
    deviations : callable, optional
        Fits the deviations; without it that method is refused.
    m : int
        Ranks of the groups.
    b_us : float
        Mean spread of the blocks, in µs.
    start : GevFit, optional
        A fit to similar maxima: where the search of the GEV begins.
    min_distinct : int, optional
        Distinct maxima below which no law is fitted to them.

    Returns
    -------
    Predictors
        Maybe without any; a method that cannot be fitted keeps its reason.
    """
    refused: dict[Method, str] = {}
    gumbel = _attempt("gumbel", lambda: fit_gumbel(z, min_distinct=min_distinct), refused)
    gev = _attempt(
        "gev", lambda: fit_gev(z, start=start, min_distinct=min_distinct), refused
    )
    no_mean = None
    if gev is not None and gev.shape >= MAX_MEAN_SHAPE:
        free = no_mean = gev
        gev = _attempt("gev", lambda: _with_mean(free), refused)
    lmoments = _attempt(
        "lmoments", lambda: gumbel_lmoments(z, min_distinct=min_distinct), refused
    )
    by_rank = _attempt("deviations", deviations or _no_ranks, refused)
    notes = by_rank.notes if by_rank else ()
    return Predictors(m, b_us, gumbel, gev, lmoments, by_rank, refused, notes, no_mean)


def _attempt(
    method: Method, fit: Callable[[], Fit], refused: dict[Method, str]
) -> Fit | None:
    try:
        return fit()
    except FitError as error:  # its reason is kept, and shown where it is asked for
        refused[method] = str(error)
        return None


def _with_mean(fit: GevFit) -> GevFit:
    fit.mean_z(1.0)  # refuses a tail so heavy that there is no mean to predict
    return fit


def _no_ranks() -> DeviationsFit:
    raise FitError("maxima alone tell no deviations; give the times of all ranks")
