"""The machinery that checks the docs notices what is wrong."""

import pytest
from doc_pages import blocks, rerun

pytestmark = pytest.mark.repo


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


def test_commands_have_the_folder_and_the_variables_of_the_shell_and_it_their_exit_code(
    sandbox,
):
    assert sandbox.shell("cd examples; synctax inspect none; echo $?").endswith("\n3\n")
    inspect = "cd examples; COLUMNS={} synctax inspect tp4-fsdp2 | wc -L"
    wide, narrow = (int(sandbox.shell(inspect.format(n))) for n in (200, 70))
    assert narrow <= 70 < wide


def test_commands_of_a_pipe_run_at_a_time(sandbox):
    assert sandbox.shell("synctax xyzzy 2>&1 | cat") == sandbox.shell("synctax xyzzy")


def test_a_program_prints_what_the_text_after_it_shows(sandbox):
    program = "```python\nprint(6 * 7)\n```\n"
    assert rerun(f"{program}\n```text\n41\n```\n", sandbox) == (
        f"{program}\n```text\n42\n```\n"
    )


def test_a_program_that_fails_says_where(sandbox):
    program = "```python\nprint(1)\nraise ValueError('no')\n```\n"
    shown = rerun(f"{program}\n```text\n1\n```\n", sandbox)
    assert "1\n" in shown
    assert 'File "<string>", line 2' in shown
    assert "ValueError: no\n" in shown


def test_text_elsewhere_is_left_alone(sandbox):
    text = "```python\nprint(6 * 7)\n```\n\nBut:\n\n```text\n41\n```\n"
    assert rerun(text, sandbox) == text


def test_blocks_know_their_language():
    assert [b.language for b in blocks(page("text", "a\n") + page("", "b\n"))] == [
        "text",
        "",
    ]
