"""The page of a real job: whole, and usable in any way that people read."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.page.browser.conftest import data_of, points, settled

pytestmark = pytest.mark.browser

SECTIONS = ("verdict", "measure", "attribute", "fit", "bandwidth", "about")
CHARTS = (
    "tax-cdf",
    "last",
    "timeline",
    "variation",
    "classes",
    "ranks",
    "qq",
    "pdf",
    "growth",
    "bandwidth",
)

Visit = Callable[..., Any]


def test_every_section_is_there_and_charts_draw_every_collective(shown: Any) -> None:
    page = shown
    for name in SECTIONS:
        assert page.locator(f"section#{name} h2").is_visible(), name
        assert page.locator(f"nav a[href='#{name}']").count() == 1, name
    assert page.locator("#verdict ol.verdict > li").count() == 3
    for name in CHARTS:
        assert page.locator(f"#chart-{name} canvas").count() > 0, name
        assert sum(points(page, name).values()) > 0, name
    columns = data_of(page)["collectives"]
    taxed = [tax is not None for tax in columns["tax_us"]]
    varied = [one is not None for one in columns["variation_us"]]
    both = sum(a and b for a, b in zip(taxed, varied, strict=True))
    assert sum(points(page, "timeline").values()) == sum(taxed)
    assert sum(points(page, "variation").values()) == both


def test_keys_show_dashes_of_lines_that_have_no_symbols(shown: Any) -> None:
    keys = shown.evaluate("""() => {
        const place = document.getElementById("chart-bandwidth");
        const { legend, series } = echarts.getInstanceByDom(place).getOption();
        const symbol = Object.fromEntries(series.map(one => [one.name, one.symbol]));
        return legend[0].data.map(key => [
            symbol[key.name], (key.itemStyle || {}).opacity === 0,
        ]);
    }""")
    assert {symbol == "none" for symbol, _ in keys} == {True, False}
    assert all((symbol == "none") == bare for symbol, bare in keys)


def test_shares_of_ranks_are_those_of_their_collectives(shown: Any) -> None:
    page = shown
    data = data_of(page)
    columns = data["collectives"]
    own = [0.0] * len(data["ranks"])
    for last, tax, counted in zip(
        columns["last"], columns["tax_us"], columns["counted"], strict=True
    ):
        if counted and last >= 0:
            own[last] += tax
    whole = sum(
        tax or 0
        for tax, counted in zip(columns["tax_us"], columns["counted"], strict=True)
        if counted
    )
    stacks = page.evaluate(
        "echarts.getInstanceByDom(document.getElementById('chart-ranks'))"
        ".getOption().series.map(s => s.data)"
    )
    shown = [sum(parts) for parts in zip(*stacks, strict=True)]
    assert shown == pytest.approx([one / whole for one in own])


def test_without_javascript_the_verdict_and_all_tables_are_there(
    visit: Visit, example: Path
) -> None:
    page = visit(example, java_script_enabled=False)
    assert page.locator("ol.verdict > li").count() == 3
    for name in ("table-measure", "table-ranks", "table-classes", "table-largest"):
        assert page.locator(f"#{name} tbody tr").count() > 0, name
        assert page.locator(f"#{name}").is_visible(), name
    assert page.locator("noscript").inner_text() != ""
    for hidden in ("#filters", "#collectives", "#theme", "#chart-timeline"):
        assert not page.locator(hidden).is_visible(), hidden


PAPER_PX = 688
"""An A4 page between its margins."""


def test_print_shows_tables_and_charts_and_hides_what_is_clicked(
    visit: Visit, example: Path
) -> None:
    page = visit(example, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in ("#filters", "#collectives", "#theme", "nav"):
        assert not page.locator(hidden).is_visible(), hidden
    for shown in ("#table-measure", "#table-ranks", "#table-largest", "#chart-timeline"):
        assert page.locator(shown).is_visible(), shown
    assert page.evaluate("getComputedStyle(document.body.parentNode).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    text = page.evaluate(
        "echarts.getInstanceByDom(document.getElementById('chart-timeline'))"
        ".getOption().textStyle.color"
    )
    assert text == "#000000"
    page.set_viewport_size({"width": PAPER_PX, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == PAPER_PX
    page.emulate_media(media="screen", color_scheme="dark")
    assert page.locator("#collectives").is_visible()
    assert not page.locator("#table-largest").is_visible()


def test_nothing_is_wider_than_the_window(visit: Visit, example: Path) -> None:
    page = visit(example)
    page.locator(".grid-row").first.click()
    assert page.locator("#paths h3").is_visible()
    for width in (1400, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        charts = page.eval_on_selector_all(
            ".chart, .lanes",
            "all => all.map(e => echarts.getInstanceByDom(e).getWidth() - e.clientWidth)",
        )
        assert set(charts) == {0}, width


def test_theme_button_turns_colours_of_page_and_charts(visit: Visit, example: Path) -> None:
    page = visit(example, color_scheme="light")

    def colors() -> tuple[str, str]:
        told = page.evaluate(
            "[getComputedStyle(document.documentElement).backgroundColor,"
            "echarts.getInstanceByDom(document.getElementById('chart-growth'))"
            ".getOption().textStyle.color]"
        )
        return tuple(told)

    light = colors()
    page.locator("#theme").click()
    dark = colors()
    assert dark[0] != light[0]
    assert dark[1] != light[1]
    page.locator("#theme").click()
    assert colors() == light


def test_colours_follow_the_system_until_the_button_is_used(
    visit: Visit, example: Path
) -> None:
    page = visit(example, color_scheme="dark")
    button = page.locator("#theme")
    assert button.inner_text() == "Light theme"
    page.emulate_media(color_scheme="light")
    settled(page)
    assert button.inner_text() == "Dark theme"
    button.click()
    page.emulate_media(color_scheme="dark")
    page.emulate_media(color_scheme="light")
    settled(page)
    assert button.inner_text() == "Light theme"


def test_tables_sort_by_value_and_by_name(shown: Any) -> None:
    page = shown
    table = page.locator("#table-ranks")
    heads = table.locator("thead th").all()
    kinds = [head.get_attribute("data-kind") for head in heads]
    number, text = kinds.index("number"), kinds.index("text")

    def column(at: int) -> list[Any]:
        return table.evaluate(
            "(t, c) => [...t.tBodies[0].rows].map(r => r.cells[c].dataset.value"
            " ?? r.cells[c].textContent)",
            at,
        )

    heads[number].locator("button").click()
    assert heads[number].get_attribute("aria-sort") == "descending"
    values = [float(one) for one in column(number) if one]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 1
    heads[number].locator("button").press("Enter")
    assert heads[number].get_attribute("aria-sort") == "ascending"
    assert [float(one) for one in column(number) if one] == sorted(values)
    heads[text].locator("button").click()
    assert column(text) == sorted(column(text))
    assert heads[number].get_attribute("aria-sort") is None


def test_document_has_one_title_headings_in_order_and_names_on_controls(shown: Any) -> None:
    page = shown
    page.locator(".grid-row").first.click()
    levels = page.eval_on_selector_all(
        "h1, h2, h3, h4, h5, h6", "all => all.map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title() != ""
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll(
            "input, select, button, a, [role=img], [role=grid]")]
        .filter(e => !(e.labels && e.labels.length) && !e.getAttribute("aria-label")
                     && !e.textContent.trim())
        .map(e => e.outerHTML)"""
    )
    assert unnamed == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.locator("table:not(:has(caption)):not(.side table)").count() == 0
    assert page.locator("th:not([scope])").count() == 0


