"""Files that are there whole or not at all, whatever they are called."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.files import NAME_BYTES, folder_beside, hidden, replacing

LONG = ["漢" * 83 + ".json", "a" * 250 + ".json", "é" * 125 + ".json", "x"]


@given(name=st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1))
def test_names_of_parts_leave_room_for_more(name: str) -> None:
    begun = hidden(name)
    assert len(os.fsencode(begun)) <= NAME_BYTES + 2
    assert name.startswith(begun[1:-1])
    assert begun == f".{name}." or len(os.fsencode(begun)) > NAME_BYTES - 2


@pytest.mark.parametrize("name", LONG)
def test_every_name_that_a_file_may_have_can_be_written(name: str, tmp_path: Path) -> None:
    with replacing(tmp_path / name) as file, folder_beside(tmp_path / name) as folder:
        assert folder.parent == tmp_path
        (folder / "part").write_text("part")
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"whole"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
def test_where_there_is_no_room_the_file_is_named(code: int, tmp_path: Path) -> None:
    path = tmp_path / "tax.csv"
    with pytest.raises(OSError, match=r"tax\.csv"), replacing(path), folder_beside(path):
        raise OSError(code, os.strerror(code))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_that_is_full_is_named() -> None:
    with (
        pytest.raises(OSError, match="/dev/full"),
        replacing(Path("/dev/full")) as file,
    ):
        file.write(b"x" * 100_000)
