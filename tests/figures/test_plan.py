"""What the figures of a plan show is what its table says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from synctax.errors import SynctaxError
from synctax.evt.tax_file import builtin
from synctax.planning.inputs.named import read_platform
from synctax.planning.search import plan
from synctax.planning.tax import plan_tax
from synctax.planning.training import Training
from synctax.report.figures import plan as figures
from tests.planning.made import DEEPSEEK_V3, LLAMA_405B, table

H100 = read_platform("dgx-h100")
TRAINING = Training(2_048, 8_192)
TAX = plan_tax(builtin("llama3-70b-h200"))


@pytest.fixture(scope="module")
def dense():
    return plan(LLAMA_405B, H100, 1_024, TRAINING, tax=TAX)


@pytest.fixture(scope="module")
def mixture():
    return plan(DEEPSEEK_V3, H100, 256, Training(1_024, 4_096), virtual_stages=(1,))


def lines(axes) -> dict[str, np.ndarray]:
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def legend(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].texts]


def test_dots_are_the_feasible_layouts_of_the_table_and_the_front_its_pareto_rows(dense):
    figure = figures.pareto(dense)
    axes = figure.axes[0]
    frame = dense.to_frame()
    feasible = frame[frame["feasible_rank"].notna()]
    told = np.stack([feasible["memory_bytes"] / 1e9, feasible["step_s"]], axis=1)
    assert_allclose(lines(axes)["feasible layout"], told)
    front = frame[frame["pareto"]]
    (dots,) = axes.collections
    assert_allclose(
        dots.get_offsets(), np.stack([front["memory_bytes"] / 1e9, front["step_s"]], axis=1)
    )
    assert_allclose(dots.get_array(), 100 * front["nic_share"])


def test_axes_have_units_and_the_caption_the_n(dense):
    figure = figures.pareto(dense)
    axes, bar = figure.axes
    assert axes.get_xlabel() == "memory of a GPU (GB)"
    assert axes.get_ylabel() == "time of a step (s)"
    assert bar.get_ylabel() == "NIC busy (% of a step)"
    many = int(dense.feasible.sum())
    assert figure.get_supxlabel().startswith(f"n = {many} feasible layouts of llama3-405b")
    assert f"{len(dense) - many} ruled out" in figure.get_supxlabel().replace("\n", " ")


def test_what_the_verdict_names_is_marked_with_the_range_of_its_memory(dense):
    axes = figures.pareto(dense).axes[0]
    best = int(np.flatnonzero(dense.feasible_rank == 1)[0])
    label = f"{dense.layouts[best]}: fastest"
    marked = [line for line in axes.lines if str(line.get_label()).startswith(label)]
    memory, step_s = dense.costs.memory, dense.costs.step_s[best]
    assert_allclose(marked[0].get_xydata(), [[memory.memory_bytes[best] / 1e9, step_s]])
    ends = [memory.memory_lo_bytes[best] / 1e9, memory.memory_hi_bytes[best] / 1e9]
    ranges = [line.get_xydata() for line in axes.lines if line.get_marker() == "|"]
    assert any(np.allclose(one, [[end, step_s] for end in ends]) for one in ranges)


def test_one_layout_is_everything_at_once():
    one = plan(LLAMA_405B, H100, 1_024, TRAINING, layouts=table("tp8,pp8,dp4,cp4"))
    figure = figures.pareto(one)
    text = " ".join(legend(figure)).replace("\n", " ")
    assert (
        "fastest, plainest within 3\N{NO-BREAK SPACE}%, surely fits, least memory" in text
    )
    assert figure.get_supxlabel().startswith("n = 1 feasible layout of")


@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 12), st.just(2)), elements=st.integers(1, 5)
    )
)
def test_below_the_stairs_no_layout_is(costs):
    held, step_s = costs.T
    corners = figures._fastest_by_memory(held, step_s)
    assert_array_equal(held[corners], np.sort(held[corners]))
    for memory, time in costs:
        at = np.searchsorted(held[corners], memory, side="right") - 1
        assert step_s[corners][at] <= time
    assert np.all(np.diff(step_s[corners]) < 0)


def test_steps_that_span_more_than_a_decade_are_on_a_logarithmic_axis(dense, mixture):
    assert figures.pareto(dense).axes[0].get_yscale() == "linear"
    axes = figures.pareto(mixture).axes[0]
    assert axes.get_yscale() == "log"
    assert axes.yaxis.get_major_formatter()(2_000.0, 0) == "2,000"
    assert axes.yaxis.get_minor_formatter()(3.0, 0) == ""


def test_many_dots_are_an_image_in_files_of_curves(dense, monkeypatch):
    monkeypatch.setattr(figures, "MANY_DOTS", 3)
    (dots, *_) = figures.pareto(dense).axes[0].lines
    assert dots.get_rasterized()


def test_a_front_of_nothing_is_refused_in_words():
    none = plan(LLAMA_405B, H100, 1_024, TRAINING, layouts=table("tp8,pp16,dp8"))
    with pytest.raises(SynctaxError, match=r"none of 1 layout is feasible.*--figure step"):
        figures.pareto(none)


def bars(axes, parts: int) -> np.ndarray:
    """Widths of stacked bars: a row for each part that is drawn."""
    return np.array([bar.get_width() for bar in axes.patches]).reshape(parts, -1)


@pytest.mark.parametrize("which", ["dense", "mixture"])
def test_parts_of_a_step_add_up_to_it_and_are_those_of_the_table(request, which):
    found = request.getfixturevalue(which)
    rows = found.ranked()[:6]
    figure = figures.step(found, rows)
    whole, beyond = figure.axes
    frame = found.to_frame(rows)
    names = legend(figure)
    unit_s = 1e-3 if "(ms)" in beyond.get_xlabel() else 1.0
    widths = bars(whole, len(names))
    assert_allclose(widths.sum(axis=0), frame["step_s"])
    assert_allclose(widths[names.index("computation")], frame["compute_s"])
    sent = [at for at, name in enumerate(names) if name in ("TP", "CP", "EP", "PP", "DP")]
    assert_allclose(widths[sent].sum(axis=0), frame["exposed_s"])
    assert ("tax" in names) == (found.setting.tax is not None)
    if "tax" in names:
        assert_allclose(widths[names.index("tax")], frame["tax_s"])
    assert_allclose(unit_s * bars(beyond, len(names) - 1), widths[1:])
    assert [text.get_text() for text in whole.get_yticklabels()] == frame["layout"].tolist()
    assert whole.get_xlabel() == "time of a step (s)"


def test_the_interval_of_the_tax_is_where_the_tax_begins(dense):
    rows = dense.ranked()[:4]
    (_, beyond), frame = figures.step(dense, rows).axes, dense.to_frame(rows)
    (spans,) = beyond.collections
    before = frame["step_s"] - frame["compute_s"] - frame["tax_s"]
    for segment, start, low, high in zip(
        spans.get_segments(), before, frame["tax_lo_s"], frame["tax_hi_s"], strict=True
    ):
        assert_allclose(segment[:, 0], [start + low, start + high])


def test_layouts_that_are_ruled_out_say_so():
    both = table("tp8,pp16,dp8", "tp8,pp8,dp4,cp4")
    found = plan(LLAMA_405B, H100, 1_024, TRAINING, layouts=both)
    figure = figures.step(found, np.array([0, 1]))
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["tp8,pp16,dp8 (ruled out)", "tp8,pp8,dp4,cp4"]
    assert figure.get_supxlabel() == (
        "n = 2 layouts of 2 of llama3-405b on 1,024 GPUs of dgx-h100; no tax is counted"
    )


def test_of_many_layouts_the_first_are_drawn(dense):
    rows = dense.ranked()[:200]
    figure = figures.step(dense, rows)
    assert len(figure.axes[0].get_yticklabels()) == figures.MOST_BARS
    assert f"{200 - figures.MOST_BARS} more are not drawn" in figure.get_supxlabel()


def test_steps_whose_time_is_not_known_are_refused(dense):
    unknown = np.full(len(dense), np.nan)
    without = replace(dense, costs=replace(dense.costs, step_s=unknown))
    for found, rows in ((without, dense.ranked()[:3]), (dense, dense.ranked()[:0])):
        with pytest.raises(SynctaxError, match=r"nothing to draw; --layout names one"):
            figures.step(found, rows)
