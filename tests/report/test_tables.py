"""Tables that fit, and numbers that say what they are."""

import io
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from synctax.report import tables
from synctax.report.output import Result
from synctax.report.tables import Field
from synctax.schema import Column, Table
from synctax.texts import (
    number,
    p_value,
    percent,
    rate_gb_per_s,
    signed_us,
    size_bytes,
    time_us,
)

WIDE = [Field(f"column {i}", ["1,000"], rank=i) for i in range(20)]


@pytest.fixture
def terminal(monkeypatch):
    def terminal(columns):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)

    return terminal


def test_a_pipe_gets_every_column_on_one_line_without_control_sequences():
    lines = tables.to_text([tables.table(WIDE)]).splitlines()
    assert len(lines) == 3
    assert lines[0].split("  ")[-1].strip() == "column 19"
    assert "\x1b" not in "".join(lines)


def test_a_pipe_gets_sentences_unbroken():
    sentence = "word " * 100 + "end"
    assert tables.to_text([sentence]) == sentence + "\n"


def test_a_narrow_terminal_drops_the_columns_of_highest_rank_and_says_so(terminal):
    terminal(60)
    text = tables.to_text([tables.table(WIDE)])
    assert "column 0" in text
    assert "column 19" not in text
    assert "columns on a wider terminal" in text
    assert max(map(len, text.splitlines())) <= 60 + len("\x1b[0m") * 40


def test_columns_of_rank_0_stay_whatever_the_width(terminal):
    terminal(40)
    fields = [Field(f"c{i}", ["x" * 30]) for i in range(4)]
    lines = tables.to_text([tables.table(fields)]).splitlines()
    assert sum(line.count("x") for line in lines) == 4 * 30
    assert max(map(len, lines)) <= 40 + len("\x1b[0m") * 40


@given(
    st.lists(
        st.tuples(st.text("ab µ你", max_size=12), st.integers(0, 3)), min_size=1, max_size=9
    ),
    st.integers(40, 200),
)
def test_no_cell_is_cut_at_any_width(cells, width):
    fields = [Field(f"c{i}", [cell], rank=rank) for i, (cell, rank) in enumerate(cells)]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("COLUMNS", str(width))
        text = tables.to_text([tables.table(fields)])
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= width


@given(st.lists(st.text("ab 你", max_size=60), min_size=1, max_size=5), st.integers(40, 99))
def test_cells_that_may_be_cut_are_cut_before_a_column_leaves(cells, width):
    fields = [
        Field("name", cells, right=False, least=20),
        Field("us", ["1 µs"] * len(cells), rank=1),
    ]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("COLUMNS", str(width))
        text = tables.to_text([tables.table(fields)])
    room = width - len("   1 µs")
    assert ("…" in text) is (max(map(cell_len, cells)) > room)
    assert "wider terminal" not in text
    assert max(map(cell_len, text.splitlines())) <= width


def test_cells_are_cut_no_shorter_than_they_may_be(monkeypatch):
    fields = [Field("name", ["x" * 50], least=30), Field("us", ["1" * 20], rank=1)]
    for width, there in ((53, True), (52, False)):
        monkeypatch.setenv("COLUMNS", str(width))
        assert ("1" * 20 in tables.to_text([tables.table(fields)])) is there


@given(st.lists(st.sampled_from(["some", "words", "12 %", "3 µs,", "(7 ms)"])))
def test_a_sentence_is_indented_and_keeps_numbers_with_their_units(words):
    one = tables.Sentence("  " + " ".join(words), 4)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("COLUMNS", "40")
        lines = tables.to_text([one]).splitlines()
        environment.setenv("COLUMNS", "")
        whole = tables.to_text([one]).splitlines()
    assert whole == [one.text.rstrip()]
    assert " ".join(line.strip() for line in lines) == " ".join(words)
    assert not [line for line in lines[1:] if not line.startswith("    ")]
    assert not [line for line in lines[1:] if line.strip().startswith(("%", "µs", "ms"))]
    assert max(map(len, lines), default=0) <= 40


def test_columns_leave_only_where_they_do_not_fit(monkeypatch):
    fields = [Field("a", ["x" * 20]), Field("b", ["y" * 20], rank=1)]
    for width, there in ((43, True), (42, False)):
        monkeypatch.setenv("COLUMNS", str(width))
        assert ("y" in tables.to_text([tables.table(fields)])) is there


@pytest.mark.parametrize(
    ("width", "caption"), [(50, "+ 1 column on"), (40, "+ 2 columns on")]
)
def test_the_caption_counts_in_good_english(monkeypatch, width, caption):
    monkeypatch.setenv("COLUMNS", str(width))
    fields = [Field(f"c{i}", ["x" * 18], rank=i) for i in range(3)]
    fields[2] = Field("c2", ["x" * 7], rank=0)
    fields.append(Field("c3", ["x" * 30], rank=9))
    assert caption in tables.to_text([tables.table(fields)])


