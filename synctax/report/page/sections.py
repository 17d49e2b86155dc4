"""The sections of the page: complete without a script."""

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.attribution.labels import short_name
from synctax.collectives.summary import caused_us
from synctax.report.page import tables
from synctax.report.page.charts import chart
from synctax.report.page.columns import Columns
from synctax.report.page.content import Content, Missing
from synctax.report.page.data import drawn
from synctax.report.page.markup import Html, Texts, element
from synctax.report.tables import records
from synctax.report.tax_view import lost
from synctax.texts import ABSENT, counted

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

LARGEST = 20
"""Collectives that are listed without a script."""

MOST_ASKED = 20
"""Of a list that was asked for, such as files, so many are named."""


def section(name: str, title: str, *inside: Any) -> Html:
    """Make a section with a heading."""
    heading = element("h2", title, attributes={"id": f"{name}-title"})
    return element(
        "section",
        heading,
        inside,
        attributes={"id": name, "aria-labelledby": f"{name}-title"},
    )


def measure(content: Content, columns: Columns, texts: Texts) -> Html:
    """How long ranks wait: by group and operation, over time, by rank."""
    tax = content.tax
    decided = int((tax.waits.straggler[tax.used] >= 0).sum())
    with_one, which = counted(decided, "collective"), "in which one rank was last"
    told = int(np.isfinite(columns.columns["tax_us"]).sum())
    said = [*content.measured_said, lost(tax)]
    charts = [
        chart("tax-cdf", counted(int(tax.used.sum()), "collective")),
        chart("ranks", with_one, more=which) if decided else None,
        chart("timeline", counted(told, "collective")),
        chart("last", with_one, more=which) if decided else None,
    ]
    return section(
        "measure",
        "Measure: how long ranks wait for each other",
        _list(said, texts),
        tables.measure(content.measured, texts),
        charts,
        tables.ranks(_ranks(content), texts),
    )


def _ranks(content: Content) -> list[dict[str, Any]]:
    """Rows of ranks, those that others waited for longest first."""
    caused = caused_us(content.tax)
    rows = records(content.tax.per_rank())
    for row in rows:
        window = row["window"] or ""
        key = row["group"], row["op"], row["rank"], window
        row["caused_us"] = caused.get(key, 0.0)
    return sorted(rows, key=lambda row: -row["caused_us"])


def attribute(content: Content, columns: Columns, texts: Texts, note: str) -> Html:
    """Who made the others wait: classes, sentences, the list of all collectives."""
    title = "Attribute: who made the others wait, and why"
    why = content.attribution
    told = (
        _why(why, texts)
        if isinstance(why, Missing)
        else _blamed(content, why, columns, texts)
    )
    return section(
        "attribute",
        title,
        told,
        element("h3", "Collectives"),
        element(
            "div",
            attributes={"id": "collectives", "class": "needs-js", "tabindex": "0"},
        ),
        tables.largest(_largest(columns), texts),
        element("p", note, attributes={"class": "note", "id": "paths-note"}),
        element("div", attributes={"id": "paths", "aria-live": "polite"}),
    )


def _blamed(
    content: Content, found: "Attribution", columns: Columns, texts: Texts
) -> list[Html]:
    rows = records(found.to_frame())
    count = int(found.used.sum())
    parts = [_verdict(group, told, texts) for group, told in content.verdicts.items()]
    if not count:
        return parts
    own = columns.columns
    both = np.isfinite(own["variation_us"]) & np.isfinite(own["tax_us"])
    return [
        *parts,
        tables.classes(rows, texts),
        chart("classes", counted(count, "collective")),
        chart("variation", counted(int(both.sum()), "collective")),
    ]


def _verdict(group: str, told: tuple[str, ...], texts: Texts) -> Html:
    return element("div", element("h3", texts.plain(group)), _list(list(told), texts))


def _largest(columns: Columns) -> list[dict[str, Any]]:
    """Rows of the collectives with the largest taxes that count."""
    own, names = columns.columns, columns.names
    tax = np.where(own["counted"] > 0, own["tax_us"], np.nan)
    order = np.argsort(-np.nan_to_num(tax, nan=-1.0), kind="stable")[:LARGEST]

    def name(kind: str, code: Any) -> str | None:
        return names[kind][code] if code >= 0 else None

    return [
        {
            "group": name("groups", own["group"][at]),
            "op": name("ops", own["op"][at]),
            "index": int(own["index"][at]),
            "step": int(own["step"][at]) if own["step"][at] >= 0 else None,
            "tax_us": float(tax[at]),
            "share": float(own["share"][at]),
            "transfer_us": float(own["transfer_us"][at]),
            "last": columns.ranks[own["last"][at]] if own["last"][at] >= 0 else None,
            "culprit": short_name(name("culprits", own["culprit"][at]) or ABSENT),
            "class": name("classes", own["class"][at]),
        }
        for at in order.tolist()
        if not np.isnan(tax[at])
    ]


