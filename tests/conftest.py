"""What every test may use: the command line, golden files, the real traces."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import settings

from synctax.cli import main
from synctax.collectives.load import load
from synctax.workspace import Workspace
from tests import laws

laws.register()
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SHARED_TRACES = ROOT.parent / "shared" / "traces"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Leave tests of a file to one process, until another has nothing left to do."""
    from xdist.scheduler import WorkStealingScheduling

    asked_for = config.getoption("dist")
    return WorkStealingScheduling(config, log) if asked_for == "load" else None


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draw a seed for laws and samples, unless hypothesis's own option tells one."""
    if config.getoption("--quick"):
        settings.load_profile("quick")
    told = config.getoption("--hypothesis-seed")
    if told is None:  # processes of xdist have that of the one that started them
        drawn = random.SystemRandom().getrandbits(32)
        told = getattr(config, "workerinput", {}).get("synctax_seed", drawn)
        config.option.hypothesis_seed = told
    laws.Drawn.seed = told


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a process of xdist the seed."""
    node.workerinput["synctax_seed"] = laws.Drawn.seed


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most cases of tests that have many, where a few are asked for."""
    if not laws.quick():
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {id(item) for alike in cases.values() for item in laws.few(alike)}
    left_out = [item for item in items if id(item) not in kept]
    items[:] = [item for item in items if id(item) in kept]
    config.hook.pytest_deselected(items=left_out)


def pytest_report_header() -> str:
    cases = "some cases" if laws.quick() else "all cases"
    return (
        f"laws: {settings.default.max_examples} of {laws.OF} examples, {cases}; "
        f"the same ones with --hypothesis-seed={laws.Drawn.seed}"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="a few of many cases alike and smaller sizes, as HYPOTHESIS_PROFILE=quick",
    )
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden; read the diff"
    )
    parser.addoption(
        "--update-docs",
        action="store_true",
        help="rewrite generated pages and the output of commands in README and docs",
    )


@pytest.fixture(autouse=True)
def width_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is piped have lines without end, whatever the shell of the tests exports."""
    monkeypatch.delenv("COLUMNS", raising=False)
    # readline, which pytest imports, exports it to child processes only
    os.unsetenv("COLUMNS")


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files in this process where a test does not say how many it takes.

    Starting others costs more than reading small files, and shows no coverage.
    """
    monkeypatch.setattr("synctax.trace.pool.available_cores", lambda: 1)


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run a command in this process: `run("measure", path, "--format", "json").stdout`.

    The result has `exit_code`, `stdout`, `stderr` and `stdout_bytes`.
    """

    def run(*args: object, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(main, [str(arg) for arg in args], env=env)

    return run


def assert_in_words(result: Result) -> None:
    """Check that a command ended in words: neither a traceback nor a fault of its own."""
    assert "Traceback" not in result.stderr + result.stdout
    assert "unexpected" not in result.stderr, result.stderr


@pytest.fixture
def process() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run a command as users do, in a process of its own, with nothing on its stdin."""

    def process(
        *args: object, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "synctax", *map(str, args)],
            cwd=cwd,
            env=env,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )

    return process


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare with a file of tests/golden: `golden("measure/tp4.txt", run(...).stdout)`.

    `pytest --update-golden` rewrites the file.
    """

    def golden(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"no golden file {name}: run pytest --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return golden


@pytest.fixture(scope="session")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, Path], Path]:
    """Make a workspace that holds the columns of a folder: `columns(folder, at)`.

    A folder is read once, for all tests of a run: where reading is not the point.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent

    def columns(folder: Path, at: Path) -> Path:
        kept = base / "columns" / folder.name
        if not kept.exists():
            made = Workspace(tmp_path_factory.mktemp("columns") / "made")
            made.prepare()
            load([folder], workers=1, cache=made)
            kept.parent.mkdir(exist_ok=True)
            if not kept.exists():  # another process may have been quicker
                made.directory.rename(kept)
        shutil.copytree(kept, at, copy_function=os.link)
        return at

    return columns


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """The folder of real traces; a test that asks for it is skipped where it is absent."""
    if not SHARED_TRACES.is_dir():
        pytest.skip("the real traces are not at ../shared/traces")
    return SHARED_TRACES
