"""A tax in words: who is accused, and of what only."""

import pytest

from synctax.collectives.model import Group
from synctax.collectives.tax import measure
from synctax.report.output import Result
from synctax.report.tables import to_text
from synctax.report.tax_view import parts
from synctax.schema import MEASURE
from tests.collectives.job import C, rank

PAIR = Group("0", (0, 1), "tp", 2, "kernel")


def view(late: list[int], *, host: str = "node0") -> str:
    """The summary of a pair of which rank `late[k]` is late to collective k."""
    ranks = [
        rank(
            r,
            [C(1_000.0 * (k + 1) + 97 * k * k, 20 if who == r else 60)
             for k, who in enumerate(late)],
            groups=[PAIR],
            host=host,
        )
        for r in (0, 1)
    ]  # fmt: skip
    tax = measure(ranks)
    return to_text(parts(tax, Result(MEASURE, tax.to_frame())), to_file=True)


def test_a_rank_that_is_always_late_is_accused_with_its_gpu_and_host():
    text = view([1] * 40)
    assert "rank 1 on GPU 1 on node0 was last in 100 % (p < 0.001: not chance)" in text


def test_a_rank_that_is_late_by_chance_is_not_accused():
    text = view([0, 1] * 20)
    assert "no rank stands out" in text
    assert "was last in" not in text.replace("was last most often, in", "")


def test_an_unusual_count_is_called_hardly_chance():
    assert "hardly chance" in view([1] * 21 + [0] * 8)


def test_where_all_ranks_tie_nobody_was_last():
    assert "ranks tie in 11 of 11" in view([-1] * 12)
    assert "ranks tie in 29 of 30" in view([-1] * 30 + [1])


@pytest.mark.parametrize(("late", "drawn"), [([1] * 40, True), ([1] * 12, False)])
def test_a_curve_is_drawn_only_of_enough_collectives(late, drawn):
    assert ("cumulated over" in view(late)) is drawn


def test_an_unknown_host_is_left_out_of_the_sentence():
    assert "rank 1 on GPU 1 was last" in view([1] * 40, host="")
