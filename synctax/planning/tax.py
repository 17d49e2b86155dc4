"""What waiting for each other costs a layout: the measured tax, at its own barriers."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal

import numpy as np

from synctax.arrays import F64, I64, Bool
from synctax.errors import SynctaxError
from synctax.evt.tax import Method, TaxModel
from synctax.notes import Note
from synctax.planning.barriers import Barriers, Joined
from synctax.planning.rule import US_PER_S

Form = Literal["proportional", "absolute"]
"""Whether the tax of a barrier is in proportion to the computation before it, or the
microseconds of the workload that it was measured on."""

A_US: Final[dict[str, tuple[float, float]]] = {"llama3-70b-h200": (7.3e3, 10.4e3)}
"""Mean computation before a collective, least and most, for tax models that tell none.

The paper's figure 13 prints how much slower bandwidth should grow with FLOPS, 11.7 %, and
not a: these are the a at which its model gives that for n = 256 and for n = 4,096.
"""


@dataclass(frozen=True, slots=True)
class PlanTax:
    """A tax model, and what its microseconds are in proportion to.

    Parameters
    ----------
    model : TaxModel
    method : Method
    form : Form
    a_us : float or None
        Mean computation before a collective of the workload it was fitted on.
    a_lo_us, a_hi_us : float or None
        Between what it may lie; both a where it is known.
    name : str
        What the model is called.
    joined : Joined
        Whose ranks count as meeting at a barrier.
    """

    model: TaxModel
    method: Method = "gumbel"
    form: Form = "proportional"
    a_us: float | None = None
    a_lo_us: float | None = None
    a_hi_us: float | None = None
    name: str = ""
    joined: Joined = "inner"


@dataclass(frozen=True, slots=True, eq=False)
class Taxed:
    """The tax of k layouts.

    Parameters
    ----------
    tax_s, tax_lo_s, tax_hi_s : (k,) float64
        Of a GPU in a step; NaN where the model says nothing of so many ranks, ends of the
        interval in the absolute form also where it has none.
    tau_us : (k,) float64
        At one barrier.
    reach : (k,) float64
        Ranks that meet over those of the fit; NaN where none meet.
    notes : tuple of Note
    """

    tax_s: F64
    tax_lo_s: F64
    tax_hi_s: F64
    tau_us: F64
    reach: F64
    notes: tuple[Note, ...] = ()


def plan_tax(
    model: TaxModel,
    method: Method = "gumbel",
    *,
    form: Form = "proportional",
    a_us: float | None = None,
    name: str = "",
    joined: Joined = "inner",
) -> PlanTax:
    """Take a tax model for planning.

    Parameters
    ----------
    model : TaxModel
    method : Method
        The predictor.
    form : Form
        Only the proportional form carries over to another workload or GPU.
    a_us : float, optional
        Mean computation before a collective, where the model does not tell it.
    name : str
        What to call it.
    joined : Joined
        Whose ranks count as meeting at a barrier.

    Returns
    -------
    PlanTax

    Raises
    ------
    SynctaxError
        If the proportional form is asked for, and nothing tells a.
    """
    if form == "absolute":
        return PlanTax(model, method, form, name=name, joined=joined)
    known = a_us or model.a_us
    if known is None and model.b_us is not None and model.r:
        known = model.b_us / model.r
    if known is not None:
        return PlanTax(model, method, form, known, known, known, name, joined)
    ends = next((A_US[one] for one in model.source.names if one in A_US), None)
    if ends is None:
        raise SynctaxError(
            "the tax model does not tell a_us, the computation before a collective, which "
            "the tax of another layout is in proportion to; add it, or ask for the "
            "absolute form"
        )
    return PlanTax(model, method, form, sqrt(ends[0] * ends[1]), *ends, name, joined)


def taxed(tax: PlanTax | None, barriers: Barriers, compute_s: F64) -> Taxed:
    """Charge layouts for their barriers.

    In the proportional form a barrier costs τ(n)/a of the computation before it, so a step
    costs that share of its computation, however many barriers it is cut by. In the
    absolute form each barrier costs τ(n).

    That the share stays supposes that a rank which is slow before one barrier is slow all
    along between two. It was measured over blocks of a, and where a layout computes for
    longer, a_layout, slow and fast blocks may even out: of independent ones the spread
    grows by the root of their number only, and the share shrinks to sqrt(a/a_layout) of
    it (or grows, where barriers are closer than a). The interval of the proportional form
    spans both: its lower end is that of the smaller share, its upper end that of the
    larger one.

    Parameters
    ----------
    tax : PlanTax or None
        None charges nothing, and notes that.
    barriers : Barriers
        Of k layouts.
    compute_s : (k,) float64
        Computation of a GPU in a step.

    Returns
    -------
    Taxed

    Raises
    ------
    SynctaxError
        If the model lacks what the prediction needs, or predicts a wait below 0 or
        without end.

    References
    ----------
    Synchronization-tax paper, sections 5.2 and 6.
    """
    meets = barriers.n > 1
    if tax is None:
        absent, none = np.full(compute_s.shape, np.nan), np.zeros(compute_s.shape)
        note = Note("tax_unknown", none.size, "no tax model: the tax counts as 0")
        return Taxed(none, absent, absent, absent, absent, (note,))
    n, at = np.unique(barriers.n[meets], return_inverse=True)
    told, notes = _waits(tax, n, np.bincount(at, minlength=n.size))
    per_us = _per_us(tax, barriers.count[meets], compute_s[meets])
    ends = np.zeros((3, meets.size))
    ends[:, meets] = per_us * told[:, at]
    ends[1:, meets] *= _readings(tax, barriers.count[meets], compute_s[meets])
    tau_us, reach = np.full((2, meets.size), np.nan)
    tau_us[meets] = per_us[0] * told[0, at] / barriers.count[meets] * US_PER_S
    reach[meets] = n[at] / tax.model.n_fit
    return Taxed(ends[0], ends[1], ends[2], tau_us, reach, notes)


def wait_us(tax: PlanTax, n: int) -> float:
    """Predict τ(n) of the workload that was fitted, before it is put in proportion.

    Parameters
    ----------
    tax : PlanTax
    n : int
        Ranks that meet; below those of the fit as `taxed` takes it.

    Returns
    -------
    float
        In µs.
    """
    return float(_waits(tax, np.array([n]), np.array([1]))[0][0, 0])


def most_ranks(tax: PlanTax) -> float:
    """Tell up to how many ranks a tax model says something.

    Parameters
    ----------
    tax : PlanTax

    Returns
    -------
    float
        Infinite for a law; the end of a predictor that is a curve only.
    """
    return _reach_of(tax)[1]


def _reach_of(tax: PlanTax) -> tuple[float, float]:
    least, part = float(tax.model.n_fit), tax.model.deviations
    if tax.method != "deviations" or part is None or part.curve is None:
        return least, np.inf
    return max(least, part.curve.n[0]), part.curve.n[-1]


def _per_us(tax: PlanTax, count: F64, compute_s: F64) -> F64:
    """Tell what a step costs per µs of the model's τ, in s: as it is, at least, at most."""
    if tax.a_us is None or tax.a_lo_us is None or tax.a_hi_us is None:
        return np.tile(count / US_PER_S, (3, 1))
    return np.asarray(compute_s / np.array([[tax.a_us], [tax.a_hi_us], [tax.a_lo_us]]))


