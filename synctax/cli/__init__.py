"""The command line: options, stages, report.

`main` knows every command by name and one line of help; a command's module, and what it
needs, is imported when the command runs.

Where the reader of a pipe leaves before the end (`| head -1`), a command ends in silence
with 141 = 128 + SIGPIPE, as other tools do: not with 0, which would say that a limit set
by `--fail-above-us` was kept.
"""

import atexit
import errno
import importlib
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import click

from synctax.errors import SynctaxError
from synctax.report.streams import CLOSED_STDOUT, discard, mend, say, visible

COMMANDS = {
    "inspect": "Show which file is which rank, what is odd, what is possible.",
    "measure": "Measure how long ranks wait for each other at collectives.",
    "attribute": "Find out which rank, and what on it, made the others wait.",
    "whatif": "Replay a job with other durations: step time and tax then.",
    "bandwidth": "Tell what bandwidth is worth having, with waits and without.",
    "fit-evt": "Fit how the wait grows with ranks, by extreme values.",
    "report": "Write a page of a job: waits, culprits, growth, bandwidth.",
    "overlay": "Write one trace of all ranks for Perfetto, waits drawn in.",
    "compare": "Tell what changed between two runs, with intervals.",
    "trend": "Follow tax, straggler and culprits over the windows of a job.",
    "plan": "Tell where ranks of TP, PP, DP, CP and EP should sit, and why.",
    "verify": "Check that the groups of a job sit where they should.",
    "simulate": "Run the jobs of a trace on a cluster whose NICs they share.",
    "characterize": "Tell what an iteration of a job takes alone, without a GPU.",
    "convert": "Convert job traces of Philly, Slurm, ... into one CSV.",
    "sweep": "Simulate one trace under many policies, queues, NICs, seeds.",
    "record": "Run a job and record its ranks' traces; delay it on purpose.",
    "inject": "Delay a job on purpose and tell whether the delays come back.",
    "synth": "Write traces of a made-up job, and beside them its true waits.",
}
"""The command NAME is `NAME` in the module `synctax.cli.NAME` (`module_of`)."""


def module_of(command: str) -> str:
    """Name a command's module and function: `fit-evt` is `fit_evt`."""
    return command.replace("-", "_")


VERBOSITY = "synctax.verbosity"
"""Key of click's `meta` under which `-q` and `-v` leave -1, 0, 1, ..."""

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
EXIT_CLOSED_PIPE = 141
EXIT_TERMINATED = 143


class LazyGroup(click.Group):
    """A group that imports a command only to run it, and ends every failure in words."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Import the module of a command and return the command."""
        if cmd_name not in COMMANDS:
            return None
        name = module_of(cmd_name)
        command = getattr(importlib.import_module(f"synctax.cli.{name}"), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"synctax.cli.{name}.{name} is no click command")
        # docstrings are raw strings; click wants the control character
        command.help = (command.help or "").replace("\\b", "\b")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which ones are spelled like it."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}" if near else "see synctax --help"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; bad data and interruption end in one line, never a traceback."""
        try:
            with _unmasked():
                return super().invoke(ctx)
        except SynctaxError as error:
            _fail(ctx, visible(str(error)), error.exit_code)
        except KeyboardInterrupt:
            _fail(ctx, "interrupted", EXIT_INTERRUPTED, label="")
        except MemoryError:
            _fail(ctx, "out of memory; use fewer --workers or fewer files", EXIT_FAILED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                _end_of_pipe(ctx)
            if not error.filename:
                discard(sys.stdout)  # or its buffer would fail again at exit
            _fail(ctx, _os_error(error), EXIT_FAILED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # noqa: BLE001 - the last line of defence, it reports
            _fail(ctx, _unexpected(error), EXIT_FAILED)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse what stands before the command; `--help` may meet a closed pipe."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError as error:
            discard(sys.stdout)
            raise click.exceptions.Exit(EXIT_CLOSED_PIPE) from error

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run click's main; failures before the command runs end in one line as well."""
        run: Callable[..., Any] = partial(
            super().main, args, prog_name, complete_var, **extra
        )
        if not standalone_mode:
            return run(standalone_mode=False)
        try:
            with _stopped_by_signals():
                # Ctrl-C while the interpreter ends would kill it: the result is out
                atexit.unregister(_ignore_interrupts)
                atexit.register(_ignore_interrupts)
                mend()
                code = _run(run)
        except KeyboardInterrupt:
            say("synctax: interrupted")
            code = EXIT_INTERRUPTED
        sys.exit(code)


