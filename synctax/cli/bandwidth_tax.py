"""Which tax `bandwidth` computes with: as given, else the fitted one, else the built-in."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.bandwidth.crossing import LARGEST_N
from synctax.bandwidth.sweep import Wait
from synctax.bandwidth.topology import LEAST_RANKS
from synctax.errors import SynctaxError
from synctax.texts import level_text, time_us

if TYPE_CHECKING:
    from synctax.evt.tax import Method, TaxModel

BUILT_IN = "llama3-70b-h200"
"""The tax where no other was fitted or given."""

NO_TAX = "none"


@dataclass(frozen=True, slots=True)
class Tax:
    """The tax model, or none, and how it is called in words.

    Parameters
    ----------
    model : TaxModel or None
    method : Method
    name : str
        The file, or what it is called.
    words : str
        What the user reads of it.
    notes : tuple of str
        Lines for stderr.
    built_in : bool
        Whether it is the paper's, measured on H200.
    """

    model: "TaxModel | None"
    method: "Method"
    name: str
    words: str
    notes: tuple[str, ...] = ()
    built_in: bool = False

    def wait(self, n: tuple[int, ...]) -> Wait:
        """Predict the wait at these sizes.

        Raises
        ------
        SynctaxError
            If the model says nothing of a size, or nothing that can be.
        """
        sizes = np.array(n, np.float64)
        if self.model is None:
            return Wait.none(sizes)
        found = self.model.tau_us(sizes, self.method)
        for at, tau_us in zip(n, found.tau_us, strict=True):
            if not 0 <= tau_us < np.inf:
                raise SynctaxError(
                    f"{self.name}: {self.method} predicts a wait of {tau_us:,.4g} µs at "
                    f"n = {at:,}, and no wait is below 0 or without end; ask for other n, "
                    "use another --tax-method, or fit again"
                )
        return Wait(sizes, found.tau_us, found.lo_us, found.hi_us, self.model.n_fit)

    def tau_us(self, n: F64) -> F64:
        """Predict the wait at any sizes."""
        return (
            np.zeros_like(n)
            if self.model is None
            else self.model.tau_us(n, self.method).tau_us
        )

    def trust(self, n: int) -> tuple[str, ...]:
        """Say which other predictor the fit prefers, and what it says at n."""
        model = self.model
        if model is None or model.trusted in (None, self.method):
            return ()
        trusted: Method = model.trusted
        own = time_us(self._at(n, self.method))
        try:
            other = time_us(self._at(n, trusted))
        except SynctaxError:  # its curve may end before n
            other = "no prediction"
        said = (
            f"fit-evt prefers {trusted} here ({other} at n = {n:,}), not {self.method} "
            f"({own}); --tax-method {trusted} computes with it"
        )
        return (said,)

    def _at(self, n: int, method: "Method") -> float:
        assert self.model is not None  # noqa: S101 - asked of a model only
        return float(self.model.tau_us(float(n), method).tau_us[0])

    def told(self) -> dict[str, Any]:
        """Tell of it what JSON holds: names, method, coverage, doubts, notes."""
        model = self.model
        if model is None:
            return {"source": self.words, "method": None}
        covered = model.coverage
        return {
            "source": self.words,
            "method": self.method,
            "trusted": model.trusted,
            "n_fit": model.n_fit,
            "group": model.group,
            "names": model.source.names,
            "share_of_tax": None if covered is None else covered.share_of_tax,
            "warnings": model.doubts(self.method),
            "notes": self.notes,
        }

    @property
    def least_n(self) -> int:
        """Fewest ranks that it says something of."""
        if self.model is None:
            return LEAST_RANKS
        ends = self._ends
        return self.model.n_fit if ends is None else max(self.model.n_fit, ceil(ends[0]))

    @property
    def largest_n(self) -> int:
        """Most ranks that it says something of, and no more than are looked through."""
        ends = self._ends
        return LARGEST_N if ends is None else int(min(LARGEST_N, ends[1]))

    @property
    def _ends(self) -> tuple[float, float] | None:
        """Where a predictor that is a curve only begins and ends; a formula has no end."""
        part = None if self.model is None else self.model.deviations
        if self.method != "deviations" or part is None or part.curve is None:
            return None
        return part.curve.n[0], part.curve.n[-1]


def find_tax(source: str | None, workspace: Path | None, method: "Method | None") -> Tax:
    """Find the tax: as given, else the fitted one, else the built-in one.

    Parameters
    ----------
    source : str or None
        A file, a built-in name, or "none".
    workspace : Path or None
        Where a fitted tax may lie; None for nowhere.
    method : Method or None
        None takes gumbel, or the first that there is.

    Raises
    ------
    SynctaxError
        If the file is missing, no tax model, or without that method.
    """
    from synctax.cli.recall import tax_told
    from synctax.evt.tax_file import BUILTINS, builtin, read_tax
    from synctax.workspace import Workspace

    if source == NO_TAX:
        return Tax(None, method or "gumbel", NO_TAX, "none (Hockney's model)")
    if source is not None:
        found = _described(read_tax(source), method, source, source)
        return replace(found, built_in=source in BUILTINS)
    space = None if workspace is None else Workspace(workspace)
    kept = None if space is None else space.tax()
    if space is None or kept is None:
        where = "the workspace is not used" if workspace is None else f"none in {workspace}"
        note = f"no fitted tax ({where}): using the built-in {BUILT_IN}"
        found = _described(builtin(BUILT_IN), method, BUILT_IN, BUILT_IN)
        return replace(found, notes=(note, *found.notes), built_in=True)
    group = f" of {kept.group}" if kept.group else ""
    found = _described(kept, method, f"the fit{group}", str(space.tax_file))
    return replace(found, notes=(*tax_told(kept, space), *found.notes))


def fitted_tax(model: "TaxModel") -> Tax:
    """Take a tax that was fitted just now, by the predictor that suits it.

    Parameters
    ----------
    model : TaxModel
    """
    group = f" of {model.group}" if model.group else ""
    return _described(model, model.trusted, f"the fit{group}", "the fit")


def _described(model: "TaxModel", asked: "Method | None", called: str, name: str) -> Tax:
    from synctax.evt.tau import interval_kind

    method, notes = _method(model, asked, name)
    words = f"{called}, {method}, fitted on {model.n_fit} ranks"
    kind = interval_kind(model, method)
    part = getattr(model, method)
    level = 0.95 if part.curve is None else part.curve.level
    words += (
        ", no interval" if kind == "none" else f", {level_text(level)} interval ({kind})"
    )
    return Tax(model, method, name, words, (*notes, *_told(model, method)))


def _method(
    model: "TaxModel", asked: "Method | None", name: str
) -> tuple["Method", tuple[str, ...]]:
    wanted: Method = asked or "gumbel"
    if wanted in model.methods:
        return wanted, ()
    why = model.reasons.get(wanted)
    lacks = f"{name} has no {wanted} prediction{f' ({why})' if why else ''}"
    if asked is not None:
        known = " or ".join(f"--tax-method {one}" for one in model.methods)
        raise SynctaxError(f"{lacks}; give {known}")
    return model.methods[0], (f"{lacks}: using {model.methods[0]}",)


def _told(model: "TaxModel", method: "Method") -> Iterator[str]:
    """Say what of a model does not show in its numbers."""
    from synctax.evt.tax import SMALL_SHARE_OF_TAX

    share = None if model.coverage is None else model.coverage.share_of_tax
    if share is not None and share < SMALL_SHARE_OF_TAX:
        yield f"the tax model describes {100 * share:.1f} % of the tax that was measured"
    if model.unknown:
        yield f"the tax model has keys that say nothing here: {', '.join(model.unknown)}"
    own = model.doubts(method)
    if len(own) == 1:
        yield f"the fit of this tax came with a doubt about {method}: {own[0]}"
    elif own:
        yield (
            f"the fit of this tax came with {len(own)} doubts about {method}, such as: "
            f"{own[0]}"
        )
