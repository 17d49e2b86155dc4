"""The chart of classes held against the table of classes."""

from collections import Counter
from typing import Any

import pytest

DRAWN = """() => {
    const place = document.getElementById("chart-classes");
    const { series, yAxis } = echarts.getInstanceByDom(place).getOption();
    return {
        n: parseInt(place.closest("figure").querySelector(".n").textContent, 10),
        roles: yAxis[0].data,
        classes: series.map(one => [one.name, one.data]),
    };
}"""

WRITTEN = """() => {
    const table = document.getElementById("table-classes");
    const at = {};
    [...table.tHead.rows[0].cells].forEach((head, c) => { at[head.textContent] = c; });
    return [...table.tBodies[0].rows].map(row => [
        row.cells[at["group"]].textContent,
        row.cells[at["class of culprit"]].textContent,
        Number(row.cells[at["collectives"]].dataset.value),
        Number(row.cells[at["share of tax"]].dataset.value),
    ]);
}"""

OTHERS = "other classes"


def plain(name: str) -> str:
    """Take away what keeps equal names apart in charts."""
    return name.strip("\u200b")


def classes_agree(page: Any) -> set[str]:
    """Check that both say the same of each class; the roles that were looked at.

    Classes without a colour of their own are drawn together.
    """
    drawn, rows = page.evaluate(DRAWN), page.evaluate(WRITTEN)
    own = {plain(name) for name, _ in drawn["classes"]}
    written: Counter[tuple[str, str]] = Counter()
    for role, kind, _, share in rows:
        if share > 0:
            written[role, kind if kind in own else OTHERS] += share
    bars = {
        (plain(role), plain(kind)): values[at]
        for kind, values in drawn["classes"]
        for at, role in enumerate(drawn["roles"])
        if values[at] > 0
    }
    assert bars == pytest.approx(dict(written), abs=1e-6)
    assert drawn["n"] == sum(count for _, _, count, _ in rows)
    return {role for role, _ in bars}
