"""The tax model: what a fit says of any number of ranks, to keep, hand on and ask.

`synctax.tax/1` is its form on disk (`tax_file`). Whoever writes one by hand may know no
more than b·σ and one τ(n): what is unknown is null, and a question that needs it is
refused by the name of the field.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from synctax.arrays import F64
from synctax.evt.methods import METHODS as METHODS  # noqa: PLC0414 - passed on
from synctax.evt.methods import Method as Method  # noqa: PLC0414 - passed on

DEFAULT_LEVEL = 0.95
"""Level of intervals where nothing else is said."""

SMALL_SHARE_OF_TAX = 0.5
"""A fit that describes less of the tax must not be taken for the job's."""

Cov: TypeAlias = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """τ over a grid of n, with its interval.

    Between its points τ is a monotone cubic in ln n; the logarithm of the factor by which
    an end of the interval misses it is linear.

    Parameters
    ----------
    n : k float
        Ascending.
    tau_us, tau_lo_us, tau_hi_us : k float or None
        None where there is none.
    level : float
        Of the interval.
    """

    n: tuple[float, ...]
    tau_us: tuple[float | None, ...]
    tau_lo_us: tuple[float | None, ...]
    tau_hi_us: tuple[float | None, ...]
    level: float = DEFAULT_LEVEL


@dataclass(frozen=True, slots=True)
class Gumbel:
    """The paper's fit: a Gumbel law of the standardised maxima over n_fit ranks.

    Parameters
    ----------
    loc, scale : float, optional
        μ and σ of z = (M - a)/b.
    loc_se, scale_se, cov : optional
        Standard errors, and covariance of (μ, σ).
    loglik : float, optional
    b_scale_us, tau_us, n : float, optional
        b·σ in µs, and τ(n) at one n: enough for every τ, where μ, σ and b are not known.
    curve : Curve, optional
    """

    loc: float | None = None
    scale: float | None = None
    loc_se: float | None = None
    scale_se: float | None = None
    cov: Cov | None = None
    loglik: float | None = None
    b_scale_us: float | None = None
    tau_us: float | None = None
    n: float | None = None
    curve: Curve | None = None


@dataclass(frozen=True, slots=True)
class Gev:
    """The fit with a free shape ξ (> 0: heavy tail; SciPy's `c` is -ξ).

    Parameters
    ----------
    loc, scale, shape : float, optional
    loc_se, scale_se, shape_se, cov : optional
        Standard errors, and covariance of (μ, σ, ξ).
    shape_lo, shape_hi : float, optional
        Profile-likelihood interval of ξ.
    loglik : float, optional
    lr_p : float, optional
        p of the likelihood-ratio test of ξ = 0.
    curve : Curve, optional
    """

    loc: float | None = None
    scale: float | None = None
    shape: float | None = None
    loc_se: float | None = None
    scale_se: float | None = None
    shape_se: float | None = None
    cov: Cov | None = None
    shape_lo: float | None = None
    shape_hi: float | None = None
    loglik: float | None = None
    lr_p: float | None = None
    curve: Curve | None = None


@dataclass(frozen=True, slots=True)
class LMoments:
    """A Gumbel law by L-moments of the same maxima."""

    loc: float | None = None
    scale: float | None = None
    curve: Curve | None = None


@dataclass(frozen=True, slots=True)
class Deviations:
    """Deviations of ranks from the mean of their instance, with a Pareto tail.

    Parameters
    ----------
    threshold, scale, shape : float, optional
        Where the tail begins, and its generalized Pareto law.
    unit_us : float, optional
        What these are in units of: mean standard deviation of a deviation.
    tail_share : float, optional
        Share of the deviations beyond the threshold.
    instances : int, optional
    curve : Curve, optional
        Its τ: the body is empirical, so there is no formula.
    """

    threshold: float | None = None
    scale: float | None = None
    shape: float | None = None
    unit_us: float | None = None
    tail_share: float | None = None
    instances: int | None = None
    curve: Curve | None = None


