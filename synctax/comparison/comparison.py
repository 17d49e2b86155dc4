"""What changed between two runs, or two groups of runs: `compare` and its result."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64
from synctax.comparison.culprits import Caused
from synctax.comparison.fits import FitChange
from synctax.comparison.kernels import (
    KernelChange,
    SideKernels,
    compare_kernels,
)
from synctax.comparison.options import Options
from synctax.comparison.rows import Change, RankChange, compare_ranks, rows_of
from synctax.comparison.stats import Difference, benjamini_hochberg
from synctax.comparison.units import Side
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema.compare import (
    COMPARE,
    COMPARE_CULPRITS,
    COMPARE_FIT,
    COMPARE_KERNELS,
    COMPARE_RANKS,
)
from synctax.schema.html import table_html

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """What `compare` found.

    Parameters
    ----------
    a, b : Side
        Before and after.
    options : Options
    changes : tuple of Change
        Row by row; the time of a step first.
    caused : tuple of Caused or None
        Culprits; None where the sides were not attributed.
    fits : FitChange or None
        None where no blocks were given.
    kernels : (SideKernels, SideKernels) or None
        Durations of kernels; None where none were given.
    notes : tuple of Note
        What makes the sides unlike, and what their data cannot tell.
    """

    a: Side
    b: Side
    options: Options
    changes: tuple[Change, ...]
    caused: tuple[Caused, ...] | None = None
    fits: FitChange | None = None
    kernels: tuple[SideKernels, SideKernels] | None = None
    notes: tuple[Note, ...] = field(default=())

    def __repr__(self) -> str:
        changed = int(self.changed.sum())
        return f"<Comparison: {changed} of {len(self.changes)} numbers changed>"

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.verdict())
        return lines + table_html(repr(self).strip("<>"), self.to_frame())

    @cached_property
    def _families(self) -> tuple[F64, F64, F64]:
        """Adjusted p-values of rows, culprits and fit, for all of them together."""
        fitted = () if self.fits is None else self.fits.changes
        parts = (
            [one.found for one in self.changes],
            [one.found for one in self.caused or ()],
            [found for _, found in fitted],
        )
        p = adjusted([one for part in parts for one in part])
        ends = np.cumsum([len(part) for part in parts])
        rows, caused, fit = np.split(p, ends[:-1])
        return rows, caused, fit

    @property
    def p_adjusted(self) -> F64:
        """p-values of `changes`, adjusted for rows, culprits and fit together."""
        return self._families[0]

    @property
    def caused_changed(self) -> np.ndarray:
        """Which of `caused` are real at the level, (c,) bool."""
        return self.is_change(self._families[1])

    @property
    def fit_changed(self) -> np.ndarray:
        """Which of the changes of `fits` are real at the level, (f,) bool."""
        return self.is_change(self._families[2])

    @property
    def tested(self) -> int:
        """How many numbers are looked at together: those that have a p-value."""
        return int(sum((~np.isnan(p)).sum() for p in self._families))

    @cached_property
    def changed(self) -> np.ndarray:
        """Which of `changes` are real at the level, (k,) bool."""
        return self.is_change(self.p_adjusted)

    def has_changed(self, one: Change | None) -> bool:
        """Tell whether a number is called changed; one that is not there is not.

        Parameters
        ----------
        one : Change or None
            As `find` returns it.
        """
        return one is not None and id(one) in self._real

    @cached_property
    def _real(self) -> frozenset[int]:
        """Those of `changes` that are real, by identity."""
        pairs = zip(self.changes, self.changed.tolist(), strict=True)
        return frozenset(id(one) for one, real in pairs if real)

    def is_change(self, p_adjusted: F64) -> np.ndarray:
        """Tell which adjusted p-values are called changes; (k,) bool.

        Parameters
        ----------
        p_adjusted : (k,) float64
        """
        found: np.ndarray = p_adjusted <= self.options.alpha
        return found

    @cached_property
    def ranks(self) -> list[RankChange]:
        """What each rank waited, and how often it was last."""
        return compare_ranks(self.a, self.b, self.options.level)

    @cached_property
    def kernel_changes(self) -> list[KernelChange]:
        """Durations of kernels by class.

        Raises
        ------
        SynctaxError
            If no kernels were given to `compare`.
        """
        if self.kernels is None:
            raise SynctaxError(
                "kernels were not timed; give compare what kernels_of reads of both sides"
            )
        return compare_kernels((self.a, self.b), self.kernels, self.options.level)

    def find(self, group: str | None, op: str | None, quantity: str) -> Change | None:
        """Return the change of one number; None where neither side has it.

        Parameters
        ----------
        group, op : str or None
            None for the whole job.
        quantity : str
        """
        return self._by_name.get((group, op, quantity))

    @cached_property
    def _by_name(self) -> dict[tuple[str | None, str | None, str], Change]:
        return {(one.group, one.op, one.quantity): one for one in self.changes}

    @cached_property
    def rows(self) -> list[tuple[str, str]]:
        """Role and operation of each row, in the order of A, then those only in B."""
        return list(dict.fromkeys([*rows_of(self.a), *rows_of(self.b)]))

    def verdict(self) -> tuple[str, ...]:
        """Say in sentences what changed, by how much, and who causes it."""
        from synctax.comparison.verdict import verdict

        return verdict(self)

    def to_frame(self) -> "pd.DataFrame":
        """One row per group role, operation and quantity (`schema.COMPARE`)."""
        own = [
            {
                "group": one.group,
                "op": one.op,
                "quantity": one.quantity,
                "collectives_a": one.counts[0] if one.group else None,
                "collectives_b": one.counts[1] if one.group else None,
                "rank_a": one.ranks[0],
                "rank_b": one.ranks[1],
                "only_in": one.only_in,
            }
            for one in self.changes
        ]
        found = [one.found for one in self.changes]
        return COMPARE.to_frame(self._columns(own, found, self.p_adjusted))

    def per_rank(self) -> "pd.DataFrame":
        """One row per group role, operation, rank and quantity (`schema.COMPARE_RANKS`)."""
        own = [
            {name: getattr(one, name) for name in ("group", "op", "rank", "quantity")}
            | {"only_in": one.only_in}
            for one in self.ranks
        ]
        found = [one.found for one in self.ranks]
        return COMPARE_RANKS.to_frame(self._columns(own, found, adjusted(found)))

    def culprits(self) -> "pd.DataFrame":
        """One row per culprit (`schema.COMPARE_CULPRITS`).

        Raises
        ------
        SynctaxError
            If not attributions but taxes were given to `compare`.
        """
        if self.caused is None:
            raise SynctaxError(
                "culprits are known of attributions only; give compare what "
                "synctax.attribute returns"
            )
        own = [
            {
                "group": one.culprit.group,
                "kind": one.culprit.kind,
                "culprit_class": one.culprit.culprit_class or None,
                "culprit": one.culprit.name or None,
                "rank": one.culprit.rank if one.culprit.rank >= 0 else None,
                "share_of_tax_a": one.share_a,
                "share_of_tax_b": one.share_b,
            }
            for one in self.caused
        ]
        found = self._columns(own, [one.found for one in self.caused], self._families[1])
        return COMPARE_CULPRITS.to_frame(_in_us(found, "tax_{}_us"))

    def fit(self) -> "pd.DataFrame":
        """One row per fitted parameter (`schema.COMPARE_FIT`); none where a fit failed.

        Raises
        ------
        SynctaxError
            If no blocks were given to `compare`.
        """
        if self.fits is None:
            raise SynctaxError("nothing was fitted; give compare the blocks of both sides")
        one, two = self.fits.a, self.fits.b
        own = [
            {"group_a": one and one.group, "group_b": two and two.group, "quantity": name}
            for name, _ in self.fits.changes
        ]
        found = [change for _, change in self.fits.changes]
        names = ("group_a", "group_b", "quantity")
        columns = self._columns(own, found, self._families[2], names)
        return COMPARE_FIT.to_frame(columns)

    def per_kernel_class(self) -> "pd.DataFrame":
        """One row per class of kernels (`schema.COMPARE_KERNELS`).

        Raises
        ------
        SynctaxError
            If no kernels were given to `compare`.
        """
        own = [
            {
                "kernel_class": one.kernel_class,
                "kernels_a": one.counts[0],
                "kernels_b": one.counts[1],
                "duration_a_us_median": one.median_us[0],
                "duration_b_us_median": one.median_us[1],
            }
            for one in self.kernel_changes
        ]
        each = [one.found for one in self.kernel_changes]
        found = self._columns(own, each, adjusted(each))
        columns = _in_us(found, "duration_{}_us_mean")
        columns = {name: columns.get(name, []) for name in COMPARE_KERNELS.names}
        return COMPARE_KERNELS.to_frame(columns)

    def _columns(
        self,
        own: Sequence[dict[str, Any]],
        found: Sequence[Difference],
        p: F64,
        names: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Columns of rows, with those of their differences."""
        known = ~np.isnan(p)
        changed = self.is_change(p)
        columns = {name: [row[name] for row in own] for name in (own[0] if own else names)}
        return columns | {
            "a": [one.a for one in found],
            "b": [one.b for one in found],
            "difference": [one.difference for one in found],
            "difference_lo": [one.low for one in found],
            "difference_hi": [one.high for one in found],
            "p": [one.p for one in found],
            "p_adjusted": p,
            "changed": [
                bool(c) if k else None for c, k in zip(changed, known, strict=True)
            ],
        }


def _in_us(columns: dict[str, Any], sides: str) -> dict[str, Any]:
    """Name differences by their unit."""
    renamed = {
        "a": sides.format("a"),
        "b": sides.format("b"),
        "difference": "difference_us",
        "difference_lo": "difference_lo_us",
        "difference_hi": "difference_hi_us",
    }
    return {renamed.get(name, name): values for name, values in columns.items()}


def adjusted(found: Sequence[Difference]) -> F64:
    """Adjust the p-values of differences for all of them together, (k,) float64."""
    return benjamini_hochberg(np.array([one.p for one in found], np.float64))
