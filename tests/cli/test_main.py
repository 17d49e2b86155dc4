"""The group `synctax`: what it lists, and how every failure ends."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import click
import pytest

from synctax.cli import COMMANDS, main
from synctax.cli.options import verbosity_options
from synctax.errors import BadInputError, GateFailedError, SynctaxError
from synctax.trace.readers import in_use
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"

WIDTH = 80
"""Columns of a terminal."""


@pytest.fixture
def command(monkeypatch):
    """Install a command `probe` that does what the test says."""

    def command(act):
        @click.command()
        @verbosity_options
        def probe():
            return act()

        module = types.ModuleType("synctax.cli.probe")
        module.probe = probe
        monkeypatch.setitem(sys.modules, "synctax.cli.probe", module)
        monkeypatch.setitem(COMMANDS, "probe", "Probe.")

    return command


def raising(error):
    def act():
        raise error

    return act


def test_help_lists_every_command_with_its_line(run):
    text = run("--help").stdout
    unbroken = " ".join(text.split())  # lines are as wide as the terminal, if there is one
    for name, line in COMMANDS.items():
        assert f"  {name}" in text
        assert f"{name} {line}" in unbroken


def test_short_and_long_help_agree(run):
    assert run("-h").stdout == run("--help").stdout


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_of_a_command_shows_an_example(run, name):
    result = run(name, "-h")
    assert result.exit_code == 0
    assert re.search(rf"^ +synctax {name} ", result.stdout, re.MULTILINE)
    assert "\\b" not in result.stdout


def every_command() -> list[str]:
    """Ask click for the commands, as it would show them."""
    return main.list_commands(click.Context(main))


def help_of(name: str) -> str:
    """What a terminal of 80 columns shows; click leaves two of them free."""
    shown = {"resilient_parsing": True, "terminal_width": WIDTH - 2}
    with main.make_context("synctax", [], **shown) as context:
        found = main.get_command(context, name)
        if found is None:
            return main.get_help(context)
        with found.make_context(name, [], context, **shown) as own:
            return found.get_help(own)


@pytest.mark.parametrize("name", ["", *every_command()])
def test_help_can_be_shown_on_any_terminal(name):
    text = help_of(name)
    assert text.isascii()
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []


def test_a_command_takes_one_line_of_the_list():
    text = help_of("")
    assert [name for name, line in COMMANDS.items() if f"{line}\n" not in text] == []


def test_a_shell_completes_commands(run):
    env = {
        "_SYNCTAX_COMPLETE": "bash_complete",
        "COMP_WORDS": "synctax me",
        "COMP_CWORD": "1",
    }
    assert run(env=env).stdout == "plain,measure\n"


def test_version_is_the_installed_one(run):
    from importlib.metadata import version

    told = f"synctax {version('synctax')}, reader: {in_use()}\n"
    assert run("--version").stdout == told


def test_a_misspelled_command_is_answered_with_the_nearest(run):
    result = run("measur", "traces")
    assert result.exit_code == 2
    assert result.stderr == (
        "synctax: error: no command 'measur'; did you mean measure\ntry: synctax --help\n"
    )


def test_an_unlike_command_is_sent_to_help(run):
    assert "see synctax --help" in run("xyzzy").stderr


@pytest.mark.parametrize(
    ("number", "code", "stderr"),
    [(32, 141, ""), (28, 1, "synctax: error: no space left on device\n")],
)
def test_help_that_cannot_be_written_is_no_traceback(
    run, monkeypatch, number, code, stderr
):
    def get_help(_context):
        raise OSError(number, "No space left on device")

    monkeypatch.setattr(click.Context, "get_help", get_help)
    result = run("--help")
    assert (result.exit_code, result.stderr) == (code, stderr)


def test_a_pipe_closed_while_a_command_runs_is_no_error(run, command):
    command(raising(BrokenPipeError(32, "Broken pipe")))
    result = run("probe")
    assert (result.exit_code, result.stderr) == (141, "")


def test_an_unknown_option_of_the_group_is_wrong_usage(run):
    result = run("--xyzzy")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("synctax: error: ")


def test_no_arguments_show_help(run):
    result = run()
    assert result.exit_code == 2
    assert "Commands:" in result.output


@pytest.mark.parametrize(
    ("error", "code"), [(SynctaxError, 1), (BadInputError, 3), (GateFailedError, 4)]
)
def test_an_error_is_one_line_and_its_exit_code(run, command, error, code):
    command(raising(error("rank 3 is missing; add its file")))
    result = run("probe")
    assert result.exit_code == code
    assert result.stderr == "synctax: error: rank 3 is missing; add its file\n"
    assert result.stdout == ""


def test_a_done_command_exits_0(run, command):
    command(lambda: None)
    assert run("probe").exit_code == 0


def test_an_exit_code_that_a_command_chose_is_kept(run, command):
    command(lambda: click.get_current_context().exit(4))
    assert run("probe").exit_code == 4


def test_interruption_is_one_line_and_130(run, command):
    command(raising(KeyboardInterrupt()))
    result = run("probe")
    assert (result.exit_code, result.stderr) == (130, "synctax: interrupted\n")


def test_interruption_before_the_command_is_130(run, monkeypatch):
    def parse_args(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "parse_args", parse_args)
    result = run("measure")
    assert result.exit_code == 130
    assert "Traceback" not in result.stderr


def test_interruption_before_anything_is_130(run, monkeypatch):
    def mend():
        raise KeyboardInterrupt

    monkeypatch.setattr("synctax.cli.mend", mend)
    result = run("measure")
    assert (result.exit_code, result.stderr) == (130, "synctax: interrupted\n")


def test_a_name_in_an_error_cannot_move_the_cursor(run, command):
    command(raising(BadInputError("a\x1b[2J\nsynctax: done.json: no trace")))
    assert run("probe").stderr == (
        "synctax: error: a\\x1b[2J\\nsynctax: done.json: no trace\n"
    )


def test_a_name_in_wrong_usage_cannot_move_the_cursor(run):
    result = run("measure", "t", "--manifest", "a\x1b[2J\nb")
    assert "a\\x1b[2J\\nb" in result.stderr
    assert "\x1b" not in result.stderr


def test_no_memory_says_what_to_do(run, command):
    command(raising(MemoryError()))
    result = run("probe")
    assert result.exit_code == 1
    assert result.stderr == (
        "synctax: error: out of memory; use fewer --workers or fewer files\n"
    )


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left on device"), "no space left on device"),
        (PermissionError(13, "Permission denied", "a.csv"), "a.csv: permission denied"),
        (OSError("odd"), "odd"),
        (TimeoutError(), "a TimeoutError"),
    ],
)
def test_an_os_error_names_the_file_and_the_cause(run, command, error, line):
    command(raising(error))
    result = run("probe")
    assert (result.exit_code, result.stderr) == (1, f"synctax: error: {line}\n")


def test_a_fault_asks_to_be_reported(run, command):
    command(lambda: {}["lost"])
    result = run("probe")
    assert result.exit_code == 1
    assert "unexpected KeyError: 'lost'" in result.stderr
    assert "report it" in result.stderr
    assert "Traceback" not in result.stderr


def test_verbose_shows_where_a_fault_happened(run, command):
    command(lambda: {}["lost"])
    assert "Traceback" in run("probe", "-v").stderr


def test_verbose_shows_no_traceback_for_bad_input(run, command):
    command(raising(BadInputError("a.json: no trace")))
    assert run("probe", "-v").stderr == "synctax: error: a.json: no trace\n"


def test_wrong_usage_of_a_command_names_its_help(run, command):
    command(lambda: None)
    result = run("probe", "--xyzzy")
    assert result.exit_code == 2
    assert result.stderr.endswith("try: synctax probe --help\n")


def test_a_module_without_its_command_is_a_fault(run, command, monkeypatch):
    command(lambda: None)
    sys.modules["synctax.cli.probe"].probe = "no command"
    result = run("probe")
    assert "is no click command" in result.stderr


def test_not_standalone_lets_errors_through(command):
    command(raising(click.UsageError("no")))
    with pytest.raises(click.UsageError):
        main.main(["probe"], standalone_mode=False)


def test_commands_run_outside_the_main_thread(run, command):
    import threading

    command(lambda: click.echo("done"))
    results = []
    thread = threading.Thread(target=lambda: results.append(run("probe")))
    thread.start()
    thread.join()
    assert results[0].stdout == "done\n"


# What only a process of its own can show.

PROBE = """
    import sys, types, time
    from pathlib import Path
    import click
    from synctax.cli import COMMANDS, main
    from synctax.files import replacing

    @click.command()
    def probe():
        {body}

    module = types.ModuleType("synctax.cli.probe")
    module.probe = probe
    sys.modules["synctax.cli.probe"] = module
    COMMANDS["probe"] = "Probe."
    main(["probe"], prog_name="synctax")
