"""The machinery that checks the docs notices what is wrong."""

import pytest
from doc_pages import Sandbox, blocks, rerun

pytestmark = pytest.mark.repo


@pytest.fixture
def sandbox(tmp_path):
    return Sandbox(tmp_path)


def page(language: str, text: str) -> str:
    return f"# Page\n\n```{language}\n{text}```\n\nEnd.\n"


def test_output_that_agrees_leaves_the_page_alone(sandbox):
    text = page("console", "$ echo one; echo two\none\n...\n")
    assert rerun(text, sandbox) == text


def test_output_that_differs_is_put_in_its_place(sandbox):
    text = page("console", "$ echo one\nzero\n$ echo two\n")
    assert rerun(text, sandbox) == page("console", "$ echo one\none\n$ echo two\ntwo\n")


def test_commands_of_a_page_share_a_folder(sandbox):
    text = page("console", "$ echo kept > file\n") + page("console", "$ cat file\nkept\n")
    assert rerun(text, sandbox) == text


def test_set_up_is_not_run_but_the_command_after_it_is(sandbox):
    command = "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/synctax"
    text = page("console", f"$ {command} --version\n")
    assert "synctax 0." in rerun(text, sandbox)
    assert not (sandbox.home / ".venv").exists()


def test_other_set_up_is_refused(sandbox):
    with pytest.raises(AssertionError, match="set-up would run"):
        rerun(page("console", "$ pip install torch\n"), sandbox)


def test_the_tests_do_not_run_themselves(sandbox):
    text = page("console", "$ .venv/bin/pytest\n")
    assert rerun(text, sandbox) == text


def test_errors_of_a_command_are_shown(sandbox):
    text = rerun(page("console", "$ synctax xyzzy\n"), sandbox)
    assert "synctax: error: no command 'xyzzy'" in text


def test_a_program_prints_what_the_text_after_it_shows(sandbox):
    program = "```python\nprint(6 * 7)\n```\n"
    assert rerun(f"{program}\n```text\n41\n```\n", sandbox) == (
        f"{program}\n```text\n42\n```\n"
    )


def test_text_elsewhere_is_left_alone(sandbox):
    text = "```python\nprint(6 * 7)\n```\n\nBut:\n\n```text\n41\n```\n"
    assert rerun(text, sandbox) == text


def test_blocks_know_their_language():
    assert [b.language for b in blocks(page("text", "a\n") + page("", "b\n"))] == [
        "text",
        "",
    ]
