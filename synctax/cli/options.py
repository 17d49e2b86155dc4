"""Options that commands share, and the texts that select ranks and steps."""

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from synctax.cli import VERBOSITY
from synctax.cli.targets import guarded
from synctax.files import is_special
from synctax.report.output import FORMATS, SUFFIXES, Output

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Decorator = Callable[[Decorated], Decorated]

MAX_RANKS = 1_000_000
"""More ranks in one selection is a slip of the keyboard, and would fill memory."""


MAX_NUMBER = 2**31 - 1
"""No rank or step has a higher number."""


_DIGITS_SHOWN = 20
"""Of a number that is too long."""


LEAST_GROUP = 2
"""Ranks of the smallest group whose ranks wait for each other."""


def together(*options: Decorator[Any]) -> Decorator[Any]:
    """Make one decorator of several, which are listed in the order of the help."""

    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class Finite(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A number that is neither `nan` nor infinite, and not below `least`."""

    name = "float"

    def __init__(self, least: float | None = None) -> None:
        self.least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the text into a number."""
        number = float(click.FLOAT(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number", param, ctx)
        if self.least is not None and number < self.least:
            self.fail(f"{value} is below {self.least:g}", param, ctx)
        return number


class RankSet(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Ranks such as `0-7,12`; both ends of a range belong to it.

    Parameters
    ----------
    name : str
        What is numbered, for messages.
    """

    def __init__(self, name: str = "ranks") -> None:
        self.name = name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[int]:
        """Parse the text into a set of ranks."""
        if not isinstance(value, str):
            return frozenset(value)
        ranks: set[int] = set()
        for part in value.split(","):
            first, dash, last = part.strip().partition("-")
            if not _is_number(first) or (dash and not _is_number(last)):
                self.fail(f"{value!r} is no list of {self.name} like 0-7,12", param, ctx)
            _check_number(self, (first, last), param, ctx)
            low, high = int(first), int(last) if dash else int(first)
            if high < low:
                self.fail(f"{part.strip()!r} runs backwards", param, ctx)
            if high - low >= MAX_RANKS:
                self.fail(
                    f"{part.strip()!r} is more than {MAX_RANKS:,} {self.name}", param, ctx
                )
            ranks.update(range(low, high + 1))
        return frozenset(ranks)


class GroupSizes(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Numbers of ranks: `512`, `8,72,512`, or by doubling from one to another, `8:4096`.

    Both ends of a range belong to it, whether or not doubling meets the second.

    Parameters
    ----------
    least : int
        1 for jobs; a group of one rank waits for nobody.
    of : str
        What is counted, for messages.
    """

    name = "sizes"

    def __init__(self, least: int = LEAST_GROUP, of: str = "ranks") -> None:
        self.least = least
        self.of = of

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text; ascending, each number once."""
        if isinstance(value, tuple):
            return value
        sizes: set[int] = set()
        for part in str(value).split(","):
            first, colon, last = (text.strip() for text in part.partition(":"))
            low = self._size(first, param, ctx)
            high = self._size(last, param, ctx) if colon else low
            if high < low:
                self.fail(f"{part.strip()!r} runs backwards", param, ctx)
            sizes.add(high)
            while low < high:
                sizes.add(low)
                low *= 2
        return tuple(sorted(sizes))

    def _size(
        self, text: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if not _is_number(text):
            self.fail(
                f"{text[:40]!r} is no number of {self.of}; give 512, 8,72 or 8:4096",
                param,
                ctx,
            )
        if text.startswith("0"):
            # 4,096 would be 4 and 96
            self.fail(
                f"{text!r} begins with 0: sizes are 4096, not 4,096",
                param,
                ctx,
            )
        _check_number(self, (text,), param, ctx)
        if int(text) < self.least:
            self.fail(
                f"a group of {text} waits for nobody; the least is {self.least}",
                param,
                ctx,
            )
        return int(text)


class StepRange(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Steps `A:B` as Python slices, B not included; `A:`, `:B` and one step `A` too."""

    name = "steps"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        """Parse the text into a range; an open end is `sys.maxsize`."""
        if isinstance(value, range):
            return value
        first, colon, last = (part.strip() for part in str(value).partition(":"))
        known = [text for text in (first, last) if text]
        if not known or not all(map(_is_number, known)):
            self.fail(f"{value!r} is no range of steps like 3:10, 3: or :10", param, ctx)
        _check_number(self, known, param, ctx)
        if not colon:
            return range(int(first), int(first) + 1)
        steps = range(int(first or 0), int(last) if last else sys.maxsize)
        if not steps:
            self.fail(f"{value!r} holds no step: the end is not included", param, ctx)
        return steps


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _check_number(
    kind: click.ParamType,  # type: ignore[type-arg]
    texts: Iterable[str],
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> None:
    for text in texts:
        # by length first: Python does not parse thousands of digits
        if len(text) > len(str(MAX_NUMBER)) or int(text or 0) > MAX_NUMBER:
            shown = text if len(text) <= _DIGITS_SHOWN else f"{text[:_DIGITS_SHOWN]}..."
            kind.fail(f"{shown} is above {MAX_NUMBER:,}", param, ctx)


traces_argument: Decorator[Any] = click.argument(
    "traces", nargs=-1, required=True, metavar="TRACES..."
)
"""`traces: tuple[str, ...]`: folders (recursive), files or globs."""

ranks_option: Decorator[Any] = click.option(
    "--ranks", type=RankSet(), metavar="LIST", help="Only these ranks, such as 0-7,12."
)
"""`ranks: frozenset[int] | None`."""

group_option: Decorator[Any] = click.option(
    "--group", metavar="ROLE", help="Only this role (tp, dp, ...) or group name."
)
"""`group: str | None`."""

op_option: Decorator[Any] = click.option(
    "--op", metavar="OP", help="Only this operation, such as all_reduce."
)
"""`op: str | None`."""

steps_option: Decorator[Any] = click.option(
    "--steps",
    type=StepRange(),
    metavar="A:B",
    help="Only profiler steps A to B-1 (as Python slices); also A:, :B, or one step A.",
)
"""`steps: range | None`."""


end_tolerance_option: Decorator[Any] = click.option(
    "--end-tolerance-us",
    type=Finite(least=0),
    metavar="US",
    help="How far the ends of one collective may lie apart.  [default: as for measure]",
)
"""`end_tolerance_us: float | None`, of commands that measure again."""

manifest_option: Decorator[Any] = click.option(
    "--manifest",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="CSV with the columns file, rank and optionally host.",
)
"""`manifest: Path | None`."""


class _Directory(click.Path):
    """A directory with a name; whether it may be one is for the workspace to say."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if not str(value).strip():
            self.fail("the name of the directory is empty", param, ctx)
        return super().convert(value, param, ctx)


def workspace_options(command: Decorated) -> Decorated:
    """Add `workspace: Path` and `no_cache: bool`."""
    return _workspace(
        command,
        "Where later commands find what was measured last.",
        "Read every file anew and leave nothing in the workspace.",
    )


def tax_options(command: Decorated) -> Decorated:
    """Add the same to a command that takes the fitted tax from the workspace alone."""
    return _workspace(
        command,
        "Where fit-evt left the tax that was fitted last; nothing is written there.",
        "Do without the workspace, and so without a fitted tax.",
    )


def _workspace(command: Decorated, where: str, without: str) -> Decorated:
    command = click.option("--no-cache", is_flag=True, help=without)(command)
    return click.option(
        "--workspace",
        type=_Directory(path_type=Path),
        metavar="DIR",
        default=Path(".synctax"),
        show_default=True,
        help=where,
    )(command)


def verbosity_options(command: Decorated) -> Decorated:
    """Add `-q` and `-v` to a command that has no table; nothing is passed on."""
    command = click.option(
        "-v",
        "--verbose",
        count=True,
        is_eager=True,
        expose_value=False,
        callback=_leave_verbosity,
        help="Say more on stderr.",
    )(command)
    return click.option(
        "-q",
        "--quiet",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_leave_verbosity,
        help="No progress and no notes on stderr.",
    )(command)


def verbosity(ctx: click.Context) -> int:
    """Return -1 for `-q`, 0, or the number of `-v`."""
    return int(ctx.meta.get(VERBOSITY, 0))


def _leave_verbosity(
    ctx: click.Context, option: click.Parameter, value: bool | int
) -> None:
    if value:
        if VERBOSITY in ctx.meta:
            raise click.UsageError("-q and -v exclude each other", ctx)
        ctx.meta[VERBOSITY] = -1 if option.name == "quiet" else int(value)


def output_options(command: Decorated) -> Decorated:
    """Add `--format`, `-o`, `-q` and `-v`; the command receives `out: Output`."""
    return _outputs(command, "-o", "--output")


def result_options(command: Decorated) -> Decorated:
    """Add the same to a command whose `-o` is a folder of traces: `--result` for `-o`."""
    return _outputs(command, "--result")


def _outputs(command: Decorated, *names: str) -> Decorated:
    command = verbosity_options(guarded(command, "out"))
    command = click.option(
        "--format",
        "fmt",
        type=click.Choice(FORMATS),
        is_eager=True,
        expose_value=False,
        callback=_leave_format,
        help=f"Form of the result.  [default: from the name of {names[0]}, else table]",
    )(command)
    return click.option(
        *names,
        "out",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        metavar="FILE",
        callback=_to_output,
        help="Write the result to FILE; a file is there whole or not at all.",
    )(command)


_FORMAT = "synctax.format"


def _leave_format(ctx: click.Context, _option: click.Parameter, value: str | None) -> None:
    ctx.meta[_FORMAT] = value


def _to_output(ctx: click.Context, option: click.Parameter, path: Path | None) -> Output:
    fmt = ctx.meta.get(_FORMAT)
    if path is not None and str(path) == "-":
        path = None
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"{path.parent} is no folder", ctx, option)
    if path is not None and not path.name:
        raise click.BadParameter("the name of the file is empty", ctx, option)
    if path is not None and fmt is None:
        fmt = "table" if is_special(path) else SUFFIXES.get(path.suffix.lower())
        if fmt is None:
            raise click.BadParameter(
                f"the name {path.name!r} tells no format; end it in "
                f"{', '.join(SUFFIXES)} or give --format",
                ctx,
                option,
            )
    if path is None and fmt == "parquet" and sys.stdout.isatty():
        raise click.UsageError(
            f"parquet is binary; give {option.opts[0]} FILE or pipe it", ctx
        )
    return Output(fmt or "table", path, verbosity(ctx))
