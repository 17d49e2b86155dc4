"""Every command on a terminal of 80 columns: what stdout shows fits, without colour."""

import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from synctax.cli import main
from tests.conftest import ROOT

WIDTH = 80

EXAMPLES = ROOT / "examples"
TP4 = EXAMPLES / "tp4-fsdp2"
INJECTED = EXAMPLES / "tp2-injected"
RACKS = (
    EXAMPLES / "cluster" / "contended.csv",
    *("--cluster", EXAMPLES / "cluster" / "racks.yaml"),
)

ASKED = {
    "inspect": (TP4,),
    "measure": (TP4,),
    "attribute": (TP4,),
    "whatif": (TP4, "--change", "class=gemm:median"),
    "bandwidth": ("--tax", "llama3-70b-h200", "--n", "8:4096"),
    "fit-evt": (TP4,),
    "report": (INJECTED, "-o", "page.html"),
    "overlay": (TP4, "-o", "job.json.gz"),
    "compare": (TP4, EXAMPLES / "gloo-tp2-fsdp2"),
    "trend": (INJECTED, "--by", "step"),
    "plan": (
        *("--model", "llama3-405b", "--hardware", "dgx-h100", "--gpus", 1024),
        *("--sequence", 8192, "--batch", 2048),
    ),
    "verify": (TP4,),
    "simulate": RACKS,
    "characterize": ("--model", "llama3-8b", "--sequence", 8192, "--gpu-type", "h100"),
    "convert": (EXAMPLES / "cluster" / "traces" / "gavel.trace", "--assume-duration-s", 60),
    "sweep": (*RACKS, "--models", "mosim,pollux", "--seeds", "0:2"),
    "record": ("--", sys.executable, "-c", ""),
    "inject": ("--traces", INJECTED),
    "synth": ("made",),
}
"""What each command is asked, of the examples: hardly more than it cannot do without."""

ENDS = {"record": 1}
"""Exit codes that are not 0: a job without PyTorch leaves no trace."""


def test_every_command_is_tried():
    assert list(ASKED) == main.list_commands(click.Context(main))


@pytest.mark.parametrize("name", list(ASKED))
def test_the_output_of_a_command_fits_a_terminal(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    shown = run(name, *ASKED[name], env={"COLUMNS": str(WIDTH), "NO_COLOR": "1"})
    assert shown.exit_code == ENDS.get(name, 0), shown.stderr
    said = shown.stderr if name == "record" else shown.stdout
    assert said.strip()
    assert [line for line in said.splitlines() if len(line) > WIDTH] == []
    assert "\x1b" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
@pytest.mark.parametrize("columns", [80, 50])
def test_on_a_terminal_notes_are_broken_at_words(tmp_path, columns):
    import fcntl
    import struct
    import termios

    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    asked = [sys.executable, "-m", "synctax", "inspect", "nowhere " * 20]
    with subprocess.Popen(
        asked, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=its, stderr=its
    ) as running:
        os.close(its)
        said = b"".join(read_all(ours)).decode().splitlines()
    os.close(ours)
    assert running.returncode == 3
    assert len(said) > 1
    assert max(map(len, said)) <= columns
    whole = " ".join(line.strip() for line in said)
    assert whole.startswith(f"synctax: error: {'nowhere ' * 20}".rstrip())


def read_all(terminal: int) -> Iterator[bytes]:
    """Read what is written to a pseudo terminal; its end is an error on Linux."""
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:
            return
        if not piece:
            return
        yield piece
