"""Places for charts, with what they show in words."""

from synctax.report.page.markup import Html, element

HALF = frozenset({"tax-cdf", "ranks", "classes", "variation", "qq", "pdf"})
"""Charts of which two may stand side by side."""

_LABELS = {
    "tax-cdf": "Cumulated distribution of the share of a collective that is waiting",
    "last": "Heat map of which rank was last, over time",
    "timeline": "Tax of each collective over time",
    "variation": "Tax of each collective against the variation of its critical path",
    "classes": "Share of the tax by class of culprit and group",
    "ranks": "Share of the tax of the collectives in which each rank was last",
    "qq": "Quantiles of the block maxima against those of the fitted laws",
    "pdf": "Density of the block maxima and of the fitted laws",
    "growth": "Mean wait over the number of ranks, with intervals",
    "bandwidth": "Best bandwidth over the number of ranks, with and without the tax",
}

_CAPTIONS = {
    "tax-cdf": (
        "Share of its time in a collective that the rank that waits most spends waiting, "
        "cumulated, by group and operation"
    ),
    "last": (
        "Who was last: of the collectives of each stretch of time in which no ranks tie, "
        "the share in which each rank arrived last"
    ),
    "timeline": (
        "The tax of each collective over time, in µs; choose one to see its critical paths"
    ),
    "variation": (
        "Equation 2: the tax against how much longer the critical path of the last rank "
        "was than that of the first, in µs; on the line paths explain all of it"
    ),
    "classes": "What made ranks late: share of the tax by class of culprit",
    "ranks": "Share of the tax of those collectives in which each rank was last",
    "qq": (
        "Largest block times over the ranks, standardised, against quantiles of the "
        "fitted laws; on the line a law holds"
    ),
    "pdf": "Largest block times over the ranks, standardised, and the fitted laws",
    "growth": "Mean wait of a rank by the number of ranks, in µs, with intervals",
    "bandwidth": (
        "Bandwidth worth having by the number of ranks, in GB/s, with and without the tax"
    ),
}


def chart(name: str, counted: str, *, more: str = "") -> Html:
    """Make the place of a chart, with its caption.

    Parameters
    ----------
    name : str
    counted : str
        How many of what it shows; of collectives, the filters change it.
    more : str
        Which of them.
    """
    place = element(
        "div",
        attributes={
            "class": "chart needs-js",
            "id": f"chart-{name}",
            "role": "img",
            "aria-label": _LABELS[name],
        },
    )
    told = element("span", counted, attributes={"class": "n"})
    caption = [
        f"{_CAPTIONS[name]}. ",
        Html("n&nbsp;=&nbsp;"),
        told,
        f" {more}." if more else ".",
    ]
    return element(
        "figure",
        place,
        element("figcaption", caption),
        attributes={"class": "half" if name in HALF else None},
    )
