"""README and docs as something that runs: their blocks, and the pages made from code."""

import importlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

import synctax
from synctax.cli import COMMANDS, main
from synctax.schema import Table

ROOT = Path(__file__).resolve().parents[2]
GENERATED = (
    "docs/reference/cli.md",
    "docs/reference/tables.md",
    "docs/reference/python.md",
)
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (
        ROOT / "README.md",
        ROOT / "examples" / "README.md",
        *(ROOT / "docs").rglob("*.md"),
    )
    if str(path.relative_to(ROOT)) not in GENERATED
)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SET_UP = re.compile(r"^python3 -m venv \S+ && \S+/pip install [^&]*&& (?=\S+/synctax )")
VENV_BIN = re.compile(r"(?<!\S)\.venv/bin/(?=synctax )")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and where the text stands in the page."""

    language: str
    text: str
    start: int
    end: int


def blocks(page: str) -> list[Block]:
    return [Block(m[1], m[2], m.start(2), m.end(2)) for m in FENCE.finditer(page)]


@dataclass(frozen=True)
class Step:
    """A command of a console block, and the output the page shows for it."""

    command: str
    shown: str


def steps(text: str) -> list[Step]:
    r"""Split a console block at its prompts; a trailing backslash continues a command.

    >>> steps("$ synctax \\\n    measure\nrows\n$ ls\n")
    [Step(command='synctax \\\n    measure', shown='rows\n'), Step(command='ls', shown='')]
    """
    found = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        match = re.match(r"((?:.*\\\n)*.*)\n", part)
        assert match, f"no line end after {part!r}"
        found.append(Step(match[1], part[match.end() :]))
    return found


def agrees(shown: str, output: str) -> bool:
    r"""Whether the output is what the page shows; a line `...` stands for any lines.

    >>> agrees("a\n...\nz\n", "a\nb\nc\nz\n"), agrees("a\n", "a\nb\n")
    (True, False)
    """
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + "\n"
        for line in _trimmed(shown).splitlines()
    )
    return re.fullmatch(pattern, _trimmed(output)) is not None


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


@dataclass(frozen=True)
class Runner:
    """What to run for `synctax`, and for `python` before `-c`."""

    synctax: list[str]
    python: list[str]


class Sandbox:
    """A folder with `examples/` in which the blocks of one page run one after the other."""

    def __init__(self, folder: Path, runner: Runner) -> None:
        self.runner = runner
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        if (ROOT / "examples").is_dir():
            shutil.copytree(ROOT / "examples", self.home / "examples")
        shim = self.bin / "synctax"
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(runner.synctax)} "$@"\n')
        shim.chmod(0o755)

    def _env(self) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
        return {
            **env,
            "PATH": f"{self.bin}{os.pathsep}{env.get('PATH', '')}",
            "PYTHONIOENCODING": "utf-8",
        }

    def shell(self, command: str) -> str:
        """Return what the command writes, notes among the result as on a terminal."""
        command = VENV_BIN.sub("", SET_UP.sub("", command))
        assert "pip install" not in command, f"set-up would run: {command}"
        return self._output(["bash", "-c", command])

    def python(self, code: str) -> str:
        return self._output([*self.runner.python, "-c", code])

    def _output(self, argv: list[str]) -> str:
        done = subprocess.run(
            argv,
            cwd=self.home,
            env=self._env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        return done.stdout


def rerun(page: str, sandbox: Sandbox) -> str:
    """Run every block of a page; return the page with the outputs that came.

    `console` blocks are commands with their output. A `python` block is a program; a
    `text` block right after it holds its output. Where the output shown still agrees
    (`...` lines included) it stays as it is.
    """
    made: list[str] = []
    done, printed = 0, None
    for block in blocks(page):
        if block.language == "console":
            text = "".join(_run_steps(block.text, sandbox))
        elif block.language == "python" and ">>>" not in block.text:
            text, printed = block.text, (block.end, sandbox.python(block.text))
        elif block.language == "text" and printed and _follows(page, printed[0], block):
            text = block.text if agrees(block.text, printed[1]) else _trimmed(printed[1])
        else:
            text = block.text
        made += [page[done : block.start], text]
        done = block.end
    return "".join([*made, page[done:]])


def _run_steps(text: str, sandbox: Sandbox) -> Iterator[str]:
    for step in steps(text):
        if "/bin/pytest" in step.command:
            yield f"$ {step.command}\n{step.shown}"
            continue
        output = sandbox.shell(step.command)
        shown = step.shown if agrees(step.shown, output) else _trimmed(output)
        yield f"$ {step.command}\n{shown}"


def _follows(page: str, end: int, block: Block) -> bool:
    return page[end : block.start].split() == ["```", "```text"]


# Pages made from code.


def tables() -> list[Table]:
    """Every public table of the package, in order of its name."""
    found: dict[str, Table] = {}
    for module in pkgutil.walk_packages(synctax.__path__, "synctax."):
        # modules of the recorder need torch, and declare no table
        if module.name == "synctax.__main__" or module.name.startswith("synctax.record."):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Table):
                assert found.setdefault(value.schema, value) == value, value.schema
    return [found[name] for name in sorted(found, key=lambda name: name.split("/"))]


def tables_page() -> str:
    lines = [
        "# Tables",
        "",
        "Made from the code by `pytest -m repo --update-docs`; do not edit.",
        "",
        "A column's name ends in its unit: `_us` microseconds, `_s` seconds, `_bytes`,",
        "`_gb_per_s` 10⁹ bytes a second, `_tflops` 10¹² operations a second; a statistic",
        "may follow (`tax_max_us_p99`). Shares are fractions of 1. Absent values are null",
        "in JSON and Parquet and empty in CSV, never a number. A name or meaning changes",
        "only together with the number after the slash.",
    ]
    for table in tables():
        lines += ["", f"## `{table.schema}`", "", table.meaning, ""]
        lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
        for column in table.columns:
            meaning = column.meaning.replace("|", r"\|")
            lines += [f"| `{column.name}` | {column.dtype} | {column.unit} | {meaning} |"]
    return "\n".join(lines) + "\n"


def cli_page() -> str:
    lines = [
        "# Commands",
        "",
        "Made from the code by `pytest -m repo --update-docs`; do not edit.",
        "",
        *_help("synctax", main),
    ]
    root = click.Context(main, info_name="synctax", **main.context_settings)
    for name in COMMANDS:
        command = main.get_command(root, name)
        assert command is not None
        lines += ["", f"## synctax {name}", "", *_help(name, command, root)]
    return "\n".join(lines) + "\n"


def _help(
    name: str, command: click.Command, parent: click.Context | None = None
) -> list[str]:
    settings = {**command.context_settings, "terminal_width": 92}
    context = click.Context(command, parent, info_name=name, **settings)
    text = command.get_help(context)
    return ["```text", *(line.rstrip() for line in text.splitlines()), "```"]
