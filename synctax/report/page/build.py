"""One self-contained page: sections, data, charting library, script and style."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import NS_PER_S
from synctax.errors import SynctaxError
from synctax.report.page import sections
from synctax.report.page.assets import asset, library, script
from synctax.report.page.columns import Columns, collectives
from synctax.report.page.content import Content, Missing, Options, Worth
from synctax.report.page.data import data_of
from synctax.report.page.markup import Html, Texts, element, script_json
from synctax.report.page.paths import Paths, paths
from synctax.report.page.verdict import sentences
from synctax.texts import counted, percent, time_us

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution
    from synctax.collectives.tax import Tax
    from synctax.evt.results import EvtFit

EARLIEST_S, LATEST_S = 1_262_304_000, 4_102_444_800
"""Times from 2010 to 2100 are dates; others count from when a machine was started."""

REASONS = 4
"""So many reasons are named why nothing can be shown."""

_SECTIONS = (
    ("verdict", "Verdict"),
    ("measure", "Measure"),
    ("attribute", "Attribute"),
    ("fit", "Fit"),
    ("bandwidth", "Bandwidth"),
    ("about", "About"),
)


def page(
    tax: "Tax",
    attribution: "Attribution | Missing | None" = None,
    fit: "EvtFit | Missing | None" = None,
    bandwidth: Worth | Missing | None = None,
    options: Options | None = None,
) -> bytes:
    """Make one HTML page of a job, which needs no network and no server.

    Every text of a trace is escaped; texts that are very long are cut, which is said.

    Parameters
    ----------
    tax : Tax
        As `synctax.measure` returns it.
    attribution : Attribution or Missing, optional
        As `synctax.attribute(tax)` returns it, with `method="path"`; or why there is none.
    fit : EvtFit or Missing, optional
        As `synctax.fit_evt(synctax.block_times(tax))` returns it, or why there is none.
    bandwidth : Worth or Missing, optional
        As `synctax.best_bandwidth` returns it, with words (`synctax.PageWorth`); or why
        there is none (`synctax.PageMissing`).
    options : Options, optional
        Title, number of critical paths, what was asked (`synctax.PageOptions`).

    Returns
    -------
    bytes
        UTF-8; the same for the same results.

    Raises
    ------
    SynctaxError
        If not one collective counts.
    ValueError
        If the attribution is of another tax, or keeps no paths.

    Examples
    --------
    >>> import synctax
    >>> tax = synctax.measure(synctax.load(["examples/tp4-fsdp2"]))  # doctest: +SKIP
    >>> html = synctax.page(tax, synctax.attribute(tax))  # doctest: +SKIP
    """
    content = Content(
        tax,
        attribution or Missing(),
        fit or Missing(),
        bandwidth or Missing(),
        options or Options(),
    )
    return render(content)


def _check(content: Content) -> None:
    tax, found = content.tax, content.attributed
    require_counted(tax)
    if found is None:
        return
    if found.tax is not tax:
        raise ValueError("the attribution is of another tax than the page")
    if found.options.method != "path":
        raise ValueError(f"method {found.options.method!r} keeps no paths to show")


def require_counted(tax: "Tax") -> None:
    """Refuse a tax of which not one collective counts: there is nothing to show.

    Raises
    ------
    SynctaxError
        With the reasons.
    """
    if tax.used.any():
        return
    reasons = [f"{note.count} {note.detail}" for note in tax.excluded()[:REASONS]]
    raise SynctaxError(
        f"none of {int(tax.shown.sum())} collectives can be measured "
        f"({'; '.join(reasons)}); synctax inspect says what the traces hold"
    )


def render(content: Content) -> bytes:
    """Write the page of what is known of a job; fails as `page` does."""
    _check(content)
    texts = Texts()
    found = content.attributed
    columns = collectives(content.tax, found, texts)
    told = _paths(content, columns, texts)
    body = [
        element("a", "To the verdict", attributes={"class": "skip", "href": "#verdict"}),
        _header(content, texts),
        _navigation(),
        element(
            "main",
            _verdict(content, columns, texts),
            _filters(columns),
            sections.measure(content, columns, texts),
            sections.attribute(content, columns, texts, told.note),
            sections.fit(content, texts),
            sections.bandwidth(content, texts),
            sections.about(content, texts),
        ),
        element(
            "script",
            script_json(data_of(content, columns, told)),
            attributes={"type": "application/json", "id": "page-data"},
        ),
        *(element("script", one.text) for one in (library(), script())),
    ]
    language = {"lang": "en", "class": "no-js"}
    whole = element(
        "html", _head(content, texts), element("body", body), attributes=language
    )
    return f"<!DOCTYPE html>\n{whole}\n".encode()


def _head(content: Content, texts: Texts) -> Html:
    scripts = " ".join(one.source for one in (library(), script()))
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src {scripts}; base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", attributes={"charset": "utf-8"}),
        element(
            "meta",
            attributes={
                "name": "viewport",
                "content": "width=device-width, initial-scale=1",
            },
        ),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("title", _title(content, texts)),
        element("style", asset("page.css").text),
    )


def _title(content: Content, texts: Texts) -> str:
    if content.options.title:
        return texts.plain(content.options.title)
    ranks = {one.rank for one in content.tax.matches.ranks}
    return f"Synchronization tax of {counted(len(ranks), 'rank')}"


def _header(content: Content, texts: Texts) -> Html:
    from synctax import __version__

    tax = content.tax
    ranks = tax.matches.ranks
    steps = np.unique(tax.matches.step[tax.shown])
    windows = {one.window for one in ranks}
    told = [
        counted(len({one.rank for one in ranks}), "rank"),
        counted(int((steps >= 0).sum()), "step")
        if (steps >= 0).any()
        else "no step marked",
        counted(len(windows), "window") if len(windows) > 1 else "",
        counted(len({one.path for one in ranks}), "file"),
        _date(tax),
        f"synctax {__version__}",
    ]
    theme = {"type": "button", "id": "theme", "class": "needs-js"}
    charts = (
        "The charts and the list of all collectives need JavaScript; the rest does not."
    )
    return element(
        "header",
        element("h1", _title(content, texts)),
        element("p", " · ".join(one for one in told if one)),
        element("button", "Theme", attributes=theme),
        element("noscript", element("p", charts)),
    )


def _date(tax: "Tax") -> str:
    """When the first window began, where traces tell."""
    start_s = min(one.window_start_ns for one in tax.matches.ranks) // NS_PER_S
    if not EARLIEST_S <= start_s < LATEST_S:
        return ""
    return f"{datetime.fromtimestamp(start_s, UTC):%Y-%m-%d %H:%M} UTC"


def _navigation() -> Html:
    links = [
        element("li", element("a", title, attributes={"href": f"#{name}"}))
        for name, title in _SECTIONS
    ]
    return element("nav", element("ul", links), attributes={"aria-label": "Sections"})


def _verdict(content: Content, columns: Columns, texts: Texts) -> Html:
    said = [element("li", texts.sentence(text)) for text in sentences(content)]
    figures = [
        element("div", element("dt", label), element("dd", value))
        for label, value in _figures(content, columns)
    ]
    return sections.section(
        "verdict",
        "Verdict",
        element("ol", said, attributes={"class": "verdict"}),
        element("dl", figures, attributes={"class": "figures"}),
    )


def _figures(content: Content, columns: Columns) -> Iterable[tuple[str, str]]:
    """The large numbers."""
    tax = content.tax
    whole, exposed = tax.gpu_hours_waited, tax.gpu_hours_waited_exposed
    own = columns.columns
    counts = own["tax_us"][own["counted"] > 0]
    yield "all waits of all ranks", time_us(whole * 3.6e9)
    if whole:
        yield "of it with nothing else to compute", percent(exposed / whole)
    yield "collectives that count", f"{counts.size:,} of {int(tax.shown.sum()):,}"
    yield "median tax of a collective", time_us(float(np.median(counts)))
    yield "largest tax of a collective", time_us(float(np.max(counts)))


def _filters(columns: Columns) -> Html:
    """The form that chooses what charts and the list of collectives show."""
    names = columns.names
    groups = [_option("", "all groups")]
    for number, role in enumerate(names["roles"]):
        own = [at for at, of in enumerate(columns.role_of_group) if of == number]
        groups.append(_option(f"role-{number}", role))
        if len(own) > 1:
            groups += [_option(f"group-{at}", names["groups"][at]) for at in own]
    ops = [_option("", "all operations")]
    ops += [_option(str(at), name) for at, name in enumerate(names["ops"])]
    steps = columns.steps
    step: dict[str, Any] = {"type": "number", "inputmode": "numeric"}
    if steps is None:
        step |= {"disabled": True}
    else:
        step |= {"min": steps[0], "max": steps[1], "step": 1}
    text = {"type": "search", "id": "filter-text", "placeholder": "rank, kernel, class"}
    fields: tuple[tuple[str, str, str, Sequence[Html], dict[str, Any]], ...] = (
        ("filter-group", "Group", "select", groups, {}),
        ("filter-op", "Operation", "select", ops, {}),
        ("filter-from", "From step", "input", (), step),
        ("filter-to", "To step", "input", (), step),
        ("filter-text", "Search", "input", (), text),
    )
    return element(
        "form",
        [
            element(
                "p",
                element("label", label, attributes={"for": name}),
                element(kind, inside, attributes={"id": name, **attributes}),
            )
            for name, label, kind, inside, attributes in fields
        ],
        element("button", "All", attributes={"type": "reset"}),
        element("output", attributes={"id": "filter-count"}),
        attributes={"id": "filters", "class": "needs-js"},
    )


def _option(value: str, text: str) -> Html:
    return element("option", text, attributes={"value": value})


def _paths(content: Content, columns: Columns, texts: Texts) -> Paths:
    found, options = content.attributed, content.options
    if found is None:
        nowhere = np.full(columns.slots.size, -1, np.int64)
        return Paths(nowhere, [], [], "without an attribution there are no paths")
    return paths(found, columns, texts, most=options.paths, limit_bytes=options.room_bytes)