TEXTS = ("text", "quiet", "link", "culprit")
GROUNDS = ("ground", "raised", "hit")


def test_text_stands_out_four_and_a_half_to_one_and_marks_three_to_one(
    visit: Visit, example: Path
) -> None:
    page = visit(example, java_script_enabled=False)
    grounds = set()
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        color = variables(page)
        grounds.add(color["ground"])
        for ground in GROUNDS:
            for text in TEXTS:
                assert contrast(color[text], color[ground]) >= 4.5, (theme, text, ground)
        for k in range(1, 9):
            assert contrast(color[f"series-{k}"], color["ground"]) >= 3, (theme, k)
        # names of events stand on bars
        for bar in ("culprit", "bar"):
            assert contrast(color["ground"], color[bar]) >= 4.5, (theme, bar)
    assert len(grounds) == 2


def variables(page: Any) -> dict[str, str]:
    """Read the colours of the page's style."""
    names = [*TEXTS, *GROUNDS, "bar", *(f"series-{k}" for k in range(1, 9))]
    told: dict[str, str] = page.evaluate(
        """names => Object.fromEntries(names.map(name => [name,
            getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),
        ]))""",
        names,
    )
    return told


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    """WCAG 2.2, relative luminance of #rrggbb."""
    parts = [int(part, 16) / 255 for part in re.findall(r"[0-9a-f]{2}", color)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
