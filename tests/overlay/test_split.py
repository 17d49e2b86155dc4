"""Traces come back out of an overlay whole or not at all, each under a name of its own."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

import synctax
from synctax.errors import BadInputError
from synctax.overlay.split import split
from tests.overlay import made


def of_files(folder: Path, names: tuple[str, ...]) -> Path:
    """Make the overlay of a rank a file, compressed as the name says."""
    folder.mkdir()
    for rank, name in enumerate(names):
        text = made.trace(rank, made.reduces([("100", f"{7 + rank}"), ("200", "7")]))
        packed = {
            ".gz": gzip.compress,
            ".zst": zstandard.ZstdCompressor().compress,
        }.get(Path(name).suffix, bytes)(text.encode())
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(packed)
    job = synctax.load([str(folder)], workers=1)
    return made.overlay(job, synctax.measure(job), None, folder.parent)[1]


@pytest.mark.parametrize(
    ("names", "back"),
    [
        (("r.json.gz", "r.json.zst"), ("r.json.gz", "r.json.zst.gz")),
        (("a/r.json", "b/r.json.zst"), ("a/r.json", "b/r.json.gz")),
        (("r.json", "r.json.zst"), ("r.json", "r.json.gz")),
    ],
)
def test_each_trace_has_its_name(
    names: tuple[str, ...], back: tuple[str, ...], tmp_path: Path
) -> None:
    path = of_files(tmp_path / "traces", names)
    files = split(path, tmp_path / "back")
    assert {str(file.relative_to(tmp_path / "back")) for file in files} == set(back)
    ranks = [synctax.read_rank(str(file)).meta.rank for file in files]
    assert ranks == [0, 1]


def test_names_that_cannot_be_kept_apart_are_refused(tmp_path: Path) -> None:
    path = of_files(tmp_path / "traces", ("r0.json", "r1.json"))
    text = gzip.decompress(path.read_bytes()).replace(b'"file":"r1', b'"file":"r0')
    path.write_bytes(gzip.compress(text))
    with pytest.raises(BadInputError, match=r"'r0\.json' twice"):
        split(path, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("there", [True, False])
def test_nothing_is_left_where_the_disk_is_full(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synctax.overlay import split as module

    path = of_files(tmp_path / "traces", ("r0.json", "r1.json"))
    whole = module._texts

    def full(rank: Any, *args: Any) -> Iterator[bytes]:
        yield from whole(rank, *args)
        if rank.file == "r1.json":
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(module, "_texts", full)
    if there:
        (tmp_path / "back").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match="No space"):
        split(path, tmp_path / "back")
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_there_is_found_before_anything_is_written(tmp_path: Path) -> None:
    path = of_files(tmp_path / "traces", ("r0.json", "r1.json"))
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "r1.json").write_text("mine")
    with pytest.raises(FileExistsError, match=r"r1\.json"):
        split(path, tmp_path / "back")
    assert [file.name for file in (tmp_path / "back").iterdir()] == ["r1.json"]
    assert (tmp_path / "back" / "r1.json").read_text() == "mine"


@pytest.mark.parametrize("blocked", ["back", "back/r1"])
def test_a_file_where_a_folder_must_go_is_found_before_anything_is_written(
    blocked: str, tmp_path: Path
) -> None:
    path = of_files(tmp_path / "traces", ("r0/t.json", "r1/t.json"))
    (tmp_path / blocked).parent.mkdir(exist_ok=True)
    (tmp_path / blocked).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(NotADirectoryError, match="is no folder"):
        split(path, tmp_path / "back")
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / blocked).read_text() == "mine"


@pytest.mark.parametrize("there", [True, False])
def test_what_was_put_in_place_is_taken_away_where_the_rest_cannot_be(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = of_files(tmp_path / "traces", ("r0/t.json", "r1/t.json"))
    if there:
        (tmp_path / "new" / "back" / "r0").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    move = Path.replace

    def fails(self: Path, target: Path) -> Path:
        if target.parent.name == "r1":
            raise PermissionError(13, os.strerror(13), str(target))
        return move(self, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(PermissionError):
        split(path, tmp_path / "new" / "back")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_to_nothing_is_not_written_over(tmp_path: Path) -> None:
    path = of_files(tmp_path / "traces", ("r0.json", "r1.json"))
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "r1.json").symlink_to("nowhere")
    with pytest.raises(FileExistsError, match=r"r1\.json"):
        split(path, tmp_path / "back")
    assert [file.name for file in (tmp_path / "back").iterdir()] == ["r1.json"]
