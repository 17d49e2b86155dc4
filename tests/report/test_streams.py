"""Names that play tricks, encodings without µ, streams that take nothing."""

import io
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.report import streams
from synctax.report.streams import spelled, visible


@given(st.text())
def test_what_is_shown_prints_and_is_one_line(text):
    assert visible(text).isprintable()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_a_plain_name_is_shown_as_it_is(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("a\nb\r\t", r"a\nb\r\t"),
        ("\u202egpj.json", r"\u202egpj.json"),
        ("\x9b31m", r"\x9b31m"),
        (os.fsdecode(b"rank\xff"), r"rank\udcff"),
        ("größe 你", "größe 你"),
    ],
)
def test_what_would_play_tricks_is_spelled_out(name, shown):
    assert visible(name) == shown


@given(st.text(), st.sampled_from(["ascii", "latin-1", "cp1252", "utf-8"]))
def test_what_is_spelled_can_be_encoded(text, encoding):
    spelled(visible(text), encoding).encode(encoding)


def test_only_what_is_missing_is_replaced():
    assert spelled("4 × 2.5 µs, 0…1 ─ –", "ascii") == "4 x 2.5 us, 0...1 - -"
    assert spelled("4 × 2.5 µs, 0…1", "latin-1") == "4 × 2.5 µs, 0...1"
    assert spelled("4 × 2.5 µs, 0…1", "utf-8") == "4 × 2.5 µs, 0…1"


def test_a_stream_that_is_full_is_given_up(monkeypatch, tmp_path):
    class Full(io.TextIOWrapper):
        def write(self, _text):
            raise OSError(28, "No space left on device")

    with (tmp_path / "log").open("wb") as log:
        full = Full(log, encoding="utf-8")
        monkeypatch.setattr("sys.stderr", full)
        streams.say("note")
        os.write(log.fileno(), b"more")
        assert (tmp_path / "log").read_bytes() == b""
        full.detach()


def test_a_stream_in_memory_has_nothing_to_give_up():
    streams.discard(io.StringIO())


def test_a_closed_stdin_is_occupied():
    kept = os.dup(0)
    try:
        os.close(0)
        streams.mend()
        assert os.read(0, 1) == b""
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_streams_that_python_found_closed_are_there_again(monkeypatch, capfd):
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    streams.mend()
    sys.stdout.write("out\n")
    sys.stdout.flush()
    streams.say("err µ")
    assert capfd.readouterr() == ("out\n", "err µ\n")


def test_descriptors_that_are_open_stay(capfd):
    streams.mend()
    os.write(1, b"out")
    os.write(2, b"err")
    assert capfd.readouterr() == ("out", "err")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@given(
    st.lists(st.text("ab-µ%", min_size=1, max_size=30), min_size=1),
    st.integers(0, 8),
    st.integers(40, 90),
)
def test_a_broken_line_has_the_same_words_and_fits(words, blanks, width):
    text = " " * blanks + " ".join(words)
    lines = streams.broken(text, width).split("\n")
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert max(map(len, lines)) <= width
    assert all(line.startswith(" " * (blanks + 2)) for line in lines[1:])


@pytest.mark.parametrize("unit", ["%", "×", "µs", "h", "min", "GB", "MB/s", "events"])
def test_a_number_and_its_unit_stay_together(unit):
    for width in range(40, 60):
        text = (
            f"{'x' * 30} {'y' * (width - 40)} 163 {unit} more words of a line that is long"
        )
        assert f"163 {unit}" in streams.broken(text, width)


@pytest.mark.parametrize("said", ["> 99.9 %", "p < 0.001", "n = 4,096", "ε = −0.5"])
def test_a_number_stays_with_what_it_is_compared_by(said):
    sign = said.split(" ", 1)[1] if said[0] in "pnε" else said
    for width in range(40, 60):
        text = f"{'x' * 30} {'y' * (width - 40)} {said} more words of a line that is long"
        assert sign in streams.broken(text, width)


def test_what_cannot_be_broken_is_left_to_the_terminal():
    path = "/a" * 60
    said = streams.broken(f"note: no {path} there", 40, whole_words=True).split("\n")
    assert said == ["note: no", f"  {path}", "  there"]


@pytest.mark.parametrize(("columns", "lines"), [("", 2), ("200", 1), ("60", 2), ("0", 2)])
def test_only_a_terminal_has_notes_broken(monkeypatch, columns, lines):
    monkeypatch.setenv("COLUMNS", columns)
    text = f"note: {'word ' * 30}end"[:120]
    for stream, expected in ((Terminal(), lines), (io.StringIO(), 1)):
        monkeypatch.setattr("sys.stderr", stream)
        streams.say(text)
        said = stream.getvalue().splitlines()
        assert len(said) == (3 if columns == "60" and expected > 1 else expected)
