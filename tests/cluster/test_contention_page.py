"""docs/contention.md: its tables agree with each other, and its text with them.

Blocks that run are checked with those of all pages, the large tables by
`python -m tests.bench.contention`.
"""

import re

import pytest

from synctax.cluster.characterize.pool import default_pool
from synctax.cluster.characterize.profile import EFFICIENCY
from tests.bench.contention import populations, row
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "contention.md").read_text(encoding="utf-8")
NUMBER = r"[−-]?\d[\d,]*\.\d+"


def between(begin: str, end: str) -> str:
    return PAGE.partition(begin)[2].partition(end)[0]


def numbers(text: str) -> set[str]:
    return {one.replace("−", "-") for one in re.findall(NUMBER, text)}


def test_the_tables_have_the_numbers_of_the_pairs():
    name = "2 jobs"
    made = row(name, populations()[name])
    assert {made.sets, made.errors, made.differences} <= set(PAGE.splitlines())


def test_what_follows_from_the_tables_of_fluids_says_numbers_that_are_in_them():
    tables = numbers(between("## Fluids on a link", "What follows:"))
    text = between("What follows:", "So for pairs and a few jobs")
    assert len(numbers(text)) > 15
    assert numbers(text) <= tables


@pytest.mark.parametrize(
    ("line", "column"),
    [("change of an iteration, mean", 1), ("largest", 2)],
)
def test_the_pairs_beside_the_paper_are_those_that_are_printed(line, column):
    printed = {
        found.split("  ")[0].removeprefix("mosim, "): found.split()[2:]
        for found in between("model              change", "144 pairs").splitlines()
        if found.startswith("mosim")
    }
    head = between("What the paper measured on its testbed:", "|---|")
    bases = re.findall(r"`(\w+)`", head)
    assert len(bases) == 3
    (said,) = (one for one in PAGE.splitlines() if one.startswith(f"| {line} |"))
    cells = [re.findall(NUMBER, cell)[0] for cell in said.strip("| ").split("|")[2:]]
    assert cells == [printed[base][column - 1] for base in bases]


def test_the_share_of_the_peak_is_that_of_the_roofline():
    assert {one.dtype for one in default_pool()} == {"fp32"}
    text = " ".join(PAGE.split())
    assert (
        f"reach {EFFICIENCY['fp32']:.0%}".replace("%", " %") + " of the peak of FP32"
        in text
    )


def test_what_is_compared_with_the_paper_is_in_the_tables_above_it():
    blocks = numbers(between("## An experiment like the paper's", "What can be compared:"))
    text = between("What can be compared:", "What cannot be compared")
    rounded = {
        f"{float(one):.{places}f}" for one in blocks if "," not in one for places in (1, 2)
    }
    assert len(numbers(text)) > 5
    assert numbers(text) <= blocks | rounded