def fit(content: Content, texts: Texts) -> Html:
    """How the wait grows with the ranks."""
    title = "Fit: how the wait grows with the ranks"
    found = content.fit
    if isinstance(found, Missing):
        return section("fit", title, _why(found, texts))
    from synctax.evt.doubts import in_order
    from synctax.evt.verdict import headline

    doubts = [one.message for one in in_order([one for one in found.checked if one.fired])]
    count = found.z.size
    maxima, points = f"{count:,} block maxima", drawn(count).size
    fewer = f"of which {points:,} are drawn: all at both ends, every so many between"
    return section(
        "fit",
        title,
        _list([headline(found), *found.verdict()], texts),
        tables.growth(records(found.to_frame()), found.options.level, texts),
        chart("growth", maxima),
        chart("qq", maxima, more=fewer if points < count else ""),
        chart("pdf", maxima),
        _doubts(doubts, texts),
    )


def bandwidth(content: Content, texts: Texts) -> Html:
    """What bandwidth is then worth."""
    from synctax.bandwidth.basis import basis
    from synctax.bandwidth.verdict import verdict

    title = "Bandwidth: what it is worth, with the wait and without"
    found = content.bandwidth
    if isinstance(found, Missing):
        return section("bandwidth", title, _why(found, texts))
    rows = records(found.frame)
    return section(
        "bandwidth",
        title,
        _list(verdict(rows, found.setting), texts),
        tables.bandwidth(rows, texts),
        chart("bandwidth", f"{len(rows):,} bandwidths"),
        _list(list(basis(rows, found.setting)), texts),
        _doubts(list(found.doubts), texts),
    )


def about(content: Content, texts: Texts) -> Html:
    """What was left out, what was asked, how to read the page, what is embedded."""
    from synctax import __version__
    from synctax.report.page.assets import (
        ECHARTS_LICENCE,
        ECHARTS_VERSION,
        library,
        licences,
    )

    found = content.attributed
    if found is None:
        excluded = content.tax.excluded()
    else:
        from synctax.attribution.summary import excluded as of_attribution

        excluded = of_attribution(found)
    fitted = () if isinstance(content.fit, Missing) else content.fit.notes
    notes = list(dict.fromkeys((*excluded, *fitted)))
    asked = [
        element("li", texts.sentence(f"{name.replace('_', '-')}: {_asked(value)}"))
        for name, value in content.options.asked.items()
        if value not in (None, (), [], "")
    ]
    embedded = (
        f"made by synctax {__version__}; charts by Apache ECharts {ECHARTS_VERSION} "
        f"({library().size_bytes:,} bytes, {ECHARTS_LICENCE}), embedded unchanged: this "
        "file asks nothing of any network"
    )
    left_out = tables.notes(notes, texts) if notes else element("p", "Nothing.")
    cut = f"{counted(texts.cut, 'text')} longer than this page shows: cut, with an … behind"
    return section(
        "about",
        "About this page",
        element("h3", "How to read it"),
        element("ul", [element("li", text) for text in _READ]),
        element("h3", "What was asked") if asked else None,
        element("ul", asked) if asked else None,
        element("h3", "What was left out, repaired or inferred"),
        left_out,
        element("p", cut) if texts.cut else None,
        element("p", embedded),
        element(
            "details",
            element("summary", "Licences of what is embedded"),
            element("pre", Html(html.escape(licences()))),
        ),
    )


_TAX = (
    "tax: in a collective the last rank to arrive has the shortest kernel; how much longer "
    "the longest one lasted is the time that its rank waited"
)
_LAST = (
    "last: the rank that arrived last; the others waited for it; where ranks tie nobody is "
    "named"
)
_CULPRIT = (
    "culprit: what on the critical path of the last rank took longer than on the rank that "
    "came first; the best explanation in the trace, not a proof"
)
_HEAD = (
    "the first collective of each group does not count: ranks still wait there for each "
    "other's profiler"
)
_BEYOND = (
    "beyond the ranks of the fit, growth and bandwidth are predictions: see their "
    "intervals and doubts"
)
_READ = (_TAX, _LAST, _CULPRIT, _HEAD, _BEYOND)


def _asked(value: Any) -> str:
    if not isinstance(value, (list, tuple)):
        return str(value)
    text = ", ".join(map(str, value[:MOST_ASKED]))
    more = len(value) - MOST_ASKED
    return f"{text} and {more:,} more" if more > 0 else text


def _why(missing: Missing, texts: Texts) -> Html:
    return element(
        "p", texts.sentence(f"Not told: {missing.why}."), attributes={"class": "missing"}
    )


def _list(said: list[str], texts: Texts) -> Html:
    """Sentences, one an item."""
    return element("ul", [element("li", texts.sentence(text)) for text in said])


def _doubts(said: list[str], texts: Texts) -> Html | None:
    """What speaks against a result."""
    if not said:
        return None
    return element(
        "details",
        element("summary", f"{counted(len(said), 'doubt')} about it"),
        _list(said, texts),
        attributes={"class": "doubts", "open": True},
    )
