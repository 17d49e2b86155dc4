"""What a page is made of: results of the stages, or why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from synctax.report import tax_view
from synctax.report.page.paths import room_bytes
from synctax.report.page_choices import DEFAULT_PATHS
from synctax.report.tables import records

if TYPE_CHECKING:
    import pandas as pd

    from synctax.attribution.attribute import Attribution
    from synctax.attribution.facts import Facts
    from synctax.bandwidth.basis import Setting
    from synctax.collectives.tax import Tax
    from synctax.evt.results import EvtFit

NOT_ASKED = "not asked for"


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a stage has no result.

    Parameters
    ----------
    why : str
        A sentence without a full stop; its section says it.
    """

    why: str = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Worth:
    """What bandwidth is worth.

    Parameters
    ----------
    frame : DataFrame
        Of `schema.BANDWIDTH`, as `synctax.best_bandwidth` returns it.
    setting : Setting
        What it was computed for, in words (`synctax.BandwidthSetting`).
    doubts : tuple of str
        What speaks against it.
    """

    frame: "pd.DataFrame"
    setting: "Setting"
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """How a page is made.

    Parameters
    ----------
    title : str
        Of the page; empty: what was measured, in a few words.
    paths : int
        Critical paths of so many collectives at most, largest tax first.
    paths_bytes : int, optional
        Bytes that they may take; as many as are asked for usually need, if absent.
    asked : mapping
        What was asked, by name of the option; shown at the end of the page.
    """

    title: str = ""
    paths: int = DEFAULT_PATHS
    paths_bytes: int | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def room_bytes(self) -> int:
        """Bytes that critical paths may take."""
        return room_bytes(self.paths) if self.paths_bytes is None else self.paths_bytes


@dataclass(frozen=True)
class Content:
    """All results of a job that a page shows; what several parts say is made once."""

    tax: "Tax"
    attribution: "Attribution | Missing"
    fit: "EvtFit | Missing"
    bandwidth: Worth | Missing
    options: Options

    @property
    def attributed(self) -> "Attribution | None":
        """The attribution, or None where that stage has no result.

        It is there, too, where it names no culprit.
        """
        found = self.attribution
        return None if isinstance(found, Missing) else found

    @cached_property
    def measured(self) -> list[dict[str, Any]]:
        """Rows of `schema.MEASURE`, most waits first."""
        return records(self.tax.to_frame())

    @cached_property
    def measured_said(self) -> list[str]:
        """A sentence for each of them."""
        return tax_view.sentences(self.tax, self.measured)

    @cached_property
    def verdicts(self) -> dict[str, tuple[str, ...]]:
        """Who is to blame, by role, most tax first; empty without an attribution."""
        from synctax.attribution.verdict import verdict

        return {one.group: verdict(one) for one in self.facts}

    @cached_property
    def foremost(self) -> dict[str, str]:
        """The one culprit that holds most of the tax, by role; empty where none does."""
        from synctax.attribution.verdict import foremost

        return {one.group: foremost(one) for one in self.facts}

    @cached_property
    def facts(self) -> "tuple[Facts, ...]":
        """What the attribution says of each role, most tax first; none without one."""
        from synctax.attribution.facts import facts

        found = self.attributed
        return () if found is None else facts(found)
