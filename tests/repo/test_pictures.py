"""The page of figures: its commands are real, and every picture has one that makes it."""

import importlib.util
import re
import subprocess

import click
import pytest
from doc_pages import ROOT, blocks
from PIL import Image

from synctax.cli import main

pytestmark = pytest.mark.repo

spec = importlib.util.spec_from_file_location(
    "pictures", ROOT / "tests" / "bench" / "pictures.py"
)
pictures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pictures)

PAGE = pictures.PAGE.read_text(encoding="utf-8")
COMMANDS = [
    command for command in pictures.commands(PAGE) if command.startswith("synctax ")
]


def test_every_block_of_commands_is_run():
    shown = [block.text for block in blocks(PAGE) if block.language == "sh"]
    words = [word for text in shown for word in text.replace("\\\n", " ").split()]
    assert [word for one in pictures.commands(PAGE) for word in one.split()] == words


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    # braces stand for several words
    listed = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True
    )
    _, name, *arguments = listed.stdout.decode().split("\0")[:-1]
    root = click.Context(main, info_name="synctax", **main.context_settings)
    found = main.get_command(root, name)
    assert found.make_context(name, arguments, parent=root).params


def test_every_picture_of_the_page_is_there_and_every_picture_there_is_on_a_page():
    on_page = set(pictures.images(PAGE))
    there = {path.name for path in pictures.PICTURES.iterdir()}
    assert on_page <= there
    others = "".join(
        path.read_text(encoding="utf-8")
        for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    )
    assert there == {name for name in there if f"pictures/{name})" in others}


@pytest.mark.parametrize("name", pictures.images(PAGE))
def test_a_picture_has_a_command_that_makes_it_and_words_that_say_what_is_seen(name):
    assert sum(name in command.split() for command in pictures.commands(PAGE)) == 1
    assert len(pictures.images(PAGE)[name].split()) >= 8


def test_pictures_are_small():
    sizes = [path.stat().st_size for path in pictures.PICTURES.iterdir()]
    assert max(sizes) <= 80_000
    assert sum(sizes) <= 1_500_000


def test_pictures_are_wide_enough_to_be_read():
    for path in pictures.PICTURES.glob("*.png"):
        with Image.open(path) as image:
            assert image.width >= 700, path.name


def test_pictures_of_a_text_are_found_with_their_commands():
    text = "```sh\nsynctax measure a \\\n    --plot b.png\n```\n\n![a b](pictures/b.png)\n"
    assert pictures.commands(text) == ["synctax measure a --plot b.png"]
    assert pictures.images(text) == {"b.png": "a b"}
    assert not re.findall("c.png", "".join(pictures.commands(text)))