def test_a_pipe_is_as_wide_as_columns_says(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = tables.to_text([tables.table(WIDE), "word " * 30])
    assert "column 19" not in text
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize("columns", ["", "0", "many", "-5"])
def test_a_width_that_is_none_is_no_width(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert "column 19" in tables.to_text([tables.table(WIDE)])


def test_a_dumb_terminal_is_as_wide_as_it_is(terminal, monkeypatch):
    terminal(300)
    monkeypatch.setenv("TERM", "dumb")
    assert "column 19" in tables.to_text([tables.table(WIDE)])


def test_names_in_tables_and_sentences_cannot_move_the_cursor():
    name = "rank0\x1b[2J\n.json"
    text = tables.to_text([tables.table([Field(name, [name])], title=name), name])
    assert "\x1b" not in text
    assert text.count(r"rank0\x1b[2J\n.json") == 4
    assert len(text.splitlines()) == 5


def test_where_stdout_is_ascii_columns_still_line_up(monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    fields = [Field("0…1", ["…", "–"], right=False), Field("t", ["1 µs", "2 s"])]
    assert tables.to_text([tables.table(fields)]).splitlines() == [
        "0...1      t",
        "------------",
        "...     1 us",
        "-        2 s",
    ]


def test_a_terminal_gets_styles_unless_colour_is_unwanted(terminal, monkeypatch):
    from rich.text import Text

    terminal(80)
    assert "\x1b[31m" in tables.to_text([Text("late", style="red")])
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in tables.to_text([Text("late", style="red")])


def test_a_file_gets_no_styles_even_from_a_terminal(terminal):
    from rich.text import Text

    terminal(80)
    assert tables.to_text([Text("late", style="red")], to_file=True) == "late\n"


def test_a_file_gets_every_column_even_from_a_narrow_terminal(terminal):
    terminal(60)
    assert "column 19" in tables.to_text([tables.table(WIDE)], to_file=True)


def test_brackets_are_text():
    assert "[0, 1]" in tables.to_text([tables.table([Field("ranks", ["[0, 1]"])])])


PLAIN = Table(
    "synctax.probe/1",
    "",
    (
        Column("group", "str", "", ""),
        Column("n", "int", "", ""),
        Column("tax_us", "float", "us", ""),
        Column("late", "bool", "", ""),
    ),
)


def test_without_its_own_table_every_column_is_shown():
    frame = PLAIN.to_frame(
        {
            "group": ["tp", None],
            "n": [8, None],
            "tax_us": [2.5, None],
            "late": [True, False],
        }
    )
    lines = tables.to_text(tables.plain(Result(PLAIN, frame))).splitlines()
    assert lines[0].split() == ["group", "n", "tax_us", "late"]
    assert lines[2].split() == ["tp", "8", "2.5", "yes"]
    assert lines[3].split() == ["–", "–", "–", "no"]


def test_no_rows_are_said():
    frame = PLAIN.to_frame({name: [] for name in PLAIN.names})
    assert tables.plain(Result(PLAIN, frame)) == ["nothing to show: the table has no rows"]


@given(st.integers(-(10**15), 10**15))
def test_whole_numbers_are_written_in_full(value):
    assert int(number(value).replace(",", "").replace("−", "-")) == value


@given(st.floats(1e-3, 1e12) | st.floats(1e-12, 1e-3))
def test_three_digits_are_right(value):
    read = float(number(value).replace(",", "").replace("−", "-"))
    assert math.isclose(read, value, rel_tol=6e-3, abs_tol=5e-4)


def test_infinities_are_words():
    assert (number(math.inf), number(-math.inf)) == ("inf", "−inf")


@pytest.mark.parametrize(
    ("value_us", "text"),
    [(999.4, "999 µs"), (999.7, "1 ms"), (-2500.0, "−2.5 ms"), (3.59e9, "3,590 s")],
)
def test_units_change_where_rounding_reaches_them(value_us, text):
    assert time_us(value_us) == text


@pytest.mark.parametrize(
    "write",
    [
        number,
        time_us,
        percent,
        size_bytes,
        rate_gb_per_s,
    ],
)
def test_absent_is_a_dash_everywhere(write):
    assert write(None) == write(math.nan) == "–"


def test_a_plain_line_goes_on_indented(terminal):
    terminal(60)
    first, *rest = tables.to_text([f"  {'word ' * 20}end"]).splitlines()
    assert first.startswith("  word")
    assert rest
    assert all(line.startswith("    word") for line in rest)
    assert max(map(len, (first, *rest))) <= 60


def test_the_head_of_a_table_ends_with_its_last_title(terminal):
    terminal(80)
    head = tables.to_text([tables.table([Field("op", ["all_reduce"], right=False)])])
    assert head.splitlines()[0] == "\x1b[1mop\x1b[0m"


@pytest.mark.parametrize(
    ("value_us", "text"),
    [(0.0, "0 µs"), (3.6e9, "1 h"), (999.7, "1 ms"), (3.6e12 * 1.5, "1,500 h")],
)
def test_times_change_their_unit(value_us, text):
    assert time_us(value_us) == text


@given(st.floats(-1e13, 1e13))
def test_a_time_and_its_sign_are_those_of_the_value(value_us):
    assert time_us(-value_us).removeprefix("−") == time_us(value_us).removeprefix("−")
    assert signed_us(value_us).startswith("+") is (value_us > 0)
    assert signed_us(value_us).startswith("−") is (value_us < 0)


@given(st.floats(0, 1))
def test_what_is_nearly_all_is_not_called_all(share):
    assert (percent(share) == "100 %") is (share == 1)


@given(st.floats(0, 1), st.floats(0, 1))
def test_no_smaller_p_value_is_written_as_a_larger_one(one, other):
    low, high = sorted((one, other))
    assert float(p_value(low).strip("< ")) <= float(p_value(high).strip("< "))
    assert (p_value(low) == "< 0.001") is (low < 0.001)


def test_what_goes_to_stderr_is_laid_out_for_stderr(terminal, monkeypatch):
    terminal(60)
    log = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.delenv("COLUMNS")
    text = tables.to_text([tables.table([*WIDE, Field("t", ["1 µs"])])], stream=log)
    assert "\x1b" not in text
    assert "column 19" in text
    assert text.isascii()
