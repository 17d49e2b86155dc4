"""Texts of the page are numbered once, and those that found no room are forgotten."""

from hypothesis import given
from hypothesis import strategies as st

from synctax.report.page.columns import Codes
from synctax.report.page.markup import Texts

names = st.lists(st.sampled_from("abcdefgh"), max_size=6)


@given(st.lists(st.tuples(names, st.booleans()), max_size=8))
def test_what_is_forgotten_was_never_there(parts: list[tuple[list[str], bool]]) -> None:
    codes, kept = Codes.empty(Texts()), Codes.empty(Texts())
    for texts, stays in parts:
        before = len(codes)
        numbers = [codes.number(text) for text in texts]
        assert [codes.shown[number] for number in numbers] == texts
        assert codes.shown_from(before) == codes.shown[before:]
        if stays:
            assert [kept.number(text) for text in texts] == numbers
        else:
            codes.forget(before)
        assert codes.shown == kept.shown
        assert len(codes) == len(kept)
    assert codes.number(None) == -1
