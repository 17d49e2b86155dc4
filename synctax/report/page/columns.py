"""Every collective of the page as columns, with names that are written once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import ABSENT, F64, I64, NS_PER_US
from synctax.attribution.labels import culprit_text, short_name
from synctax.attribution.results import Known
from synctax.attribution.summary import class_names
from synctax.collectives.matches import Status
from synctax.collectives.model import Op
from synctax.collectives.summary import ranks_text, shares_and_taxes
from synctax.report.page.clocks import starts_us
from synctax.report.page.markup import Texts

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution
    from synctax.collectives.tax import Tax

US_DIGITS = 3
"""Times are told to the ns."""

SHARE_DIGITS = 5

CULPRIT_WIDTH = 120
"""Characters of a culprit where it is listed: paths have its name in the trace."""

RANKS_OF_NAME = 24
"""Characters that the ranks of a group take in its name without being shortened."""


@dataclass(slots=True)
class Codes:
    """Texts by number, each once, as they will be shown.

    Parameters
    ----------
    texts : Texts
        Cuts them and escapes what does not print.
    """

    texts: Texts
    _number: dict[str, int]
    _listed: list[str]

    @classmethod
    def empty(cls, texts: Texts) -> "Codes":
        """Begin without a text."""
        return cls(texts, {}, [])

    def number(self, text: str | None) -> int:
        """Number a text; -1 for None. Long texts that begin alike stay apart."""
        if text is None:
            return ABSENT
        if text not in self._number:
            self._number[text] = len(self._listed)
            self._listed.append(text)
        return self._number[text]

    def __len__(self) -> int:
        return len(self._listed)

    @property
    def shown(self) -> list[str]:
        """The texts in order of their numbers."""
        return self.shown_from(0)

    def shown_from(self, first: int) -> list[str]:
        """The texts from a number on."""
        return [self.texts.plain(text) for text in self._listed[first:]]

    def forget(self, first: int) -> None:
        """Forget the texts from a number on."""
        for text in self._listed[first:]:
            del self._number[text]
        del self._listed[first:]


@dataclass(frozen=True, slots=True)
class Columns:
    """What the page knows of every collective that was selected.

    Parameters
    ----------
    slots : (k,) int64
        Numbers in `Matches`, in order of time.
    columns : mapping
        Of (k,) arrays; see `collectives`.
    names : mapping
        What codes in the columns stand for.
    ranks : list of int
        Global ranks, ascending.
    aligned : bool
        Whether starts are on one clock.
    """

    slots: I64
    columns: dict[str, Any]
    names: dict[str, list[str]]
    role_of_group: list[int]
    ranks: list[int]
    ranks_of_group: list[list[int]]
    steps: list[int] | None
    aligned: bool


def collectives(tax: "Tax", found: "Attribution | None", texts: Texts) -> Columns:
    """Lay out the collectives that were selected, in order of time.

    Parameters
    ----------
    tax : Tax
    found : Attribution or None
        Of this tax.
    texts : Texts

    Returns
    -------
    Columns
        Times in µs; -1 where a code or number is absent, not a number where a time is.
    """
    matches, waits = tax.matches, tax.waits
    start, aligned = starts_us(tax)
    shown = np.flatnonzero(tax.shown)
    slots = shown[np.argsort(start[shown], kind="stable")]
    # where the tax may not be believed, or one rank is all there is, none is told
    silent = np.isin(matches.own_status[slots], (Status.INVALID, Status.UNMATCHED))
    silent |= waits.n_ranks[slots] == 1
    numbers = shares_and_taxes(tax, slots)
    ranks = sorted({one.rank for one in matches.ranks})
    place = {rank: number for number, rank in enumerate(ranks)}
    of_position = np.array([place[one.rank] for one in matches.ranks] + [ABSENT], np.int64)
    roles, groups = Codes.empty(texts), _group_names(tax, texts)
    ops = Codes.empty(texts)
    role_of_group = [roles.number(group.role) for group in matches.groups]
    status = [Status(code).name.lower() for code in Status]
    columns: dict[str, Any] = {
        "group": matches.group[slots].astype(np.int64),
        "op": _coded(matches.op[slots], lambda code: ops.number(Op(code).label)),
        "index": matches.index[slots],
        "step": matches.step[slots],
        "start_us": np.round(start[slots], US_DIGITS),
        "tax_us": _told(numbers["tax_max_us"], silent, US_DIGITS),
        "share": _told(numbers["share_fastest"], silent, SHARE_DIGITS),
        "transfer_us": _told(waits.shortest_ns[slots] / NS_PER_US, silent, US_DIGITS),
        "payload_bytes": matches.payload_bytes[slots],
        "last": np.where(silent, ABSENT, of_position[waits.straggler[slots]]),
        "status": tax.status[slots].astype(np.int64),
        "counted": tax.used[slots].astype(np.int64),
    }
    blamed, names = _blame(found, slots, texts)
    step = matches.step[slots]
    known = step[step >= 0]
    return Columns(
        slots=slots,
        columns=columns | blamed,
        names={
            "groups": groups,
            "roles": roles.shown,
            "ops": ops.shown,
            "status": status,
            **names,
        },
        role_of_group=role_of_group,
        ranks=ranks,
        ranks_of_group=[
            sorted({int(of_position[member]) for member in group.members})
            for group in matches.groups
        ],
        steps=[int(known.min()), int(known.max())] if known.size else None,
        aligned=aligned,
    )


def _group_names(tax: "Tax", texts: Texts) -> list[str]:
    """Name process groups by role, ranks and, where there are several, window."""
    several = len({group.window for group in tax.matches.groups}) > 1
    names: dict[str, tuple[int, ...]] = {}
    told = []
    for group in tax.matches.groups:
        window = f" ({group.window})" if several and group.window else ""
        name = f"{group.role} {_short(group.ranks)}{window}"
        if names.setdefault(name, group.ranks) != group.ranks:
            name = f"{group.role} {ranks_text(group.ranks)}{window}"
        told.append(texts.plain(name))
    return told


def _short(ranks: tuple[int, ...]) -> str:
    """Write the ranks of a group, or of many the first and the last.

    Examples
    --------
    >>> _short((0, 1, 2, 3)), _short(tuple(range(0, 256, 8)))
    ('0-3', '0,8,16,…,248 (32 ranks)')
    """
    text = ranks_text(ranks)
    if len(text) <= RANKS_OF_NAME:
        return text
    first = ",".join(text.split(",")[:3])
    return f"{first},…,{ranks[-1]} ({len(ranks)} ranks)"


def _coded(values: "np.ndarray", number: Any) -> I64:
    table = {int(code): number(int(code)) for code in np.unique(values)}
    return np.array([table[code] for code in values.tolist()], np.int64)


def _told(values: F64, silent: "np.ndarray", digits: int) -> F64:
    told: F64 = np.where(silent, np.nan, np.round(values, digits))
    return told


def _blame(
    found: "Attribution | None", slots: I64, texts: Texts
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Culprit, its class and the right side of equation 2 of each collective."""
    culprits, classes = Codes.empty(texts), Codes.empty(texts)
    culprit, kind = np.full((2, slots.size), ABSENT, np.int64)
    variation = np.full(slots.size, np.nan)
    if found is not None:
        number = result_of(found)[slots]
        told = np.flatnonzero(number >= 0)
        rows = number[told]
        culprit[told] = [culprits.number(culprit_text(found, row)) for row in rows.tolist()]
        kind[told] = [classes.number(name) for name in class_names(found, rows)]
        variation[told] = np.round(
            found.results.path_variation_ns[rows] / NS_PER_US, US_DIGITS
        )
    columns = {"culprit": culprit, "class": kind, "variation_us": variation}
    short = [short_name(text, width=CULPRIT_WIDTH) for text in culprits.shown]
    return columns, {"culprits": short, "classes": classes.shown}


def result_of(found: "Attribution") -> I64:
    """Number of the result of each collective whose path is known, (m,) int64; else -1."""
    numbers = np.full(len(found.tax.matches), ABSENT, np.int64)
    told = np.flatnonzero(found.results.known == Known.OK)
    numbers[found.results.slot[told]] = told
    return numbers
