"""How all figures look, and how they are written."""

import importlib
import os
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from synctax.errors import SynctaxError
from synctax.report.figures.lettering import width_em
from synctax.report.figures.style import (
    COLORS,
    HATCHES,
    HEAT,
    LINES,
    MARKERS,
    caption,
    new_figure,
    plain,
    save,
    styled,
)


def figure_of(*values):
    with styled():
        figure, (axis,) = new_figure()
        axis.plot(values)
        axis.set_xlabel("time (ms)")
        caption(figure, f"n = {len(values)} values")
    return figure


WIDE = {width_in: Figure((width_in, 2.0)) for width_in in (3.0, 6.4)}


@given(st.text(st.sampled_from("ab $n=1µ\\"), max_size=200), st.sampled_from([*WIDE]))
def test_a_caption_holds_all_words_in_lines_that_fit(text, width_in):
    text, figure = " ".join(text.split()), WIDE[width_in]
    with styled():
        caption(figure, f"{text} n = 1,234")
    lines = figure.get_supxlabel().splitlines()
    assert " ".join(lines).replace(" ", "") == plain(f"{text}n=1,234").replace(" ", "")
    shown = [line.replace(r"\$", "$") for line in lines]
    assert max(map(width_em, shown)) <= width_in * 72 / 8.33
    assert lines[-1].endswith("n = 1,234")


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".SVG"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        save(figure_of(1, 3, 2), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix.lower()]
    assert first.startswith(magic)
    save(figure_of(1, 3, 4), paths[1])
    assert first != paths[1].read_bytes()


def test_dollars_of_names_are_no_formulas(tmp_path):
    with styled():
        figure, (axis,) = new_figure()
        axis.set_title(plain("gemm$_x$ \\alpha$"))
    save(figure, tmp_path / "made.svg")
    assert "gemm$_x$ \\alpha$" in (tmp_path / "made.svg").read_text(encoding="utf-8")


def test_another_suffix_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(SynctaxError, match=r"'made\.jpg' tells no format; end it in \.png"):
        save(figure_of(1), tmp_path / "made.jpg")
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_cannot_be_drawn_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "made.png"
    path.write_bytes(b"before")
    figure = figure_of(1, 2)
    figure.axes[0].set_title("$\\no_such_command$")
    with pytest.raises(ValueError, match="no_such_command"):
        save(figure, path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_settings_of_the_user_neither_matter_nor_change():
    with mpl.rc_context({"font.size": 31, "axes.grid": False, "lines.linewidth": 9}):
        before = dict(mpl.rcParams)
        figure = figure_of(1, 2)
        assert dict(mpl.rcParams) == before
    assert figure.axes[0].lines[0].get_linewidth() == mpl.rcParamsDefault["lines.linewidth"]
    assert figure.axes[0].xaxis.label.get_size() == 10
    assert (
        "matplotlib.pyplot" not in sys.modules
        or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SynctaxError, match=r"pip install 'synctax\[plot\]'"), styled():
        pass


CODE = """
import os, sys
from synctax.report.figures.style import caption, new_figure, styled
with styled():
    figure, _ = new_figure()
    caption(figure, "n = 0")
assert figure._repr_png_().startswith(b"\\x89PNG")
import matplotlib
chosen = dict.__getitem__(matplotlib.rcParams, "backend")  # which chooses none
print(os.environ["MPLBACKEND"], chosen == os.environ["MPLBACKEND"])
assert "matplotlib.pyplot" not in sys.modules
"""


@pytest.mark.parametrize(("backend", "chosen"), [("nonsense", "False"), ("svg", "True")])
def test_a_backend_that_there_is_not_stops_no_figure_and_others_stay(backend, chosen):
    # a process of its own: backends are read where the library is imported first
    told = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "MPLBACKEND": backend},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == [backend, chosen]


def test_settings_that_cannot_be_read_are_told(monkeypatch):
    def fail(_name):
        raise ValueError("no such thing")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(SynctaxError, match=r"set up: no such thing; mend.*matplotlibrc"):
        styled().__enter__()


def test_numbers_of_every_axis_are_those_of_tables():
    with styled():
        _, axes = new_figure(2)
        for axis in axes:
            for one in (axis.xaxis, axis.yaxis):
                write = one.get_major_formatter()
                assert [write(x, 0) for x in (-1234.5, 0.3)] == ["−1,234.5", "0.3"]


def test_axes_come_row_by_row():
    with styled():
        _, axes = new_figure(2, 3)
    places = [axis.get_subplotspec() for axis in axes]
    assert [(place.rowspan.start, place.colspan.start) for place in places] == [
        (row, column) for row in range(2) for column in range(3)
    ]


def test_rows_may_have_heights():
    with styled():
        _, axes = new_figure(2, row_heights=(1, 3))
    grid = axes[0].get_gridspec()
    assert grid.get_height_ratios() == (1, 3)


@pytest.mark.parametrize("kinds", [COLORS, LINES, MARKERS, HATCHES])
def test_no_two_kinds_are_the_same(kinds):
    assert len(set(kinds)) == len(kinds)


def test_heat_maps_grow_evenly_darker_in_grey():
    grey = mpl.colormaps[HEAT](np.linspace(0, 1, 64))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(grey) > 0).all()