"""


def start(body: str, tmp_path: Path) -> "subprocess.Popen[str]":
    script = tmp_path / "probe.py"
    body = textwrap.indent(textwrap.dedent(body), " " * 8).strip()
    script.write_text(textwrap.dedent(PROBE.replace("    {body}", "    " + body)))
    return subprocess.Popen(
        [sys.executable, str(script)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


HALF_WRITTEN = """
with replacing(Path("out.csv")) as file:
    file.write(b"half")
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("number", "code", "stderr"),
    [
        (signal.SIGINT, 130, "synctax: interrupted\n"),
        (signal.SIGTERM, 143, ""),
        (signal.SIGHUP, 143, ""),
    ],
)
def test_a_stopped_command_leaves_no_half_written_file(tmp_path, number, code, stderr):
    with start(HALF_WRITTEN, tmp_path) as running:
        assert running.stdout.readline() == "writing\n"
        running.send_signal(number)
        _, errors = running.communicate(timeout=30)
    assert (running.returncode, errors) == (code, stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["probe.py"]


@pytest.mark.parametrize("made", ["raise error from signalled", "raise error"])
@pytest.mark.parametrize(
    ("number", "code", "stderr"),
    [(signal.SIGINT, 130, "synctax: interrupted\n"), (signal.SIGTERM, 143, "")],
)
def test_a_signal_that_a_module_turned_into_an_error_is_a_signal(
    tmp_path, number, code, stderr, made
):
    body = f"""
    import os, signal
    from synctax.errors import SynctaxError
    try:
        try:
            os.kill(os.getpid(), {number:d})
            time.sleep(60)
        except BaseException as signalled:
            error = ImportError("initialization failed")
            {made}
    except ImportError as error:
        raise SynctaxError("it is not installed") from error
    """
    with start(body, tmp_path) as running:
        _, errors = running.communicate(timeout=30)
    assert (running.returncode, errors) == (code, stderr)


def test_ctrl_c_while_the_command_line_is_imported_is_no_traceback(tmp_path):
    # in place of the first library that it imports
    (tmp_path / "click.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "synctax", "--version"],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_ctrl_c_that_was_ignored_stays_so():
    # as in the background of a script
    program = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import synctax.cli\n"
        "def main(prog_name):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print(prog_name)\n"
        "synctax.cli.main = main\n"
        "from synctax.__main__ import start\n"
        "start()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "synctax\n", "")


def test_ctrl_c_when_all_is_done_changes_no_exit_code():
    # what is registered first runs last: when the command line has let go
    program = (
        "import atexit, os, signal\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "from synctax.cli import main\n"
        "main(['--version'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("synctax ")


def test_a_closed_pipe_ends_in_silence(tmp_path):
    with start("for _ in range(100_000): click.echo('row')", tmp_path) as running:
        running.stdout.readline()
        running.stdout.close()
        errors = running.stderr.read()
        running.wait(timeout=30)
    assert errors == ""
    assert running.returncode == 141


def test_a_closed_pipe_of_a_file_named_stdout_ends_in_silence(tmp_path):
    body = """
    with replacing(Path("/dev/stdout")) as file:
        for _ in range(100_000):
            file.write(b"row\\n")
    """
    with start(body, tmp_path) as running:
        running.stdout.readline()
        running.stdout.close()
        errors = running.stderr.read()
        running.wait(timeout=30)
    assert (running.returncode, errors) == (141, "")


def shell(line: str, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    """Run a line of sh in which `synctax` is the program."""
    return subprocess.run(
        ["sh", "-c", line.replace("synctax", f"'{sys.executable}' -m synctax")],
        cwd=tmp_path,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    "command", ["synctax --help", "synctax synth -h", "synctax synth s --steps 1"]
)
def test_a_closed_stdout_is_an_error_in_words(tmp_path, command):
    result = shell(f"{command} >&-", tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "synctax: error: stdout is closed; leave it open, or write to a file with -o FILE\n"
    )


@pytest.mark.parametrize(
    "command", ["synctax --help", "synctax synth -h", "synctax synth s --steps 1"]
)
def test_a_full_stdout_is_an_error_and_not_two(tmp_path, command):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    result = shell(f"{command} >/dev/full", tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[0].endswith("no space left on device")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (f"synctax measure '{EXAMPLE}' -v --workers 1", 0),
        ("synctax", 2),
        ("synctax x", 2),
    ],
)
def test_notes_that_nobody_can_be_told_change_no_exit_code(tmp_path, stderr, command, code):
    if "full" in stderr and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    result = shell(f"{command} {stderr}", tmp_path)
    assert (result.returncode, result.stderr) == (code, "")
    assert ("tp" in result.stdout) == (code == 0)


def test_an_ascii_terminal_gets_ascii(tmp_path):
    result = shell(
        "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 "
        f"synctax measure '{EXAMPLE}' --workers 1",
        tmp_path,
    )
    text = result.stdout + result.stderr
    assert text.isascii()
    assert "?" not in text
    assert "\\x" not in text
    assert "2 x 4" in result.stdout
    assert "4 x fsdp all_gather" in result.stderr


def test_python_m_is_the_same_program(process):
    assert process("--version").stdout.startswith("synctax ")
