"""A page of 256 ranks and 50,000 collectives opens, scrolls and filters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.page.big_page import COLLECTIVES, RANKS, write
from tests.page.browser.conftest import points, settled

pytestmark = pytest.mark.browser


def test_big_page_draws_everything_and_keeps_few_rows_in_the_document(
    visit: Callable[..., Any], tmp_path: Path
) -> None:
    page = visit(write(tmp_path / "big.html"))
    assert sum(points(page, "timeline").values()) == COLLECTIVES
    assert (
        len(
            page.evaluate(
                "echarts.getInstanceByDom(document.getElementById('chart-last')).getOption().yAxis[0].data"
            )
        )
        == RANKS
    )
    grid = page.locator("#collectives")
    assert grid.get_attribute("aria-rowcount") == str(COLLECTIVES + 1)
    assert page.locator(".grid-row").count() < 60
    grid.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    page.wait_for_selector(f".grid-row[aria-rowindex='{COLLECTIVES + 1}']")
    assert page.locator(".grid-row").count() < 60
    page.fill("#filter-text", "rank 17")
    settled(page)
    left = page.locator("#filter-count").inner_text()
    assert not left.startswith(f"{COLLECTIVES:,} of")
    ranks = page.eval_on_selector_all(
        ".grid-row", "all => all.map(row => row.children[3].textContent)"
    )
    assert set(ranks) == {"rank 17"}
