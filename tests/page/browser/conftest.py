"""A browser, and pages in it that may make no trouble: no error, no request, no dialog."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from synctax.cli import main

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

EXAMPLE = Path(__file__).parents[3] / "examples" / "tp4-fsdp2"


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """A browser without a window; skips where there is none.

    It ends with the tests of this folder: while it runs, so does an event loop of its own,
    and tests elsewhere could not run theirs.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("needs chromium")
    with sync_api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture(scope="package")
def report() -> Callable[..., Path]:
    """Run `synctax report` on traces, as users do."""

    def report(traces: Path, at: Path, *options: str) -> Path:
        told = CliRunner().invoke(
            main, ["report", str(traces), "-o", str(at), "--no-cache", "-q", *options]
        )
        assert told.exit_code == 0, told.output
        return at

    return report


@pytest.fixture(scope="package")
def example(browser: Any, report: Callable[..., Path], tmp_path_factory: Any) -> Path:
    """The page of the example with known answers, made once if a browser is there."""
    return report(EXAMPLE, tmp_path_factory.mktemp("page") / "example.html")


@pytest.fixture(scope="package")
def opened(browser: Any, example: Path) -> Iterator[tuple[Any, list[str]]]:
    """The page of the example, opened once, and what went wrong in it."""
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, reduced_motion="reduce"
    )
    context.set_default_timeout(15_000)
    page, trouble = context.new_page(), []
    page.on("console", lambda said: trouble.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.goto(example.as_uri())
    page.wait_for_selector("html[data-chart-ready='1']", state="attached")
    yield page, trouble
    context.close()


@pytest.fixture
def shown(opened: tuple[Any, list[str]]) -> Iterator[Any]:
    """The page of the example, shared by tests that leave it as a reader might.

    Filters and what was chosen are reset after each; sorting stays.
    """
    page, trouble = opened
    trouble.clear()
    yield page
    page.mouse.move(1, 1)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    page.evaluate("document.getElementById('filters').reset(); scrollTo(0, 0)")
    settled(page)
    assert trouble == []


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page; whatever goes wrong in it while the test runs fails the test."""
    trouble: list[str] = []
    opened: list[Any] = []

    def visit(at: Path, *, width: int = 1400, height: int = 900, **settings: Any) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce", **settings
        )
        opened.append(context)
        context.set_default_timeout(15_000)
        page = context.new_page()
        address = at.as_uri()

        def on_request(request: Any) -> None:
            if request.url.partition("#")[0] != address and request.url[:5] != "data:":
                trouble.append(f"request: {request.url}")

        def on_dialog(dialog: Any) -> None:
            trouble.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("console", lambda said: trouble.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("request", on_request)
        page.on("dialog", on_dialog)
        page.goto(address)
        if settings.get("java_script_enabled", True):
            page.wait_for_selector("html[data-chart-ready='1']", state="attached")
        return page

    yield visit
    for context in opened:
        context.close()
    assert trouble == []


def data_of(page: Any) -> dict[str, Any]:
    """Read the columns in a page."""
    told: dict[str, Any] = json.loads(page.text_content("#page-data"))
    return told


POINTS = """name => {
    const series = echarts.getInstanceByDom(document.getElementById(`chart-${name}`))
        .getOption().series;
    return series.map(one => [
        one.type, one.name || one.id || "",
        (one.data || []).length / (ArrayBuffer.isView(one.data) ? 2 : 1),
    ]);
}"""


def points(page: Any, chart: str) -> dict[str, int]:
    """Count what a chart draws, by name of series, without marks of what is chosen."""
    return {
        name: int(count)
        for _, name, count in page.evaluate(POINTS, chart)
        if name not in ("chosen", "equal")
    }


def settled(page: Any) -> None:
    """Let the page take in what was typed: it waits until nobody types."""
    page.wait_for_timeout(150)
