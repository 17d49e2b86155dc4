"""Progress on stderr."""

import io
import sys
import threading

import pytest

from synctax.cli import progress
from synctax.cli.progress import reading


class Terminal(io.StringIO):
    def isatty(self):
        return True


def read_two(**options):
    with reading(total_files=2, total_bytes=4_000_000_000, **options) as on_progress:
        on_progress(1_000_000_000)
        on_progress.on_file()
        on_progress(3_000_000_000)
        on_progress.on_file()


def test_a_number_that_is_known_late_is_counted_up_to(capsys):
    with progress.counting_up(what="draws", verbosity=1, doing="drawing") as on_progress:
        on_progress(3, 10)
        on_progress(10, 10)
    assert capsys.readouterr().err == "drawing: 10 of 10 draws\n"
    with progress.counting_up(what="draws", verbosity=1, doing="drawing"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verbosity", [-1, 0])
def test_no_terminal_no_progress(capsys, verbosity):
    read_two(verbosity=verbosity)
    assert capsys.readouterr() == ("", "")


def test_verbose_without_terminal_ends_in_a_line(capsys):
    read_two(verbosity=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("read: 2 of 2 files, 4 GB of 4 GB, ")
    assert err.endswith("/s\n")


def test_verbose_without_terminal_speaks_now_and_then(capsys, monkeypatch):
    now_s = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now_s)
    with reading(total_files=3, total_bytes=30, verbosity=1) as on_progress:
        for now_s in (4.0, 8.0, 12.0, 16.0):  # noqa: B007 - the clock reads it
            on_progress(5)
    assert capsys.readouterr().err == (
        "reading: 0 of 3 files, 15 B of 30 B, 1.25 B/s\n"
        "read: 0 of 3 files, 20 B of 30 B, 1.25 B/s\n"
    )


def test_quiet_is_quiet_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    read_two(verbosity=-1)
    assert sys.stderr.getvalue() == ""


def test_a_terminal_shows_files_bytes_and_rate(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", Terminal())
    read_two()
    assert "2 of 2 files, 4 GB of 4 GB, " in sys.stderr.getvalue()


def test_a_bar_starts_no_thread_that_would_keep_workers_from_forking(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    threads = threading.active_count()
    with reading(total_files=1, total_bytes=1):
        assert threading.active_count() == threads


def test_a_bar_is_not_drawn_for_every_call(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress.time, "monotonic", lambda: 0.0)
    with reading(total_files=1, total_bytes=10**9) as on_progress:
        before = len(sys.stderr.getvalue())
        for _ in range(1000):
            on_progress(1)
        assert len(sys.stderr.getvalue()) == before


def test_the_cursor_comes_back_after_an_interruption(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(KeyboardInterrupt), reading(total_files=1, total_bytes=1):
        raise KeyboardInterrupt
    assert sys.stderr.getvalue().rindex("\x1b[?25h") > sys.stderr.getvalue().rindex(
        "\x1b[?25l"
    )
