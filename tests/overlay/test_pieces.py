"""Pieces that several processes compress are one file."""

import gzip
import io
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.overlay.pieces import Deflated, Piece, Plain, join

texts = st.lists(st.binary(max_size=300), max_size=4)


@given(head=texts, parts=st.lists(texts, max_size=3), tail=texts)
@pytest.mark.parametrize("compressed", [True, False])
def test_joined_pieces_are_the_text_and_one_member_of_gzip(
    head: list[bytes], parts: list[list[bytes]], tail: list[bytes], compressed: bool
) -> None:
    pieces = []
    with TemporaryDirectory() as folder:
        for number, part in enumerate(parts):
            path = Path(folder) / str(number)
            with path.open("wb") as file:
                out = Deflated(file) if compressed else Plain(file)
                for text in part:
                    out.write(text)
                out.flush()
            pieces.append(Piece(path, out.crc, out.plain_bytes))
        whole = io.BytesIO()
        size, written = join(whole, head, pieces, tail, compressed=compressed)
        assert not list(Path(folder).iterdir())
    plain = b"".join([*head, *(text for part in parts for text in part), *tail])
    assert (size, written) == (len(plain), len(whole.getvalue()))
    if not compressed:
        assert whole.getvalue() == plain
        return
    assert gzip.decompress(whole.getvalue()) == plain
    member = zlib.decompressobj(wbits=31)
    member.decompress(whole.getvalue())
    assert member.eof
    assert not member.unused_data