def _run(run: Callable[..., Any]) -> int:
    """Run click's main and return the exit code."""
    try:
        code = run(standalone_mode=False)
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except click.Abort:
        say("synctax: interrupted")
        return EXIT_INTERRUPTED
    except OSError as error:  # of `--help`
        discard(sys.stdout)
        say(f"synctax: error: {_os_error(error)}")
        return EXIT_FAILED
    return code if isinstance(code, int) else 0


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _show(error: click.ClickException) -> None:
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(message)
        return
    # click lays out the choices of an option in lines
    say(f"synctax: error: {_CHOICES.join(map(visible, message.split(_CHOICES)))}")
    context = getattr(error, "ctx", None)
    if context is not None:
        say(f"try: {context.command_path} --help")


_CHOICES = "\n\t"


def _fail(
    ctx: click.Context, message: str, code: int, *, label: str = "error: "
) -> NoReturn:
    if ctx.meta.get(VERBOSITY, 0) > 0 and code == EXIT_FAILED:
        say(traceback.format_exc())
    say(f"synctax: {label}{message}")
    ctx.exit(code)


def _end_of_pipe(ctx: click.Context) -> NoReturn:
    """End in silence: the reader (`| head`) has what it wants."""
    discard(sys.stdout)
    ctx.exit(EXIT_CLOSED_PIPE)


def _os_error(error: OSError) -> str:
    if error.errno == errno.EBADF and not error.filename:
        return CLOSED_STDOUT
    what = error.strerror or str(error) or f"a {type(error).__name__}"
    where = f"{error.filename}: " if error.filename else ""
    return visible(f"{where}{what[:1].lower()}{what[1:]}")


def _unexpected(error: Exception) -> str:
    return (
        f"unexpected {type(error).__name__}: {visible(str(error))}\n"
        "This is a fault of synctax, not of your data. Please report it with the command "
        "you ran; -v after the command shows where it happened."
    )


class Terminated(SystemExit):
    """A signal asked the program to end."""


@contextmanager
def _unmasked() -> Iterator[None]:
    """Let a signal be what ends a command, not the error that was made of it.

    An extension module that is stopped while it is imported says that its initialization
    failed, and what imports it may say that it is not installed.
    """
    try:
        yield
    except Exception as error:
        for one in _causes(error):
            if isinstance(one, KeyboardInterrupt | Terminated):
                raise one from None
        raise


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it was made of or raised at."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let signals unwind the stack, so that half-written files are removed."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated(EXIT_TERMINATED)

    replaced: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, stop)
                replaced.append(number)
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


def _show_version(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        from synctax.trace.readers import in_use

        try:
            reader = in_use()
        except SynctaxError as error:
            reader = f"none ({error})"
        click.echo(f"synctax {version('synctax')}, reader: {reader}")
        ctx.exit()


_EPILOG = """\b
Example:
  synctax measure traces/

\b
Exit codes: 0 done, 1 cannot be served, 2 wrong usage, 3 bad input,
4 a limit that you set was exceeded, 130 interrupted, 141 the reader left.
"""


@click.group(
    name="synctax",
    epilog=_EPILOG,
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 92},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Measure how long GPUs wait for each other in a distributed training job.

    Reads the PyTorch profiler traces of all ranks. Results go to stdout; progress and
    notes go to stderr.
    """
