"""Names that are markup, scripts or styles of charts stay names."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.page.browser.agreement import classes_agree
from tests.page.browser.conftest import EXAMPLE, settled
from tests.page.browser.handmade import page_data, page_html

pytestmark = pytest.mark.browser

Visit = Callable[..., Any]

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\"'><svg onload=alert(3)>",
    "{a|styled}{value}",
    "<!--<script>",
    "javascript:alert(4)",
    "\u202egnp.exe\u2028",
)

HOVER = """() => {
    for (const place of document.querySelectorAll(".chart, .lanes")) {
        const chart = echarts.getInstanceByDom(place);
        chart.getOption().series.forEach((one, seriesIndex) => {
            for (let dataIndex = 0; dataIndex < 3; dataIndex += 1) {
                chart.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
            }
        });
    }
}"""


def look_everywhere(page: Any) -> None:
    """Open, hover and filter what shows names, and find no element that a name made."""
    page.evaluate(HOVER)
    page.locator(".grid-row").first.click()
    assert page.locator("#paths h3").is_visible()
    page.evaluate(HOVER)
    page.locator("#paths tr[data-event]").first.hover()
    page.fill("#filter-text", "<img")
    settled(page)
    page.evaluate(HOVER)
    assert page.locator("img, svg, iframe").count() == 0
    assert page.locator("script").count() == 3


@pytest.mark.parametrize("first", [0, 3])
def test_script_of_the_page_shows_every_name_as_text(
    visit: Visit, tmp_path: Path, first: int
) -> None:
    at = tmp_path / "hostile.html"
    name = "".join(HOSTILE[first:] + HOSTILE[:first])
    data = page_data(8, 60, paths=4, name=lambda own: f"{name} {own}")
    at.write_text(page_html(data), "utf-8")
    page = visit(at)
    assert page.locator(".grid-row > *").first.text_content().startswith(name)
    look_everywhere(page)


def test_traces_with_hostile_names_run_nothing(
    visit: Visit, report: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tmp_path / "<b onclick=alert(5)>"
    folder.mkdir()
    changed = 0
    for trace in sorted(EXAMPLE.glob("*.json.gz"))[:4]:
        text = gzip.decompress(trace.read_bytes())
        for place, name in zip((b"flash_", b"gemm_relu", b"node-0"), HOSTILE, strict=False):
            changed += text.count(place)
            ours = name.replace('"', '\\"').replace("/", "\\/").encode()
            text = text.replace(place, ours + place)
        (folder / trace.name).write_bytes(gzip.compress(text, 1))
    assert changed > 100
    page = visit(report(folder, tmp_path / "page.html", "--steps", "2:5"))
    shown = page.content()
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert classes_agree(page)
    look_everywhere(page)


OBJECTS = ("hasOwnProperty", "__proto__")


def test_names_that_every_object_has_are_drawn_and_switched_off(
    visit: Visit, tmp_path: Path
) -> None:
    data = page_data(8, 60, paths=4)
    data["names"]["roles"] = list(OBJECTS)
    data["names"]["classes"][0] = "valueOf"
    for row in range(0, 60, 9):
        data["collectives"]["class"][row] = -1
    path = data["paths"][0]
    path["apart"] = "windows differ by 3 ms"
    at = tmp_path / "objects.html"
    at.write_text(page_html(data), "utf-8")
    page = visit(at)
    off = page.evaluate("""() => ["ranks", "timeline"].map(name => {
        const chart = echarts.getInstanceByDom(document.getElementById(`chart-${name}`));
        const names = chart.getOption().series.map(one => one.name).filter(one => one);
        for (const own of names) {
            chart.dispatchAction({ type: "legendToggleSelect", name: own });
        }
        const selected = chart.getOption().legend[0].selected;
        return names.map(own => [own, selected[own]]);
    })""")
    assert [own.strip("\u200b") for own, _ in off[0]] == list(OBJECTS)
    assert {chosen for names in off for _, chosen in names} == {False}
    kinds = [own.strip("\u200b") for own, _ in off[1]]
    assert kinds[-1] == "not attributed"
    assert "valueOf" in kinds
    # the wait is told once: where windows differ by something else, with why
    page.locator(".grid-row").first.click()
    assert "Windows differ by 3 ms." in page.locator("#paths").inner_text()


def test_a_chart_that_fails_leaves_a_sentence_and_the_others(
    browser: Any, tmp_path: Path
) -> None:
    data = page_data(8, 60, paths=4)
    data["ranks_of_group"] = [None] * len(data["ranks_of_group"])
    at = tmp_path / "failing.html"
    at.write_text(page_html(data), "utf-8")
    page, said = browser.new_page(), []
    page.on("console", lambda one: said.append(one.text))
    page.goto(at.as_uri())
    page.wait_for_selector("html[data-chart-ready='1']", state="attached")
    assert page.locator("figure:has(#chart-last) .missing").inner_text() == (
        "This chart could not be drawn."
    )
    assert not page.locator("#chart-last").is_visible()
    assert page.locator(".chart:visible canvas").count() >= 5
    assert [one.partition(":")[0] for one in said] == ["chart last"]
    page.close()
