"""The page's script writes numbers as the package does."""

import random
from typing import Any

import pytest

from synctax.report.page.assets import asset
from synctax.texts import percent, rate_gb_per_s, size_bytes, time_us

pytestmark = pytest.mark.browser

SHARES = (
    0.0, 0.0001, 0.00049, 0.0005, 0.0949, 0.09951, 0.125, 0.135, 0.0225, 0.0275, 0.99,
    0.997, 0.9994, 0.9995, 0.9999, 1.0, 12.345, -0.031, -0.997, -0.9999, -0.0001, -1.0,
)  # fmt: skip
NUMBERS = (
    0.0, 0.001, 0.0025, 0.64, 0.9995, 1.0005, 2.675, 2.665, 2.5, 12.5, 20.25, 999.4, 999.5,
    999.7, 1000.0, 12_345.0, 999_700.0, 1.25e6, 3.5e9, 3.6e9, 7.2e9, 3.6e13, -2500.0,
)  # fmt: skip


def drawn(count: int, *, least: float, most: float) -> list[float]:
    """Numbers over decades, some with few digits, of which many lie half-way."""
    rng = random.Random(5)
    found = []
    for k in range(count):
        value = 10 ** rng.uniform(least, most)
        found.append(round(value, k % 5) if k % 2 else value)
    return [one for one in found if one >= 10**least]


@pytest.mark.parametrize(
    ("name", "write", "values"),
    [
        ("percent", percent, [*SHARES, *drawn(2000, least=-4, most=2)]),
        ("duration", time_us, [*NUMBERS, *drawn(2000, least=-2.9, most=12)]),
        (
            "size",
            size_bytes,
            [*(x for x in NUMBERS if x >= 0), *drawn(999, least=0, most=14)],
        ),
        ("rate", rate_gb_per_s, [x for x in NUMBERS if 0 <= x < 1e7]),
    ],
)
def test_numbers_of_charts_read_as_those_of_tables(
    browser: Any, name: str, write: Any, values: list[float]
) -> None:
    page = browser.new_page()
    told = page.evaluate(
        f"values => {{ {asset('page/words.js').text}\n return values.map({name}); }}",
        values,
    )
    page.close()
    assert told == [write(value) for value in values]