@dataclass(frozen=True, slots=True)
class Covered:
    """What part of a job's collectives, and of their tax, the fit describes.

    Parameters
    ----------
    share_of_collectives, share_of_tax : float, optional
        From 0 to 1.
    collectives, entered : int, optional
    tax_us, entered_tax_us : float, optional
        Sums of max - min.
    """

    share_of_collectives: float | None = None
    share_of_tax: float | None = None
    collectives: int | None = None
    entered: int | None = None
    tax_us: float | None = None
    entered_tax_us: float | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """What a tax model was made from.

    Parameters
    ----------
    kind : str
        `traces`, `block_times`, `maxima`, `built-in` or `written`.
    names : tuple of str
        Traces, files, or a name.
    when : str, optional
        When it was kept in a workspace, ISO 8601 in UTC.
    targets : tuple of str
        The traces as a workspace remembers what was measured.
    """

    kind: str = "written"
    names: tuple[str, ...] = ()
    when: str | None = None
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tau:
    """τ for some numbers of ranks.

    Parameters
    ----------
    tau_us, lo_us, hi_us : (k,) float64
        The interval is NaN where there is none.
    interval : "bootstrap", "delta" or "none"
        Where it is from: resampled instances, the covariance of the fit's parameters
        (with a and b as if known), or nowhere.
    level : float
        Of the interval.
    """

    tau_us: F64
    lo_us: F64
    hi_us: F64
    interval: Literal["bootstrap", "delta", "none"]
    level: float


@dataclass(frozen=True, slots=True)
class TaxModel:
    """How the mean wait of a rank grows with the ranks of its group.

    Parameters
    ----------
    n_fit : int
        Ranks m of the groups it was fitted on; it says nothing of fewer.
    group : str, optional
        Role of the group.
    blocks, maxima : int, optional
        Compute blocks, and block maxima, that entered.
    a_us, b_us, r : float, optional
        Mean a and standard deviation b of block times, and b/a.
    payload_bytes : int, optional
        Largest payload of the group's collectives.
    alpha_us : float, optional
        Latency of a phase of the collective, for `bandwidth`.
    gumbel, gev, lmoments, deviations : optional
        The predictors; None where one could not be fitted.
    gof : mapping
        Goodness of fit, by name; None where a number is not known.
    coverage : Covered, optional
    source : Origin
    reasons : mapping
        Why a predictor is missing, or has no interval.
    warnings : tuple of str
        What the checks of the fit found.
    concerns : tuple of tuple of str
        Of each warning the methods that it casts doubt on; empty where that is not known.
    trusted : Method, optional
        The predictor for the case that the data are in, as the fit judged it; the least
        bad, where none is good.
    blocks_detail, segments : tuple of mapping
        Rows on single blocks and on kinds of blocks.
    unknown : tuple of str
        Keys of a file that mean nothing to this version; not compared, not written.
    """

    n_fit: int
    group: str | None = None
    blocks: int | None = None
    maxima: int | None = None
    a_us: float | None = None
    r: float | None = None
    b_us: float | None = None
    payload_bytes: int | None = None
    alpha_us: float | None = None
    gumbel: Gumbel | None = None
    gev: Gev | None = None
    lmoments: LMoments | None = None
    deviations: Deviations | None = None
    gof: dict[str, float | None] = field(default_factory=dict)
    coverage: Covered | None = None
    source: Origin = field(default_factory=Origin)
    reasons: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    concerns: tuple[tuple[Method, ...], ...] = ()
    trusted: Method | None = None
    blocks_detail: tuple[dict[str, Any], ...] = ()
    segments: tuple[dict[str, Any], ...] = ()
    unknown: tuple[str, ...] = field(default=(), compare=False)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The predictors that it has."""
        return tuple(name for name in METHODS if getattr(self, name) is not None)

    def doubts(self, method: Method) -> tuple[str, ...]:
        """Select the warnings that concern a method; all where that is not known."""
        if len(self.concerns) != len(self.warnings):
            return self.warnings
        pairs = zip(self.warnings, self.concerns, strict=True)
        return tuple(text for text, methods in pairs if method in methods)

    def tau_us(
        self, n: F64 | float, method: Method = "gumbel", *, level: float = DEFAULT_LEVEL
    ) -> Tau:
        """Predict the mean wait of a rank, the last one included, in a group of n.

        Parameters
        ----------
        n : (k,) float64 or float
            Ranks, not fewer than `n_fit`.
        method : "gumbel", "gev", "lmoments" or "deviations"
        level : float
            Of intervals that come from a covariance; those of a curve have its own.

        Returns
        -------
        Tau
            Compare it with `tax_mean_us` of a measurement only.

        Raises
        ------
        SynctaxError
            If n is below `n_fit`, or the model does not hold what is needed.

        References
        ----------
        Synchronization-tax paper, section 5.

        Examples
        --------
        >>> model = TaxModel(4, gumbel=Gumbel(b_scale_us=130.73, tau_us=754.27, n=128))
        >>> model.tau_us([4, 128, 4096]).tau_us.round(1)
        array([ 301.2,  754.3, 1207.3])
        """
        from synctax.evt.tau import predict

        return predict(self, n, method, level)
