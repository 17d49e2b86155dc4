"""Filters, the list of collectives, and the two critical paths of one."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.page.browser.conftest import data_of, points, settled
from tests.page.browser.handmade import page_data, page_html

pytestmark = pytest.mark.browser

Visit = Callable[..., Any]


def count(page: Any) -> int:
    """Read how many collectives the filters leave."""
    told = page.locator("#filter-count").inner_text()
    return int(told.split(" of ")[0].replace(",", ""))


def rows_with(page: Any, wanted: Callable[[dict[str, Any]], bool]) -> int:
    """Count collectives by their columns."""
    columns = data_of(page)["collectives"]
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    return sum(wanted(dict(zip(names, row, strict=True))) for row in rows)


def test_group_and_operation_reduce_list_and_charts(shown: Any) -> None:
    page = shown
    data = data_of(page)
    whole = count(page)
    assert whole == len(data["collectives"]["group"])
    tp = data["names"]["roles"].index("tp")
    groups = [g for g, role in enumerate(data["role_of_group"]) if role == tp]
    page.select_option("#filter-group", f"role-{tp}")
    settled(page)
    own = rows_with(page, lambda row: row["group"] in groups)
    assert 0 < own < whole
    assert count(page) == own
    assert page.locator("#collectives").get_attribute("aria-rowcount") == str(own + 1)
    assert sum(points(page, "timeline").values()) <= own
    assert list(points(page, "tax-cdf")) == ["tp all_reduce"]

    page.select_option("#filter-group", f"group-{groups[0]}")
    settled(page)
    assert count(page) == rows_with(page, lambda row: row["group"] == groups[0])

    gather = data["names"]["ops"].index("all_gather")
    page.select_option("#filter-op", str(gather))
    settled(page)
    assert count(page) == 0
    assert page.locator("#collectives .empty").is_visible()
    assert sum(points(page, "timeline").values()) == 0

    page.locator("#filters button[type=reset]").click()
    settled(page)
    assert count(page) == whole
    assert page.locator("#collectives .empty").count() == 0


def test_steps_are_inclusive_and_leave_out_what_has_none(shown: Any) -> None:
    page = shown
    first, last = data_of(page)["steps"]
    page.fill("#filter-from", str(first + 1))
    page.fill("#filter-to", str(last - 1))
    settled(page)
    inside = rows_with(page, lambda row: first + 1 <= row["step"] <= last - 1)
    assert 0 < inside < rows_with(page, lambda row: True)
    assert count(page) == inside


CAPTIONED = ["tax-cdf", "last", "timeline", "variation", "classes", "ranks"]

NUMBERS = """names => names.map(name => document.getElementById(`chart-${name}`)
    .closest("figure").querySelector(".n").textContent)"""


def test_captions_tell_how_many_collectives_the_filters_leave(
    shown: Any, example: Path
) -> None:
    page = shown
    written = re.findall(r'<span class="n">(\d+ collectives)</span>', example.read_text())
    assert sorted(page.evaluate(NUMBERS, CAPTIONED)) == sorted(written)
    page.fill("#filter-from", "4")
    settled(page)
    late = [lambda row: row["step"] >= 4 and row["counted"]]
    late.append(lambda row: late[0](row) and row["last"] >= 0)
    late.append(lambda row: row["step"] >= 4 and row["tax_us"] is not None)
    late.append(lambda row: late[2](row) and row["variation_us"] is not None)
    late.append(lambda row: late[0](row) and row["class"] >= 0)
    late.append(late[1])
    assert page.evaluate(NUMBERS, CAPTIONED) == [
        f"{rows_with(page, one)} collectives" for one in late
    ]
    page.fill("#filter-to", "2")
    settled(page)
    assert (
        page.locator("#filter-count")
        .inner_text()
        .endswith(": the first step is after the last")
    )
    assert set(page.evaluate(NUMBERS, CAPTIONED)) == {"0 collectives"}


def test_search_finds_a_rank_that_was_last(shown: Any) -> None:
    page = shown
    rank = data_of(page)["ranks"].index(5)
    own = rows_with(page, lambda row: row["last"] == rank)
    assert 0 < own < rows_with(page, lambda row: True)
    for words in ("rank 5", "RANK 5", "rank5", "5"):
        page.fill("#filter-text", words)
        settled(page)
        assert count(page) == own, words
        page.fill("#filter-text", "")
        settled(page)


def test_words_of_a_search_all_have_to_fit(shown: Any) -> None:
    page = shown
    names = data_of(page)["names"]
    gemm = names["classes"].index("gemm")
    page.fill("#filter-text", "gemm rank 2")
    settled(page)
    least = rows_with(page, lambda row: row["class"] == gemm and row["last"] == 2)
    assert count(page) >= least > 0
    page.fill("#filter-text", "gemm no-such-word")
    settled(page)
    assert count(page) == 0


def test_list_sorts_by_every_column(visit: Visit, example: Path) -> None:
    page = visit(example)
    columns = data_of(page)["collectives"]
    heads = page.locator("#collectives [role=columnheader]").all()
    assert heads[1].get_attribute("aria-sort") == "descending"
    assert cells(page, 1)[0] == shown_tax(
        max(t for t in columns["tax_us"] if t is not None)
    )
    for at, head in enumerate(heads):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") in ("ascending", "descending")
        sorted_one_way = cells(page, at)
        head.locator("button").click()
        assert len(set(sorted_one_way)) == 1 or cells(page, at) != sorted_one_way, at
        others = [o for o in heads if o.get_attribute("aria-sort") != "none"]
        assert len(others) == 1


def cells(page: Any, column: int) -> list[str]:
    """Read the cells in sight of a column of the list."""
    told: list[str] = page.eval_on_selector_all(
        ".grid-row", "(rows, c) => rows.map(r => r.children[c].textContent)", column
    )
    return told


def shown_tax(us: float) -> str:
    """Write a tax of some ms as the list does."""
    return f"{us / 1000:.3g} ms"


def test_click_on_a_row_shows_both_paths_and_escape_leaves(shown: Any) -> None:
    page = shown
    page.locator(".grid-row").first.click()
    check_paths(page, largest(page))
    page.keyboard.press("Escape")
    assert page.locator("#paths").inner_text() == ""
    assert page.locator(".grid-row[aria-selected=true]").count() == 0


def test_click_on_a_point_shows_both_paths(shown: Any) -> None:
    page = shown
    row = largest(page)
    for chart in ("timeline", "variation"):
        page.locator(f"#chart-{chart}").scroll_into_view_if_needed()
        x, y = page.evaluate(PIXEL, chart)
        box = page.locator(f"#chart-{chart}").bounding_box()
        page.mouse.move(box["x"] + x, box["y"] + y)
        page.mouse.click(box["x"] + x, box["y"] + y)
        check_paths(page, row)
        assert page.locator(f".grid-row#collective-{row}").get_attribute(
            "aria-selected"
        ) == ("true")
        page.locator("#paths button").click()
        assert page.locator("#paths").inner_text() == ""


PIXEL = """name => {
    const chart = echarts.getInstanceByDom(document.getElementById(`chart-${name}`));
    let best = null;
    chart.getOption().series.forEach((one, seriesIndex) => {
        if (one.type !== "scatter" || one.id === "chosen") return;
        for (let i = 0; i < one.data.length; i += 2) {
            if (best === null || one.data[i + 1] > best.y) {
                best = { seriesIndex, x: one.data[i], y: one.data[i + 1] };
            }
        }
    });
    return chart.convertToPixel({ seriesIndex: best.seriesIndex }, [best.x, best.y]);
}"""


def largest(page: Any) -> int:
    """Row of the collective with the largest tax."""
    tax = data_of(page)["collectives"]["tax_us"]
    return max(range(len(tax)), key=lambda row: tax[row] or 0)


def check_paths(page: Any, row: int) -> None:
    """Both paths of a collective stand side by side, with the culprit."""
    data = data_of(page)
    path = data["paths"][data["collectives"]["path"][row]]
    panel = page.locator("#paths")
    text = panel.inner_text()
    slow, fast = path["slow"], path["fast"]
    assert panel.locator("h3").inner_text() == path["name"]
    assert f"Rank {slow['rank']} made rank {fast['rank']} wait" in text
    assert data["names"]["strings"][path["culprit"]][:80] in text
    sides = panel.locator(".side").all()
    assert [side.locator("h4").inner_text().split(",")[0] for side in sides] == [
        f"rank {slow['rank']}",
        f"rank {fast['rank']}",
    ]
    for side, told in zip(sides, (slow, fast), strict=True):
        assert side.locator("tr[data-event]").count() == len(told["ev"])
    left, right = (side.bounding_box() for side in sides)
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] < right["x"]


def test_pointer_and_arrows_link_an_event_with_its_counterpart(shown: Any) -> None:
    page = shown
    page.locator(".grid-row").first.click()
    data = data_of(page)
    path = data["paths"][data["collectives"]["path"][largest(page)]]
    culprit = next(i for i, ev in enumerate(path["slow"]["ev"]) if ev[9])
    pair = path["slow"]["ev"][culprit][7]
    assert pair >= 0
    page.locator(f"tr[data-side=slow][data-event='{culprit}']").hover()
    linked = page.locator("#paths tr.linked").all()
    assert [
        (one.get_attribute("data-side"), one.get_attribute("data-event")) for one in linked
    ] == [
        ("slow", str(culprit)),
        ("fast", str(pair)),
    ]
    page.locator(f"tr[data-side=fast][data-event='{pair}']").hover()
    assert page.locator("#paths tr.linked").count() == 2
    page.locator("#paths h3").hover()
    assert page.locator("#paths tr.linked").count() == 0

    page.mouse.move(1, 1)
    page.locator("tr[data-side=slow][data-event='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.event") == "1"
    assert page.locator("tr.linked[data-side=slow]").get_attribute("data-event") == "1"


def test_chart_of_the_paths_holds_every_event_gap_and_the_wait(shown: Any) -> None:
    page = shown
    page.locator(".grid-row").first.click()
    data = data_of(page)
    path = data["paths"][data["collectives"]["path"][largest(page)]]
    bars = page.evaluate(
        "echarts.getInstanceByDom(document.querySelector('#paths .lanes'))"
        ".getOption().series[0].data"
    )
    for lane, side in enumerate(("slow", "fast")):
        spans = sorted((a, b) for a, b, at in bars if at == lane)
        assert spans[0][0] == 0
        for (_, end), (start, _) in pairwise(spans):
            assert start == pytest.approx(end, abs=0.01), side
        assert spans[-1][1] == pytest.approx(path["slow"]["window_us"], abs=0.01)


MOST_STOPS = 150
"""Of the Tab key, from the top of the page to the list."""


def test_all_works_by_keyboard(visit: Visit, example: Path) -> None:
    page = visit(example)
    wanted = ["skip", "theme", "#verdict", "filter-group", "filter-text", "collectives"]
    seen: list[str] = []
    while "collectives" not in seen and len(seen) < MOST_STOPS:
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "(e => e.id || e.className || e.getAttribute('href') || e.tagName)"
                "(document.activeElement)"
            )
        )
    assert [one for one in seen if one in wanted] == wanted
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    grid = page.locator("#collectives")
    active = grid.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-rowindex") == "3"
    page.keyboard.press("Enter")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    assert page.locator("#paths h3").is_visible()
    page.keyboard.press("End")
    last = grid.get_attribute("aria-activedescendant")
    rows = int(grid.get_attribute("aria-rowcount"))
    assert page.locator(f"#{last}").get_attribute("aria-rowindex") == str(rows)
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    page.keyboard.press("Escape")
    assert page.locator("#paths").inner_text() == ""
    assert page.evaluate("document.activeElement.id") == "collectives"


def test_numbers_of_collectives_are_seen_however_long_names_are(
    visit: Visit, tmp_path: Path
) -> None:
    at = tmp_path / "long.html"
    long = page_data(8, 60, name=lambda own: own + " of a name that is long" * 4)
    at.write_text(page_html(long), "utf-8")
    page = visit(at)
    seen = page.eval_on_selector_all(
        ".grid-row > :first-child",
        """cells => cells.map(cell => [
            cell.lastChild.textContent,
            cell.lastChild.getBoundingClientRect().right
                <= cell.getBoundingClientRect().right,
            cell.firstChild.scrollWidth > cell.firstChild.clientWidth,
        ])""",
    )
    assert len(seen) > 5
    for number, inside, cut in seen:
        assert re.fullmatch(r" #\d+", number)
        assert (inside, cut) == (True, True)
