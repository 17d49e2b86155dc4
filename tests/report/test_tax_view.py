"""A tax in words: who is accused, and of what only."""

import re
from functools import cache

import pytest

from synctax.collectives.model import Group
from synctax.collectives.tax import Tax, measure
from synctax.report.output import Result
from synctax.report.tables import to_text
from synctax.report.tax_view import collectives, parts, ranks
from synctax.schema import MEASURE, MEASURE_COLLECTIVES, MEASURE_RANKS
from tests.collectives.job import C, rank

PAIR = Group("0", (0, 1), "tp", 2, "kernel")


def measured(late: list[int], *, host: str = "node0") -> Tax:
    """The tax of a pair of which rank `late[k]` is late to collective k."""
    traces = [
        rank(
            r,
            [C(1_000.0 * (k + 1) + 97 * k * k, 20 if who == r else 60)
             for k, who in enumerate(late)],
            groups=[PAIR],
            host=host,
        )
        for r in (0, 1)
    ]  # fmt: skip
    return measure(traces)


def view(late: list[int], *, host: str = "node0") -> str:
    """The summary of such a pair."""
    tax = measured(late, host=host)
    return to_text(parts(tax, Result(MEASURE, tax.to_frame())), to_file=True)


def test_a_rank_that_is_always_late_is_accused_with_its_gpu_and_host():
    text = view([1] * 40)
    assert "rank 1 on GPU 1 on node0 was last in 100 % (p < 0.001: not chance)" in text


def test_a_rank_that_is_late_by_chance_is_not_accused():
    text = view([0, 1] * 20)
    assert "no rank stands out" in text
    assert "was last in" not in text.replace("was last most often, in", "")


@pytest.mark.parametrize(
    ("late", "said"),
    [
        ([1] * 40, "rank 1 on GPU 1 on node0 was last in 100 % of its group's (p < 0.001"),
        ([0, 1] * 20, "rank 1 was last most often, in 51 % of its group's, p = 0.87"),
    ],
)
def test_of_several_groups_a_rank_is_last_in_a_share_of_its_own(late, said):
    other = Group("1", (2, 3), "tp", 2, "kernel")
    alike = [C(1_000.0 * (k + 1) + 97 * k * k, 20) for k in range(40)]
    traces = [rank(r, alike, groups=[other], host="node1") for r in (2, 3)]
    tax = measure([*measured(late).matches.ranks, *traces])
    text = to_text(parts(tax, Result(MEASURE, tax.to_frame())), to_file=True)
    assert said in text
    assert " of its group's" not in view(late)


def test_where_nobody_waited_no_time_is_told():
    alike = [C(1_000.0 * (k + 1) + 97 * k * k, 20) for k in range(40)]
    tax = measure([rank(r, alike, groups=[PAIR]) for r in (0, 1)])
    text = to_text(parts(tax, Result(MEASURE, tax.to_frame())), to_file=True)
    assert "nobody waited in any collective" in text
    assert "together waited" not in text


def test_a_group_of_which_some_ranks_were_not_read_is_not_called_whole():
    group = Group("0", (0, 1, 2), "tp", 3, "kernel")
    ranks = [
        rank(
            r,
            [C(1_000.0 * k + 97 * k * k, 20 + 40 * r) for k in range(1, 20)],
            groups=[group],
        )
        for r in (0, 1)
    ]
    tax = measure(ranks)
    text = to_text(parts(tax, Result(MEASURE, tax.to_frame())), to_file=True)
    assert "the fastest of 2 ranks that were read (of 3) waits" in text


def test_an_unusual_count_is_called_hardly_chance():
    assert "hardly chance" in view([1] * 21 + [0] * 8)


def test_where_all_ranks_tie_nobody_was_last():
    assert "ranks tie in 11 of 11" in view([-1] * 12)
    assert "ranks tie in 29 of 30" in view([-1] * 30 + [1])


@pytest.mark.parametrize(("late", "drawn"), [([1] * 40, True), ([1] * 12, False)])
def test_a_curve_is_drawn_only_of_enough_collectives(late, drawn):
    assert ("cumulated over" in view(late)) is drawn


SHOWN = {
    MEASURE: (lambda tax: tax.to_frame(), None),
    MEASURE_COLLECTIVES: (lambda tax: tax.per_collective(), collectives),
    MEASURE_RANKS: (lambda tax: tax.per_rank(), ranks),
}


@cache
def forty(table, host) -> tuple[Tax, Result]:
    """The tax of forty collectives of a pair, and a table of it."""
    tax = measured([1] * 40, host=host)
    return tax, Result(table, SHOWN[table][0](tax))


def table_of(table, width, monkeypatch, *, host="node0") -> list[str]:
    """What a terminal of a width shows of forty collectives of a pair."""
    tax, result = forty(table, host)
    render = SHOWN[table][1]
    monkeypatch.setenv("COLUMNS", str(width))
    return to_text(render(result) if render else parts(tax, result)[:1]).splitlines()


@pytest.mark.parametrize("table", SHOWN)
def test_no_cell_is_cut_on_any_terminal(monkeypatch, table):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("NO_COLOR", "1")
    for width in (*range(40, 121), *range(121, 201, 8)):
        lines = table_of(table, width, monkeypatch)
        cells = [cell for line in lines for cell in line.split("   ")]
        assert not [c for c in cells if c.rstrip().endswith("…")], width
        assert max(map(len, lines)) <= width + len("\x1b[0m") * 40


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (MEASURE, ["group", "op", "transfer", "tax", "p99", "waits", "last"]),
        (
            MEASURE_COLLECTIVES,
            ["group", "op", "index", "tax", "share", "straggler", "status"],
        ),
        (
            MEASURE_RANKS,
            ["group", "op", "rank", "share last", "mean wait", "p90", "exposed"],
        ),
    ],
)
def test_eighty_columns_show_what_matters(monkeypatch, table, columns):
    head = table_of(table, 80, monkeypatch)[0]
    places = [head.find(name) for name in columns]
    assert -1 not in places
    assert places == sorted(places)


def test_every_collective_is_printed_with_units(monkeypatch):
    lines = table_of(MEASURE_COLLECTIVES, 120, monkeypatch)
    assert len(lines) == 2 + 40 + any("column" in line for line in lines)
    assert re.search(r"tp +0,1 .* 20 µs +40 µs +67 % +rank 1 +ok$", lines[10])


def test_every_rank_is_printed_with_units(monkeypatch):
    lines = table_of(MEASURE_RANKS, 120, monkeypatch)
    late = next(line for line in lines if re.search(r" 1 +node0", line))
    assert re.search(r"100 % +0 µs +0 µs +0 µs", late)


def test_reasons_and_windows_are_shown_where_there_are_some():
    for table, render in ((MEASURE_COLLECTIVES, collectives), (MEASURE_RANKS, ranks)):
        row = {name: [None] for name in table.names} | {"window": ["iteration_3"]}
        if table is MEASURE_COLLECTIVES:
            row["reason"] = ["rank 1 has none"]
        text = to_text(render(Result(table, table.to_frame(row))))
        assert "iteration_3" in text
        assert ("rank 1 has none" in text) is (table is MEASURE_COLLECTIVES)


@pytest.mark.parametrize("table", [MEASURE_COLLECTIVES, MEASURE_RANKS])
def test_no_rows_are_said(table):
    frame = table.to_frame({name: [] for name in table.names})
    render = SHOWN[table][1]
    assert render(Result(table, frame)) == ["nothing to show: the table has no rows"]


def test_an_unknown_host_is_left_out_of_the_sentence():
    assert "rank 1 on GPU 1 was last" in view([1] * 40, host="")
