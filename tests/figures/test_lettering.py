"""Names of any length and script fit, and what no font has is told."""

import warnings

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.ft2font import FT2Font
from matplotlib.textpath import TextPath

from synctax.report.figures import lettering
from synctax.report.figures.lettering import OWN, cut, width_em, wrap
from synctax.report.figures.style import (
    CAPTION_LINES,
    NAME_EM,
    caption,
    listed,
    named,
    new_figure,
    save,
    styled,
)
from tests.laws import examples, few

NAMES = st.text(st.sampled_from("aWi_ .$µ組\u0301\n\x1b"), max_size=40)


@pytest.mark.parametrize("text", ["WWWW", "iiiiiiii", "reduce_scatter (n = 1,234)", "µs"])
def test_widths_are_those_of_drawn_text(text):
    path = TextPath((0, 0), text, size=100, prop={"family": [OWN]})
    drawn = path.get_extents().x1 / 100
    assert width_em(text) == pytest.approx(drawn, abs=0.12)


@settings(max_examples=examples(60))
@given(NAMES, st.floats(1.0, 30.0))
def test_a_cut_name_is_no_wider_and_begins_as_the_name_does(text, most_em):
    found = cut(text, most_em)
    assert width_em(found) <= most_em + 1e-9
    assert found == text or (found[-1] == "…" and text.startswith(found[:-1]))
    assert (found == text) == (width_em(text) <= most_em)


@settings(max_examples=examples(60))
@given(NAMES, st.floats(1.5, 30.0))
def test_lines_hold_all_words_and_are_no_wider(text, most_em):
    words = " ".join(text.replace("\n", "").split(" "))
    lines = wrap(words, most_em)
    assert "".join(lines).replace(" ", "") == words.replace(" ", "")
    assert max(map(width_em, lines)) <= most_em + 1e-9


@settings(max_examples=examples(60))
@given(NAMES)
def test_a_name_is_one_line_within_its_width_and_no_formula(text):
    found = named(text)
    assert "\n" not in found
    assert width_em(found.replace(r"\$", "$")) <= NAME_EM
    assert found.count("$") == found.count(r"\$")


def test_of_many_names_a_few_are_listed():
    assert listed(["W" * 90, "tp"]) == f"{cut('W' * 90, NAME_EM)}, tp"
    assert listed(map(str, range(9))).endswith(", and 4 more")


def made(*texts):
    """A figure with texts as title, tick, legend and in its caption."""
    with styled():
        figure, (axes,) = new_figure()
        axes.plot([0, 1], label=texts[0])
        axes.set_title(texts[1])
        axes.set_xticks([0], [texts[2]])
        axes.legend()
        caption(figure, f"n = 3 names, {texts[3]}")
    return figure


@pytest.fixture
def fonts(monkeypatch):
    """Let fonts be installed that have what is asked for, or none."""

    def fonts(*installed):
        monkeypatch.setattr(lettering, "_installed", lambda: installed)
        lettering._family.cache_clear()

    yield fonts
    lettering._family.cache_clear()


def foreign() -> tuple[str, str, str]:
    """A sign that only another font of matplotlib has, that font, and its file."""
    folder = f"{mpl.get_data_path()}/fonts/ttf"
    path = f"{folder}/STIXGeneral.ttf"
    own = lettering._own()
    signs = map(chr, sorted(FT2Font(path).get_charmap()))
    sign = next(s for s in signs if s.isprintable() and not own.get_char_index(ord(s)))
    return sign, "STIXGeneral", path


def pdf_of(figure, folder) -> bytes:
    """What of a PDF tells how fonts are kept: not all viewers read all kinds."""
    save(figure, folder / "made.pdf")
    return (folder / "made.pdf").read_bytes()


@pytest.mark.parametrize("at", few(range(4)))
def test_a_sign_of_another_font_is_drawn_in_it_wherever_it_stands(tmp_path, fonts, at):
    sign, family, path = foreign()
    fonts(("Gone Sans", "/nowhere/gone.ttf"), (family, path))
    texts = ["a", "b", "c", "d"]
    texts[at] = f"x{sign}"
    figure = made(*texts)
    assert "Boxes" not in figure.get_supxlabel()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with styled():
            figure.draw_without_rendering()
    assert b"/Type3" in pdf_of(figure, tmp_path)
    assert b"/Type3" not in pdf_of(made("a", "b", "c", "d"), tmp_path)
    save(figure, tmp_path / "made.svg")
    assert f"'{family}'" in (tmp_path / "made.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("at", few(range(4)))
def test_what_no_font_has_is_told_once_and_warns_nowhere(tmp_path, fonts, at):
    fonts()
    texts = ["a", "b", "c", "d"]
    texts[at] = "\N{CUNEIFORM SIGN A}\N{CUNEIFORM SIGN A}"
    figure = made(*texts)
    assert figure.get_supxlabel().endswith(
        ". Boxes stand for 1 sign of no font here: U+12000"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert figure._repr_png_().startswith(b"\x89PNG")
        for suffix in (".png", ".svg", ".pdf"):
            save(figure, tmp_path / f"made{suffix}")


def test_of_many_signs_that_no_font_has_a_few_are_named(fonts):
    fonts()
    figure = made(
        *["".join(map(chr, range(0x12000 + 3 * k, 0x12003 + 3 * k))) for k in range(4)]
    )
    text = " ".join(figure.get_supxlabel().split())
    assert text.endswith(
        "Boxes stand for 12 signs of no font here: U+12000, U+12001, "
        "U+12002, U+12003, U+12004, …"
    )


@pytest.mark.parametrize("sign", ["x", "W", "組", "x "])
def test_a_caption_of_any_length_leaves_room_for_the_picture(sign):
    with styled():
        figure, _ = new_figure()
        caption(figure, sign * 5_000)
    assert figure.get_supxlabel().count("\n") < CAPTION_LINES + 2