def independent_share(a_us: float, count: F64, compute_s: F64) -> F64:
    """Tell what of the share of a barrier is left where blocks are slow independently.

    Parameters
    ----------
    a_us : float
        Computation that a tax was measured over.
    count : (k,) float64
        Barriers of a step.
    compute_s : (k,) float64

    Returns
    -------
    (k,) float64
        sqrt(a/a_layout), with a_layout the computation between two barriers.
    """
    return np.asarray(np.sqrt(a_us * count / (compute_s * US_PER_S)))


def _readings(tax: PlanTax, count: F64, compute_s: F64) -> F64:
    """Tell by what the ends of an interval shrink and grow to span both readings."""
    if tax.a_us is None:
        return np.ones((2, len(count)))
    share = independent_share(tax.a_us, count, compute_s)
    return np.stack([np.minimum(share, 1.0), np.maximum(share, 1.0)])


def _waits(tax: PlanTax, n: I64, many: I64) -> tuple[F64, tuple[Note, ...]]:
    """Predict τ and the ends of its interval for distinct n > 1, rows in this order."""
    least, most = _reach_of(tax)
    ask = np.concatenate([[least], n[(n >= least) & (n <= most)]])
    found = tax.model.tau_us(ask, tax.method)
    odd = np.flatnonzero(~((found.tau_us >= 0) & (found.tau_us < np.inf)))
    if odd.size:
        raise SynctaxError(
            f"{tax.method} predicts a wait of {found.tau_us[odd[0]]:,.4g} µs at n = "
            f"{ask[odd[0]]:,.0f}, and no wait is below 0 or without end; use another "
            "method, or fit again"
        )
    ends = np.array([found.tau_us, found.lo_us, found.hi_us])
    if tax.a_us is not None:
        # two readings, and what a may be, are an interval where the model has none
        ends = np.where(np.isnan(ends), found.tau_us, ends)
    told = np.full((3, n.size), np.nan)
    told[:, (n >= least) & (n <= most)] = ends[:, 1:]
    below = n < least
    # one rank waits for none; from there to the fit straight in ln n, as a Gumbel law is
    told[0, below] = found.tau_us[0] * np.log(n[below]) / np.log(least)
    told[1, below] = 0.0
    told[2, below] = np.fmax(ends[2, 0], found.tau_us[0])
    return told, tuple(_notes(tax, below, n > most, many))


def _notes(tax: PlanTax, below: Bool, beyond: Bool, many: I64) -> Iterator[Note]:
    if below.any():
        yield Note(
            "tax_below_fit",
            int(many[below].sum()),
            f"layouts at whose barriers fewer ranks meet than the {tax.model.n_fit} of the "
            "fit: they wait between not at all (one rank) and as long as these, straight "
            "in ln n",
        )
    if beyond.any():
        yield Note(
            "tax_beyond_model",
            int(many[beyond].sum()),
            f"layouts at whose barriers more ranks meet than the {most_ranks(tax):,.0f} "
            f"up to which {tax.method} predicts",
        )
