"""README and docs say what the program does."""

import doctest
import importlib.metadata
import re
from collections import Counter
from pathlib import Path

import doc_pages
import pytest
import python_page
from doc_pages import ROOT, blocks

import synctax

pytestmark = pytest.mark.repo

README = ROOT / "README.md"
RECORDED = "docs/cases.md"
"""The page whose commands need recorded traces."""
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def same(request, path: Path, made: str) -> None:
    """Compare a page with what it should be, or rewrite it with `--update-docs`."""
    if request.config.getoption("--update-docs"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
        return
    assert path.is_file(), f"{path.name} is missing: run pytest -m repo --update-docs"
    assert path.read_text(encoding="utf-8") == made, (
        f"{path.name} is out of date: run pytest -m repo --update-docs and read the diff"
    )


@pytest.mark.parametrize("page", doc_pages.PAGES)
def test_commands_on_a_page_print_what_it_shows(request, sandbox, page):
    text = (ROOT / page).read_text(encoding="utf-8")
    if page == RECORDED:
        traces = request.getfixturevalue("shared_traces")
        for folder in filter(Path.is_dir, traces.iterdir()):
            (sandbox.home / folder.name).symlink_to(folder)
    same(request, ROOT / page, doc_pages.rerun(text, sandbox))


@pytest.mark.parametrize("page", doc_pages.PAGES)
def test_no_page_shows_a_fault(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "Traceback" not in text
    assert "fault of synctax" not in text


@pytest.mark.parametrize("page", doc_pages.PAGES)
def test_prompts_in_python_on_a_page_are_doctests(sandbox, monkeypatch, page):
    monkeypatch.chdir(sandbox.home)
    parser, names = doctest.DocTestParser(), {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        if block.language == "python" and ">>>" in block.text:
            test = parser.get_doctest(block.text, names, page, page, 0)
            runner.run(test, clear_globs=False)
            names = test.globs
    assert runner.failures == 0


@pytest.mark.parametrize("page", doc_pages.PAGES)
def test_every_block_on_a_page_says_its_language(page):
    # a fence without a language would show commands that nobody runs
    text = (ROOT / page).read_text(encoding="utf-8")
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert all(
        fences[i] != "```" and fences[i + 1] == "```" for i in range(0, len(fences), 2)
    )
    for block in blocks(text):
        assert block.language == "console" or not block.text.startswith("$ ")


def test_the_page_of_commands_is_made_from_the_commands(request):
    same(request, ROOT / "docs/reference/cli.md", doc_pages.cli_page())


def test_the_page_of_tables_is_made_from_the_tables(request):
    same(request, ROOT / "docs/reference/tables.md", doc_pages.tables_page())


def test_the_page_of_python_is_made_from_the_docstrings(request):
    same(request, ROOT / "docs/reference/python.md", python_page.page())


def test_the_page_of_python_has_every_public_name():
    text = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    for name in synctax.__all__:
        assert name.startswith("_") or f"\n### {name}\n" in text


def anchors(text: str) -> set[str]:
    found: Counter[str] = Counter()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        found[re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")] += 1
    again = {f"{name}-{i}" for name, count in found.items() for i in range(1, count)}
    return {*found, *again}


@pytest.mark.parametrize("page", [*doc_pages.PAGES, *doc_pages.GENERATED])
def test_links_lead_somewhere(page):
    path = ROOT / page
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        if link.startswith(("https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_page_is_reached_from_the_index():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        if page.name != "index.md":
            assert f"({page.relative_to(ROOT / 'docs')})" in index


def test_the_changelog_has_this_version():
    version = importlib.metadata.version("synctax")
    text = (ROOT / "docs/changelog.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(version)}\b", text, re.MULTILINE)


def test_readme_shows_the_main_job_and_the_tests_each_with_its_own_set_up():
    commands = [
        step.command
        for block in blocks(README.read_text(encoding="utf-8"))
        if block.language == "console"
        for step in doc_pages.steps(block.text)
    ]
    with_set_up = [c for c in commands if c.startswith("python3 -m venv .venv && ")]
    assert len(with_set_up) == 2
    assert with_set_up[0].endswith(".venv/bin/synctax measure examples/tp4-fsdp2")
    assert ".venv/bin/pytest" in with_set_up[1]


def test_readme_is_one_screen():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 100
