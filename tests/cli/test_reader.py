"""`--reader`: which reader takes events out of the traces."""

import os

import pytest

from synctax.errors import SynctaxError
from synctax.trace import readers
from tests.conftest import ROOT

EXAMPLE = str(ROOT / "examples" / "tp4-fsdp2")
built = pytest.mark.skipif(not readers.variants(), reason="the native reader was not built")


@built
def test_both_readers_print_the_same(run):
    one, other = (
        run("measure", EXAMPLE, "--no-cache", "--reader", reader)
        for reader in readers.READERS
    )
    assert one.exit_code == 0, one.output
    assert one.stdout == other.stdout


def test_the_choice_holds_for_the_command_only(run):
    before = os.environ.get(readers.VARIABLE)
    done = run("inspect", EXAMPLE, "--reader", "python")
    assert done.exit_code == 0, done.output
    assert os.environ.get(readers.VARIABLE) == before


def test_a_reader_that_was_not_built_is_refused_at_once(run, monkeypatch):
    monkeypatch.setattr(readers, "MODULE", "synctax.trace._absent")
    done = run("measure", EXAMPLE, "--no-cache", "--reader", "native")
    assert done.exit_code == 1
    assert "was not built" in done.stderr
    assert "--reader python" in done.stderr


def test_without_the_module_python_reads_and_it_is_said_why(monkeypatch):
    monkeypatch.setattr(readers, "MODULE", "synctax.trace._absent")
    monkeypatch.delenv(readers.VARIABLE, raising=False)
    assert readers.chosen() == readers.PYTHON
    assert readers.in_use() == (
        "python (the native one was not built when synctax was installed; install a C "
        "compiler (gcc or clang) and synctax again)"
    )


@built
def test_python_reads_where_it_was_asked_for(monkeypatch):
    monkeypatch.setenv(readers.VARIABLE, "python")
    assert readers.in_use() == "python (as SYNCTAX_READER says)"


def test_a_module_that_cannot_be_loaded_is_no_secret(monkeypatch, tmp_path):
    """Built for another machine, say: the linker's words help, silence would not."""
    (tmp_path / "of_another_machine.py").write_text("raise ImportError('wrong ELF class')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(readers, "MODULE", "of_another_machine")
    monkeypatch.delenv(readers.VARIABLE, raising=False)
    assert "python (the native one cannot be loaded (wrong ELF class); " in readers.in_use()


def test_a_reader_that_is_none_is_named(run, monkeypatch):
    monkeypatch.setenv(readers.VARIABLE, "fast")
    done = run("measure", EXAMPLE, "--no-cache")
    assert done.exit_code == 1
    assert "SYNCTAX_READER is 'fast'; the readers are native and python" in done.stderr
    shown = run("--version")
    assert shown.exit_code == 0
    assert "reader: none (SYNCTAX_READER is 'fast'; " in shown.stdout


def test_a_module_of_another_layout_is_not_used(monkeypatch):
    monkeypatch.setattr(readers, "LAYOUT", readers.LAYOUT + 1)
    assert readers.variants() == ()
    if readers._compiled()[1].startswith("was not built"):
        return
    monkeypatch.setenv(readers.VARIABLE, readers.NATIVE)
    with pytest.raises(SynctaxError, match="was built of the sources of another version"):
        readers.chosen()


def test_low_memory_prints_the_same_and_holds_for_the_command_only(run, monkeypatch):
    monkeypatch.delenv("SYNCTAX_LOW_MEMORY", raising=False)
    one = run("measure", EXAMPLE, "--no-cache")
    other = run("measure", EXAMPLE, "--no-cache", "--low-memory")
    assert other.exit_code == 0, other.output
    assert one.stdout == other.stdout
    assert "SYNCTAX_LOW_MEMORY" not in os.environ


def test_a_folder_in_memory_saves_none(run, monkeypatch):
    monkeypatch.setattr("synctax.trace.spill.is_in_memory", lambda _: True)
    done = run("measure", EXAMPLE, "--no-cache", "--low-memory")
    assert done.exit_code == 0, done.output
    assert "is in memory itself: set TMPDIR to a folder on a disk" in done.stderr


def test_a_reader_that_is_refused_is_not_asked_for_later(run, monkeypatch):
    monkeypatch.delenv(readers.VARIABLE, raising=False)
    monkeypatch.setattr(readers, "variants", tuple)
    assert run("measure", EXAMPLE, "--reader", "native").exit_code == 1
    assert readers.VARIABLE not in os.environ
